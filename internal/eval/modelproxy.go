package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
)

// ModelProxy stands between a gateway and the endpoint of a model: it measures each
// request by the call that it asks, and answers calls by itself that a scenario needs
// out of the way, so that the calls behind them are asked even of a model that gets no
// further by itself.
type ModelProxy struct {
	target *url.URL
	http   *http.Client

	mu      sync.Mutex
	primed  map[string][]string // answers by call, taken in turns
	seen    map[string][]ModelRequest
	primes  map[string]int // answered by itself, by call
	flying  int
	stopped bool
}

// ModelRequest is one request that the endpoint answered.
type ModelRequest struct {
	Took    time.Duration
	In, Out int64 // tokens as the endpoint says; 0 where it does not
	Status  int
}

// CallChat is what requests without a schema are called.
const CallChat = "chat"

// NewModelProxy makes one towards the base URL of an OpenAI-compatible endpoint, with its
// /v1. Gateways take the proxy's own address, with /v1, for that.
func NewModelProxy(target string) (*ModelProxy, error) {
	u, err := url.Parse(strings.TrimRight(target, "/"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is no http or https address of an endpoint", target)
	}
	return &ModelProxy{target: u, http: &http.Client{}, seen: map[string][]ModelRequest{}, primes: map[string]int{}}, nil
}

// prime sets what the proxy answers by itself from now on; nil: nothing.
func (p *ModelProxy) prime(answers map[string][]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.primed, p.primes = answers, map[string]int{}
}

// stop makes the proxy refuse all that still comes, when the time is over.
func (p *ModelProxy) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}

// idle tells that no request is under way.
func (p *ModelProxy) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.flying == 0
}

// requests gives what was measured so far, by call.
func (p *ModelProxy) requests() map[string][]ModelRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[string][]ModelRequest, len(p.seen))
	for call, of := range p.seen {
		out[call] = append([]ModelRequest(nil), of...)
	}
	return out
}

// own gives the answer to a call that the proxy answers by itself.
func (p *ModelProxy) own(call string) (answer string, ok, stopped bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answers := p.primed[call]
	if len(answers) == 0 {
		return "", false, p.stopped
	}
	n := p.primes[call]
	p.primes[call]++
	return answers[n%len(answers)], true, p.stopped
}

// ServeHTTP passes a request on.
func (p *ModelProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	call := calledFor(body)
	answer, primed, stopped := p.own(call)
	switch {
	case stopped:
		http.Error(w, "the time of the test is over", http.StatusServiceUnavailable)
		return
	case primed:
		w.Header().Set("Content-Type", "application/json")
		content, err := json.Marshal(answer)
		if err != nil {
			http.Error(w, "unanswerable", http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprintf(w, `{"object":"chat.completion","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%s}}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, content)
		return
	}
	began := time.Now()
	p.mu.Lock()
	p.flying++
	p.mu.Unlock()
	status, usage := p.pass(w, r, body)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flying--
	p.seen[call] = append(p.seen[call], ModelRequest{Took: time.Since(began), In: usage.In, Out: usage.Out, Status: status})
}

// pass sends a request to the endpoint and copies the answer as it comes.
func (p *ModelProxy) pass(w http.ResponseWriter, r *http.Request, body []byte) (status int, u usage) {
	target := *p.target
	target.Path = strings.TrimRight(p.target.Path, "/") + strings.TrimPrefix(r.URL.Path, "/v1")
	req, err := http.NewRequestWithContext(r.Context(), r.Method, target.String(), bytes.NewReader(body))
	if err != nil {
		http.Error(w, "no such address", http.StatusBadGateway)
		return http.StatusBadGateway, u
	}
	for _, name := range []string{"Authorization", "Content-Type", "Accept"} {
		if v := r.Header.Get(name); v != "" {
			req.Header.Set(name, v)
		}
	}
	resp, err := p.http.Do(req) //nolint:gosec // the endpoint that whoever runs this names
	if err != nil {
		http.Error(w, "the endpoint does not answer", http.StatusBadGateway)
		return http.StatusBadGateway, u
	}
	defer func() { _ = resp.Body.Close() }()
	for _, name := range []string{"Content-Type", "Retry-After"} {
		if v := resp.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	w.WriteHeader(resp.StatusCode)
	var said bytes.Buffer
	_, _ = io.Copy(io.MultiWriter(flushed{w}, &said), resp.Body)
	return resp.StatusCode, usageIn(said.Bytes())
}

// flushed hands each piece on at once: an answer may be streamed.
type flushed struct{ http.ResponseWriter }

func (f flushed) Write(b []byte) (int, error) {
	n, err := f.ResponseWriter.Write(b)
	if flusher, ok := f.ResponseWriter.(http.Flusher); ok {
		flusher.Flush()
	}
	return n, err //nolint:wrapcheck // an io.Writer's own
}

// statedName is how instructions name a schema where the endpoint takes none by itself.
var statedName = regexp.MustCompile(`JSON Schema, named \\"([a-z_]+)\\"`)

// calledFor tells which call a request asks.
func calledFor(body []byte) string {
	var req struct {
		ResponseFormat struct {
			JSONSchema struct {
				Name string `json:"name"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	if json.Unmarshal(body, &req) == nil && req.ResponseFormat.JSONSchema.Name != "" {
		return req.ResponseFormat.JSONSchema.Name
	}
	if m := statedName.FindSubmatch(body); m != nil {
		return string(m[1])
	}
	return CallChat
}

// usage is what an endpoint says of the tokens.
type usage struct {
	In  int64 `json:"prompt_tokens"`
	Out int64 `json:"completion_tokens"`
}

// usageIn finds the tokens in an answer, or in the last piece of a stream that has them.
func usageIn(said []byte) (out usage) {
	for line := range bytes.Lines(said) {
		line = bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("data:")))
		var piece struct {
			Usage *usage `json:"usage"`
		}
		if json.Unmarshal(line, &piece) == nil && piece.Usage != nil {
			out = *piece.Usage
		}
	}
	var whole struct {
		Usage usage `json:"usage"`
	}
	if out == (usage{}) && json.Unmarshal(said, &whole) == nil {
		out = whole.Usage
	}
	return out
}
