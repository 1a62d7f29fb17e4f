package faults_test

import (
	"net/http"
	"slices"
	"strings"
)

// find searches for an own note, or for no note in particular.
func (c *client) find(n *note) {
	if c.rng.IntN(3) > 0 {
		c.search(c.gateway(), n)
		return
	}
	c.hits(c.gateway(), n.place, "what was painted or repaired at the harbour", 0)
}

// search searches for a note by its token. It must be found, unless it was deleted.
func (c *client) search(p *process, n *note) {
	hits, by, ok := c.hits(p, n.place, n.token, n.revision)
	if !ok {
		return
	}
	i := slices.IndexFunc(hits, func(h noteJSON) bool { return h.ID == n.id })
	switch {
	case i < 0 && n.deleted == 0:
		c.run.book.problemf("note %s of %s is not found by %s at revision %d, where it was acknowledged", n.id, n.place.name, by.name, n.revision)
	case i >= 0 && n.deleted != 0:
		c.run.book.problemf("note %s of %s is found by %s at revision %d, where it was deleted", n.id, n.place.name, by.name, n.revision)
	case i >= 0 && (hits[i].Content != n.content || hits[i].value() != n.value):
		c.run.book.problemf("note %s of %s is found by %s as %q, v %q; want %q, v %q of revision %d", n.id, n.place.name, by.name,
			hits[i].Content, hits[i].value(), n.content, n.value, n.revision)
	}
}

// hits runs a search. Each hit must be visible in the place.
func (c *client) hits(p *process, at *place, query string, atLeast int64) ([]noteJSON, *process, bool) {
	mode := []string{"hybrid", "lexical"}[c.rng.IntN(2)]
	body := object{"query": query, "k": 10, "mode": mode, "fields": []string{"*"}}
	if atLeast > 0 {
		body["min_revision"] = atLeast
	}
	var out struct {
		Hits     []struct{ Note noteJSON }
		Revision int64
		Degraded string
	}
	a, ok := c.askFor(p, http.StatusOK, request{kind: "search " + mode, method: http.MethodPost, path: at.path("/search"), body: body}, &out)
	if !ok {
		return nil, a.by, false
	}
	if out.Degraded != "" {
		c.run.book.count("searches that said what they lacked", 1)
	}
	if out.Revision < atLeast {
		c.run.book.problemf("a search by %s read revision %d, below the %d that was asked for", a.by.name, out.Revision, atLeast)
	}
	notes := make([]noteJSON, len(out.Hits))
	for i, h := range out.Hits {
		notes[i] = h.Note
		if !strings.Contains(h.Note.Content, c.tenant.word) || !at.sees(h.Note.Content) {
			c.run.book.problemf("a search of %s by %s found a note of elsewhere: %q", at.name, a.by.name, h.Note.Content)
		}
	}
	return notes, a.by, true
}

// hidden searches for a note where it must not be visible.
func (c *client) hidden(p *process, at *place, n *note) {
	hits, by, _ := c.hits(p, at, n.token, 0)
	if slices.ContainsFunc(hits, func(h noteJSON) bool { return h.ID == n.id }) {
		c.run.book.problemf("note %s of %s is found in %s by %s", n.id, n.place.name, at.name, by.name)
	}
}
