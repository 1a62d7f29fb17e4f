package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// ModelProxy forwards the requests of a gateway to the endpoint of a model and measures them by
// call. It stubs chosen calls with canned answers, so that later calls are exercised even with a
// weak model.
type ModelProxy struct {
	target *url.URL
	http   *http.Client

	mu         sync.Mutex
	policy     string              // that asks
	canned     map[string][]string // answers by call, used in rotation
	enough     int                 // how often the model is asked a call of a policy; 0: without a limit
	seen       map[PolicyCall][]ModelRequest
	before     map[PolicyCall]int // requests of an earlier run
	cannedUsed map[string]int     // number of canned answers sent, by call
	inFlight   int
	cutting    bool           // what waits is given up
	abandoned  map[string]int // requests that were given up since the policy began, by call
	stopped    bool
}

// PolicyCall names a call of a policy.
type PolicyCall struct{ Policy, Call string }

// ModelRequest is one request that the endpoint answered.
type ModelRequest struct {
	Took    time.Duration
	In, Out int64 // tokens that the endpoint reports; 0 without a report
}

// CallChat is the name of requests without a schema, CallStep that of requests that offer tools: steps of agents.
const (
	CallChat = "chat"
	CallStep = "step"
)

// NewModelProxy returns a proxy for the base URL of an OpenAI-compatible endpoint, with /v1. The
// gateway must use the proxy's address with /v1 as its endpoint.
func NewModelProxy(target string) (*ModelProxy, error) {
	u, err := url.Parse(strings.TrimRight(target, "/"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not an http or https address of an endpoint", target)
	}
	return &ModelProxy{target: u, http: &http.Client{}, seen: map[PolicyCall][]ModelRequest{}, cannedUsed: map[string]int{}}, nil
}

// begin names the policy that asks from now on, and the calls that are answered with canned answers.
func (p *ModelProxy) begin(policy string, canned map[string][]string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.policy, p.canned, p.cannedUsed = policy, canned, map[string]int{}
	p.cutting, p.abandoned = false, map[string]int{}
}

// cut says that what waits is given up: it is neither a request nor a failure of the model.
func (p *ModelProxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cutting = true
}

// given returns how many requests of each call were given up since the policy began.
func (p *ModelProxy) given() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.abandoned)
}

// limit bounds how often the model is asked a call of a policy, with what an earlier run asked. Canned answers follow.
func (p *ModelProxy) limit(enough int, before map[PolicyCall]int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enough, p.before = enough, before
}

// askedAny returns how often the model was asked a call by any policy.
func (p *ModelProxy) askedAny(call string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for of, requests := range p.seen {
		n += count(of.Call == call) * len(requests)
	}
	for of, before := range p.before {
		n += count(of.Call == call) * before
	}
	return n
}

// cannedSince returns how many canned answers each call got since the policy began.
func (p *ModelProxy) cannedSince() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.cannedUsed)
}

// stop makes the proxy refuse all later requests.
func (p *ModelProxy) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}

// idle reports whether no request is in flight.
func (p *ModelProxy) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.inFlight == 0
}

// requests returns the measured requests so far, by policy and call.
func (p *ModelProxy) requests() map[PolicyCall][]ModelRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[PolicyCall][]ModelRequest, len(p.seen))
	for call, of := range p.seen {
		out[call] = slices.Clone(of)
	}
	return out
}

// cannedAnswer returns the next canned answer to a call; ok is false when it has none. of is the call as it is counted.
func (p *ModelProxy) cannedAnswer(call string) (of PolicyCall, answer string, ok, stopped bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of = PolicyCall{p.policy, call}
	answers := p.canned[call]
	if len(answers) == 0 && p.enough > 0 && p.before[of]+len(p.seen[of]) >= p.enough {
		answers = cannedAnswers[call]
	}
	if len(answers) == 0 {
		return of, "", false, p.stopped
	}
	n := p.cannedUsed[call]
	p.cannedUsed[call]++
	return of, answers[n%len(answers)], true, p.stopped
}

// ServeHTTP answers a request, or forwards it.
func (p *ModelProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	call := callName(body)
	of, answer, primed, stopped := p.cannedAnswer(call)
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
	p.inFlight++
	p.mu.Unlock()
	said := p.forward(w, r, body)
	usage := usageIn(said)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inFlight--
	if p.cutting && r.Context().Err() != nil {
		p.abandoned[call]++
		return
	}
	p.seen[of] = append(p.seen[of], ModelRequest{Took: time.Since(began), In: usage.In, Out: usage.Out})
}

// forward sends a request to the endpoint, streams the answer back, and returns it.
func (p *ModelProxy) forward(w http.ResponseWriter, r *http.Request, body []byte) (said []byte) {
	target := *p.target
	target.Path = strings.TrimRight(p.target.Path, "/") + strings.TrimPrefix(r.URL.Path, "/v1")
	req, err := http.NewRequestWithContext(r.Context(), r.Method, target.String(), bytes.NewReader(body))
	if err != nil {
		http.Error(w, "no such address", http.StatusBadGateway)
		return nil
	}
	for _, name := range []string{"Authorization", "Content-Type", "Accept"} {
		if v := r.Header.Get(name); v != "" {
			req.Header.Set(name, v)
		}
	}
	resp, err := p.http.Do(req) //nolint:gosec // the endpoint is an argument of the command
	if err != nil {
		http.Error(w, "the endpoint does not answer", http.StatusBadGateway)
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	for _, name := range []string{"Content-Type", "Retry-After"} {
		if v := resp.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	w.WriteHeader(resp.StatusCode)
	var answerText bytes.Buffer
	_, _ = io.Copy(io.MultiWriter(flushWriter{w}, &answerText), resp.Body)
	return answerText.Bytes()
}

// flushWriter flushes each write, for streamed answers.
type flushWriter struct{ http.ResponseWriter }

func (f flushWriter) Write(b []byte) (int, error) {
	n, err := f.ResponseWriter.Write(b)
	if flusher, ok := f.ResponseWriter.(http.Flusher); ok {
		flusher.Flush()
	}
	return n, err //nolint:wrapcheck // an io.Writer's own
}

// statedName matches the name of a schema in instructions, for endpoints without response schemas.
var statedName = regexp.MustCompile(`JSON Schema, named \\"([a-z_]+)\\"`)

// callName returns the call of a request.
func callName(body []byte) string {
	var req struct {
		Tools          []json.RawMessage `json:"tools"`
		ResponseFormat struct {
			JSONSchema struct {
				Name string `json:"name"`
			} `json:"json_schema"`
		} `json:"response_format"`
	}
	if json.Unmarshal(body, &req) == nil {
		switch {
		case req.ResponseFormat.JSONSchema.Name != "":
			return req.ResponseFormat.JSONSchema.Name
		case len(req.Tools) > 0:
			return CallStep
		}
	}
	if m := statedName.FindSubmatch(body); m != nil {
		return string(m[1])
	}
	return CallChat
}

// usage is the token usage that an endpoint reports.
type usage struct {
	In  int64 `json:"prompt_tokens"`
	Out int64 `json:"completion_tokens"`
}

// usageIn returns the usage in an answer, or in the last chunk of a stream that has one.
func usageIn(answerText []byte) (out usage) {
	for line := range bytes.Lines(answerText) {
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
	if out == (usage{}) && json.Unmarshal(answerText, &whole) == nil {
		out = whole.Usage
	}
	return out
}
