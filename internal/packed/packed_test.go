package packed_test

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/slipboxhq/slipbox/internal/packed"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestUnpack(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	w := gzip.NewWriter(&file)
	must.Get(w.Write([]byte("what was embedded")))(t)
	must.Do(t, w.Close())
	got, err := packed.Unpack(file.Bytes())
	if err != nil || string(got) != "what was embedded" {
		t.Errorf("%q, %v", got, err)
	}
	for name, damaged := range map[string][]byte{"empty": nil, "no gzip": []byte("what was embedded"), "cut": file.Bytes()[:file.Len()-9]} {
		if got, err := packed.Unpack(damaged); err == nil {
			t.Errorf("%s: %q is no error", name, got)
		}
	}
}
