package notes

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// readField reads one field of a note.
func (n *NewNote) readField(r *reader, field string, raw json.RawMessage) {
	switch field {
	case "content":
		n.Content = readMember[string](r, field, wantText, raw)
	case "context":
		n.Context = new(readMember[string](r, field, wantText, raw))
	case "keywords":
		n.Keywords = readMember[[]string](r, field, wantTexts, raw)
	case "tags":
		n.Tags = readMember[[]string](r, field, wantTexts, raw)
	case "category":
		n.Category = new(readMember[string](r, field, wantText, raw))
	case "attributes":
		n.Attributes = readMember[map[string]any](r, field, wantObject, raw)
	case memory.AttrItem:
		n.Item = readItem(r, field, raw)
	case "importance":
		n.Importance = new(readMember[float64](r, field, wantNumber, raw))
	case "occurred_at":
		n.OccurredAt = new(r.time(field, raw))
	case "expires_at":
		n.ExpiresAt = new(r.time(field, raw))
	case "ttl_seconds":
		n.TTLSeconds = new(readMember[int64](r, field, wantInt, raw))
	case "kind":
		n.Kind = memory.Kind(readMember[string](r, field, wantText, raw))
		if n.Kind == "" {
			r.Addf(field, "must be one of %s", wording.Or(memory.Kinds()...))
		}
	case "infer":
		n.Infer = new(readMember[bool](r, field, wantBool, raw))
	default:
		r.Addf(field, "unknown field")
	}
}

// readItem reads an item, whose members are texts.
func readItem(r *reader, field string, raw json.RawMessage) *memory.Item {
	m := readMember[map[string]json.RawMessage](r, field, wantObject, raw)
	var it memory.Item
	members := map[string]*string{
		"url": &it.URL, "media_type": &it.MediaType, "language": &it.Language, "name": &it.Name, "description": &it.Description,
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		at, value := field+"."+name, m[name]
		switch to, ok := members[name]; {
		case name == "type":
			it.Type = memory.ItemType(readMember[string](r, at, wantText, value))
		case ok:
			*to = readMember[string](r, at, wantText, value)
		default:
			r.Addf(at, "unknown field")
		}
	}
	return &it
}

// decodeMembers decodes one JSON object and refuses data after it.
func decodeMembers(raw []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(raw) {
		return nil, fault.New(fault.Malformed, "the text is not valid UTF-8")
	}
	if !json.Valid(raw) {
		return nil, fault.New(fault.Malformed, "the text is not one JSON value")
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil || m == nil {
		return nil, fault.New(fault.Invalid, "must be a JSON object")
	}
	return m, nil
}

// reader decodes members into typed values and collects what does not fit.
type reader struct {
	memory.Validation
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// readMember decodes a member that must not be null. want names the type in refusals.
func readMember[T any](r *reader, field, want string, raw json.RawMessage) T {
	var v T
	if isNull(raw) {
		r.Addf(field, "must be %s", want)
		return v
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // keep integers above 2^53 exact
	if err := d.Decode(&v); err != nil {
		r.Addf(field, "must be %s", want)
	}
	return v
}

func (r *reader) time(field string, raw json.RawMessage) time.Time {
	s := readMember[string](r, field, memory.TimeForm, raw)
	if s == "" {
		if len(r.Fields) == 0 || r.Fields[len(r.Fields)-1].Field != field {
			r.Addf(field, "must be %s", memory.TimeForm)
		}
		return time.Time{}
	}
	t, err := filter.ParseLocalTime(s)
	if err != nil {
		r.Addf(field, "must be %s", memory.TimeForm)
	}
	return t
}

const (
	wantText   = "a string"
	wantTexts  = "a list of strings"
	wantNumber = "a number"
	wantObject = "an object"
	wantBool   = "true or false"
	wantID     = "a UUID"
	wantInt    = "an integer"
)
