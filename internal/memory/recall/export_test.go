package recall

import "github.com/google/uuid"

// Books returns the number of collections with a book in the counter.
func (r *Service) Books() int {
	r.counter.mu.Lock()
	defer r.counter.mu.Unlock()
	return len(r.counter.books)
}

// Versions returns the number of versions in the current index of a layer.
func (r *Service) Versions(layer uuid.UUID) int {
	r.indexes.mu.Lock()
	defer r.indexes.mu.Unlock()
	n := 0
	for key, e := range r.indexes.layers {
		if key.layer == layer && key.at == 0 {
			n += e.index.Rows()
		}
	}
	return n
}

// Resident returns the reported size of all indexes, in bytes.
func (r *Service) Resident() int64 {
	r.indexes.mu.Lock()
	defer r.indexes.mu.Unlock()
	var n int64
	for _, e := range r.indexes.layers {
		n += e.bytes.Load()
	}
	return n
}
