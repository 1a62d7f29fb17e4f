package fair

import (
	"container/heap"
	"container/list"

	"github.com/google/uuid"
)

// Queue holds what tenants wait with, and serves one tenant after another. Next is an item of the tenant
// that holds the fewest slots; of several such tenants, the one that was served least since it
// began to wait, and then the one that waits longest. Items of one tenant stay in order. A tenant that
// comes back is not owed the rounds in which it did not ask.
//
// A Queue is not safe for concurrent use.
type Queue[T any] struct {
	share int   // slots that one tenant may hold; 0: no limit
	seen  *seen // who was served lately
	loose bool  // a tenant that was alone has no share
	lines map[uuid.UUID]*line[T]
	ready ready[T] // the lines with items
	now   uint64   // number of the round that is being served
	order uint64   // counts the lines that began to wait
	count int      // items in all lines
}

// line is what one tenant waits with and holds.
type line[T any] struct {
	tenant uuid.UUID
	items  list.List // of *Item[T]
	later  list.List // of *Item[T], those of PushLater
	waited bool      // the last one served was not of later, though one was there
	held   int
	round  uint64 // in which the tenant is served next
	order  uint64 // of lines that are alike otherwise, the lowest is first
	at     int    // position in ready, -1 without items
}

// Item is what waits in a Queue.
type Item[T any] struct {
	Value  T
	Tenant uuid.UUID
	in     *list.List    // of its line
	entry  *list.Element // nil when it does not wait
}

// seen knows whether one tenant alone was served lately.
type seen struct {
	served uint64    // how often any tenant was
	last   uuid.UUID // was served last
	before uint64    // when another tenant was, in that count; 0: none was
}

// aloneAfter is how often in a row a tenant is served to count as alone: seconds, for one that floods a gateway.
const aloneAfter = 1024

// serve counts that a tenant is served. The zero tenant, whose work is for all, leaves another one alone.
func (s *seen) serve(tenant uuid.UUID) {
	if tenant == uuid.Nil {
		return
	}
	if tenant != s.last {
		s.before = s.served
		s.last = tenant
	}
	s.served++
}

// isAlone reports whether no other tenant was served for long.
func (s *seen) isAlone(tenant uuid.UUID) bool {
	if s.served == 0 {
		return true
	}
	return tenant == s.last && (s.before == 0 || s.served-s.before > aloneAfter)
}

// idleLines is how many lines of tenants that neither wait nor hold anything are kept before they are forgotten.
const idleLines = 64

// NewQueue returns an empty queue. One tenant may hold at most share slots; 0: no limit.
func NewQueue[T any](share int) *Queue[T] {
	return &Queue[T]{share: max(0, share), seen: &seen{}, lines: map[uuid.UUID]*line[T]{}}
}

// Push adds an item behind the tenant's others.
func (q *Queue[T]) Push(tenant uuid.UUID, v T) *Item[T] {
	l := q.line(tenant)
	return q.push(l, &Item[T]{Value: v, Tenant: tenant, in: &l.items})
}

// PushLater is Push for what may turn out to be nothing. However many such items a tenant has, each second one that it is served is
// one of Push, as long as there are any.
func (q *Queue[T]) PushLater(tenant uuid.UUID, v T) *Item[T] {
	l := q.line(tenant)
	return q.push(l, &Item[T]{Value: v, Tenant: tenant, in: &l.later})
}

func (q *Queue[T]) push(l *line[T], it *Item[T]) *Item[T] {
	it.entry = it.in.PushBack(it)
	q.count++
	if l.at < 0 {
		q.order++
		l.order, l.round = q.order, max(l.round, q.now)
		heap.Push(&q.ready, l)
	}
	return it
}

// Remove removes an item that waits, and reports whether it did.
func (q *Queue[T]) Remove(it *Item[T]) bool {
	l := q.lines[it.Tenant]
	if it.entry == nil || l == nil {
		return false
	}
	it.in.Remove(it.entry)
	it.entry = nil
	q.count--
	if l.len() == 0 {
		heap.Remove(&q.ready, l.at)
		q.forget()
	}
	return true
}

// Next removes the next item; its tenant holds one slot more, until Release. ok is false when
// nothing waits, or only tenants with their full share.
func (q *Queue[T]) Next() (it *Item[T], ok bool) {
	if len(q.ready) == 0 {
		return nil, false
	}
	l := q.ready[0]
	if q.isFull(l) {
		return nil, false // the first has the fewest slots
	}
	from := &l.items
	if l.later.Len() > 0 && (l.waited || l.items.Len() == 0) {
		from = &l.later
	}
	l.waited = from == &l.items && l.later.Len() > 0
	it = from.Remove(from.Front()).(*Item[T]) //nolint:errcheck,forcetypeassert // the list holds nothing else
	it.entry = nil
	q.count--
	l.held++
	q.serve(l)
	if l.len() == 0 {
		heap.Remove(&q.ready, l.at)
	} else {
		heap.Fix(&q.ready, l.at)
	}
	return it, true
}

// isFull reports whether a tenant holds its share. The zero tenant, whose work is for all of them, has none.
func (q *Queue[T]) isFull(l *line[T]) bool {
	if q.share == 0 || l.held < q.share || l.tenant == uuid.Nil {
		return false
	}
	return !q.loose || !q.seen.isAlone(l.tenant)
}

// serve counts that a line is served. Rounds that it missed while it held more slots than others are not owed.
func (q *Queue[T]) serve(l *line[T]) {
	q.now = max(q.now, l.round)
	l.round = max(l.round+1, q.now)
	q.seen.serve(l.tenant)
}

// Hold counts one more slot of a tenant, which is served without an item. It reports whether its share allows
// that; if not, nothing is counted.
func (q *Queue[T]) Hold(tenant uuid.UUID) bool {
	l := q.line(tenant)
	if q.isFull(l) {
		return false
	}
	l.round = max(l.round, q.now) // it may not have waited
	q.serve(l)
	q.change(l, 1)
	return true
}

// Release returns a slot of a tenant.
func (q *Queue[T]) Release(tenant uuid.UUID) {
	if l := q.lines[tenant]; l != nil && l.held > 0 {
		q.change(l, -1)
		q.forget()
	}
}

func (q *Queue[T]) change(l *line[T], by int) {
	l.held += by
	if l.at >= 0 {
		heap.Fix(&q.ready, l.at)
	}
}

// Floods reports whether a tenant that has a share waits for more while others are served, too.
func (q *Queue[T]) Floods(tenant uuid.UUID) bool {
	return q.share > 0 && tenant != uuid.Nil && q.Waiting(tenant) > 0 && !q.seen.isAlone(tenant)
}

// Len returns how many items wait.
func (q *Queue[T]) Len() int { return q.count }

// Tenants returns how many tenants wait.
func (q *Queue[T]) Tenants() int { return len(q.ready) }

// Waiting returns how many items of a tenant wait.
func (q *Queue[T]) Waiting(tenant uuid.UUID) int {
	if l := q.lines[tenant]; l != nil {
		return l.len()
	}
	return 0
}

// Later returns how many of them are of PushLater.
func (q *Queue[T]) Later(tenant uuid.UUID) int {
	if l := q.lines[tenant]; l != nil {
		return l.later.Len()
	}
	return 0
}

func (l *line[T]) len() int { return l.items.Len() + l.later.Len() }

func (q *Queue[T]) line(tenant uuid.UUID) *line[T] {
	l := q.lines[tenant]
	if l == nil {
		l = &line[T]{tenant: tenant, at: -1}
		q.lines[tenant] = l
	}
	return l
}

// forget drops the lines of tenants that neither wait nor hold anything, when there are many.
func (q *Queue[T]) forget() {
	if len(q.lines) < 2*len(q.ready)+idleLines {
		return
	}
	for id, l := range q.lines {
		if l.at < 0 && l.held == 0 {
			delete(q.lines, id)
		}
	}
}

// ready is a heap of lines; the first is served next.
type ready[T any] []*line[T]

// Len implements heap.Interface.
func (r ready[T]) Len() int { return len(r) }

// Less implements heap.Interface.
func (r ready[T]) Less(i, j int) bool {
	a, b := r[i], r[j]
	if a.held != b.held {
		return a.held < b.held
	}
	if a.round != b.round {
		return a.round < b.round
	}
	return a.order < b.order
}

// Swap implements heap.Interface.
func (r ready[T]) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].at, r[j].at = i, j
}

// Push implements heap.Interface.
func (r *ready[T]) Push(x any) {
	l := x.(*line[T]) //nolint:errcheck,forcetypeassert // the heap holds nothing else
	l.at = len(*r)
	*r = append(*r, l)
}

// Pop implements heap.Interface.
func (r *ready[T]) Pop() any {
	all := *r
	l := all[len(all)-1]
	all[len(all)-1] = nil
	*r = all[:len(all)-1]
	l.at = -1
	return l
}
