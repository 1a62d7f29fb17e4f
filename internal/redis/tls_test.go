package redis

import (
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/redis/redistest"
)

// The error of a certificate from an unknown authority says what to do. That SSL_CERT_FILE adds an
// authority is a test of the process.
func TestUnknownAuthorityIsExplained(t *testing.T) {
	t.Parallel()
	url, _ := redistest.Start(t).TLS("default:" + redistest.Password)
	var j journal
	r := openRedis(t, Config{URL: url, Timeout: time.Minute}, Deps{Log: j.log()})
	const want = "SSL_CERT_FILE"
	if err := r.Check(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("check: %v, want %q", err, want)
	}
	if r.Available() || j.count(want) != 1 {
		t.Errorf("told:\n%s", &j)
	}
}
