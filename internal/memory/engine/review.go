package engine

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Review returns a proposal or an applied risky change.
func (e *Engine) Review(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Review, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return memory.Review{}, err
	}
	return e.store.Review(ctx, s, id)
}

// Reviews lists proposals and applied risky changes, newest first or by risk.
func (e *Engine) Reviews(ctx context.Context, s tenant.Scope, q memory.ReviewQuery) ([]memory.Review, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, err
	}
	return e.store.ListReviews(ctx, s, q)
}

// openForWriting opens a collection at its head for a caller that wants to write.
func (e *Engine) openForWriting(ctx context.Context, s tenant.Scope, ref string) (memory.View, error) {
	if err := tenant.Check(s, tenant.NotesWrite); err != nil {
		return memory.View{}, err
	}
	v, err := e.store.OpenView(ctx, s, ref, memory.At{})
	if err != nil {
		return memory.View{}, err
	}
	telemetry.NameMemoryStore(ctx, v.Collection.ID)
	if v.Collection.Shared() {
		if err := tenant.Check(s, tenant.BaseWrite); err != nil {
			return memory.View{}, err
		}
	}
	return v, nil
}

func (e *Engine) openReview(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Review, memory.View, error) {
	if err := tenant.Check(s, tenant.NotesWrite); err != nil {
		return memory.Review{}, memory.View{}, err
	}
	r, err := e.store.Review(ctx, s, id)
	if err != nil {
		return r, memory.View{}, err
	}
	v, err := e.openForWriting(ctx, s, r.Collection.String())
	return r, v, err
}

// Approve applies an open proposal under the conflict rule of jobs: when a note
// in its read set has changed since, nothing is written, the review stays open,
// and the fault (Conflict) lists the notes in its fields. A closed review is a
// Conflict too. It needs notes:write, and base:write on a shared base.
func (e *Engine) Approve(ctx context.Context, s tenant.Scope, id uuid.UUID, reason string) (memory.Review, error) {
	r, v, err := e.openReview(ctx, s, id)
	if err != nil {
		return memory.Review{}, err
	}
	if r.State != memory.ReviewOpen {
		return memory.Review{}, fault.New(fault.Conflict, "the review is %s already", r.State)
	}
	puts, err := e.proposed(ctx, s, v, &r)
	if err != nil {
		return memory.Review{}, err
	}
	others, err := e.otherOpen(ctx, s, &r)
	if err != nil {
		return memory.Review{}, err
	}
	o := memory.WriteOptions{
		Cause: memory.CauseReview, Job: r.Job, Trigger: r.Trigger,
		Audit: []memory.AuditEntry{{Action: "review.approve", Target: r.ID.String(), Detail: map[string]any{"collection": r.Collection.String()}}},
	}
	closed := r
	_, err = e.store.Write(ctx, s, r.Collection, o, func(ctx context.Context, tx memory.Tx) error {
		if err := applyReview(ctx, tx, &r, puts, others); err != nil {
			return err
		}
		due, err := countEvolved(ctx, tx, &v.Collection)
		if err != nil {
			return err
		}
		if due {
			j := memory.Job{Kind: memory.JobConsolidate, Stage: memory.StageTask, Collection: r.Collection, Payload: lastAdds}
			if _, err := tx.Enqueue(ctx, j); err != nil {
				return err
			}
		}
		closed = r
		closed.State, closed.Reason, closed.Actor = memory.ReviewApproved, firstNonEmpty(reason, r.Reason), s.Actor()
		closed.Revision, closed.ClosedAt = tx.Revision(), tx.Now()
		return tx.UpdateReview(ctx, closed)
	})
	if err != nil {
		return memory.Review{}, err
	}
	return closed, nil
}

// applyReview writes the notes and links of a proposal, unless a note that it read has changed. The note that it is about has
// evolved then, unless others wait for a decision too.
func applyReview(ctx context.Context, tx memory.Tx, r *memory.Review, puts []memory.Note, others bool) error {
	current, err := checkUnchanged(ctx, tx, r.Read)
	if err != nil {
		return err
	}
	pending := puts
	if t := current[r.Trigger]; t != nil && !slices.ContainsFunc(puts, func(n memory.Note) bool { return n.ID == r.Trigger }) {
		pending = append(slices.Clone(puts), *t)
	}
	for _, n := range pending {
		if n.ID == r.Trigger && n.State == memory.StateInReview && !others {
			n.State = memory.StateEvolved
		}
		if now := current[n.ID]; now != nil && sameContent(now, &n) {
			continue
		}
		if _, err := tx.Put(ctx, n); err != nil {
			return err
		}
	}

	for _, c := range r.Changes {
		for _, l := range c.Links {
			if _, err := tx.Link(ctx, l); err != nil {
				return err
			}
		}
	}
	return nil
}

func firstNonEmpty(given, was string) string {
	if given != "" {
		return given
	}
	return was
}

// proposed returns the notes as changed by an approval, with their vectors.
func (e *Engine) proposed(ctx context.Context, s tenant.Scope, v memory.View, r *memory.Review) ([]memory.Note, error) {
	em, err := e.embedderOf(&v.Collection)
	if err != nil {
		return nil, err
	}
	var ids []uuid.UUID
	for _, c := range r.Changes {
		ids = append(ids, c.Note)
	}
	now, err := e.store.Notes(ctx, s, v, ids, memory.ReadOptions{Vector: true})
	if err != nil {
		return nil, err
	}
	puts := make([]memory.Note, len(now))
	targets := make([]*memory.Note, len(now))
	for i := range now {
		puts[i] = now[i]
		puts[i].Vector, puts[i].Tokens = nil, nil
		for _, c := range r.Changes {
			if a := c.After; c.Note == now[i].ID && a != nil {
				p := &puts[i]
				p.Content, p.Context, p.Keywords, p.Tags = a.Content, a.Context, a.Keywords, a.Tags
				p.Category, p.Attributes, p.Importance = a.Category, a.Attributes, a.Importance
			}
		}
		targets[i] = &puts[i]
	}
	_, err = e.revector(ctx, s, em, targets, now)
	return puts, err
}

// checkUnchanged reads the notes of versions under the lock. It returns a Conflict
// that names the notes whose version has changed. Layers are not compared: a
// revision identifies a version within a lineage, and the layer changes when a
// fork is made independent.
func checkUnchanged(ctx context.Context, tx memory.Tx, read []memory.Version) (map[uuid.UUID]*memory.Note, error) {
	ids := make([]uuid.UUID, len(read))
	for i, ver := range read {
		ids[i] = ver.Note
	}
	now, err := tx.Notes(ctx, ids, memory.ReadOptions{Vector: true})
	if err != nil {
		return nil, err
	}
	current := memory.ByID(now)
	refuse := &fault.Error{Code: fault.Conflict, Message: "notes that the proposal depends on have changed since; the review stays open", Err: memory.ErrMoved}
	for _, ver := range read {
		switch n := current[ver.Note]; {
		case n == nil:
			refuse.Fields = append(refuse.Fields, fault.Field{Field: ver.Note.String(), Reason: "was deleted"})
		case n.From != ver.From:
			refuse.Fields = append(refuse.Fields, fault.Field{Field: ver.Note.String(), Reason: "has changed"})
		}
	}
	if len(refuse.Fields) > 0 {
		return nil, refuse
	}
	return current, nil
}

// otherOpen reports whether the note that caused a review has another open review.
func (e *Engine) otherOpen(ctx context.Context, s tenant.Scope, r *memory.Review) (bool, error) {
	for o, err := range e.eachReview(ctx, s, r.Collection, memory.ReviewOpen) {
		if err != nil || o.ID != r.ID && o.Trigger == r.Trigger {
			return err == nil, err
		}
	}
	return false, nil
}

// Reject closes an open proposal without applying it, or undoes an applied risky
// change like Undo. Any other review is a Conflict. It needs the permissions of
// Approve.
func (e *Engine) Reject(ctx context.Context, s tenant.Scope, id uuid.UUID, reason string) (memory.Review, error) {
	r, v, err := e.openReview(ctx, s, id)
	if err != nil {
		return memory.Review{}, err
	}
	if r.State == memory.ReviewApplied {
		if _, err := e.undo(ctx, s, v, r.Revision, &r, reason); err != nil {
			return memory.Review{}, err
		}
		return e.store.Review(ctx, s, id)
	}
	if r.State != memory.ReviewOpen {
		return memory.Review{}, fault.New(fault.Conflict, "the review is %s already", r.State)
	}
	others, err := e.otherOpen(ctx, s, &r)
	if err != nil {
		return memory.Review{}, err
	}
	o := memory.WriteOptions{
		Cause: memory.CauseReview, Job: r.Job, Trigger: r.Trigger,
		Audit: []memory.AuditEntry{{Action: "review.reject", Target: r.ID.String(), Detail: map[string]any{"collection": r.Collection.String()}}},
	}
	closed := r
	_, err = e.store.Write(ctx, s, r.Collection, o, func(ctx context.Context, tx memory.Tx) error {
		now, err := tx.Notes(ctx, []uuid.UUID{r.Trigger}, memory.ReadOptions{Vector: true})
		if err != nil {
			return err
		}
		if len(now) == 1 && now[0].State == memory.StateInReview && !others {
			now[0].State = memory.StateEvolved
			if _, err := tx.Put(ctx, now[0]); err != nil {
				return err
			}
		}
		closed = r
		closed.State, closed.Reason, closed.Actor, closed.ClosedAt = memory.ReviewRejected, firstNonEmpty(reason, r.Reason), s.Actor(), tx.Now()
		return tx.UpdateReview(ctx, closed)
	})
	if err != nil {
		return memory.Review{}, err
	}
	return closed, nil
}
