package amem

import "github.com/slipboxhq/slipbox/internal/memory"

// Reanalyzes reports that notes and messages are described and linked again. What the caller supplied stays.
func (*Policy) Reanalyzes(kind memory.Kind) bool {
	return kind == memory.KindNote || kind == memory.KindMessage
}

var _ memory.Reanalyzer = (*Policy)(nil)
