package index

import "runtime"

// Cosines returns the cosine of each note with each that comes before it: out[i][j] for j < i. It is 0 where one of
// them is not visible or has no vector.
func (v *View) Cosines(notes []ID) [][]float64 {
	defer runtime.KeepAlive(v) // vectors may be a part of a snapshot, which the view keeps
	c := v.sessionChain()
	vectors, known := make([]packed, len(notes)), make([]bool, len(notes))
	for i, note := range notes {
		if layer, row, ok := v.locateNote(note); ok {
			vectors[i], known[i] = v.vector(c, int32(v.layers[layer].base+row)) //nolint:gosec // rows fit
		}
	}
	out := make([][]float64, len(notes))
	for i := range notes {
		out[i] = make([]float64, i)
		if !known[i] || i == 0 {
			continue
		}
		one := newQueryVector(vectors[i])
		for j := range i {
			if known[j] {
				out[i][j] = one.cosine(&vectors[j])
			}
		}
	}
	return out
}
