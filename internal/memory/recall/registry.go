package recall

import (
	"context"
	"log/slog"
	"maps"
	"math"
	"sync"
	"sync/atomic"
	"time"
	"weak"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fair"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/snapshot"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// registry holds the indexes of layers. All views that read a layer share its index; a reader that
// finds it behind its view updates it.
type registry struct {
	store       memory.Reader
	log         *slog.Logger
	spans       spans
	budget      int64
	compactFrom int // as Config.CompactFrom
	timeout     time.Duration
	loadTurns   *fair.Gate   // of cold layers that are filled
	sequence    atomic.Int64 // orders uses
	loadCount   atomic.Int64 // of cold layers

	snapshots     *snapshot.Dir // nil: indexes are not kept as files
	reach         func(tenant uuid.UUID) tenant.Scope
	clock         memory.Clock
	snapshotLoads atomic.Int64 // of cold layers that were filled from a file
	// grown is called when an index was brought up to date and its file is much older; nil: no call.
	grown func(e *layerEntry)

	mu      sync.Mutex
	layers  map[layerKey]*layerEntry
	evicted int64 // layers, to keep the budget
}

// layerKey identifies an index. Ids of collections are unique across tenants.
type layerKey struct {
	layer    uuid.UUID
	embedder string
	// vectors is the job that computed the vectors; zero if they were written with their notes. Each
	// re-embedding has another index.
	vectors uuid.UUID
	// at is the only bound that a transient index serves; 0: the current index.
	at int64
}

// layerEntry is an index and what it was filled from.
type layerEntry struct {
	key        layerKey
	parent     uuid.UUID // the next layer of the lineage, zero at its end; it changes when a fork is made independent
	epoch      int64     // of erasure
	index      *index.Layer
	updateLock chan struct{} // held by the one reader that updates the index
	lastUse    atomic.Int64
	bytes      atomic.Int64
	updating   atomic.Bool
	fromLog    bool                      // it is a rebuild, which uses no file
	filled     atomic.Bool               // it was up to date once; otherwise it is cold
	tenant     atomic.Pointer[uuid.UUID] // set before it is filled
	savedRows  atomic.Int64              // in the file of the index; 0: there is none
	savedAt    atomic.Int64              // the revision of the file

	// served is what compaction left. A view is opened first, and then checks that the index still had
	// all that it needs.
	served atomic.Pointer[servedBounds]

	// Both under the registry's lock.
	bounds map[int64]int64             // recent bounds → when they were used
	file   weak.Pointer[snapshot.File] // that the index reads; weak: the index keeps it as long as it does
}

// servedBounds are the bounds that a compacted index still serves.
type servedBounds struct {
	from int64 // this one and all above
	at   map[int64]bool
}

// trackedBounds is how many recent bounds an index remembers: fork points, times of as-of reads,
// heads of reads in progress.
const trackedBounds = 16

// isServed reports whether the index still has everything that is live at a bound.
func (e *layerEntry) isServed(bound int64) bool {
	left := e.served.Load()
	return left == nil || bound >= left.from || left.at[bound]
}

func newRegistry(store memory.Reader, log *slog.Logger, t spans, cfg Config) *registry {
	return &registry{
		store: store, log: log, spans: t, budget: cfg.IndexBytes, compactFrom: cfg.CompactFrom, timeout: cfg.LoadTimeout,
		loadTurns: fair.NewGate(cfg.Loads, max(1, cfg.Loads/2)), layers: map[layerKey]*layerEntry{},
	}
}

// openView returns the index of a view, at the view's bounds. It waits at most the given time for
// layers to be read.
func (g *registry) openView(ctx context.Context, s tenant.Scope, v memory.View, timeout time.Duration) (*index.View, error) {
	entries := make([]*layerEntry, len(v.Layers))
	bounds := make([]index.Bound, len(v.Layers))
	ready := func(i int, at int64) error {
		of, own := v.Origin(i)
		e, err := g.entry(s, of, own, at)
		if err != nil {
			return err
		}
		bound := int64(v.Layers[i].Bound)
		if e.index.Revision() < bound {
			if err := g.catchUp(ctx, s, *of, own, e, timeout); err != nil {
				return err
			}
		} else if bound > 0 && !e.filled.Load() {
			g.settle(s, e)
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
			if e.isServed(bounds[i].At) {
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

// lookup returns the key and the index of the view's i-th layer; the index is nil if there is none,
// or if it was filled from another parent or before an erasure. The caller holds the lock.
func (g *registry) lookup(v *memory.View, i int, at int64) (key layerKey, parent uuid.UUID, e *layerEntry) {
	key = layerKey{layer: v.Layers[i].Collection, embedder: v.Collection.Embedder, vectors: v.Collection.Reembedded, at: at}
	parent = parentOf(v, i)
	e, ok := g.layers[key]
	if !ok || e.parent != parent || e.epoch < v.Layers[i].EraseEpoch {
		return key, parent, nil
	}
	return key, parent, e
}

// parentOf returns the layer after the view's i-th, zero when it is the last.
func parentOf(v *memory.View, i int) (parent uuid.UUID) {
	if i+1 < len(v.Layers) {
		parent = v.Layers[i+1].Collection
	}
	return parent
}

// isCold reports whether a read of the view would wait until a layer is filled. The index of a copy
// in progress is filled for each read, and never cold.
func (g *registry) isCold(v *memory.View) bool { return g.isBehind(v, math.MaxInt64) }

// isBehind is isCold, and also reports whether the index of a layer lacks more than some revisions.
func (g *registry) isBehind(v *memory.View, revisions int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, l := range v.Layers {
		of, own := v.Origin(i)
		if l.Bound == 0 || own == 0 && of.Collection.State == memory.CollectionCopying {
			continue
		}
		_, _, e := g.lookup(of, own, 0)
		if e != nil && e.filled.Load() && !e.isServed(int64(l.Bound)) {
			_, _, e = g.lookup(of, own, int64(l.Bound))
		}
		if e == nil || !e.filled.Load() || int64(l.Bound)-e.index.Revision() > revisions {
			return true
		}
	}
	return false
}

// heldOf returns how many rows the indexes of a view's layers hold, and whether one is being filled, or can be from a file.
func (g *registry) heldOf(tenantID uuid.UUID, v *memory.View) (rows int64, loads bool) {
	for i, l := range v.Layers {
		if l.Bound == 0 {
			continue
		}
		of, own := v.Origin(i)
		g.mu.Lock()
		key, _, e := g.lookup(of, own, 0)
		g.mu.Unlock()
		if e != nil && e.updating.Load() {
			return 0, true
		}
		if e != nil && e.index.Revision() > 0 {
			rows += int64(e.index.Rows())
			continue
		}
		if g.snapshots != nil && g.snapshots.Has(snapshotName(tenantID, key)) {
			return 0, true
		}
	}
	return rows, false
}

// entry returns the index of the view's i-th layer, an empty one if lookup has none. at is 0 for the
// current index, else the bound of a transient one.
func (g *registry) entry(s tenant.Scope, v *memory.View, i int, at int64) (*layerEntry, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := v.Layers[i]
	key, parent, e := g.lookup(v, i, at)
	if i == 0 && v.Collection.State == memory.CollectionCopying {
		// Rows are still added below its head, so the index cannot be kept.
		return newEntry(key, parent, l.EraseEpoch, v.Collection.Dim)
	}
	if e == nil {
		var err error
		if e, err = newEntry(key, parent, l.EraseEpoch, v.Collection.Dim); err != nil {
			return nil, err
		}
		e.tenant.Store(new(s.Tenant()))
		g.layers[key] = e
	}
	if g.snapshots != nil {
		g.snapshots.Use(e.file)
	}
	now := g.sequence.Add(1)
	e.lastUse.Store(now)
	e.bounds[int64(l.Bound)] = now
	if len(e.bounds) > trackedBounds {
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

func newEntry(key layerKey, parent uuid.UUID, epoch int64, dimensions int) (*layerEntry, error) {
	made, err := index.NewLayer(index.Config{Dimensions: dimensions})
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the index could not be created")
	}
	return &layerEntry{key: key, parent: parent, epoch: epoch, index: made, updateLock: make(chan struct{}, 1), bounds: map[int64]int64{}}, nil
}

// enforceBudget drops the least recently used indexes until the others fit into the budget. It never
// drops the given one, even if it is larger than the budget.
func (g *registry) enforceBudget(keep *layerEntry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var total int64
	for _, e := range g.layers {
		total += e.bytes.Load()
	}
	for total > g.budget {
		var oldest *layerEntry
		for _, e := range g.layers {
			if e != keep && !e.updating.Load() && (oldest == nil || e.lastUse.Load() < oldest.lastUse.Load()) {
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

// evict drops the indexes of a layer, and their files.
func (g *registry) evict(tenantID, layer uuid.UUID) {
	g.mu.Lock()
	maps.DeleteFunc(g.layers, func(key layerKey, _ *layerEntry) bool { return key.layer == layer })
	g.mu.Unlock()
	if g.snapshots == nil {
		return
	}
	if err := g.snapshots.Remove(tenantID, layer); err != nil {
		g.log.Error("the snapshot of an index could not be removed; remove it by hand if its collection was deleted",
			slog.String("layer", layer.String()), slog.Any("error", err))
	}
}

// evictTenant drops the indexes of a tenant that were read, and the files of all of them.
func (g *registry) evictTenant(tenantID uuid.UUID) {
	g.mu.Lock()
	maps.DeleteFunc(g.layers, func(_ layerKey, e *layerEntry) bool {
		owner := e.tenant.Load()
		return owner != nil && *owner == tenantID
	})
	g.mu.Unlock()
	if g.snapshots == nil {
		return
	}
	if err := g.snapshots.RemoveTenant(tenantID); err != nil {
		g.log.Error("the snapshots of a tenant's indexes could not be removed; remove them by hand if it was deleted",
			slog.String("tenant", tenantID.String()), slog.Any("error", err))
	}
}

// held returns the layers that were read and that only includes, by tenant.
func (g *registry) held(only memory.Due) map[uuid.UUID][]uuid.UUID {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := map[uuid.UUID][]uuid.UUID{}
	for key, e := range g.layers {
		if owner := e.tenant.Load(); owner != nil && only.Includes(*owner, key.layer) {
			out[*owner] = append(out[*owner], key.layer)
		}
	}
	return out
}

// dropErased drops the indexes of a layer that were filled in an earlier erase epoch.
func (g *registry) dropErased(layer uuid.UUID, epoch int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	maps.DeleteFunc(g.layers, func(key layerKey, e *layerEntry) bool { return key.layer == layer && e.epoch < epoch })
}

// rebuild fills an index of the view's i-th layer from the log, and replaces the one in use when the
// new one is complete. Reads use the old one meanwhile.
func (g *registry) rebuild(ctx context.Context, s tenant.Scope, v memory.View, i int) error {
	l := v.Layers[i]
	if l.Bound == 0 || i == 0 && v.Collection.State == memory.CollectionCopying {
		g.evict(s.Tenant(), l.Collection)
		return nil
	}
	g.mu.Lock()
	key, parent, _ := g.lookup(&v, i, 0)
	g.mu.Unlock()
	made, err := newEntry(key, parent, l.EraseEpoch, v.Collection.Dim)
	if err != nil {
		return err
	}
	made.fromLog = true
	made.bounds[int64(l.Bound)] = g.sequence.Add(1)
	made.lastUse.Store(made.bounds[int64(l.Bound)])
	if err := g.catchUp(ctx, s, v, i, made, rebuildTimeout); err != nil {
		return err
	}
	g.evict(s.Tenant(), l.Collection) // those of other embedders too
	g.mu.Lock()
	g.layers[key] = made
	g.mu.Unlock()
	g.updateSize(made)
	g.saveGrown(made)
	return nil
}

// rebuildTimeout bounds the filling of one layer; the job that rebuilds has a deadline of its own.
const rebuildTimeout = 30 * time.Minute

// isLoaded reports whether the index of a layer is loaded.
func (g *registry) isLoaded(layer uuid.UUID) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key, e := range g.layers {
		if key.layer == layer && key.at == 0 && e.filled.Load() {
			return true
		}
	}
	return false
}

// refresh updates the index of the nearest layer of a view if it is loaded. This does not count as a
// use, so indexes that nobody reads are dropped first.
func (g *registry) refresh(ctx context.Context, s tenant.Scope, v memory.View) error {
	g.mu.Lock()
	_, _, e := g.lookup(&v, 0, 0)
	g.mu.Unlock()
	if e == nil || !e.filled.Load() || e.index.Revision() >= int64(v.Layers[0].Bound) {
		return nil
	}
	return g.catchUp(ctx, s, v, 0, e, g.timeout)
}

// indexState returns the state of the indexes of a view.
func (g *registry) indexState(v memory.View) IndexState {
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
			if e.updating.Load() {
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
