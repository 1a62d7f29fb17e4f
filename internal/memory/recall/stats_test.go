package recall_test

import (
	"fmt"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

func TestStats(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	r.watch(recall.Config{IndexBytes: 1, WarmNotes: -1})
	if got := r.recall.Stats(); got != (recall.Stats{Budget: 1}) {
		t.Errorf("at the start %+v", got)
	}
	for i := range 3 {
		c := r.collection(fmt.Sprintf("things-%d", i))
		r.add(c, "only this")
		r.search(c, recall.Query{Text: "only"})
		r.add(c, "and this")
		r.search(c, recall.Query{Text: "only"}) // reads the rest of the log, which is not a load
	}
	got := r.recall.Stats()
	if got.Bytes <= 0 || got.Layers != 1 || got.Loads != 3 || got.Evictions != 2 {
		t.Errorf("under a budget of nothing %+v", got)
	}
}
