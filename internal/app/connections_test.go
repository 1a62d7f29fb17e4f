package app

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// Over the cap, a client waits until another one leaves.
func TestConnectionsAreCapped(t *testing.T) {
	t.Parallel()
	g := startGateway(t, func(c *Settings) { c.HTTP.Connections = 1 })
	ask := func() net.Conn {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", strings.TrimPrefix(g.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		if _, err := conn.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	answered := func(conn net.Conn, within time.Duration) error {
		if err := conn.SetReadDeadline(time.Now().Add(within)); err != nil {
			t.Fatal(err)
		}
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
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := answered(second, long); err != nil {
		t.Errorf("after the first left: %v", err)
	}
}
