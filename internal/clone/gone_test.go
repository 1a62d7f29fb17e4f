package clone_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/merge"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// beside calls a function once, between what a merge reads and what it writes.
type beside struct {
	clone.Store
	once sync.Once
	fn   func()
}

func (b *beside) Write(ctx context.Context, s tenant.Scope, collection uuid.UUID, o memory.WriteOptions, fn func(context.Context, memory.Tx) error) (memory.Written, error) {
	b.once.Do(b.fn)
	return b.Store.Write(ctx, s, collection, o, fn)
}

// between returns a service whose next write comes after fn.
func (l *lab) between(fn func()) *clone.Service {
	l.t.Helper()
	out := must.Get(clone.New(clone.Deps{Store: &beside{Store: l.store, fn: fn}, Agents: l.store, Clock: func() time.Time { return l.now }}, clone.Config{}))(l.t)
	return out
}

// remove deletes a collection with all of its rows.
func (l *lab) remove(ref string) {
	l.t.Helper()
	id := l.id(ref)
	must.Get(l.store.DeleteCollection(l.t.Context(), l.all, id, true, memory.AuditEntry{}))(l.t)
	must.Do(l.t, l.clones.RunRemove(l.t.Context(), l.all, memory.Job{Collection: id}, noProgress))
}

func (l *lab) erase(ref string, id uuid.UUID) {
	l.t.Helper()
	l.delete(ref, id)
	must.Get(l.store.EraseNotes(l.t.Context(), l.all, l.id(ref), memory.Erasing{Notes: []uuid.UUID{id}}, memory.AuditEntry{Action: "note.erase"}))(l.t)
}

// sweep deletes what has expired.
func (l *lab) sweep() {
	l.t.Helper()
	due := must.Get(l.store.ExpiredCollections(l.t.Context(), l.now, 10))(l.t)
	for _, d := range due {
		must.Do(l.t, l.clones.Expire(l.t.Context(), l.all, d, l.now))
		must.Do(l.t, l.clones.RunRemove(l.t.Context(), l.all, memory.Job{Collection: d.Collection}, noProgress))
	}
}

// TestGoneWhileMerged: a side that is deleted, or expires, between what a merge has read and what it writes is not found, and the
// other side stays as it was. So it is for the job of a merge.
func TestGoneWhileMerged(t *testing.T) {
	t.Parallel()
	const far, near = "base", "short"
	for name, x := range map[string]struct {
		into, from string
		gone       func(l *lab)
		stays      string
	}{
		"the written one is deleted":       {far, near, func(l *lab) { l.remove(far) }, near},
		"the other one is deleted":         {far, near, func(l *lab) { l.remove(near) }, far},
		"the base is deleted, a fork read": {near, far, func(l *lab) { l.remove(far) }, near},
		"the fork is deleted, a base read": {near, far, func(l *lab) { l.remove(near) }, far},
		"the written one expires":          {near, far, func(l *lab) { l.now = l.now.Add(time.Hour) }, far},
		"the other one expires":            {far, near, func(l *lab) { l.now = l.now.Add(time.Hour) }, far},
		"the written one is swept":         {near, far, func(l *lab) { l.now = l.now.Add(time.Hour); l.sweep() }, far},
		"the other one is swept":           {far, near, func(l *lab) { l.now = l.now.Add(time.Hour); l.sweep() }, far},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, one, two, _ := family(t)
			l.clone(l.all, far, clone.Input{Name: near, TTLSeconds: new(int64(60))})
			for _, ref := range []string{far, near} {
				l.add(memory.Collection{ID: l.id(ref)}, "of "+ref)
			}
			l.patch(near, one, notes.NotePatch{Content: new("ONE")})
			l.patch(far, two, notes.NotePatch{Tags: nullable.NewNullableWithValue([]string{"x"})})
			job := l.merge(x.into, x.from, clone.MergeInput{Background: true}).Job
			before, head := strings.Join(l.contents(x.stays), "|"), l.head(x.stays)
			_, err := l.between(func() { x.gone(l) }).Merge(t.Context(), l.all, x.into, clone.MergeInput{From: x.from, Strategy: merge.Theirs})
			l.is(err, fault.NotFound)
			end := must.Get(l.clones.RunMerge(t.Context(), l.all, *job, noProgress))(t)
			if end.State != memory.JobFailed || end.Error == "" {
				t.Errorf("the job ended as %+v", end)
			}
			l.want("what stays", strings.Join(l.contents(x.stays), "|"), before)
			if l.head(x.stays) != head {
				t.Errorf("revision %d was written after %d", l.head(x.stays), head)
			}
			problems := must.Get(l.store.Verify(t.Context()))(t)
			if len(problems) > 0 {
				t.Errorf("the store is wrong: %v", problems)
			}
		})
	}
}

// TestGoneWhileJobRuns: the base is deleted while the job of a merge reads it.
func TestGoneWhileJobRuns(t *testing.T) {
	t.Parallel()
	for _, x := range [][2]string{{"base", "f"}, {"f", "base"}} {
		l, one, _, _ := family(t)
		l.patch(x[1], one, notes.NotePatch{Content: new("ONE")})
		l.add(memory.Collection{ID: l.id(x[1])}, "new")
		job := l.merge(x[0], x[1], clone.MergeInput{Background: true}).Job
		before := strings.Join(l.contents("f"), "|")
		var once sync.Once
		end := must.Get(l.clones.RunMerge(t.Context(), l.all, *job, func(context.Context, memory.Progress) error {
			once.Do(func() { l.remove("base") })
			return nil
		}))(t)
		if end.State != memory.JobFailed || !strings.Contains(end.Error, "not found") {
			t.Errorf("%s into %s: the job ended as %+v", x[1], x[0], end)
		}
		l.want("the fork", strings.Join(l.contents("f"), "|"), before)
	}
}

// TestErasedWhileMerged: what is erased between what a merge or a rollback has read and what it writes does not come back, and the
// rest is merged.
func TestErasedWhileMerged(t *testing.T) {
	t.Parallel()
	for _, erased := range []string{"base", "f"} {
		for _, x := range [][2]string{{"base", "f"}, {"f", "base"}, {"g", "f"}} {
			l, one, _, _ := family(t)
			id := one
			if erased == "f" {
				id = l.add(memory.Collection{ID: l.id("f")}, "secret")
			} else {
				l.patch("f", one, notes.NotePatch{Content: new("secret")})
			}
			l.add(memory.Collection{ID: l.id(x[1])}, "rest")
			what := fmt.Sprintf("erased from %s, %s into %s", erased, x[1], x[0])
			must.Get(l.between(func() { l.erase(erased, id) }).Merge(t.Context(), l.all, x[0], clone.MergeInput{From: x[1], Strategy: merge.Theirs}))(t)
			for _, ref := range []string{"base", "f", "g"} {
				if l.note(ref, id) != nil {
					t.Errorf("%s: it is in %s again", what, ref)
				}
			}
			if all := strings.Join(l.contents(x[0]), "|"); !strings.Contains(all, "rest") {
				t.Errorf("%s: the rest is missing: %s", what, all)
			}
		}
	}
	l, one, _, _ := family(t)
	l.patch("base", one, notes.NotePatch{Content: new("ONE")})
	l.delete("base", one)
	must.Get(l.between(func() {
		must.Get(l.store.EraseNotes(t.Context(), l.all, l.id("base"), memory.Erasing{Notes: []uuid.UUID{one}}, memory.AuditEntry{Action: "note.erase"}))(t)
	}).Rollback(t.Context(), l.all, "base", clone.RollbackInput{To: 3}))(t)
	if l.note("base", one) != nil {
		t.Error("a rollback brought back what was erased")
	}
}

// TestErasedAfterAMerge: an erasure in a fork says where a merge has taken the note.
func TestErasedAfterAMerge(t *testing.T) {
	t.Parallel()
	l, _, _, _ := family(t)
	for _, merged := range []bool{false, true} {
		id := l.add(memory.Collection{ID: l.id("f")}, "secret")
		if merged {
			l.merge("base", "f", clone.MergeInput{})
		}
		out := must.Get(l.notes.Erase(t.Context(), l.all, "f", id, notes.TakeSentences, memory.Request{}))(t)
		if held := l.note("base", id) != nil; held != merged || len(out.Kept) == 1 != merged || merged && out.Kept[0].ID != l.id("base") {
			t.Errorf("merged %v: the base has it: %v, and kept is %v", merged, held, out.Kept)
		}
	}
}

// TestErasedWhileReviewed: a proposal does not show what was erased while it was made.
func TestErasedWhileReviewed(t *testing.T) {
	t.Parallel()
	l, _, _, _ := family(t)
	f := memory.Collection{ID: l.id("f")}
	secret := l.add(f, "secret")
	l.add(f, "rest")
	m := must.Get(l.between(func() { l.erase("f", secret) }).Merge(t.Context(), l.all, "base", clone.MergeInput{From: "f", Review: true}))(t)
	if m.Review == nil || len(m.Review.Changes) != 1 || m.Review.Changes[0].After.Content != "rest" {
		t.Errorf("review: %+v", m.Review)
	}
}

// TestMergesBesideDeletion: merges of one base that is deleted meanwhile land whole or are refused.
func TestMergesBesideDeletion(t *testing.T) {
	t.Parallel()
	l := open(t)
	base := l.collection(notes.CollectionInput{Name: "base"})
	l.add(base, "shared")
	const forks, each = 5, 4
	var group sync.WaitGroup
	for i := range forks {
		f := l.clone(l.all, "base", clone.Input{Name: fmt.Sprint("f", i)}).Collection
		group.Go(func() {
			for k := range each {
				l.add(f, fmt.Sprint("own ", k))
				for _, pair := range [][2]uuid.UUID{{base.ID, f.ID}, {f.ID, base.ID}} {
					_, err := l.clones.Merge(t.Context(), l.all, pair[0].String(), clone.MergeInput{From: pair[1].String(), Strategy: merge.Ours})
					if err != nil && !fault.Is(err, fault.NotFound) && !errors.Is(err, memory.ErrMoved) {
						t.Error(err)
					}
				}
			}
		})
	}
	group.Go(func() { l.remove("base") })
	group.Wait()
	for i := range forks {
		all := l.contents(fmt.Sprint("f", i))
		seen := map[string]int{}
		for _, c := range all {
			seen[c]++
		}
		for k := range each {
			if own := fmt.Sprint("own ", k); seen[own] == 0 {
				t.Errorf("fork %d lost %s: %v", i, own, all)
			}
		}
		if seen["shared"] != 1 {
			t.Errorf("fork %d: %v", i, all)
		}
	}
	problems := must.Get(l.store.Verify(t.Context()))(t)
	if len(problems) > 0 {
		t.Errorf("the store is wrong: %v", problems)
	}
}
