package recall

import "github.com/slipboxhq/slipbox/internal/index"

// Stats describe the indexes of this process.
type Stats struct {
	Bytes     int64 // of all indexes
	Budget    int64 // in bytes
	Layers    int   // that are in memory
	Loads     int64 // of cold layers, since the start
	Evictions int64 // to keep the budget, since the start
	Compared  int64 // notes that searches compared with their filters, since the start
}

// counted counts how many notes were compared for a selection, and returns it.
func (r *Service) counted(sel *index.Selection) *index.Selection {
	if sel != nil {
		r.compared.Add(int64(sel.Compared))
	}
	return sel
}

// Stats returns the current statistics.
func (r *Service) Stats() Stats {
	g := r.indexes
	g.mu.Lock()
	defer g.mu.Unlock()
	out := Stats{Budget: g.budget, Layers: len(g.layers), Loads: g.loadCount.Load(), Evictions: g.evicted, Compared: r.compared.Load()}
	for _, e := range g.layers {
		out.Bytes += e.bytes.Load()
	}
	return out
}
