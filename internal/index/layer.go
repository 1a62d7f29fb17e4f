package index

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// ErrOutOfStep is returned when a batch does not continue the log at the layer's revision: another
// reader of the log was faster, or a part is missing. Read [Layer.Revision] again and continue from
// there.
var ErrOutOfStep = errors.New("index: batch does not continue the layer's revision")

// ErrBehind is returned when a layer has not yet reached the bound it is to be read at. Apply the
// log first.
var ErrBehind = errors.New("index: layer is behind the bound")

// Config configures a layer.
type Config struct {
	Dimensions int   // of the embedder's vectors; 0 for a collection without one
	Start      int64 // the revision that the layer's log starts after: a fork's parent revision, else 0
}

// Layer is the index of one collection's own log. All methods are safe for concurrent use.
type Layer struct {
	dimensions int
	writer     sync.Mutex // held by Apply and Compact
	data       atomic.Pointer[data]
	revision   atomic.Int64
}

// NewLayer returns an empty layer.
func NewLayer(c Config) (*Layer, error) {
	if c.Dimensions < 0 || c.Start < 0 {
		return nil, fmt.Errorf("index: dimensions %d and start %d must not be negative", c.Dimensions, c.Start)
	}
	l := &Layer{dimensions: c.Dimensions}
	l.data.Store(newData())
	l.revision.Store(c.Start)
	return l, nil
}

// Revision returns the revision up to which the layer holds the log.
func (l *Layer) Revision() int64 { return l.revision.Load() }

// Dimensions returns the number of dimensions of the layer's vectors.
func (l *Layer) Dimensions() int { return l.dimensions }

// Rows returns the number of versions that the layer holds, tombstones included.
func (l *Layer) Rows() int {
	d := l.data.Load()
	d.mu.RLock()
	defer d.mu.RUnlock()
	return len(d.rows)
}

// Ended returns the number of versions held that have an end.
func (l *Layer) Ended() int {
	d := l.data.Load()
	d.mu.RLock()
	defer d.mu.RUnlock()
	n := 0
	for _, to := range d.to {
		if to != 0 {
			n++
		}
	}
	return n
}

// Bytes returns an estimate of the memory held, in bytes.
func (l *Layer) Bytes() int64 {
	d := l.data.Load()
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.size()
}

// Apply adds the part of the log with revisions after < r <= upTo, in order of From: versions that
// began, versions that ended (repeated, with To) and vectors that were computed later (repeated,
// with Vector). A version that follows one of the same note ends it. after must be the layer's
// revision, else Apply changes nothing and returns [ErrOutOfStep]. An invalid batch changes
// nothing.
func (l *Layer) Apply(after, upTo int64, rows []Row) error {
	if err := l.follows(after, upTo); err != nil {
		return err
	}
	b := l.NewBatch()
	for part := range slices.Chunk(rows, BatchRows) {
		b.Add(len(part), func() []Row { return part })
	}
	return l.ApplyBatch(after, upTo, b)
}

// ApplyBatch is [Layer.Apply] for rows that were analyzed while others were read. It waits for the last of them.
func (l *Layer) ApplyBatch(after, upTo int64, b *Batch) error {
	order, err := b.analyzed()
	if err != nil {
		return err
	}
	for _, r := range order {
		if r.From < 1 || r.From > upTo || r.To != 0 && r.To <= r.From {
			return fmt.Errorf("index: version [%d, %d) in a batch up to %d", r.From, r.To, upTo)
		}
	}
	slices.SortStableFunc(order, func(a, b *analyzed) int { return cmp.Compare(a.From, b.From) })

	l.writer.Lock()
	defer l.writer.Unlock()
	if err := l.follows(after, upTo); err != nil {
		return err
	}
	d := l.data.Load()
	d.mu.Lock()
	defer d.mu.Unlock()
	late := false
	for _, a := range order {
		if _, known := d.findVersion(a.Note, a.From); !known && a.From <= after {
			late = true
		}
		d.add(a, padded(l.dimensions))
	}
	if late {
		// An earlier version that was not held, such as one that compaction dropped: visibility has
		// to be computed again.
		d.outOfOrder = true
		d.generation++
		clear(d.visible)
		clear(d.stacked)
	}
	l.revision.Store(upTo)
	return nil
}

// follows returns [ErrOutOfStep] unless the layer's revision is after.
func (l *Layer) follows(after, upTo int64) error {
	if upTo < after {
		return fmt.Errorf("%w: after %d up to %d", ErrOutOfStep, after, upTo)
	}
	if have := l.Revision(); have != after {
		return fmt.Errorf("%w: have %d, got after %d", ErrOutOfStep, have, after)
	}
	return nil
}

// Compact drops versions that have ended and are not live at any of the bounds. A view at a lower
// bound that needs a dropped version must be read from a layer of its own. Notes still hide what
// they hid.
func (l *Layer) Compact(bounds ...int64) {
	l.writer.Lock()
	defer l.writer.Unlock()
	d := l.data.Load()
	d.mu.RLock()
	n := d.rebuild(padded(l.dimensions), func(row uint32) bool {
		if d.to[row] == 0 {
			return true
		}
		return slices.ContainsFunc(bounds, func(b int64) bool { return isLive(d.rows[row].from, d.to[row], b) })
	})
	d.mu.RUnlock()
	l.data.Store(n)
}

// isLive reports whether a version is live at a bound. It is the only definition of visibility in
// time.
func isLive(from, to, bound int64) bool { return from <= bound && (to == 0 || to > bound) }

func wrongDimensions(got, want int) error {
	return fault.InvalidField("vector", "%d dimensions, the embedder has %d", got, want)
}
