package snapshot

import (
	"container/list"
	"sync"
	"weak"
)

const (
	// recentBytes is Dir.RecentBytes, unless it is set.
	recentBytes = 48 << 20
	// smallFile is the size up to which a file is small, in bytes. To map the pages of a small one again takes about 12 µs, 1.5 % of
	// a search; a larger one, of which a search reads a part, would take a larger part of its time.
	smallFile = 2 << 20
)

// recent knows the small files that were used last.
type recent struct {
	mu    sync.Mutex
	bytes int64
	order list.List // of use, the last in front
	files map[weak.Pointer[File]]*list.Element
}

// use is weak: a file that was replaced must not stay mapped for this.
type use struct {
	of    weak.Pointer[File]
	bytes int64
}

// Use notes that a file is about to be read. When the small files that were used have more than RecentBytes, those that were not
// used for longest are unloaded: many small collections take no more memory of the process than some. The zero pointer is not a
// file.
func (d *Dir) Use(p weak.Pointer[File]) {
	f := p.Value()
	if f == nil || len(f.data) > smallFile {
		return
	}
	for _, old := range d.recent.add(use{p, int64(len(f.data))}, d.RecentBytes) {
		if f := old.Value(); f != nil {
			f.Unload()
		}
	}
}

// add adds a use, and returns the files that are dropped to keep a limit. The used one is not.
func (r *recent) add(u use, limit int64) (dropped []weak.Pointer[File]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, known := r.files[u.of]; known {
		r.order.MoveToFront(e)
		return nil
	}
	if r.files == nil {
		r.files = map[weak.Pointer[File]]*list.Element{}
	}
	r.files[u.of] = r.order.PushFront(u)
	r.bytes += u.bytes
	for r.bytes > limit && len(r.files) > 1 {
		oldest := r.order.Remove(r.order.Back()).(use) //nolint:errcheck,forcetypeassert // the list has no others
		delete(r.files, oldest.of)
		r.bytes -= oldest.bytes
		dropped = append(dropped, oldest.of)
	}
	return dropped
}
