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
		{"Writers", concurrentWriters},
		{"FailingWriters", failingWriters},
		{"Claims", concurrentClaims},
		{"ForksAndWriters", forksAndWriters},
	}
}

// runConcurrently runs fn in n goroutines and returns their joined errors.
func runConcurrently(n int, fn func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = fn(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// concurrentWriters: with concurrent writers, revisions have no gaps and no update is lost. A
// reader that sees a revision also sees all lower ones.
func concurrentWriters(_ *testing.T, w *world) {
	const goroutines, each = 16, 8
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
					// At revision r the note has exactly r-1 marks.
					if marks := strings.Count(l[0].Content, "."); marks != int(v.At)-1 || v.At < last || l[0].From != v.At {
						return fmt.Errorf("view at %d after one at %d: %d marks, version from %d", v.At, last, marks, l[0].From)
					}
					// The log has all revisions since the previous view, up to this one.
					log, err := w.Changesets(w.ctx, w.all, v, max(last-1, 0), 0)
					if err != nil {
						return err
					}
					for i, c := range log {
						if c.Revision != max(last-1, 0)+memory.Revision(i)+1 {
							return fmt.Errorf("the log at %d after %d has revision %d at index %d", v.At, last, c.Revision, i)
						}
					}
					if len(log) == 0 || log[len(log)-1].Revision != v.At {
						return fmt.Errorf("the log at %d after %d does not end there: %d rows", v.At, last, len(log))
					}
					last = v.At
				}
				return nil
			}()
		}()
	}
	var mu sync.Mutex
	seen := map[memory.Revision]bool{1: true}
	err := runConcurrently(goroutines, func(int) error {
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
				return fmt.Errorf("revision %d was allocated twice", out.Revision)
			}
		}
		return nil
	})
	stop()
	w.noError(err)
	for range cap(readers) {
		w.noError(<-readers)
	}
	const total = goroutines*each + 1
	w.assertf(w.head(c.ID) == total && len(seen) == total, "head %d, %d revisions", w.head(c.ID), len(seen))
	w.assertf(len(must(w.Changesets(w.ctx, w.all, w.view(c.ID), 0, 0))(w.t)) == total, "one changeset per write")
	w.assertf(len(must(w.ListJobs(w.ctx, w.all, memory.JobQuery{}))(w.t)) == total-1, "one job per write")
}

var errBackedOut = fault.New(fault.Conflict, "backed out")

// failingWriters: concurrent writers return an error, are canceled, or ignore a refused
// operation. The failed ones leave nothing behind and do not affect the others.
func failingWriters(_ *testing.T, w *world) {
	const goroutines, each = 16, 8
	c := w.collection("c")
	var mu sync.Mutex
	written, failed := map[uuid.UUID]memory.Revision{}, map[uuid.UUID]bool{}
	err := runConcurrently(goroutines, func(g int) error {
		for i := range each {
			ctx, cancel := context.WithCancel(w.ctx)
			var put memory.Note
			kind := (g + i) % 4
			out, err := w.Write(ctx, w.all, c.ID, memory.WriteOptions{Audit: []memory.AuditEntry{{Action: "add"}}}, func(ctx context.Context, tx memory.Tx) error {
				if kind == 3 { // ignores a refused operation
					if err := tx.Delete(ctx, uuid.New()); !fault.Is(err, fault.NotFound) {
						return fmt.Errorf("deleting an absent note: %w", err)
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
				failed[put.ID] = true
			} else {
				written[put.ID] = out.Revision
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
	w.noError(err)
	v := w.view(c.ID)
	w.assertf(v.At == memory.Revision(len(written)) && len(written) == goroutines*each/2, "head %d for %d writes", v.At, len(written))
	notes := must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{}))(w.t)
	w.assertf(len(notes) == len(written), "%d notes of %d", len(notes), len(written))
	for i := range notes {
		at := written[notes[i].ID]
		w.assertf(at == notes[i].From && !failed[notes[i].ID], "note %s from %d, written at %d", notes[i].ID, notes[i].From, at)
	}
	jobs := must(w.ListJobs(w.ctx, w.all, memory.JobQuery{}))(w.t)
	w.assertf(len(jobs) == len(written), "%d jobs", len(jobs))
	for i := range jobs {
		w.assertf(written[jobs[i].Note] != 0, "a job for a note that was not written")
	}
	w.assertf(len(must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Action: "add"}))(w.t)) == len(written), "one audit row per write")
}

// concurrentClaims: with concurrent claimers, each job is leased once.
func concurrentClaims(_ *testing.T, w *world) {
	c := w.collection("c")
	for range 40 {
		w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
	}
	var mu sync.Mutex
	leased := map[uuid.UUID]int{}
	err := runConcurrently(8, func(int) error {
		for {
			jobs, err := w.ClaimJobs(w.ctx, w.all, c.ID, memory.StagePrepare, uuid.New(), w.clock.Now().Add(time.Hour), 3)
			if err != nil || len(jobs) == 0 {
				return err
			}
			mu.Lock()
			for _, j := range jobs {
				leased[j.ID]++
			}
			mu.Unlock()
		}
	})
	w.noError(err)
	w.assertf(len(leased) == 40, "%d jobs were leased", len(leased))
	for id, n := range leased {
		w.assertf(n == 1, "job %s was leased %d times", id, n)
	}
}

// forksAndWriters: a base and its forks are isolated from each other under concurrent
// writes.
func forksAndWriters(_ *testing.T, w *world) {
	c := w.collection("c")
	n := w.add(c.ID, "base 0")
	all := []memory.Collection{c}
	for i := range 3 {
		all = append(all, w.mustFork(all[i].ID, -1, fmt.Sprint("f", i)))
	}
	err := runConcurrently(len(all), func(i int) error {
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
	w.noError(err)
}
