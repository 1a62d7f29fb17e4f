package api

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fair"
	"github.com/slipboxhq/slipbox/test/must"
)

// A client that stops in the middle of its body is answered within the request's time, also if the
// body would not have been read.
func TestStalledBody(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method, path, credential string
		status                   int
	}{
		"json":    {"POST", notesPath, "all", http.StatusGatewayTimeout},
		"unasked": {"GET", notesPath, "all", http.StatusOK},
		"refused": {"POST", notesPath, "nobody", http.StatusUnauthorized},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			if got := stall(t, ServeInMemory(t, newBench(t, DefaultConfig(), echoes)), test.method, test.path, test.credential); got != test.status {
				t.Errorf("%s: status %d, want %d", name, got, test.status)
			}
			if took := time.Since(began); took > DefaultConfig().RequestTimeout {
				t.Errorf("%s: after %s", name, took)
			}
		})
	}
}

// A body that trickles, a byte at a time, has as long as one that stops, and holds no place meanwhile: with one place, another
// request of the tenant is answered.
func TestTricklingBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, DefaultConfig(), echoes)
		b.turns = fair.NewGate(1, 1)
		srv := ServeInMemory(t, b)
		conn := srv.Dial(t)
		send(t, conn, "POST", notesPath, "all", 1<<20, `{"content":"`)
		answered := make(chan int, 1)
		go func() { answered <- status(t, bufio.NewReader(conn)) }()
		drip, other := time.NewTicker(time.Second), false
		defer drip.Stop()
		for {
			select {
			case got := <-answered:
				if got != http.StatusGatewayTimeout || !other {
					t.Errorf("status %d; another request was answered meanwhile: %t", got, other)
				}
				return
			case <-drip.C:
				_, _ = conn.Write([]byte("a")) // fails once it is answered
				if !other {
					quick := srv.Dial(t)
					send(t, quick, "POST", notesPath, "all", len(`{"content":"b"}`), `{"content":"b"}`)
					other = status(t, bufio.NewReader(quick)) == http.StatusCreated
				}
			}
		}
	})
}

// An upload may take long, but not by sending less than a slow line does.
func TestPatienceWithUploads(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		read         int64
		waited, want time.Duration
	}{
		{0, 0, uploadStall},
		{0, 50 * time.Second, 10 * time.Second},
		{100, 70 * time.Second, 0}, // a byte a second
		{1 << 20, 10 * time.Minute, uploadStall},
		{1 << 20, 18 * time.Minute, 4 * time.Second},
	} {
		u := uploadReader{read: tt.read, waited: tt.waited}
		if got := u.patience(); max(0, got).Round(time.Second) != tt.want {
			t.Errorf("%d bytes in %s: %s, want %s", tt.read, tt.waited, got, tt.want)
		}
	}
}

// An upload that trickles is ended in the middle, though it never pauses for long; one that is as long under way, and is fast enough,
// is read to its end.
func TestTricklingUpload(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ piece, pieces, status int }{
		"trickling": {1, 1 << 20, http.StatusGatewayTimeout}, "fast enough": {4 << 10, 80, http.StatusAccepted},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, DefaultConfig(), map[string]handler{"importNotes": func(c *gin.Context) error {
				body := newUpload(c)
				if _, err := io.Copy(io.Discard, body); err != nil {
					return bodyError(body.err)
				}
				return reply(c, http.StatusAccepted, wire.JobAccepted{})
			}})
			conn := ServeInMemory(t, b).Dial(t)
			began := time.Now()
			must.Get(fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer all\r\nContent-Type: application/x-ndjson\r\nContent-Length: %d\r\n\r\n",
				"/v1/collections/research/import", tt.piece*tt.pieces))(t)
			answered := make(chan int, 1)
			go func() { answered <- status(t, bufio.NewReader(conn)) }()
			drip := time.NewTicker(uploadStall / 50)
			defer drip.Stop()
			for sent := 0; ; {
				select {
				case got := <-answered:
					if got != tt.status || time.Since(began) < uploadStall {
						t.Errorf("%s: status %d after %s and %d bytes", name, got, time.Since(began), sent)
					}
					return
				case <-drip.C:
					if sent < tt.piece*tt.pieces {
						n, _ := conn.Write(bytes.Repeat([]byte("a"), tt.piece)) // fails once it is answered
						sent += n
					}
				}
			}
		})
	}
}

// A request that is refused before its body is read is answered long before the request's time ends,
// though its body never ends. A body that is wanted has more time.
func TestRefusalDoesNotWaitForTheBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, refuseBodies)
}

func refuseBodies(t *testing.T) {
	cfg := DefaultConfig()
	cfg.RequestTimeout, cfg.RefusalTimeout = time.Hour, 100*time.Millisecond
	b := newBench(t, cfg, echoes)
	srv := ServeInMemory(t, b)
	slow := srv.Dial(t)
	const body = `{"content":"a"}`
	send(t, slow, "POST", notesPath, "all", len(body), body[:5])
	for name, tc := range map[string]struct {
		method, path, credential string
		status                   int
	}{
		"credential": {"POST", notesPath, "nobody", http.StatusUnauthorized},
		"scope":      {"POST", notesPath, "reader", http.StatusForbidden},
		"parameter":  {"POST", notesPath + "?x=1", "all", http.StatusUnprocessableEntity},
		"route":      {"POST", "/v1/nothing", "nobody", http.StatusNotFound},
		"method":     {"DELETE", notesPath, "nobody", http.StatusMethodNotAllowed},
	} {
		if got := stall(t, srv, tc.method, tc.path, tc.credential); got != tc.status {
			t.Errorf("%s: status %d, want %d", name, got, tc.status)
		}
	}
	if _, err := slow.Write([]byte(body[5:])); err != nil { // after several times the refusals' limit
		t.Fatal(err)
	}
	if got := status(t, bufio.NewReader(slow)); got != http.StatusCreated {
		t.Errorf("a slow body of a valid request: status %d", got)
	}
}

// The deadline of the body ends with the body: a stream lives longer, and an idle connection serves
// the next request.
func TestDeadlineOfTheBodyEndsWithIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, outliveTheBody)
}

func outliveTheBody(t *testing.T) {
	cfg := DefaultConfig()
	b := newBench(t, cfg, map[string]handler{
		"createNote": echo[wire.NoteInput](http.StatusCreated),
		"streamJob": func(c *gin.Context) error {
			select {
			case <-time.After(3 * cfg.RequestTimeout): // of the bubble's clock
				return noContent(c)
			case <-c.Request.Context().Done():
				return c.Request.Context().Err()
			}
		},
	})
	srv := ServeInMemory(t, b)
	conn := srv.Dial(t)
	answers := bufio.NewReader(conn)
	for range 2 {
		const body = `{"content":"a"}`
		send(t, conn, "POST", notesPath, "all", len(body), body)
		if got := status(t, answers); got != http.StatusCreated {
			t.Fatalf("status %d", got)
		}
		send(t, conn, "GET", "/v1/jobs/"+sampleID+"/events", "all", 0, "")
		if got := status(t, answers); got != http.StatusNoContent {
			t.Fatalf("a stream: status %d", got)
		}
	}
}

// A response that the client does not read is abandoned and frees its resources.
func TestUnreadAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, abandonAnswer)
}

func abandonAnswer(t *testing.T) {
	cfg := DefaultConfig()
	wrote := make(chan error, 1)
	b := newBench(t, cfg, map[string]handler{"listNotes": func(c *gin.Context) error {
		for {
			if _, err := c.Writer.Write(make([]byte, 1<<20)); err != nil {
				wrote <- err
				return err
			}
		}
	}})
	srv := ServeInMemory(t, b)
	send(t, srv.Dial(t), "GET", notesPath, "all", 0, "")
	if err := <-wrote; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Error(err)
	}
}

// stall sends the beginning of a body, waits, and returns the status of the answer.
func stall(t *testing.T, srv Wires, method, path, credential string) int {
	t.Helper()
	conn := srv.Dial(t)
	send(t, conn, method, path, credential, 100, `{"content":`)
	return status(t, bufio.NewReader(conn))
}

// Wires is a listener whose connections are in memory, so that in a bubble their time is the bubble's.
type Wires chan net.Conn

func (w Wires) Accept() (net.Conn, error) {
	if conn, ok := <-w; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (w Wires) Close() error {
	close(w)
	return nil
}

func (Wires) Addr() net.Addr { return &net.TCPAddr{} }

// ServeInMemory serves until the test ends.
func ServeInMemory(t *testing.T, b http.Handler) Wires {
	t.Helper()
	w := make(Wires)
	var open sync.WaitGroup
	srv := &http.Server{Handler: b, ConnState: func(_ net.Conn, now http.ConnState) {
		switch now {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Done()
		case http.StateActive, http.StateIdle, http.StateHijacked:
		}
	}}
	go func() { _ = srv.Serve(w) }()
	t.Cleanup(func() {
		_ = srv.Close()
		open.Wait() // a server closes a connection some time after its answer
	})
	return w
}

// Dial returns a connection that ends with the test.
func (w Wires) Dial(t *testing.T) net.Conn {
	t.Helper()
	conn, its := net.Pipe()
	w <- its
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func send(t *testing.T, conn net.Conn, method, path, credential string, length int, body string) {
	t.Helper()
	must.Get(fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		method, path, credential, length, body))(t)
}

func status(t *testing.T, r *bufio.Reader) int {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	must.Get(r.Discard(int(max(resp.ContentLength, 0))))(t)
	return resp.StatusCode
}
