package llm

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// recorder sends the requests of one try. It adds to them what the endpoint wants besides, and keeps of their responses
// what the client library does not return. An error inside a successful response counts as the status that it names.
type recorder struct {
	endpoint   *endpoint
	rename     bool // of fields, for a client that knows one name of each
	status     int
	retryAfter string
}

// Do sends the request and limits its response. One that is not streamed is read to its end.
func (r *recorder) Do(req *http.Request) (*http.Response, error) {
	e := r.endpoint
	req.URL.RawQuery = e.query
	switch {
	case e.key == "":
		req.Header.Del("Authorization")
	case e.header != "":
		req.Header.Del("Authorization")
		req.Header.Set(e.header, e.key)
	default:
		req.Header.Set("Authorization", "Bearer "+e.key)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return nil, err
	}
	r.status, r.retryAfter = resp.StatusCode, resp.Header.Get("Retry-After")
	body := &boundedBody{body: resp.Body, left: maxBody}
	resp.Body = body
	switch {
	case resp.StatusCode == http.StatusBadRequest || resp.StatusCode == http.StatusTooManyRequests:
		err = r.readRefusal(resp)
	case resp.StatusCode != http.StatusOK:
	case isEventStream(resp):
		resp.Body = &events{body: body, lines: bufio.NewReader(body), rename: r.rename, retryAfter: r.retryAfter}
	default:
		err = r.readWhole(resp, contentOf(req.URL.Path))
	}
	return resp, err
}

// readWhole reads the body of a response, which has its answer in the field content.
func (r *recorder) readWhole(resp *http.Response, content string) error {
	defer func() { _ = resp.Body.Close() }()
	whole, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	if inside := errorInside(whole, content); inside != nil {
		r.status, r.retryAfter = inside.status, cmp.Or(r.retryAfter, inside.retryAfter)
		resp.StatusCode, resp.Status = r.status, strconv.Itoa(r.status)+" "+http.StatusText(r.status)
	}
	if r.rename {
		whole = renameReasoning(whole)
	}
	resp.Body = io.NopCloser(bytes.NewReader(whole))
	return nil
}

// readRefusal reads the body of a refusal, which may say that it is of another kind than its status: OpenAI answers 429 when an
// account is not paid, Gemini 400 to a wrong key.
func (r *recorder) readRefusal(resp *http.Response) error {
	defer func() { _ = resp.Body.Close() }()
	whole, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Errorf("read the refusal: %w", err)
	}
	for kind, status := range map[string]int{`"insufficient_quota"`: http.StatusPaymentRequired, `"API_KEY_INVALID"`: http.StatusUnauthorized} {
		if bytes.Contains(whole, []byte(kind)) {
			r.status, resp.StatusCode = status, status
		}
	}
	resp.Body = io.NopCloser(bytes.NewReader(whole))
	return nil
}

// contentOf returns the field that every answer at a path has.
func contentOf(path string) string {
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		return "choices"
	case strings.HasSuffix(path, "/embeddings"):
		return "data"
	}
	return "results" // of a reranker
}

func isEventStream(resp *http.Response) bool {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && media == "text/event-stream"
}

// renameReasoning renames the field "reasoning" of some endpoints to the name that most use.
func renameReasoning(raw []byte) []byte {
	return reasoningField.ReplaceAllLiteral(raw, []byte(`"reasoning_content":"`))
}

// reasoningField matches the name of a field alone: inside of a text the quotes would be escaped.
var reasoningField = regexp.MustCompile(`"reasoning"\s*:\s*"`)

// errTooLong ends an answer that has no end.
var errTooLong = errors.New("the answer is longer than " + strconv.Itoa(maxBody>>20) + " MiB")

// boundedBody is a body that fails at its bound.
type boundedBody struct {
	body io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLong
	}
	n, err := b.body.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err //nolint:wrapcheck // io.EOF has to stay what it is
}

// Close implements io.Closer.
func (b *boundedBody) Close() error { return b.body.Close() }

// events is the body of a stream of events, in whole lines. An error of the endpoint in it ends it, and is not passed on. Events
// that may be an error or something beside the answer wait for the answer.
type events struct {
	body       io.Closer
	lines      *bufio.Reader
	rename     bool // as of the recorder
	retryAfter string
	ready      bytes.Buffer
	err        error // after what is ready
	begun      bool  // the answer has begun
	held       bytes.Buffer
	doubt      *insideError // what is held, if no answer follows
}

// linesAtOnce is how many bytes of lines that have arrived are passed on together, about.
const linesAtOnce = 8 << 10

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	for e.ready.Len() == 0 && e.err == nil {
		e.more()
	}
	if e.ready.Len() == 0 {
		return 0, e.err
	}
	return e.ready.Read(p)
}

// more reads the next line, and those behind it that are there.
func (e *events) more() {
	for {
		line, err := e.lines.ReadBytes('\n')
		if e.err = e.judge(line); e.err != nil {
			return
		}
		if e.rename {
			line = renameReasoning(line)
		}
		if e.doubt != nil && !e.begun {
			e.held.Write(line)
			if errors.Is(err, io.EOF) {
				err = e.doubt
			}
		} else {
			_, _ = e.held.WriteTo(&e.ready)
			e.ready.Write(line)
		}
		if err != nil {
			e.err = err
			return
		}
		next, _ := e.lines.Peek(e.lines.Buffered()) // as much as there is
		if e.ready.Len() > linesAtOnce || bytes.IndexByte(next, '\n') < 0 {
			return
		}
	}
}

// judge returns the error that a line is, and notes whether it begins the answer.
func (e *events) judge(line []byte) error {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if data = bytes.TrimSpace(data); !ok || len(data) == 0 || string(data) == "[DONE]" {
		return nil
	}
	inside := errorOfEvent(data)
	if inside == nil {
		e.begun = true
		return nil
	}
	inside.retryAfter = cmp.Or(inside.retryAfter, e.retryAfter)
	if inside.certain {
		return inside
	}
	e.doubt = cmp.Or(e.doubt, inside)
	return nil
}

// first reads up to the first event, which stays to be read, and returns the error that it is.
func (e *events) first() error {
	for e.err == nil && !bytes.Contains(e.ready.Bytes(), []byte("data:")) {
		e.more()
	}
	if errors.Is(e.err, io.EOF) || bytes.Contains(e.ready.Bytes(), []byte("data:")) {
		return nil
	}
	return e.err
}

// Close implements io.Closer.
func (e *events) Close() error { return e.body.Close() }

// errorOfEvent returns the error that an event may be.
func errorOfEvent(data []byte) *insideError {
	inside := errorInside(data, "choices")
	if inside == nil && data[0] != '{' {
		return &insideError{status: http.StatusBadGateway, kind: "an event that is not an object", certain: true}
	}
	var counted struct {
		Usage struct {
			Total int `json:"total_tokens"`
		} `json:"usage"`
	}
	if inside != nil && inside.missing && json.Unmarshal(data, &counted) == nil && counted.Usage.Total > 0 {
		return nil // the use at the end
	}
	return inside
}

// insideError is an error of an endpoint inside of a successful response.
type insideError struct {
	status     int
	retryAfter string // as the header has it
	kind       string // as the endpoint names it; no sentence of it
	body       []byte
	missing    bool // the content is, and nothing is named an error
	certain    bool // it is not a part of an answer that the endpoint adds
}

func (e *insideError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("status %d inside of an answer %s", e.status, e.kind))
}

// errorInside returns the error that a body is, in the forms that endpoints and what is before them use; nil: it is none. A body
// without its content is an error in any form.
func errorInside(body []byte, content string) *insideError {
	var answer map[string]json.RawMessage
	if err := json.Unmarshal(body, &answer); err != nil && !isTypeError(err) {
		return nil
	}
	found := answer["error"]
	var choices []struct {
		Error json.RawMessage `json:"error"`
	}
	// A field of another type is not a reason not to read the rest.
	if _ = json.Unmarshal(answer["choices"], &choices); len(choices) > 0 && !isGiven(found) {
		found = choices[0].Error
	}
	if !isGiven(found) && string(answer["object"]) == `"error"` {
		found = body
	}
	has, named := answer[content]
	out := &insideError{body: body, missing: !isGiven(found)}
	if out.missing && named && string(has) != "null" {
		return nil
	}
	for _, raw := range [][]byte{body, found} { // what the error itself says counts most
		var fields map[string]any
		if json.Unmarshal(raw, &fields) == nil {
			out.read(fields)
		}
	}
	var all any
	if out.status == 0 && json.Unmarshal(body, &all) == nil {
		out.search(all)
	}
	out.certain = !out.missing || named || out.status > 0
	out.status = cmp.Or(out.status, http.StatusBadGateway)
	return out
}

// search takes status and wait from what is anywhere in an error.
func (e *insideError) search(v any) {
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			e.search(inner)
		}
	case map[string]any:
		e.read(v)
		for _, name := range slices.Sorted(maps.Keys(v)) {
			e.search(v[name])
		}
	}
}

func isTypeError(err error) bool {
	_, ok := errors.AsType[*json.UnmarshalTypeError](err)
	return ok
}

// isGiven reports whether a value is there and says something.
func isGiven(raw json.RawMessage) bool {
	switch strings.TrimSpace(string(raw)) {
	case "", "null", "false", "{}", "[]", `""`:
		return false
	}
	return true
}

// read takes status and wait from the fields of an error.
func (e *insideError) read(fields map[string]any) {
	for _, name := range []string{"type", "status", "http_status", "httpStatus", "statusCode", "status_code", "error_code", "code"} {
		said := strings.TrimSuffix(fmt.Sprint(fields[name]), ".0")
		if n, err := strconv.Atoi(said); err == nil && n >= http.StatusBadRequest && n < 600 {
			e.status = n
		} else if status, ok := kindsOfError[strings.ToLower(said)]; ok {
			e.status = status
		}
		if errorWord.MatchString(said) && fields[name] != nil {
			e.kind = said
		}
	}
	e.retryAfter = cmp.Or(waitIn(fields), e.retryAfter)
}

// kindsOfError are the statuses of the kinds of errors that APIs name.
var kindsOfError = map[string]int{
	"invalid_request_error": http.StatusBadRequest, "invalid_argument": http.StatusBadRequest, "context_length_exceeded": http.StatusBadRequest,
	"authentication_error": http.StatusUnauthorized, "invalid_api_key": http.StatusUnauthorized, "unauthenticated": http.StatusUnauthorized,
	"permission_error": http.StatusForbidden, "permission_denied": http.StatusForbidden,
	"not_found_error": http.StatusNotFound, "not_found": http.StatusNotFound, "model_not_found": http.StatusNotFound,
	"request_too_large": http.StatusRequestEntityTooLarge,
	"rate_limit_error":  http.StatusTooManyRequests, "rate_limit_exceeded": http.StatusTooManyRequests, "insufficient_quota": http.StatusPaymentRequired,
	"resource_exhausted": http.StatusTooManyRequests, "too_many_requests": http.StatusTooManyRequests,
	"server_error": http.StatusInternalServerError, "internal_error": http.StatusInternalServerError, "api_error": http.StatusInternalServerError,
	"overloaded_error": http.StatusServiceUnavailable, "service_unavailable": http.StatusServiceUnavailable, "unavailable": http.StatusServiceUnavailable,
	"timeout": http.StatusGatewayTimeout, "deadline_exceeded": http.StatusGatewayTimeout,
}

// waitIn returns how long an error asks to wait, in seconds or as a date, wherever below it that is said; "": nowhere.
func waitIn(v any) string {
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			if wait := waitIn(inner); wait != "" {
				return wait
			}
		}
	case map[string]any:
		for name, inner := range v {
			said := fmt.Sprint(inner)
			switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(name)) {
			case "retryafter", "retryafterseconds", "retrydelay":
				if d, err := time.ParseDuration(said); err == nil { // "13s"
					said = strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
				}
				return said
			case "retryafterms":
				if ms, err := strconv.ParseFloat(said, 64); err == nil {
					return strconv.FormatFloat(ms/1000, 'f', -1, 64)
				}
			}
			if wait := waitIn(inner); wait != "" {
				return wait
			}
		}
	}
	return ""
}
