package app

import (
	"io"
	"net/http"
	"regexp"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// A running process can be profiled on a loopback address of its own, and not at the one that it serves.
func TestProfiles(t *testing.T) {
	t.Parallel()
	g := startGateway(t, func(c *Settings) { c.ProfileAddr = "127.0.0.1:0" })
	found := regexp.MustCompile(`msg=profiles url=(\S+)`).FindStringSubmatch(g.logs.String())
	if found == nil {
		t.Fatalf("no address of profiles in the log:\n%s", g.logs)
	}
	for path, want := range map[string]int{found[1] + "heap?debug=1": http.StatusOK, g.url + "/debug/pprof/": http.StatusNotFound} {
		resp := must.Get(http.Get(path))(t)
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil || resp.StatusCode != want {
			t.Errorf("%s: %d, %.100s, %v", path, resp.StatusCode, body, err)
		}
	}
	g.stop()
	if _, err := http.Get(found[1]); err == nil {
		t.Error("profiles are served after the stop")
	}
}
