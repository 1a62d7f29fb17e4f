package eval

import "testing"

func TestNumbersOfAnAxis(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.25: "0.25", 640: "640", 999: "999", 1000: "1,000", 9999: "9,999", 12e3: "12k", 1.6e6: "1.6M"} {
		if got := short(v); got != want {
			t.Errorf("%g is written %q, want %q", v, got, want)
		}
	}
}
