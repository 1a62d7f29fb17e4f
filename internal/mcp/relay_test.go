package mcp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/mcp"
	"github.com/slipboxhq/slipbox/test/must"
)

// Each of many concurrent messages has one answer, on a line of its own; one that the client cancels has none.
func TestRelay(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m struct {
			ID     int    `json:"id"`
			Method string `json:"method"`
		}
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil || r.Header.Get("Authorization") != "Bearer key" {
			t.Errorf("a message with %v: %v", r.Header, err)
		}
		if m.Method == "slow" {
			close(arrived)
			<-r.Context().Done()
			return
		}
		_, _ = fmt.Fprintf(w, "{\"jsonrpc\":\"2.0\",\n\"id\":%d,\"result\":{}}", m.ID)
	}))
	t.Cleanup(srv.Close)
	in, input := io.Pipe()
	go func() {
		_, _ = io.WriteString(input, `{"jsonrpc":"2.0","id":0,"method":"slow"}`+"\n")
		<-arrived
		for i := range 100 {
			_, _ = fmt.Fprintf(input, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n", i+1)
		}
		_, _ = io.WriteString(input, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}`+"\n")
		_ = input.Close()
	}()
	var out bytes.Buffer
	relay := &mcp.Relay{URL: srv.URL, Key: "key", Client: srv.Client(), Log: slog.New(slog.DiscardHandler)}
	must.Do(t, relay.Run(t.Context(), in, &out))
	answered := map[int]bool{}
	for line := range strings.Lines(out.String()) {
		var m struct {
			ID int `json:"id"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || answered[m.ID] {
			t.Errorf("line %q: %v", line, err)
		}
		answered[m.ID] = true
	}
	if len(answered) != 100 || answered[0] {
		t.Errorf("%d answers, want 100 and none for the canceled message", len(answered))
	}
}
