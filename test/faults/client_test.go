package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// tenant has collections of its own and a word that stands in each of its notes.
type tenant struct {
	name, word, key string
	bases           []*place
	imports         *place
	counter         string // id of the note in the first base that all clients count in
}

// place is a collection.
type place struct {
	id, name string
	word     string // in each note that is written here
	base     *place // of a fork
	at       int64  // the base's revision that a fork sees
}

// sees tells whether a text may be read here.
func (p *place) sees(content string) bool {
	return strings.Contains(content, p.word) || p.base != nil && strings.Contains(content, p.base.word)
}

func (p *place) path(rest string) string { return "/v1/collections/" + p.id + rest }

// note is what a client knows of one that it wrote, or changed in a fork.
type note struct {
	place     *place
	id, token string
	content   string
	value     string // attribute "v"
	revision  int64  // of the last write that was acknowledged
	edits     []edit // acknowledged, in order
	tried     map[string]bool
	rewritten bool // its content was changed, so that it is analyzed again
	inherited bool // from the base of the fork that it is changed in
	deleted   int64
}

// edit is a change that was acknowledged; its revision is 0 when that was lost with the answer.
type edit struct {
	revision int64
	value    string
}

// client writes and reads as one agent would, one thing after the other.
type client struct {
	run     *run
	tenant  *tenant
	name    string
	rng     *rand.Rand
	serial  int
	notes   []*note
	forks   []*place
	counted []int  // values that were acknowledged
	maybe   int    // counts that may have been made
	imports []line // that were accepted
	jobs    []string
}

// line of an import.
type line struct {
	ID         string         `json:"id"`
	Content    string         `json:"content"`
	Attributes map[string]any `json:"attributes"`
}

// maxForks is how many forks a client makes.
const maxForks = 3

// step does one thing.
func (c *client) step() {
	base := c.tenant.bases[c.rng.IntN(len(c.tenant.bases))]
	switch n := c.rng.IntN(100); {
	case n < 32 || len(c.notes) == 0:
		c.add(base, "")
	case n < 35:
		c.add(base, "?wait=evolved")
	case n < 50:
		c.edit(c.notes[c.rng.IntN(len(c.notes))])
	case n < 60:
		c.count()
	case n < 65:
		c.remove(c.notes[c.rng.IntN(len(c.notes))])
	case n < 85:
		c.find(c.notes[c.rng.IntN(len(c.notes))])
	case n < 87 && len(c.forks) < maxForks:
		c.fork(base)
	case n < 96 && len(c.forks) > 0:
		c.add(c.forks[c.rng.IntN(len(c.forks))], "")
	case n < 98:
		c.trespass()
	default:
		c.bring()
	}
}

func (c *client) gateway() *process {
	g := c.run.scene.gateways
	return g[c.rng.IntN(len(g))]
}

// other gives a gateway that is not this one.
func (c *client) other(p *process) *process {
	g := c.run.scene.gateways
	return g[(slices.Index(g, p)+1)%len(g)]
}

// word makes one that no stemmer knows and nobody else uses.
func word(rng *rand.Rand, begin string) string {
	b := []byte(begin)
	for range 9 {
		b = append(b, "bcdfghjkmpqvwxz"[rng.IntN(15)])
	}
	return string(b)
}

// text of a note: whose it is, something to link by, and a token to find it by.
func (c *client) text(p *place, token string) string {
	who := []string{"The lighthouse keeper", "Our baker", "A visiting botanist", "The night train", "The harbour crane"}
	did := []string{"repaired", "photographed", "ignored", "painted", "weighed", "sketched", "measured"}
	what := []string{"an old barometer", "the copper kettle", "three green lanterns", "a wooden boat", "the orchard wall"}
	return fmt.Sprintf("%s %s: %s %s %s, %s.", c.tenant.word, p.word,
		who[c.rng.IntN(len(who))], did[c.rng.IntN(len(did))], what[c.rng.IntN(len(what))], token)
}

func (c *client) add(p *place, wait string) {
	c.serial++
	n := &note{place: p, token: word(c.rng, "n"), value: fmt.Sprintf("%s-%d", c.name, c.serial)}
	n.content = c.text(p, n.token)
	n.tried = map[string]bool{n.value: true}
	kind := "add" + wait
	if p.base != nil {
		kind = "add to a fork"
	}
	var out struct {
		Note     noteJSON
		Revision int64
	}
	a, ok := c.want(c.gateway(), http.StatusCreated, request{
		kind: kind, method: http.MethodPost, path: p.path("/notes" + wait),
		body: object{"content": n.content, "attributes": object{"v": n.value}}, header: map[string]string{"Idempotency-Key": n.value},
	}, &out)
	if !ok {
		return
	}
	if out.Note.Content != n.content || out.Note.value() != n.value || a.revision() == 0 {
		c.run.book.problemf("add by %s (tried before: %t): revision %d, %s; want content %q, v %q", a.by.name, a.unsure, a.revision(), a.body, n.content, n.value)
	}
	n.id, n.revision = out.Note.ID, a.revision()
	c.notes = append(c.notes, n)
	if c.rng.IntN(2) == 0 {
		c.search(c.other(a.by), n)
	}
	if p.base != nil {
		c.hidden(c.gateway(), p.base, n)
	}
}

type object = map[string]any

// fetch reads a note; it must be as this client last left it.
func (c *client) fetch(p *process, n *note) (etag string, ok bool) {
	path := n.place.path("/notes/" + n.id)
	if c.rng.IntN(2) == 0 {
		path += fmt.Sprint("?min_revision=", n.revision)
	}
	var got noteJSON
	a, ok := c.want(p, http.StatusOK, request{kind: "get", method: http.MethodGet, path: path}, &got)
	if !ok {
		return "", false
	}
	if got.value() != n.value || got.Content != n.content {
		c.run.book.problemf("note %s by %s is v %q, %q; want v %q, %q of revision %d", n.id, a.by.name, got.value(), got.Content, n.value, n.content, n.revision)
	}
	return a.header.Get("ETag"), true
}

// edit changes a note that was not changed since it was read, and reads it
// through the other gateway.
func (c *client) edit(n *note) {
	if n.deleted != 0 {
		return
	}
	for range 5 {
		etag, ok := c.fetch(c.gateway(), n)
		if !ok {
			return
		}
		c.serial++
		value, content := fmt.Sprintf("%s-%d", c.name, c.serial), n.content
		body := object{"attributes": object{"v": value}}
		if c.rng.IntN(5) == 0 {
			content = c.text(n.place, n.token)
			body["content"] = content
		}
		n.tried[value] = true
		a := c.once(c.gateway(), request{
			kind: "patch", method: http.MethodPatch, path: n.place.path("/notes/" + n.id), body: body, header: map[string]string{"If-Match": etag},
		})
		switch {
		case a.status == http.StatusOK:
			n.took(edit{a.revision(), value}, content)
			if _, ok := c.fetch(c.other(a.by), n); !ok {
				return
			}
			return
		case a.status == http.StatusPreconditionFailed:
			continue
		case a.status != 0 && a.status != http.StatusServiceUnavailable && a.status != http.StatusTooManyRequests:
			c.run.book.problemf("PATCH %s by %s: %d: %s", n.id, a.by.name, a.status, a.body)
			return
		}
		// It took effect or not.
		if !c.settle(n, value, content) {
			return
		}
	}
}

func (n *note) took(e edit, content string) {
	n.edits = append(n.edits, e)
	n.value, n.revision = e.value, max(n.revision, e.revision)
	if content != n.content {
		n.content, n.rewritten = content, true
	}
}

// settle finds out whether a change took effect whose answer was lost. The
// server may still be at it, so that to look is not enough: a further change on
// the version that is there now keeps the lost one from coming later. It is
// lost itself, perhaps; then whichever came last is what the note holds.
func (c *client) settle(n *note, value, content string) bool {
	path := n.place.path("/notes/" + n.id)
	perhaps := map[string]bool{value: true}
	for range 20 {
		var got noteJSON
		a, ok := c.want(c.gateway(), http.StatusOK, request{kind: "get", method: http.MethodGet, path: path}, &got)
		if !ok {
			return false
		}
		if perhaps[got.value()] {
			if got.Content != n.content && got.Content != content {
				c.run.book.problemf("note %s holds %q, want %q or %q", n.id, got.Content, n.content, content)
			}
			n.took(edit{0, got.value()}, got.Content)
			return true
		}
		c.serial++
		fence := fmt.Sprintf("%s-%d", c.name, c.serial)
		n.tried[fence], perhaps[fence] = true, true
		a = c.once(a.by, request{
			kind: "patch", method: http.MethodPatch, path: path,
			body: object{"attributes": object{"v": fence}}, header: map[string]string{"If-Match": a.header.Get("ETag")},
		})
		if a.status == http.StatusOK {
			n.took(edit{a.revision(), fence}, n.content)
			return true
		}
		<-time.After(200 * time.Millisecond)
	}
	c.run.book.problemf("what became of a change of note %s could not be found out", n.id)
	return false
}

// count raises a number that all clients of the tenant raise.
func (c *client) count() {
	path := c.tenant.bases[0].path("/notes/" + c.tenant.counter)
	for range 5 {
		var got noteJSON
		a, ok := c.want(c.gateway(), http.StatusOK, request{kind: "get", method: http.MethodGet, path: path}, &got)
		if !ok {
			return
		}
		n, _ := got.Attributes["n"].(float64)
		next := int(n) + 1
		a = c.once(c.gateway(), request{
			kind: "count", method: http.MethodPatch, path: path,
			body: object{"attributes": object{"n": next}}, header: map[string]string{"If-Match": a.header.Get("ETag")},
		})
		switch a.status {
		case http.StatusOK:
			c.counted = append(c.counted, next)
			return
		case http.StatusPreconditionFailed:
		case 0, http.StatusServiceUnavailable, http.StatusTooManyRequests:
			c.maybe++
			return
		default:
			c.run.book.problemf("PATCH of the counter by %s: %d: %s", a.by.name, a.status, a.body)
			return
		}
	}
}

func (c *client) remove(n *note) {
	if n.deleted != 0 || n.inherited {
		return
	}
	a := c.ask(c.gateway(), request{kind: "delete", method: http.MethodDelete, path: n.place.path("/notes/" + n.id)})
	switch {
	case a.status == http.StatusNoContent:
		n.deleted = a.revision()
	case a.status == http.StatusNotFound && a.unsure:
		n.deleted = -1 // by an earlier try
	default:
		c.run.book.problemf("DELETE %s by %s (tried before: %t): %d: %s", n.id, a.by.name, a.unsure, a.status, a.body)
		return
	}
	n.revision = max(n.revision, n.deleted)
	c.search(c.other(a.by), n)
	c.want(c.other(a.by), http.StatusNotFound, request{kind: "get what is gone", method: http.MethodGet, path: n.place.path("/notes/" + n.id)}, nil)
}

// find looks for an own note, or for nothing in particular.
func (c *client) find(n *note) {
	if c.rng.IntN(3) > 0 {
		c.search(c.gateway(), n)
		return
	}
	c.hits(c.gateway(), n.place, "what was painted or repaired at the harbour", 0)
}

// search looks for a note by its token: it must be found, unless it was deleted.
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

// hits searches; each hit must be of what the place sees.
func (c *client) hits(p *process, at *place, query string, atLeast int64) ([]noteJSON, *process, bool) {
	mode := []string{"hybrid", "lexical"}[c.rng.IntN(2)]
	body := object{"query": query, "k": 10, "mode": mode}
	if atLeast > 0 {
		body["min_revision"] = atLeast
	}
	var out struct {
		Hits     []struct{ Note noteJSON }
		Revision int64
		Degraded string
	}
	a, ok := c.want(p, http.StatusOK, request{kind: "search " + mode, method: http.MethodPost, path: at.path("/search"), body: body}, &out)
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

// hidden looks for a note where it must not be seen.
func (c *client) hidden(p *process, at *place, n *note) {
	hits, by, _ := c.hits(p, at, n.token, 0)
	if slices.ContainsFunc(hits, func(h noteJSON) bool { return h.ID == n.id }) {
		c.run.book.problemf("note %s of %s is found in %s by %s", n.id, n.place.name, at.name, by.name)
	}
}

// fork makes a fork; some of what it inherits is changed there by and by.
func (c *client) fork(base *place) {
	f := &place{name: fmt.Sprintf("%s-fork-%d", c.name, len(c.forks)), word: word(c.rng, "f"), base: base}
	var out struct {
		ID     string
		Parent struct{ Revision int64 }
	}
	if _, ok := c.want(c.gateway(), http.StatusCreated, request{
		kind: "fork", method: http.MethodPost, path: base.path("/clone"), body: object{"name": f.name}, header: map[string]string{"Idempotency-Key": f.name},
	}, &out); !ok {
		return
	}
	f.id, f.at = out.ID, out.Parent.Revision
	c.forks = append(c.forks, f)
	for _, n := range slices.Clone(c.notes) {
		if n.place != base || n.deleted != 0 || c.rng.IntN(4) > 0 {
			continue
		}
		own := *n
		own.place, own.inherited, own.edits, own.tried = f, true, nil, map[string]bool{}
		for v := range n.tried {
			own.tried[v] = true
		}
		c.notes = append(c.notes, &own)
	}
}

// trespass asks for a collection of another tenant.
func (c *client) trespass() {
	for _, other := range c.run.tenants {
		if other != c.tenant {
			c.want(c.gateway(), http.StatusNotFound, request{
				kind: "trespass", method: http.MethodPost, path: other.bases[0].path("/search"), body: object{"query": "lanterns"},
			}, nil)
		}
	}
}

// bring imports some notes with ids of their own.
func (c *client) bring() {
	var body bytes.Buffer
	var lines []line
	for range 5 + c.rng.IntN(10) {
		c.serial++
		id, err := uuid.NewV7()
		if err != nil {
			c.run.book.problemf("make an id: %v", err)
			return
		}
		l := line{ID: id.String(), Content: c.text(c.tenant.imports, word(c.rng, "i")), Attributes: object{"v": fmt.Sprintf("%s-%d", c.name, c.serial)}}
		if err := json.NewEncoder(&body).Encode(l); err != nil {
			c.run.book.problemf("encode a line: %v", err)
			return
		}
		lines = append(lines, l)
	}
	var out struct{ Job struct{ ID string } }
	if _, ok := c.want(c.gateway(), http.StatusAccepted, request{
		kind: "import", method: http.MethodPost, path: c.tenant.imports.path("/import"), body: body.Bytes(),
	}, &out); ok {
		c.imports, c.jobs = append(c.imports, lines...), append(c.jobs, out.Job.ID)
	}
}
