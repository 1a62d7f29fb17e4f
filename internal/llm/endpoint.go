package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	openai "github.com/sashabaranov/go-openai"
	"github.com/sony/gobreaker/v2"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fair"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/outage"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// maxBody bounds one response, in bytes. 64 vectors of 8192 numbers fit.
const maxBody = 32 << 20

// endpoint sends requests to one address. It bounds how many run concurrently, retries, and stops
// sending while its circuit breaker is open.
type endpoint struct {
	cfg     Config
	label   string // how callers read of it, without its address
	name    string // its address without user, password or query, for logs and operators
	base    string // without a query
	query   string // of every request
	key     string
	header  string // carries the key; "": Authorization
	client  *http.Client
	clock   memory.Clock
	breaker *gobreaker.CircuitBreaker[struct{}]
	outage  atomic.Pointer[fault.Error] // the last failure that the next request would meet as well
	slots   *fair.Gate                  // for cfg.MaxConcurrent requests
	// patient: a timeout does not count against the endpoint, as the length of an answer depends on
	// the request.
	patient bool
}

// keySetting ends the names of settings that are keys.
const keySetting = "_API_KEY"

// How callers read of an endpoint: its address is the operator's.
const (
	labelModel    = "the model's endpoint"
	labelEmbedder = "the embedder's endpoint"
)

// newEndpoint requires a Config with its defaults filled in.
func newEndpoint(d Deps, cfg Config, label, address, key, header string) *endpoint {
	base, query := splitQuery(address)
	transport := d.Transport
	if transport == nil {
		transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: cfg.MaxConcurrent,
			IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		}
	}
	e := &endpoint{
		cfg: cfg, label: label, name: displayURL(base), base: base, query: query, key: key, header: header, clock: d.Clock,
		client: &http.Client{Transport: transport, CheckRedirect: sameHost},
		slots:  fair.NewGate(cfg.MaxConcurrent, 0),
	}
	paused := outage.New(d.log(), d.Clock, "an endpoint is not asked for now", "the endpoint answers again")
	e.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name:         e.name,
		Timeout:      cfg.BreakerPause,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return int64(c.ConsecutiveFailures) >= int64(cfg.BreakerFailures) },
		IsSuccessful: func(err error) bool { return !isOutage(err) },
		IsExcluded: func(err error) bool {
			var f *failure
			return errors.Is(err, context.Canceled) || errors.As(err, &f) && (f.doubtful || e.patient && f.timeout)
		},
		OnStateChange: func(name string, _, to gobreaker.State) {
			var cause error
			if to == gobreaker.StateOpen {
				cause = e.cause()
			}
			if to != gobreaker.StateHalfOpen {
				paused.Report(context.Background(), cause, slog.String("endpoint", name))
			}
		},
	})
	if d.Watch != nil {
		d.Watch.endpoints = append(d.Watch.endpoints, e)
	}
	return e
}

// Watch has the endpoints that were made with it. They are made before it is asked.
type Watch struct{ endpoints []*endpoint }

// Models returns why a model is not asked for now, or was not answered at last; nil: there is no such.
func (w *Watch) Models(context.Context) error { return w.failing(labelModel) }

// Embedder is Models of the embedder.
func (w *Watch) Embedder(context.Context) error { return w.failing(labelEmbedder) }

// Has reports whether there is an endpoint of a model, and of an embedder.
func (w *Watch) Has() (models, embedder bool) {
	for _, e := range w.endpoints {
		models, embedder = models || e.label == labelModel, embedder || e.label == labelEmbedder
	}
	return models, embedder
}

func (w *Watch) failing(label string) error {
	for _, e := range w.endpoints {
		if e.label == label && e.breaker.State() != gobreaker.StateClosed {
			code, _ := e.paused()
			return fault.New(code, "%s keeps failing%s; what needs it waits, and is tried again", e.label, e.why())
		}
	}
	return nil
}

// why returns how the last request failed, after a colon.
func (e *endpoint) why() string {
	if last := e.outage.Load(); last != nil {
		return ": " + strings.Replace(last.Message, e.label, "it", 1)
	}
	return ""
}

// cause returns the last failure for logs.
func (e *endpoint) cause() error {
	if last := e.outage.Load(); last != nil {
		return last.Err
	}
	return memory.ErrPaused
}

// paused returns what callers get while the breaker is open. What the operator has to change is not over with its pause.
func (e *endpoint) paused() (fault.Code, time.Duration) {
	if last := e.outage.Load(); last != nil && last.Code == fault.Misconfigured {
		return last.Code, 0
	}
	return fault.Unavailable, e.cfg.BreakerPause
}

// sameHost follows redirects only within the host that the operator configured: requests go nowhere
// else.
func sameHost(req *http.Request, via []*http.Request) error {
	if req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

const maxRedirects = 3

// splitQuery splits an address into what is before its query, without slashes at the end, and the query: paths are
// added before it.
func splitQuery(address string) (base, query string) {
	base, _, _ = strings.Cut(address, "#")
	base, query, _ = strings.Cut(base, "?")
	return strings.TrimRight(base, "/"), query
}

// JoinPath returns an address with a path added before its query.
func JoinPath(address, path string) string {
	base, query := splitQuery(address)
	base += "/" + path
	if query != "" {
		base += "?" + query
	}
	return base
}

// displayURL returns an address without the parts that may be secret.
func displayURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "the model endpoint"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// failure is a request without a usable response.
type failure struct {
	status     int           // HTTP status; 0: no response
	reached    bool          // the request was sent
	timeout    bool          // the answer did not come in time
	doubtful   bool          // the input may be why the endpoint failed, see doubtedError
	retryAfter time.Duration // as the endpoint requests
	err        error
}

func (f *failure) Error() string { return f.err.Error() }

// Unwrap shows the retry loop how long the endpoint wants it to wait.
func (f *failure) Unwrap() []error {
	if f.retryAfter > 0 {
		return []error{f.err, &backoff.RetryAfterError{Duration: f.retryAfter}}
	}
	return []error{f.err}
}

// doubtedError is the error of a request whose input may be why an endpoint failed (5xx) or did not answer in time. Such a failure is not
// tried again and does not count against the endpoint: the caller finds out with another input.
type doubtedError struct{ error }

func (d *doubtedError) Unwrap() error { return d.error }

// isRetryable reports whether the failure may be over within seconds.
func (f *failure) isRetryable() bool {
	switch {
	case errors.Is(f.err, errTooLong), f.doubtful:
		return false
	case f.status == http.StatusTooManyRequests, f.status == http.StatusRequestTimeout, f.status >= 500:
		return f.status != http.StatusNotImplemented
	case f.status >= 400:
		return false
	}
	return true
}

// isOutage reports whether the next request would fail as well: every failure that the request
// itself did not cause.
func isOutage(err error) bool {
	var f *failure
	if !errors.As(err, &f) {
		return err != nil
	}
	switch f.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusPaymentRequired:
		return true
	}
	return f.isRetryable()
}

// do sends one request, retries it while that may help, and returns the number of requests that
// reached the endpoint. The error is a fault that names the endpoint, with a *failure in its chain.
func (e *endpoint) do(ctx context.Context, s tenant.Scope, request func(context.Context, *openai.Client) error) (reached int, err error) {
	return e.run(ctx, s, func(ctx context.Context, rec *recorder) error {
		cfg := openai.DefaultConfig(e.key)
		cfg.BaseURL = e.base
		rec.rename = true
		cfg.HTTPClient = rec
		return request(ctx, openai.NewClientWithConfig(cfg))
	})
}

// run is do for requests that are sent through the recorder directly.
func (e *endpoint) run(ctx context.Context, s tenant.Scope, request func(context.Context, *recorder) error) (reached int, err error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval = e.cfg.RetryWait
	wait.MaxInterval = e.cfg.MaxRetryWait
	var last *failure
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		f, paused := e.attempt(ctx, s, request)
		switch {
		case paused != nil:
			if f != nil && f.reached {
				reached++
			}
			return struct{}{}, backoff.Permanent(paused)
		case f == nil:
			reached++
			return struct{}{}, nil
		}
		last = f
		if f.reached {
			reached++
		}
		deadline, bounded := ctx.Deadline()
		tooLate := bounded && time.Until(deadline) < f.retryAfter
		if !f.isRetryable() || f.retryAfter > e.cfg.MaxRetryWait || tooLate || ctx.Err() != nil {
			return struct{}{}, backoff.Permanent(f)
		}
		return struct{}{}, f
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(uint(max(1, e.cfg.MaxTries))), backoff.WithMaxElapsedTime(0))
	switch {
	case err == nil:
		return reached, nil
	case last != nil:
		return reached, e.fault(ctx, last)
	case errors.Is(err, memory.ErrPaused):
		code, wait := e.paused()
		return reached, &fault.Error{
			Code: code, RetryAfter: wait, Err: fmt.Errorf("%s: %w: %s", e.name, err, e.cause().Error()),
			Message: fmt.Sprintf("%s keeps failing and is not asked for now%s", e.label, e.why()),
		}
	default: // the caller left while waiting for its turn
		return reached, e.fault(ctx, &failure{err: err})
	}
}

// classOf returns the class of a scope at a gate: a caller waits, or a job.
func classOf(s tenant.Scope) fair.Class {
	if s.IsJob() {
		return fair.Background
	}
	return fair.Foreground
}

// attempt sends one request. paused is set when the breaker is open, and beside the failure of a
// probe: the one request by which an open breaker tests whether the endpoint is back. So the caller
// that happened to send the probe is treated like those that were not let through.
func (e *endpoint) attempt(ctx context.Context, s tenant.Scope, request func(context.Context, *recorder) error) (f *failure, paused error) {
	leave, err := e.slots.Enter(ctx, s.Tenant(), classOf(s))
	if err != nil {
		return &failure{err: context.Cause(ctx)}, nil
	}
	defer leave()
	probe := e.breaker.State() == gobreaker.StateHalfOpen
	_, err = e.breaker.Execute(func() (struct{}, error) {
		tryCtx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
		defer cancel()
		rec := &recorder{endpoint: e}
		if err := request(tryCtx, rec); err != nil {
			f = e.failure(rec, err)
			if isOutage(f) && ctx.Err() == nil {
				e.outage.Store(e.fault(ctx, f))
			}
			return struct{}{}, f
		}
		return struct{}{}, nil
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return nil, memory.ErrPaused
	}
	if probe && f != nil && isOutage(f) {
		return f, fmt.Errorf("%w: %w", memory.ErrPaused, f)
	}
	return f, nil
}

// failure classifies an error.
func (e *endpoint) failure(rec *recorder, err error) *failure {
	f := &failure{err: e.redact(err), status: rec.status, reached: rec.status != 0}
	if inside, ok := errors.AsType[*insideError](err); ok {
		f.status, rec.retryAfter = inside.status, inside.retryAfter
	}
	switch {
	case f.status < 400:
		// The response broke off, or is not one of this API.
		f.status = 0
	case f.status == http.StatusInternalServerError && strings.Contains(err.Error(), "validation error"):
		// What llama-cpp-python answers to a field that it does not know.
		f.status = http.StatusUnprocessableEntity
	case f.status == http.StatusInternalServerError && refusesSystem.MatchString(err.Error()):
		f.status = http.StatusUnprocessableEntity // a chat template failed, as of llama.cpp
	}
	var netErr net.Error
	var opErr *net.OpError
	switch {
	case rec.status == 0 && isRefusedUnsent(err):
		f.status = http.StatusBadRequest
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		f.timeout = true
		f.reached = true
	case errors.As(err, &opErr) && opErr.Op != "dial":
		f.reached = true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		f.reached = true
	}
	f.retryAfter = parseRetryAfter(rec.retryAfter, e.clock())
	_, doubted := errors.AsType[*doubtedError](err)
	f.doubtful = doubted && (f.status >= 500 || f.timeout) && f.isRetryable() && f.retryAfter == 0
	return f
}

// refusesSystem matches what chat templates say of instructions that they do not take.
var refusesSystem = regexp.MustCompile(`(?i)\b(system|developer)\W+(role|message|prompt|instruction)|\broles must\b`)

// isRefusedUnsent reports whether the client library refused the request itself, because of fields
// that the model does not support.
func isRefusedUnsent(err error) bool {
	return errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated) ||
		errors.Is(err, openai.ErrReasoningModelLimitationsOther) ||
		errors.Is(err, openai.ErrReasoningSamplingUnsupported)
}

// fault returns the error for the caller: what failed, without the address, which is in the cause for the log.
func (e *endpoint) fault(ctx context.Context, f *failure) *fault.Error {
	out := &fault.Error{Code: fault.Unavailable, RetryAfter: f.retryAfter, Err: fmt.Errorf("%s: %w", e.name, f)}
	switch {
	case f.timeout || errors.Is(f.err, context.DeadlineExceeded):
		out.Code = fault.Timeout
		out.Message = fmt.Sprintf("%s did not answer in time", e.label)
	case ctx.Err() != nil:
		out.Message = fmt.Sprintf("stopped while asking %s", e.label)
	case f.status == http.StatusTooManyRequests:
		out.Message = fmt.Sprintf("%s asks to slow down (429)", e.label)
	case f.status == http.StatusUnauthorized || f.status == http.StatusForbidden:
		e.misconfigured(out, f, "does not accept the key", keySetting)
	case f.status == http.StatusPaymentRequired:
		e.misconfigured(out, f, "wants the account of the key to be paid", keySetting)
	case f.status == http.StatusNotFound:
		e.misconfigured(out, f, "does not know the model or the path", "_MODEL")
	case f.status >= 500:
		out.Message = fmt.Sprintf("%s failed (%d)", e.label, f.status)
	case f.status >= 400:
		out.Code = fault.ModelFailed
		out.Message = fmt.Sprintf("%s refused the request (%d)", e.label, f.status)
	case errors.Is(f.err, errTooLong):
		out.Code = fault.ModelFailed
		out.Message = fmt.Sprintf("%s gave an answer without an end", e.label)
	case f.reached:
		out.Message = fmt.Sprintf("the connection to %s broke, or it is not an OpenAI-compatible endpoint", e.label)
	default:
		out.Message = fmt.Sprintf("cannot connect to %s", e.label)
	}
	return out
}

// misconfigured makes out the fault of a request that fails until the operator changes a setting, which the log alone names.
func (e *endpoint) misconfigured(out *fault.Error, f *failure, how, setting string) {
	settings := map[string]string{labelModel: "SLIPBOX_LLM", labelEmbedder: "SLIPBOX_EMBED", labelReranker: "SLIPBOX_RERANK"}[e.label] + setting
	if e.label == labelEmbedder && setting == keySetting && e.key == e.cfg.APIKey { // which it is by default
		settings += " or SLIPBOX_LLM" + setting
	}
	out.Code = fault.Misconfigured
	out.Message = fmt.Sprintf("%s %s (%d): the operator of this gateway has to change its settings", e.label, how, f.status)
	out.Err = fmt.Errorf("%w; check %s", out.Err, settings)
}

// maxCause bounds the text of an error, in bytes.
const maxCause = 300

// redacted is an error whose text has no key and no sentence of the endpoint, since some endpoints
// quote the request. Its chain is the original's.
type redacted struct {
	text string
	err  error
}

func (r *redacted) Error() string { return r.text }
func (r *redacted) Unwrap() error { return r.err }

func (e *endpoint) redact(err error) error {
	s := err.Error()
	var api *openai.APIError
	var other *openai.RequestError
	switch {
	case errors.As(err, &api):
		words := []string{"status", strconv.Itoa(api.HTTPStatusCode)}
		for _, word := range []any{api.Type, api.Code} {
			if w, ok := word.(string); ok && errorWord.MatchString(w) {
				words = append(words, w)
			}
		}
		s = strings.Join(words, " ")
	case errors.As(err, &other):
		s = fmt.Sprintf("status %d with a body that is not an error of this API", other.HTTPStatusCode)
	}
	if e.query != "" {
		s = strings.ReplaceAll(s, "?"+e.query, "")
	}
	if e.key != "" {
		s = strings.ReplaceAll(s, e.key, "[key]")
	}
	return &redacted{text: clip.Bytes(s, maxCause), err: err}
}

// errorWord matches the name of a kind of error, such as context_length_exceeded.
var errorWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.]{0,63}$`)

// parseRetryAfter parses the header: seconds or an HTTP date (RFC 9110 §10.2.3).
func parseRetryAfter(h string, now time.Time) time.Duration {
	h = strings.TrimSpace(h)
	if s, err := strconv.ParseFloat(h, 64); err == nil {
		if s > 0 && s < 1e6 {
			return time.Duration(s * float64(time.Second))
		}
		return 0
	}
	if at, err := http.ParseTime(h); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
