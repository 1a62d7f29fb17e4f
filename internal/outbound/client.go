package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Bounds of a request that no setting changes.
const (
	maxURL       = 2_048 // bytes, without what a call adds to the query
	maxHeaders   = 64 << 10
	maxRedirects = 3
	dialTimeout  = 5 * time.Second
)

// Config are the settings of a client.
type Config struct {
	// Allow are the hosts that every tenant may reach, also at addresses that are not public.
	Allow Hosts
}

// Client sends requests. It is safe for concurrent use, and keeps no connection after a request.
type Client struct {
	allow Hosts
	http  *http.Client
}

// New returns a client.
func New(cfg Config) *Client {
	c := &Client{allow: cfg.Allow}
	c.http = &http.Client{
		CheckRedirect: sameHost,
		Transport: &http.Transport{
			DialContext:            c.dial,
			DisableKeepAlives:      true, // a connection of one tenant is of no use to another
			DisableCompression:     true, // nothing unpacks more than was sent
			TLSHandshakeTimeout:    dialTimeout,
			MaxResponseHeaderBytes: maxHeaders,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		},
	}
	return c
}

// dial connects to a host. Only one that the operator allows may have an address that is not public.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	if host, port, err := net.SplitHostPort(address); err != nil || !c.allow.Has(host, port) {
		d.Control = control
	}
	return d.DialContext(ctx, network, address)
}

// sameHost follows redirects within the host that was asked.
func sameHost(req *http.Request, via []*http.Request) error {
	if !strings.EqualFold(req.URL.Host, via[0].URL.Host) || req.URL.Scheme != via[0].URL.Scheme || req.URL.User != nil || len(via) > maxRedirects {
		return http.ErrUseLastResponse
	}
	return nil
}

// Check returns Invalid "url" for an address to which no request would be sent: one that is not http or https, has a
// user, or whose host the tenant (hosts) and the operator do not allow. Names are not resolved.
func (c *Client) Check(raw string, hosts Hosts) error {
	_, err := c.parse(raw, hosts)
	return err
}

func (c *Client) parse(raw string, hosts Hosts) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, fault.InvalidField("url", "at most %d bytes", maxURL)
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Opaque != "":
		return nil, fault.InvalidField("url", "must be an address such as https://example.com/path")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fault.InvalidField("url", "must begin with https:// or http://")
	case u.User != nil:
		return nil, fault.InvalidField("url", "must not have a user or password; send them in a header")
	case strings.Contains(raw, "#"):
		return nil, fault.InvalidField("url", "must not have a fragment (#)")
	}
	host := u.Hostname()
	ip, err := netip.ParseAddr(host)
	if err != nil && !isName(host) {
		return nil, fault.InvalidField("url", "must have a host in ASCII, such as example.com")
	}
	port := portOf(u)
	switch {
	case c.allow.Has(host, port):
	case !hosts.Has(host, port):
		return nil, fault.InvalidField("url", "the host %q is not allowed; the operator adds it to the tenant's allowed_hosts, or to SLIPBOX_ALLOW_HOSTS", host)
	case err == nil && !isPublic(ip):
		return nil, fault.InvalidField("url", "the host %q is not public; the operator allows it by SLIPBOX_ALLOW_HOSTS", host)
	}
	return u, nil
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// Origin returns scheme, host and port of an address; "" when it is none.
func Origin(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + net.JoinHostPort(canonical(u.Hostname()), portOf(u))
}

// own are the headers that a client sets itself.
var own = []string{
	"accept-encoding", "connection", "content-length", "content-type", "expect", "host", "idempotency-key", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
}

// CheckHeader returns why a header cannot be sent; "": it can.
func CheckHeader(name, value string) string {
	switch lower := strings.ToLower(name); {
	case !httpguts.ValidHeaderFieldName(name) || len(name) > 64:
		return "is no name of a header"
	case slices.Contains(own, lower) || strings.HasPrefix(lower, "proxy-"):
		return "is set by slipbox, or must not be sent"
	case !httpguts.ValidHeaderFieldValue(value) || strings.TrimSpace(value) != value:
		return "has a value that a header cannot have"
	}
	return ""
}

// Request is a request.
type Request struct {
	Method string
	URL    string
	Query  url.Values // added to that of the URL
	Header map[string]string
	Body   []byte // JSON; nil: none
	// Key is the Idempotency-Key: equal for a request that is sent again.
	Key      string
	Hosts    Hosts // that the tenant may reach
	Timeout  time.Duration
	MaxBytes int // of the answer
	// StatusOnly asks for the status and nothing else: the rest of the answer is not read, and no redirect is followed.
	StatusOnly bool
}

// Response is the answer of a service.
type Response struct {
	Status    int
	MediaType string // without parameters; "": not said
	Body      []byte
}

// Do sends a request and reads its answer, of any status. Its errors are faults whose message says what happened, and
// has nothing of the headers.
func (c *Client) Do(ctx context.Context, r Request) (Response, error) {
	u, err := c.parse(r.URL, r.Hosts)
	if err != nil {
		return Response{}, err
	}
	if len(r.Query) > 0 {
		q := u.Query()
		maps.Copy(q, r.Query)
		u.RawQuery = q.Encode()
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, u.String(), body)
	if err != nil {
		return Response{}, fault.New(fault.Invalid, "the request cannot be made")
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "slipbox")
	}
	if r.Key != "" {
		req.Header.Set("Idempotency-Key", r.Key)
	}
	client := *c.http
	if r.StatusOnly {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	resp, err := client.Do(req)
	if err != nil {
		return Response{}, failure(ctx, err, u.Host, r.Timeout)
	}
	defer func() { _ = resp.Body.Close() }()
	if r.StatusOnly {
		return Response{Status: resp.StatusCode}, nil
	}
	if resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.Header.Get("Location") != "" {
		return Response{}, fault.New(fault.Invalid, "%s answered with a redirect (%d) to another host, or with too many, which are not followed", u.Host, resp.StatusCode)
	}
	if e := resp.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return Response{}, fault.New(fault.Invalid, "%s sent a compressed answer, which was not asked for", u.Host)
	}
	out := Response{Status: resp.StatusCode}
	if out.MediaType, _, err = mime.ParseMediaType(resp.Header.Get("Content-Type")); err != nil {
		out.MediaType = ""
	}
	out.Body, err = io.ReadAll(io.LimitReader(resp.Body, int64(r.MaxBytes)+1))
	if err != nil {
		return Response{}, failure(ctx, err, u.Host, r.Timeout)
	}
	if len(out.Body) > r.MaxBytes {
		return Response{}, fault.New(fault.Invalid, "the answer of %s has more than %d bytes; ask for less", u.Host, r.MaxBytes)
	}
	return out, nil
}

// failure says why a request got no answer, without addresses and without what was sent.
func failure(ctx context.Context, err error, host string, timeout time.Duration) error {
	var dns *net.DNSError
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	what := "the connection to " + host + " broke off"
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		what = fmt.Sprintf("%s did not answer within %s", host, timeout)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &dns), errors.Is(err, errNotPublic):
		// One sentence for both: which names an internal network has is not for tenants.
		what = fmt.Sprintf("%s has no address that the operator allows: it is not found, or not public", host)
	case errors.As(err, &certificate):
		what = fmt.Sprintf("the certificate of %s is not accepted", host)
	case errors.As(err, &op) && op.Op == "dial":
		what = fmt.Sprintf("no connection to %s", host)
	}
	return fault.New(fault.Invalid, "%s", what)
}
