package sqlite

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Writes of a tenant that wait for the one writer anyway share a transaction, and so an fsync. The first one leads: it waits for its turn,
// begins, and commits for all. Each write runs in its own goroutine, so that a panic stays with its caller, and behind a
// savepoint, so that it fails alone. Then the lead passes on. One client alone has its own transaction, as before.

// maxShared is how many writes share a transaction.
const maxShared = 32

// groups are the writes that wait, by tenant.
type groups struct {
	mu      sync.Mutex
	waiting map[uuid.UUID][]*request // there is an entry while a write leads
}

// request is a write that waits or runs.
type request struct {
	ctx        context.Context //nolint:containedctx // of its caller, whose closure another write's turn runs
	scope      tenant.Scope
	collection uuid.UUID
	options    *memory.WriteOptions
	fn         func(context.Context, memory.Tx) error

	words chan word     // holds one word
	ended chan struct{} // a turn has ended
	taken bool          // by a leader, whose word it has to wait for; while mu is held
	alone bool          // a transaction that it shared has failed: then each write is tried alone
	dead  bool          // its goroutine has ended, by a panic or otherwise: it hears no word

	// The result of the last turn.
	written memory.Written
	err     error
}

// word is what a leader says to a request.
type word struct {
	lead bool     // lead yourself
	turn *session // write now; nil: written and err are the result
}

var errEnded = errors.New("the write ended its goroutine")

// grouped runs a write in a transaction that others may share.
func (s *Store) grouped(r *request) (memory.Written, error) {
	r.words, r.ended = make(chan word, 1), make(chan struct{}, 1)
	s.groups.join(r)
	gone := r.ctx.Done()
	for {
		select {
		case w := <-r.words:
			switch {
			case w.lead:
				err := s.lead(r)
				return r.written, err
			case w.turn != nil:
				s.turnOf(r, w.turn)
			default:
				return r.written, r.err
			}
		case <-gone:
			if s.groups.leave(r) {
				return memory.Written{}, s.translate(r.ctx.Err())
			}
			gone = nil // the result comes soon
		}
	}
}

// turnOf runs the write. One that ends its goroutine, by a panic or otherwise, has failed.
func (s *Store) turnOf(r *request, q *session) {
	r.written, r.err, r.dead = memory.Written{}, errEnded, true
	defer func() { r.ended <- struct{}{} }()
	r.written, r.err = s.writeIn(r.ctx, q, r)
	r.dead = false
}

// join makes the request wait, or lead when nobody does.
func (g *groups) join(r *request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	k := r.scope.Tenant()
	if list, led := g.waiting[k]; led {
		g.waiting[k] = append(list, r)
		return
	}
	g.waiting[k], r.taken = nil, true
	r.words <- word{lead: true}
}

// leave removes a request that waits.
func (g *groups) leave(r *request) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.taken {
		return false
	}
	k := r.scope.Tenant()
	g.waiting[k] = slices.DeleteFunc(g.waiting[k], func(o *request) bool { return o == r })
	return true
}

// take returns the requests that may share a transaction with the leader.
func (g *groups) take(leader *request) []*request {
	if leader.alone {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	k := leader.scope.Tenant()
	list := g.waiting[k]
	n := min(maxShared-1, len(list))
	if i := slices.IndexFunc(list[:n], func(r *request) bool { return r.alone }); i >= 0 {
		n = i
	}
	for _, r := range list[:n] {
		r.taken = true
	}
	g.waiting[k] = list[n:]
	return slices.Clone(list[:n])
}

// pass puts requests without a result back to the front, to be tried alone, and passes the lead on.
func (g *groups) pass(k uuid.UUID, back []*request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	back = slices.DeleteFunc(slices.Clone(back), func(r *request) bool { return r.dead })
	for _, r := range back {
		r.taken, r.alone = false, true
	}
	list := slices.Concat(back, g.waiting[k])
	if len(list) == 0 {
		delete(g.waiting, k)
		return
	}
	next := list[0]
	g.waiting[k], next.taken = list[1:], true
	next.words <- word{lead: true}
}

// lead runs the request, and those that wait with it.
func (s *Store) lead(r *request) error {
	var others []*request
	defer func() { s.groups.pass(r.scope.Tenant(), others) }() // also when the closure panics
	q, leave, err := s.enterWriter(r.ctx, ofCaller(r.scope.Tenant()))
	if err != nil {
		return err
	}
	defer leave()
	defer s.write.give(q)
	// The canceled leader of others does not stop them.
	ctx := r.ctx
	if others = s.groups.take(r); len(others) > 0 {
		ctx = context.WithoutCancel(ctx)
	}
	err = s.guarded(ctx, q, false, func(bare context.Context, q *session) error { return s.shared(bare, q, r, others) })
	if len(others) == 0 {
		return s.unwrapped(err)
	}
	if err == nil {
		answered := others
		others = nil
		for _, o := range answered {
			o.words <- word{}
		}
		return r.err
	}
	return s.unwrapped(s.guarded(r.ctx, q, false, func(bare context.Context, q *session) error { return s.shared(bare, q, r, nil) }))
}

// shared runs the leader's write, and those of others behind savepoints, in a transaction.
func (s *Store) shared(bare context.Context, q *session, leader *request, others []*request) (err error) {
	if len(others) == 0 {
		leader.written, err = s.writeIn(leader.ctx, q, leader)
		return err
	}
	kept := false
	for _, r := range slices.Concat([]*request{leader}, others) {
		if r.dead { // in an earlier try
			continue
		}
		if _, err := q.exec(bare, "SAVEPOINT one"); err != nil {
			return err
		}
		if r == leader {
			r.written, r.err = s.writeIn(r.ctx, q, r)
		} else {
			r.words <- word{turn: q}
			<-r.ended
		}
		if q.failed != nil { // the transaction may be gone, and with it what others wrote
			return q.failed
		}
		if r.err == nil {
			r.err = s.translate(r.ctx.Err())
		}
		if r.err != nil {
			if _, err := q.exec(bare, "ROLLBACK TO SAVEPOINT one"); err != nil {
				return err
			}
			r.err = s.unwrapped(r.err)
		} else {
			kept = true
		}
		if _, err := q.exec(bare, "RELEASE SAVEPOINT one"); err != nil {
			return err
		}
	}
	if !kept {
		return store.ErrRollback
	}
	return nil
}

// unwrapped returns the error of a write as its caller sees it.
func (s *Store) unwrapped(err error) error {
	if e, ok := errors.AsType[closureError](err); ok {
		err = e.error
	}
	if errors.Is(err, store.ErrRollback) {
		return nil
	}
	return s.translate(err)
}
