package postgres

import (
	"strconv"
	"strings"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/store"
)

// bind returns the text of a condition with the placeholders of the statement.
func (p *params) bind(c store.Condition) string {
	var b strings.Builder
	rest := c.Text
	for _, arg := range c.Args {
		before, after, _ := strings.Cut(rest, "?")
		b.WriteString(before + p.add(arg))
		rest = after
	}
	return b.String() + rest
}

// compile translates what Postgres decides as package filter does: text, times and importance by
// column, tags and keywords by element, attributes of text and boolean type. JSON numbers are left
// to package filter: Postgres compares them as decimals.
func compile(e filter.Expr) store.Condition {
	return store.FilterSQL{
		Operand: operand, Position: "strpos", Elements: elements, Attribute: attribute, Agent: `(n.provenance->>'agent') COLLATE "C"`,
	}.Compile(e)
}

// operand returns a value as the column holds it, and its placeholder; ok is false when Postgres
// would not accept it.
func operand(v filter.Value) (arg any, mark string, ok bool) {
	switch v.Type {
	case filter.Text:
		return v.Text, "?::text", storable(v.Text)
	case filter.Number:
		return v.Number, "?::float8", true
	case filter.Bool:
		return v.Bool, "?::boolean", true
	case filter.Time:
		return v.Time, "?::timestamptz", true
	}
	return nil, "", false
}

// elements tests whether one element of a list of texts equals a value.
func elements(l *filter.Leaf, column string) store.Condition {
	if l.Op == filter.Exists {
		return store.Condition{Text: "(cardinality(" + column + ") > 0) = " + strconv.FormatBool(l.Want), Exact: true}
	}
	switch l.Op {
	case filter.Eq, filter.Ne, filter.In, filter.Contains:
	default:
		return store.Condition{}
	}
	wanted := make([]string, 0, len(l.Values))
	for _, v := range l.Values {
		if _, _, ok := operand(v); !ok || v.Type != filter.Text {
			return store.Condition{}
		}
		wanted = append(wanted, v.Text)
	}
	text := column + " && ?::text[]"
	if l.Op == filter.Ne {
		text = "NOT (" + text + ")"
	}
	return store.Condition{Text: text, Args: []any{wanted}, Exact: true}
}

// attribute compares a JSON value of text or boolean type, or the elements of an array. Each name
// is looked up in an object, as package filter does; a path of "#>" would also index arrays.
func attribute(l *filter.Leaf) store.Condition {
	path := make([]any, 0, len(l.Path))
	for _, name := range l.Path {
		if !storable(name) {
			return store.Condition{}
		}
		path = append(path, name)
	}
	value := "(n.attributes" + strings.Repeat(" -> ?::text", len(path)) + ")"
	if l.Op == filter.Exists {
		// A JSON null is absent, and the type of an absent value is NULL.
		return store.Condition{Text: "COALESCE(jsonb_typeof(" + value + ") <> 'null', false) = " + strconv.FormatBool(l.Want), Args: path, Exact: true}
	}
	switch l.Op {
	case filter.Eq, filter.Ne, filter.In:
	default:
		return store.Condition{}
	}
	var terms []string
	var args []any
	for _, v := range l.Values {
		arg, mark, ok := operand(v)
		if !ok || v.Type != filter.Text && v.Type != filter.Bool {
			return store.Condition{}
		}
		// An array contains a scalar that is one of its elements; a scalar contains one that equals
		// it.
		terms = append(terms, "COALESCE("+value+" @> to_jsonb("+mark+"), false)")
		args = append(append(args, path...), arg)
	}
	if len(terms) == 0 {
		return store.Condition{}
	}
	text := strings.Join(terms, " OR ")
	if l.Op == filter.Ne {
		text = "NOT (" + text + ")"
	}
	return store.Condition{Text: text, Args: args, Exact: true}
}
