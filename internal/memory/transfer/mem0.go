package transfer

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"
)

// mem0 reads memories of mem0 that a program has saved: a list, or the results of its API.
type mem0 struct{ file string }

// Mem0Memory is a memory as mem0 answers it.
type Mem0Memory struct {
	ID         string         `json:"id"`
	Memory     string         `json:"memory"`
	UserID     string         `json:"user_id"`
	AgentID    string         `json:"agent_id"`
	AppID      string         `json:"app_id"`
	RunID      string         `json:"run_id"`
	Metadata   map[string]any `json:"metadata"`
	Categories []string       `json:"categories"`
	CreatedAt  string         `json:"created_at"`
	Expires    string         `json:"expiration_date"` // the last day, YYYY-MM-DD
}

// Created returns when a memory was made, in UTC unless it says an offset; zero: it does not say.
func (m *Mem0Memory) Created() time.Time { return stamp(m.CreatedAt) }

// Line returns a memory as a line of an import, with the attributes that the routes for mem0's clients read. ids are those that it
// has beside that of its collection.
func (m *Mem0Memory) Line(ids map[string]string) map[string]any {
	attributes := map[string]any{}
	for name, id := range ids {
		attributes[name] = id
	}
	if len(m.Metadata) > 0 {
		attributes["metadata"] = m.Metadata
	}
	if day, err := time.Parse(time.DateOnly, m.Expires); err == nil {
		attributes["expires_at"] = day.AddDate(0, 0, 1).Format(time.RFC3339)
	}
	out := map[string]any{"id": Mem0ID(m.ID), "kind": "fact", "content": strings.TrimSpace(m.Memory), "attributes": attributes}
	if len(m.Categories) > 0 {
		out["tags"] = m.Categories
	}
	if at := m.Created(); !at.IsZero() {
		out["created_at"], out["occurred_at"] = at.Format(time.RFC3339Nano), at.Format(time.RFC3339Nano)
	}
	return out
}

// Mem0ID returns the id of a memory as a note's: itself, or one made of it, always the same.
func Mem0ID(id string) string {
	if known, err := uuid.Parse(id); err == nil {
		return known.String()
	}
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("mem0:"+id)).String()
}

func isMem0(s *Source) bool {
	if len(s.files) != 1 {
		return false
	}
	head := s.head(s.files[0])
	return begins(head, '[', "memory", "id") || begins(head, '{', "results", "memory", "id")
}

func (t *mem0) index(r *reading) ([]piece, error) {
	t.file = r.source.files[0]
	return []piece{{to: -1}}, t.each(r, func(*Mem0Memory) error { return nil })
}

func (t *mem0) each(r *reading, do func(m *Mem0Memory) error) error {
	each := func(m *Mem0Memory, _, _ int64) error { return do(m) }
	if r.isList(t.file) {
		return list(r, t.file, each)
	}
	return r.stream(t.file, func(s *stream) error {
		return s.members(func(name string) error {
			if name != "results" {
				return s.skip()
			}
			return decodeList(r, s, each)
		})
	})
}

func (t *mem0) read(r *reading, _ piece) error {
	return t.each(r, func(m *Mem0Memory) error {
		if strings.TrimSpace(m.Memory) == "" {
			r.left("memories without words", 1)
			return nil
		}
		ids := map[string]string{}
		for name, id := range map[string]string{"user_id": m.UserID, "agent_id": m.AgentID, "app_id": m.AppID, "run_id": m.RunID} {
			if id != "" {
				ids[name] = id
			}
		}
		raw, err := json.Marshal(m.Line(ids))
		if err != nil {
			return err
		}
		at := m.Created()
		if !r.Since.IsZero() && !at.IsZero() && at.Before(r.Since) {
			r.left("memories before the date that was asked for", 1)
			return nil
		}
		r.report.Notes++
		r.report.count(Line{Content: m.Memory, Tags: m.Categories, OccurredAt: r.time(at)}, at)
		return r.pass(Line{Raw: raw})
	})
}
