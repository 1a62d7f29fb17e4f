package seal_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/slipboxhq/slipbox/internal/seal"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestSeal(t *testing.T) {
	t.Parallel()
	w := must.Get(seal.New([]byte("a secret of thirty-two bytes, or more"), "test"))(t)
	sealed := w.Seal("owner", []byte("private"))
	if bytes.Contains(sealed, []byte("private")) || bytes.Equal(sealed, w.Seal("owner", []byte("private"))) {
		t.Error("not encrypted, or encrypted twice with the same result")
	}
	if got, err := w.Open("owner", sealed); err != nil || string(got) != "private" {
		t.Errorf("got %q, %v", got, err)
	}
	for i := range sealed {
		bad := slices.Clone(sealed)
		bad[i] ^= 1
		if _, err := w.Open("owner", bad); err == nil {
			t.Errorf("opened with byte %d changed", i)
		}
	}
	for _, bad := range [][]byte{nil, sealed[:1], sealed[:20]} {
		if _, err := w.Open("owner", bad); err == nil {
			t.Errorf("opened %d bytes", len(bad))
		}
	}
	if _, err := w.Open("other", sealed); err == nil {
		t.Error("opened with another owner")
	}
	for _, other := range [][2]string{{"a secret of thirty-two bytes, or more", "other"}, {"another secret of thirty-two bytes", "test"}} {
		o := must.Get(seal.New([]byte(other[0]), other[1]))(t)
		if _, err := o.Open("owner", sealed); !errors.Is(err, seal.ErrSealed) {
			t.Errorf("opened with %q", other)
		}
	}
}
