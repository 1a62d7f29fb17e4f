package cli

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/build"
)

const (
	// tries is how often a request is sent that may be repeated.
	tries = 4
	// firstPause is the longest wait before the second try. It doubles for each further one.
	firstPause = 500 * time.Millisecond
	// longestWait is the longest Retry-After that is waited for.
	longestWait = 30 * time.Second
	// restartTime is how long imports and watches wait for a gateway that starts again.
	restartTime = time.Minute
	// maxAnswer bounds an answer that is read whole, in bytes.
	maxAnswer = 64 << 20
)

// client calls one gateway with one key.
type client struct {
	base       string // without a slash at its end
	key        string
	collection string // of the profile; "": none
	http       *http.Client
	tries      int
	patience   time.Duration // how long after an answer a gateway that is away is asked again, however often; 0: it is not
	answered   time.Time     // when it answered last; zero: never
}

func transport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:errcheck,forcetypeassert // it is one, by its documentation
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	return t
}

// request is a request of the API.
type request struct {
	method, path string
	query        url.Values
	header       http.Header
	body         any    // encoded as JSON; a []byte is sent as it is, nil is none
	file         string // sent as the body
	media        string // of a []byte or file
	repeatable   bool   // a POST that may be sent twice: it reads, or has an idempotency key
}

// newKey returns an idempotency key.
func newKey() string { return rand.Text() }

// once makes a POST repeatable by an idempotency key.
func (r *request) once(key string) {
	if r.header == nil {
		r.header = http.Header{}
	}
	r.header.Set("Idempotency-Key", key)
	r.repeatable = true
}

// get decodes the answer of a request into out, unless that is nil, and returns its body.
func (c *client) get(ctx context.Context, r request, out any) (json.RawMessage, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	resp, err := c.do(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, nil, c.away(err)
	}
	if out != nil {
		if err := json.Unmarshal(body, out); err != nil {
			return nil, nil, fmt.Errorf("the answer of %s cannot be read: %w; is it slipbox, of a version near %s?", c.base, err, build.Current().Version)
		}
	}
	return bytes.TrimSpace(body), resp.Header, nil
}

// do sends a request, again when that is safe, and returns an answer below 400. The caller closes its body.
func (c *client) do(ctx context.Context, r request) (*http.Response, error) {
	body, raw := r.body.([]byte)
	if r.body != nil && !raw {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return nil, err
		}
	}
	for n := 1; ; n++ {
		resp, sent, err := c.try(ctx, r, body)
		if err == nil {
			c.answered = time.Now()
			return resp, nil
		}
		wait, again := pause(err, n, r.repeatable || r.method != http.MethodPost || !sent)
		if !again || n >= c.tries && time.Since(c.answered) >= c.patience {
			return nil, err
		}
		if rest(ctx, wait) != nil {
			return nil, err
		}
	}
}

// try sends a request once. sent is false when no connection was made.
func (c *client) try(ctx context.Context, r request, body []byte) (resp *http.Response, sent bool, err error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	var content io.Reader = http.NoBody
	if body != nil {
		content = bytes.NewReader(body)
	}
	if r.file != "" {
		f, err := os.Open(r.file)
		if err != nil {
			return nil, false, err
		}
		content = f // closed with the request
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, content)
	if err != nil {
		return nil, false, err
	}
	if r.header != nil {
		req.Header = r.header.Clone()
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("User-Agent", "slipbox/"+build.Current().Version)
	if body != nil || r.file != "" {
		req.Header.Set("Content-Type", cmp.Or(r.media, "application/json"))
	}
	answer, err := c.http.Do(req)
	if err != nil {
		dial, ok := errors.AsType[*net.OpError](err)
		return nil, !ok || dial.Op != "dial", c.away(err)
	}
	if answer.StatusCode < http.StatusBadRequest {
		return answer, true, nil
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil {
		return nil, true, c.away(err)
	}
	refused := &refusal{retryAfter: answer.Header.Get("Retry-After")}
	if err := json.Unmarshal(text, &refused.Problem); err != nil || refused.Code == "" {
		return nil, true, c.stranger(answer.StatusCode)
	}
	refused.Status = answer.StatusCode
	return nil, true, refused
}

// stranger is the error for an answer that is no problem document: of a proxy, or of another program.
func (c *client) stranger(status int) error {
	code := ExitRefused
	if status >= http.StatusInternalServerError {
		code = ExitAway
	}
	return failure{fmt.Sprintf("what answers at %s (%d %s) is not slipbox; name the gateway with --url or `slipbox login`", c.base, status, http.StatusText(status)), code}
}

// away is the error for a gateway that cannot be reached, or whose answer broke off.
func (c *client) away(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return failure{fmt.Sprintf("the gateway at %s did not answer in time; try again, or look at its log", c.base), ExitAway}
	}
	cause := err
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		cause = wrapped.Err // without the address, which may hold ids
	}
	return failure{fmt.Sprintf("the gateway at %s cannot be reached (%v); start it (`gateway serve`), or name another with --url or `slipbox login`", c.base, cause), ExitAway}
}

// pause returns how long to wait after the n-th try, and whether there is another. The rules are those of the clients in
// sdk: what was refused for now is tried again, what may have been carried out only if that does no harm.
func pause(err error, n int, harmless bool) (time.Duration, bool) {
	status, told := 0, ""
	if r, ok := errors.AsType[*refusal](err); ok {
		status, told = r.Status, r.retryAfter
	} else if f, ok := errors.AsType[failure](err); !ok || f.code != ExitAway {
		return 0, false
	}
	seconds, notANumber := strconv.ParseUint(told, 10, 31)
	refused := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable && notANumber == nil
	unknown := status == 0 || status == http.StatusBadGateway || status == http.StatusGatewayTimeout
	if !refused && (!harmless || !unknown) {
		return 0, false
	}
	if notANumber == nil {
		wait := time.Duration(seconds) * time.Second
		return wait, wait <= longestWait
	}
	return backoff(n), true
}

// backoff returns a random wait after the n-th try, within a time that doubles with each.
func backoff(n int) time.Duration {
	return time.Duration(float64(firstPause<<min(n-1, tries)) * mathrand.Float64()) //nolint:gosec // spreads, and hides nothing
}

// rest waits.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// names returns some collections that the key reaches; nil when they cannot be listed.
func (c *client) names(ctx context.Context) []string {
	var list wire.CollectionList
	if _, _, err := c.get(ctx, request{method: http.MethodGet, path: collections, query: url.Values{"limit": {"20"}}}, &list); err != nil {
		return nil
	}
	names := make([]string, 0, len(list.Items))
	for _, l := range list.Items {
		names = append(names, clean(l.Name))
	}
	return names
}

// pages calls each for the items of a listing, page by page, until it has passed at most limit of them. more reports
// whether there are others.
func pages[T any](ctx context.Context, c *client, path string, query url.Values, limit int, each func(T) error) (more bool, err error) {
	for passed := 0; ; {
		var page struct {
			Items  []T    `json:"items"`
			Cursor string `json:"next_cursor"`
		}
		query.Set("limit", strconv.Itoa(min(limit-passed, 200)))
		if _, _, err := c.get(ctx, request{method: http.MethodGet, path: path, query: query}, &page); err != nil {
			return false, err
		}
		for _, item := range page.Items {
			if err := each(item); err != nil {
				return false, err
			}
		}
		if passed += len(page.Items); page.Cursor == "" || passed >= limit {
			return page.Cursor != "", nil
		}
		query.Set("cursor", page.Cursor)
	}
}

// parseBase returns the address of a gateway without a slash at its end.
func parseBase(raw string) (string, error) {
	u, err := url.Parse(strings.TrimSpace(raw))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("%q is no address of a gateway; it looks like http://127.0.0.1:8080", raw)
	case u.User != nil, u.RawQuery != "", u.Fragment != "", strings.HasSuffix(u.Path, "/console"):
		return "", fmt.Errorf("the address of a gateway has no user, password, query, fragment or /console, as in %s://%s; `slipbox login` asks for the key", u.Scheme, u.Host)
	}
	return strings.TrimRight(u.String(), "/"), nil
}

// checkKey returns an error for a key that cannot be sent.
func checkKey(key string) error {
	for _, r := range key {
		if r <= ' ' || r > '~' {
			return failure{"the key holds characters that no key has; copy it again (`gateway key create` prints a new one)", ExitKey}
		}
	}
	return nil
}
