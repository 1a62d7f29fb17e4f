package api

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// noteFields are the fields of a note that an answer shows; its id is always one of them.
type noteFields map[wire.NoteField]bool

const allFields wire.NoteField = "*"

// embeddingField is chosen by include, not by fields.
const embeddingField wire.NoteField = "embedding"

// statementFields are shown of facts and knowledge only, where the caller chose no fields.
const statementFields wire.NoteField = "of statements"

// searchFields returns what the hits of a search show: by default what was said, and when; of a statement also how
// sure it is, and where it comes from.
func searchFields(asked []wire.NoteField, embedding bool) noteFields {
	out := noteFields{wire.NoteFieldID: true}
	if len(asked) == 0 {
		out[wire.NoteFieldContent], out[wire.NoteFieldOccurredAt], out[statementFields] = true, true, true
	}
	for _, f := range asked {
		out[f] = true
	}
	if embedding {
		out[embeddingField] = true
	}
	return out
}

func (f noteFields) has(name wire.NoteField) bool {
	return f[name] || f[allFields] && name != embeddingField
}

// idsOnly reports whether no note has to be read.
func (f noteFields) idsOnly() bool { return len(f) == 1 }

// hasUse reports whether the links or the use of a note are shown, which are read apart from it.
func (f noteFields) hasUse() bool {
	return f.has(wire.NoteFieldLinks) || f.has(wire.NoteFieldUsage)
}

// briefNote is what the hits of a search show unless the caller chose fields, in the order of wire.Note.
type briefNote struct {
	Content    string     `json:"content"`
	ID         uuid.UUID  `json:"id"`
	OccurredAt *time.Time `json:"occurred_at,omitempty"`
}

// brief returns what is shown of a note where that is no more than a briefNote has: it is written without a detour over all fields.
func (f noteFields) brief(n *memory.Note) (out *briefNote, ok bool) {
	if !f[statementFields] || f[embeddingField] || n.Kind == memory.KindFact || n.Kind == memory.KindKnowledge {
		return nil, false
	}
	return &briefNote{n.Content, n.ID, wire.OptionalTime(n.OccurredAt)}, true
}

// shownNote is wire.Note with pointers as its fields: those that are nil are not shown.
var shownNote = func() reflect.Type {
	fields := reflect.VisibleFields(reflect.TypeFor[wire.Note]())
	for i, f := range fields {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[i] = reflect.StructField{Name: f.Name, Type: reflect.PointerTo(f.Type), Tag: reflect.StructTag(fmt.Sprintf(`json:"%s,omitempty"`, name))}
	}
	return reflect.StructOf(fields)
}()

// render returns the fields of a note that are shown, in the order of wire.Note, to be encoded with the answer.
func (f noteFields) render(n *wire.Note) wire.HitNote {
	statement := f[statementFields] && (n.Kind == wire.KindFact || n.Kind == wire.KindKnowledge)
	v, out := reflect.ValueOf(n).Elem(), reflect.New(shownNote)
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		shown := f.has(wire.NoteField(name)) || statement && (name == string(wire.NoteFieldConfidence) || name == string(wire.NoteFieldProvenance))
		if shown && (options != "omitempty" || !v.Field(i).IsZero()) {
			out.Elem().Field(i).Set(v.Field(i).Addr())
		}
	}
	return out.Interface()
}
