package recall_test

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/snapshot"
	"github.com/slipboxhq/slipbox/test/must"
)

// A search leaves only the files of indexes that were searched last in the memory of the process.
func TestRecentIndexesStay(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	dir := t.TempDir()
	things, _ := r.filled("things", 80)
	others, _ := r.filled("others", 80)
	first, _ := r.process(dir, recall.Config{})
	want := r.ask(first, things, nil)
	r.ask(first, others, nil)
	r.noError(first.Stop(context.Background()))

	files := must.Get(snapshot.Open(dir))(t)
	files.RecentBytes = 1
	second, w := r.over(files, recall.Config{})
	mapped := func() (n int) {
		raw := must.Get(os.ReadFile("/proc/self/smaps"))(t)
		inside := false
		for line := range strings.Lines(string(raw)) {
			f := strings.Fields(line)
			if strings.Contains(f[0], "-") {
				inside = strings.HasPrefix(f[len(f)-1], dir)
			} else if inside && f[0] == "Rss:" && f[1] != "0" {
				n++
			}
		}
		return n
	}
	earlier := mapped() // of the first process
	for range 2 {
		r.same("the first index", r.ask(second, things, nil), want)
		r.ask(second, others, nil)
		if n := mapped() - earlier; n != 1 {
			t.Errorf("%d files of indexes are in memory", n)
		}
	}
	if n := w.rows.Load(); n != 0 {
		t.Errorf("%d rows were read from the log", n)
	}
	r.noError(second.Stop(context.Background()))
	runtime.KeepAlive(first)
}
