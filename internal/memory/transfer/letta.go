package transfer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// letta reads an agent file of Letta (.af): what was said, and the blocks and passages as notes. The gateway takes the whole file
// for a collection of the policy memgpt, with blocks, rules and calls of tools.
type letta struct {
	file   string
	agents []string // their names, in order
}

type lettaMessage struct {
	ID      string          `json:"id"`
	Role    string          `json:"role"`
	Name    string          `json:"name"`
	Content json.RawMessage `json:"content"`
	Text    string          `json:"text"`
	Created string          `json:"created_at"`
	Calls   []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type lettaBlock struct {
	Label string `json:"label"`
	Value string `json:"value"`
}

// lettaNote is what a file that slipbox has written keeps beside the messages.
type lettaNote struct {
	ID         string         `json:"id"`
	Kind       string         `json:"kind"`
	Content    string         `json:"content"`
	Tags       []string       `json:"tags"`
	At         string         `json:"occurred_at"`
	Attributes map[string]any `json:"attributes"`
}

func isLetta(s *Source) bool {
	if len(s.files) != 1 {
		return false
	}
	head := s.head(s.files[0])
	for _, member := range []string{"block_ids", "in_context_message_ids", "agent_type", "llm_config"} {
		if begins(head, '{', "agents", member) || begins(head, '{', "core_memory", member) {
			return true
		}
	}
	return begins(head, '{', "core_memory", "messages")
}

func (t *letta) index(r *reading) ([]piece, error) {
	t.file = r.source.files[0]
	err := t.walk(r, func(s *stream, agent int, member string) error {
		for len(t.agents) <= agent {
			t.agents = append(t.agents, "Letta")
		}
		if member != "name" {
			return s.skip()
		}
		var name string
		err := s.Decode(&name)
		if name = label(name); name != "" {
			t.agents[agent] = name
		}
		return err
	})
	return []piece{{to: -1}}, err
}

// walk calls each for the members of every agent, and for the blocks of the file. Each reads the value. The older form is an agent
// itself.
func (t *letta) walk(r *reading, each func(s *stream, agent int, member string) error) error {
	return r.stream(t.file, func(s *stream) error {
		return s.members(func(member string) error {
			if member != "agents" {
				return each(s, 0, member)
			}
			agent := -1
			return s.elements(func() error {
				agent++
				return s.members(func(member string) error { return each(s, agent, member) })
			})
		})
	})
}

func (t *letta) read(r *reading, _ piece) error {
	return t.walk(r, func(s *stream, agent int, member string) error {
		switch member {
		case "messages":
			n := 0
			return decodeList(r, s, func(m *lettaMessage, _, _ int64) error {
				n++
				return t.message(r, m, t.agents[agent], n)
			})
		case "blocks", "core_memory", "memory_blocks":
			return decodeList(r, s, func(b *lettaBlock, _, _ int64) error { return t.block(r, b) })
		case "metadata":
			var of struct {
				Slipbox struct {
					Notes []lettaNote `json:"notes"`
				} `json:"slipbox"`
			}
			if err := s.Decode(&of); err != nil {
				return err
			}
			return t.notes(r, of.Slipbox.Notes, t.agents[agent])
		}
		return s.skip()
	})
}

func (t *letta) message(r *reading, m *lettaMessage, session string, n int) error {
	id, at := fmt.Sprintf("%s %s", session, m.ID), stamp(m.Created)
	if m.ID == "" {
		id = fmt.Sprintf("%s %d", session, n)
	}
	text := cmp.Or(contentOf(m.Content), m.Text)
	if m.Role == "user" {
		if text = personSays(text); text == "" {
			r.left("messages of tools and systems", 1)
			return nil
		}
		return r.message(message{id: id, role: "user", name: m.Name, session: session, at: at, text: text})
	}
	if m.Role != "assistant" {
		r.left("messages of tools and systems", 1)
		return nil
	}
	if len(m.Calls) == 0 {
		return r.message(message{id: id, role: "assistant", session: session, at: at, text: text})
	}
	if text != "" {
		r.left("thoughts of the agent", 1)
	}
	for i, c := range m.Calls {
		var sent struct {
			Message string `json:"message"`
		}
		if c.Function.Name != "send_message" || json.Unmarshal([]byte(c.Function.Arguments), &sent) != nil {
			r.left("calls of tools", 1)
			continue
		}
		if err := r.message(message{id: fmt.Sprintf("%s/%d", id, i), role: "assistant", session: session, at: at, text: sent.Message}); err != nil {
			return err
		}
	}
	return nil
}

// personSays returns what a person said, which Letta packs with the time; "": it is an event that Letta packs in the same way.
func personSays(text string) string {
	var packed struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	}
	switch {
	case !strings.HasPrefix(strings.TrimSpace(text), "{"), json.Unmarshal([]byte(text), &packed) != nil, packed.Type == "":
		return text
	case packed.Type == "user_message":
		return packed.Message
	}
	return ""
}

func (t *letta) block(r *reading, b *lettaBlock) error {
	value := plain(b.Value)
	if value == "" {
		r.left("blocks without words", 1)
		return nil
	}
	for _, part := range Pieces(value, maxContent) {
		l := Line{Content: part, Attributes: map[string]any{AttrSource: "letta"}}
		if name := label(b.Label); name != "" {
			l.Attributes["block"] = name
		}
		if err := r.note(l, time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

// notes reads passages, and messages that have left the agent's window.
func (t *letta) notes(r *reading, list []lettaNote, session string) error {
	for i := range list {
		n := &list[i]
		role, _ := n.Attributes["role"].(string)
		tool, _ := n.Attributes["tool"].(string)
		said := role == "user" || role == "assistant" && (tool == "" || tool == "send_message")
		var err error
		switch {
		case n.Kind == "message" && said:
			name, _ := n.Attributes["name"].(string)
			err = r.message(message{id: session + " " + n.ID, role: role, name: name, session: session, at: stamp(n.At), text: n.Content})
		case n.Kind == "passage", n.Kind == "note":
			for _, part := range Pieces(plain(n.Content), maxContent) {
				if err = r.note(Line{Content: part, Tags: distinct(n.Tags), Attributes: map[string]any{AttrSource: "letta"}}, stamp(n.At)); err != nil {
					break
				}
			}
		default:
			r.left("messages of tools and systems", 1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
