package sqlite

import (
	"strings"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/store"
)

// compile translates what SQLite decides as package filter does: text, times and importance by
// column, tags and keywords by element, attributes of text and boolean type under plain names. JSON
// numbers are left to package filter: SQLite's conversion to double can differ in the last digit.
func compile(e filter.Expr) store.Condition {
	return store.FilterSQL{
		Operand: operand, Position: "instr", Elements: elements, Attribute: attribute, Agent: "json_extract(NULLIF(n.provenance, ''), '$.agent')",
	}.Compile(e)
}

// operand returns a value as the column holds it, and its placeholder, whose "+" keeps plans from depending on the value; ok is
// false when SQLite would compare it differently.
func operand(v filter.Value) (arg any, mark string, ok bool) {
	switch v.Type {
	case filter.Text:
		return v.Text, "+?", !strings.ContainsRune(v.Text, 0)
	case filter.Number:
		return v.Number, "+?", true
	case filter.Bool:
		return v.Bool, "+?", true
	case filter.Time:
		return v.Time.UnixMicro(), "+?", true
	}
	return nil, "", false
}

// elements tests whether one element of a list of texts equals a value.
func elements(l *filter.Leaf, column string) store.Condition {
	if l.Op == filter.Exists {
		if l.Want {
			return store.Condition{Text: column + " <> ''", Exact: true}
		}
		return store.Condition{Text: column + " = ''", Exact: true}
	}
	switch l.Op {
	case filter.Eq, filter.Ne, filter.In, filter.Contains:
	default:
		return store.Condition{}
	}
	args := make([]any, 0, len(l.Values))
	for _, v := range l.Values {
		arg, _, ok := operand(v)
		if !ok || v.Type != filter.Text {
			return store.Condition{}
		}
		args = append(args, arg)
	}
	text := "EXISTS (SELECT 1 FROM json_each(NULLIF(" + column + ", '')) j WHERE j.value IN (" + marks(len(args)) + "))"
	if l.Op == filter.Ne {
		text = "NOT (" + text + ")"
	}
	return store.Condition{Text: text, Args: args, Exact: true}
}

// attribute compares a JSON value below plain names.
func attribute(l *filter.Leaf) store.Condition {
	var named strings.Builder
	named.WriteString("$")
	for _, name := range l.Path {
		if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
			return store.Condition{}
		}
		named.WriteString(`."` + name + `"`)
	}
	path := named.String()
	const kind = "json_type(NULLIF(n.attributes, ''), ?)"
	if l.Op == filter.Exists {
		// A JSON null is absent, and json_type of an absent value is NULL.
		text := "COALESCE(" + kind + " <> 'null', 0)"
		if !l.Want {
			text = "NOT (" + text + ")"
		}
		return store.Condition{Text: text, Args: []any{path}, Exact: true}
	}
	var terms []string
	var args []any
	for _, v := range l.Values {
		arg, _, ok := operand(v)
		if !ok {
			return store.Condition{}
		}
		switch v.Type {
		case filter.Bool:
			want := "false"
			if v.Bool {
				want = "true"
			}
			switch l.Op {
			case filter.Contains:
				return store.Condition{} // of elements only; left to package filter
			case filter.Eq, filter.Ne, filter.In:
			default:
				return store.Condition{}
			}
			terms = append(terms, "EXISTS (SELECT 1 FROM json_each(NULLIF(n.attributes, ''), ?) j WHERE j.type = ?)")
			args = append(args, path, want)
		case filter.Text:
			switch l.Op {
			case filter.Eq, filter.Ne, filter.In:
				// json_each returns one row for a scalar and a row for each element of an array;
				// for an object it returns the members, which do not count.
				terms = append(terms, "EXISTS (SELECT 1 FROM json_each(NULLIF(n.attributes, ''), ?) j WHERE j.type = 'text' AND j.value = ?)")
				args = append(args, path, arg)
			default:
				return store.Condition{}
			}
		default:
			return store.Condition{}
		}
	}
	if len(terms) == 0 {
		return store.Condition{}
	}
	text := "COALESCE(" + kind + " <> 'object', 0) AND (" + strings.Join(terms, " OR ") + ")"
	args = append([]any{path}, args...)
	if l.Op == filter.Ne {
		text = "NOT (" + text + ")"
	}
	return store.Condition{Text: text, Args: args, Exact: true}
}

func marks(n int) string { return strings.TrimSuffix(strings.Repeat("?, ", n), ", ") }
