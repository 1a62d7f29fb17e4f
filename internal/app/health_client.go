package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// healthTimeout is the longest wait for the answer of /readyz.
const healthTimeout = 4 * time.Second

// HealthURL returns the base URL of a process on this machine that listens on addr (host:port).
// It returns Conflict when addr leaves the port to the system.
func HealthURL(addr string) (string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return "", fault.Wrap(err, fault.Invalid, "%q is not host:port", addr)
	}
	if port == "0" || port == "" {
		return "", fault.New(fault.Conflict, "the address %s is any free port; pass the URL in the log with --url", addr)
	}
	switch ip := net.ParseIP(host); {
	case host == "", ip != nil && ip.IsUnspecified() && ip.To4() != nil:
		host = "127.0.0.1"
	case ip != nil && ip.IsUnspecified():
		host = "::1"
	}
	return "http://" + net.JoinHostPort(host, port), nil
}

// Health asks the process at a base URL whether it is ready. state is its answer in words, such
// as "ok: redis degraded, store ok". Health returns Unavailable when nothing answers there, or a
// program that is not slipbox.
func Health(ctx context.Context, base string) (ready bool, state string, err error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false, "", fault.New(fault.Invalid, "%q is not a URL such as http://127.0.0.1:8080", base)
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.JoinPath("readyz").String(), http.NoBody)
	if err != nil {
		return false, "", err
	}
	direct := &http.Transport{DisableKeepAlives: true} // without a proxy
	resp, err := direct.RoundTrip(req)
	if err != nil {
		return false, "", fault.Wrap(err, fault.Unavailable, "nothing answers at %s; start it, or pass its address with --url", u.Redacted())
	}
	defer func() { _ = resp.Body.Close() }()
	var body struct {
		Status string            `json:"status"`
		Checks map[string]string `json:"checks"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<14)).Decode(&body); err != nil || body.Status == "" || body.Checks == nil {
		return false, "", fault.New(fault.Unavailable, "the program at %s (%s) is not slipbox; pass the address with --url", u.Redacted(), resp.Status)
	}
	parts := make([]string, 0, len(body.Checks))
	for _, name := range slices.Sorted(maps.Keys(body.Checks)) {
		parts = append(parts, name+" "+body.Checks[name])
	}
	return resp.StatusCode == http.StatusOK, fmt.Sprintf("%s: %s", body.Status, strings.Join(parts, ", ")), nil
}
