package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// inject puts a text behind what the user said last, within that message. Instructions and history stay as the client
// sent them, byte for byte, so that the next request of the dialogue begins like this one, and no system message is added.
// Where the user has said nothing, a message of the user is added before the dialogue.
func (b *body) inject(known string) error {
	at := b.lastOfUser()
	if at < 0 {
		return b.insertUser(b.firstSpoken(), known)
	}
	raw, ok, err := withText(b.messages[at], known, behind)
	if err != nil {
		return err
	}
	if !ok {
		return b.insertUser(at+1, known)
	}
	b.messages[at] = raw
	return nil
}

// lastOfUser returns the index of the user's last message; -1: there is none.
func (b *body) lastOfUser() int {
	for i, t := range slices.Backward(b.turns) {
		if t.Role == memory.RoleUser {
			return i
		}
	}
	return -1
}

// asked returns the turns up to the user's last, or all where the user has said nothing. What follows while tools are
// called does not change what is recalled, so that these requests begin alike too.
func (b *body) asked() []Turn {
	if at := b.lastOfUser(); at >= 0 {
		return b.turns[:at+1]
	}
	return b.turns
}

// firstSpoken returns the index of the first message that is not an instruction.
func (b *body) firstSpoken() int {
	at := slices.IndexFunc(b.turns, func(t Turn) bool { return !isInstruction(&t) })
	if at < 0 {
		return len(b.turns)
	}
	return at
}

// isInstruction reports whether a message has instructions for the model.
func isInstruction(t *Turn) bool {
	return t.Role == memory.RoleSystem || t.Role == memory.RoleDeveloper
}

// insertUser adds a message of the user.
func (b *body) insertUser(at int, said string) error { return b.insert(at, memory.RoleUser, said) }

func (b *body) insert(at int, role memory.Role, said string) error {
	content, err := quoted(said)
	if err != nil {
		return err
	}
	raw := fmt.Appendf(nil, `{"role":%q,"content":%s}`, role, content)
	b.messages = slices.Insert(b.messages, at, json.RawMessage(raw))
	b.turns = slices.Insert(b.turns, at, Turn{Role: role, Content: said})
	return nil
}

// A place of a text in the content of a message.
type place bool

const (
	before place = false
	behind place = true
)

// withText returns a message with a text before or behind its content, whose other bytes stay the same. ok is false for
// content that is neither a text nor parts.
func withText(raw json.RawMessage, said string, at place) (_ json.RawMessage, ok bool, err error) {
	start, end, err := contentOfMessage(raw)
	if err != nil || start == end {
		return nil, false, err
	}
	content := raw[start:end]
	first, last := content[:1], content[len(content)-1:]
	inner := content[1 : len(content)-1]
	var added []byte
	joint := ""
	switch string(first) {
	case `"`:
		if added, err = quoted(said); err == nil {
			added = added[1 : len(added)-1]
		}
		if len(inner) > 0 {
			joint = `\n\n`
		}
	case `[`:
		added, err = quoted(said)
		added = slices.Concat([]byte(`{"type":"text","text":`), added, []byte(`}`))
		if len(bytes.TrimSpace(inner)) > 0 {
			joint = ","
		}
	default:
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	whole := slices.Concat(added, []byte(joint), inner)
	if at == behind {
		whole = slices.Concat(inner, []byte(joint), added)
	}
	return slices.Concat(raw[:start], first, whole, last, raw[end:]), true, nil
}

// contentOfMessage returns where the content of a message is; of repeated fields the last counts, as for the endpoint.
func contentOfMessage(raw json.RawMessage) (start, end int, err error) {
	err = eachField(raw, func(f field, at int) error {
		if f.name == "content" {
			start, end = at-len(f.raw), at
		}
		return nil
	})
	return start, end, err
}

// quoted returns a text as JSON.
func quoted(s string) ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return nil, fmt.Errorf("encode a text: %w", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// systemForm is how instructions are sent. Not every model takes them as clients send them.
type systemForm int

const (
	systemsAsSent systemForm = iota
	systemsJoined            // one message, the first
	systemsNone              // before what the user says first
	systemForms
)

// withSystems returns the request with its instructions in a form; changed is false where it has that already.
func (b *body) withSystems(form systemForm) (out *body, changed bool, err error) {
	var said []string
	for i := range b.turns {
		if isInstruction(&b.turns[i]) {
			said = append(said, b.turns[i].Content)
		}
	}
	simple := len(said) == 1 && isInstruction(&b.turns[0])
	if form == systemsAsSent || len(said) == 0 || form == systemsJoined && simple {
		return b, false, nil
	}
	out = b.clone()
	out.messages, out.turns = nil, nil
	for i := range b.turns {
		if !isInstruction(&b.turns[i]) {
			out.messages, out.turns = append(out.messages, b.messages[i]), append(out.turns, b.turns[i])
		}
	}
	all := strings.Join(said, "\n\n")
	if form == systemsJoined {
		err = out.insert(0, memory.RoleSystem, all)
		return out, true, err
	}
	at := slices.IndexFunc(out.turns, func(t Turn) bool { return t.Role == memory.RoleUser })
	if at < 0 {
		err = out.insertUser(0, all)
		return out, true, err
	}
	raw, ok, err := withText(out.messages[at], all, before)
	if err != nil {
		return nil, false, err
	}
	if !ok {
		err = out.insertUser(at, all)
		return out, true, err
	}
	out.messages[at] = raw
	return out, true, nil
}
