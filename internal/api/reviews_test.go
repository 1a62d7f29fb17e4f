package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// propose opens a review of a change of a note's tags, as a policy would.
func (b *system) propose(t *testing.T, collection, note string, confidence float64, state memory.ReviewState) string {
	t.Helper()
	ctx, s := t.Context(), b.Scopes["one"].Scope
	c, err := b.Store.ResolveCollection(ctx, s, collection[len("/v1/collections/"):])
	if err != nil {
		t.Fatal(err)
	}
	id := uuid.MustParse(note)
	var opened memory.Review
	_, err = b.Store.Write(ctx, s, c.ID, memory.WriteOptions{Cause: memory.CauseMark, Trigger: id}, func(ctx context.Context, tx memory.Tx) error {
		notes, err := tx.Notes(ctx, []uuid.UUID{id}, memory.ReadOptions{})
		if err != nil {
			return err
		}
		after := notes[0]
		after.Tags = []string{fmt.Sprintf("proposed-%v", confidence)}
		opened, err = tx.OpenReview(ctx, memory.Review{
			State: state, Trigger: id, Confidence: confidence, Reason: "the gate",
			Changes: []memory.ReviewChange{{Note: id, Before: &notes[0], After: &after}}, Read: []memory.Version{notes[0].Version()},
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return opened.ID.String()
}

// C078, C079, C324: proposals wait with their changes; approve applies them, reject discards them,
// and a note that changed since is a conflict.
func TestReviews(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	notes := make([]string, 4)
	for i := range notes {
		notes[i] = b.call(t, "one", "POST", c+"/notes", fmt.Sprintf(`{"content":"note %d","infer":false}`, i)).text("note.id")
	}
	approve := b.propose(t, c, notes[0], 0.5, memory.ReviewOpen)
	got := b.call(t, "reader", "GET", "/v1/reviews/"+approve, "").want(http.StatusOK)
	if got.text("state") != "open" || got.number("confidence") != 0.5 || got.length("changes.0.before.tags") != 0 || got.text("changes.0.after.tags.0") != "proposed-0.5" {
		t.Errorf("%s", got.Body)
	}
	b.call(t, "reader", "POST", "/v1/reviews/"+approve+"/approve", "").refused(403, fault.Forbidden, "")
	b.call(t, "ada", "POST", "/v1/reviews/"+approve+"/approve", "").refused(403, fault.Forbidden, "") // a shared base
	b.call(t, "two", "GET", "/v1/reviews/"+approve, "").refused(404, fault.NotFound, "")
	b.call(t, "one", "POST", "/v1/reviews/"+approve+"/undo", "").refused(409, fault.Conflict, "")
	done := b.call(t, "one", "POST", "/v1/reviews/"+approve+"/approve", `{"reason":"right"}`).want(http.StatusOK)
	if done.text("state") != "approved" || done.text("reason") != "right" || done.text("actor") != "key:one" || done.at("revision") == nil {
		t.Errorf("%s", done.Body)
	}
	if n := b.call(t, "one", "GET", c+"/notes/"+notes[0], ""); n.text("tags.0") != "proposed-0.5" {
		t.Errorf("%s", n.Body)
	}
	b.call(t, "one", "POST", "/v1/reviews/"+approve+"/approve", "").refused(409, fault.Conflict, "")
	undone := b.call(t, "one", "POST", "/v1/reviews/"+approve+"/undo", "").want(http.StatusOK)
	if undone.text("state") != "undone" {
		t.Errorf("%s", undone.Body)
	}
	if n := b.call(t, "one", "GET", c+"/notes/"+notes[0], ""); n.length("tags") != 0 {
		t.Errorf("%s", n.Body)
	}

	reject := b.propose(t, c, notes[1], 0.6, memory.ReviewOpen)
	if r := b.call(t, "one", "POST", "/v1/reviews/"+reject+"/reject", "").want(http.StatusOK); r.text("state") != "rejected" {
		t.Errorf("%s", r.Body)
	}
	if n := b.call(t, "one", "GET", c+"/notes/"+notes[1], ""); n.length("tags") != 0 {
		t.Errorf("%s", n.Body)
	}
	moved := b.propose(t, c, notes[2], 0.7, memory.ReviewOpen)
	b.call(t, "one", "PATCH", c+"/notes/"+notes[2], `{"content":"other"}`).want(http.StatusOK)
	b.call(t, "one", "POST", "/v1/reviews/"+moved+"/approve", "").refused(409, fault.Conflict, notes[2])
	if r := b.call(t, "one", "GET", "/v1/reviews/"+moved, ""); r.text("state") != "open" {
		t.Errorf("%s", r.Body)
	}
}

func TestListReviewsIsStable(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	note := b.call(t, "one", "POST", c+"/notes", `{"content":"a","infer":false}`).text("note.id")
	confidences := []float64{0.5, 0.1, 0.3, 0.3, 0.8, 0.2, 0.6}
	var ids []string
	for _, x := range confidences {
		ids = append(ids, b.propose(t, c, note, x, memory.ReviewOpen))
	}
	byDate := slices.Clone(ids)
	slices.Reverse(byDate)
	byRisk := []string{ids[1], ids[5], ids[3], ids[2], ids[0], ids[6], ids[4]}
	reject := func(id string) { b.call(t, "one", "POST", "/v1/reviews/"+id+"/reject", "").want(http.StatusOK) }

	// Meanwhile, reviews that were shown are closed and others are opened.
	var extra []string
	got := b.list(t, "one", "/v1/reviews?state=open&limit=2&collection=space", "id", func(page int) {
		extra = append(extra, b.propose(t, c, note, 0.05, memory.ReviewOpen))
	})
	if !slices.Equal(got, byDate) {
		t.Errorf("by date: %v, want %v", got, byDate)
	}
	for _, id := range extra {
		reject(id)
	}
	got = b.list(t, "one", "/v1/reviews?state=open&sort=risk&limit=2", "id", func(page int) {
		reject(byRisk[2*page-2])
		reject(byRisk[2*page-1])
	})
	if !slices.Equal(got, byRisk) {
		t.Errorf("by risk: %v, want %v", got, byRisk)
	}
	if all := b.list(t, "one", "/v1/reviews?state=rejected&limit=200", "id", func(int) {}); len(all) != 6+len(extra) {
		t.Errorf("%d rejected", len(all))
	}
	if none := b.call(t, "two", "GET", "/v1/reviews", "").want(http.StatusOK); none.length("items") != 0 {
		t.Errorf("%s", none.Body)
	}
}
