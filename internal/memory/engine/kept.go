package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Bounds of what is kept: collections, and notes of all of them together.
const (
	maxKept      = 256
	maxKeptNotes = 50_000
)

// staleKept is how many revisions a list may be behind before it is read again rather than brought up to date.
const staleKept = 1_000

// keptBack is for how many revisions a list keeps what was replaced: decisions of one collection overlap, and the one that began
// first lists what another has brought up to date.
const keptBack = 200

// kept holds the notes of some kinds that decisions list over and over, such as all sessions of a collection: of each
// decision only what changed since the one before is read, from the log. It is never out of date, since a listing is of a
// revision; a listing of long before is left to the store.
type kept struct {
	mu    sync.Mutex
	lists map[uuid.UUID]*keptLists // by collection
	uses  int64
	spent sync.Pool // of *[]memory.ReadNote: lists that decisions are done with
}

// keptLists are the lists of one collection.
type keptLists struct {
	mu      sync.Mutex // held while they are brought up to date
	of      memory.View
	kinds   map[keptKind]*keptList
	lastUse int64 // under the lock of kept
	notes   int   // under the lock of kept
}

type keptKind struct {
	kind   memory.Kind
	vector bool
	policy string // whose function reads the notes; "": they are listed alone
}

// keptList is what a view has of a kind, from a revision on.
type keptList struct {
	from     memory.Revision
	versions []keptVersion // by id, then by revision
	sum      any           // what a policy made of the list that was read last
}

// reading is how a policy reads all notes of a kind.
type reading struct {
	each func(*memory.Note) any
	all  func(was any, notes []memory.ReadNote) any
	sum  any // what all returned
}

// keptVersion is a version of a note. It is shared, and never changes. A list is looked through without its notes, which would each be
// a miss of the processor's cache.
type keptVersion struct {
	memory.ReadNote // read when it was first asked for

	from, to memory.Revision // where it begins and ends; to 0: it is the last one
	bare     bool            // it has no vector
}

func keep(n *memory.Note) keptVersion {
	return keptVersion{ReadNote: memory.ReadNote{Note: n}, from: n.From, bare: len(n.Vector) == 0}
}

// isKept reports whether a query is of notes that are few beside the messages and notes that they come from.
func isKept(q *memory.NoteQuery) bool {
	return len(q.Kinds) == 1 && q.Kinds[0] != memory.KindNote && q.Kinds[0] != memory.KindMessage &&
		!q.ByTime && !q.ByRevision && q.Lacks == "" && len(q.States) == 0 && q.Sources == nil
}

// listKept lists notes as the store does, as r reads them unless it is nil; others hold them too. ok is false when the store has to
// answer.
func (e *Engine) listKept(
	ctx context.Context, s tenant.Scope, v *memory.View, q *memory.NoteQuery, r *reading,
) (out []memory.ReadNote, ok bool, err error) {
	if !isKept(q) || len(v.Of) > 0 {
		return nil, false, nil
	}
	l := e.kept.open(v.Collection.ID)
	l.mu.Lock()
	defer l.mu.Unlock()
	k := keptKind{kind: q.Kinds[0], vector: q.Vector}
	var read func(*memory.Note) any
	if r != nil {
		k.policy, read = v.Collection.Policy, r.each
	}
	list, err := e.openKept(ctx, s, v, l, k)
	if err != nil || list == nil || v.At < list.from {
		return nil, false, err
	}
	out, bare := list.page(e.kept.take(), v.At, q, read)
	if q.Vector && bare {
		delete(l.kinds, k) // a vector that is made later makes no new version
		return nil, false, nil
	}
	if r != nil && r.all != nil {
		list.sum = r.all(list.sum, out)
		r.sum = list.sum
	}
	e.kept.close(v.Collection.ID, l)
	return out, true, nil
}

// openKept returns a list that has been brought to the revision of a view, or beyond; nil when there is none for it.
func (e *Engine) openKept(ctx context.Context, s tenant.Scope, v *memory.View, l *keptLists, k keptKind) (*keptList, error) {
	earlier, same := len(l.of.Layers) > 0 && v.At < l.of.At, l.isOf(v)
	if earlier {
		if !same {
			return nil, nil //nolint:nilnil // see above
		}
		return l.kinds[k], nil
	}
	if !same || v.At-l.of.At > staleKept {
		l.kinds = map[keptKind]*keptList{}
	} else if err := e.catchUp(ctx, s, v, l); err != nil {
		l.of.Layers = nil // it may be half done
		return nil, err
	}
	l.of = *v
	if l.kinds[k] == nil {
		list, err := e.readKept(ctx, s, v, k)
		if err != nil {
			return nil, err
		}
		l.kinds[k] = list
	}
	return l.kinds[k], nil
}

// isOf reports whether lists are of the same logs as a view, so that the log of its nearest layer has all that differs.
func (l *keptLists) isOf(v *memory.View) bool {
	a, b := l.of.Layers, v.Layers
	return len(a) > 0 && len(a) == len(b) && a[0].Collection == b[0].Collection && a[0].EraseEpoch == b[0].EraseEpoch && slices.EqualFunc(a[1:], b[1:], memory.Layer.Equal) &&
		l.of.Collection.Embedder == v.Collection.Embedder && l.of.Collection.Reembedded == v.Collection.Reembedded
}

// readKept reads all notes of a kind.
func (e *Engine) readKept(ctx context.Context, s tenant.Scope, v *memory.View, k keptKind) (*keptList, error) {
	out := &keptList{from: v.At}
	q := memory.NoteQuery{Kinds: []memory.Kind{k.kind}, ReadOptions: memory.ReadOptions{Vector: k.vector}}
	for n, err := range memory.EachNote(ctx, e.store, s, *v, q) {
		if err != nil {
			return nil, err
		}
		out.versions = append(out.versions, keep(new(*n)))
	}
	return out, nil
}

// catchUp brings lists to the revision of a view.
func (e *Engine) catchUp(ctx context.Context, s tenant.Scope, v *memory.View, l *keptLists) error {
	if v.At == l.of.At || len(l.kinds) == 0 {
		return nil
	}
	var kinds []memory.Kind
	embedder := ""
	for k := range l.kinds {
		if !slices.Contains(kinds, k.kind) {
			kinds = append(kinds, k.kind)
		}
		if k.vector {
			embedder = v.Collection.Embedder
		}
	}
	slices.Sort(kinds) // one statement for the same kinds
	err := e.store.LogBegun(ctx, s, *v, l.of.At, kinds, embedder, func(r memory.LogRow) error {
		for k, list := range l.kinds {
			list.end(&r.Note)
			if n := r.Note; n.Kind == k.kind && !n.Deleted {
				if !k.vector {
					n.Vector, n.Tokens, n.Embedder = nil, nil, ""
				}
				i := list.after(n.ID)
				list.versions = slices.Insert(list.versions, i, keep(&n))
			}
		}
		return nil
	})
	for _, list := range l.kinds {
		list.forget(v.At - keptBack)
	}
	return err
}

// end ends the version that another one follows.
func (l *keptList) end(n *memory.Note) {
	if i := l.after(n.ID) - 1; i >= 0 && l.versions[i].ID == n.ID && l.versions[i].to == 0 && l.versions[i].from < n.From {
		l.versions[i].to = n.From
	}
}

// forget forgets what ended at a revision or before.
func (l *keptList) forget(at memory.Revision) {
	if at <= l.from {
		return
	}
	l.from = at
	l.versions = slices.DeleteFunc(l.versions, func(k keptVersion) bool { return k.to != 0 && k.to <= at })
}

// after returns where the notes behind an id begin.
func (l *keptList) after(id uuid.UUID) int {
	i, _ := slices.BinarySearchFunc(l.versions, id, func(k keptVersion, id uuid.UUID) int { return cmp.Or(memory.CompareIDs(k.ID, id), -1) })
	return i
}

// take returns room for a list.
func (k *kept) take() []memory.ReadNote {
	if spent, ok := k.spent.Get().(*[]memory.ReadNote); ok {
		return *spent
	}
	return nil
}

// leastSpent is how long a list is at least whose room is used again.
const leastSpent = 256

// give takes a list back that nobody reads any more. Nothing of it stays.
func (k *kept) give(list []memory.ReadNote) {
	if cap(list) < leastSpent {
		return
	}
	clear(list)
	list = list[:0]
	k.spent.Put(&list)
}

// page returns the page that a query asks for, at a revision, in the room of out, and whether a note of it has no vector.
func (l *keptList) page(out []memory.ReadNote, at memory.Revision, q *memory.NoteQuery, read func(*memory.Note) any) (_ []memory.ReadNote, bare bool) {
	rest := l.rest(q)
	if q.Filter == nil {
		n := min(len(rest), cmp.Or(q.Limit, len(rest)))
		if cap(out) < n {
			n += n / 8 // for the lists of later decisions
		}
		out = slices.Grow(out, n)
	}
	for i := range rest {
		n := &rest[i]
		if q.Newest {
			n = &rest[len(rest)-1-i]
		}
		if q.Limit > 0 && len(out) == q.Limit {
			break
		}
		if !n.at(at) || q.Keyed && n.Key == "" || !n.Matches(q.Filter) {
			continue
		}
		if read != nil && n.Read == nil {
			n.Read = read(n.Note)
		}
		out, bare = append(out, n.ReadNote), bare || n.bare
	}
	return out, bare
}

// rest returns the versions of the notes that follow those of the pages before, in the order of ids.
func (l *keptList) rest(q *memory.NoteQuery) []keptVersion {
	if q.After == uuid.Nil {
		return l.versions
	}
	i := l.after(q.After)
	if !q.Newest {
		return l.versions[i:]
	}
	for i > 0 && l.versions[i-1].ID == q.After {
		i--
	}
	return l.versions[:i]
}

// at reports whether a version is the newest of its note at a revision.
func (k *keptVersion) at(r memory.Revision) bool { return k.from <= r && (k.to == 0 || k.to > r) }

// open returns the lists of a collection.
func (k *kept) open(collection uuid.UUID) *keptLists {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lists == nil {
		k.lists = map[uuid.UUID]*keptLists{}
	}
	l := k.lists[collection]
	if l == nil {
		l = &keptLists{}
		k.lists[collection] = l
	}
	k.uses++
	l.lastUse = k.uses
	return l
}

// close counts what lists hold, and drops those that were used least while there is too much.
func (k *kept) close(collection uuid.UUID, l *keptLists) {
	notes := 0
	for _, list := range l.kinds {
		notes += len(list.versions)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	l.notes = notes
	if k.lists[collection] != l {
		return // it was dropped meanwhile
	}
	all := 0
	for _, o := range k.lists {
		all += o.notes
	}
	for len(k.lists) > maxKept || all > maxKeptNotes && len(k.lists) > 1 {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(k.lists)), func(a, b uuid.UUID) int { return cmp.Compare(k.lists[a].lastUse, k.lists[b].lastUse) })
		all -= k.lists[oldest].notes
		delete(k.lists, oldest)
	}
	if all > maxKeptNotes {
		delete(k.lists, collection)
	}
}
