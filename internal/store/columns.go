package store

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

// noteColumn is a column of notes.
type noteColumn struct {
	word string               // see parseColumns
	at   func(n *NoteRow) any // a pointer to the value
}

// noteColumns are the columns of notes behind the tenant, in the order of the schema. What inserts, reads, copies or moves notes
// has its columns from here.
var noteColumns = []noteColumn{
	{"layer:id", func(n *NoteRow) any { return &n.Layer }},
	{"id:id", func(n *NoteRow) any { return &n.ID }},
	{"from_rev:int", func(n *NoteRow) any { return &n.From }},
	{"to_rev:int", func(n *NoteRow) any { return &n.To }},
	{"deleted:bool", func(n *NoteRow) any { return &n.Deleted }},
	{"kind:text", func(n *NoteRow) any { return &n.Kind }},
	{"state:text", func(n *NoteRow) any { return &n.State }},
	{"key:text", func(n *NoteRow) any { return &n.Key }},
	{"importance:real", func(n *NoteRow) any { return &n.Importance }},
	{"occurred_at:event?", func(n *NoteRow) any { return &n.OccurredAt }},
	{"created_at:event?", func(n *NoteRow) any { return &n.CreatedAt }},
	{"updated_at:time", func(n *NoteRow) any { return &n.UpdatedAt }},
	{"bytes:int", func(n *NoteRow) any { return &n.Bytes }},
	{"embedder:text", func(n *NoteRow) any { return &n.Embedder }},
	{"category:text", func(n *NoteRow) any { return &n.Category }},
	{"context:text", func(n *NoteRow) any { return &n.Context }},
	{"keywords:texts", func(n *NoteRow) any { return &n.Keywords }},
	{"tags:texts", func(n *NoteRow) any { return &n.Tags }},
	{"attributes:object?", func(n *NoteRow) any { return &n.AttributesJSON }},
	{"error:text", func(n *NoteRow) any { return &n.Error }},
	{"analyst:text", func(n *NoteRow) any { return &n.Analyst }},
	{"supplied:texts", func(n *NoteRow) any { return &n.Supplied }},
	{"provenance:object?", func(n *NoteRow) any { return &n.ProvenanceJSON }},
	{"content:text", func(n *NoteRow) any { return &n.Content }},
	{"digest:int", func(n *NoteRow) any { return &n.Digest }},
	{"occurred_offset:int", func(n *NoteRow) any { return &n.OccurredOffset }},
	{"expires_at:time?", func(n *NoteRow) any { return &n.ExpiresAt }},
}

// NoteColumns returns the columns of notes behind the tenant. The first is the layer.
func NoteColumns() []Column {
	words := make([]string, len(noteColumns))
	for i, c := range noteColumns {
		words[i] = c.word
	}
	return parseColumns(strings.Join(words, " "))
}

// NoteNames lists the names of the columns of notes, each behind a prefix such as "n.".
func NoteNames(prefix string) string { return names(NoteColumns(), prefix) }

func names(columns []Column, prefix string) string {
	out := make([]string, len(columns))
	for i, c := range columns {
		out[i] = prefix + c.Name
	}
	return strings.Join(out, ", ")
}

// Copied lists the columns of notes or links behind tenant and layer, and what a copy of the rows of an alias has in them: the
// same, but the end that is given.
func Copied(table, alias, end string) (columns, values string) {
	of := slices.Clone(tables[slices.IndexFunc(tables, func(t *Table) bool { return t.Name == table })].Columns[2:])
	i := slices.IndexFunc(of, func(c Column) bool { return c.Name == "to_rev" })
	return names(of, ""), names(of[:i], alias+".") + ", " + end + ", " + names(of[i+1:], alias+".")
}

// Values returns the values of the columns in the form of a [Row].
func (n *NoteRow) Values() []any {
	out := make([]any, len(noteColumns))
	for i, c := range noteColumns {
		v := reflect.ValueOf(c.at(n)).Elem()
		if strings.HasSuffix(c.word, "?") && v.IsZero() {
			continue
		}
		switch x := v.Interface().(type) {
		case time.Time:
			if !x.IsZero() {
				out[i] = Micros(x)
			}
		case []string:
			out[i] = append([]string{}, x...)
		default:
			switch v.Kind() {
			case reflect.String:
				out[i] = v.String()
			case reflect.Int64:
				out[i] = v.Int()
			default:
				out[i] = x
			}
		}
	}
	return out
}

// Dest returns where the columns are read into. texts returns that of a list of texts.
func (n *NoteRow) Dest(texts func(*[]string) any) []any {
	out := make([]any, len(noteColumns), len(noteColumns)+8)
	for i, c := range noteColumns {
		out[i] = c.at(n)
		switch p := out[i].(type) {
		case *time.Time:
			out[i] = timeColumn{p, strings.Contains(c.word, ":event")}
		case *[]string:
			out[i] = texts(p)
		case *string:
			if strings.HasSuffix(c.word, "?") {
				out[i] = JSON(p)
			}
		}
	}
	return out
}

// Read returns the version of a row that was read. object reads the attributes as the engine returns them.
func (n *NoteRow) Read(r NoteReader, object func(doc string) (map[string]any, error)) (_ NoteVersion, err error) {
	n.Collection, n.OccurredAt = r.Collection, eventOf(n.OccurredAt, int(n.OccurredOffset))
	for _, texts := range []*[]string{&n.Keywords, &n.Tags, &n.Supplied} {
		if len(*texts) == 0 {
			*texts = nil
		}
	}
	if n.Attributes, err = object(n.AttributesJSON); err != nil {
		return n.NoteVersion, err
	}
	if n.ProvenanceJSON != "" {
		err = json.Unmarshal([]byte(n.ProvenanceJSON), &n.Provenance)
	}
	return n.NoteVersion, err
}
