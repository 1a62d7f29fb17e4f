package recall

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// logBatch is how many rows of the log an index takes in at once. What was
// taken in stays, so a load that ran into its deadline goes on at the next read.
const logBatch = 2_000

// registry holds the indexes of layers. They are shared by every view that
// reads the layer and brought up to date by the reader that finds them behind.
type registry struct {
	store    memory.Reader
	log      *slog.Logger
	budget   int64
	compact  int // ended versions from which on an index is compacted
	timeout  time.Duration
	loads    chan struct{} // a token per cold layer that is being filled
	sequence atomic.Int64  // orders uses

	mu     sync.Mutex
	layers map[layerKey]*layerEntry
}

// layerKey names an index. Ids of collections are unique across tenants.
type layerKey struct {
	layer    uuid.UUID
	embedder string
	at       int64 // of a transient index, the only bound it serves; 0: the current one
}

// layerEntry is one index with what it was filled from.
type layerEntry struct {
	key   layerKey
	below uuid.UUID // the next layer of the lineage, zero at its end; it moves when a fork is made independent
	epoch int64     // of erasure
	index *index.Layer
	turn  chan struct{} // held by the one reader that brings it up to date
	used  atomic.Int64
	bytes atomic.Int64
	busy  atomic.Bool // being brought up to date

	// What compaction left: a view is opened first and asks then whether it saw
	// all that it needs.
	left atomic.Pointer[remains]

	bounds map[int64]int64 // bounds read last → when, in the order of uses; under the registry's lock
}

// remains says which bounds a compacted index still serves.
type remains struct {
	from int64 // and all above
	at   map[int64]bool
}

// keptBounds is how many bounds an index remembers as in use: fork points,
// times that are read, heads that somebody may still be reading.
const keptBounds = 16

// serves tells whether what is live at a bound is all there.
func (e *layerEntry) serves(bound int64) bool {
	left := e.left.Load()
	return left == nil || bound >= left.from || left.at[bound]
}

func newRegistry(store memory.Reader, log *slog.Logger, cfg Config) *registry {
	return &registry{
		store: store, log: log, budget: cfg.IndexBytes, compact: cfg.CompactFrom, timeout: cfg.LoadTimeout,
		loads: make(chan struct{}, cfg.Loads), layers: map[layerKey]*layerEntry{},
	}
}

// view gives the index of a view, at the view's bounds.
func (g *registry) view(ctx context.Context, s tenant.Scope, v memory.View) (*index.View, error) {
	entries := make([]*layerEntry, len(v.Layers))
	bounds := make([]index.Bound, len(v.Layers))
	ready := func(i int, at int64) error {
		e, err := g.entry(&v, i, at)
		if err != nil {
			return err
		}
		bound := int64(v.Layers[i].Bound)
		if e.index.Revision() < bound {
			if err := g.catchUp(ctx, s, v, i, e); err != nil {
				return err
			}
		}
		entries[i], bounds[i] = e, index.Bound{Layer: e.index, At: bound}
		return nil
	}
	for i := range v.Layers {
		if err := ready(i, 0); err != nil {
			return nil, err
		}
	}
	for {
		opened, err := index.Open(bounds)
		if err != nil {
			return nil, fault.Wrap(err, fault.Internal, "the index could not be opened")
		}
		whole := true
		for i, e := range entries {
			if e.serves(bounds[i].At) {
				continue
			}
			whole = false
			if err := ready(i, bounds[i].At); err != nil {
				return nil, err
			}
		}
		if whole {
			return opened, nil
		}
	}
}

// entry finds the index of the view's i-th layer, or begins an empty one when
// there is none or what it was filled from is no longer so. at is 0 for the
// current index, else the bound of a transient one.
func (g *registry) entry(v *memory.View, i int, at int64) (*layerEntry, error) {
	l := v.Layers[i]
	key := layerKey{layer: l.Collection, embedder: v.Collection.Embedder, at: at}
	var below uuid.UUID
	if i+1 < len(v.Layers) {
		below = v.Layers[i+1].Collection
	}
	if i == 0 && v.Collection.State == memory.CollectionCopying {
		// Rows still arrive below its head, so nothing that is built now may be kept.
		return newEntry(key, below, l.EraseEpoch, v.Collection.Dim)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	e, ok := g.layers[key]
	if !ok || e.below != below || e.epoch < l.EraseEpoch {
		var err error
		if e, err = newEntry(key, below, l.EraseEpoch, v.Collection.Dim); err != nil {
			return nil, err
		}
		g.layers[key] = e
	}
	now := g.sequence.Add(1)
	e.used.Store(now)
	e.bounds[int64(l.Bound)] = now
	if len(e.bounds) > keptBounds {
		oldest := int64(l.Bound)
		for b, used := range e.bounds {
			if used < e.bounds[oldest] {
				oldest = b
			}
		}
		delete(e.bounds, oldest)
	}
	return e, nil
}

func newEntry(key layerKey, below uuid.UUID, epoch int64, dimensions int) (*layerEntry, error) {
	made, err := index.NewLayer(index.Config{Dimensions: dimensions})
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the index could not be made")
	}
	return &layerEntry{key: key, below: below, epoch: epoch, index: made, turn: make(chan struct{}, 1), bounds: map[int64]int64{}}, nil
}

// catchUp reads the log after what the index holds. One reader does, the
// others wait for it; past the deadline the read is Unavailable, and what was
// taken in stays.
func (g *registry) catchUp(ctx context.Context, s tenant.Scope, v memory.View, i int, e *layerEntry) error {
	waiting, cancel := context.WithTimeout(ctx, g.timeout)
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
	if e.index.Revision() == 0 {
		select {
		case g.loads <- struct{}{}:
			defer func() { <-g.loads }()
		case <-waiting.Done():
			return late()
		}
	}
	e.busy.Store(true)
	defer e.busy.Store(false)
	if err := g.read(waiting, s, v, i, e.index); err != nil {
		if waiting.Err() != nil {
			return late()
		}
		return err
	}
	if have := e.index.Revision(); have < bound {
		return fault.New(fault.Internal, "the log of a layer ends at %d, before the bound %d", have, bound)
	}
	g.shrink(e)
	e.bytes.Store(e.index.Bytes())
	g.fit(e)
	return nil
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
func (g *registry) read(ctx context.Context, s tenant.Scope, v memory.View, i int, into *index.Layer) error {
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
		Note: n.ID, From: int64(n.From), To: int64(r.To), Tombstone: n.Deleted, Content: n.Content, Vector: n.Vector,
		Record: filter.Record{
			Kind: string(n.Kind), Tags: n.Tags, Keywords: n.Keywords, Category: n.Category, Importance: n.Importance,
			OccurredAt: n.OccurredAt, CreatedAt: n.CreatedAt, State: string(n.State), Attributes: n.Attributes,
		},
	}
	if n.Context != memory.DefaultContext {
		row.Context = n.Context
	}
	return row
}

// fit drops the least recently used indexes until the rest fit the budget. The
// one in use stays, whatever its size.
func (g *registry) fit(keep *layerEntry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var total int64
	for _, e := range g.layers {
		total += e.bytes.Load()
	}
	for total > g.budget {
		var oldest *layerEntry
		for _, e := range g.layers {
			if e != keep && !e.busy.Load() && (oldest == nil || e.used.Load() < oldest.used.Load()) {
				oldest = e
			}
		}
		if oldest == nil {
			return
		}
		total -= oldest.bytes.Load()
		delete(g.layers, oldest.key)
	}
}

// evict drops the indexes of a layer.
func (g *registry) evict(layer uuid.UUID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key := range g.layers {
		if key.layer == layer {
			delete(g.layers, key)
		}
	}
}

// state tells about the indexes of a view.
func (g *registry) state(v memory.View) IndexState {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := IndexState{State: StateReady}
	bounds := make([]index.Bound, 0, len(v.Layers))
	for i, l := range v.Layers {
		e, ok := g.layers[layerKey{layer: l.Collection, embedder: v.Collection.Embedder}]
		if !ok {
			out.State = StateCold
			continue
		}
		if e.index.Revision() < int64(l.Bound) && out.State != StateCold {
			out.State = StateCold
			if e.busy.Load() {
				out.State = StateLoading
			}
		}
		if i == 0 {
			out.Revision = memory.Revision(e.index.Revision())
		}
		out.Bytes += e.bytes.Load()
		bounds = append(bounds, index.Bound{Layer: e.index, At: int64(l.Bound)})
	}
	if out.State == StateReady {
		if opened, err := index.Open(bounds); err == nil {
			out.Notes = int64(opened.Len())
		}
	}
	return out
}
