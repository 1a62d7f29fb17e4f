package sqlite

import (
	"strings"

	"github.com/slipboxhq/slipbox/internal/filter"
)

// condition is SQL over notes n that is true of every note that the filter
// lets pass, and of no other when exact. The empty text is true.
type condition struct {
	text  string
	args  []any
	exact bool
}

// compile translates what SQLite decides as package filter does: text, times
// and importance by column, tags and keywords by element, attributes of text
// and boolean type under plain names. JSON numbers are left to package filter,
// whose conversion to double SQLite does not share in the last place.
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
			c.text = "1"
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
		return scalar(l, "n.importance", "1", filter.Number)
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

// operand gives a value as the column holds it; ok is false where SQLite
// would not compare it alike.
func operand(v filter.Value) (any, bool) {
	switch v.Type {
	case filter.Text:
		return v.Text, !strings.ContainsRune(v.Text, 0)
	case filter.Number:
		return v.Number, true
	case filter.Bool:
		return v.Bool, true
	case filter.Time:
		return v.Time.UnixMicro(), true
	}
	return nil, false
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
		arg, ok := operand(v)
		if !ok || v.Type != t {
			return condition{}
		}
		if l.Op == filter.Contains {
			terms = append(terms, "instr("+column+", ?) > 0")
		} else {
			terms = append(terms, column+" "+comparisons[l.Op]+" ?")
		}
		args = append(args, arg)
	}
	if len(terms) == 0 {
		return condition{}
	}
	text := "(" + present + ") AND (" + strings.Join(terms, " OR ") + ")"
	if l.Op == filter.Ne {
		text = "NOT (" + text + ")"
	}
	return condition{text: text, args: args, exact: true}
}

// elements asks whether one element of a list of texts equals a value.
func elements(l *filter.Leaf, column string) condition {
	if l.Op == filter.Exists {
		if l.Want {
			return condition{text: column + " <> ''", exact: true}
		}
		return condition{text: column + " = ''", exact: true}
	}
	switch l.Op {
	case filter.Eq, filter.Ne, filter.In, filter.Contains:
	default:
		return condition{}
	}
	args := make([]any, 0, len(l.Values))
	for _, v := range l.Values {
		arg, ok := operand(v)
		if !ok || v.Type != filter.Text {
			return condition{}
		}
		args = append(args, arg)
	}
	text := "EXISTS (SELECT 1 FROM json_each(NULLIF(" + column + ", '')) j WHERE j.value IN (" + marks(len(args)) + "))"
	if l.Op == filter.Ne {
		text = "NOT (" + text + ")"
	}
	return condition{text: text, args: args, exact: true}
}

// attribute compares a JSON value below plain names.
func attribute(l *filter.Leaf) condition {
	var named strings.Builder
	named.WriteString("$")
	for _, name := range l.Path {
		if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			return condition{}
		}
		named.WriteString(`."` + name + `"`)
	}
	path := named.String()
	const kind = "json_type(NULLIF(n.attributes, ''), ?)"
	if l.Op == filter.Exists {
		// A JSON null is absent, and json_type of nothing is NULL.
		text := "COALESCE(" + kind + " <> 'null', 0)"
		if !l.Want {
			text = "NOT (" + text + ")"
		}
		return condition{text: text, args: []any{path}, exact: true}
	}
	var terms []string
	var args []any
	for _, v := range l.Values {
		arg, ok := operand(v)
		if !ok {
			return condition{}
		}
		switch v.Type {
		case filter.Bool:
			want := "false"
			if v.Bool {
				want = "true"
			}
			switch l.Op {
			case filter.Contains:
				return condition{} // of elements only; left to package filter
			case filter.Eq, filter.Ne, filter.In:
			default:
				return condition{}
			}
			terms = append(terms, "EXISTS (SELECT 1 FROM json_each(NULLIF(n.attributes, ''), ?) j WHERE j.type = ?)")
			args = append(args, path, want)
		case filter.Text:
			switch l.Op {
			case filter.Eq, filter.Ne, filter.In:
				// json_each gives a scalar as one row and an array by elements; of
				// an object it gives the members, which do not count.
				terms = append(terms, "EXISTS (SELECT 1 FROM json_each(NULLIF(n.attributes, ''), ?) j WHERE j.type = 'text' AND j.value = ?)")
				args = append(args, path, arg)
			default:
				return condition{}
			}
		default:
			return condition{}
		}
	}
	if len(terms) == 0 {
		return condition{}
	}
	text := "COALESCE(" + kind + " <> 'object', 0) AND (" + strings.Join(terms, " OR ") + ")"
	args = append([]any{path}, args...)
	if l.Op == filter.Ne {
		text = "NOT (" + text + ")"
	}
	return condition{text: text, args: args, exact: true}
}

func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }
