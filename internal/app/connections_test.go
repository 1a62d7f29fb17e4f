package app

import (
	"bufio"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/test/must"
)

// Over the cap, a client waits until another one leaves.
func TestConnectionsAreCapped(t *testing.T) {
	t.Parallel()
	g := startGateway(t, func(c *Settings) { c.HTTP.Connections = 1 })
	ask := func() net.Conn {
		conn := must.Get((&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.url, "http://")))(t)
		t.Cleanup(func() { _ = conn.Close() })
		must.Get(conn.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")))(t)
		return conn
	}
	answered := func(conn net.Conn, within time.Duration) error {
		must.Do(t, conn.SetReadDeadline(time.Now().Add(within)))
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	}
	const long, short = time.Minute, 200 * time.Millisecond
	var first net.Conn
	g.until("the connection of the start is closed", func() bool {
		http.DefaultClient.CloseIdleConnections()
		first = ask()
		err := answered(first, short)
		if err != nil {
			_ = first.Close()
		}
		return err == nil
	})
	second := ask()
	if err := answered(second, short); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("a second client is served beside the first: %v", err)
	}
	must.Do(t, first.Close())
	if err := answered(second, long); err != nil {
		t.Errorf("after the first left: %v", err)
	}
}

// A request whose headers are too long is refused before a handler sees it, and one with the headers that
// proxies add is served.
func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	var served atomic.Int64
	s := httptest.NewUnstartedServer(nil)
	s.Config = newServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served.Add(1) }), slog.New(slog.DiscardHandler))
	s.Start()
	defer s.Close()
	for bytes, want := range map[int]int{
		maxHeaderBytes / 2:         http.StatusOK,
		maxHeaderBytes + (8 << 10): http.StatusRequestHeaderFieldsTooLarge,
	} {
		served.Store(0)
		req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, http.NoBody))(t)
		req.Header.Set("Baggage", strings.Repeat("x", bytes))
		resp := must.Get(s.Client().Do(req))(t)
		_ = resp.Body.Close()
		if reached := served.Load() > 0; resp.StatusCode != want || reached != (want == http.StatusOK) {
			t.Errorf("%d bytes: status %d, want %d; the handler was called: %v", bytes, resp.StatusCode, want, reached)
		}
	}
}

// Every query that the contract allows fits, with the headers that proxies and clients add.
func TestHeadersHoldTheLongestQuery(t *testing.T) {
	t.Parallel()
	const (
		character = 12       // bytes of one that takes four in UTF-8, each written as %XX
		other     = 1 << 10  // bytes of a parameter that is a number, a time or a word of a list
		headers   = 16 << 10 // bytes, twice what common proxies accept in one header
	)
	doc := contracttest.Documents(t)[""]
	longest := 0
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			size := headers
			for _, p := range slices.Concat(item.Parameters, operation.Parameters) {
				switch most := p.Value.Schema.Value.MaxLength; {
				case p.Value.In == openapi3.ParameterInHeader:
				case most != nil:
					size += int(*most) * character
				default:
					size += other
				}
			}
			longest = max(longest, size)
			if size > maxHeaderBytes {
				t.Errorf("%s %s can take %d bytes, and %d are read", method, path, size, maxHeaderBytes)
			}
		}
	}
	if longest < maxHeaderBytes/2 {
		t.Errorf("the longest request takes %d bytes: the bound of %d can be lower", longest, maxHeaderBytes)
	}
}
