package cli

import (
	"bytes"
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
	"strconv"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/build"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
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
	// maxEvent bounds a line of an answer, in bytes.
	maxEvent = 16 << 20
	// maxAnswer bounds an answer that is read whole, in bytes.
	maxAnswer = 64 << 20
)

// client calls one gateway with one key.
type client struct {
	base       string // without a slash at its end
	key        string
	collection string // of the profile; "": none
	http       *http.Client
	noRetry    bool          // no request is tried again
	patience   time.Duration // how long after an answer a gateway that is away is asked again, however often; 0: it is not
	answered   time.Time     // when it answered last; zero: never
	status     int           // of the last answer
	policy     string        // of the collection that requests create; "": they create none
}

func transport() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:errcheck,forcetypeassert // it is one, by its documentation
	t.DialContext = (&net.Dialer{Timeout: 10 * time.Second}).DialContext
	return t
}

// request is a request of the API.
type request = slipbox.Request

// newKey returns an idempotency key.
func newKey() string { return rand.Text() }

// once makes a POST repeatable by an idempotency key.
func once(r *request, key string) {
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("Idempotency-Key", key)
}

// ndjson returns the headers of a body with a JSON object in each line.
func ndjson() http.Header { return http.Header{"Content-Type": {"application/x-ndjson"}} }

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
	retries := tries - 1
	if c.noRetry {
		retries = -1
	}
	api, err := slipbox.New(slipbox.Config{URL: c.base, Key: c.key, HTTP: c.http, Retries: retries})
	if err != nil {
		return nil, err
	}
	r.Header = r.Header.Clone()
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("User-Agent", "slipbox/"+build.Current().Version)
	if c.policy != "" {
		r.Header.Set(headerCreate, c.policy)
	}

	harmless := r.Repeatable || r.Method != http.MethodPost || r.Header.Get("Idempotency-Key") != ""
	for {
		resp, err := api.Do(ctx, r)
		if err == nil {
			c.answered, c.status = time.Now(), resp.StatusCode
			return resp, nil
		}
		err = c.refused(err)
		if !harmless || !temporary(err) || time.Since(c.answered) >= c.patience || rest(ctx, firstPause) != nil {
			return nil, err
		}
	}
}

// refused returns the error of the client in the words of the command line.
func (c *client) refused(err error) error {
	problem, ok := errors.AsType[*slipbox.ProblemError](err)
	if lost, away := errors.AsType[*slipbox.ConnectionError](err); away {
		return c.away(lost.Err)
	} else if !ok {
		return err
	}
	if problem.Code == "unknown" {
		return c.stranger(problem.Status)
	}
	return &refusal{Problem: problem.Problem, retryAfter: problem.Header.Get("Retry-After")}
}

// temporary reports whether trying again may help.
func temporary(err error) bool {
	coded, ok := errors.AsType[interface {
		error
		ExitCode() int
	}](err)
	return ok && coded.ExitCode() == ExitAway
}

// stranger is the error for an answer that is not a problem document: of a proxy, or of another program.
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

// stream calls each for the events of an answer until it ends, or each returns an error. It returns how many there were.
// A stream that breaks off is an error of an absent gateway.
func (c *client) stream(ctx context.Context, r request, each func(slipbox.ServerEvent) error) (n int, err error) {
	if r.Header == nil {
		r.Header = http.Header{}
	}
	r.Header.Set("Accept", "text/event-stream")
	resp, err := c.do(ctx, r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	for e, err := range slipbox.Events(resp.Body) {
		if err != nil {
			return n, c.refused(err)
		}
		n++
		if err := each(e); err != nil {
			return n, err
		}
	}
	return n, nil
}

// names returns some collections that the key reaches; nil when they cannot be listed.
func (c *client) names(ctx context.Context) []string {
	var list slipbox.CollectionList
	if _, _, err := c.get(ctx, request{Method: http.MethodGet, Path: collections, Query: url.Values{"limit": {"20"}}}, &list); err != nil {
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
		if _, _, err := c.get(ctx, request{Method: http.MethodGet, Path: path, Query: query}, &page); err != nil {
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
		return "", fmt.Errorf("%q is not an address of a gateway; it looks like http://127.0.0.1:8080", raw)
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
