package recall

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// logBatch is how many rows of the log an index takes in at once. What was
// taken in stays, so a load that ran into its deadline goes on at the next read.
const logBatch = 2_000

// catchUp reads the log after what the index holds. One reader does, the
// others wait for it; past the deadline the read is Unavailable, and what was
// taken in stays.
func (g *registry) catchUp(ctx context.Context, s tenant.Scope, v memory.View, i int, e *layerEntry, patience time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	late := func() error {
		if err := ctx.Err(); err != nil {
			return fault.Wrap(err, fault.Timeout, "the read was given up while the index was loading")
		}
		return &fault.Error{Code: fault.Unavailable, Message: "the index is loading; try again", RetryAfter: time.Second}
	}
	select {
	case e.turn <- struct{}{}:
		defer func() { <-e.turn }()
	case <-waiting.Done():
		return late()
	}
	bound := int64(v.Layers[i].Bound)
	if e.index.Revision() >= bound {
		return nil
	}
	if !e.whole.Load() {
		select {
		case g.loads <- struct{}{}:
			defer func() { <-g.loads }()
		case <-waiting.Done():
			return late()
		}
	}
	e.busy.Store(true)
	defer e.busy.Store(false)
	if err := g.read(waiting, s, v, i, e); err != nil {
		if waiting.Err() != nil {
			return late()
		}
		return err
	}
	if have := e.index.Revision(); have < bound {
		return fault.New(fault.Internal, "the log of a layer ends at %d, before the bound %d", have, bound)
	}
	if !e.whole.Swap(true) {
		g.loaded.Add(1)
	}
	g.shrink(e)
	g.weigh(e)
	return nil
}

// weigh notes what an index has come to, and makes room for it.
func (g *registry) weigh(e *layerEntry) {
	e.bytes.Store(e.index.Bytes())
	g.fit(e)
}

// shrink drops versions that have ended, once they are many and most of the
// index, but for those that bounds in use still see. The turn is held, so the
// index stands at one revision.
func (g *registry) shrink(e *layerEntry) {
	if e.key.at != 0 {
		e.index.Compact(e.key.at)
		return
	}
	if ended := e.index.Ended(); ended < g.compact || 2*ended < e.index.Rows() {
		return
	}
	left := &remains{from: e.index.Revision(), at: map[int64]bool{}}
	g.mu.Lock()
	inUse := make([]int64, 0, len(e.bounds))
	for b := range e.bounds {
		if e.serves(b) {
			inUse = append(inUse, b)
			left.at[b] = true
		}
	}
	g.mu.Unlock()
	before := e.index.Rows()
	e.left.Store(left)
	e.index.Compact(inUse...)
	g.log.Debug("an index dropped what nobody reads", slog.String("layer", e.key.layer.String()),
		slog.Int("versions", before), slog.Int("left", e.index.Rows()))
}

// read streams the log into the index, a batch at a time and never parting a
// revision.
func (g *registry) read(ctx context.Context, s tenant.Scope, v memory.View, i int, e *layerEntry) error {
	into := e.index
	after := into.Revision()
	var rows []index.Row
	apply := func(upTo int64) error {
		if err := g.apply(into, into.Revision(), upTo, rows); err != nil {
			return err
		}
		rows = rows[:0]
		return ctx.Err()
	}
	upTo, err := g.store.Log(ctx, s, v, i, memory.Revision(after), v.Collection.Embedder, func(r memory.LogRow) error {
		from := int64(r.Note.From)
		if len(rows) >= logBatch && from > rows[len(rows)-1].From {
			if err := apply(max(rows[len(rows)-1].From, into.Revision())); err != nil {
				return err
			}
			g.weigh(e)
		}
		rows = append(rows, indexRow(&r))
		return nil
	})
	if err != nil {
		return err
	}
	return apply(int64(upTo))
}

// apply takes a batch in. A vector that the index refuses is left out with a
// line in the log, so that one damaged row does not cost the collection.
func (g *registry) apply(into *index.Layer, after, upTo int64, rows []index.Row) error {
	err := into.Apply(after, upTo, rows)
	if !fault.Is(err, fault.Invalid) {
		return wrapIndex(err)
	}
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
	return fault.Wrap(err, fault.Internal, "the index could not take in the log")
}

// indexRow gives a version as the index wants it. Words come from the same
// parts as the vector: the default context is nobody's words.
func indexRow(r *memory.LogRow) index.Row {
	n := &r.Note
	row := index.Row{
		Note: n.ID, From: int64(n.From), To: int64(r.To), Tombstone: n.Deleted, Content: n.Content, Vector: n.Vector, Tokens: n.Tokens,
		Record: *recordOf(n),
	}
	if n.Context != memory.DefaultContext {
		row.Context = n.Context
	}
	return row
}
