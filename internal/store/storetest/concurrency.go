package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func concurrencyCases() []testCase {
	return []testCase{
		{"Writers", writers},
		{"SomeFail", someFail},
		{"Claims", claims},
		{"ForksAndWriters", forksAndWriters},
	}
}

// together runs n goroutines and gives their first error.
func together(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = fn(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// writers: revisions are dense, no update is lost, and no reader sees a
// revision before the one below it.
func writers(_ *testing.T, w *world) {
	const goroutines, each = 16, 15
	c := w.collection("c")
	n := w.add(c.ID, "")
	ctx, stop := context.WithCancel(w.ctx)
	readers := make(chan error, 2)
	for range cap(readers) {
		go func() {
			readers <- func() error {
				var last memory.Revision
				for ctx.Err() == nil {
					v, err := w.OpenView(w.ctx, w.all, "c", memory.At{})
					if err != nil {
						return err
					}
					l, err := w.Notes(w.ctx, w.all, v, []uuid.UUID{n.ID}, memory.ReadOptions{})
					if err != nil {
						return err
					}
					// Revision r holds r-1 marks, all of them.
					if marks := strings.Count(l[0].Content, "."); marks != int(v.At)-1 || v.At < last || l[0].From != v.At {
						return fmt.Errorf("at %d after %d: %d marks from %d", v.At, last, marks, l[0].From)
					}
					// The log has every revision below the one read, also those since the last look.
					log, err := w.Changesets(w.ctx, w.all, v, max(last-1, 0), 0)
					if err != nil {
						return err
					}
					for i, c := range log {
						if c.Revision != max(last-1, 0)+memory.Revision(i)+1 {
							return fmt.Errorf("the log at %d has %d in place %d after %d", v.At, c.Revision, i, last)
						}
					}
					if len(log) == 0 || log[len(log)-1].Revision != v.At {
						return fmt.Errorf("the log at %d after %d ends elsewhere: %d rows", v.At, last, len(log))
					}
					last = v.At
				}
				return nil
			}()
		}()
	}
	var mu sync.Mutex
	seen := map[memory.Revision]bool{1: true}
	err := together(goroutines, func(int) error {
		for range each {
			out, err := w.Write(w.ctx, w.all, c.ID, memory.WriteOptions{Audit: []memory.AuditEntry{{Action: "mark"}}}, func(ctx context.Context, tx memory.Tx) error {
				got, err := tx.Notes(ctx, []uuid.UUID{n.ID}, memory.ReadOptions{})
				if err != nil {
					return err
				}
				got[0].Content += "."
				if _, err := tx.Put(ctx, got[0]); err != nil {
					return err
				}
				_, err = tx.Enqueue(ctx, memory.Job{Note: n.ID, Kind: memory.JobNote, Stage: memory.StagePrepare})
				return err
			})
			if err != nil {
				return err
			}
			mu.Lock()
			twice := seen[out.Revision]
			seen[out.Revision] = true
			mu.Unlock()
			if twice {
				return fmt.Errorf("revision %d was given twice", out.Revision)
			}
		}
		return nil
	})
	stop()
	w.ok(err)
	for range cap(readers) {
		w.ok(<-readers)
	}
	const total = goroutines*each + 1
	w.isf(w.head(c.ID) == total && len(seen) == total, "head %d, %d revisions", w.head(c.ID), len(seen))
	w.isf(len(must(w.Changesets(w.ctx, w.all, w.view(c.ID), 0, 0))(w.t)) == total, "a changeset for each")
	w.isf(len(must(w.ListJobs(w.ctx, w.all, memory.JobQuery{}))(w.t)) == total-1, "a job for each")
}

var errBackedOut = fault.New(fault.Conflict, "backed out")

// someFail: writers that fail, give up, or pass over a refusal take nothing
// from those that write beside them, and leave nothing behind.
func someFail(_ *testing.T, w *world) {
	const goroutines, each = 16, 8
	c := w.collection("c")
	var mu sync.Mutex
	kept, lost := map[uuid.UUID]memory.Revision{}, map[uuid.UUID]bool{}
	err := together(goroutines, func(g int) error {
		for i := range each {
			ctx, cancel := context.WithCancel(w.ctx)
			var put memory.Note
			kind := (g + i) % 4
			out, err := w.Write(ctx, w.all, c.ID, memory.WriteOptions{Audit: []memory.AuditEntry{{Action: "add"}}}, func(ctx context.Context, tx memory.Tx) error {
				if kind == 3 { // refused, and passed over
					if err := tx.Delete(ctx, uuid.New()); !fault.Is(err, fault.NotFound) {
						return fmt.Errorf("deleted nothing: %w", err)
					}
				}
				var err error
				if put, err = tx.Put(ctx, memory.Note{Content: fmt.Sprint(g, " ", i), Vector: []float32{1, 0, 0, 0}}); err != nil {
					return err
				}
				if _, err := tx.Enqueue(ctx, memory.Job{Note: put.ID, Kind: memory.JobNote, Stage: memory.StagePrepare}); err != nil {
					return err
				}
				switch kind {
				case 1:
					return errBackedOut
				case 2:
					cancel()
				}
				return nil
			})
			cancel()
			mu.Lock()
			if kind == 1 || kind == 2 {
				lost[put.ID] = true
			} else {
				kept[put.ID] = out.Revision
			}
			mu.Unlock()
			switch {
			case kind == 1 && !errors.Is(err, errBackedOut), kind == 2 && err == nil, kind != 1 && kind != 2 && err != nil:
				return fmt.Errorf("writer %d, write %d of kind %d: %w", g, i, kind, err)
			case err == nil && put.From != out.Revision:
				return fmt.Errorf("a note was put at %d, its changeset is %d", put.From, out.Revision)
			}
		}
		return nil
	})
	w.ok(err)
	v := w.view(c.ID)
	w.isf(v.At == memory.Revision(len(kept)) && len(kept) == goroutines*each/2, "head %d for %d writes", v.At, len(kept))
	notes := must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{}))(w.t)
	w.isf(len(notes) == len(kept), "%d notes of %d", len(notes), len(kept))
	for i := range notes {
		w.isf(kept[notes[i].ID] == notes[i].From && !lost[notes[i].ID], "note %s from %d, written at %d", notes[i].ID, notes[i].From, kept[notes[i].ID])
	}
	jobs := must(w.ListJobs(w.ctx, w.all, memory.JobQuery{}))(w.t)
	w.isf(len(jobs) == len(kept), "%d jobs", len(jobs))
	for i := range jobs {
		w.isf(kept[jobs[i].Note] != 0, "a job of a note that was not written")
	}
	w.isf(len(must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Action: "add"}))(w.t)) == len(kept), "an audit row for each")
}

// claims: a job is given to one claimer.
func claims(_ *testing.T, w *world) {
	c := w.collection("c")
	for range 40 {
		w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
	}
	var mu sync.Mutex
	given := map[uuid.UUID]int{}
	err := together(8, func(int) error {
		for {
			jobs, err := w.ClaimJobs(w.ctx, w.all, c.ID, memory.StagePrepare, uuid.New(), w.clock.Now().Add(time.Hour), 3)
			if err != nil || len(jobs) == 0 {
				return err
			}
			mu.Lock()
			for _, j := range jobs {
				given[j.ID]++
			}
			mu.Unlock()
		}
	})
	w.ok(err)
	w.isf(len(given) == 40, "%d jobs were given", len(given))
	for id, n := range given {
		w.isf(n == 1, "job %s was given %d times", id, n)
	}
}

// forksAndWriters: isolation both ways while all sides write.
func forksAndWriters(_ *testing.T, w *world) {
	c := w.collection("c")
	n := w.add(c.ID, "base 0")
	all := []memory.Collection{c}
	for i := range 3 {
		all = append(all, w.mustFork(all[i].ID, -1, fmt.Sprint("f", i)))
	}
	err := together(len(all), func(i int) error {
		for k := 1; k <= 20; k++ {
			want := fmt.Sprint(all[i].Name, " ", k)
			_, err := w.Write(w.ctx, w.all, all[i].ID, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
				_, err := tx.Put(ctx, memory.Note{ID: n.ID, Content: want})
				return err
			})
			if err != nil {
				return err
			}
			v, err := w.OpenView(w.ctx, w.all, all[i].Name, memory.At{})
			if err != nil {
				return err
			}
			got, err := w.Notes(w.ctx, w.all, v, []uuid.UUID{n.ID}, memory.ReadOptions{})
			if err != nil {
				return err
			}
			if got[0].Content != want {
				return fmt.Errorf("%s reads %q after writing %q", all[i].Name, got[0].Content, want)
			}
		}
		return nil
	})
	w.ok(err)
}
