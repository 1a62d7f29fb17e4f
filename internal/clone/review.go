package clone

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/merge"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// review writes immediately what the gate is sure of, and opens a review of the rest.
func (p *mergePlan) review(ctx context.Context, in *MergeInput) (Merged, error) {
	whole := !p.chosen
	sure, rest := p.sure(in)
	var out Merged
	if len(sure) > 0 {
		now := *p
		now.only(sure)
		written, err := now.write(ctx, in)
		if err != nil {
			return written, err
		}
		out = written
		p.only(rest)
	}
	o := memory.WriteOptions{Cause: memory.CauseReview, Reads: p.reads(), Audit: []memory.AuditEntry{{
		Action: "collection.merge.propose", Target: p.ours.Collection.ID.String(), Detail: map[string]any{"from": p.theirs.Collection.ID.String()},
	}}}
	w, err := p.c.store.Write(ctx, p.s, p.ours.Collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
		d, err := p.decide(headOfTx(ctx, tx))
		if err != nil {
			return err
		}
		out.Review, out.Known, out.Replaced, out.Conflicts = nil, false, nil, d.conflicts
		r := p.proposal(d)
		if len(r.Changes) == 0 {
			if len(d.conflicts) > 0 && p.strategy == merge.Fail {
				return ErrConflicts
			}
			return nil
		}
		if len(r.Changes) > maxReviewed {
			return fault.InvalidField("from", "changes %d notes; a review shows at most %d: choose some with notes or kinds", len(r.Changes), maxReviewed)
		}
		open, err := p.proposed(ctx, tx)
		if err != nil {
			return err
		}
		for i := range open {
			if sameChanges(&open[i], &r) {
				out.Review, out.Known = &open[i], true
				return nil
			}
		}
		if r, err = tx.OpenReview(ctx, r); err != nil {
			return err
		}
		out.Review = &r
		out.Replaced, err = p.replace(ctx, tx, open, &r, whole)
		return err
	})
	if out.Revision == 0 {
		out.Revision = w.Revision
	}
	return out, err
}

// proposed returns the open reviews of merges from the other side.
func (p *mergePlan) proposed(ctx context.Context, tx memory.Tx) (out []memory.Review, err error) {
	list := func(q memory.ReviewQuery) ([]memory.Review, error) { return tx.Reviews(ctx, q) }
	for r, err := range memory.EachReview(list, memory.ReviewQuery{State: memory.ReviewOpen, Limit: readBatch}) {
		if err != nil {
			return nil, err
		}
		if from := r.Merge(); from != nil && from.Collection == p.theirs.Collection.ID {
			out = append(out, *r)
		}
	}
	return out, nil
}

// sameChanges reports whether two reviews of merges between two collections ask for the same, whenever it was read.
func sameChanges(a, b *memory.Review) bool {
	text := func(r *memory.Review) []byte {
		all := slices.Clone(r.Changes)
		all[0].Merge = &memory.ReviewMerge{Strategy: all[0].Merge.Strategy}
		text, err := json.Marshal(all)
		if err != nil {
			return nil
		}
		return text
	}
	x := text(a)
	return x != nil && bytes.Equal(x, text(b))
}

// replace closes the open reviews whose place a new one takes: those of which it has all notes, and if it is of all that the other side has
// changed, all of them.
func (p *mergePlan) replace(ctx context.Context, tx memory.Tx, open []memory.Review, by *memory.Review, whole bool) (ids []uuid.UUID, err error) {
	has := map[uuid.UUID]bool{}
	for i := range by.Changes {
		has[by.Changes[i].Note] = true
	}
	for _, r := range open {
		if !whole && slices.ContainsFunc(r.Changes, func(c memory.ReviewChange) bool { return !has[c.Note] }) {
			continue
		}
		r.State, r.Actor, r.ClosedAt = memory.ReviewRejected, p.s.Actor(), tx.Now()
		r.Reason = "replaced by the review " + by.ID.String()
		if err := tx.UpdateReview(ctx, r); err != nil {
			return nil, err
		}
		ids = append(ids, r.ID)
	}
	return ids, nil
}

// sure splits the notes: added ones with a stated confidence of at least the gate are sure, if nothing is in conflict with them.
func (p *mergePlan) sure(in *MergeInput) (sure, rest []uuid.UUID) {
	for _, id := range p.ids {
		if n := p.other[id]; in.ApproveFrom != nil && p.base[id] == nil && n != nil && n.Attributes["confidence"] != nil && confidence(n) >= *in.ApproveFrom {
			sure = append(sure, id)
		} else {
			rest = append(rest, id)
		}
	}
	return sure, rest
}

// only reduces the plan to some of its notes, and the links that touch them.
func (p *mergePlan) only(ids []uuid.UUID) {
	p.ids, p.chosen = ids, true
	p.links = slices.DeleteFunc(slices.Clone(p.links), func(l memory.LinkID) bool {
		return !slices.Contains(ids, l.Source) && !slices.Contains(ids, l.Target)
	})
}

// proposal returns a review of what the merge would write.
func (p *mergePlan) proposal(d *decision) memory.Review {
	r := memory.Review{Confidence: 1}
	changes := map[uuid.UUID]*memory.ReviewChange{}
	change := func(id uuid.UUID) *memory.ReviewChange {
		if changes[id] == nil {
			changes[id] = &memory.ReviewChange{Note: id, Before: withoutVector(d.ours[id])}
			if was := d.ours[id]; was != nil {
				r.Read = append(r.Read, was.Version())
			}
		}
		return changes[id]
	}
	for i := range d.puts {
		n := &d.puts[i]
		change(n.ID).After = withoutVector(n)
		if n.Attributes["confidence"] != nil {
			r.Confidence = min(r.Confidence, max(0, confidence(n)))
		}
	}
	for _, id := range d.deletes {
		change(id)
	}
	for _, l := range d.links {
		c := change(l.Source)
		if c.After == nil {
			c.After = c.Before
		}
		c.Links = append(c.Links, l)
	}
	for _, c := range changes {
		r.Changes = append(r.Changes, *c)
	}
	slices.SortFunc(r.Changes, func(a, b memory.ReviewChange) int { return memory.CompareIDs(a.Note, b.Note) })
	if len(r.Changes) > 0 {
		r.Trigger, r.Reason = r.Changes[0].Note, "a merge from "+p.theirs.Collection.Name
		r.Changes[0].Merge = &memory.ReviewMerge{Collection: p.theirs.Collection.ID, Revision: p.theirs.At, Strategy: string(p.strategy)}
	}
	return r
}

func withoutVector(n *memory.Note) *memory.Note {
	if n == nil {
		return nil
	}
	c := *n
	c.Embed(memory.Embedding{}, "")
	return &c
}

// ApproveMerge merges what a review of a merge proposes, or only some of its notes: the others are left as they are. The review
// stays open, and the fault (Conflict) lists the notes, when one of them has changed since. It needs notes:write, and base:write
// on a shared base.
func (c *Service) ApproveMerge(ctx context.Context, s tenant.Scope, r memory.Review, notes []uuid.UUID, reason string) (memory.Review, error) {
	from := r.Merge()
	if from == nil {
		return r, fault.New(fault.Conflict, "the review is not of a merge")
	}
	if r.State != memory.ReviewOpen {
		return r, fault.New(fault.Conflict, "the review is %s already", r.State)
	}
	for _, id := range notes {
		if !slices.ContainsFunc(r.Changes, func(c memory.ReviewChange) bool { return c.Note == id }) {
			return r, fault.InvalidField("notes", "the review does not change the note %s", id)
		}
	}
	if notes == nil {
		for i := range r.Changes {
			notes = append(notes, r.Changes[i].Note)
		}
	}
	in := MergeInput{
		From: from.Collection.String(), At: &from.Revision, Strategy: merge.Strategy(from.Strategy), Notes: notes, closes: &r, reason: reason,
	}
	if in.Strategy == merge.Fail {
		in.Strategy = merge.Ours // its conflicts were shown, with what this side keeps
	}
	if _, err := c.store.ResolveCollection(ctx, s, in.From); fault.Is(err, fault.NotFound) {
		return r, fault.New(fault.Conflict, "the collection that the proposal is from is gone, or out of reach; reject the review")
	}
	if _, err := c.Merge(ctx, s, r.Collection.String(), in); err != nil {
		return r, err
	}
	return c.store.Review(ctx, s, r.ID)
}

// check returns Conflict when a note that is approved is not what its review has shown.
func (in *MergeInput) check(ctx context.Context, tx memory.Tx) error {
	if in.closes == nil {
		return nil
	}
	now, err := readNotes(in.Notes, headOfTx(ctx, tx).notes)
	if err != nil {
		return err
	}
	refuse := &fault.Error{Code: fault.Conflict, Message: "notes that the proposal depends on have changed since; the review stays open", Err: errStale}
	for _, c := range in.closes.Changes {
		if !slices.Contains(in.Notes, c.Note) {
			continue
		}
		is, was := now[c.Note], c.Before
		if (is == nil) != (was == nil) || is != nil && is.From != was.From {
			refuse.Fields = append(refuse.Fields, fault.Field{Field: c.Note.String(), Reason: "has changed"})
		}
	}
	if len(refuse.Fields) > 0 {
		return refuse
	}
	return nil
}

// errStale is the cause of the fault for a review of what is no longer so.
var errStale = errors.New("the review is stale")

// close approves the review of a merge, with the changeset of the merge.
func (in *MergeInput) close(ctx context.Context, tx memory.Tx, s tenant.Scope, logged bool) error {
	if in.closes == nil {
		return nil
	}
	r := *in.closes
	r.State, r.Actor, r.ClosedAt = memory.ReviewApproved, s.Actor(), tx.Now()
	if logged {
		r.Revision = tx.Revision()
	}
	if in.reason != "" {
		r.Reason = in.reason
	}
	return tx.UpdateReview(ctx, r)
}
