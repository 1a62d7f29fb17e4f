package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/redis/redistest"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
)

// A Redis with TLS is used if SSL_CERT_FILE has the authority of its certificate. Otherwise requests
// are served without it, and doctor names the fix.
func TestRedisOverTLS(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	url, file := redistest.Start(t).TLS("default:" + redistest.Password)
	env := []string{wrapping, "DATABASE_URL=" + db.URL, "REDIS_URL=" + url, "SLIPBOX_ADDR=127.0.0.1:0"}
	vouched := append([]string{"SSL_CERT_FILE=" + file}, env...)
	if out, msg, code := run(t, vouched, "doctor"); code != 0 || !strings.Contains(out, "ok    redis") || !strings.Contains(out, "start a `worker`") {
		t.Errorf("with the authority: exit %d\n%s%s", code, out, msg)
	}
	if out, msg, code := run(t, env, "doctor"); code != 1 || !strings.Contains(out, "bad   redis") || !strings.Contains(out, "SSL_CERT_FILE") {
		t.Errorf("without the authority: exit %d\n%s%s", code, out, msg)
	}
	checks := func(p *process) any {
		t.Helper()
		return p.must(t, "", http.StatusOK, http.MethodGet, "/readyz", nil)["checks"].(object)["redis"]
	}
	if p := serve(t, t.TempDir(), vouched); checks(p) != "ok" {
		t.Errorf("with the authority redis is %v\n%s", checks(p), p.Stderr)
	}
	if p := serve(t, t.TempDir(), env); checks(p) != "degraded" || !strings.Contains(p.Stderr.String(), "SSL_CERT_FILE") {
		t.Errorf("without the authority redis is %v\n%s", checks(p), p.Stderr)
	}
}
