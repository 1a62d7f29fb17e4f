// Package enginetest opens an empty store for tests of the packages above the store: the embedded
// engine, or the servers' when SLIPBOX_TEST_ENGINE is "postgres". So one suite tests both (make
// test/postgres). The core packages' tests call it.
package enginetest

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
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
		s, err = sqlite.Open(tb.Context(), sqlite.Config{Path: File(tb)}, sqlite.Deps{Clock: clock, Logger: log})
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

// File returns the path of an empty embedded store with the newest schema, for tests that open it themselves. To migrate takes
// six times as long as to open this copy. The tests of internal/store/sqlite migrate.
func File(tb testing.TB) string {
	tb.Helper()
	file, err := migrated()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "slipbox.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

var migrated = sync.OnceValues(func() (file []byte, err error) {
	dir, err := os.MkdirTemp("", "slipbox-template-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "slipbox.db")
	s, err := sqlite.Open(context.Background(), sqlite.Config{Path: path}, sqlite.Deps{})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil { // moves the log into the file
		return nil, err
	}
	return os.ReadFile(path)
})
