//go:build race

package postgres_test

import (
	"testing"

	"github.com/slipboxhq/slipbox/internal/store/storetest"
)

// TestConformanceAtOnce runs the part of the suite that is worth the race detector. Without it, TestConformance does.
func TestConformanceAtOnce(t *testing.T) {
	t.Parallel()
	storetest.RunAtOnce(t, openDirect)
}
