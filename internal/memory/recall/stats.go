package recall

// Stats describe the indexes of this process.
type Stats struct {
	Bytes     int64 // of all indexes
	Budget    int64 // in bytes
	Layers    int   // that are in memory
	Loads     int64 // of cold layers, since the start
	Evictions int64 // to keep the budget, since the start
}

// Stats returns the current statistics.
func (r *Service) Stats() Stats {
	g := r.indexes
	g.mu.Lock()
	defer g.mu.Unlock()
	out := Stats{Budget: g.budget, Layers: len(g.layers), Loads: g.loadCount.Load(), Evictions: g.evicted}
	for _, e := range g.layers {
		out.Bytes += e.bytes.Load()
	}
	return out
}
