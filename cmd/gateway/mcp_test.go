package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// stdio connects to a command on standard input and output.
func stdio(t *testing.T, version string, env []string, args ...string) (*sdk.ClientSession, *bytes.Buffer) {
	t.Helper()
	cmd := commandtest.Command(t, env, args...)
	var log bytes.Buffer
	cmd.Stderr = &log
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.CommandTransport{Command: cmd, TerminateDuration: 5 * time.Minute}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("%v\n%s", err, &log)
	}
	return session, &log
}

func toolText(t *testing.T, s *sdk.ClientSession, tool string, args object) string {
	t.Helper()
	res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	text := res.Content[0].(*sdk.TextContent).Text
	if res.IsError {
		t.Fatalf("%s: %s", tool, text)
	}
	return text
}

// A desktop agent starts the gateway over a data directory. What it remembers is there at the next start, and closing
// the input ends the process with 0.
func TestMCPOnStandardStreams(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for i, version := range []string{"2026-07-28", "2025-06-18"} {
		s, log := stdio(t, version, nil, "mcp", "--data", data)
		if i == 0 {
			toolText(t, s, "remember", object{"collection": "desk", "content": "Ada plays the cello.", "policy": "none"})
			if _, problems, code := run(t, nil, "mcp", "--data", data); code != 1 || !strings.Contains(problems, "--url") {
				t.Errorf("a second one on the same data: exit %d: %s", code, problems)
			}
		}
		if got := toolText(t, s, "search_notes", object{"collection": "desk", "query": "cello"}); !strings.Contains(got, "Ada plays the cello.") {
			t.Errorf("start %d: %s", i, got)
		}
		if err := s.Close(); err != nil {
			t.Errorf("start %d: the end: %v\n%s", i, err, log)
		}
		if !strings.Contains(log.String(), "stopped") {
			t.Errorf("start %d: no log on stderr: %s", i, log)
		}
		if keys := keyText.FindAllString(log.String(), -1); len(keys) != 0 {
			t.Errorf("start %d: an agent keeps a key in its log", i)
		}
	}
	// A person gets the first key from the first gateway that they start.
	if p := serve(t, data, nil); len(keyText.FindAllString(p.Stdout.String(), -1)) != 1 {
		t.Errorf("no key: %s", p.Stdout)
	}
}

// With --url the command carries messages to a gateway that runs already, and its refusals back.
func TestMCPRelaysToAGateway(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, data, nil)
	key := newKey(t, data)
	s, _ := stdio(t, "", []string{"SLIPBOX_API_KEY=" + key}, "mcp", "--url", p.url)
	toolText(t, s, "remember", object{"collection": "desk", "content": "Ada plays the cello.", "policy": "none"})
	if list, err := s.ListTools(t.Context(), nil); err != nil || len(list.Tools) != 17 {
		t.Errorf("tools %v: %v", list, err)
	}
	if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "absent"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("an unknown tool: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		env  []string
		args []string
		want string
	}{
		{nil, []string{"mcp", "--url", p.url}, "SLIPBOX_API_KEY"},
		{[]string{"SLIPBOX_API_KEY=x"}, []string{"mcp", "--url", "nowhere"}, "not a URL"},
	} {
		if out, problems, code := run(t, tt.env, tt.args...); code != 1 || out != "" || !strings.Contains(problems, tt.want) {
			t.Errorf("%v: exit %d, %q, %s", tt.args, code, out, problems)
		}
	}
}

// Lines that are no messages, and a gateway that is away, are answered with errors, one for each line; the output has
// nothing else.
func TestMCPHostileLines(t *testing.T) {
	t.Parallel()
	in := strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `not json`, ``, `[1`, strings.Repeat("x", 3<<20), `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`,
	}, "\n")
	cmd := commandtest.Command(t, []string{"SLIPBOX_API_KEY=x"}, "mcp", "--url", "http://"+freeAddr(t))
	cmd.Stdin = strings.NewReader(in)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, io.Discard
	must.Do(t, cmd.Run())
	away, malformed := 0, 0
	for line := range strings.Lines(out.String()) {
		var m struct {
			JSONRPC string `json:"jsonrpc"`
			ID      *int   `json:"id"`
			Error   struct {
				Code    int    `json:"code"`
				Message string `json:"message"`
			} `json:"error"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.JSONRPC != "2.0" {
			t.Fatalf("line %q: %v", line, err)
		}
		switch {
		case m.Error.Code == -32700 && m.ID == nil:
			malformed++
		case m.ID != nil && *m.ID == 1 && strings.Contains(m.Error.Message, "is it running"):
			away++
		}
	}
	if away != 1 || malformed != 2 {
		t.Errorf("%d answers for the gateway that is away, %d for lines that are no messages:\n%s", away, malformed, &out)
	}
}
