package recall

// Stats tell how the indexes of this process do.
type Stats struct {
	Bytes     int64 // of memory, of all indexes
	Budget    int64 // of bytes
	Layers    int   // that are held
	Loads     int64 // of cold layers since the start
	Evictions int64 // for want of room since the start
}

// Stats gives the state of the moment.
func (r *Service) Stats() Stats {
	g := r.indexes
	g.mu.Lock()
	defer g.mu.Unlock()
	out := Stats{Budget: g.budget, Layers: len(g.layers), Loads: g.loaded.Load(), Evictions: g.evicted}
	for _, e := range g.layers {
		out.Bytes += e.bytes.Load()
	}
	return out
}
