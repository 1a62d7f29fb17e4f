package index

import (
	"math"
	"slices"
	"testing"
)

// How alike tokens are shows which of two encoders has made them.
func TestAlike(t *testing.T) {
	t.Parallel()
	token := func(places ...int) []byte {
		code := make([]byte, TokenDim)
		for _, i := range places {
			code[i] = byte(codeLength / math.Sqrt(float64(len(places))))
		}
		return code
	}
	for name, tt := range map[string]struct {
		codes []byte
		want  float64
	}{
		"none": {}, "one": {codes: token(1)}, "the same": {slices.Concat(token(1), token(1)), 1}, "square": {slices.Concat(token(1), token(2)), 0},
		"three": {slices.Concat(token(1), token(1), token(2)), 1. / 3}, "half": {slices.Concat(token(1, 2), token(1, 3)), .5},
	} {
		if got := alike(tt.codes); math.Abs(got-tt.want) > 0.03 {
			t.Errorf("%s: %.3f, want %.3f", name, got, tt.want)
		}
	}
}
