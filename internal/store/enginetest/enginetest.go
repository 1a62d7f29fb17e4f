// Package enginetest opens an empty store for tests of the packages above the store: the embedded
// engine, or the servers' when SLIPBOX_TEST_ENGINE is "postgres". So one suite tests both (make
// test/postgres). The core packages' tests call it.
package enginetest

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/internal/store/sqlite"
)

// Open returns an empty store, which is closed with the test. A nil clock is time.Now, a nil logger
// silent.
func Open(tb testing.TB, clock func() time.Time, log *slog.Logger) store.Store {
	tb.Helper()
	var s store.Store
	var err error
	switch engine := os.Getenv("SLIPBOX_TEST_ENGINE"); engine {
	case "", "sqlite":
		s, err = sqlite.Open(tb.Context(), sqlite.Config{Path: filepath.Join(tb.TempDir(), "slipbox.db")}, sqlite.Deps{Clock: clock, Logger: log})
	case "postgres":
		s, err = postgres.Open(tb.Context(), postgres.Config{URL: postgrestest.New(tb).URL}, postgres.Deps{Clock: clock, Logger: log})
	default:
		tb.Fatalf("SLIPBOX_TEST_ENGINE is %q; valid are sqlite and postgres", engine)
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close the store: %v", err)
		}
	})
	return s
}
