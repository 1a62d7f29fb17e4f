package postgres_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

func answerKey(n int) *memory.Idempotency {
	return &memory.Idempotency{Method: "POST", Path: "/v1/x", Key: fmt.Sprint("key ", n), BodyHash: [32]byte{1}}
}

// TestSameKeyAtOnce: concurrent requests with one key in two processes are done once; the others
// get the answer of the first.
func TestSameKeyAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stores := []bench{b, b.beside(t, 0)}
	for round := range 10 {
		var done, replays atomic.Int64
		var answers [8]string
		err := together(8, func(i int) error {
			out, err := stores[i%2].CreateCollection(t.Context(), b.scope, memory.NewCollection{
				Collection: memory.Collection{Name: fmt.Sprint("n", round)}, Idempotency: answerKey(round),
			})
			if err != nil {
				return err
			}
			if out.Replay != nil {
				replays.Add(1)
				answers[i] = string(out.Replay.IDs)
			} else {
				done.Add(1)
				answers[i] = fmt.Sprintf(`{"made":%q}`, out.Collection.ID)
			}
			return nil
		})
		if err != nil || done.Load() != 1 || replays.Load() != 7 {
			t.Fatalf("%d were done, %d replayed: %v", done.Load(), replays.Load(), err)
		}
		for _, a := range answers {
			if a != answers[0] {
				t.Fatalf("answers differ: %v", answers)
			}
		}
	}
}

// TestSameKeyWrites tests the same for writes to one collection and, with a path that names none,
// to two.
func TestSameKeyWrites(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stores := []bench{b, b.beside(t, 0)}
	other := b.create(t, memory.Collection{Name: "other"})
	for round := range 20 {
		var ran, replays atomic.Int64
		err := together(8, func(i int) error {
			target := b.collection
			if round%2 == 1 && i%4 > 1 {
				target = other
			}
			w, err := stores[i%2].Write(t.Context(), b.scope, target, memory.WriteOptions{Idempotency: answerKey(100 + round)}, func(ctx context.Context, tx memory.Tx) error {
				_, err := tx.Put(ctx, memory.Note{Content: "x"})
				return err
			})
			if err != nil {
				return err
			}
			if w.Replay != nil {
				replays.Add(1)
			} else if w.Logged {
				ran.Add(1)
			}
			return nil
		})
		if err != nil || ran.Load() != 1 || replays.Load() != 7 {
			t.Fatalf("round %d: %d ran, %d were replayed: %v", round, ran.Load(), replays.Load(), err)
		}
	}
	b.sound(t)
}

// TestSameKeyGivenUp: a request that waited for another that failed does the work.
func TestSameKeyGivenUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	beside := b.beside(t, 0)
	other := b.create(t, memory.Collection{Name: "other"})
	began, fail := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		_, err := b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{Idempotency: answerKey(1)}, func(context.Context, memory.Tx) error {
			close(began)
			<-fail
			return fault.New(fault.Conflict, "given up")
		})
		first <- err
	}()
	<-began
	second := make(chan error, 1)
	go func() {
		w, err := beside.Write(t.Context(), b.scope, other, memory.WriteOptions{Idempotency: answerKey(1)}, func(ctx context.Context, tx memory.Tx) error {
			_, err := tx.Put(ctx, memory.Note{Content: "x"})
			return err
		})
		if err == nil && (w.Replay != nil || !w.Logged) {
			err = fmt.Errorf("written: %+v", w)
		}
		second <- err
	}()
	owner := b.owner(t)
	until(t, "the second request waits for the first", func() bool {
		var n int
		must.Do(t, owner.QueryRow(t.Context(), "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())").Scan(&n))
		return n == 1
	})
	close(fail)
	isRefused(t, <-first, fault.Conflict)
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	k := *answerKey(1)
	k.BodyHash = [32]byte{2}
	_, _, err := b.Replayed(t.Context(), b.scope, k)
	isRefused(t, err, fault.IdempotencyReuse)
}

// TestManyKeysAtOnce: transactions that answer several keys in any order, as imports do, in two
// processes: each line is done once.
func TestManyKeysAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stores := []bench{b, b.beside(t, 0)}
	collections := []uuid.UUID{b.collection, b.create(t, memory.Collection{Name: "other"})}
	const keys = 12
	var did [keys]atomic.Int64
	must.Do(t, together(4, func(i int) error {
		var mine []int
		_, err := stores[i%2].Write(t.Context(), b.scope, collections[i/2], memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
			mine = mine[:0]
			for n := range keys {
				if i%2 == 1 {
					n = keys - 1 - n
				}
				_, seen, err := tx.Answered(ctx, *answerKey(n))
				if err != nil {
					return err
				}
				if seen {
					continue
				}
				mine = append(mine, n)
				if err := tx.Remember(ctx, *answerKey(n)); err != nil {
					return err
				}
			}
			return nil
		})
		if err == nil {
			for _, n := range mine {
				did[n].Add(1)
			}
		}
		return err
	}))
	for n := range did {
		if did[n].Load() != 1 {
			t.Errorf("key %d was answered %d times", n, did[n].Load())
		}
	}
}
