package outbound

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Bounds of a request that no setting changes.
const (
	maxURL      = 2_048 // bytes
	maxHeaders  = 64 << 10
	dialTimeout = 5 * time.Second
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
		CheckRedirect: follow,
		Transport: &http.Transport{
			DialContext:            c.dial,
			DisableKeepAlives:      true, // a connection of one tenant is of no use to another
			DisableCompression:     true, // nothing is read of an answer
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

// follow follows no redirect.
func follow(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

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

// Request is a request.
type Request struct {
	Method  string
	URL     string
	Header  map[string]string
	Body    []byte // JSON
	Hosts   Hosts  // that the tenant may reach
	Timeout time.Duration
}

// Do sends a request and returns the status of its answer, which is not read. Its errors are faults whose message says what happened,
// and has nothing of the headers.
func (c *Client) Do(ctx context.Context, r Request) (status int, err error) {
	u, err := c.parse(r.URL, r.Hosts)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Method, u.String(), bytes.NewReader(r.Body))
	if err != nil {
		return 0, fault.New(fault.Invalid, "the request cannot be made")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "slipbox")
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}

	resp, err := c.http.Do(req)
	if err != nil {
		return 0, failure(ctx, err, u.Host, r.Timeout)
	}
	_ = resp.Body.Close()
	return resp.StatusCode, nil
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
