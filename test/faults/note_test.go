package faults_test

import (
	"fmt"
	"net/http"
	"time"
)

// note is the state, as the client knows it, of a note that it wrote, or changed in a fork.
type note struct {
	place     *place
	id, token string
	content   string
	value     string // attribute "v"
	revision  int64  // of the last acknowledged write
	edits     []edit // acknowledged edits, in order
	tried     map[string]bool
	rewritten bool // its content changed, so that it is analyzed again
	inherited bool // inherited from the base of the fork
	deleted   int64
}

// edit is an acknowledged change. Its revision is 0 when the answer with it was lost.
type edit struct {
	revision int64
	value    string
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
	a, ok := c.askFor(c.gateway(), http.StatusCreated, request{
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
		c.search(c.otherGateway(a.by), n)
	}
	if p.base != nil {
		c.hidden(c.gateway(), p.base, n)
	}
}

// fetch reads a note. It must be in the state that this client wrote last.
func (c *client) fetch(p *process, n *note) (etag string, ok bool) {
	path := n.place.path("/notes/" + n.id)
	if c.rng.IntN(2) == 0 {
		path += fmt.Sprint("?min_revision=", n.revision)
	}
	var got noteJSON
	a, ok := c.askFor(p, http.StatusOK, request{kind: "get", method: http.MethodGet, path: path}, &got)
	if !ok {
		return "", false
	}
	if got.value() != n.value || got.Content != n.content {
		c.run.book.problemf("note %s by %s is v %q, %q; want v %q, %q of revision %d", n.id, a.by.name, got.value(), got.Content, n.value, n.content, n.revision)
	}
	return a.header.Get("ETag"), true
}

// edit changes a note under the condition that it is unchanged since it was read, and reads it
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
			if _, ok := c.fetch(c.otherGateway(a.by), n); !ok {
				return
			}
			return
		case a.status == http.StatusPreconditionFailed:
			continue
		case a.status != 0 && a.status != http.StatusServiceUnavailable && a.status != http.StatusTooManyRequests:
			c.run.book.problemf("PATCH %s by %s: %d: %s", n.id, a.by.name, a.status, a.body)
			return
		}
		// It may have taken effect.
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

// settle finds out whether a change took effect whose answer was lost. Reading is not enough, because
// the server may still be working on it. Another change, conditional on the current version,
// prevents the lost one from taking effect later. Its answer may be lost too; then the note holds
// the change that came last.
func (c *client) settle(n *note, value, content string) bool {
	path := n.place.path("/notes/" + n.id)
	perhaps := map[string]bool{value: true}
	for range 20 {
		var got noteJSON
		a, ok := c.askFor(c.gateway(), http.StatusOK, request{kind: "get", method: http.MethodGet, path: path}, &got)
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

// count increments the counter that all clients of the tenant share.
func (c *client) count() {
	path := c.tenant.bases[0].path("/notes/" + c.tenant.counter)
	for range 5 {
		var got noteJSON
		a, ok := c.askFor(c.gateway(), http.StatusOK, request{kind: "get", method: http.MethodGet, path: path}, &got)
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
		n.deleted = -1 // by an earlier attempt
	default:
		c.run.book.problemf("DELETE %s by %s (tried before: %t): %d: %s", n.id, a.by.name, a.unsure, a.status, a.body)
		return
	}
	n.revision = max(n.revision, n.deleted)
	c.search(c.otherGateway(a.by), n)
	c.askFor(c.otherGateway(a.by), http.StatusNotFound, request{kind: "get what is gone", method: http.MethodGet, path: n.place.path("/notes/" + n.id)}, nil)
}
