package memory

import (
	"encoding/json"
	"slices"
)

// The attributes that say where a passage of a file is from.
const (
	AttrFileName = "file_name"
	AttrPage     = "page" // from 1; absent: the file has no pages
)

// FileOf returns the name of the file that a note is a passage of, and the page; "" for other notes, 0 for a file without pages.
func FileOf(n *Note) (name string, page int64) {
	if n.Kind != KindPassage {
		return "", 0
	}
	name, _ = n.Attributes[AttrFileName].(string)
	return name, NumberOf(n.Attributes, AttrPage)
}

// ReadingOf returns how a collection of a policy is read: as the policy says, and passages of files beside what it says,
// since files may be in any collection and no policy derives anything from them.
func ReadingOf(p Policy, config json.RawMessage) Reading {
	rd := p.Reading(config)
	if len(rd.Kinds) == 0 || slices.Contains(rd.Kinds, KindPassage) {
		return rd
	}
	rd.Kinds = append(slices.Clone(rd.Kinds), KindPassage)
	if len(rd.Parts) > 0 {
		rd.Parts = append(slices.Clone(rd.Parts), Part{Name: "files", Kinds: []Kind{KindPassage}})
	}
	return rd
}
