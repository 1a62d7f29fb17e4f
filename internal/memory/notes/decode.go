package notes

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// members reads one JSON object and nothing after it.
func members(raw []byte) (map[string]json.RawMessage, error) {
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

// reader reads members into typed values and gathers what does not fit.
type reader struct {
	memory.Validation
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// read decodes a member that must not be null; want names its type to callers.
func read[T any](r *reader, field, want string, raw json.RawMessage) T {
	var v T
	if isNull(raw) {
		r.Addf(field, "must be %s", want)
		return v
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // integers above 2^53 in attributes stay what they are
	if err := d.Decode(&v); err != nil {
		r.Addf(field, "must be %s", want)
	}
	return v
}

func (r *reader) time(field string, raw json.RawMessage) time.Time {
	s := read[string](r, field, memory.TimeForm, raw)
	if s == "" {
		if len(r.Fields) == 0 || r.Fields[len(r.Fields)-1].Field != field {
			r.Addf(field, "must be %s", memory.TimeForm)
		}
		return time.Time{}
	}
	t, err := filter.ParseTime(s)
	if err != nil {
		r.Addf(field, "must be %s", memory.TimeForm)
	}
	return t
}

func opt[T any](r *reader, field, want string, raw json.RawMessage) Opt[T] {
	if isNull(raw) {
		return Null[T]()
	}
	return Some(read[T](r, field, want, raw))
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

// DecodeNewNote reads a note as the API takes it: unknown members are refused
// (Invalid, naming the member), wrong syntax is Malformed. The member key is
// known when allowKey is set.
func DecodeNewNote(raw []byte, allowKey bool) (NewNote, error) {
	m, err := members(raw)
	if err != nil {
		return NewNote{}, err
	}
	var r reader
	var n NewNote
	for _, field := range slices.Sorted(maps.Keys(m)) {
		if field == "key" && allowKey {
			n.Key = read[string](&r, field, wantText, m[field])
			if n.Key == "" {
				r.Addf(field, "must not be empty")
			}
			continue
		}
		n.read(&r, field, m[field])
	}
	if _, ok := m["content"]; !ok {
		r.Addf("content", "is required")
	}
	return n, r.Err()
}

func (n *NewNote) read(r *reader, field string, raw json.RawMessage) {
	switch field {
	case "content":
		n.Content = read[string](r, field, wantText, raw)
	case "context":
		n.Context = new(read[string](r, field, wantText, raw))
	case "keywords":
		n.Keywords = read[[]string](r, field, wantTexts, raw)
	case "tags":
		n.Tags = read[[]string](r, field, wantTexts, raw)
	case "category":
		n.Category = new(read[string](r, field, wantText, raw))
	case "attributes":
		n.Attributes = read[map[string]any](r, field, wantObject, raw)
	case "importance":
		n.Importance = new(read[float64](r, field, wantNumber, raw))
	case "occurred_at":
		n.OccurredAt = new(r.time(field, raw))
	case "kind":
		n.Kind = memory.Kind(read[string](r, field, wantText, raw))
		if n.Kind == "" {
			r.Addf(field, "must be one of %v", memory.Kinds())
		}
	case "infer":
		n.Infer = new(read[bool](r, field, wantBool, raw))
	default:
		r.Addf(field, "is not known here")
	}
}

// DecodeNotePatch reads a merge patch of a note (RFC 7396). Read-only and
// unknown members are Invalid.
func DecodeNotePatch(raw []byte) (NotePatch, error) {
	m, err := members(raw)
	if err != nil {
		return NotePatch{}, err
	}
	var r reader
	var p NotePatch
	for _, field := range slices.Sorted(maps.Keys(m)) {
		raw := m[field]
		switch field {
		case "content":
			p.Content = opt[string](&r, field, wantText, raw)
		case "context":
			p.Context = opt[string](&r, field, wantText, raw)
		case "keywords":
			p.Keywords = opt[[]string](&r, field, wantTexts, raw)
		case "tags":
			p.Tags = opt[[]string](&r, field, wantTexts, raw)
		case "category":
			p.Category = opt[string](&r, field, wantText, raw)
		case "attributes":
			p.Attributes = opt[map[string]any](&r, field, wantObject, raw)
		case "importance":
			p.Importance = opt[float64](&r, field, wantNumber, raw)
		case "occurred_at":
			if isNull(raw) {
				p.OccurredAt = Null[time.Time]()
			} else {
				p.OccurredAt = Some(r.time(field, raw))
			}
		case "id", "collection", "kind", "key", "created_at", "updated_at", "revision", "state", "error",
			"analyst", "links", "embedder", "embedding", "provenance", "usage":
			r.Addf(field, "is read-only")
		default:
			r.Addf(field, "is not known here")
		}
	}
	return p, r.Err()
}

// DecodeLinks reads {"links":[{target, relation, confidence}]}.
func DecodeLinks(raw []byte) ([]LinkInput, error) {
	m, err := members(raw)
	if err != nil {
		return nil, err
	}
	var r reader
	for _, field := range slices.Sorted(maps.Keys(m)) {
		if field != "links" {
			r.Addf(field, "is not known here")
		}
	}
	if _, ok := m["links"]; !ok {
		r.Addf("links", "is required")
		return nil, r.Err()
	}
	list := read[[]json.RawMessage](&r, "links", "a list of links", m["links"])
	out := make([]LinkInput, 0, len(list))
	for i, item := range list {
		at := "links." + strconv.Itoa(i)
		members, err := members(item)
		if err != nil {
			r.Addf(at, "must be an object")
			continue
		}
		var l LinkInput
		for _, field := range slices.Sorted(maps.Keys(members)) {
			l.read(&r, at+"."+field, field, members[field])
		}
		if _, ok := members["target"]; !ok {
			r.Addf(at+".target", "is required")
		}
		out = append(out, l)
	}
	return out, r.Err()
}

func (l *LinkInput) read(r *reader, at, field string, raw json.RawMessage) {
	switch field {
	case "target":
		l.Target = read[uuid.UUID](r, at, wantID, raw)
	case "relation":
		l.Relation = read[string](r, at, wantText, raw)
		if l.Relation == "" {
			r.Addf(at, "must not be empty")
		}
	case "confidence":
		l.Confidence = new(read[float64](r, at, wantNumber, raw))
	default:
		r.Addf(at, "is not known here")
	}
}

// DecodeCollectionPatch reads a merge patch of a collection.
func DecodeCollectionPatch(raw []byte) (CollectionPatch, error) {
	m, err := members(raw)
	if err != nil {
		return CollectionPatch{}, err
	}
	var r reader
	var p CollectionPatch
	for _, field := range slices.Sorted(maps.Keys(m)) {
		raw := m[field]
		switch field {
		case "name":
			p.Name = opt[string](&r, field, wantText, raw)
		case "policy":
			p.Policy = opt[string](&r, field, wantText, raw)
		case "display_name":
			p.DisplayName = opt[string](&r, field, wantText, raw)
		case "policy_config":
			p.PolicyConfig = opt[map[string]any](&r, field, wantObject, raw)
		case "metadata":
			p.Metadata = opt[map[string]any](&r, field, wantObject, raw)
		case "ttl_seconds":
			p.TTLSeconds = opt[int64](&r, field, wantInt, raw)
		case "id", "agent", "embedder", "parent", "lineage", "head_revision", "floor_revision", "counts", "index",
			"expires_at", "created_at", "state", "ephemeral":
			r.Addf(field, "is read-only")
		default:
			r.Addf(field, "is not known here")
		}
	}
	return p, r.Err()
}

// mergePatch applies RFC 7396 to an object; neither argument is changed.
func mergePatch(target, patch map[string]any) map[string]any {
	out := make(map[string]any, len(target)+len(patch))
	maps.Copy(out, target)
	for k, v := range patch {
		switch p := v.(type) {
		case nil:
			delete(out, k)
		case map[string]any:
			old, _ := out[k].(map[string]any)
			out[k] = mergePatch(old, p)
		default:
			out[k] = v
		}
	}
	return out
}

// sameJSON compares two objects by their JSON.
func sameJSON(a, b map[string]any) bool {
	if len(a) == 0 && len(b) == 0 {
		return true
	}
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}
