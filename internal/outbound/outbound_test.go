package outbound

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/test/must"
)

func parse(t *testing.T, list ...string) Hosts {
	t.Helper()
	h := must.Get(ParseHosts(list...))(t)
	return h
}

func TestHosts(t *testing.T) {
	t.Parallel()
	h := parse(t, "Example.com", "api.example.org:8443", "*.internal.example", "192.0.2.7", "[2001:db8::1]:80", " spaced.example ", "")
	for at, want := range map[string]bool{
		"example.com 443": true, "EXAMPLE.COM. 80": true, "www.example.com 443": false, "example.com.evil.net 443": false, "evilexample.com 443": false,
		"api.example.org 8443": true, "api.example.org 443": false, "a.internal.example 1": true, "a.b.internal.example 1": true,
		"internal.example 1": false, "xinternal.example 1": false, "192.0.2.7 5": true, "::ffff:192.0.2.7 5": true, "192.0.2.8 5": false,
		"2001:db8::1 80": true, "2001:DB8:0::1 80": true, "2001:db8::1 81": false, "spaced.example 1": true,
	} {
		host, port, _ := strings.Cut(at, " ")
		if h.Has(host, port) != want {
			t.Errorf("%s: %t", at, !want)
		}
	}
	if all := parse(t, All); !all.Has("anything.example", "1") || !all.HasAll() || h.HasAll() || (Hosts{}).Has("example.com", "443") {
		t.Error("the list of all hosts, or that of none")
	}
	for _, bad := range []string{"https://example.com", "example.com/path", "a b", "*", "**.x", "*.", "x:0", "x:65536", "x:http", "x:080", ":80", "-x.com", "*.192.0.2.1", "münchen.example", "user@example.com", strings.Repeat("a", 64) + ".com"} {
		if _, err := ParseHosts(bad); (err == nil) != (bad == All) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := ParseHosts(make([]string, maxHosts+1)...); err == nil {
		t.Error("a list that is too long")
	}
}

// Only addresses of the Internet are public, in any form.
func TestIsPublic(t *testing.T) {
	t.Parallel()
	for ip, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "2606:4700::1111": true, "2a00:1450::5": true, "172.32.0.1": true, "100.128.0.1": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "127.255.0.1": false, "0.0.0.0": false, "0.1.2.3": false, "10.1.2.3": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false,
		"169.254.169.254": false, "100.64.0.1": false, "100.127.255.255": false, "192.0.0.8": false, "192.0.2.1": false, "192.88.99.1": false, "198.18.0.1": false,
		"198.19.255.255": false, "198.51.100.1": false, "203.0.113.1": false, "224.0.0.1": false, "239.1.1.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::127.0.0.1": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false,
		"fc00::1": false, "fd12:3456::1": false, "ff02::1": false, "64:ff9b::7f00:1": false, "64:ff9b::808:808": false, "64:ff9b:1::1": false, "100::1": false,
		"2001::1": false, "2001:10::1": false, "2001:20::1": false, "2001:db8::1": false, "2002:7f00:1::": false, "3fff::1": false, "5f00::1": false, "4000::1": false,
	} {
		if got := isPublic(netip.MustParseAddr(ip)); got != want {
			t.Errorf("%s: %t", ip, got)
		}
		err := control("tcp6", net.JoinHostPort(ip, "80"), nil)
		if (err == nil) != want {
			t.Errorf("dialing %s: %v", ip, err)
		}
	}
	for _, address := range []string{"", "x", "8.8.8.8", "8.8.8.8:x"} {
		if control("tcp4", address, nil) == nil {
			t.Errorf("dialing %q", address)
		}
	}
	if control("unix", "8.8.8.8:80", nil) == nil || control("udp4", "8.8.8.8:80", nil) == nil {
		t.Error("another network than TCP")
	}
	if isPublic(netip.Addr{}) {
		t.Error("no address is public")
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	c := New(Config{Allow: parse(t, "10.0.0.7", "localhost:8080")})
	all := parse(t, All)
	for raw, want := range map[string]string{
		"https://example.com/x?a=b": "", "http://example.com:8080": "", "http://10.0.0.7/": "", "http://localhost:8080/": "", "https://[2606:4700::1111]/": "",
		"ftp://example.com": "begin with", "file:///etc/passwd": "begin with", "gopher://x": "begin with", "javascript:alert(1)": "address such as", "": "begin with", "example.com": "begin with",
		"//example.com/x": "begin with", "https://": "host in ASCII", "https:///x": "host in ASCII", "https://user@example.com": "user", "https://u:p@example.com": "user",
		"https://example.com/#x": "fragment", "https://münchen.example/": "ASCII", "https://exa mple.com/": "address such as", "https://example.com:99999/": "",
		"http://127.0.0.1/": "not public", "http://169.254.169.254/latest/meta-data/": "not public", "http://[::1]/": "not public", "http://[::ffff:127.0.0.1]/": "not public",
		"http://[fe80::1%25eth0]/": "not public", "http://0.0.0.0/": "not public", "http://10.0.0.8/": "not public", "http://[64:ff9b::7f00:1]/": "not public",
		"https://example.com/\x00": "address such as", "https://" + strings.Repeat("a", 2_100): "at most",
	} {
		err := c.Check(raw, all)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || !fault.Is(err, fault.Invalid)) {
			t.Errorf("%q: %v, want %q", raw, err, want)
		}
	}
	for _, raw := range []string{"https://example.com", "http://localhost:8081/", "http://127.0.0.1/"} {
		if err := c.Check(raw, Hosts{}); err == nil || !strings.Contains(err.Error(), "is not allowed") {
			t.Errorf("%s without allowed hosts: %v", raw, err)
		}
	}
	if Origin("https://Example.com/a") != Origin("https://example.com:443/b") || Origin("https://example.com") == Origin("http://example.com") || Origin("\x7f") != "" {
		t.Error("origins")
	}
}

// request returns a request that is answered within the bounds of a test.
func request(u string, hosts Hosts) Request {
	return Request{Method: "POST", URL: u, Body: []byte(`{"a":1}`), Header: map[string]string{"X-Key": "secret value"}, Hosts: hosts, Timeout: 10 * time.Second}
}

// serve starts a server, and returns its address by number and by name, and how often it was asked.
func serve(t *testing.T, h http.HandlerFunc) (number, name string, asked *atomic.Int32) {
	t.Helper()
	asked = new(atomic.Int32)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		body, _ := io.ReadAll(r.Body) // a server sees only then that a client leaves
		r.Body = io.NopCloser(bytes.NewReader(body))
		h(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, strings.Replace(s.URL, "127.0.0.1", "localhost", 1), asked
}

func wantFailure(t *testing.T, err error, want string) {
	t.Helper()
	if !fault.Is(err, fault.Invalid) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret value") {
		t.Errorf("the error is %v, want %q", err, want)
	}
}

// A request has the body and the headers, goes past every proxy, and its status is returned.
func TestDo(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	number, _, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusTeapot)
	})
	c := New(Config{Allow: parse(t, "127.0.0.1")})
	if status, err := c.Do(t.Context(), request(number+"/x?fixed=1", Hosts{})); err != nil || status != http.StatusTeapot {
		t.Fatalf("%d, %v", status, err)
	}
	if got.URL.Query().Encode() != "fixed=1" || got.Header.Get("X-Key") != "secret value" || got.Header.Get("Content-Type") != "application/json" ||
		got.Header.Get("User-Agent") != "slipbox" || string(body) != `{"a":1}` || got.Header.Get("Accept-Encoding") != "" {
		t.Errorf("the service got %+v", got)
	}
	transport, ok := c.http.Transport.(*http.Transport)
	if !ok || transport.Proxy != nil {
		t.Error("a proxy of the environment would see the requests")
	}
}

// The address that is dialed is checked: a name of a loopback address is refused though the tenant may reach every host.
func TestDoChecksTheAddress(t *testing.T) {
	t.Parallel()
	number, name, asked := serve(t, func(http.ResponseWriter, *http.Request) {})
	all := parse(t, All)
	closed := New(Config{})
	_, err := closed.Do(t.Context(), request(name, all))
	wantFailure(t, err, "not public")
	_, err = closed.Do(t.Context(), request(number, all))
	wantFailure(t, err, "not public")
	_, err = closed.Do(t.Context(), request(number, parse(t, "example.com")))
	wantFailure(t, err, "is not allowed")
	if asked.Load() != 0 {
		t.Errorf("the server was asked %d times", asked.Load())
	}
	if _, err := New(Config{Allow: parse(t, "localhost")}).Do(t.Context(), request(name, Hosts{})); err != nil {
		t.Errorf("a host that the operator allows: %v", err)
	}
	_, err = closed.Do(t.Context(), request("http://no-such-host.invalid/", all))
	if !fault.Is(err, fault.Invalid) {
		t.Errorf("a name that is not there: %v", err)
	}
	_, inside := closed.Do(t.Context(), request(name, all))
	if a, b := err.Error(), inside.Error(); afterHas(a) != afterHas(b) {
		t.Errorf("a tenant learns which names there are: %q, %q", a, b)
	}
}

// A redirect is an answer: it is followed nowhere.
func TestRedirects(t *testing.T) {
	t.Parallel()
	_, other, asked := serve(t, func(http.ResponseWriter, *http.Request) {})
	number, _, here := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusTemporaryRedirect)
	})
	c := New(Config{Allow: parse(t, "127.0.0.1", "localhost")})
	for i, to := range []string{other, "http://169.254.169.254/", "//localhost/", "file:///etc/passwd", "/there"} {
		status, err := c.Do(t.Context(), request(number+"/?"+url.Values{"to": {to}}.Encode(), Hosts{}))
		if err != nil || status != http.StatusTemporaryRedirect || int(here.Load()) != i+1 {
			t.Errorf("a redirect to %s: %d, %v", to, status, err)
		}
	}
	if asked.Load() != 0 {
		t.Error("a redirect was followed to another host")
	}
}

// A request has bounds: of time and of the headers of its answer, which is not read.
func TestDoBounds(t *testing.T) {
	t.Parallel()
	number, _, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hangs":
			<-r.Context().Done()
		case "/hangs-later":
			_, _ = io.WriteString(w, "begin")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		case "/headers":
			w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
		case "/breaks":
			panic(http.ErrAbortHandler)
		}
	})
	c := New(Config{Allow: parse(t, "127.0.0.1")})
	for path, want := range map[string]string{"/hangs": "did not answer within", "/headers": "broke off", "/breaks": "broke off"} {
		r := request(number+path, Hosts{})
		if path == "/hangs" {
			r.Timeout = 50 * time.Millisecond
		}
		_, err := c.Do(t.Context(), r)
		wantFailure(t, err, want)
	}
	if status, err := c.Do(t.Context(), request(number+"/hangs-later", Hosts{})); err != nil || status != http.StatusOK {
		t.Errorf("an answer that does not end: %d, %v", status, err)
	}
	_, err := c.Do(t.Context(), request("http://127.0.0.1:1/", Hosts{}))
	wantFailure(t, err, "no connection")
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Do(stopped, request(number+"/hangs", Hosts{})); !strings.Contains(err.Error(), "canceled") || fault.Is(err, fault.Invalid) {
		t.Errorf("a caller that has left: %v", err)
	}
	secure := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer secure.Close()
	_, err = c.Do(t.Context(), request(secure.URL, Hosts{}))
	wantFailure(t, err, "certificate")
}

// afterHas returns what a refusal says of a host, without its name.
func afterHas(s string) string {
	_, said, _ := strings.Cut(s, " has ")
	return said
}
