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

// kept holds the notes of some kinds that decisions list over and over, such as all sessions of a collection: of each
// decision only what changed since the one before is read, from the log. It is never out of date, since a listing is of a
// revision; a listing of an earlier one is left to the store.
type kept struct {
	mu    sync.Mutex
	lists map[uuid.UUID]*keptLists // by collection
	uses  int64
}

// keptLists are the lists of one collection.
type keptLists struct {
	mu      sync.Mutex // held while they are brought up to date
	of      memory.View
	kinds   map[keptKind][]memory.Note // by id; shared, so they are copied out
	lastUse int64                      // under the lock of kept
	notes   int                        // under the lock of kept
}

type keptKind struct {
	kind   memory.Kind
	vector bool
}

// isKept reports whether a query is of notes that are few beside the messages and notes that they come from.
func isKept(q *memory.NoteQuery) bool {
	return len(q.Kinds) == 1 && q.Kinds[0] != memory.KindNote && q.Kinds[0] != memory.KindMessage &&
		!q.ByTime && q.Lacks == "" && len(q.States) == 0 && q.Sources == nil
}

// listKept lists notes as the store does. ok is false when the store has to answer.
func (e *Engine) listKept(ctx context.Context, s tenant.Scope, v *memory.View, q *memory.NoteQuery) (out []memory.Note, ok bool, err error) {
	if !isKept(q) || len(v.Of) > 0 {
		return nil, false, nil
	}
	l := e.kept.open(v.Collection.ID)
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.of.Layers) > 0 && v.At < l.of.At {
		return nil, false, nil
	}
	if !l.continues(v) {
		l.kinds = map[keptKind][]memory.Note{}
	} else if err := e.catchUp(ctx, s, v, l); err != nil {
		l.of.Layers = nil // it may be half done
		return nil, false, err
	}
	l.of = *v
	k := keptKind{q.Kinds[0], q.Vector}
	list, known := l.kinds[k]
	if !known {
		if list, err = e.readKept(ctx, s, v, k); err != nil {
			return nil, false, err
		}
		l.kinds[k] = list
	}
	if q.Vector && slices.ContainsFunc(list, func(n memory.Note) bool { return len(n.Vector) == 0 }) {
		delete(l.kinds, k) // a vector that is made later makes no new version
		return nil, false, nil
	}
	out = pageOf(list, q)
	e.kept.close(v.Collection.ID, l)
	return out, true, nil
}

// continues reports whether lists can be brought up to date for a view from the log of its nearest layer.
func (l *keptLists) continues(v *memory.View) bool {
	a, b := l.of.Layers, v.Layers
	return len(a) > 0 && len(a) == len(b) && a[0].Collection == b[0].Collection && a[0].EraseEpoch == b[0].EraseEpoch && slices.EqualFunc(a[1:], b[1:], memory.Layer.Equal) &&
		l.of.Collection.Embedder == v.Collection.Embedder && l.of.Collection.Reembedded == v.Collection.Reembedded && v.At-l.of.At <= staleKept
}

// readKept reads all notes of a kind.
func (e *Engine) readKept(ctx context.Context, s tenant.Scope, v *memory.View, k keptKind) (out []memory.Note, err error) {
	q := memory.NoteQuery{Kinds: []memory.Kind{k.kind}, Limit: upkeepPage, ReadOptions: memory.ReadOptions{Vector: k.vector}}
	list := func(ctx context.Context, q memory.NoteQuery) ([]memory.Note, error) {
		return e.store.ListNotes(ctx, s, *v, q)
	}
	err = memory.EachNote(ctx, list, q, func(n *memory.Note) error {
		out = append(out, *n)
		return nil
	})
	return out, err
}

// catchUp brings lists to the revision of a view.
func (e *Engine) catchUp(ctx context.Context, s tenant.Scope, v *memory.View, l *keptLists) error {
	if v.At == l.of.At || len(l.kinds) == 0 {
		return nil
	}
	embedder := ""
	for k := range l.kinds {
		if k.vector {
			embedder = v.Collection.Embedder
		}
	}
	_, err := e.store.Log(ctx, s, *v, 0, l.of.At, embedder, func(r memory.LogRow) error {
		if r.Note.From > v.At {
			return nil
		}
		live := !r.Note.Deleted && (r.To == 0 || r.To > v.At)
		for k, list := range l.kinds {
			if n := r.Note; r.Note.Deleted || n.Kind == k.kind {
				if !k.vector {
					n.Vector, n.Tokens, n.Embedder = nil, nil, ""
				}
				l.kinds[k] = replaceKept(list, &n, live)
			}
		}
		return nil
	})
	return err
}

// replaceKept replaces a version in a list, or takes it out when it is not live. The list is changed in place: its notes
// were copied out.
func replaceKept(list []memory.Note, n *memory.Note, live bool) []memory.Note {
	i, found := searchKept(list, n.ID)
	switch {
	case !live && found:
		return slices.Delete(list, i, i+1)
	case !live:
		return list
	case found:
		list[i] = *n
		return list
	}
	return slices.Insert(list, i, *n)
}

func searchKept(list []memory.Note, id uuid.UUID) (int, bool) {
	return slices.BinarySearchFunc(list, id, func(n memory.Note, id uuid.UUID) int { return compareIDs(n.ID, id) })
}

// pageOf returns the page of a list that a query asks for.
func pageOf(list []memory.Note, q *memory.NoteQuery) []memory.Note {
	var out []memory.Note
	from, to := 0, len(list)
	if q.After != uuid.Nil {
		i, found := searchKept(list, q.After)
		switch {
		case q.Newest:
			to = i
		case found:
			from = i + 1
		default:
			from = i
		}
	}
	if q.Filter == nil && q.Limit > 0 {
		out = make([]memory.Note, 0, min(q.Limit, max(to-from, 0)))
	}
	for i := range to - from {
		n := &list[from+i]
		if q.Newest {
			n = &list[to-1-i]
		}
		if q.Limit > 0 && len(out) == q.Limit {
			break
		}
		if q.Keyed && n.Key == "" || !n.Matches(q.Filter) {
			continue
		}
		if q.Shared {
			out = append(out, *n)
		} else {
			out = append(out, n.Copy())
		}
	}
	return out
}

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
		notes += len(list)
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
