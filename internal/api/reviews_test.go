package api_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// propose opens a review of a change of a note's tags, as a policy would.
func propose(t *testing.T, b *apptest.System, collection, note string, confidence float64, state memory.ReviewState) string {
	t.Helper()
	ctx, s := t.Context(), b.Scopes["one"].Scope
	c := must.Get(b.Store.ResolveCollection(ctx, s, collection[len("/v1/collections/"):]))(t)
	id := uuid.MustParse(note)
	var opened memory.Review
	must.Get(b.Store.Write(ctx, s, c.ID, memory.WriteOptions{Cause: memory.CauseMark, Trigger: id}, func(ctx context.Context, tx memory.Tx) error {
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
	}))(t)
	return opened.ID.String()
}

// C078, C079, C324: proposals wait with their changes; approve applies them, reject discards them,
// and a note that changed since is a conflict.
func TestReviews(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	notes := make([]string, 4)
	for i := range notes {
		notes[i] = b.Call(t, "one", "POST", c+"/notes", fmt.Sprintf(`{"content":"note %d","infer":false}`, i)).Text("note.id")
	}
	approve := propose(t, b, c, notes[0], 0.5, memory.ReviewOpen)
	got := b.Call(t, "reader", "GET", "/v1/reviews/"+approve, "").Want(http.StatusOK)
	if got.Text("state") != "open" || got.Number("confidence") != 0.5 || got.Length("changes.0.before.tags") != 0 || got.Text("changes.0.after.tags.0") != "proposed-0.5" {
		t.Errorf("%s", got.Body)
	}
	b.Call(t, "reader", "POST", "/v1/reviews/"+approve+"/approve", "").Refused(403, fault.Forbidden, "")
	b.Call(t, "ada", "POST", "/v1/reviews/"+approve+"/approve", "").Refused(403, fault.Forbidden, "") // a shared base
	b.Call(t, "two", "GET", "/v1/reviews/"+approve, "").Refused(404, fault.NotFound, "")
	b.Call(t, "one", "POST", "/v1/reviews/"+approve+"/undo", "").Refused(409, fault.Conflict, "")
	done := b.Call(t, "one", "POST", "/v1/reviews/"+approve+"/approve", `{"reason":"right"}`).Want(http.StatusOK)
	if done.Text("state") != "approved" || done.Text("reason") != "right" || done.Text("actor") != "key:one" || done.At("revision") == nil {
		t.Errorf("%s", done.Body)
	}
	if n := b.Call(t, "one", "GET", c+"/notes/"+notes[0], ""); n.Text("tags.0") != "proposed-0.5" {
		t.Errorf("%s", n.Body)
	}
	b.Call(t, "one", "POST", "/v1/reviews/"+approve+"/approve", "").Refused(409, fault.Conflict, "")
	undone := b.Call(t, "one", "POST", "/v1/reviews/"+approve+"/undo", "").Want(http.StatusOK)
	if undone.Text("state") != "undone" {
		t.Errorf("%s", undone.Body)
	}
	if n := b.Call(t, "one", "GET", c+"/notes/"+notes[0], ""); n.Length("tags") != 0 {
		t.Errorf("%s", n.Body)
	}

	reject := propose(t, b, c, notes[1], 0.6, memory.ReviewOpen)
	if r := b.Call(t, "one", "POST", "/v1/reviews/"+reject+"/reject", "").Want(http.StatusOK); r.Text("state") != "rejected" {
		t.Errorf("%s", r.Body)
	}
	if n := b.Call(t, "one", "GET", c+"/notes/"+notes[1], ""); n.Length("tags") != 0 {
		t.Errorf("%s", n.Body)
	}
	moved := propose(t, b, c, notes[2], 0.7, memory.ReviewOpen)
	b.Call(t, "one", "PATCH", c+"/notes/"+notes[2], `{"content":"other"}`).Want(http.StatusOK)
	b.Call(t, "one", "POST", "/v1/reviews/"+moved+"/approve", "").Refused(409, fault.Conflict, notes[2])
	if r := b.Call(t, "one", "GET", "/v1/reviews/"+moved, ""); r.Text("state") != "open" {
		t.Errorf("%s", r.Body)
	}
}

func TestListReviewsIsStable(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	note := b.Call(t, "one", "POST", c+"/notes", `{"content":"a","infer":false}`).Text("note.id")
	confidences := []float64{0.5, 0.1, 0.3, 0.3, 0.8, 0.2, 0.6}
	var ids []string
	for _, x := range confidences {
		ids = append(ids, propose(t, b, c, note, x, memory.ReviewOpen))
	}
	byDate := slices.Clone(ids)
	slices.Reverse(byDate)
	byRisk := []string{ids[1], ids[5], ids[3], ids[2], ids[0], ids[6], ids[4]}
	reject := func(id string) { b.Call(t, "one", "POST", "/v1/reviews/"+id+"/reject", "").Want(http.StatusOK) }

	// Meanwhile, reviews that were shown are closed and others are opened.
	var extra []string
	got := listAll(t, b, "one", "/v1/reviews?state=open&limit=2&collection=space", "id", func(page int) {
		extra = append(extra, propose(t, b, c, note, 0.05, memory.ReviewOpen))
	})
	if !slices.Equal(got, byDate) {
		t.Errorf("by date: %v, want %v", got, byDate)
	}
	for _, id := range extra {
		reject(id)
	}
	got = listAll(t, b, "one", "/v1/reviews?state=open&sort=risk&limit=2", "id", func(page int) {
		reject(byRisk[2*page-2])
		reject(byRisk[2*page-1])
	})
	if !slices.Equal(got, byRisk) {
		t.Errorf("by risk: %v, want %v", got, byRisk)
	}
	if all := listAll(t, b, "one", "/v1/reviews?state=rejected&limit=200", "id", func(int) {}); len(all) != 6+len(extra) {
		t.Errorf("%d rejected", len(all))
	}
	if none := b.Call(t, "two", "GET", "/v1/reviews", "").Want(http.StatusOK); none.Length("items") != 0 {
		t.Errorf("%s", none.Body)
	}
}
