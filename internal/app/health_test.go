package app

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A store that cannot write beside its database is ready, and says that writes are degraded.
func TestReadinessSaysThatWritesFail(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	// The probe cannot be written where there is a directory.
	if err := os.MkdirAll(filepath.Join(data, databaseFile+"-probe", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	g := startGateway(t, func(c *Settings) { c.Data, c.DiskReserve = data, 8<<20 })
	if info, err := os.Stat(filepath.Join(data, databaseFile+"-reserve")); err != nil || info.Size() != 8<<20 {
		t.Errorf("the reserve: %v, %v", info, err)
	}
	ready := g.call(http.StatusOK, http.MethodGet, "/readyz", nil)
	checks, notices := ready["checks"].(object), ready["notices"].([]any)
	if ready["status"] != "ok" || checks["store"] != "ok" || checks["writes"] != "degraded" || len(notices) == 0 || !strings.Contains(notices[0].(string), "writes cannot succeed") {
		t.Errorf("%v", ready)
	}
}
