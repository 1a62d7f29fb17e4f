package store

import (
	"strings"

	"github.com/slipboxhq/slipbox/internal/filter"
)

// Condition is SQL over notes that is true of every note that matches a filter, and of no other
// note when Exact. The empty text is true. Each "?" in the text is a place for one of the
// arguments.
type Condition struct {
	Text  string
	Args  []any
	Exact bool
}

// FilterSQL is how an engine compares what notes have, so that it decides as package filter does.
type FilterSQL struct {
	// Operand returns a value as a column holds it, and its placeholder; ok is false when the engine would not
	// accept the value, or compare it differently.
	Operand func(filter.Value) (arg any, mark string, ok bool)
	// Position is the function that finds one text in another; 0 when it is not there.
	Position string
	// Elements tests whether one element of a list of texts equals a value.
	Elements func(l *filter.Leaf, column string) Condition
	// Agent is the expression of the agent in a note's provenance; NULL: none.
	Agent string
	// Attribute compares a JSON value of the attributes.
	Attribute func(*filter.Leaf) Condition
}

// Compile translates a filter over notes n.
func (f FilterSQL) Compile(e filter.Expr) Condition {
	switch e := e.(type) {
	case filter.And:
		out := Condition{Exact: true}
		for _, term := range e {
			c := f.Compile(term)
			out.Exact = out.Exact && c.Exact
			if c.Text != "" {
				out.join(" AND ", c)
			}
		}
		return out
	case filter.Or:
		out := Condition{Exact: true}
		for _, term := range e {
			c := f.Compile(term)
			if c.Text == "" {
				return Condition{Exact: c.Exact}
			}
			out.Exact = out.Exact && c.Exact
			out.join(" OR ", c)
		}
		return out
	case filter.Not:
		c := f.Compile(e.Term)
		if !c.Exact {
			return Condition{}
		}
		if c.Text == "" {
			c.Text = "true"
		}
		c.Text = "NOT (" + c.Text + ")"
		return c
	case *filter.Leaf:
		return f.leaf(e)
	}
	return Condition{}
}

func (f FilterSQL) leaf(l *filter.Leaf) Condition {
	if l.Op == filter.IContains {
		return Condition{} // engines fold letters by tables of their own
	}
	switch l.Field {
	case filter.Kind, filter.Category, filter.State:
		return f.scalar(l, "n."+string(l.Field), "n."+string(l.Field)+" <> ''", filter.Text)
	case filter.Agent:
		column := "COALESCE(" + f.Agent + ", '')"
		return f.scalar(l, column, column+" <> ''", filter.Text)
	case filter.Importance:
		return f.scalar(l, "n.importance", "true", filter.Number)
	case filter.OccurredAt:
		return f.scalar(l, "n.occurred_at", "n.occurred_at IS NOT NULL", filter.Time)
	case filter.CreatedAt:
		return f.scalar(l, "n.created_at", "n.created_at IS NOT NULL", filter.Time)
	case filter.Tags, filter.Keywords:
		return f.Elements(l, "n."+string(l.Field))
	case filter.Attributes:
		return f.Attribute(l)
	case filter.ID: // ids are bytes in a column, and texts here
	}
	return Condition{}
}

var comparisons = map[filter.Op]string{filter.Eq: "=", filter.Ne: "=", filter.Gt: ">", filter.Gte: ">=", filter.Lt: "<", filter.Lte: "<=", filter.In: "="}

// scalar compares a column that has a value when the condition present is true.
func (f FilterSQL) scalar(l *filter.Leaf, column, present string, t filter.Type) Condition {
	if l.Op == filter.Exists {
		if l.Want {
			return Condition{Text: present, Exact: true}
		}
		return Condition{Text: "NOT (" + present + ")", Exact: true}
	}
	var terms []string
	var args []any
	for _, v := range l.Values {
		arg, mark, ok := f.Operand(v)
		if !ok || v.Type != t {
			return Condition{}
		}
		if l.Op == filter.Contains {
			terms = append(terms, f.Position+"("+column+", "+mark+") > 0")
		} else {
			terms = append(terms, column+" "+comparisons[l.Op]+" "+mark)
		}
		args = append(args, arg)
	}
	if len(terms) == 0 {
		return Condition{}
	}
	// A comparison with NULL is not true, and "not" must see that.
	text := "(" + present + ") AND (" + strings.Join(terms, " OR ") + ")"
	if l.Op == filter.Ne {
		text = "NOT (" + text + ")"
	}
	return Condition{Text: text, Args: args, Exact: true}
}

func (c *Condition) join(word string, term Condition) {
	if c.Text != "" {
		c.Text += word
	}
	c.Text += "(" + term.Text + ")"
	c.Args = append(c.Args, term.Args...)
}
