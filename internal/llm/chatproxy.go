package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel/attribute"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// purposeChat is the recorded purpose of chats.
const purposeChat = "chat"

// ChatProxy passes requests of chats on to an OpenAI-compatible endpoint, and its answers back unchanged.
// It has its own limit of concurrent requests and its own circuit breaker, so chats do not wait
// behind the calls of memory.
type ChatProxy struct {
	deps     Deps
	cfg      Config
	endpoint *endpoint
	call     call
}

// NewChatProxy returns a ChatProxy for a valid Config; nil when the Config uses no model.
func NewChatProxy(d Deps, cfg Config) (*ChatProxy, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if d.Clock == nil {
		return nil, errors.New("llm: a clock is required")
	}
	if !cfg.UsesModel() {
		return nil, nil //nolint:nilnil // there is no model
	}
	cfg = cfg.withDefaults()
	t := &ChatProxy{deps: d, cfg: cfg, call: call{operation: operationChat, provider: cfg.Provider, model: cfg.Model, purpose: purposeChat}}
	if d.Observer != nil {
		t.deps.Meter = d.Observer.meter(d.Meter, t.call)
	}
	t.endpoint = newEndpoint(d, cfg, labelModel, cfg.BaseURL, cfg.APIKey, cfg.KeyHeader)
	t.endpoint.patient = true
	return t, nil
}

// Name returns the name of the model at the endpoint.
func (t *ChatProxy) Name() string { return t.cfg.Model }

// Send implements [chat.Model]. The answer's body breaks off when ctx ends, and when none of it has
// arrived for Config.Timeout. The measured duration ends when the answer begins, the span when its cost is known.
func (t *ChatProxy) Send(ctx context.Context, s tenant.Scope, r chat.Request) (out *chat.Response, err error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if t.deps.Observer == nil {
		return t.send(ctx, s, r)
	}
	span := t.deps.Observer.observe(ctx, s, t.call, func(watched context.Context) ([]attribute.KeyValue, error) {
		out, err = t.send(watched, s, r)
		return []attribute.KeyValue{telemetry.Collection.String(r.Collection.String())}, err
	})
	if err != nil {
		span.End()
		return nil, err
	}

	account := out.Account
	out.Account = func(u chat.Usage) {
		account(u)
		span.SetAttributes(telemetry.ModelInput.Int64(u.PromptTokens), telemetry.ModelOutput.Int64(u.CompletionTokens))
		span.End()
	}
	return out, nil
}

func (t *ChatProxy) send(ctx context.Context, s tenant.Scope, r chat.Request) (*chat.Response, error) {
	var resp *http.Response
	var stop context.CancelFunc
	calls, err := t.endpoint.run(ctx, s, func(try context.Context, rec *recorder) error {
		var err error
		resp, stop, err = t.open(ctx, try, rec, &r) //nolint:bodyclose // the caller closes the body
		return err
	})
	account := func(u chat.Usage) {
		t.deps.record(ctx, s, memory.ModelUse{
			Collection: r.Collection, Purpose: purposeChat, Calls: int64(calls),
			PromptTokens: u.PromptTokens, CompletionTokens: u.CompletionTokens,
		})
	}
	if err != nil {
		account(chat.Usage{})
		return nil, err
	}
	return &chat.Response{
		ContentType: resp.Header.Get("Content-Type"), Account: account,
		Body: newIdleBody(&explained{ReadCloser: resp.Body, endpoint: t.endpoint}, stop, t.cfg.Timeout),
	}, nil
}

// open sends a request and waits until the answer begins, at most until try ends. The rest of the
// answer ends with ctx or by stop.
func (t *ChatProxy) open(ctx, try context.Context, rec *recorder, r *chat.Request) (_ *http.Response, stop context.CancelFunc, err error) {
	flowing, cancel := context.WithCancel(ctx)
	defer func() {
		if err != nil {
			cancel()
		}
	}()
	linked := context.AfterFunc(try, cancel)
	req, err := http.NewRequestWithContext(flowing, http.MethodPost, t.endpoint.base+"/chat/completions", bytes.NewReader(r.Body))
	if err != nil {
		return nil, nil, fmt.Errorf("make the request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if r.Stream {
		req.Header.Set("Accept", "text/event-stream")
	}
	resp, err := rec.Do(req)
	if err == nil && resp.StatusCode == http.StatusOK {
		err = t.begin(rec, resp)
	}
	linked()
	switch {
	case try.Err() != nil:
		if err == nil {
			_ = resp.Body.Close() // too late to be read
		}
		// A retry would take as long and cost as much again.
		return nil, nil, backoff.Permanent(fmt.Errorf("wait for the answer: %w", try.Err()))
	case err != nil:
		return nil, nil, err
	case resp.StatusCode >= http.StatusMultipleChoices:
		defer func() { _ = resp.Body.Close() }()
		err := t.endpoint.refused(resp)
		if refused, ok := errors.AsType[*chat.Refused](err); ok {
			rec.status = refused.Status
		}
		return nil, nil, err
	}
	return resp, cancel, nil
}

// begin waits for the first event of a stream, which may be an error.
func (t *ChatProxy) begin(rec *recorder, resp *http.Response) error {
	stream, ok := resp.Body.(*events)
	if !ok {
		return nil
	}
	err := stream.first()
	if err == nil {
		return nil
	}
	_ = stream.Close()
	if inside, ok := errors.AsType[*insideError](err); ok {
		rec.status, rec.retryAfter = inside.status, inside.retryAfter
		return t.endpoint.refused(&http.Response{StatusCode: inside.status, Body: io.NopCloser(bytes.NewReader(inside.body))})
	}
	return err
}

// maxRefusal bounds how much of a refusal is passed on, in bytes.
const maxRefusal = 64 << 10

// refused returns the error of a response that is one. When the endpoint rejects the request itself,
// the caller gets the endpoint's words, without key and address. Other errors concern the operator:
// only their status is kept. A body that is not JSON comes from something in front of the endpoint
// and is replaced.
func (e *endpoint) refused(resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
	default:
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err != nil {
		return fmt.Errorf("status %d, without the reason: %w", resp.StatusCode, err)
	}
	if resp.StatusCode == http.StatusInternalServerError {
		if !refusesSystem.Match(body) {
			return fmt.Errorf("status %d", resp.StatusCode)
		}
		resp.StatusCode = http.StatusBadRequest // a chat template failed, as of llama.cpp
	}
	if !json.Valid(body) {
		body = []byte(`{"error":{"message":"the model's endpoint refused the request","type":"invalid_request_error"}}`)
	}
	return &chat.Refused{Status: resp.StatusCode, ContentType: "application/json", Body: e.withoutAddress(body)}
}

// withoutAddress returns a text of the endpoint without key and address, also where slashes are escaped.
func (e *endpoint) withoutAddress(body []byte) []byte {
	hidden := []string{e.base, strings.ReplaceAll(e.base, "/", `\/`)}
	if u, err := url.Parse(e.base); err == nil && u.Hostname() != "" {
		hidden = append(hidden, u.Host, u.Hostname())
	}
	for _, part := range hidden {
		// Not within a longer word: the name of a host may be short.
		whole := regexp.MustCompile(`(?i)(^|[^a-z0-9])` + regexp.QuoteMeta(part) + `($|[^a-z0-9])`)
		body = whole.ReplaceAll(body, []byte("${1}[endpoint]${2}"))
	}
	if e.query != "" {
		body = bytes.ReplaceAll(body, []byte(e.query), []byte("[endpoint]"))
	}
	if e.key != "" {
		body = bytes.ReplaceAll(body, []byte(e.key), []byte("[key]"))
	}
	return body
}

// explained is a body whose errors say what failed.
type explained struct {
	io.ReadCloser

	endpoint *endpoint
}

// Read implements io.Reader.
func (b *explained) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	switch inside, ok := errors.AsType[*insideError](err); {
	case ok:
		f := b.endpoint.failure(&recorder{endpoint: b.endpoint, status: http.StatusOK}, inside)
		err = b.endpoint.fault(context.Background(), f)
	case errors.Is(err, errTooLong):
		err = b.endpoint.fault(context.Background(), &failure{reached: true, err: err})
	}
	return n, err
}

// idleBody is a body that breaks off when none of it arrives for too long.
type idleBody struct {
	body  io.ReadCloser
	stop  context.CancelFunc
	idle  time.Duration
	timer *time.Timer
	late  atomic.Bool
}

func newIdleBody(body io.ReadCloser, stop context.CancelFunc, idle time.Duration) *idleBody {
	b := &idleBody{body: body, stop: stop, idle: idle}
	b.timer = time.AfterFunc(idle, func() {
		b.late.Store(true)
		stop()
	})
	return b
}

// Read implements io.Reader.
func (b *idleBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.idle)
	n, err := b.body.Read(p)
	b.timer.Stop()
	if err != nil && b.late.Load() {
		return n, fmt.Errorf("nothing came for %s: %w", b.idle, context.DeadlineExceeded)
	}
	return n, err //nolint:wrapcheck // io.EOF has to stay what it is
}

// Close implements io.Closer.
func (b *idleBody) Close() error {
	b.timer.Stop()
	err := b.body.Close()
	b.stop()
	return err
}

var _ chat.Model = (*ChatProxy)(nil)
