package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// locked is a collection whose head a transaction has locked. The writes of one transaction take
// turns with it: what each one leaves is what the next one finds.
type locked struct {
	q      *session
	bare   context.Context //nolint:containedctx // of the transaction
	row    store.CollectionRow
	found  bool // the collection exists
	head   head
	layers []memory.Layer
	now    func() time.Time
}

// take locks the head. The row is read by a statement of its own: it sees what was written while the lock was waited for. The layers
// of a fork take one more round trip.
func (l *locked) take(tenantID, collection uuid.UUID) error {
	l.q.LockHead(tenantID, collection)
	var err error
	l.found, err = l.q.get(l.bare, "SELECT "+collectionColumns+", "+headColumns+collectionTables+"WHERE c.tenant = $1 AND c.id = $2",
		[]any{tenantID, collection}, append(l.row.Dest(), l.head.dest()...)...)
	if err != nil || !l.found {
		return err
	}
	l.q.queue = &queue{collection, l.head.lastJob}
	l.layers, err = l.q.Layers(l.bare, l.row, l.head.Revision)
	return err
}

// write runs one write. An error means that the statements it sent must be undone; kept is false
// when there is nothing to commit.
func (l *locked) write(ctx context.Context, r *request) (w memory.Written, kept bool, err error) {
	if err := ctx.Err(); err != nil {
		return w, false, err
	}
	now := l.now()
	if !l.found {
		return w, false, fault.Missing("collection")
	}
	replay, err := store.CheckWrite(l.bare, l.q, r.scope, &l.row, &r.options, now)
	if err != nil {
		return w, false, err
	}
	if replay != nil {
		return memory.Written{Revision: l.head.Revision, Replay: replay}, false, nil
	}
	t := store.NewTx(l.bare, l.q, r.scope, l.row, l.head.Head, l.layers, now)
	if err := r.fn(ctx, t); err != nil {
		return w, false, err
	}
	h, row, logged, err := t.Finish(&r.options)
	if err != nil {
		return w, false, err
	}
	if err := ctx.Err(); err != nil {
		return w, false, err
	}
	l.head = head{Head: h, lastJob: l.q.queue.last}
	l.row.EvolvedAdds = row.EvolvedAdds
	l.row.Embedder, l.row.Dim, l.row.Reembedded = row.Embedder, row.Dim, row.Reembedded
	return memory.Written{Revision: h.Revision, Logged: logged, Told: t.Told()}, true, nil
}
