package slipbox

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
	"unicode"
)

const (
	// longestWait is the longest Retry-After that is waited for. The caller gets a longer one as an error.
	longestWait = time.Minute
	// longestPause bounds a wait that the client chooses by itself.
	longestPause = 8 * time.Second
)

// Config is what [New] makes a client from.
type Config struct {
	// URL is the address of the gateway; default SLIPBOX_URL, or else http://127.0.0.1:8080.
	URL string
	// Key is an API key or a token; default SLIPBOX_KEY.
	Key string
	// KeyFunc returns the key, in place of Key, for example that of a store of secrets. It is asked before each try, and again
	// after a 401: a request whose key was refused is sent once more if there is another one by then.
	KeyFunc func(context.Context) (string, error)
	// HTTP sends the requests; default a client that waits a minute for the header of an answer.
	HTTP *http.Client
	// Retries is how often a request is tried again; default 3, negative for never.
	Retries int
	// RetryWait is the longest first pause, which doubles; default 500 ms, negative for none.
	RetryWait time.Duration
}

// A Client calls one gateway. It may be used by many goroutines.
type Client struct {
	url       string
	key       func(context.Context) (string, error)
	http      *http.Client
	retries   int
	retryWait time.Duration
}

// New returns a client. It fails without a key, and with an address or a key that no request can have.
func New(c Config) (*Client, error) {
	client := &Client{
		url: strings.TrimRight(cmp.Or(strings.TrimSpace(c.URL), strings.TrimSpace(os.Getenv("SLIPBOX_URL")), "http://127.0.0.1:8080"), "/"),
		key: c.KeyFunc, http: c.HTTP,
		retries: max(0, cmp.Or(c.Retries, 3)), retryWait: max(0, cmp.Or(c.RetryWait, 500*time.Millisecond)),
	}
	if client.key == nil {
		key := cmp.Or(c.Key, os.Getenv("SLIPBOX_KEY"))
		if _, err := checkKey(key); err != nil {
			return nil, err
		}
		client.key = func(context.Context) (string, error) { return key, nil }
	}
	if address, err := url.Parse(client.url); err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https" {
		return nil, fmt.Errorf("slipbox: the address of the gateway must begin with http:// or https://: %q", client.url)
	}
	if client.http == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.ResponseHeaderTimeout = time.Minute
		client.http = &http.Client{Transport: transport}
	}
	return client, nil
}

// checkKey returns a key without the space around it, such as the line end of a file.
func checkKey(key string) (string, error) {
	key = strings.TrimSpace(key)
	if key == "" {
		return "", errors.New("slipbox: no key: set Config.Key, Config.KeyFunc or SLIPBOX_KEY (gateway key create prints one)")
	}
	if strings.ContainsFunc(key, unicode.IsControl) {
		return "", errors.New("slipbox: the key has a character that cannot be sent")
	}
	return key, nil
}

// authorize sets the key of a try, and reports whether it is another one than that of the try before.
func (c *Client) authorize(ctx context.Context, header http.Header) (changed bool, err error) {
	key, err := c.key(ctx)
	if err != nil {
		return false, fmt.Errorf("slipbox: the key: %w", err)
	}
	if key, err = checkKey(key); err != nil {
		return false, err
	}
	before := header.Get("Authorization")
	header.Set("Authorization", "Bearer "+key)
	return header.Get("Authorization") != before, nil
}

// A Request is a request of the contract, for [Client.Do].
type Request struct {
	// Method is an HTTP method, Path begins with /v1/ and is percent-encoded.
	Method, Path string
	Query        url.Values
	Header       http.Header
	// Body is sent as JSON, or as it is if it is a []byte. A func() (io.Reader, error) opens what is sent, once
	// for each try, which closes it if it can be closed. nil is none.
	Body any
	// Repeatable says that a POST does no harm if it is carried out twice. Other methods, and a POST with
	// the header Idempotency-Key, may be repeated in any case.
	Repeatable bool
}

// Do sends a request and returns the answer, whose status is below 400. The caller closes its body.
func (c *Client) Do(ctx context.Context, r Request) (*http.Response, error) {
	open, err := opener(r.Body)
	if err != nil {
		return nil, err
	}
	header := r.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	if header.Get("User-Agent") == "" {
		header.Set("User-Agent", "slipbox-go")
	}
	if r.Body != nil && header.Get("Content-Type") == "" {
		header.Set("Content-Type", "application/json")
	}
	target := c.url + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	repeatable := r.Repeatable || r.Method != http.MethodPost || header.Get("Idempotency-Key") != ""
	if _, err := c.authorize(ctx, header); err != nil {
		return nil, err
	}
	for attempt, renewed := 0, false; ; attempt++ {
		resp, sent, err := c.try(ctx, r.Method, target, header, open)
		if err == nil {
			return resp, nil
		}
		status, answered := 0, http.Header(nil)
		if problem, ok := errors.AsType[*ProblemError](err); ok {
			status, answered = problem.Status, problem.Header
		} else if _, ok := errors.AsType[*ConnectionError](err); !ok {
			return nil, err // no request was made
		}
		if status == http.StatusUnauthorized && !renewed {
			changed, failed := c.authorize(ctx, header)
			if failed != nil || !changed {
				return nil, errors.Join(err, failed)
			}
			renewed = true
			attempt--
			continue
		}
		wait, again := pause(attempt, status, answered, repeatable || !sent, c.retryWait, mathrand.Float64())
		if !again || attempt >= c.retries || ctx.Err() != nil {
			return nil, err
		}
		if rest(ctx, wait) != nil {
			return nil, err
		}
		if _, err := c.authorize(ctx, header); err != nil {
			return nil, err
		}
	}
}

// opener returns what opens the body of a request.
func opener(body any) (func() (io.Reader, error), error) {
	switch body := body.(type) {
	case nil:
		return func() (io.Reader, error) { return http.NoBody, nil }, nil
	case func() (io.Reader, error):
		return body, nil
	case []byte:
		return func() (io.Reader, error) { return bytes.NewReader(body), nil }, nil
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return opener(encoded)
}

// rest waits, or returns the error of a context that ends before.
func rest(ctx context.Context, wait time.Duration) error {
	if end, ok := ctx.Deadline(); ok && time.Until(end) < wait {
		return context.DeadlineExceeded
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// try sends a request once. sent is false if no connection was made.
func (c *Client) try(ctx context.Context, method, target string, header http.Header, open func() (io.Reader, error)) (resp *http.Response, sent bool, err error) {
	body, err := open()
	if err != nil {
		return nil, false, err
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, false, err
	}
	req.Header = header.Clone()
	resp, err = c.http.Do(req)
	if err != nil {
		dial, ok := errors.AsType[*net.OpError](err)
		return nil, !ok || dial.Op != "dial", &ConnectionError{Err: err}
	}
	if resp.StatusCode < http.StatusBadRequest {
		return resp, true, nil
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	_ = resp.Body.Close()
	if err != nil {
		return nil, true, &ConnectionError{Err: err}
	}
	problem := problemOf(resp.StatusCode, resp.Header, text)
	problem.Status = resp.StatusCode
	return nil, true, problem
}

// pause returns how long to wait before the next try, and whether there is one. attempt counts failed tries
// from 0, status 0 is a connection that was lost, jitter is from 0 to 1.
func pause(attempt, status int, header http.Header, repeatable bool, first time.Duration, jitter float64) (time.Duration, bool) {
	after, told := retryAfter(header)
	refused := status == http.StatusTooManyRequests || (status == http.StatusServiceUnavailable && told)
	unknown := status == 0 || status == http.StatusBadGateway || status == http.StatusGatewayTimeout
	if !refused && (!repeatable || !unknown) {
		return 0, false
	}
	if told {
		// Spread, so that clients do not come back together.
		return after + time.Duration(float64(first)*jitter), after <= longestWait
	}
	return time.Duration(float64(min(first<<min(attempt, 20), longestPause)) * jitter), true
}

// retryAfter returns the time of Retry-After, a number of seconds or a date.
func retryAfter(header http.Header) (time.Duration, bool) {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at)), true
	}
	return 0, false
}

// newKey returns a key that makes a write safe to repeat.
func newKey() string { return rand.Text() }
