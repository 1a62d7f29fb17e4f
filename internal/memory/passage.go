package memory

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"
)

// The attributes that say where a passage of a file is from. The file is the source of its passages.
const (
	AttrFile     = "file" // its id
	AttrFileName = "file_name"
	AttrPage     = "page" // from 1; absent: the file has no pages
)

// AttrFileState is how far a file is, and FileFailed the value of one that could not be read.
const (
	AttrFileState = "state"
	FileFailed    = "failed"
)

// PassageKey returns the key of a passage by its place in a file, from 0.
func PassageKey(file uuid.UUID, place int) string { return fmt.Sprintf("file:%s:%d", file, place) }

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
