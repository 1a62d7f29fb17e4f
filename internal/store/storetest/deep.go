package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func deepCases() []testCase {
	return []testCase{
		{"Beside", flattenBeside},
		{"Reads", mergeReads},
		{"Proposals", eraseProposals},
	}
}

// markedLog is a collection that gets one mark a changeset: a dot more in the note that all share, and a note of its own.
type markedLog struct {
	id, note uuid.UUID
	start    memory.Revision
	before   []string // what it showed at the start, without the shared note
}

func (w *world) marked(id, note uuid.UUID) *markedLog {
	w.t.Helper()
	m := &markedLog{id: id, note: note}
	v := w.view(id)
	m.start = v.At
	for _, n := range must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{}))(w.t) {
		if n.ID != note {
			m.before = append(m.before, n.Content)
		}
	}
	return m
}

// mark writes the next changeset.
func (m *markedLog) mark(w *world, k int) error {
	written, err := w.Write(w.ctx, w.all, m.id, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
		shared, err := tx.Notes(ctx, []uuid.UUID{m.note}, memory.ReadOptions{})
		if err != nil {
			return err
		}
		shared[0].Content += "."
		if _, err := tx.Put(ctx, shared[0]); err != nil {
			return err
		}
		made, err := tx.Put(ctx, memory.Note{Content: fmt.Sprint("mark ", k)})
		if err != nil {
			return err
		}
		_, err = tx.Link(ctx, memory.Link{LinkID: memory.LinkID{Source: made.ID, Target: m.note, Relation: memory.RelatedTo}, Confidence: 1})
		return err
	})
	if err == nil && written.Revision != m.start+memory.Revision(k) {
		err = fmt.Errorf("mark %d is revision %d after %d", k, written.Revision, m.start)
	}
	return err
}

// check compares what a view shows, and the changes after a revision, with the marks that were written by then.
func (m *markedLog) check(w *world, v memory.View, after memory.Revision) error {
	marks := int(max(v.At, m.start) - m.start)
	want := append(slices.Clone(m.before), strings.Repeat(".", marks))
	for k := range marks {
		want = append(want, fmt.Sprint("mark ", k+1))
	}
	notes, err := w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{})
	if err != nil {
		return err
	}
	var got []string
	for i := range notes {
		got = append(got, notes[i].Content)
	}
	slices.Sort(got)
	slices.Sort(want)
	if v.At >= m.start && !slices.Equal(got, want) {
		return fmt.Errorf("at %d after %d marks: %v, want %v", v.At, marks, got, want)
	}
	counts, err := w.Counts(w.ctx, w.all, v)
	if err != nil {
		return err
	}
	links, err := w.Links(w.ctx, w.all, v, memory.LinkQuery{Notes: []uuid.UUID{m.note}, Direction: memory.Both, Limit: 1000})
	if err != nil {
		return err
	}
	if int(counts.Notes) != len(got) || int(counts.Links) != marks || len(links) != marks {
		return fmt.Errorf("at %d after %d marks: %d notes, and it counts %d; %d links, and it counts %d", v.At, marks, len(got), counts.Notes, len(links), counts.Links)
	}
	return m.checkLog(w, v, after)
}

// checkLog reads the changes after a revision in pages, and the history of the shared note.
func (m *markedLog) checkLog(w *world, v memory.View, after memory.Revision) error {
	for at := after; at < v.At; {
		page, err := w.Changes(w.ctx, w.all, v, at, 3)
		if err != nil {
			return err
		}
		for _, c := range page {
			if at++; c.Revision != at || at > m.start && (len(c.Notes) != 2 || len(c.Links) != 1) {
				return fmt.Errorf("at %d, change %d is of revision %d: %v, %v", v.At, at, c.Revision, c.Notes, c.Links)
			}
		}
		if len(page) == 0 {
			return fmt.Errorf("the log at %d ends at %d", v.At, at)
		}
	}
	past, err := w.History(w.ctx, w.all, v, m.note, 0, 1000)
	if err != nil {
		return err
	}
	if want := 1 + int(max(v.At, m.start)-m.start); len(past) != want {
		return fmt.Errorf("at %d, the shared note has %d versions, want %d", v.At, len(past), want)
	}
	return nil
}

// flattenBeside: while forks of forks are flattened, each collection of the lineage is written and read. Nothing is lost or doubled,
// the revisions stay in order, and what is read of the log and of differences is right during it and afterwards.
func flattenBeside(_ *testing.T, w *world) {
	const marks = 4 // more than a page of the log
	c := w.collection("c")
	shared := w.add(c.ID, "")
	ids := w.chain(c.ID, memory.MaxLineage, 0)
	var all []*markedLog
	for _, id := range ids {
		all = append(all, w.marked(id, shared.ID))
	}
	last := all[len(all)-1]
	old := w.view(last.id) // opened before it was flattened
	ctx, stop := context.WithCancel(w.ctx)
	defer stop()
	var readers sync.WaitGroup
	broken := make(chan error, len(all))
	for _, m := range []*markedLog{all[0], all[4], last} {
		readers.Go(func() { broken <- m.follow(ctx, w) })
	}
	err := runConcurrently(len(all)+1, func(i int) error {
		if i == len(all) {
			return w.flattenTwice(last.id)
		}
		for k := 1; k <= marks; k++ {
			if err := all[i].mark(w, k); err != nil {
				return fmt.Errorf("layer %d: %w", i, err)
			}
		}
		return nil
	})
	stop()
	readers.Wait()
	close(broken)
	for one := range broken {
		err = errors.Join(err, one)
	}
	w.noError(err)
	w.assertf(len(w.view(last.id).Layers) <= memory.MaxLineage, "it is flat: %v", w.view(last.id).Layers)
	w.noError(last.check(w, old, 0))
	for _, m := range all {
		v := w.view(m.id)
		w.assertf(v.At == m.start+marks, "%d of %d marks", v.At-m.start, marks)
		for at := m.start; at <= v.At; at++ {
			w.noError(m.check(w, w.viewAt(m.id, at), 0))
		}
	}
	base, fork := w.view(c.ID), w.view(last.id)
	t := must(w.Touched(w.ctx, w.all, base, fork))(w.t)
	// The marks of both sides, the shared note, and what the layers between wrote for the fork before they were marked.
	own := len(last.before) - len(all[0].before)
	w.assertf(len(t.Notes) == 2*marks+1+own && len(t.Links) == 2*marks, "%d notes and %d links differ, %d of them before", len(t.Notes), len(t.Links), own)
	w.verify()
}

// follow reads a collection until the context ends.
func (m *markedLog) follow(ctx context.Context, w *world) error {
	var last memory.Revision
	for ctx.Err() == nil {
		v, err := w.OpenView(w.ctx, w.all, m.id.String(), memory.At{})
		if err != nil {
			return err
		}
		if v.At < last {
			return fmt.Errorf("a view at %d after one at %d", v.At, last)
		}
		if err := m.check(w, v, max(last-1, 0)); err != nil {
			return err
		}
		last = v.At
	}
	return nil
}

// flattenTwice flattens a deep fork, and then a deep fork of it.
func (w *world) flattenTwice(id uuid.UUID) error {
	if err := w.FlattenLineage(w.ctx, w.all, id); err != nil {
		return err
	}
	for i := range memory.MaxLineage {
		f, err := w.fork(id, -1, fmt.Sprint("deeper ", i))
		if err != nil {
			return err
		}
		id = f.ID
		if _, err := w.tryWrite(id, func(tx memory.Tx) error { return errOf(tx.Put(w.ctx, memory.Note{Content: "deeper"})) }); err != nil {
			return err
		}
	}
	return w.FlattenLineage(w.ctx, w.all, id)
}

// mergeReads: what was read of a collection is not written when it was erased since, or when the collection is gone.
func mergeReads(_ *testing.T, w *world) {
	c := w.collection("c")
	n := w.add(c.ID, "mark")
	f := w.mustFork(c.ID, -1, "f")
	w.add(f.ID, "own")
	ran := false
	merge := func(into uuid.UUID, reads ...memory.View) error {
		ran = false
		from := memory.MergedFrom{Collection: f.ID, Revision: reads[len(reads)-1].At}
		o := memory.WriteOptions{Cause: memory.CauseMerge, MergedFrom: &from, Reads: reads}
		return errOf(w.Write(w.ctx, w.all, into, o, func(_ context.Context, tx memory.Tx) error {
			ran = true
			return errOf(tx.Put(w.ctx, memory.Note{Content: "merged"}))
		}))
	}
	base, fork := w.view(c.ID), w.view(f.ID)
	w.delete(c.ID, n.ID)
	must(w.EraseNotes(w.ctx, w.all, c.ID, memory.Erasing{Notes: []uuid.UUID{n.ID}}, memory.AuditEntry{Action: "note.erase"}))(w.t)
	for _, reads := range [][]memory.View{{base, w.view(f.ID)}, {w.view(c.ID), fork}} {
		err := merge(c.ID, reads...)
		w.assertf(errors.Is(err, memory.ErrMoved) && !ran, "erased since: %v", err)
	}
	w.noError(merge(c.ID, w.view(c.ID), w.view(f.ID)))
	w.assertf(ran, "as it is now")
	gone := w.view(f.ID)
	must(w.DeleteCollection(w.ctx, w.all, f.ID, false, memory.AuditEntry{}))(w.t)
	w.wantFault(merge(c.ID, w.view(c.ID), gone), fault.NotFound)
	w.assertf(!ran && len(w.contents(w.view(c.ID))) == 1, "nothing was written: %v", w.contents(w.view(c.ID)))
}

// eraseProposals: what is erased from a fork is erased from the proposals to merge it, and from no others.
func eraseProposals(_ *testing.T, w *world) {
	c := w.collection("c")
	f, g := w.mustFork(c.ID, -1, "f"), w.mustFork(c.ID, -1, "g")
	n, stays := w.add(f.ID, "mark"), w.add(f.ID, "stays")
	propose := func(from uuid.UUID, note memory.Note) {
		w.write(c.ID, func(tx memory.Tx) error {
			merge := &memory.ReviewMerge{Collection: from, Revision: 1, Strategy: "ours"}
			_, err := tx.OpenReview(w.ctx, memory.Review{Trigger: note.ID, Changes: []memory.ReviewChange{{Note: note.ID, After: &note, Merge: merge}}})
			return err
		})
	}
	propose(f.ID, n)
	propose(f.ID, stays)
	propose(g.ID, n)
	w.delete(f.ID, n.ID)
	out := must(w.EraseNotes(w.ctx, w.all, f.ID, memory.Erasing{Notes: []uuid.UUID{n.ID}}, memory.AuditEntry{Action: "note.erase"}))(w.t)
	left := must(w.ListReviews(w.ctx, w.all, memory.ReviewQuery{Collection: c.ID}))(w.t)
	w.assertf(out.Reviews == 1 && len(left) == 2, "%d were erased, %d are left", out.Reviews, len(left))
	for _, r := range left {
		w.assertf(r.Trigger == stays.ID || r.Merge().Collection == g.ID, "the proposal is still there: %+v", r)
	}
}
