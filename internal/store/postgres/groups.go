package postgres

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Writes to one collection that wait in this process share a transaction. The first one leads: it
// begins, and commits for all. Each write runs its closure in its own goroutine, in its turn, so
// that a panic stays with the caller whose closure it is. After one transaction the lead passes on:
// no caller works for others for ever.

// maxShared is how many writes share a transaction.
const maxShared = 32

// groups are the waiting writes, by collection.
type groups struct {
	mu      sync.Mutex
	waiting map[groupKey][]*request // there is an entry while a write leads
}

type groupKey struct{ tenant, collection uuid.UUID }

func (g *groups) init() { g.waiting = map[groupKey][]*request{} }

// request is a write that waits or runs.
type request struct {
	scope   tenant.Scope
	options memory.WriteOptions
	fn      func(context.Context, memory.Tx) error

	words chan word     // holds one word
	ended chan struct{} // a turn has ended
	state requestState  // guarded by groups.mu
	// runAlone is set when the server failed a transaction that the write shared: then each write is
	// tried alone.
	runAlone bool

	// The result of the last turn.
	written memory.Written
	kept    bool
	err     error
}

type requestState uint8

const (
	isWaiting requestState = iota
	isTaken                // by a leader, whose word it has to wait for
	isLeader
)

// word is the message of a leader to a request.
type word struct {
	lead bool
	turn *locked // write now
	// Neither: written and err are the result.
}

// Write implements memory.Writer.
func (s *Store) Write(ctx context.Context, sc tenant.Scope, collection uuid.UUID, o memory.WriteOptions, fn func(context.Context, memory.Tx) error) (memory.Written, error) {
	if err := sc.Check(); err != nil {
		return memory.Written{}, err
	}
	k := groupKey{sc.Tenant(), collection}
	r := &request{scope: sc, options: o, fn: fn, words: make(chan word, 1), ended: make(chan struct{}, 1)}
	s.groups.join(k, r)
	gone := ctx.Done()
	for {
		select {
		case w := <-r.words:
			switch {
			case w.lead:
				err := s.lead(ctx, k, r)
				return r.outcome(err)
			case w.turn != nil:
				r.turn(ctx, w.turn)
			default:
				return r.outcome(s.translate(r.err))
			}
		case <-gone:
			if s.groups.leave(k, r) {
				return memory.Written{}, s.translate(ctx.Err())
			}
			gone = nil // a leader has taken it: the result will come soon
		}
	}
}

func (r *request) outcome(err error) (memory.Written, error) {
	if err != nil {
		return memory.Written{}, err
	}
	return r.written, nil
}

// turn runs the write. When the closure ends its goroutine, by a panic or otherwise, the write
// counts as failed.
func (r *request) turn(ctx context.Context, l *locked) {
	r.written, r.kept, r.err = memory.Written{}, false, errEnded
	defer func() { r.ended <- struct{}{} }()
	r.written, r.kept, r.err = l.write(ctx, r)
}

var errEnded = errors.New("the write ended its goroutine")

// join makes the request wait, or lead when there is no leader.
func (g *groups) join(k groupKey, r *request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	list, led := g.waiting[k]
	if led {
		g.waiting[k] = append(list, r)
		return
	}
	g.waiting[k] = nil
	r.state = isLeader
	r.words <- word{lead: true}
}

// leave removes a request that waits or that has not begun to lead.
func (g *groups) leave(k groupKey, r *request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch r.state {
	case isWaiting:
		g.waiting[k] = slices.DeleteFunc(g.waiting[k], func(o *request) bool { return o == r })
	case isLeader:
		g.next(k)
	case isTaken:
		return false
	}
	return true
}

// next passes the lead on; mu is held.
func (g *groups) next(k groupKey) {
	list := g.waiting[k]
	if len(list) == 0 {
		delete(g.waiting, k)
		return
	}
	g.waiting[k] = list[1:]
	list[0].state = isLeader
	list[0].words <- word{lead: true}
}

// take returns up to n waiting requests that may share a transaction.
func (g *groups) take(k groupKey, n int) []*request {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := g.waiting[k]
	n = min(n, len(list))
	if i := slices.IndexFunc(list[:n], func(r *request) bool { return r.runAlone }); i >= 0 {
		n = i
	}
	for _, r := range list[:n] {
		r.state = isTaken
	}
	g.waiting[k] = list[n:]
	return slices.Clone(list[:n])
}

// back puts requests back to the front of the queue, except those whose callers are gone.
func (g *groups) back(k groupKey, list []*request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	list = slices.DeleteFunc(list, func(r *request) bool { return errors.Is(r.err, errEnded) })
	for _, r := range list {
		r.state = isWaiting
	}
	g.waiting[k] = append(list, g.waiting[k]...)
}

// lead runs the request, and those that wait with it, and passes the lead on.
func (s *Store) lead(ctx context.Context, k groupKey, r *request) error {
	defer func() {
		s.groups.mu.Lock()
		defer s.groups.mu.Unlock()
		s.groups.next(k)
	}()
	return s.retryAborted(ctx, func() error {
		g := group{store: s, key: k, leader: r}
		// Requests without an answer wait again, also when the closure panics.
		defer func() { s.groups.back(k, g.others) }()
		return s.transaction(ctx, k.tenant, "BEGIN", func(bare context.Context, q *session) error {
			return g.run(ctx, &locked{q: q, bare: bare, now: s.now})
		})
	})
}

// group is one shared transaction.
type group struct {
	store  *Store
	key    groupKey
	leader *request
	others []*request // requests that have no answer yet
}

// run returns the leader's result; the others are answered.
func (g *group) run(ctx context.Context, l *locked) error {
	g.gather()
	if err := l.take(g.key.tenant, g.key.collection); err != nil {
		if !isAborted(err) {
			g.answer(err) // they wait for the same lock, or for the same server
		}
		return err
	}
	g.gather() // requests that came while the lock was waited for
	shared := len(g.others) > 0
	kept := 0
	for i := -1; i < len(g.others); i++ {
		r := g.leader
		if i >= 0 {
			r = g.others[i]
		}
		if err := g.turn(ctx, l, r, shared); err != nil {
			return err
		}
		if r.kept {
			kept++
		}
	}
	if kept > 0 {
		if err := g.commit(l, shared); err != nil {
			return err
		}
	}
	g.answer(nil)
	return g.leader.err
}

// gather adds the waiting requests to the group.
func (g *group) gather() {
	if !g.leader.runAlone {
		g.others = append(g.others, g.store.groups.take(g.key, maxShared-1-len(g.others))...)
	}
}

// turn runs one request, behind a savepoint when it shares the transaction. An error of the request
// is its own; an error of the server ends the group.
func (g *group) turn(ctx context.Context, l *locked, r *request, shared bool) error {
	q := l.q
	sent, mark := q.sent, len(q.waiting)
	if shared {
		q.later("SAVEPOINT one")
	}
	if r == g.leader {
		r.written, r.kept, r.err = l.write(ctx, r)
	} else {
		r.words <- word{turn: l}
		<-r.ended
	}
	if !r.kept && q.queue != nil {
		q.queue.last = l.head.lastJob
	}
	switch {
	case q.failed != nil:
		return g.broken(errors.Join(r.err, q.failed), shared)
	case r.kept && shared:
		q.later("RELEASE SAVEPOINT one")
	case r.kept:
	case q.sent == sent:
		// None of its statements has been sent.
		q.waiting = q.waiting[:mark]
	case shared:
		q.waiting = q.waiting[:0]
		q.later("ROLLBACK TO SAVEPOINT one")
		q.later("RELEASE SAVEPOINT one")
	}
	return nil
}

// commit ends the transaction; the head is saved once for all.
func (g *group) commit(l *locked, shared bool) error {
	if err := l.q.saveHead(l.bare, g.key.tenant, g.key.collection, l.head); err != nil {
		return err
	}
	err := l.q.commit(l.bare)
	if err == nil {
		return nil
	}
	if shared && isRefused(err) {
		return g.broken(err, shared)
	}
	g.answer(err) // it may have been committed: nothing may run again
	return err
}

// errBroken is the error of a shared transaction that the server failed, and of which nothing was
// stored.
var errBroken = errors.New("a shared transaction failed")

// broken makes the requests of a shared transaction run alone, whichever of them the server
// refused.
func (g *group) broken(err error, shared bool) error {
	if !shared {
		return err
	}
	for _, r := range append(g.others, g.leader) {
		r.runAlone = true
	}
	return errors.Join(errBroken, err)
}

// answer sends the others their result.
func (g *group) answer(err error) {
	for _, r := range g.others {
		if err != nil {
			r.err = err
		}
		r.words <- word{}
	}
	g.others = nil
}

// isRefused reports whether the server itself says that it did not commit. When it ends the
// connection instead, it may have committed.
func isRefused(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.SeverityUnlocalized == "ERROR"
}
