//go:build unix

package encoder

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/test/must"
)

// sentence has 26 pieces, 28 with the frame: a typical turn of a conversation.
var sentence = strings.Repeat("the garden was quiet and the rain had ", 2) + "stopped before they came home again , we ate ."

// BenchmarkEncode encodes one text, as a search does, and many, as an import does.
// tools/encoder/compare.py compares its processor time with another implementation.
func BenchmarkEncode(b *testing.B) {
	for _, kernel := range available() {
		b.Run(kernel.name, func(b *testing.B) {
			e := open(b)
			e.kernels = kernel
			for _, n := range []int{1, 32} {
				b.Run(fmt.Sprintf("texts=%d", n), func(b *testing.B) {
					texts := make([]string, n)
					for i := range texts {
						texts[i] = sentence
					}
					before := cpuTime(b)
					for b.Loop() {
						must.Get(e.Encode(b.Context(), texts))(b)
					}
					if mb := peakMemory(b); mb > 0 {
						b.ReportMetric(mb, "resident-MB")
					}
					b.ReportMetric((cpuTime(b)-before).Seconds()*1e3/float64(b.N*n), "cpu-ms/text")
				})
			}
		})
	}
}

func BenchmarkOpen(b *testing.B) {
	dir := modelDir(b, MiniLM)
	for b.Loop() {
		e := must.Get(Open(MiniLM, dir))(b)
		must.Do(b, e.Close())
	}
}

// peakMemory returns the largest resident memory of the process so far in MB, or 0 when the system
// does not report it.
func peakMemory(tb testing.TB) float64 {
	tb.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		var kb float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kb); err == nil {
			return kb / 1e3
		}
	}
	return 0
}

// cpuTime returns the processor time that the process has used so far.
func cpuTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	must.Do(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
