package transfer

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// memoryBank reads the dialogue that MemoryBank keeps of a person, or of several: {"history": {"2023-05-01": [{"query": …,
// "response": …}]}}, where a turn may be a pair of both. What it made of the dialogue is made here again. The gateway takes the
// whole file for a collection of its own policy, with strengths and summaries.
type memoryBank struct {
	file    string
	names   map[string]string // of the people, by their position in the file; "": the file is of one person
	several bool
}

type bankTurn struct {
	Query    string `json:"query"`
	Response string `json:"response"`
}

// UnmarshalJSON reads an object, or a pair.
func (t *bankTurn) UnmarshalJSON(raw []byte) error {
	if raw[0] == '[' {
		var pair []string
		if err := json.Unmarshal(raw, &pair); err != nil || len(pair) != 2 {
			return fault.New(fault.Invalid, "a turn of the history must be an object with query and response, or a pair of both")
		}
		t.Query, t.Response = pair[0], pair[1]
		return nil
	}
	type object bankTurn // without this method
	return json.Unmarshal(raw, (*object)(t))
}

var bankHistory = regexp.MustCompile(`"history"\s*:\s*\{\s*(?:\}|"\d{4}-\d\d-\d\d"\s*:\s*\[)`)

func isMemoryBank(s *Source) bool {
	if len(s.files) != 1 || strings.ToLower(path.Ext(s.files[0])) != ".json" {
		return false
	}
	head := s.head(s.files[0])
	return begins(head, '{') && (bankHistory.MatchString(head) || begins(head, '{', "overall_personality", "personality"))
}

func (t *memoryBank) index(r *reading) ([]piece, error) {
	t.file, t.names = r.source.files[0], map[string]string{}
	people := map[string]bool{}
	err := t.walk(r, func(s *stream, person, member string) error {
		people[person] = true
		if member != "name" {
			return s.skip()
		}
		var name string
		err := s.Decode(&name)
		t.names[person] = name
		return err
	})
	t.several = len(people) > 1
	return []piece{{to: -1}}, err
}

// walk calls each for the members of every person of the file. Each reads the value.
func (t *memoryBank) walk(r *reading, each func(s *stream, person, member string) error) error {
	return r.stream(t.file, func(s *stream) error {
		return s.members(func(member string) error {
			switch member {
			case "name", "history", "summary", "personality", "overall_history", "overall_personality", "meta_information":
				return each(s, "", member)
			}
			s.meter.n = 0
			var person json.RawMessage
			if err := s.Decode(&person); err != nil || person[0] != '{' {
				return err
			}
			of := newStream(bytes.NewReader(person), t.file)
			return of.members(func(inner string) error { return each(of, member, inner) })
		})
	})
}

func (t *memoryBank) read(r *reading, _ piece) error {
	return t.walk(r, func(s *stream, person, member string) error {
		name := cmp.Or(t.names[person], person)
		switch member {
		case "history":
			return s.members(func(day string) error { return t.day(r, s, name, day) })
		case "summary", "personality", "overall_history", "overall_personality":
			r.left("summaries and portraits: they are made again of what was said", 1)
		}
		return s.skip()
	})
}

func (t *memoryBank) day(r *reading, s *stream, name, day string) error {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil {
		return fault.New(fault.Invalid, "history has the day %q, which is not a date such as 2023-05-01", label(day))
	}
	session, repeats := day, map[string]int{}
	if t.several {
		session = name + " " + day
	}
	return decodeList(r, s, func(turn *bankTurn, _, _ int64) error {
		// Turns that were forgotten are not in the file, so a position in the day names none.
		sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q", name, day, turn.Query, turn.Response))
		id := hex.EncodeToString(sum[:12])
		repeats[id]++
		id = fmt.Sprintf("%s.%d", id, repeats[id])
		for _, m := range []message{{id: id + "/q", name: name, text: turn.Query}, {id: id + "/r", role: "assistant", text: turn.Response}} {
			if strings.TrimSpace(m.text) == "" {
				continue
			}
			m.session, m.at = session, at
			if err := r.message(m); err != nil {
				return err
			}
			at = at.Add(time.Second)
		}
		return nil
	})
}
