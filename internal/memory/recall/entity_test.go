package recall_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/test/must"
)

// Mem0's ranking raises a note that is linked to an entity of the query, the less the more notes are
// linked to the entity. A cosine below .1 excludes notes that words alone would find.
func TestMem0Ranking(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	r.embedder.meaning.Store(true)
	c := r.collection("facts")
	likes := r.add(c, "she likes green tea in the morning")
	plain := r.add(c, "she likes green tea in the evening")
	entity := r.addAt(c, memory.KindEntity, "2023-05-08 12:00", "Marguerite", nil)
	other := r.addAt(c, memory.KindEntity, "2023-05-08 12:00", "hibiscus", nil)
	ask := func(q recall.Query) recall.Result {
		q.Profile, q.Explain, q.Internal, q.K = recall.Mem0, true, true, 5
		return r.search(c, q)
	}
	const question = "Which tea does Marguerite like?"
	before := ask(recall.Query{Text: question})
	if before.Profile != recall.Mem0 || len(before.Hits) == 0 {
		t.Fatalf("%s found %d", before.Profile, len(before.Hits))
	}
	for i := range before.Hits {
		if _, weighed := signalsOf(&before.Hits[i])["entity"]; weighed {
			t.Errorf("entities count where nothing is linked to them: %+v", signalsOf(&before.Hits[i]))
		}
	}
	links := []notes.LinkInput{{Target: other, Relation: "likes", Attributes: map[string]any{"sources": []any{likes.String()}}}}
	put := func() {
		must.Get(r.notes.PutLinks(t.Context(), r.all, c.ID.String(), entity, links, memory.Request{}))(t)
	}
	put()
	boost := func() float64 {
		t.Helper()
		for _, h := range ask(recall.Query{Text: question}).Hits {
			if h.ID == likes {
				return signalsOf(&h)["entity"]
			}
		}
		t.Fatal("the linked note is gone")
		return 0
	}
	first := ask(recall.Query{Text: question}).Hits[0]
	if alone := boost(); first.ID != likes || math.Abs(alone-1) > 0.01 {
		t.Errorf("%s is first, not the note that is linked, which is worth %v", first.Note.Content, alone)
	}
	for i := range 40 {
		links = append(links, notes.LinkInput{Target: r.add(c, fmt.Sprintf("a walk on day %d", i))})
	}
	put()
	if among := boost(); math.Abs(among-1/2.6) > 0.01 {
		t.Errorf("one of 41 linked notes is worth %v", among)
	}
	for _, h := range ask(recall.Query{Text: "evening"}).Hits {
		if h.ID == plain && signalsOf(&h)["vector"] < 0.1 {
			t.Errorf("found with a cosine of %v", signalsOf(&h)["vector"])
		}
	}
}
