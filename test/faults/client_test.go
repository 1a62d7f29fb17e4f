package faults_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// tenant has collections of its own and a word that is in each of its notes.
type tenant struct {
	name, word, key string
	bases           []*place
	imports         *place
	counter         string // id of the note in the first base that all clients increment
}

// place is a collection of the test.
type place struct {
	id, name string
	word     string // in each note written here
	base     *place // nil except for a fork
	at       int64  // revision of the base that a fork sees
}

// sees reports whether a text may be visible here.
func (p *place) sees(content string) bool {
	return strings.Contains(content, p.word) || p.base != nil && strings.Contains(content, p.base.word)
}

func (p *place) path(rest string) string { return "/v1/collections/" + p.id + rest }

// client writes and reads like an agent, one request after the other.
type client struct {
	run     *run
	tenant  *tenant
	name    string
	rng     *rand.Rand
	serial  int
	notes   []*note
	forks   []*place
	counted []int  // acknowledged values of the counter
	maybe   int    // increments with an unknown result
	imports []line // accepted lines
	jobs    []string
}

// line is a line of an import.
type line struct {
	ID         string         `json:"id"`
	Content    string         `json:"content"`
	Attributes map[string]any `json:"attributes"`
}

// maxForks is the number of forks per client.
const maxForks = 3

// act makes one random request.
func (c *client) act() {
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
		c.searchForeign()
	default:
		c.importNotes()
	}
}

func (c *client) gateway() *process {
	g := c.run.scene.gateways
	return g[c.rng.IntN(len(g))]
}

// otherGateway returns another gateway.
func (c *client) otherGateway(p *process) *process {
	g := c.run.scene.gateways
	return g[(slices.Index(g, p)+1)%len(g)]
}

// word returns a unique word that no stemmer changes.
func word(rng *rand.Rand, begin string) string {
	b := []byte(begin)
	for range 9 {
		b = append(b, "bcdfghjkmpqvwxz"[rng.IntN(15)])
	}
	return string(b)
}

// text returns the text of a note: the words of tenant and collection, something to link by, and a
// token to find it by.
func (c *client) text(p *place, token string) string {
	who := []string{"The lighthouse keeper", "Our baker", "A visiting botanist", "The night train", "The harbour crane"}
	did := []string{"repaired", "photographed", "ignored", "painted", "weighed", "sketched", "measured"}
	what := []string{"an old barometer", "the copper kettle", "three green lanterns", "a wooden boat", "the orchard wall"}
	return fmt.Sprintf("%s %s: %s %s %s, %s.", c.tenant.word, p.word,
		who[c.rng.IntN(len(who))], did[c.rng.IntN(len(did))], what[c.rng.IntN(len(what))], token)
}

type object = map[string]any

// fork forks a base. The client later changes some of the inherited notes in the fork.
func (c *client) fork(base *place) {
	f := &place{name: fmt.Sprintf("%s-fork-%d", c.name, len(c.forks)), word: word(c.rng, "f"), base: base}
	var out struct {
		ID     string
		Parent struct{ Revision int64 }
	}
	if _, ok := c.askFor(c.gateway(), http.StatusCreated, request{
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

// searchForeign searches the collection of another tenant, which must answer 404.
func (c *client) searchForeign() {
	for _, other := range c.run.tenants {
		if other != c.tenant {
			c.askFor(c.gateway(), http.StatusNotFound, request{
				kind: "trespass", method: http.MethodPost, path: other.bases[0].path("/search"), body: object{"query": "lanterns"},
			}, nil)
		}
	}
}

// importNotes imports some notes with given ids.
func (c *client) importNotes() {
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
	if _, ok := c.askFor(c.gateway(), http.StatusAccepted, request{
		kind: "import", method: http.MethodPost, path: c.tenant.imports.path("/import"), body: body.Bytes(),
	}, &out); ok {
		c.imports, c.jobs = append(c.imports, lines...), append(c.jobs, out.Job.ID)
	}
}
