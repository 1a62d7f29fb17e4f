package store

import (
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// Condition is SQL over notes that is true of every note that matches a filter, and of no other
// note when Exact. The empty text is true. Each "?" in the text is a place for one of the
// arguments.
type Condition struct {
	Text  string
	Args  []any
	Exact bool
}

// Compile joins the conditions that an engine has for the leaves of a filter.
func Compile(e filter.Expr, leaf func(*filter.Leaf) Condition) Condition {
	switch e := e.(type) {
	case filter.And:
		out := Condition{Exact: true}
		for _, term := range e {
			c := Compile(term, leaf)
			out.Exact = out.Exact && c.Exact
			if c.Text != "" {
				out.join(" AND ", c)
			}
		}
		return out
	case filter.Or:
		out := Condition{Exact: true}
		for _, term := range e {
			c := Compile(term, leaf)
			if c.Text == "" {
				return Condition{Exact: c.Exact}
			}
			out.Exact = out.Exact && c.Exact
			out.join(" OR ", c)
		}
		return out
	case filter.Not:
		c := Compile(e.Term, leaf)
		if !c.Exact {
			return Condition{}
		}
		if c.Text == "" {
			c.Text = "true"
		}
		c.Text = "NOT (" + c.Text + ")"
		return c
	case *filter.Leaf:
		return leaf(e)
	}
	return Condition{}
}

func (c *Condition) join(word string, term Condition) {
	if c.Text != "" {
		c.Text += word
	}
	c.Text += "(" + term.Text + ")"
	c.Args = append(c.Args, term.Args...)
}

// Matches reports whether a note matches a filter, which may be nil.
func Matches(e filter.Expr, n *memory.Note) bool {
	return filter.Match(e, &filter.Record{
		Kind: string(n.Kind), Tags: n.Tags, Keywords: n.Keywords, Category: n.Category, Importance: n.Importance,
		OccurredAt: n.OccurredAt, CreatedAt: n.CreatedAt, State: string(n.State), Attributes: n.Attributes,
	})
}
