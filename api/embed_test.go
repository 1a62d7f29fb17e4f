package contract

import (
	"bytes"
	"os"
	"testing"
)

func TestDocumentsArePacked(t *testing.T) {
	t.Parallel()
	for name, got := range map[string][]byte{"openapi.yaml": OpenAPI(), "mem0.yaml": Mem0()} {
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what is embedded: run make generate", name)
		}
	}
}
