package llmtest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Embed is the name by which embedding requests are scripted and counted.
const Embed = "embed"

// Tool is the name by which requests that offer tools, and ask for no schema, are scripted and counted.
const Tool = "tool"

// Server is the fake endpoint. Unscripted, it answers
//
//   - "analyze" with key phrases of the prompt,
//   - "evolve" with a link to the first neighbor and confidence 0.95,
//   - "relevance" with decreasing scores for the handles in the prompt,
//   - "extract" with the sentences of the new messages that are not questions,
//     "decide" with NOOP for a memory of equal text, otherwise ADD, summaries with
//     the beginning of each text, "entities" and "relations" with the names of
//     the facts and the words between them, "conflicts" with nothing,
//   - chat without a schema with a text that reports whether it saw a system message,
//   - any other call with an empty answer in the shape of its schema,
//   - embeddings with vectors that are near when texts share words, and of images with those of the texts that Shows
//     names; an image that it does not know is refused (422).
//
// All methods may be called while requests run.
type Server struct {
	mux    *http.ServeMux
	http   *httptest.Server // nil: there is RoundTrip alone
	closed chan struct{}
	once   sync.Once

	mu         sync.Mutex
	scripts    map[string][]Reply
	handlers   map[string]func(Request) Reply
	requests   []Request
	dim        int
	key        string
	down       bool
	noSchemas  bool
	noObjects  bool
	noUsage    bool
	refused    map[string]bool // request fields
	troubles   troubles
	images     map[string]string
	prompt     int64
	completion int64
	active     int
	peak       int
}

// New starts a server that stops at the end of the test.
func New(tb testing.TB) *Server {
	tb.Helper()
	s := Start()
	tb.Cleanup(s.Close)
	return s
}

// Start starts a server. The caller must close it.
func Start() *Server {
	s := Unconnected()
	s.http = httptest.NewServer(s.mux)
	return s
}

// Unconnected returns a server that listens nowhere. It is a client's transport, so that a test in a bubble of testing/synctest waits
// by the clock of the bubble.
func Unconnected() *Server {
	s := &Server{
		mux:    http.NewServeMux(),
		closed: make(chan struct{}), scripts: map[string][]Reply{}, handlers: map[string]func(Request) Reply{},
		refused: map[string]bool{}, images: map[string]string{}, dim: 1536,
	}
	s.mux.HandleFunc("POST /v1/chat/completions", s.serve)
	s.mux.HandleFunc("POST /v1/embeddings", s.serve)
	s.mux.HandleFunc("GET /v1/models", s.models)
	s.mux.HandleFunc("GET /api/tags", s.tags)
	s.mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "Ollama is running") })
	return s
}

// RoundTrip answers a request without a connection.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, r) // what hangs ends with the request
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// Close ends hanging requests and stops listening: later connections are refused.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.closed)
		s.http.CloseClientConnections()
		s.http.Close()
	})
}

// URL returns the base URL of the OpenAI API, with its /v1.
func (s *Server) URL() string {
	if s.http == nil {
		return "http://model.test/v1"
	}
	return s.http.URL + "/v1"
}

// OllamaURL returns the address in the form of Ollama's own tools.
func (s *Server) OllamaURL() string { return s.http.URL }

// Script queues replies to a call. Each is used once, in order.
func (s *Server) Script(call string, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scripts[call] = append(s.scripts[call], replies...)
}

// Always sets the reply to a call when no script is left.
func (s *Server) Always(call string, r Reply) { s.Handle(call, func(Request) Reply { return r }) }

// Handle computes the reply to a call when no script is left. nil removes the function.
func (s *Server) Handle(call string, f func(Request) Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f == nil {
		delete(s.handlers, call)
		return
	}
	s.handlers[call] = f
}

// Down makes the server break every connection, or answer again.
func (s *Server) Down(down bool) { s.set(func() { s.down = down }) }

// RequireKey refuses requests without this bearer token (401); "" accepts all requests.
func (s *Server) RequireKey(key string) { s.set(func() { s.key = key }) }

// RefuseSchemas makes the server answer 400 to response_format json_schema,
// as servers without structured outputs do; with objects to json_object too.
func (s *Server) RefuseSchemas(objects bool) {
	s.set(func() { s.noSchemas, s.noObjects = true, objects })
}

// RefuseField makes the server answer 400 to requests with this field, such as
// "max_tokens" or "temperature".
func (s *Server) RefuseField(name string) { s.set(func() { s.refused[name] = true }) }

// OmitUsage removes the token counts from the responses.
func (s *Server) OmitUsage() { s.set(func() { s.noUsage = true }) }

// Shows says what is on an image, which is named as requests for its embedding name it: by URL, or base64.
func (s *Server) Shows(image, text string) { s.set(func() { s.images[image] = text }) }

// EmbedDim sets the length of vectors; default 1536.
func (s *Server) EmbedDim(n int) { s.set(func() { s.dim = n }) }

func (s *Server) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

// Requests returns all requests for completion and embedding so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// RequestsOf returns the requests of one call.
func (s *Server) RequestsOf(call string) []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Call != call })
}

// Calls returns the number of requests of one call.
func (s *Server) Calls(call string) int { return len(s.RequestsOf(call)) }

// Tokens returns the sums of the token counts that were sent.
func (s *Server) Tokens() (prompt, completion int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prompt, s.completion
}

// Peak returns the largest number of concurrent requests.
func (s *Server) Peak() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// Active returns the number of requests that are running.
func (s *Server) Active() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

// next records a request and picks its reply.
func (s *Server) next(req Request) Reply {
	s.mu.Lock()
	s.requests = append(s.requests, req)
	if s.down {
		s.mu.Unlock()
		return Reset()
	}
	if s.key != "" && req.Key != s.key {
		s.mu.Unlock()
		return StatusText(http.StatusUnauthorized, "Incorrect API key provided: "+req.Key)
	}
	var fields map[string]any
	_ = json.Unmarshal(req.Body, &fields) // readRequest has parsed it before
	for name := range s.refused {
		if fields[name] != nil {
			s.mu.Unlock()
			return StatusText(http.StatusBadRequest, fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model.", name))
		}
	}
	if s.noSchemas && req.Format == "json_schema" || s.noObjects && req.Format == "json_object" {
		s.mu.Unlock()
		return StatusText(http.StatusBadRequest, fmt.Sprintf("Invalid parameter: 'response_format' of type '%s' is not supported.", req.Format))
	}
	if refusal, ok := s.troubles.refuse(&req); ok {
		s.mu.Unlock()
		return refusal
	}
	if q := s.scripts[req.Call]; len(q) > 0 {
		s.scripts[req.Call] = q[1:]
		s.mu.Unlock()
		return q[0]
	}
	handler := s.handlers[req.Call]
	s.mu.Unlock()
	if handler != nil {
		return handler(req)
	}
	return Default()
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.set(func() { s.active++; s.peak = max(s.peak, s.active) })
	defer s.set(func() { s.active-- })
	req, err := readRequest(r)
	if err != nil {
		fail(w, http.StatusBadRequest, "", "cannot read the request: "+err.Error(), 0)
		return
	}
	s.reply(w, r, req, s.next(req))
}

func (s *Server) reply(w http.ResponseWriter, r *http.Request, req Request, rep Reply) {
	switch rep.kind {
	case kindStatus:
		message := rep.content
		if message == "" {
			message = http.StatusText(rep.status)
		}
		fail(w, rep.status, rep.code, message, rep.wait)
	case kindHang:
		s.wait(r, 0)
	case kindSlow:
		if s.wait(r, rep.wait) {
			s.reply(w, r, req, *rep.then)
		}
	case kindReset:
		reset(w)
	case kindCutBody:
		if req.Stream {
			s.stream(w, r, req, defaultAnswer(req), true)
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, `{"id":"cut","choices":[{"index":0,"message":{"role":"assist`)
		panic(http.ErrAbortHandler)
	case kindNotJSON:
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<!doctype html><title>It works!</title>")
	case kindInside:
		s.inside(w, req, rep)
	case kindBody:
		contentType, body := "application/json", rep.content
		if req.Stream {
			contentType = "text/event-stream"
			if !strings.HasPrefix(body, "data:") {
				body = "data: " + body + "\n\ndata: [DONE]\n\n"
			}
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	case kindEndless:
		s.endless(w, r, req, rep)
	case kindNoChoices:
		s.complete(w, req, nil, "")
	case kindDefault, kindMessage, kindVectors, kindDim:
		if req.Call == Embed {
			s.embed(w, req, rep)
			return
		}
		if rep.kind == kindDefault {
			pace := rep.pace
			rep = defaultAnswer(req)
			rep.pace = pace
		}
		if req.Stream {
			s.stream(w, r, req, rep, false)
			return
		}
		message := map[string]any{"role": "assistant", "content": rep.content, "refusal": nullIfEmpty(rep.refusal)}
		if rep.thought != "" {
			message["content"], message[rep.field] = nullIfEmpty(rep.content), rep.thought
		}
		if len(rep.tools) > 0 {
			message["content"], message["tool_calls"] = nullIfEmpty(rep.content), rep.toolCalls()
		}
		s.complete(w, req, []any{map[string]any{"index": 0, "finish_reason": rep.finish, "message": message}}, rep.content)
	}
}

func nullIfEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// wait holds a request until d has passed (0: forever) and reports whether the client still waits.
func (s *Server) wait(r *http.Request, d time.Duration) bool {
	var after <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		after = t.C
	}
	select {
	case <-after:
		return true
	case <-r.Context().Done():
	case <-s.closed:
	}
	return false
}

// complete sends a chat completion and counts one token for each word.
func (s *Server) complete(w http.ResponseWriter, req Request, choices []any, content string) {
	if choices == nil {
		choices = []any{}
	}
	in, out := wordsOf(req), len(strings.Fields(content))
	body := map[string]any{"id": "chatcmpl-fake", "object": "chat.completion", "model": req.Model, "choices": choices}
	s.count(body, in, out)
	send(w, body)
}

// wordsOf counts the words of a request's messages.
func wordsOf(req Request) int {
	n := 0
	for _, m := range req.Messages {
		n += len(strings.Fields(m.Content))
	}
	return n
}

func (s *Server) embed(w http.ResponseWriter, req Request, rep Reply) {
	for _, image := range req.Images {
		var text string
		s.set(func() { text = s.images[image] })
		if text == "" {
			fail(w, http.StatusUnprocessableEntity, "", "Cannot identify the image.", 0)
			return
		}
		req.Inputs = append(req.Inputs, text)
	}
	vectors, dim := rep.vectors, rep.dim
	if rep.kind != kindVectors {
		if dim == 0 {
			s.set(func() { dim = s.dim })
			if req.Dimensions > 0 {
				dim = req.Dimensions
			}
		}
		for _, in := range req.Inputs {
			vectors = append(vectors, wordVector(in, dim))
		}
	}
	indexed := true
	s.set(func() { indexed = !s.troubles.noIndex })
	data := make([]any, len(vectors))
	words := 0
	for _, in := range req.Inputs {
		words += len(strings.Fields(in))
	}
	for i, v := range vectors {
		if indexed {
			// Out of order, as the index allows.
			data[len(vectors)-1-i] = map[string]any{"object": "embedding", "index": i, "embedding": v}
			continue
		}
		data[i] = map[string]any{"object": "embedding", "embedding": v}
	}
	body := map[string]any{"object": "list", "model": req.Model, "data": data}
	s.count(body, words, 0)
	send(w, body)
}

// count adds to the sums and adds the usage to a body, unless it is omitted.
func (s *Server) count(body map[string]any, in, out int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noUsage {
		return
	}
	s.prompt += int64(in)
	s.completion += int64(out)
	body["usage"] = map[string]any{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out}
}

// wordVector adds one direction for each word and scales the sum to length one.
func wordVector(s string, dim int) []float32 {
	v := make([]float32, dim)
	for _, word := range append(strings.Fields(strings.ToLower(s)), "") {
		word = strings.Trim(word, ".,;:!?\"'()")
		h := fnv.New32a()
		_, _ = h.Write([]byte(word))
		v[int(h.Sum32())%dim]++
	}
	norm := 0.0
	for _, x := range v {
		norm += float64(x * x)
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(norm))
	}
	return v
}

func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	var down bool
	var key string
	s.set(func() { down, key = s.down, s.key })
	switch {
	case down:
		reset(w)
	case key != "" && r.Header.Get("Authorization") != "Bearer "+key:
		fail(w, http.StatusUnauthorized, "", "Incorrect API key provided", 0)
	default:
		send(w, map[string]any{"object": "list", "data": []any{map[string]any{"id": "fake", "object": "model"}}})
	}
}

func (s *Server) tags(w http.ResponseWriter, _ *http.Request) {
	var down bool
	s.set(func() { down = s.down })
	if down {
		reset(w)
		return
	}
	send(w, map[string]any{"models": []any{map[string]any{"name": "fake:latest", "model": "fake:latest"}}})
}

func send(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	write(w, body)
}

func fail(w http.ResponseWriter, status int, code, message string, retryAfter time.Duration) {
	w.Header().Set("Content-Type", "application/json")
	if retryAfter > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(math.Ceil(retryAfter.Seconds()))))
	}
	w.WriteHeader(status)
	write(w, map[string]any{"error": map[string]any{"message": message, "type": "fake_error", "code": code}})
}

// reset ends the connection immediately, without the bytes in flight.
func reset(w http.ResponseWriter) {
	h, ok := w.(http.Hijacker)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	conn, _, err := h.Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// write sends JSON. A client that has gone is not a failure of a test.
func write(w io.Writer, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("llmtest: %v", err))
	}
	_, _ = w.Write(b)
}
