package recall_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// C056: a note is read by id with its links; an unknown id is not found.
func TestGetListHistory(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	var ids []uuid.UUID
	for i := range 7 {
		ids = append(ids, r.add(c, fmt.Sprintf("note %d", i)))
	}
	r.link(c, ids[0], ids[1], ids[2])
	v := r.view(c)
	n := must.Get(r.recall.Get(t.Context(), r.all, v, ids[0], false))(t)
	if len(n.Links) != 2 || n.Usage.Strength != 1 || n.Vector != nil {
		t.Errorf("got %+v", n)
	}
	n = must.Get(r.recall.Get(t.Context(), r.all, v, ids[1], true))(t)
	if len(n.Links) != 0 || len(n.Vector) != 384 {
		t.Errorf("got %+v", n)
	}
	_, err := r.recall.Get(t.Context(), r.all, v, uuid.New(), false)
	r.wantFault(err, fault.NotFound)

	// A page shows the view's revision, also while others write.
	var listed []uuid.UUID
	q := recall.ListQuery{Limit: 3}
	for {
		page := must.Get(r.recall.List(t.Context(), r.all, v, q))(t)
		for _, item := range page.Items {
			listed = append(listed, item.ID)
		}
		r.add(c, "written between pages")
		if q.After = page.Next; page.Next == uuid.Nil {
			break
		}
	}
	if !slices.Equal(listed, ids) {
		t.Errorf("listed %v, want %v", listed, ids)
	}
	_, err = r.recall.List(t.Context(), r.all, v, recall.ListQuery{Limit: 201})
	r.wantFault(err, fault.Invalid)
	page := must.Get(r.recall.List(t.Context(), r.all, v, recall.ListQuery{Kinds: []memory.Kind{memory.KindFact}}))(t)
	if len(page.Items) != 0 {
		t.Error("kinds do not narrow")
	}

	for i := range 4 {
		must.Get(r.notes.Patch(t.Context(), r.all, c.ID.String(), ids[3], notes.NotePatch{Content: new(fmt.Sprintf("changed %d", i))}, memory.Request{}))(t)
	}
	v = r.view(c)
	var contents []string
	for before := memory.Revision(0); ; {
		h := must.Get(r.recall.History(t.Context(), r.all, v, ids[3], before, 2))(t)
		for _, e := range h.Items {
			contents = append(contents, e.Note.Content)
		}
		if before = h.Next; before == 0 {
			break
		}
	}
	if !slices.Equal(contents, []string{"changed 3", "changed 2", "changed 1", "changed 0", "note 3"}) {
		t.Errorf("history is %v", contents)
	}
	_, err = r.recall.History(t.Context(), r.all, v, uuid.New(), 0, 0)
	r.wantFault(err, fault.NotFound)
	low := grant.Scope(r.tenant, uuid.Nil, "x", tenant.Clone)
	_, err = r.recall.Get(t.Context(), low, v, ids[0], false)
	r.wantFault(err, fault.Forbidden)
	_, err = r.recall.Graph(t.Context(), low, v, recall.GraphQuery{})
	r.wantFault(err, fault.Forbidden)
}

func TestGraphFollowsLinksToItsDepth(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.collection("things")
	var ids []uuid.UUID
	for i := range 6 {
		ids = append(ids, r.add(c, fmt.Sprintf("note %d", i)))
	}
	// 0 → 1 → 2 → 3, 4 → 0, and 5 alone.
	r.link(c, ids[0], ids[1])
	r.link(c, ids[1], ids[2], ids[0])
	r.link(c, ids[2], ids[3])
	r.link(c, ids[4], ids[0])
	v := r.view(c)
	graph := func(q recall.GraphQuery) (recall.Graph, map[uuid.UUID]int) {
		t.Helper()
		g := must.Get(r.recall.Graph(t.Context(), r.all, v, q))(t)
		d := map[uuid.UUID]int{}
		for _, n := range g.Nodes {
			if n.Distance != nil {
				d[n.Note.ID] = *n.Distance
			}
		}
		return g, d
	}
	g, d := graph(recall.GraphQuery{Center: ids[0], Depth: -1})
	if len(g.Nodes) != 4 || d[ids[0]] != 0 || d[ids[1]] != 1 || d[ids[4]] != 1 || d[ids[2]] != 2 || len(g.Links) != 4 || g.Truncated {
		t.Errorf("depth 2: %v, %d links", d, len(g.Links))
	}
	g, _ = graph(recall.GraphQuery{Center: ids[0], Depth: 0})
	if len(g.Nodes) != 1 || len(g.Links) != 0 {
		t.Errorf("depth 0: %+v", g)
	}
	g, _ = graph(recall.GraphQuery{Center: ids[0], Depth: 5, Limit: 2})
	if len(g.Nodes) != 2 || !g.Truncated {
		t.Errorf("limit 2: %+v", g)
	}
	g, d = graph(recall.GraphQuery{Depth: -1})
	if len(g.Nodes) != 6 || len(d) != 0 || len(g.Links) != 5 || g.Truncated {
		t.Errorf("all: %d nodes, %d links", len(g.Nodes), len(g.Links))
	}
	g, _ = graph(recall.GraphQuery{Limit: 3})
	if len(g.Nodes) != 3 || !g.Truncated || g.Nodes[0].Note.ID != ids[0] {
		t.Errorf("three: %+v", g)
	}
	_, err := r.recall.Graph(t.Context(), r.all, v, recall.GraphQuery{Center: uuid.New()})
	r.wantFault(err, fault.NotFound)
	_, err = r.recall.Graph(t.Context(), r.all, v, recall.GraphQuery{Depth: 6})
	r.wantFault(err, fault.Invalid)
	_, err = r.recall.Graph(t.Context(), r.all, v, recall.GraphQuery{Limit: 1001})
	r.wantFault(err, fault.Invalid)
}
