package encoder

import (
	"context"
	"strings"
	"testing"
)

// sentence has 26 pieces, 28 with the frame: a usual turn of a conversation.
var sentence = strings.Repeat("the garden was quiet and the rain had ", 2) + "stopped before they came home again , we ate ."

func BenchmarkEncode(b *testing.B) {
	for _, kernel := range available() {
		e := open(b)
		e.kernels = kernel
		for _, n := range []int{1, 32} {
			name := map[int]string{1: "single", 32: "batch"}[n]
			b.Run(kernel.name+"/"+name, func(b *testing.B) {
				texts := make([]string, n)
				for i := range texts {
					texts[i] = sentence
				}
				before := cpuTime(b)
				for b.Loop() {
					if _, err := e.Encode(context.Background(), texts); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric((cpuTime(b)-before).Seconds()*1e3/float64(b.N*n), "cpu-ms/text")
			})
		}
	}
}
