package slipbox_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// serve returns a client of a gateway that answers so, and pauses as little as it may.
func serve(t *testing.T, answer http.HandlerFunc) *slipbox.Client {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	client, err := slipbox.New(slipbox.Config{URL: server.URL, Key: "sb_test", RetryWait: -1})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// A body that is opened is sent whole with each try, and what cannot be opened is not tried again.
func TestOpenedBody(t *testing.T) {
	t.Parallel()
	opened, sent := 0, []string(nil)
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.UserAgent() != "my program" {
			t.Error(err, r.UserAgent())
		}
		if sent = append(sent, string(body)); len(sent) == 1 {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	request := slipbox.Request{
		Method: http.MethodPut, Path: "/v1/x", Header: http.Header{"User-Agent": {"my program"}},
		Body: func() (io.Reader, error) { opened++; return strings.NewReader("lines"), nil },
	}
	resp, err := client.Do(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if opened != 2 || strings.Join(sent, ",") != "lines,lines" {
		t.Errorf("opened %d times, sent %q", opened, sent)
	}

	gone := errors.New("gone")
	request.Body = func() (io.Reader, error) { opened++; return nil, gone }
	if _, err := client.Do(t.Context(), request); !errors.Is(err, gone) || opened != 3 {
		t.Errorf("opened %d times, got %v", opened, err)
	}
}

// A pause that ends after its context is not begun: the refusal is returned while there is time.
func TestPauseBeyondContext(t *testing.T) {
	t.Parallel()
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "50")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	_, err := client.Do(ctx, slipbox.Request{Method: http.MethodGet, Path: "/v1/x"})
	if problem, ok := errors.AsType[*slipbox.ProblemError](err); !ok || problem.Status != http.StatusTooManyRequests || ctx.Err() != nil {
		t.Errorf("got %v, context %v", err, ctx.Err())
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	var got []string
	for event, err := range slipbox.Events(strings.NewReader(": alive\n\nevent: a\r\ndata: one\r\ndata: two\r\n\r\ndata:three\n\nevent: cut\ndata: off\n")) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, event.Name+"="+string(event.Data))
	}
	if want := "a=one\ntwo,=three"; strings.Join(got, ",") != want {
		t.Errorf("got %q", got)
	}

	var last error
	for _, err := range slipbox.Events(strings.NewReader("data: " + strings.Repeat("x", 17<<20) + "\n\n")) {
		last = err
	}
	if _, ok := errors.AsType[*slipbox.ConnectionError](last); !ok {
		t.Errorf("a line without an end gives %v", last)
	}
}

// What no request can be made of is refused before the first one, which would be tried again.
func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, config := range []slipbox.Config{
		{URL: "localhost:8080", Key: "k"}, {URL: "127.0.0.1:8080", Key: "k"}, {URL: "ftp://host", Key: "k"}, {URL: "http://", Key: "k"}, {Key: "k\r\nX: y"},
	} {
		if _, err := slipbox.New(config); err == nil || strings.Contains(err.Error(), "X: y") {
			t.Errorf("%+v: %v", config, err)
		}
	}
	if _, err := slipbox.New(slipbox.Config{URL: "HTTPS://[::1]:8080/memory/", Key: " k\n"}); err != nil {
		t.Error(err)
	}
}
