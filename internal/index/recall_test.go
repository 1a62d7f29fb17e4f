//go:build !race

package index

import (
	"testing"
)

// C080, C300: the shortlist by codes loses almost none of the nearest rows: it has at least 995 of a thousand
// that an exact scan finds.
func TestVectorRecall(t *testing.T) {
	t.Parallel()
	c := newCorpus()
	c.texts = false
	l := c.load(t, 5000)
	const k, queries = 50, 20
	found := 0
	for range queries {
		v, q := mustQuery(t, "", c.vector(), Bound{l, l.Revision()})
		all := newTop(v, k)
		links := v.sessionChain()
		for g := range v.rows {
			u, ok := v.vector(links, int32(g))
			if !ok {
				t.Fatalf("row %d has no vector", g)
			}
			all.push(uint32(g), q.vector(0).cosine(&u))
		}
		nearest := map[ID]bool{}
		for _, r := range all.heap {
			nearest[v.entry(r.row).note] = true
		}
		for _, h := range q.Vector(nil, k) {
			if nearest[h.Note] {
				found++
			}
		}
	}
	if recall := float64(found) / (k * queries); recall < 0.995 {
		t.Errorf("recall %v", recall)
	}
}
