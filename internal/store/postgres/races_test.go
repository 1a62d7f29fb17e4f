package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// fork creates a fork at a revision.
func (b bench) fork(ctx context.Context, parent uuid.UUID, at memory.Revision, name string) (memory.Collection, error) {
	out, err := b.CreateCollection(ctx, b.scope, memory.NewCollection{Collection: memory.Collection{Name: name, Parent: parent, ParentRevision: at}})
	return out.Collection, err
}

// passing returns nil for faults of these codes.
func passing(err error, codes ...fault.Code) error {
	if slices.ContainsFunc(codes, func(c fault.Code) bool { return fault.Is(err, c) }) {
		return nil
	}
	return err
}

// TestForkWaitsForNoWriter: a fork is created while a write to its parent is running, and shows
// nothing of it.
func TestForkWaitsForNoWriter(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put(t, b.collection, memory.Note{Content: "before", State: memory.StateRaw})
	writing, finish := make(chan struct{}), make(chan struct{})
	written := make(chan error, 1)
	go func() {
		_, err := b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
			if _, err := tx.Put(ctx, memory.Note{Content: "meanwhile"}); err != nil {
				return err
			}
			close(writing)
			<-finish
			return nil
		})
		written <- err
	}()
	<-writing
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // less than writers wait for each other
	defer cancel()
	f, err := b.beside(t, 0).fork(ctx, b.collection, 1, "f")
	close(finish)
	must.Do(t, errors.Join(err, <-written))
	b.collection = f.ID
	if l, err := b.ListNotes(t.Context(), b.scope, b.open(t), memory.NoteQuery{}); err != nil || len(l) != 1 {
		t.Fatal(l, err)
	}
	b.sound(t)
}

// TestForkMeetsDelete: a base is deleted, or forked, or its fork is made independent; a fork never
// loses its base.
func TestForkMeetsDelete(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	beside := b.beside(t, 0)
	forked, deleted := 0, 0
	for round := range 20 {
		base := b.create(t, memory.Collection{Name: fmt.Sprint("base", round)})
		b.put(t, base, memory.Note{Content: "x"})
		var f memory.Collection
		var forkErr, deleteErr error
		_ = together(2, func(i int) error {
			if i == 0 {
				f, forkErr = b.fork(t.Context(), base, 1, fmt.Sprint("fork", round))
			} else {
				_, deleteErr = beside.DeleteCollection(t.Context(), b.scope, base, round%2 == 0, memory.AuditEntry{})
			}
			return nil
		})
		must.Do(t, errors.Join(passing(forkErr, fault.NotFound), passing(deleteErr, fault.HasForks)))
		if forkErr != nil && deleteErr != nil {
			t.Fatalf("both were refused: %v, %v", forkErr, deleteErr)
		}
		if deleteErr == nil {
			deleted++
			b.removed(t, base)
		}
		if forkErr == nil {
			forked++
			own := b
			own.collection = f.ID
			if l, err := b.ListNotes(t.Context(), b.scope, own.open(t), memory.NoteQuery{}); err != nil || len(l) != 1 {
				t.Fatal(l, err)
			}
		}
	}
	t.Logf("%d forked, %d deleted", forked, deleted)
	b.sound(t)
}

// removed deletes the rows of a deleted collection.
func (b bench) removed(tb testing.TB, id uuid.UUID) {
	tb.Helper()
	for gone := false; !gone; {
		var err error
		if gone, err = b.RemoveRows(tb.Context(), b.scope, id, 100); err != nil {
			tb.Fatal(err)
		}
	}
}

// TestCopyMeetsDelete: a copy is complete, or its source is reported as gone.
func TestCopyMeetsDelete(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	beside := b.beside(t, 0)
	const notes = 60
	for round := range 6 {
		source := b.create(t, memory.Collection{Name: fmt.Sprint("source", round)})
		must.Get(b.Write(t.Context(), b.scope, source, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
			for range notes {
				if _, err := tx.Put(ctx, memory.Note{Content: "x"}); err != nil {
					return err
				}
			}
			return nil
		}))(t)
		out := must.Get(b.CreateCollection(t.Context(), b.scope, memory.NewCollection{
			Collection: memory.Collection{Name: fmt.Sprint("target", round)}, CopyJob: &memory.Job{Kind: memory.JobCopy, Stage: memory.StageTask},
		}))(t)
		from := b
		from.collection = source
		v := from.open(t)
		var copyErr error
		begun := make(chan struct{})
		must.Do(t, together(2, func(i int) error {
			if i == 1 {
				<-begun
				_, err := beside.DeleteCollection(t.Context(), b.scope, source, false, memory.AuditEntry{})
				return errors.Join(err, func() error {
					for {
						if gone, err := beside.RemoveRows(t.Context(), b.scope, source, 7); gone || err != nil {
							return err
						}
					}
				}())
			}
			for cursor, step := "", 0; ; step++ {
				if step == round {
					close(begun)
				}
				if _, cursor, copyErr = b.CopyRows(t.Context(), b.scope, v, out.Collection.ID, cursor, 8); copyErr != nil || cursor == "" {
					return passing(copyErr, fault.NotFound)
				}
			}
		}))
		if copyErr == nil {
			target := b
			target.collection = out.Collection.ID
			if l, err := b.ListNotes(t.Context(), b.scope, target.open(t), memory.NoteQuery{}); err != nil || len(l) != notes {
				t.Fatalf("%d notes were copied: %v", len(l), err)
			}
		}
	}
	b.sound(t)
}

// TestDeleteWaits: a collection is not deleted while a step of a copy reads it or its use is
// counted; both are paused here halfway.
func TestDeleteWaits(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, of := range map[string]func(source bench, v memory.View, n, target uuid.UUID) (lock string, id uuid.UUID, run func() error){
		"copy": func(s bench, v memory.View, _, target uuid.UUID) (string, uuid.UUID, func() error) {
			return "SELECT 1 FROM collection_heads WHERE collection = $1 FOR UPDATE", target, func() error {
				n, _, err := s.CopyRows(t.Context(), s.scope, v, target, "", 10)
				if err == nil && n != 1 {
					err = fmt.Errorf("%d notes were copied", n)
				}
				return err
			}
		},
		"usage": func(s bench, v memory.View, n, _ uuid.UUID) (string, uuid.UUID, func() error) {
			return "SELECT 1 FROM usage WHERE note = $1 FOR UPDATE", n, func() error {
				return s.AddUsage(t.Context(), s.scope, v, []memory.UsageDelta{{Note: n, Accesses: 1}})
			}
		},
	} {
		source := b
		source.collection = b.create(t, memory.Collection{Name: "source-" + name})
		n := b.put(t, source.collection, memory.Note{Content: "x"})
		v := source.open(t)
		must.Do(t, b.AddUsage(t.Context(), b.scope, v, []memory.UsageDelta{{Note: n.ID, Accesses: 1}}))
		target := must.Get(b.CreateCollection(t.Context(), b.scope, memory.NewCollection{
			Collection: memory.Collection{Name: "target-" + name}, CopyJob: &memory.Job{Kind: memory.JobCopy, Stage: memory.StageTask},
		}))(t)
		lock, id, run := of(source, v, n.ID, target.Collection.ID)
		owner, watch := b.owner(t), b.owner(t)
		direct(t, owner, "BEGIN")
		direct(t, owner, lock, id.String())
		waiting := func() (n int) {
			must.Do(t, watch.QueryRow(t.Context(), "SELECT COUNT(DISTINCT pid) FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE datname = current_database() AND NOT granted").Scan(&n))
			return n
		}
		ran, deleted := make(chan error, 1), make(chan error, 1)
		go func() { ran <- run() }()
		until(t, name+" waits for the owner", func() bool { return waiting() == 1 })
		go func() {
			_, err := b.DeleteCollection(t.Context(), b.scope, source.collection, false, memory.AuditEntry{})
			deleted <- err
		}()
		until(t, "the delete waits for "+name, func() bool { return waiting() == 2 || len(deleted) > 0 })
		if len(deleted) > 0 {
			t.Errorf("%s: deleted in its midst", name)
		}
		direct(t, owner, "COMMIT")
		if err := errors.Join(<-ran, <-deleted); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		b.removed(t, source.collection)
	}
	b.sound(t)
}

// TestTenantGoes: whichever operations run on a tenant while it is deleted, none of their rows are
// left.
func TestTenantGoes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	beside := b.beside(t, 0)
	owner := b.owner(t)
	op := grant.Operator("test")
	for round := range 3 {
		tn := must.Get(b.CreateTenant(t.Context(), op, tenant.Tenant{Name: fmt.Sprint("goes", round)}))(t)
		own := b
		own.scope = grant.Scope(tn.ID, uuid.Nil, "test", tenant.AllPermissions()...)
		own.collection = own.create(t, memory.Collection{Name: "c"})
		n := own.put(t, own.collection, memory.Note{Content: "x"})
		v := own.open(t)
		begun := make(chan struct{}, 100)
		busy := []func(i int) error{
			func(int) error {
				_, err := own.Write(t.Context(), own.scope, own.collection, memory.WriteOptions{Audit: []memory.AuditEntry{{Action: "a"}}}, func(ctx context.Context, tx memory.Tx) error {
					if _, err := tx.Put(ctx, memory.Note{Content: "x"}); err != nil {
						return err
					}
					_, err := tx.Enqueue(ctx, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
					return err
				})
				return err
			},
			func(i int) error { _, err := own.fork(t.Context(), own.collection, 1, fmt.Sprint("f", i)); return err },
			func(int) error {
				return own.AddUsage(t.Context(), own.scope, v, []memory.UsageDelta{{Note: n.ID, Accesses: 1}})
			},
			func(i int) error { _, err := own.EnsureAgent(t.Context(), own.scope, fmt.Sprint("a", i)); return err },
			func(int) error {
				return own.CreateKey(t.Context(), own.scope, auth.Key{ID: uuid.New()}, memory.AuditEntry{Action: "k"})
			},
			func(i int) error {
				return own.AddModelUse(t.Context(), own.scope, []memory.ModelUse{{Day: "2026-11-21", Purpose: fmt.Sprint("p", i), Calls: 1}})
			},
			func(i int) error {
				return own.PutPart(t.Context(), own.scope, own.collection, memory.SpoolBody, i, []byte("x"))
			},
		}
		must.Do(t, together(len(busy)+1, func(i int) error {
			if i == len(busy) {
				for range 2 * len(busy) {
					<-begun
				}
				return beside.DeleteTenant(t.Context(), op, tn.ID)
			}
			for k := 0; ; k++ {
				if k < 4 {
					begun <- struct{}{}
				}
				if err := busy[i](k); err != nil {
					return passing(err, fault.NotFound)
				}
			}
		}))
		var tables []string
		if err := owner.QueryRow(t.Context(), "SELECT array_agg(table_name::text) FROM information_schema.columns WHERE table_schema = 'public' AND column_name = 'tenant' AND table_name IN (SELECT relname FROM pg_class WHERE relkind = 'r')").Scan(&tables); err != nil || len(tables) < 15 {
			t.Fatal(tables, err)
		}
		for _, table := range tables {
			var left int
			if err := owner.QueryRow(t.Context(), "SELECT COUNT(*) FROM "+table+" WHERE tenant = $1", tn.ID.String()).Scan(&left); err != nil || left > 0 {
				t.Errorf("%d rows of %s are left: %v", left, table, err)
			}
		}
	}
	b.sound(t)
}

// TestUsageAddsUp: all use that two processes count at once, in any order, for a fork that copies
// its base's use up, is counted.
func TestUsageAddsUp(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stores := []bench{b, b.beside(t, 0)}
	var notes []uuid.UUID
	for range 12 {
		notes = append(notes, b.put(t, b.collection, memory.Note{Content: "x"}).ID)
	}
	var base []memory.UsageDelta
	for _, id := range notes[:6] { // the base has used some of the notes
		base = append(base, memory.UsageDelta{Note: id, Accesses: 100, LastAccess: time.Now()})
	}
	must.Do(t, b.AddUsage(t.Context(), b.scope, b.open(t), base))
	f := must.Get(b.fork(t.Context(), b.collection, 12, "f"))(t)
	b.collection = f.ID
	v := b.open(t)
	const goroutines, each = 8, 10
	err := together(goroutines, func(i int) error {
		for range each {
			var deltas []memory.UsageDelta
			for _, id := range notes {
				deltas = append(deltas, memory.UsageDelta{Note: id, Accesses: 1, LastAccess: time.Now()})
			}
			deltas = append(deltas, memory.UsageDelta{Note: uuid.New(), Accesses: 1}) // not visible
			if i%2 == 1 {
				slices.Reverse(deltas)
			}
			use := []memory.ModelUse{{Day: "2026-11-21", Purpose: "a", Calls: 1}, {Day: "2026-11-21", Purpose: "b", Calls: 1}, {Day: "2026-11-21", Purpose: "a", Calls: 1}}
			if i%2 == 1 {
				slices.Reverse(use)
			}
			if err := errors.Join(stores[i%2].AddUsage(t.Context(), b.scope, v, deltas), stores[i%2].AddModelUse(t.Context(), b.scope, use)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	got, err := b.Usage(t.Context(), b.scope, v, notes)
	if err != nil || len(got) != len(notes) {
		t.Fatal(got, err)
	}
	for i, id := range notes {
		want := int64(goroutines * each)
		if i < 6 {
			want += 100
		}
		if u := got[id]; u.AccessCount != want || u.Strength != 1 || u.LastAccess.IsZero() {
			t.Errorf("note %d: %+v, want %d uses", i, u, want)
		}
	}
	use, err := b.ModelUse(t.Context(), b.scope, "2026-11-21", "2026-11-21")
	if err != nil || len(use) != 2 || use[0].Calls != 2*goroutines*each || use[1].Calls != goroutines*each {
		t.Fatal(use, err)
	}
	b.sound(t)
}

// TestMadeOnce: of several processes that add the same agent, name or signing key at once, one
// does.
func TestMadeOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	stores := []bench{b, b.beside(t, 0)}
	for round := range 8 {
		name := fmt.Sprint("n", round)
		var found [8]uuid.UUID
		var made [8]bool
		must.Do(t, together(8, func(i int) error {
			s := stores[i%2]
			a, err := s.EnsureAgent(t.Context(), b.scope, name)
			found[i] = a.ID
			if err != nil {
				return err
			}
			_, err = s.CreateCollection(t.Context(), b.scope, memory.NewCollection{Collection: memory.Collection{Name: name}})
			made[i] = err == nil
			if err := passing(err, fault.Exists); err != nil {
				return err
			}
			_, err = s.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: name})
			if err := passing(err, fault.Exists); err != nil {
				return err
			}
			return s.AddSigningKey(t.Context(), auth.SigningKey{KID: fmt.Sprint(round, i), Public: []byte("p"), Wrapped: []byte("w"), CreatedAt: time.Now().Add(time.Duration(round) * time.Hour)},
				map[bool]string{true: "", false: "none"}[round == 0], time.Hour)
		}))
		winners := 0
		for i := range found {
			if found[i] != found[0] {
				t.Fatalf("agents %v", found)
			}
			if made[i] {
				winners++
			}
		}
		if winners != 1 {
			t.Fatalf("%d made the collection", winners)
		}
	}
	keys, err := b.SigningKeys(t.Context())
	if err != nil || len(keys) != 1 {
		t.Fatalf("%d signing keys: %v", len(keys), err)
	}
	b.sound(t)
}
