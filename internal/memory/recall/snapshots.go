package recall

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"time"
	"weak"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/snapshot"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

const (
	// snapshotRows is how many rows an index has before it is kept as a file: fewer are read from the log
	// as fast.
	snapshotRows = 64
	// snapshotGrowth is the part of a file's rows that must have been added before it is written again, as
	// one in snapshotGrowth, and snapshotStep the fewest rows.
	snapshotGrowth = 2
	snapshotStep   = 1024
	// largeSnapshot is the size, in bytes, from which on memory that a file replaces is given back immediately.
	largeSnapshot = 64 << 20
	// unusedFor is how long a file of other vectors than the collection's own is kept after it was written.
	unusedFor = 7 * 24 * time.Hour
)

// snapshotFoot follows the bytes of an index in its file, with its length and checksum: what the index
// was filled from. It decides whether the file may be used. What is visible is never read from a file:
// the index continues with the log after Revision.
type snapshotFoot struct {
	Tenant   uuid.UUID `json:"tenant"`
	Layer    uuid.UUID `json:"layer"`
	Parent   uuid.UUID `json:"parent"`
	Epoch    int64     `json:"epoch"`
	Embedder string    `json:"embedder"`
	Vectors  uuid.UUID `json:"vectors"`
	Revision int64     `json:"revision"`
	// Stamp is the changeset of Revision. Another history of the same collection, such as that of a
	// restored backup, has another one.
	Stamp stamp `json:"stamp"`
	// What compaction left, see servedBounds; ServedFrom 0: everything.
	ServedFrom int64   `json:"served_from,omitempty"`
	ServedAt   []int64 `json:"served_at,omitempty"`
}

// footEnd is the length of a foot's length and checksum.
const footEnd = 4 + 4

// errStale is returned for a file that does not belong to the log.
var errStale = errors.New("the file belongs to another log")

// snapshotName returns the name of the file of an index.
func snapshotName(tenantID uuid.UUID, k layerKey) snapshot.Name {
	sum := sha256.Sum256(append(k.vectors[:], k.embedder...))
	return snapshot.Name{Tenant: tenantID, Collection: k.layer, Kind: hex.EncodeToString(sum[:8])}
}

// loadSnapshot fills an empty index from its file, if there is one that belongs to the log. The caller
// holds the update lock. A file that cannot be used is removed: it is written again from the log.
func (g *registry) loadSnapshot(ctx context.Context, s tenant.Scope, v memory.View, i int, e *layerEntry) {
	if g.snapshots == nil || e.fromLog || e.key.at != 0 || e.index.Revision() != 0 || i == 0 && v.Collection.State == memory.CollectionCopying {
		return
	}
	f, err := g.snapshots.Read(snapshotName(s.Tenant(), e.key))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = g.useSnapshot(ctx, s, v, i, e, f)
	}
	if err == nil || ctx.Err() != nil {
		return
	}
	g.log.Info("the snapshot of an index cannot be used; the index is filled from the log",
		slog.String("layer", e.key.layer.String()), slog.Any("reason", err))
	if err := g.snapshots.Remove(s.Tenant(), e.key.layer); err != nil {
		g.log.Warn("the snapshot of an index could not be removed", slog.Any("error", err))
	}
}

func (g *registry) useSnapshot(ctx context.Context, s tenant.Scope, v memory.View, i int, e *layerEntry, f *snapshot.File) error {
	payload, foot, err := splitSnapshot(f.Bytes())
	if err != nil {
		return err
	}
	if foot.Tenant != s.Tenant() || foot.Layer != e.key.layer || foot.Parent != e.parent || foot.Epoch != e.epoch ||
		foot.Embedder != e.key.embedder || foot.Vectors != e.key.vectors {
		return errStale
	}
	if now, err := g.stampOf(ctx, s, v, i, foot.Revision); err != nil || now != foot.Stamp {
		return cmp.Or(err, errStale)
	}
	if err := e.index.ReadSnapshot(payload, f); err != nil {
		return err //nolint:wrapcheck // it is logged
	}
	f.Unload() // the checksums took all of it; searches use the codes, and little of the rest
	g.reads(e, f)
	if foot.ServedFrom > 0 {
		left := &servedBounds{from: foot.ServedFrom, at: map[int64]bool{}}
		for _, b := range foot.ServedAt {
			left.at[b] = true
		}
		e.served.Store(left)
	}
	e.savedRows.Store(int64(e.index.Rows()))
	e.savedAt.Store(foot.Revision)
	g.snapshotLoads.Add(1)
	return nil
}

// reads notes that an index reads a file, and is about to.
func (g *registry) reads(e *layerEntry, f *snapshot.File) {
	g.mu.Lock()
	defer g.mu.Unlock()
	e.file = weak.Make(f)
	g.snapshots.Use(e.file)
}

// stamp tells a changeset from that of another history with the same revision.
type stamp struct {
	At    time.Time    `json:"at"`
	Actor string       `json:"actor"`
	Job   uuid.UUID    `json:"job"`
	Cause memory.Cause `json:"cause"`
}

// stampOf returns the stamp of a revision of a layer's log; errStale when the log has none, such as that
// of a copy before its first write.
func (g *registry) stampOf(ctx context.Context, s tenant.Scope, v memory.View, i int, revision int64) (stamp, error) {
	if i > 0 || v.At < memory.Revision(revision) {
		// A fork, or a read of the past, sees less than the index may hold. Its reader may not reach the base.
		var err error
		s = g.reach(s.Tenant())
		if v, err = g.store.OpenView(ctx, s, v.Layers[i].Collection.String(), memory.At{}); err != nil {
			return stamp{}, err
		}
	}
	list, err := g.store.Changesets(ctx, s, v, memory.Revision(revision-1), 1)
	if err != nil {
		return stamp{}, err
	}
	if len(list) != 1 || list[0].Revision != memory.Revision(revision) {
		return stamp{}, errStale
	}
	return stamp{At: list[0].At.UTC(), Actor: list[0].Actor, Job: list[0].Job, Cause: list[0].Cause}, nil
}

// isUnsaved reports whether the file of an index is much older than the index.
func (g *registry) isUnsaved(e *layerEntry) bool {
	if g.snapshots == nil || e.fromLog || e.key.at != 0 || !e.filled.Load() {
		return false
	}
	rows, saved := int64(e.index.Rows()), e.savedRows.Load()
	if saved == 0 {
		return rows >= snapshotRows
	}
	// Compaction makes an index smaller than its file.
	return rows < saved || rows-saved >= max(snapshotStep, saved/snapshotGrowth)
}

// saveGrown has the file of an index written in the background, when it is much older than the index.
func (g *registry) saveGrown(e *layerEntry) {
	if g.grown != nil && g.isUnsaved(e) && g.isCurrent(e) {
		g.grown(e)
	}
}

// saveSnapshot writes the file of an index, and lets the index use its vectors from there.
func (g *registry) saveSnapshot(ctx context.Context, e *layerEntry) error {
	s := g.reach(*e.tenant.Load())
	name := snapshotName(s.Tenant(), e.key)
	if _, err := g.stampNow(ctx, s, e, e.index.Revision()); err != nil {
		return err // it would not be used
	}
	var written index.Written
	err := g.snapshots.Write(name, func() bool { return ctx.Err() == nil && g.isCurrent(e) }, func(w io.Writer) error {
		var err error
		if written, err = e.index.WriteSnapshot(&stoppableWriter{ctx, w}); err != nil {
			return err //nolint:wrapcheck // it is logged
		}
		foot := snapshotFoot{
			Tenant: s.Tenant(), Layer: e.key.layer, Parent: e.parent, Epoch: e.epoch, Embedder: e.key.embedder, Vectors: e.key.vectors,
			Revision: written.Revision,
		}
		if foot.Stamp, err = g.stampNow(ctx, s, e, written.Revision); err != nil {
			return err
		}
		// Read after the rows: compaction sets it before it drops rows.
		if left := e.served.Load(); left != nil {
			foot.ServedFrom, foot.ServedAt = left.from, slices.Sorted(maps.Keys(left.at))
		}
		return writeFoot(w, &foot)
	})
	if err != nil {
		return err //nolint:wrapcheck // it is logged
	}
	e.savedRows.Store(int64(written.Rows))
	e.savedAt.Store(written.Revision)
	f, err := g.snapshots.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was removed meanwhile
	}
	if err != nil {
		return err //nolint:wrapcheck // it is logged
	}
	payload, foot, err := splitSnapshot(f.Bytes())
	if err != nil || foot.Revision != written.Revision {
		return err // another process has replaced it
	}
	if err := e.index.UseSnapshot(written, payload, f); err != nil {
		return err //nolint:wrapcheck // it is logged
	}
	f.Unload()
	g.reads(e, f)
	g.updateSize(e)
	if len(payload) >= largeSnapshot {
		debug.FreeOSMemory() // the heap would keep what the file replaced until it has doubled
	}
	return nil
}

// stampNow returns the stamp of a revision of an index that still belongs to its log: errStale after an
// erasure or when a fork was made independent, NotFound when the collection was deleted.
func (g *registry) stampNow(ctx context.Context, s tenant.Scope, e *layerEntry, revision int64) (stamp, error) {
	v, err := g.store.OpenView(ctx, s, e.key.layer.String(), memory.At{})
	if err != nil {
		return stamp{}, err
	}
	if v.Layers[0].EraseEpoch != e.epoch || parentOf(&v, 0) != e.parent {
		return stamp{}, errStale
	}
	return g.stampOf(ctx, s, v, 0, revision)
}

// isCurrent reports whether an index is still in use: not evicted, and not replaced.
func (g *registry) isCurrent(e *layerEntry) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.layers[e.key] == e
}

// stoppableWriter fails when its context has ended.
type stoppableWriter struct {
	ctx context.Context //nolint:containedctx // of the one call that writes
	to  io.Writer
}

func (w *stoppableWriter) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.to.Write(b) //nolint:wrapcheck // a writer
}

func writeFoot(w io.Writer, foot *snapshotFoot) error {
	raw, err := json.Marshal(foot)
	if err != nil {
		return fmt.Errorf("write the foot of a snapshot: %w", err)
	}
	n := len(raw)
	raw = binary.LittleEndian.AppendUint32(raw, uint32(n))               //nolint:gosec // some hundred bytes
	raw = binary.LittleEndian.AppendUint32(raw, crc32.ChecksumIEEE(raw)) // with the length
	_, err = w.Write(raw)
	return err //nolint:wrapcheck // a writer
}

// splitSnapshot returns the bytes of the index and the foot of a file.
func splitSnapshot(data []byte) (payload []byte, foot snapshotFoot, err error) {
	le := binary.LittleEndian
	if len(data) < footEnd {
		return nil, foot, index.ErrSnapshot
	}
	end := len(data) - footEnd
	n := int64(le.Uint32(data[end:]))
	if n > int64(end) {
		return nil, foot, index.ErrSnapshot
	}
	start := end - int(n)
	if le.Uint32(data[end+4:]) != crc32.ChecksumIEEE(data[start:end+4]) {
		return nil, foot, index.ErrSnapshot
	}
	d := json.NewDecoder(bytes.NewReader(data[start:end]))
	if err := d.Decode(&foot); err != nil {
		return nil, foot, fmt.Errorf("read the foot of a snapshot: %w", err)
	}
	return data[:start], foot, nil
}

// saveAhead writes the file of an index in the background.
func (r *Service) saveAhead(e *layerEntry) {
	r.saving.add(e.key.layer, func(ctx context.Context) {
		if r.indexes.isUnsaved(e) && r.indexes.isCurrent(e) {
			r.logUnsaved(ctx, e, r.indexes.saveSnapshot(ctx, e))
		}
	})
}

// saveAll writes the files of all indexes that have changed, as far as ctx allows.
func (r *Service) saveAll(ctx context.Context) {
	if r.indexes.snapshots == nil {
		return
	}
	r.indexes.mu.Lock()
	entries := slices.Collect(maps.Values(r.indexes.layers))
	r.indexes.mu.Unlock()
	for _, e := range entries {
		if ctx.Err() != nil {
			return
		}
		if e.key.at != 0 || !e.filled.Load() || e.index.Rows() < snapshotRows || e.index.Revision() == e.savedAt.Load() {
			continue
		}
		r.logUnsaved(ctx, e, r.indexes.saveSnapshot(ctx, e))
	}
}

func (r *Service) logUnsaved(ctx context.Context, e *layerEntry, err error) {
	if err != nil && ctx.Err() == nil && !fault.Is(err, fault.NotFound) && !errors.Is(err, errStale) && !errors.Is(err, snapshot.ErrUnwanted) {
		r.log.Warn("the snapshot of an index could not be written; after a start the index is filled from the log",
			slog.String("layer", e.key.layer.String()), slog.Any("error", err))
	}
}

// Sweep drops the indexes of collections that are gone, or from before an erasure, and their files; also files of vectors that the
// collection no longer has and that were not written for unusedFor. It is for what other processes deleted or erased, and when
// collections were deleted with something else, such as their agent. It looks only at what only includes.
func (r *Service) Sweep(ctx context.Context, only memory.Due) error {
	names, err := r.indexes.snapshots.Names(only.Tenant)
	if err != nil {
		return err //nolint:wrapcheck // it names what failed
	}
	names = slices.DeleteFunc(names, func(n snapshot.Name) bool { return !only.Includes(n.Tenant, n.Collection) })
	held := r.indexes.held(only)
	for _, n := range names {
		held[n.Tenant] = append(held[n.Tenant], n.Collection)
	}
	states := map[uuid.UUID]memory.LayerState{} // ids of collections are unique across tenants
	for t, layers := range held {
		known, err := r.store.LayerStates(ctx, r.reach(t), layers)
		if err != nil {
			return err
		}
		maps.Copy(states, known)
		for _, id := range layers {
			if now, ok := known[id]; !ok {
				r.Evict(t, id)
			} else {
				r.indexes.dropErased(id, now.EraseEpoch)
			}
		}
	}
	for _, n := range names {
		now, ok := states[n.Collection]
		if ok && r.indexes.isUnused(n, now) {
			if err := r.indexes.snapshots.RemoveFile(n); err != nil {
				return err //nolint:wrapcheck // it names what failed
			}
		}
	}
	return nil
}

// isUnused reports whether no index is filled from a file any more. A file that cannot be read is left to
// the next reader.
func (g *registry) isUnused(n snapshot.Name, now memory.LayerState) bool {
	f, err := g.snapshots.Read(n)
	if err != nil {
		return false
	}
	_, foot, err := splitSnapshot(f.Bytes())
	if err != nil {
		return false
	}
	if foot.Epoch < now.EraseEpoch {
		return true
	}
	// Forks may have vectors of their own for the layers of their base.
	own := foot.Embedder == now.Embedder && foot.Vectors == now.Reembedded
	return !own && g.clock().Sub(f.WrittenAt()) > unusedFor
}
