package store

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/x448/float16"
)

// TestHalves: every half is decoded to the number that it stands for.
func TestHalves(t *testing.T) {
	t.Parallel()
	all := make([]byte, 0, 2<<16)
	for h := range 1 << 16 {
		all = binary.LittleEndian.AppendUint16(all, uint16(h))
	}
	for h, got := range HalfOf(all) {
		want := float16.Frombits(uint16(h)).Float32()
		if math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("%#x: %v, want %v", h, got, want)
		}
	}
}
