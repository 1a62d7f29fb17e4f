package recall

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

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
	loaded   atomic.Int64  // cold layers that were filled

	mu      sync.Mutex
	layers  map[layerKey]*layerEntry
	evicted int64 // layers, for want of room
}

// layerKey names an index. Ids of collections are unique across tenants.
type layerKey struct {
	layer    uuid.UUID
	embedder string
	vectors  uuid.UUID // the job that made them anew, zero where they came with their notes: another one has added others
	at       int64     // of a transient index, the only bound it serves; 0: the current one
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
	whole atomic.Bool // was brought up to date once; else it is cold

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

// view gives the index of a view, at the view's bounds. It waits for at most
// the given time where layers have to be read.
func (g *registry) view(ctx context.Context, s tenant.Scope, v memory.View, patience time.Duration) (*index.View, error) {
	entries := make([]*layerEntry, len(v.Layers))
	bounds := make([]index.Bound, len(v.Layers))
	ready := func(i int, at int64) error {
		e, err := g.entry(&v, i, at)
		if err != nil {
			return err
		}
		bound := int64(v.Layers[i].Bound)
		if e.index.Revision() < bound {
			if err := g.catchUp(ctx, s, v, i, e, patience); err != nil {
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

// known gives the index of the view's i-th layer if there is one and what it
// was filled from is still so. The lock is held.
func (g *registry) known(v *memory.View, i int, at int64) (key layerKey, below uuid.UUID, e *layerEntry) {
	key = layerKey{layer: v.Layers[i].Collection, embedder: v.Collection.Embedder, vectors: v.Collection.Reembedded, at: at}
	if i+1 < len(v.Layers) {
		below = v.Layers[i+1].Collection
	}
	e, ok := g.layers[key]
	if !ok || e.below != below || e.epoch < v.Layers[i].EraseEpoch {
		return key, below, nil
	}
	return key, below, e
}

// cold tells whether a read of the view would wait until a layer is filled.
// What a copy under way needs is filled anew each time and never cold.
func (g *registry) cold(v *memory.View) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, l := range v.Layers {
		if l.Bound == 0 || i == 0 && v.Collection.State == memory.CollectionCopying {
			continue
		}
		_, _, e := g.known(v, i, 0)
		if e != nil && e.whole.Load() && !e.serves(int64(l.Bound)) {
			_, _, e = g.known(v, i, int64(l.Bound))
		}
		if e == nil || !e.whole.Load() {
			return true
		}
	}
	return false
}

// entry finds the index of the view's i-th layer, or begins an empty one when
// there is none or what it was filled from is no longer so. at is 0 for the
// current index, else the bound of a transient one.
func (g *registry) entry(v *memory.View, i int, at int64) (*layerEntry, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := v.Layers[i]
	key, below, e := g.known(v, i, at)
	if i == 0 && v.Collection.State == memory.CollectionCopying {
		// Rows still arrive below its head, so nothing that is built now may be kept.
		return newEntry(key, below, l.EraseEpoch, v.Collection.Dim)
	}
	if e == nil {
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
		g.evicted++
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

// holds tells whether the index of a layer is loaded.
func (g *registry) holds(layer uuid.UUID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, e := range g.layers {
		if key.layer == layer && key.at == 0 && e.whole.Load() {
			return true
		}
	}
	return false
}

// refresh brings the nearest layer of a view up to date if it is loaded. It is
// no use of it: what nobody reads makes room first.
func (g *registry) refresh(ctx context.Context, s tenant.Scope, v memory.View) error {
	g.mu.Lock()
	_, _, e := g.known(&v, 0, 0)
	g.mu.Unlock()
	if e == nil || !e.whole.Load() || e.index.Revision() >= int64(v.Layers[0].Bound) {
		return nil
	}
	return g.catchUp(ctx, s, v, 0, e, g.timeout)
}

// state tells about the indexes of a view.
func (g *registry) state(v memory.View) IndexState {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := IndexState{State: StateReady}
	bounds := make([]index.Bound, 0, len(v.Layers))
	for i, l := range v.Layers {
		e, ok := g.layers[layerKey{layer: l.Collection, embedder: v.Collection.Embedder, vectors: v.Collection.Reembedded}]
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
