package contract

import (
	"bytes"
	"os"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

func TestDocumentsArePacked(t *testing.T) {
	t.Parallel()
	for name, got := range map[string][]byte{"openapi.yaml": OpenAPI(), "mem0.yaml": Mem0()} {
		want := must.Get(os.ReadFile(name))(t)
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what is embedded: run make generate", name)
		}
	}
}
