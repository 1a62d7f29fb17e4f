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

	"github.com/slipboxhq/slipbox/internal/memory"
)

func concurrencyCases() []testCase {
	return []testCase{
		{"Writers", writers},
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
