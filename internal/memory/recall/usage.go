package recall

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// counter counts recalls in memory and writes them in batches. Counts that are not written yet are
// added to those of the store, so reads are exact within the process. A crash loses at most one
// interval of counts.
//
// While a collection is in use, its counts of the store are kept, too: what is written here is added to
// them, and forget drops them. What other processes count shows after keepFor.
type counter struct {
	store   memory.Reader
	clock   memory.Clock
	keepFor time.Duration
	// keepOthers is how long counts are kept at most when another collection may change them: those that a
	// fork has from its base, and those of a copy in progress.
	keepOthers time.Duration

	mu    sync.Mutex
	books map[uuid.UUID]*book // by collection
}

// book holds the counts of one collection that are not written yet.
type book struct {
	// flushing is held for writing while counts move into the store, and for reading while those of
	// the store and of the book are added, so no recall is counted twice.
	flushing sync.RWMutex

	mu     sync.Mutex
	closed bool         // removed from the counter; new counts go to a new book
	scope  tenant.Scope // of the last recall; it reaches the collection
	deltas map[uuid.UUID]memory.UsageDelta
	stored map[uuid.UUID]storedUsage // what the store has counted, as far as it was read
	list   usedList
	// forgotten counts how often stored was dropped. Counts that were read before are not kept after.
	forgotten uint64
}

// usedList is the last long list of notes of which the use was asked for: all of them are stored. Jobs ask for thousands over and over,
// of which few are new, and most were never used.
type usedList struct {
	ids  []uuid.UUID // ascending; the caller's, and not changed
	at   time.Time   // of the oldest count
	used map[uuid.UUID]memory.Usage
}

// longList is how many notes a list has at least that is looked up as a whole.
const longList = 256

// storedUsage is the use of a note in the store.
type storedUsage struct {
	memory.Usage

	at time.Time // when it was read
}

func newCounter(store memory.Reader, clock memory.Clock, keepFor, keepOthers time.Duration) *counter {
	return &counter{store: store, clock: clock, keepFor: keepFor, keepOthers: keepOthers, books: map[uuid.UUID]*book{}}
}

// book returns the book of a collection, nil if there is none.
func (c *counter) book(collection uuid.UUID) *book {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.books[collection]
}

// lockBook returns the book of a collection, locked, and creates it if necessary.
func (c *counter) lockBook(collection uuid.UUID) *book {
	for {
		c.mu.Lock()
		b, ok := c.books[collection]
		if !ok {
			b = &book{deltas: map[uuid.UUID]memory.UsageDelta{}, stored: map[uuid.UUID]storedUsage{}}
			c.books[collection] = b
		}
		c.mu.Unlock()
		b.mu.Lock()
		if !b.closed {
			return b
		}
		b.mu.Unlock()
	}
}

// closeBook removes a book from the counter that has neither counts to write nor kept ones.
func (c *counter) closeBook(collection uuid.UUID, b *book) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dropOld(c.clock(), c.keepFor)
	if len(b.deltas) == 0 && len(b.stored) == 0 && !b.closed {
		b.closed = true
		delete(c.books, collection)
	}
}

// add counts one recall of each note.
func (c *counter) add(s tenant.Scope, collection uuid.UUID, notes []uuid.UUID, at time.Time) {
	if len(notes) == 0 {
		return
	}
	b := c.lockBook(collection)
	defer b.mu.Unlock()
	b.scope = s
	for _, id := range notes {
		d := b.deltas[id]
		d.Note = id
		d.Accesses++
		if at.After(d.LastAccess) {
			d.LastAccess = at
		}
		b.deltas[id] = d
	}
}

// usage returns the usage of notes: that of the store and what is not written yet. Without all, some that were never used may be
// missing: of thousands of notes most were not, and a map takes longer to fill than it takes to look at them.
func (c *counter) usage(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID, all bool) (map[uuid.UUID]memory.Usage, error) {
	b := c.book(v.Collection.ID)
	if b == nil {
		b = &book{} // everything is written
	}
	b.flushing.RLock()
	defer b.flushing.RUnlock()
	began := c.clock()
	keepFor := c.keepFor
	if len(v.Layers) > 1 || v.Collection.State == memory.CollectionCopying {
		keepFor = min(keepFor, c.keepOthers)
	}
	known := b.known(ids, began, keepFor, all)
	out, missing := known.used, known.missing
	for page := range slices.Chunk(missing, usagePage) {
		read, err := c.store.Usage(ctx, s, v, page)
		if err != nil {
			return nil, err
		}
		for _, id := range page {
			u, counted := read[id]
			if !counted {
				u.Strength = 1
			}
			out[id] = u
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stored != nil && b.forgotten == known.forgotten {
		for _, id := range missing {
			b.stored[id] = storedUsage{out[id], began}
		}
		if !all && known.ascending {
			b.keepList(ids, out, known.oldest)
		}
	}
	if len(b.deltas) == 0 {
		return out, nil
	}
	for _, id := range ids {
		if d, ok := b.deltas[id]; ok {
			out[id] = addDelta(out[id], d)
		}
	}
	return out, nil
}

// usagePage is of how many notes the use is read in one call.
const usagePage = 500

// known is what is kept of the use of notes.
type known struct {
	used      map[uuid.UUID]memory.Usage
	missing   []uuid.UUID
	oldest    time.Time // when it was read
	ascending bool      // they are a long list in the order of ids
	forgotten uint64
}

// known returns the counts of the store that are kept and younger than keepFor, without all only of what was used, and the other notes.
func (b *book) known(ids []uuid.UUID, now time.Time, keepFor time.Duration, all bool) (k known) {
	k = known{used: map[uuid.UUID]memory.Usage{}, oldest: now}
	if all {
		k.used = make(map[uuid.UUID]memory.Usage, len(ids))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	k.forgotten = b.forgotten
	if k.ascending = !all && len(ids) >= longList && slices.IsSortedFunc(ids, memory.CompareIDs); k.ascending {
		ids = b.notListed(ids, &k, now, keepFor)
	}
	for _, id := range ids {
		u, ok := b.stored[id]
		if !ok || !u.isFresh(now, keepFor) {
			k.missing = append(k.missing, id)
			continue
		}
		if u.at.Before(k.oldest) {
			k.oldest = u.at
		}
		if all || u.Usage != (memory.Usage{Strength: 1}) {
			k.used[id] = u.Usage
		}
	}
	return k
}

// notListed returns those of a long list that are not in the one before, and adds the use of the others.
func (b *book) notListed(ids []uuid.UUID, k *known, now time.Time, keepFor time.Duration) (rest []uuid.UUID) {
	was := b.list.ids
	if at := (storedUsage{at: b.list.at}); len(was) == 0 || !at.isFresh(now, keepFor) {
		return ids
	}
	k.oldest = b.list.at
	for id, u := range b.list.used {
		if _, found := slices.BinarySearchFunc(ids, id, memory.CompareIDs); found {
			k.used[id] = u
		}
	}
	for _, id := range ids {
		for len(was) > 0 && memory.CompareIDs(was[0], id) < 0 {
			was = was[1:]
		}
		if len(was) == 0 || was[0] != id {
			rest = append(rest, id)
		}
	}
	return rest
}

// keepList keeps a long list, of which used is what the store has counted. The caller holds the lock.
func (b *book) keepList(ids []uuid.UUID, used map[uuid.UUID]memory.Usage, oldest time.Time) {
	b.list = usedList{ids: ids, at: oldest, used: map[uuid.UUID]memory.Usage{}}
	for id, u := range used {
		if u != (memory.Usage{Strength: 1}) {
			b.list.used[id] = u
		}
	}
}

// isFresh reports whether the use was read less than keepFor ago. It is false after the clock was set
// back.
func (u *storedUsage) isFresh(now time.Time, keepFor time.Duration) bool {
	return !now.Before(u.at) && now.Sub(u.at) < keepFor
}

// addDelta returns a use with the recalls of a delta.
func addDelta(u memory.Usage, d memory.UsageDelta) memory.Usage {
	u.AccessCount += d.Accesses
	if d.LastAccess.After(u.LastAccess) {
		u.LastAccess = d.LastAccess
	}
	return u
}

// forget drops the kept counts of a collection's store, which were changed without the counter.
func (c *counter) forget(collection uuid.UUID) {
	b := c.book(collection)
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.stored)
	b.list = usedList{}
	b.forgotten++
}

// flush writes the counts collection by collection in the order of ids. All processes use this
// order, so they cannot deadlock. Counts that could not be written are kept for the next flush;
// counts of a deleted collection are dropped.
func (c *counter) flush(ctx context.Context) error {
	c.mu.Lock()
	ids := make([]uuid.UUID, 0, len(c.books))
	for id := range c.books {
		ids = append(ids, id)
	}
	c.mu.Unlock()
	slices.SortFunc(ids, memory.CompareIDs)
	var first error
	for _, id := range ids {
		err := c.flushCollection(ctx, id)
		if err != nil && first == nil {
			first = err
		}
	}
	return first
}

func (c *counter) flushCollection(ctx context.Context, collection uuid.UUID) error {
	b := c.book(collection)
	if b == nil {
		return nil
	}
	b.mu.Lock()
	scope, waiting := b.scope, len(b.deltas)
	b.mu.Unlock()
	if waiting == 0 {
		c.closeBook(collection, b)
		return nil
	}
	v, err := c.store.OpenView(ctx, scope, collection.String(), memory.At{})
	if fault.Is(err, fault.NotFound) {
		b.mu.Lock()
		clear(b.deltas)
		clear(b.stored)
		b.list = usedList{}
		b.mu.Unlock()
		c.closeBook(collection, b)
		return nil
	}
	if err != nil {
		return err
	}
	b.flushing.Lock()
	defer b.flushing.Unlock()
	b.mu.Lock()
	deltas := make([]memory.UsageDelta, 0, len(b.deltas))
	for _, d := range b.deltas {
		deltas = append(deltas, d)
	}
	b.deltas = map[uuid.UUID]memory.UsageDelta{}
	b.mu.Unlock()
	slices.SortFunc(deltas, func(a, b memory.UsageDelta) int { return memory.CompareIDs(a.Note, b.Note) })
	if err := c.store.AddUsage(ctx, scope, v, deltas); err != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, d := range deltas {
			now := b.deltas[d.Note]
			d.Accesses += now.Accesses
			if now.LastAccess.After(d.LastAccess) {
				d.LastAccess = now.LastAccess
			}
			b.deltas[d.Note] = d
		}
		return err
	}
	b.keep(deltas, c.clock(), c.keepFor)
	return nil
}

// keep adds deltas that were written to the kept counts, and drops those that are too old.
func (b *book) keep(written []memory.UsageDelta, now time.Time, keepFor time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range written {
		if u, ok := b.stored[d.Note]; ok {
			u.Usage = addDelta(u.Usage, d)
			b.stored[d.Note] = u
			if _, listed := slices.BinarySearchFunc(b.list.ids, d.Note, memory.CompareIDs); listed {
				b.list.used[d.Note] = u.Usage
			}
		}
	}
	b.dropOld(now, keepFor)
}

// dropOld drops kept counts that are too old. The caller holds the lock.
func (b *book) dropOld(now time.Time, keepFor time.Duration) {
	maps.DeleteFunc(b.stored, func(_ uuid.UUID, u storedUsage) bool { return !u.isFresh(now, keepFor) })
}
