package notes

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// NewNote is a note as a caller sends it. Nil lists and pointers are absent fields.
type NewNote struct {
	ID         uuid.UUID    // for imports only; zero: a new id
	Kind       memory.Kind  // "": memory.KindNote
	Key        string       // natural key; "": none
	Content    string       // required, not blank; of an image by default its description, or what it is called
	Item       *memory.Item // nil: none, or the one in Attributes
	Context    *string
	Keywords   []string
	Tags       []string
	Category   *string // nil: memory.DefaultCategory
	Attributes map[string]any
	Importance *float64    // nil: memory.DefaultImportance
	OccurredAt *time.Time  // nil: now
	ExpiresAt  *time.Time  // nil: never, unless TTLSeconds says it
	TTLSeconds *int64      // how long from now; not beside ExpiresAt
	Infer      *bool       // nil: true; false stores the note without running the policy
	Sources    []uuid.UUID // notes that it is of, which no caller sets
	// OnDuplicate applies to notes without a key; "": memory.DuplicateReturn.
	OnDuplicate memory.OnDuplicate
}

// readField reads one field of a note.
func (in *NewNote) readField(r *reader, field string, raw json.RawMessage) {
	switch field {
	case "content":
		in.Content = readMember[string](r, field, wantText, raw)
	case "context":
		in.Context = new(readMember[string](r, field, wantText, raw))
	case "keywords":
		in.Keywords = readMember[[]string](r, field, wantTexts, raw)
	case "tags":
		in.Tags = readMember[[]string](r, field, wantTexts, raw)
	case "category":
		in.Category = new(readMember[string](r, field, wantText, raw))
	case "attributes":
		in.Attributes = readMember[map[string]any](r, field, wantObject, raw)
	case memory.AttrItem:
		in.Item = readItem(r, field, raw)
	case "importance":
		in.Importance = new(readMember[float64](r, field, wantNumber, raw))
	case "occurred_at":
		in.OccurredAt = new(r.time(field, raw))
	case "expires_at":
		in.ExpiresAt = new(r.time(field, raw))
	case "ttl_seconds":
		in.TTLSeconds = new(readMember[int64](r, field, wantInt, raw))
	case "kind":
		in.Kind = memory.Kind(readMember[string](r, field, wantText, raw))
		if in.Kind == "" {
			r.Addf(field, "must be one of %s", wording.Or(memory.Kinds()...))
		}
	case "infer":
		in.Infer = new(readMember[bool](r, field, wantBool, raw))
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

// build validates a new note and returns it as it will be stored. OccurredAt stays zero if the
// caller did not set it. images: its vector can be that of an image.
func (in *NewNote) build(now time.Time, actor string, images bool) (memory.Note, error) {
	var r memory.Validation
	out := memory.Note{
		ID: in.ID, Kind: in.Kind, Key: in.Key, Content: in.Content, Attributes: in.Attributes,
		Category: memory.DefaultCategory, Importance: memory.DefaultImportance, State: memory.StateRaw,
		Provenance: memory.Provenance{Actor: actor, Sources: in.Sources},
	}
	if out.Kind == "" {
		out.Kind = memory.KindNote
	}
	if !slices.Contains(memory.Kinds(), out.Kind) {
		r.Addf("kind", "must be one of %s", wording.Or(memory.Kinds()...))
	}
	memory.LeaveOut(&out) // before its size is checked
	checkOnDuplicate(&r, in.OnDuplicate)
	r.Add(block.CheckNote(out.Kind))
	r.Text("key", in.Key, memory.MaxKeyBytes)
	in.describe(&r, &out, images)
	r.Content(out.Content)
	if in.Context != nil {
		r.Text("context", *in.Context, memory.MaxContextBytes)
		out.Context = *in.Context
	}
	out.Keywords = r.Terms("keywords", in.Keywords, memory.MaxKeywords)
	out.Tags = r.Terms("tags", in.Tags, memory.MaxTags)
	if in.Category != nil {
		r.Category(*in.Category)
		out.Category = *in.Category
	}
	if out.Attributes == nil {
		out.Attributes = map[string]any{}
	}
	r.Object("attributes", out.Attributes)
	if in.Importance != nil {
		r.Fraction("importance", *in.Importance)
		out.Importance = *in.Importance
	}
	if in.OccurredAt != nil {
		out.OccurredAt = r.EventTime("occurred_at", *in.OccurredAt, now)
	}
	if end := r.Expiry(in.ExpiresAt, in.TTLSeconds, now); !end.IsZero() {
		out.ExpireAt(end)
	}
	out.Supplied = suppliedFields(&out)
	return out, r.Err()
}

func checkOnDuplicate(r *memory.Validation, o memory.OnDuplicate) {
	switch o {
	case "", memory.DuplicateReturn, memory.DuplicateKeep:
	default:
		r.Addf("on_duplicate", "must be return or keep")
	}
}

// suppliedFields returns the names of the described fields that the caller filled. Defaults do not count.
func suppliedFields(n *memory.Note) []string {
	var s []string
	if len(n.Keywords) > 0 {
		s = append(s, memory.FieldKeywords)
	}
	if n.Context != "" && n.Context != memory.DefaultContext {
		s = append(s, memory.FieldContext)
	}
	if len(n.Tags) > 0 {
		s = append(s, memory.FieldTags)
	}
	return s
}
