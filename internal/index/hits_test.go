package index

import "bytes"

// Before reports whether h is ordered before o: a higher score first, then the lower note id.
func (h Hit) Before(o Hit) bool {
	if h.Score != o.Score {
		return h.Score > o.Score
	}
	return bytes.Compare(h.Note[:], o.Note[:]) < 0
}
