package recall

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fair"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// logBatch is how many rows of the log an index reads in one batch. Batches are kept, so the next read
// continues a load that timed out.
const logBatch = 2_000

// catchUp reads the part of the log that the index does not have. One reader does so, the others
// wait for it. After the timeout the read is Unavailable; batches read by then are kept.
func (g *registry) catchUp(ctx context.Context, s tenant.Scope, v memory.View, i int, e *layerEntry, timeout time.Duration) (err error) {
	ctx, end := g.spans.start(ctx, spanLoad, telemetry.Collection.String(v.Layers[i].Collection.String()))
	defer end(&err)
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	late := func() error {
		if err := ctx.Err(); err != nil {
			return fault.Wrap(err, fault.Timeout, "the read was given up while the index was loading")
		}
		return &fault.Error{Code: fault.Unavailable, Message: "the index is loading; try again", RetryAfter: time.Second}
	}
	select {
	case e.updateLock <- struct{}{}:
		defer func() { <-e.updateLock }()
	case <-waiting.Done():
		return late()
	}
	bound := int64(v.Layers[i].Bound)
	if e.index.Revision() >= bound {
		return nil
	}
	if !e.filled.Load() {
		leave, err := g.loadTurns.Enter(waiting, s.Tenant(), fair.Foreground)
		if err != nil {
			return late()
		}
		defer leave()
	}
	e.updating.Store(true)
	defer e.updating.Store(false)
	if !e.filled.Load() {
		g.loadSnapshot(ctx, s, v, i, e)
		if e.index.Revision() > 0 { // little is left, so the time that the file took does not count
			waiting, cancel = context.WithTimeout(ctx, timeout)
			defer cancel()
		}
	}
	if e.index.Revision() < bound {
		if err := g.readLog(waiting, s, v, i, e); err != nil {
			if waiting.Err() != nil {
				return late()
			}
			return err
		}
	}
	if have := e.index.Revision(); have < bound {
		return fault.New(fault.Internal, "the log of a layer ends at %d, before the bound %d", have, bound)
	}
	g.complete(s, e)
	return nil
}

// complete notes that an index is up to date. The caller holds the update lock.
func (g *registry) complete(s tenant.Scope, e *layerEntry) {
	e.tenant.Store(new(s.Tenant()))
	if !e.filled.Swap(true) {
		g.loadCount.Add(1)
		g.log.Debug("an index is loaded", slog.String("layer", e.key.layer.String()), slog.Int("versions", e.index.Rows()), slog.Int64("revision", e.index.Revision()))
	}
	g.compact(e)
	g.updateSize(e)
	g.saveGrown(e)
}

// settle completes a load that was given up after its last batch: nothing is left to read. While another
// reader updates the index it does nothing.
func (g *registry) settle(s tenant.Scope, e *layerEntry) {
	select {
	case e.updateLock <- struct{}{}:
		defer func() { <-e.updateLock }()
		g.complete(s, e)
	default:
	}
}

// updateSize stores the size of an index, and makes room for it.
func (g *registry) updateSize(e *layerEntry) {
	e.bytes.Store(e.index.Bytes())
	g.enforceBudget(e)
}

// compact drops ended versions when they are many and most of the index, except those that bounds in
// use still see. The caller holds the update lock, so the revision of the index does not change.
func (g *registry) compact(e *layerEntry) {
	if e.key.at != 0 {
		e.index.Compact(e.key.at)
		return
	}
	if ended := e.index.Ended(); ended < g.compactFrom || 2*ended < e.index.Rows() {
		return
	}
	left := &servedBounds{from: e.index.Revision(), at: map[int64]bool{}}
	g.mu.Lock()
	inUse := make([]int64, 0, len(e.bounds))
	for b := range e.bounds {
		if e.isServed(b) {
			inUse = append(inUse, b)
			left.at[b] = true
		}
	}
	g.mu.Unlock()
	before := e.index.Rows()
	e.served.Store(left)
	e.index.Compact(inUse...)
	g.log.Debug("an index dropped versions that nobody reads", slog.String("layer", e.key.layer.String()),
		slog.Int("versions", before), slog.Int("left", e.index.Rows()))
}

// readLog streams the log into the index in batches. It never splits a revision. What was read is analyzed while more is read.
func (g *registry) readLog(ctx context.Context, s tenant.Scope, v memory.View, i int, e *layerEntry) error {
	into := e.index
	batch, n, last := into.NewBatch(), 0, int64(0)
	var read []memory.LogRow
	add := func() {
		part := read
		batch.Add(len(part), func() []index.Row {
			rows := make([]index.Row, len(part))
			for i := range part {
				rows[i] = indexRow(&part[i])
			}
			return rows
		})
		read = make([]memory.LogRow, 0, index.BatchRows)
	}
	apply := func(upTo int64) error {
		add()
		if err := g.applyBatch(into, upTo, batch); err != nil {
			return err
		}
		batch, n = into.NewBatch(), 0
		return ctx.Err()
	}
	upTo, err := g.store.Log(ctx, s, v, i, memory.Revision(into.Revision()), v.Collection.Embedder, func(r memory.LogRow) error {
		from := int64(r.Note.From)
		switch {
		case n >= logBatch && from > last:
			if err := apply(max(last, into.Revision())); err != nil {
				return err
			}
			g.updateSize(e)
		case len(read) == index.BatchRows:
			add()
		}
		read, n, last = append(read, r), n+1, from
		return nil
	})
	if err != nil {
		return err
	}
	return apply(int64(upTo))
}

// applyBatch applies a batch to an index. A vector that the index refuses is dropped and logged, so
// that a damaged row does not make the collection unreadable.
func (g *registry) applyBatch(into *index.Layer, upTo int64, batch *index.Batch) error {
	after := into.Revision()
	err := into.ApplyBatch(after, upTo, batch)
	if !fault.Is(err, fault.Invalid) {
		return wrapIndex(err)
	}
	rows := batch.Rows()
	for i := range rows {
		if rows[i].Vector == nil {
			continue
		}
		_, bad := index.Round(rows[i].Vector)
		if bad == nil && len(rows[i].Vector) == into.Dimensions() {
			continue
		}
		g.log.Error("a stored vector cannot be used; the note is found by words only",
			slog.String("note", uuid.UUID(rows[i].Note).String()), slog.Int64("revision", rows[i].From))
		rows[i].Vector = nil
	}
	return wrapIndex(into.Apply(after, upTo, rows))
}

func wrapIndex(err error) error {
	var f *fault.Error
	if err == nil || errors.As(err, &f) {
		return err
	}
	return fault.Wrap(err, fault.Internal, "the log could not be applied to the index")
}

// indexRow returns a version as a row of the index. Its words come from the same texts as its
// vector, so the default context is left out.
func indexRow(r *memory.LogRow) index.Row {
	n := &r.Note
	row := index.Row{
		Note: n.ID, From: int64(n.From), To: int64(r.To), Tombstone: n.Deleted, Content: n.Content, Vector: n.Vector, Tokens: n.Tokens,
		Record: *n.FilterRecord(),
	}
	if !n.Deleted {
		row.Digest = memory.DigestOf(n)
	}
	if n.Context != memory.DefaultContext {
		row.Context = n.Context
	}
	return row
}
