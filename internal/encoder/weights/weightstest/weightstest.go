// Package weightstest provides the encoder's weights to tests.
package weightstest

import (
	"os"
	"testing"

	"github.com/slipboxhq/slipbox/internal/encoder"
	"github.com/slipboxhq/slipbox/internal/encoder/weights"
)

// Dir returns the directory with the weights. Without them the test is skipped, or fails when
// SLIPBOX_REQUIRE_SERVICES requires it to run.
func Dir(tb testing.TB) string {
	tb.Helper()
	dir := os.Getenv("SLIPBOX_ENCODER_DIR")
	if dir == "" {
		var err error
		if dir, err = weights.DefaultDir(); err != nil {
			tb.Fatal(err)
		}
	}
	for _, m := range encoder.Models() {
		if err := weights.Present(m, dir); err != nil {
			if os.Getenv("SLIPBOX_REQUIRE_SERVICES") != "" {
				tb.Fatalf("this test needs the encoder's weights (make encoder): %v", err)
			}
			tb.Skipf("the encoder's weights are not installed (make encoder): %v", err)
		}
	}
	return dir
}
