package postgres

import (
	"strconv"
	"strings"

	"github.com/slipboxhq/slipbox/internal/filter"
)

// condition is SQL over notes n that is true of every note that the filter
// lets pass, and of no other when exact. The empty text is true. Its arguments
// stand as "?" in the text until it is bound to a statement.
type condition struct {
	text  string
	args  []any
	exact bool
}

// bind gives the text with the placeholders of a statement.
func (c condition) bind(p *params) string {
	var b strings.Builder
	rest := c.text
	for _, arg := range c.args {
		before, after, _ := strings.Cut(rest, "?")
		b.WriteString(before + p.add(arg))
		rest = after
	}
	return b.String() + rest
}

// compile translates what Postgres decides as package filter does: text, times
// and importance by column, tags and keywords by element, attributes of text
// and boolean type. JSON numbers are left to package filter: Postgres compares
// them as decimals.
func compile(e filter.Expr) condition {
	switch e := e.(type) {
	case filter.And:
		out := condition{exact: true}
		for _, term := range e {
			c := compile(term)
			out.exact = out.exact && c.exact
			if c.text == "" {
				continue
			}
			if out.text != "" {
				out.text += " AND "
			}
			out.text += "(" + c.text + ")"
			out.args = append(out.args, c.args...)
		}
		return out
	case filter.Or:
		out := condition{exact: true}
		for i, term := range e {
			c := compile(term)
			out.exact = out.exact && c.exact
			if c.text == "" {
				return condition{exact: c.exact}
			}
			if i > 0 {
				out.text += " OR "
			}
			out.text += "(" + c.text + ")"
			out.args = append(out.args, c.args...)
		}
		return out
	case filter.Not:
		c := compile(e.Term)
		if !c.exact {
			return condition{}
		}
		if c.text == "" {
			c.text = "true"
		}
		return condition{text: "NOT (" + c.text + ")", args: c.args, exact: true}
	case *filter.Leaf:
		return leaf(e)
	}
	return condition{}
}

var comparisons = map[filter.Op]string{filter.Eq: "=", filter.Ne: "=", filter.Gt: ">", filter.Gte: ">=", filter.Lt: "<", filter.Lte: "<=", filter.In: "="}

func leaf(l *filter.Leaf) condition {
	switch l.Field {
	case filter.Kind, filter.Category, filter.State:
		return scalar(l, "n."+string(l.Field), "n."+string(l.Field)+" <> ''", filter.Text)
	case filter.Importance:
		return scalar(l, "n.importance", "true", filter.Number)
	case filter.OccurredAt:
		return scalar(l, "n.occurred_at", "n.occurred_at IS NOT NULL", filter.Time)
	case filter.CreatedAt:
		return scalar(l, "n.created_at", "n.created_at IS NOT NULL", filter.Time)
	case filter.Tags, filter.Keywords:
		return elements(l, "n."+string(l.Field))
	case filter.Attributes:
		return attribute(l)
	}
	return condition{}
}

// operand gives a value as the column holds it, and its placeholder; ok is
// false where Postgres would not take it.
func operand(v filter.Value) (arg any, mark string, ok bool) {
	switch v.Type {
	case filter.Text:
		return v.Text, "?::text", possible(v.Text)
	case filter.Number:
		return v.Number, "?::float8", true
	case filter.Bool:
		return v.Bool, "?::boolean", true
	case filter.Time:
		return v.Time, "?::timestamptz", true
	}
	return nil, "", false
}

// scalar compares a column that is there when present holds.
func scalar(l *filter.Leaf, column, present string, t filter.Type) condition {
	if l.Op == filter.Exists {
		if l.Want {
			return condition{text: present, exact: true}
		}
		return condition{text: "NOT (" + present + ")", exact: true}
	}
	var terms []string
	var args []any
	for _, v := range l.Values {
		arg, mark, ok := operand(v)
		if !ok || v.Type != t {
			return condition{}
		}
		if l.Op == filter.Contains {
			terms = append(terms, "strpos("+column+", "+mark+") > 0")
		} else {
			terms = append(terms, column+" "+comparisons[l.Op]+" "+mark)
		}
		args = append(args, arg)
	}
	if len(terms) == 0 {
		return condition{}
	}
	// A comparison with NULL is not true, and "not" has to know it.
	text := "(" + present + ") AND (" + strings.Join(terms, " OR ") + ")"
	if l.Op == filter.Ne {
		text = "NOT (" + text + ")"
	}
	return condition{text: text, args: args, exact: true}
}

// elements asks whether one element of a list of texts equals a value.
func elements(l *filter.Leaf, column string) condition {
	if l.Op == filter.Exists {
		return condition{text: "(cardinality(" + column + ") > 0) = " + strconv.FormatBool(l.Want), exact: true}
	}
	switch l.Op {
	case filter.Eq, filter.Ne, filter.In, filter.Contains:
	default:
		return condition{}
	}
	wanted := make([]string, 0, len(l.Values))
	for _, v := range l.Values {
		if _, _, ok := operand(v); !ok || v.Type != filter.Text {
			return condition{}
		}
		wanted = append(wanted, v.Text)
	}
	text := column + " && ?::text[]"
	if l.Op == filter.Ne {
		text = "NOT (" + text + ")"
	}
	return condition{text: text, args: []any{wanted}, exact: true}
}

// attribute compares a JSON value of text or boolean type, or the elements of
// an array. Each name is looked up in an object, as package filter does; a path
// of "#>" would also count into arrays.
func attribute(l *filter.Leaf) condition {
	path := make([]any, 0, len(l.Path))
	for _, name := range l.Path {
		if !possible(name) {
			return condition{}
		}
		path = append(path, name)
	}
	value := "(n.attributes" + strings.Repeat(" -> ?::text", len(path)) + ")"
	if l.Op == filter.Exists {
		// A JSON null is absent, and the type of nothing is NULL.
		return condition{text: "COALESCE(jsonb_typeof(" + value + ") <> 'null', false) = " + strconv.FormatBool(l.Want), args: path, exact: true}
	}
	switch l.Op {
	case filter.Eq, filter.Ne, filter.In:
	default:
		return condition{}
	}
	var terms []string
	var args []any
	for _, v := range l.Values {
		arg, mark, ok := operand(v)
		if !ok || v.Type != filter.Text && v.Type != filter.Bool {
			return condition{}
		}
		// An array contains a scalar that is one of its elements; a scalar one
		// that equals it.
		terms = append(terms, "COALESCE("+value+" @> to_jsonb("+mark+"), false)")
		args = append(append(args, path...), arg)
	}
	if len(terms) == 0 {
		return condition{}
	}
	text := strings.Join(terms, " OR ")
	if l.Op == filter.Ne {
		text = "NOT (" + text + ")"
	}
	return condition{text: text, args: args, exact: true}
}
