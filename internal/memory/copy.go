package memory

import (
	"maps"
	"slices"

	"github.com/slipboxhq/slipbox/internal/filter"
)

// Copy returns a note of which the caller may change all but the vector and the tokens, though others share n.
func (n *Note) Copy() Note {
	c := *n
	c.Keywords, c.Tags, c.Supplied = slices.Clone(n.Keywords), slices.Clone(n.Tags), slices.Clone(n.Supplied)
	c.Provenance.Sources = slices.Clone(n.Provenance.Sources)
	if n.Provenance.Job != nil {
		c.Provenance.Job = new(*n.Provenance.Job)
	}
	c.Attributes, _ = CopyValue(n.Attributes).(map[string]any)
	return c
}

// CopyValue copies a JSON value. Nil maps and lists stay nil.
func CopyValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := maps.Clone(v)
		for k, x := range m {
			m[k] = CopyValue(x)
		}
		return m
	case []any:
		l := slices.Clone(v)
		for i, x := range l {
			l[i] = CopyValue(x)
		}
		return l
	default:
		return v
	}
}

// Matches reports whether a note matches a filter, which may be nil.
func (n *Note) Matches(e filter.Expr) bool {
	return e == nil || filter.Match(e, n.FilterRecord())
}

// FilterRecord returns a note as filters see it.
func (n *Note) FilterRecord() *filter.Record {
	return &filter.Record{
		ID: n.ID, Kind: string(n.Kind), Tags: n.Tags, Keywords: n.Keywords, Category: n.Category, Importance: n.Importance,
		OccurredAt: n.OccurredAt, CreatedAt: n.CreatedAt, State: string(n.State), Agent: n.Provenance.Agent, Attributes: n.Attributes,
	}
}
