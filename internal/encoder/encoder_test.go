package encoder

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// modelDir is where the weights are for tests.
func modelDir(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("SLIPBOX_ENCODER_DIR")
	if dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			tb.Fatal(err)
		}
		dir = filepath.Join(cache, "slipbox", "encoder")
	}
	_, err := os.Stat(filepath.Join(dir, ModelFile))
	switch {
	case !errors.Is(err, fs.ErrNotExist):
	case os.Getenv("SLIPBOX_REQUIRE_SERVICES") == "1":
		tb.Fatalf("the encoder's weights are not in %s: run gateway encoder install", dir)
	default:
		tb.Skipf("the encoder's weights are not in %s: run gateway encoder install", dir)
	}
	return dir
}

// open returns an encoder on the published weights.
func open(tb testing.TB) *Encoder {
	tb.Helper()
	e, err := Open(modelDir(tb))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	return e
}
