package app

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/text/recalled"
	"github.com/slipboxhq/slipbox/test/must"
)

// ask sends a request and returns status, header and body.
func (g *gatewayTest) ask(path string, body any) (status int, header http.Header, said string) {
	g.t.Helper()
	raw := must.Get(json.Marshal(body))(g.t)
	req := must.Get(http.NewRequestWithContext(g.t.Context(), http.MethodPost, g.url+path, bytes.NewReader(raw)))(g.t)
	req.Header.Set("Authorization", "Bearer "+g.key)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Slipbox-Collection", "home")
	resp := must.Get(http.DefaultClient.Do(req))(g.t)
	defer func() { _ = resp.Body.Close() }()
	whole := must.Get(io.ReadAll(resp.Body))(g.t)
	return resp.StatusCode, resp.Header, string(whole)
}

// asked are a question at each door that asks the model.
func asked(text string, stream bool) map[string]object {
	user := []object{{"role": "system", "content": "Be brief."}, {"role": "user", "content": text}}
	return map[string]object{
		"/v1/chat/completions":      {"messages": user, "stream": stream},
		"/v1/responses":             {"input": user, "stream": stream},
		"/v1/collections/home/chat": {"messages": user, "stream": stream},
	}
}

// What fails at the model's endpoint is told without its address at each door, and the log has it. An error inside of a
// successful answer has the status and the wait that it names.
func TestAddressesAreNotTold(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	g := startChat(func(set func(*Settings)) *gatewayTest {
		return startGateway(t, func(c *Settings) {
			set(c)
			c.LLM.BreakerFailures = 1000
		})
	}, model)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "home", "policy": "amem"})
	host := strings.TrimPrefix(model.OllamaURL(), "http://")
	for name, c := range map[string]struct {
		reply  llmtest.Reply
		status int
		wait   string
	}{
		"fails":        {llmtest.StatusText(http.StatusInternalServerError, "at "+host), http.StatusServiceUnavailable, ""},
		"slow down":    {llmtest.Status(http.StatusTooManyRequests, time.Minute), http.StatusServiceUnavailable, "60"},
		"inside":       {llmtest.Inside(http.StatusTooManyRequests, "at "+host, time.Minute), http.StatusServiceUnavailable, "60"},
		"key":          {llmtest.StatusText(http.StatusUnauthorized, "at "+host), http.StatusServiceUnavailable, ""},
		"refused":      {llmtest.StatusText(http.StatusBadRequest, "no, at http://"+host+"/v1"), 0, ""},
		"breaks":       {llmtest.Reset(), http.StatusServiceUnavailable, ""},
		"a page":       {llmtest.NotJSON(), http.StatusBadGateway, ""},
		"inside later": {llmtest.InsideLater(http.StatusTooManyRequests, "at "+host), 0, ""},
	} {
		model.Always("", c.reply)
		for _, stream := range []bool{false, true} {
			for path, body := range asked("Where do I live?", stream) {
				status, header, said := g.ask(path, body)
				if strings.Contains(said, host) || strings.Contains(said, "127.0.0.1") {
					t.Errorf("%s: %s tells %s", name, path, said)
				}
				if c.status != 0 && (status != c.status || header.Get("Retry-After") != c.wait && c.wait != "") {
					t.Errorf("%s: %s, stream %v: %d, Retry-After %q: %s", name, path, stream, status, header.Get("Retry-After"), said)
				}
			}
		}
	}
	model.Always("analyze", llmtest.Status(http.StatusInternalServerError, 0))
	note := g.call(http.StatusCreated, http.MethodPost, "/v1/collections/home/notes", object{"content": "Glass plates are stored in the archive."})
	var shown object
	g.until("the note says why it waits", func() bool {
		shown = g.call(http.StatusOK, http.MethodGet, "/v1/collections/home/notes/"+note["note"].(object)["id"].(string), nil)
		return shown["state"] == "pending"
	})
	jobs := g.call(http.StatusOK, http.MethodGet, "/v1/jobs", nil)
	if all, _ := json.Marshal([]any{shown, jobs}); strings.Contains(string(all), host) || !strings.Contains(string(all), "the model's endpoint") {
		t.Errorf("told: %s", all)
	}
	if !strings.Contains(g.logs.String(), host) {
		t.Error("the log does not have the address")
	}
}

// An answer ends in time, streamed or not, and what is no completion is not passed on.
func TestAnswersEndInTime(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	g := startChat(func(set func(*Settings)) *gatewayTest {
		return startGateway(t, func(c *Settings) {
			set(c)
			c.HTTP.RequestTimeout, c.Chat.Timeout = time.Second, time.Second
		})
	}, model)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "home", "policy": "none"})
	for name, c := range map[string]struct {
		reply  llmtest.Reply
		stream bool
		status int
	}{
		"spaces":            {llmtest.Endless(" ", 50*time.Millisecond), false, http.StatusGatewayTimeout},
		"comments":          {llmtest.Endless(": alive\n\n", 50*time.Millisecond), true, http.StatusGatewayTimeout},
		"a flood":           {llmtest.Endless(strings.Repeat("x", 64<<10), 0), false, http.StatusBadGateway},
		"a stream of words": {llmtest.Endless("on ", 50*time.Millisecond), true, http.StatusOK},
	} {
		model.Always("", c.reply)
		for path, body := range asked("Where do I live?", c.stream) {
			began := time.Now()
			status, _, said := g.ask(path, body)
			for tries := 0; c.status == http.StatusOK && status == http.StatusGatewayTimeout && tries < 5; tries++ {
				status, _, said = g.ask(path, body) // a busy machine took too long to send the first word
			}
			// The busier the machine, the later a flood is read.
			if status != c.status && (name != "a flood" || status != http.StatusGatewayTimeout) || time.Since(began) > 5*time.Minute || len(said) > 1<<20 {
				t.Errorf("%s: %s: %d after %s, %d bytes: %.300s", name, path, status, time.Since(began), len(said), said)
			}
			if status == http.StatusOK && !strings.Contains(said, "did not end in time") {
				t.Errorf("%s: %s ends with %s", name, path, said[max(0, len(said)-300):])
			}
		}
	}
}

// Consecutive requests of one chat begin alike, as the endpoint got them: with memory taken out, each has all of the former
// one, and no more system messages than the client sent.
func TestConsecutiveRequestsShareTheirPrefix(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	g := startChat(func(set func(*Settings)) *gatewayTest { return startGateway(t, set) }, model)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "home", "policy": "none"})
	for i := range 30 {
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections/home/notes", object{"content": strings.Repeat("Vase ", i) + "is in the kiln since Tuesday."})
	}
	long := strings.Repeat("The kiln is fired with wood from the orchard. ", 40)
	model.Always("", llmtest.Text(long))
	for _, path := range []string{"/v1/chat/completions", "/v1/responses", "/v1/collections/home/chat"} {
		dialogue := []object{{"role": "system", "content": strings.Repeat("You are a potter. ", 20)}}
		if strings.HasSuffix(path, "/chat") {
			dialogue = nil // our own has no instructions of a client
		}
		var former string
		for turn := range 5 {
			dialogue = append(dialogue, object{"role": "user", "content": "What of the kiln? " + strings.Repeat("And the vase? ", turn)})
			body := object{"messages": dialogue}
			if path == "/v1/responses" {
				body = object{"input": dialogue}
			}
			if status, _, said := g.ask(path, body); status != http.StatusOK {
				t.Fatalf("%s: %d %s", path, status, said)
			}
			dialogue = append(dialogue, object{"role": "assistant", "content": long})
			requests := model.Requests()
			last := requests[len(requests)-1]
			sent, systems := string(last.Body), 0
			for _, m := range last.Messages {
				if m.Role == "system" {
					systems++
				}
			}
			if want := strings.Count(path, "v1") - strings.Count(path, "/collections/"); systems != want || strings.Count(last.User, recalled.Open) != 1 {
				t.Errorf("%s: %d system messages: %s", path, systems, last.User)
			}
			before, _, _ := strings.Cut(former, `\n\n<slipbox-memory>`)
			if n := samePrefix(former, sent); n < len(before) {
				t.Errorf("%s: of %d bytes before memory, %d begin the next request", path, len(before), n)
			}
			former = sent
		}
	}
}

func samePrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}
