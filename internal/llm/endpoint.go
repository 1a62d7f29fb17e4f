package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	openai "github.com/sashabaranov/go-openai"
	"github.com/sony/gobreaker/v2"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// maxBody bounds what is read of one response, in bytes. 64 vectors of 8192
// numbers fit.
const maxBody = 32 << 20

// endpoint is one address that is asked: it bounds how much at once, retries,
// and stops asking when asking has become pointless.
type endpoint struct {
	cfg     Config
	name    string // shown in faults: no user, password or query
	base    string
	key     string
	client  *http.Client
	clock   memory.Clock
	breaker *gobreaker.CircuitBreaker[struct{}]
	slots   chan struct{}
	patient bool // how long an answer takes is its asker's doing: no answer in time says nothing of the endpoint
}

// newEndpoint takes a Config with its defaults.
func newEndpoint(d Deps, cfg Config, base, key string) *endpoint {
	transport := d.Transport
	if transport == nil {
		transport = &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: cfg.MaxConcurrent,
			IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
		}
	}
	e := &endpoint{
		cfg: cfg, name: displayURL(base), base: base, key: key, clock: d.Clock,
		client: &http.Client{Transport: transport, CheckRedirect: sameHost},
		slots:  make(chan struct{}, cfg.MaxConcurrent),
	}
	log := d.log()
	e.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
		Name:         e.name,
		Timeout:      cfg.BreakerPause,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return int64(c.ConsecutiveFailures) >= int64(cfg.BreakerFailures) },
		IsSuccessful: func(err error) bool { return !breaks(err) },
		IsExcluded: func(err error) bool {
			var f *failure
			return errors.Is(err, context.Canceled) || e.patient && errors.As(err, &f) && f.timeout
		},
		OnStateChange: func(name string, from, to gobreaker.State) {
			log.Warn("circuit breaker of a model endpoint", "endpoint", name, "from", from.String(), "to", to.String())
		},
	})
	return e
}

// sameHost follows a redirect within the host that the operator names: what is
// asked goes nowhere else.
func sameHost(req *http.Request, via []*http.Request) error {
	if req.URL.Host != via[0].URL.Host || req.URL.Scheme != via[0].URL.Scheme || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

const maxRedirects = 3

// displayURL names an address without what may be secret in it.
func displayURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return "the model endpoint"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// failure is a request that brought no usable response.
type failure struct {
	status     int           // of HTTP; 0: no response
	reached    bool          // the request was sent
	timeout    bool          // no answer in time
	retryAfter time.Duration // as the endpoint asks
	err        error
}

func (f *failure) Error() string { return f.err.Error() }

// Unwrap lets the retry loop see how long the endpoint wants it to wait.
func (f *failure) Unwrap() []error {
	if f.retryAfter > 0 {
		return []error{f.err, &backoff.RetryAfterError{Duration: f.retryAfter}}
	}
	return []error{f.err}
}

// retryable tells failures that may pass by themselves within seconds.
func (f *failure) retryable() bool {
	switch {
	case f.status == http.StatusTooManyRequests, f.status == http.StatusRequestTimeout, f.status >= 500:
		return f.status != http.StatusNotImplemented
	case f.status >= 400:
		return false
	}
	return true
}

// breaks tells failures that say that the next request will fail as well:
// everything but what lies in the request itself.
func breaks(err error) bool {
	var f *failure
	if !errors.As(err, &f) {
		return err != nil
	}
	switch f.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusPaymentRequired:
		return true
	}
	return f.retryable()
}

// do runs one request, again while that may help, and gives the number of
// requests that reached the endpoint. The error is a fault, or a *failure in
// the chain of one, that names the endpoint.
func (e *endpoint) do(ctx context.Context, request func(context.Context, *openai.Client) error) (reached int, err error) {
	return e.run(ctx, func(ctx context.Context, rec *recorder) error {
		cfg := openai.DefaultConfig(e.key)
		cfg.BaseURL = e.base
		cfg.HTTPClient = rec
		return request(ctx, openai.NewClientWithConfig(cfg))
	})
}

// run is do for requests that are sent through the recorder itself.
func (e *endpoint) run(ctx context.Context, request func(context.Context, *recorder) error) (reached int, err error) {
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval = e.cfg.RetryWait
	wait.MaxInterval = e.cfg.MaxRetryWait
	var last *failure
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		f, paused := e.attempt(ctx, request)
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
		if !f.retryable() || f.retryAfter > e.cfg.MaxRetryWait || tooLate || ctx.Err() != nil {
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
		return reached, &fault.Error{
			Code: fault.Unavailable, RetryAfter: e.cfg.BreakerPause, Err: err,
			Message: fmt.Sprintf("%s keeps failing and is not asked for now", e.name),
		}
	default: // the caller went away while waiting for its turn
		return reached, e.fault(ctx, &failure{err: err})
	}
}

// attempt sends one request. paused is set when the breaker let nothing
// through, and beside the failure of a probe: the one request by which a
// breaker that was open finds out whether the endpoint is back. Whoever
// happened to send the probe is no worse off than those that waited.
func (e *endpoint) attempt(ctx context.Context, request func(context.Context, *recorder) error) (f *failure, paused error) {
	select {
	case e.slots <- struct{}{}:
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return &failure{err: context.Cause(ctx)}, nil
	}
	probe := e.breaker.State() == gobreaker.StateHalfOpen
	_, err := e.breaker.Execute(func() (struct{}, error) {
		tryCtx, cancel := context.WithTimeout(ctx, e.cfg.Timeout)
		defer cancel()
		rec := &recorder{client: e.client}
		if err := request(tryCtx, rec); err != nil {
			f = e.failure(rec, err)
			return struct{}{}, f
		}
		return struct{}{}, nil
	})
	if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
		return nil, memory.ErrPaused
	}
	if probe && f != nil && breaks(f) {
		return f, fmt.Errorf("%w: %w", memory.ErrPaused, f)
	}
	return f, nil
}

// failure reads what went wrong.
func (e *endpoint) failure(rec *recorder, err error) *failure {
	f := &failure{err: e.redact(err), status: rec.status, reached: rec.status != 0}
	if f.status < 400 {
		// A response that broke off or is no answer of this API.
		f.status = 0
	}
	var netErr net.Error
	var opErr *net.OpError
	switch {
	case rec.status == 0 && refusedUnsent(err):
		f.status = http.StatusBadRequest
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		f.timeout = true
		f.reached = true
	case errors.As(err, &opErr) && opErr.Op != "dial":
		f.reached = true
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		f.reached = true
	}
	f.retryAfter = retryAfter(rec.retryAfter, e.clock())
	return f
}

// refusedUnsent tells that the client library itself refused the request, for
// fields that it knows the model not to take.
func refusedUnsent(err error) bool {
	return errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated) ||
		errors.Is(err, openai.ErrReasoningModelLimitationsOther) ||
		errors.Is(err, openai.ErrReasoningSamplingUnsupported)
}

// fault says to the caller what happened, and to whom.
func (e *endpoint) fault(ctx context.Context, f *failure) error {
	out := &fault.Error{Code: fault.Unavailable, RetryAfter: f.retryAfter, Err: f}
	switch {
	case f.timeout || errors.Is(f.err, context.DeadlineExceeded):
		out.Code = fault.Timeout
		out.Message = fmt.Sprintf("%s did not answer in time", e.name)
	case ctx.Err() != nil:
		out.Message = fmt.Sprintf("stopped while asking %s", e.name)
	case f.status == http.StatusTooManyRequests:
		out.Message = fmt.Sprintf("%s asks to slow down (429)", e.name)
	case f.status == http.StatusUnauthorized || f.status == http.StatusForbidden:
		out.Message = fmt.Sprintf("%s does not accept the key (%d)", e.name, f.status)
	case f.status == http.StatusNotFound:
		out.Message = fmt.Sprintf("%s does not know the model or the path (404)", e.name)
	case f.status >= 500:
		out.Message = fmt.Sprintf("%s failed (%d)", e.name, f.status)
	case f.status >= 400:
		out.Code = fault.ModelFailed
		out.Message = fmt.Sprintf("%s refused the request (%d)", e.name, f.status)
	case f.reached:
		out.Message = fmt.Sprintf("the connection to %s broke, or it is no OpenAI-compatible endpoint", e.name)
	default:
		out.Message = fmt.Sprintf("cannot connect to %s", e.name)
	}
	return out
}

// maxCause bounds what is kept of an error's text, in bytes.
const maxCause = 300

// redacted is an error whose text holds no key and nothing that an endpoint
// said in sentences, since some quote the request; its chain is the original's.
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
			if w, ok := word.(string); ok && isWord.MatchString(w) {
				words = append(words, w)
			}
		}
		s = strings.Join(words, " ")
	case errors.As(err, &other):
		s = fmt.Sprintf("status %d with a body that is no error of this API", other.HTTPStatusCode)
	}
	if e.key != "" {
		s = strings.ReplaceAll(s, e.key, "[key]")
	}
	if len(s) > maxCause {
		s = strings.ToValidUTF8(s[:maxCause], "") + "…"
	}
	return &redacted{text: s, err: err}
}

// isWord tells what names a kind of error, such as context_length_exceeded.
var isWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.]{0,63}$`)

// retryAfter reads the header: seconds or an HTTP date (RFC 9110 §10.2.3).
func retryAfter(h string, now time.Time) time.Duration {
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

// recorder notes what the client library does not hand on.
type recorder struct {
	client     *http.Client
	status     int
	retryAfter string
}

// Do sends the request and bounds its response.
func (r *recorder) Do(req *http.Request) (*http.Response, error) {
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, err
	}
	r.status = resp.StatusCode
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode >= 500 {
		r.retryAfter = resp.Header.Get("Retry-After")
	}
	resp.Body = &limitedBody{Reader: io.LimitReader(resp.Body, maxBody), Closer: resp.Body}
	return resp, nil
}

type limitedBody struct {
	io.Reader
	io.Closer
}
