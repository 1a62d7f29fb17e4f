package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func ledgerCases() []testCase {
	return []testCase{
		{"Audit", auditRows},
		{"ModelUse", modelUse},
		{"Reviews", reviews},
		{"Usage", usageIsCounted},
	}
}

func auditRows(_ *testing.T, w *world) {
	c := w.collection("c")
	for i := range 5 {
		_, err := w.Write(w.ctx, w.aliceS, c.ID, memory.WriteOptions{Audit: []memory.AuditEntry{{Action: "note.create", Target: "n", Detail: map[string]any{"i": float64(i)}, Actor: "forged"}}},
			func(context.Context, memory.Tx) error { return nil })
		w.noError(err)
	}
	w.noError(w.Audit(w.ctx, w.all, memory.AuditEntry{Action: "other", Target: "t"}))
	w.noError(w.Audit(w.ctx, w.foreign, memory.AuditEntry{Action: "foreign"}))
	all := must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{}))(w.t)
	w.assertf(len(all) == 6 && all[0].Action == "other" && all[0].ID > all[1].ID, "newest first: %+v", all)
	w.assertf(all[1].Actor == "alice's key" && all[1].Detail["i"] == 4.0 && !all[1].At.IsZero(), "the store sets actor and time: %+v", all[1])
	page := must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Before: all[1].ID, Limit: 2, Action: "note.create"}))(w.t)
	w.assertf(len(page) == 2 && page[0].ID == all[2].ID, "pages: %+v", page)
	w.assertf(len(must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Target: "t"}))(w.t)) == 1, "by target")
	made := must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{Name: "x"}, Audit: memory.AuditEntry{Action: "collection.create"}}))(w.t)
	w.assertf(len(must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Target: made.Collection.ID.String()}))(w.t)) == 1, "the audit row of a creation has the collection as target")
}

func modelUse(_ *testing.T, w *world) {
	c := w.collection("c")
	add := func(u ...memory.ModelUse) { w.noError(w.AddModelUse(w.ctx, w.all, u)) }
	add(memory.ModelUse{Collection: c.ID, Purpose: "analyze", Day: "2026-11-20", Calls: 1, PromptTokens: 10, CompletionTokens: 5},
		memory.ModelUse{Collection: c.ID, Purpose: "analyze", Day: "2026-11-20", Calls: 2, PromptTokens: 1, CompletionTokens: 1})
	add(memory.ModelUse{Purpose: "embed", Day: "2026-11-21", Calls: 1}, memory.ModelUse{Purpose: "embed", Day: "2026-11-22", Calls: 1})
	add()
	u := must(w.ModelUse(w.ctx, w.all, "2026-11-20", "2026-11-21"))(w.t)
	w.assertf(len(u) == 2 && u[0] == memory.ModelUse{Collection: c.ID, Purpose: "analyze", Day: "2026-11-20", Calls: 3, PromptTokens: 11, CompletionTokens: 6} && u[1].Purpose == "embed", "use: %+v", u)
}

func reviews(_ *testing.T, w *world) {
	c := w.collection("c")
	before := w.put(c.ID, memory.Note{Content: "before", Tags: []string{"t"}, Attributes: map[string]any{"a": 1.5}})
	after := before
	after.Content = "after"
	var ids []uuid.UUID
	for _, confidence := range []float64{0.5, 0.2, 0.9, 0.2} {
		w.write(c.ID, func(tx memory.Tx) error {
			r, err := tx.OpenReview(w.ctx, memory.Review{
				Trigger: before.ID, Confidence: confidence, Reason: "low confidence", Read: []memory.Version{before.Version()},
				Changes: []memory.ReviewChange{{Note: before.ID, Before: &before, After: &after, Links: []memory.Link{{LinkID: memory.LinkID{Source: before.ID, Target: uuid.New()}, Confidence: 1}}}},
			})
			ids = append(ids, r.ID)
			if err != nil {
				return err
			}
			list, err := tx.Reviews(w.ctx, memory.ReviewQuery{State: memory.ReviewOpen, Limit: 9})
			w.assertf(len(list) == len(ids) && list[0].ID == r.ID, "within the transaction: %+v", list)
			return err
		})
	}
	r := must(w.Review(w.ctx, w.all, ids[0]))(w.t)
	w.assertf(r.State == memory.ReviewOpen && r.Collection == c.ID && r.Changes[0].After.Content == "after" && r.Changes[0].Before.Attributes["a"] == 1.5 && r.Read[0] == before.Version() && r.ClosedAt.IsZero(), "review %+v", r)
	w.assertf(r.Changes[0].Before.UpdatedAt.Equal(before.UpdatedAt) && r.Changes[0].Links[0].Confidence == 1, "changes %+v", r.Changes)
	order := func(q memory.ReviewQuery) (out []int) {
		for _, r := range must(w.ListReviews(w.ctx, w.all, q))(w.t) {
			for i, id := range ids {
				if id == r.ID {
					out = append(out, i)
				}
			}
		}
		return out
	}
	equal := func(a []int, b ...int) bool {
		if len(a) != len(b) {
			return false
		}
		for i := range a {
			if a[i] != b[i] {
				return false
			}
		}
		return true
	}
	w.assertf(equal(order(memory.ReviewQuery{}), 3, 2, 1, 0), "newest first: %v", order(memory.ReviewQuery{}))
	w.assertf(equal(order(memory.ReviewQuery{ByRisk: true}), 3, 1, 0, 2), "by risk: %v", order(memory.ReviewQuery{ByRisk: true}))
	w.assertf(equal(order(memory.ReviewQuery{Offset: 1, Limit: 2}), 2, 1), "pages")
	w.write(c.ID, func(tx memory.Tx) error {
		r.State, r.Reason, r.Actor, r.Revision = memory.ReviewApproved, "fine", "bob", tx.Revision()
		w.wantFault(tx.UpdateReview(w.ctx, memory.Review{ID: uuid.New()}), fault.NotFound)
		return tx.UpdateReview(w.ctx, r)
	})
	got := must(w.Review(w.ctx, w.all, r.ID))(w.t)
	w.assertf(got.State == memory.ReviewApproved && got.Actor == "bob" && got.Reason == "fine" && !got.ClosedAt.IsZero() && got.Revision == r.Revision, "closed: %+v", got)
	w.assertf(equal(order(memory.ReviewQuery{State: memory.ReviewOpen, Collection: c.ID}), 3, 2, 1), "by state")
	w.assertf(equal(order(memory.ReviewQuery{Proposals: true}), 3, 2, 1, 0), "those that ask for a decision")
	other := w.collection("other")
	err := errOf(w.tryWrite(other.ID, func(tx memory.Tx) error {
		list, err := tx.Reviews(w.ctx, memory.ReviewQuery{Collection: c.ID})
		w.assertf(err == nil && len(list) == 0, "of another collection: %+v, %v", list, err)
		return tx.UpdateReview(w.ctx, r)
	}))
	w.wantFault(err, fault.NotFound)
}

// usageIsCounted: what a tenant stores is what its collections show of their own, after any sequence of changes.
func usageIsCounted(t *testing.T, w *world) {
	rng := rand.New(rand.NewPCG(11, 12)) //nolint:gosec // the same changes in every run
	count := func() (u memory.TenantUsage) {
		page := must(w.ListCollections(w.ctx, w.all, memory.CollectionQuery{Limit: 100}))(t)
		for _, c := range page {
			v, forks := w.view(c.ID), int64(0)
			if c.Parent != uuid.Nil {
				forks = 1
			}
			u.Collections, u.Forks = u.Collections+1, u.Forks+forks
			seen := map[memory.LinkID]bool{}
			for _, n := range must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{Limit: 1000}))(t) {
				if n.Layer == c.ID {
					u.Notes++
				}
				for _, l := range must(w.Links(w.ctx, w.all, v, memory.LinkQuery{Notes: []uuid.UUID{n.ID}, Direction: memory.Both, Limit: 1000}))(t) {
					if l.Layer == c.ID && !seen[l.LinkID] {
						seen[l.LinkID] = true
						u.Links++
					}
				}
			}
		}
		return u
	}
	all, gone := []uuid.UUID{w.collection("root").ID}, []memory.Note{}
	hidden, names := 0, 0
	name := func() string { names++; return fmt.Sprint("c", names) }
	for step := range 150 {
		c := all[rng.IntN(len(all))]
		v := w.view(c)
		notes := must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{Limit: 1000}))(t)
		before := w.links(v, noteIDs(notes)...)
		did := rng.IntN(14)
		switch {
		case did < 3 || len(notes) < 4:
			did = 0
			w.add(c, fmt.Sprint("said ", step))
		case did < 7:
			from, to := notes[rng.IntN(len(notes))].ID, notes[rng.IntN(len(notes))].ID
			if from != to {
				w.link(c, from, to)
			}
		case did == 7:
			n := notes[rng.IntN(len(notes))]
			w.delete(c, n.ID)
			n.Vector = nil
			gone = append(gone, n)
			hidden += len(before) - len(w.links(w.view(c), noteIDs(notes)...))
		case did == 8 && len(gone) > 0: // in any collection, also in one that has it or never had it
			n := gone[rng.IntN(len(gone))]
			w.put(c, memory.Note{ID: n.ID, Content: n.Content})
		case did == 9:
			w.put(c, memory.Note{ID: notes[rng.IntN(len(notes))].ID, Content: fmt.Sprint("changed ", step)})
		case did == 10:
			id := notes[rng.IntN(len(notes))].ID
			w.delete(c, id)
			must(w.EraseNotes(w.ctx, w.all, c, memory.Erasing{Notes: []uuid.UUID{id}}, memory.AuditEntry{Action: "note.erase"}))(t)
		case did == 11 && len(all) < 6:
			all = append(all, w.mustFork(c, -1, name()).ID)
		case did == 12 && len(all) < 6:
			all = append(all, w.copyOf(v, name(), 3).ID)
		case did == 13 && len(all) > 3:
			must(w.DeleteCollection(w.ctx, w.all, c, true, memory.AuditEntry{}))(t)
			all = slices.DeleteFunc(all, func(id uuid.UUID) bool { return id == c })
		}
		got, want := must(w.TenantUsage(w.ctx, w.all))(t), count()
		want.StoredBytes, want.QueuedJobs = got.StoredBytes, got.QueuedJobs // verify counts the bytes
		w.assertf(got == want, "after step %d (%d): the usage is %+v, want %+v", step, did, got, want)
		w.verify()
	}
	w.assertf(hidden > 3, "only %d links were hidden", hidden)
}

func noteIDs(notes []memory.Note) []uuid.UUID {
	out := make([]uuid.UUID, len(notes))
	for i := range notes {
		out[i] = notes[i].ID
	}
	return out
}
