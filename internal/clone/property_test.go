package clone_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/merge"
	"github.com/slipboxhq/slipbox/test/must"
)

// propertySteps is how many steps TestRandomTrees takes, by engine; SLIPBOX_FORK_STEPS sets it.
func propertySteps(t *testing.T) int {
	t.Helper()
	if text := os.Getenv("SLIPBOX_FORK_STEPS"); text != "" {
		steps := must.Get(strconv.Atoi(text))(t)
		return steps
	}
	if os.Getenv("SLIPBOX_TEST_ENGINE") == "postgres" {
		return 300 // each tree has a database of its own
	}
	return 500
}

// TestRandomTrees compares random trees of forks with a model of plain maps: writes, merges, rollbacks, snapshots, flattening,
// expiry, deletion and erasure. The model has no layers: for each revision of each collection it has what it shows.
func TestRandomTrees(t *testing.T) {
	t.Parallel()
	const perTree = 100
	for round := range propertySteps(t) / perTree {
		t.Run(fmt.Sprint("tree ", round), func(t *testing.T) {
			t.Parallel()
			tr := plant(open(t), uint64(round))
			for range perTree {
				tr.step()
			}
			tr.compareAll()
		})
	}
}

// shown is what a collection shows at a revision. Two collections share a log where both have the same pointer.
type shown struct {
	notes map[uuid.UUID]leaf
	links map[memory.LinkID]bool
}

type leaf struct{ content, tags string } // tags: letters, sorted

func (s *shown) clone() *shown { return &shown{maps.Clone(s.notes), maps.Clone(s.links)} }

// tidy removes the links whose ends are gone.
func (s *shown) tidy() {
	maps.DeleteFunc(s.links, func(l memory.LinkID, _ bool) bool {
		_, a := s.notes[l.Source]
		_, b := s.notes[l.Target]
		return !a || !b
	})
}

func (s *shown) equal(o *shown) bool {
	return maps.Equal(s.notes, o.notes) && maps.Equal(s.links, o.links)
}

// mergeMark is a merge or a rollback in the log of a collection.
type mergeMark struct {
	at, from memory.Revision
	of       *branch // the other side; nil: a rollback
}

type branch struct {
	name      string
	id        uuid.UUID
	root      *branch // the tree that it is of
	head      memory.Revision
	at        map[memory.Revision]*shown
	merges    []mergeMark
	snapshots map[string]memory.Revision
	expires   time.Time
}

func (b *branch) now() *shown { return b.at[b.head] }

// write appends what a changeset made.
func (b *branch) write(next *shown) {
	b.head++
	b.at[b.head] = next
}

// last returns the merge that brought the most of another collection after a revision, directly or with a fork of it, and up to which one.
func (b *branch) last(other *branch, after memory.Revision) (found mergeMark, known memory.Revision, ok bool) {
	upto, known := b.head, after
	for _, m := range slices.Backward(b.merges) {
		if m.at > upto {
			continue
		}
		if m.of == nil {
			upto = m.from
			continue
		}
		if at, same := shared(m.of, m.from, other, other.head); same && at > known {
			found, known, ok = m, at, true
		}
	}
	return found, known, ok
}

// rolledBack returns what the branch showed at a revision, with what it had from the other and has taken back by a later rollback as it was
// before.
func (b *branch) rolledBack(at memory.Revision, other *branch, after memory.Revision) *shown {
	to := b.head
	for _, m := range slices.Backward(b.merges) {
		if m.of == nil && m.at > at && m.at <= to {
			to = m.from
		}
	}
	out := b.at[at].clone()
	b.taken(out, other, after, to, at, func(memory.Revision) *shown { return b.at[to] })
	return out
}

// taken sets what merges from the other wrote since a revision and up to another to what a state has, by the revision that a merge knew.
func (b *branch) taken(out *shown, other *branch, after, since, upto memory.Revision, state func(memory.Revision) *shown) {
	var set []func()
	for _, m := range slices.Backward(b.merges) {
		if m.at > upto {
			continue
		}
		if m.of == nil {
			upto = m.from
			continue
		}
		if known, same := shared(m.of, m.from, other, other.head); same && known > after && m.at > since {
			set = append(set, func() { out.replace(b.at[m.at-1], b.at[m.at], state(known)) })
		}
	}
	for _, f := range slices.Backward(set) {
		f()
	}
}

// replace sets what differs between two states to what a third one has.
func (s *shown) replace(was, is, by *shown) {
	for _, side := range []*shown{was, is} {
		for id := range side.notes {
			o, had := was.notes[id]
			n, has := is.notes[id]
			if had == has && o == n {
				continue
			}
			delete(s.notes, id)
			if then, ok := by.notes[id]; ok {
				s.notes[id] = then
			}
		}
		for l := range side.links {
			if was.links[l] == is.links[l] {
				continue
			}
			if delete(s.links, l); by.links[l] {
				s.links[l] = true
			}
		}
	}
}

// shared returns the newest revision whose content two collections share; ok is false when there is none.
func shared(a *branch, x memory.Revision, b *branch, y memory.Revision) (memory.Revision, bool) {
	for r := min(x, y); r >= 0; r-- {
		if a.at[r] != nil && a.at[r] == b.at[r] {
			return r, true
		}
	}
	return 0, false
}

type trees struct {
	*lab
	rnd  *rand.Rand
	all  []*branch
	made int
	log  []string
}

func plant(l *lab, seed uint64) *trees {
	tr := &trees{lab: l, rnd: rand.New(rand.NewPCG(seed, 1))}
	for range 2 {
		b := &branch{name: tr.name(), at: map[memory.Revision]*shown{0: {map[uuid.UUID]leaf{}, map[memory.LinkID]bool{}}}, snapshots: map[string]memory.Revision{}}
		b.id, b.root = l.collection(notes.CollectionInput{Name: b.name}).ID, b
		tr.all = append(tr.all, b)
		tr.write(b)
	}
	return tr
}

func (tr *trees) name() string { tr.made++; return fmt.Sprint("c", tr.made) }

func (tr *trees) pick() *branch { return tr.all[tr.rnd.IntN(len(tr.all))] }

func (tr *trees) revision(b *branch) memory.Revision {
	return memory.Revision(tr.rnd.Int64N(int64(b.head) + 1))
}

func (tr *trees) didf(format string, args ...any) {
	tr.log = append(tr.log, fmt.Sprintf(format, args...))
}

func (tr *trees) failf(format string, args ...any) {
	tr.t.Helper()
	tr.t.Fatalf("%s\nafter:\n%s", fmt.Sprintf(format, args...), strings.Join(tr.log, "\n"))
}

func (tr *trees) check(err error) {
	tr.t.Helper()
	if err != nil {
		tr.failf("%v", err)
	}
}

func (tr *trees) step() {
	steps := []func(){
		func() { tr.write(tr.pick()) }, func() { tr.write(tr.pick()) }, func() { tr.write(tr.pick()) },
		tr.merge, tr.merge, tr.fork, tr.rollback, tr.snapshot, tr.flatten, tr.delete, tr.expire, tr.erase,
	}
	steps[tr.rnd.IntN(len(steps))]()
	b := tr.pick()
	tr.compare(b, b.head)
	tr.compare(b, tr.revision(b))
	tr.compareDiff()
}

// write changes some notes and links in one changeset.
func (tr *trees) write(b *branch) {
	next := b.now().clone()
	w, err := tr.store.Write(tr.t.Context(), tr.lab.all, b.id, memory.WriteOptions{Cause: memory.CausePatch}, func(ctx context.Context, tx memory.Tx) error {
		next = b.now().clone()
		for range 1 + tr.rnd.IntN(4) {
			if err := tr.change(ctx, tx, next); err != nil {
				return err
			}
		}
		return nil
	})
	tr.check(err)
	if w.Logged {
		b.write(next)
	}
	tr.didf("write %s: %d", b.name, b.head)
}

// change makes one change of a note or link that is there, or adds a note.
func (tr *trees) change(ctx context.Context, tx memory.Tx, next *shown) error {
	here := slices.SortedFunc(maps.Keys(next.notes), memory.CompareIDs)
	what := tr.rnd.IntN(5)
	if len(here) < 2 {
		what = 0
	}
	var id uuid.UUID
	if what > 0 {
		id = here[tr.rnd.IntN(len(here))]
	}
	switch what {
	case 0, 1:
		n := leaf{content: fmt.Sprint("w", tr.rnd.IntN(6)), tags: []string{"", "a", "ab", "bc"}[tr.rnd.IntN(4)]}
		if id == uuid.Nil {
			id = uuid.New()
		}
		// Each note is told at a time of its own: what is told alike to two collections is one note.
		told := time.Date(2026, 1, 1, 0, 0, 0, int(binary.BigEndian.Uint16(id[:]))*1000, time.UTC).Add(time.Duration(binary.BigEndian.Uint16(id[2:])) * time.Second)
		made, err := tx.Put(ctx, memory.Note{ID: id, Content: n.content, Tags: tagsOf(n.tags), OccurredAt: told, State: memory.StateEvolved})
		next.notes[made.ID] = n
		return err
	case 2:
		delete(next.notes, id)
		next.tidy()
		return tx.Delete(ctx, id)
	}
	l := memory.LinkID{Source: id, Relation: memory.RelatedTo, Target: here[tr.rnd.IntN(len(here))]}
	if l.Source == l.Target {
		return nil
	}
	if next.links[l] {
		delete(next.links, l)
		_, err := tx.Unlink(ctx, l)
		return err
	}
	next.links[l] = true
	_, err := tx.Link(ctx, memory.Link{LinkID: l, Confidence: 1})
	return err
}

func tagsOf(letters string) []string {
	if letters == "" {
		return nil
	}
	return strings.Split(letters, "")
}

func (tr *trees) fork() { tr.forkOf(tr.pick()) }

func (tr *trees) forkOf(b *branch) *branch {
	if len(tr.all) > 24 {
		return b
	}
	at := tr.revision(b)
	if tr.rnd.IntN(2) == 0 {
		at = b.head
	}
	f := &branch{name: tr.name(), root: b.root, head: at, at: map[memory.Revision]*shown{}, snapshots: map[string]memory.Revision{}}
	in := clone.Input{Name: f.name, AtRevision: &at}
	if tr.rnd.IntN(4) == 0 {
		f.expires = tr.now.Add(time.Hour)
		in.TTLSeconds = new(int64(3600))
	}
	f.id = tr.clone(tr.lab.all, b.id.String(), in).Collection.ID
	for r, s := range b.at {
		if r <= at {
			f.at[r] = s
		}
	}
	for _, m := range b.merges {
		if m.at <= at {
			f.merges = append(f.merges, m)
		}
	}
	tr.all = append(tr.all, f)
	tr.didf("fork %s of %s at %d", f.name, b.name, at)
	return f
}

// flatten makes a lineage too deep, and runs the job that flattens it.
func (tr *trees) flatten() {
	b := tr.pick()
	if tr.rnd.IntN(3) > 0 {
		return // it is many steps
	}
	for range memory.MaxLineage {
		f := tr.forkOf(b)
		if f == b {
			return
		}
		b = f
		tr.write(b)
	}
	tr.check(tr.clones.RunFlatten(tr.t.Context(), tr.lab.all, memory.Job{Collection: b.id, Kind: memory.JobFlatten}))
	tr.didf("flatten %s", b.name)
	for r := memory.Revision(0); r <= b.head; r++ {
		tr.compare(b, r)
	}
}

// base returns the state from which two collections differ.
func base(ours, theirs *branch) (*shown, bool) {
	point, ok := shared(ours, ours.head, theirs, theirs.head)
	if !ok {
		return nil, false
	}
	into, known, found := ours.last(theirs, point)
	_, knew, taken := theirs.last(ours, point)
	if taken && (!found || knew >= into.at) {
		return ours.rolledBack(knew, theirs, point), true
	}
	if !found {
		return ours.at[point], true
	}
	out := theirs.rolledBack(known, ours, point)
	theirs.taken(out, ours, point, known, theirs.head, func(at memory.Revision) *shown { return ours.at[at] })
	return out, true
}

func (tr *trees) merge() {
	ours, theirs := tr.pick(), tr.pick()
	strategy := []merge.Strategy{merge.Ours, merge.Theirs}[tr.rnd.IntN(2)]
	got, err := tr.clones.Merge(tr.t.Context(), tr.lab.all, ours.id.String(), clone.MergeInput{From: theirs.id.String(), Strategy: strategy})
	from, related := base(ours, theirs)
	if ours == theirs || !related {
		if !fault.Is(err, fault.Invalid) {
			tr.failf("merge %s into %s: %v", theirs.name, ours.name, err)
		}
		return
	}
	tr.didf("merge %s at %d into %s at %d, %s", theirs.name, theirs.head, ours.name, ours.head, strategy)
	tr.check(err)
	next := merged(from, ours.now(), theirs.now(), strategy == merge.Theirs)
	if !next.equal(ours.now()) {
		ours.write(next)
		ours.merges = append(ours.merges, mergeMark{at: ours.head, from: theirs.head, of: theirs})
	}
	if got.Revision != ours.head {
		tr.failf("the merge is revision %d, want %d", got.Revision, ours.head)
	}
	tr.compare(ours, ours.head)
}

// merged is what a merge makes.
func merged(base, ours, theirs *shown, takeTheirs bool) *shown {
	out := ours.clone()
	ids := maps.Clone(base.notes)
	maps.Copy(ids, theirs.notes)
	for id := range ids {
		b, had := base.notes[id]
		o, has := ours.notes[id]
		n, is := theirs.notes[id]
		switch {
		case had == is && b == n:
			continue
		case !is && (!has || o == b || takeTheirs):
			delete(out.notes, id)
		case is && !has && (!had || takeTheirs):
			out.notes[id] = n
		case is && has:
			out.notes[id] = leaf{mergedText(b.content, o.content, n.content, takeTheirs), mergedTags(b.tags, o.tags, n.tags)}
		}
	}
	for _, side := range []map[memory.LinkID]bool{base.links, theirs.links} {
		for l := range side {
			if base.links[l] == theirs.links[l] {
				continue
			}
			if delete(out.links, l); theirs.links[l] {
				out.links[l] = true
			}
		}
	}
	out.tidy()
	return out
}

func mergedText(base, ours, theirs string, takeTheirs bool) string {
	if base != theirs && (base == ours || takeTheirs) {
		return theirs
	}
	return ours
}

func mergedTags(base, ours, theirs string) string {
	var out []string
	for _, tag := range []string{"a", "b", "c"} {
		has := strings.Contains(ours, tag)
		if now := strings.Contains(theirs, tag); now != strings.Contains(base, tag) {
			has = now
		}
		if has {
			out = append(out, tag)
		}
	}
	return strings.Join(out, "")
}

// rollback returns to a revision, named by its number or by a snapshot.
func (tr *trees) rollback() {
	b := tr.pick()
	to := tr.revision(b)
	if names := slices.Sorted(maps.Keys(b.snapshots)); len(names) > 0 {
		name := names[tr.rnd.IntN(len(names))]
		r := b.snapshots[name]
		got, err := tr.clones.RevisionOf(tr.t.Context(), tr.lab.all, b.id.String(), "at", name)
		tr.check(err)
		if *got != r {
			tr.failf("the snapshot %s is revision %d, want %d", name, *got, r)
		}
		to = r
	}
	tr.didf("rollback %s at %d to %d", b.name, b.head, to)
	got, err := tr.clones.Rollback(tr.t.Context(), tr.lab.all, b.id.String(), clone.RollbackInput{To: to})
	tr.check(err)
	if next := b.at[to].clone(); !next.equal(b.now()) {
		b.write(next)
		b.merges = append(b.merges, mergeMark{at: b.head, from: to})
	}
	if got.Revision != b.head {
		tr.failf("the rollback is revision %d, want %d", got.Revision, b.head)
	}
	tr.compare(b, b.head)
}

func (tr *trees) snapshot() {
	b := tr.pick()
	name, at := tr.name(), tr.revision(b)
	_, err := tr.clones.Snapshot(tr.t.Context(), tr.lab.all, b.id.String(), name, &at)
	tr.check(err)
	b.snapshots[name] = at
	tr.didf("snapshot %s of %s at %d", name, b.name, at)
}

func (tr *trees) delete() {
	b := tr.pick()
	if len(tr.all) < 4 {
		return
	}
	_, err := tr.store.DeleteCollection(tr.t.Context(), tr.lab.all, b.id, true, memory.AuditEntry{})
	tr.check(err)
	tr.remove(b)
	tr.didf("delete %s", b.name)
}

func (tr *trees) remove(b *branch) {
	tr.all = slices.DeleteFunc(tr.all, func(o *branch) bool { return o == b })
	tr.check(tr.clones.RunRemove(tr.t.Context(), tr.lab.all, memory.Job{Collection: b.id}, noProgress))
}

// expire moves the clock, and sweeps what has expired.
func (tr *trees) expire() {
	tr.now = tr.now.Add(20 * time.Minute)
	due, err := tr.store.ExpiredCollections(tr.t.Context(), tr.now, 100)
	tr.check(err)
	for _, b := range slices.Clone(tr.all) {
		if b.expires.IsZero() || b.expires.After(tr.now) {
			continue
		}
		_, err := tr.clones.Merge(tr.t.Context(), tr.lab.all, b.id.String(), clone.MergeInput{From: tr.all[0].id.String()})
		if !fault.Is(err, fault.NotFound) {
			tr.failf("merge into the expired %s: %v", b.name, err)
		}
		i := slices.IndexFunc(due, func(d memory.Due) bool { return d.Collection == b.id })
		if i < 0 {
			tr.failf("%s is not listed as expired", b.name)
		}
		tr.check(tr.clones.Expire(tr.t.Context(), tr.lab.all, due[i], tr.now))
		tr.remove(b)
		tr.didf("expire %s", b.name)
	}
}

// erase removes a note of a root from all of its tree.
func (tr *trees) erase() {
	b := tr.pick()
	if b.root != b {
		return
	}
	ever := map[uuid.UUID]bool{}
	for _, s := range b.at {
		for id := range s.notes {
			ever[id] = true
		}
	}
	for id := range b.now().notes {
		delete(ever, id)
	}
	for _, id := range slices.SortedFunc(maps.Keys(ever), memory.CompareIDs) {
		_, err := tr.store.EraseNotes(tr.t.Context(), tr.lab.all, b.id, memory.Erasing{Notes: []uuid.UUID{id}}, memory.AuditEntry{})
		tr.check(err)
		tr.didf("erase %s from %s", id, b.name)
		for _, o := range tr.all {
			if o.root != b {
				continue
			}
			for _, s := range o.at {
				delete(s.notes, id)
				s.tidy()
			}
		}
		return
	}
}

func (tr *trees) compareAll() {
	for _, b := range tr.all {
		for r := memory.Revision(0); r <= b.head; r++ {
			tr.compare(b, r)
		}
	}
	problems, err := tr.store.Verify(tr.t.Context())
	tr.check(err)
	if len(problems) > 0 {
		tr.failf("%v", problems)
	}
}

func (tr *trees) compare(b *branch, at memory.Revision) {
	tr.t.Helper()
	v, err := tr.store.OpenView(tr.t.Context(), tr.lab.all, b.id.String(), memory.At{AsOf: &at})
	tr.check(err)
	if v.Collection.Head != b.head {
		tr.failf("the head of %s is %d, want %d", b.name, v.Collection.Head, b.head)
	}
	list, err := tr.store.ListNotes(tr.t.Context(), tr.lab.all, v, memory.NoteQuery{})
	tr.check(err)
	got := shown{map[uuid.UUID]leaf{}, map[memory.LinkID]bool{}}
	var ids []uuid.UUID
	for _, n := range list {
		ids = append(ids, n.ID)
		got.notes[n.ID] = leaf{n.Content, strings.Join(slices.Sorted(slices.Values(n.Tags)), "")}
	}
	links, err := tr.store.Links(tr.t.Context(), tr.lab.all, v, memory.LinkQuery{Notes: ids, Direction: memory.Both})
	tr.check(err)
	for _, l := range links {
		got.links[l.LinkID] = true
	}
	if want := b.at[at]; !got.equal(want) {
		tr.failf("%s at %d of %d (%d layers) shows\n%v\nwant\n%v", b.name, at, b.head, len(v.Layers), got, *want)
	}
}

// compareDiff compares the diff of two views with that of their maps.
func (tr *trees) compareDiff() {
	tr.t.Helper()
	a, b := tr.pick(), tr.pick()
	x, y := tr.revision(a), tr.revision(b)
	in := clone.DiffInput{Against: a.id.String(), At: &y, AgainstAt: &x, Limit: 3}
	point, related := shared(a, x, b, y)
	was, is := a.at[x], b.at[y]
	want := map[string]bool{}
	all := maps.Clone(was.notes)
	maps.Copy(all, is.notes)
	for id := range all {
		o, had := was.notes[id]
		n, has := is.notes[id]
		if had != has || o != n {
			want[fmt.Sprint(id, had, has)] = true
		}
	}
	for _, side := range []map[memory.LinkID]bool{was.links, is.links} {
		for l := range side {
			if was.links[l] != is.links[l] {
				want[fmt.Sprint(l, was.links[l], is.links[l])] = true
			}
		}
	}
	got := map[string]bool{}
	for {
		d, err := tr.clones.Diff(tr.t.Context(), tr.lab.all, b.id.String(), in)
		if !related {
			if !fault.Is(err, fault.Invalid) {
				tr.failf("diff of %s and %s: %v", b.name, a.name, err)
			}
			return
		}
		tr.check(err)
		if d.Base.Bound != point {
			tr.failf("%s at %d and %s at %d descend from %d, want %d", a.name, x, b.name, y, d.Base.Bound, point)
		}
		for _, n := range d.Notes {
			got[fmt.Sprint(n.Note, n.Before != nil, n.After != nil)] = true
		}
		for _, l := range d.Links {
			got[fmt.Sprint(l.LinkID, l.Change == clone.Removed, l.Change == clone.Added)] = true
		}
		if in.After = d.Next; d.Next == uuid.Nil {
			break
		}
	}
	if !maps.Equal(got, want) {
		tr.failf("from %s at %d to %s at %d: %v, want %v", a.name, x, b.name, y, got, want)
	}
}
