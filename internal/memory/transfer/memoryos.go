package transfer

import (
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// memoryOS reads the dialogue that MemoryOS keeps of a user: its short-term memory, and the pages of its mid-term memory. What it
// made of them is made here again.
type memoryOS struct{ files []string }

type memoryOSPage struct {
	User      string `json:"user_input"`
	Assistant string `json:"agent_response"`
	Time      string `json:"timestamp"`
}

func isMemoryOS(s *Source) bool {
	name := s.find("short_term.json", "mid_term.json")
	if len(s.files) == 1 {
		name = s.files[0]
	}
	return name != "" && strings.Contains(s.head(name), `"user_input"`) && strings.Contains(s.head(name), `"agent_response"`)
}

func (t *memoryOS) index(r *reading) (pieces []piece, err error) {
	for _, name := range r.source.files {
		base := path.Base(name)
		if base == "mid_term.json" || base == "short_term.json" || len(r.source.files) == 1 {
			pieces = append(pieces, piece{at: int64(len(pieces) + 1), file: len(t.files)})
			t.files = append(t.files, name)
		}
	}
	return pieces, nil
}

func (t *memoryOS) read(r *reading, p piece) error {
	name := t.files[p.file]
	if r.isList(name) {
		return list(r, name, func(page *memoryOSPage, _, _ int64) error { return t.page(r, page) })
	}
	file, err := decodeFile[struct {
		Sessions map[string]struct {
			Details []memoryOSPage `json:"details"`
		} `json:"sessions"`
	}](r, name)
	if err != nil {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(file.Sessions)) {
		s := file.Sessions[id]
		for i := range s.Details {
			if err := t.page(r, &s.Details[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *memoryOS) page(r *reading, page *memoryOSPage) error {
	at, _ := timeOf(page.Time, r.Zone)
	session := "MemoryOS"
	if !at.IsZero() {
		session = at.Format(time.DateOnly)
	}
	for _, said := range []message{{role: "user", text: page.User}, {role: "assistant", text: page.Assistant}} {
		if strings.TrimSpace(said.text) == "" {
			continue
		}
		said.session, said.at = session, at
		if err := r.message(said); err != nil {
			return err
		}
	}
	return nil
}
