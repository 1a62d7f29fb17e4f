package faults_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// The time limits of a request, and of all its attempts.
const (
	slowest  = 30 * time.Second
	patience = 120 * time.Second
)

// request is a request to any gateway.
type request struct {
	kind, method, path string
	body               any // JSON; []byte is NDJSON
	header             map[string]string
}

// answer is the answer to a request. Status 0 means that there is none.
type answer struct {
	status int
	header http.Header
	body   []byte
	// unsure means that an earlier attempt may have taken effect: it had no answer, or one
	// that leaves this open.
	unsure bool
	by     *process
}

func (a *answer) read(into any) error {
	if err := json.Unmarshal(a.body, into); err != nil {
		return fmt.Errorf("%w in %q", err, a.body)
	}
	return nil
}

// revision returns the revision in the answer.
func (a *answer) revision() (n int64) {
	_, _ = fmt.Sscan(a.header.Get("Slipbox-Revision"), &n)
	return n
}

// ask sends a request to the first gateway, and then to the others, until an answer is not a failure
// of the servers.
func (c *client) ask(first *process, r request) answer {
	gateways := c.run.scene.gateways
	at := 0
	for i, g := range gateways {
		if g == first {
			at = i
		}
	}
	deadline := time.Now().Add(patience)
	unsure := false
	for ; ; at++ {
		a := c.once(gateways[at%len(gateways)], r)
		a.unsure = unsure
		switch {
		case a.status != 0 && a.status < http.StatusInternalServerError && a.status != http.StatusTooManyRequests:
			return a
		case time.Now().After(deadline):
			c.run.book.problemf("%s %s: no answer within %s", r.method, r.path, patience)
			return a
		}
		unsure = true
		<-time.After(50*time.Millisecond + time.Duration(c.rng.IntN(200))*time.Millisecond)
	}
}

// once sends a request once, and checks the answer.
func (c *client) once(p *process, r request) answer {
	ctx, cancel := context.WithTimeout(context.Background(), slowest)
	defer cancel()
	began := time.Now()
	a, err := c.send(ctx, p, r)
	ended := time.Now()
	book := c.run.book
	what := ""
	switch {
	case ctx.Err() != nil:
		what = "no answer in time"
		book.problemf("%s %s by %s: no answer within %s", r.method, r.path, p.name, slowest)
	case err != nil && p.wasAway(began, ended):
		what = "the process was killed"
	case err != nil:
		what = "a broken connection"
		book.problemf("%s %s: %s lives and broke the connection: %v", r.method, r.path, p.name, err)
	case a.status == http.StatusServiceUnavailable || a.status == http.StatusTooManyRequests:
		what = fmt.Sprint(a.status)
		if a.header.Get("Retry-After") == "" {
			book.problemf("%s %s by %s: %d without Retry-After: %s", r.method, r.path, p.name, a.status, a.body)
		}
		if !book.outage("postgres", began.Add(-3*time.Second), ended) {
			what += " while Postgres was there"
		}
	case a.status >= http.StatusInternalServerError:
		what = fmt.Sprint(a.status)
		book.problemf("%s %s by %s: %d: %s", r.method, r.path, p.name, a.status, a.body)
	case a.status == http.StatusPreconditionFailed:
		what = "412: it was changed meanwhile"
	}
	book.request(r.kind, ended.Sub(began), what)
	for _, other := range c.run.tenants {
		if other != c.tenant && bytes.Contains(a.body, []byte(other.word)) {
			book.problemf("%s %s by %s for tenant %s shows words of tenant %s: %s", r.method, r.path, p.name, c.tenant.name, other.name, a.body)
		}
	}
	return a
}

func (c *client) send(ctx context.Context, p *process, r request) (answer, error) {
	a := answer{by: p}
	var body io.Reader
	kind := ""
	switch b := r.body.(type) {
	case nil:
	case []byte:
		body, kind = bytes.NewReader(b), "application/x-ndjson"
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			return a, err
		}
		body, kind = bytes.NewReader(raw), "application/json"
	}
	req, err := http.NewRequestWithContext(ctx, r.method, p.url+r.path, body)
	if err != nil {
		return a, err
	}
	req.Header.Set("Authorization", "Bearer "+c.tenant.key)
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for k, v := range r.header {
		req.Header.Set(k, v)
	}
	resp, err := c.run.http.Do(req)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return a, err
	}
	a.status, a.header, a.body = resp.StatusCode, resp.Header, raw
	return a, nil
}

// askFor asks for an answer with one status and decodes its body into into. Any other status is a
// problem.
func (c *client) askFor(first *process, status int, r request, into any) (answer, bool) {
	a := c.ask(first, r)
	err := error(nil)
	switch {
	case a.status == 0 || a.status >= http.StatusInternalServerError:
		return a, false // already recorded
	case a.status != status:
		err = fmt.Errorf("status %d, want %d: %s", a.status, status, a.body)
	case into != nil:
		err = a.read(into)
	}
	if err != nil {
		c.run.book.problemf("%s %s by %s (tried before: %t): %v", r.method, r.path, a.by.name, a.unsure, err)
	}
	return a, err == nil
}

// noteJSON is a note in an answer.
type noteJSON struct {
	ID         string
	Content    string
	State      string
	Revision   int64
	Attributes map[string]any
}

func (n *noteJSON) value() string {
	s, _ := n.Attributes["v"].(string)
	return s
}

// each returns all items of a listing, page by page.
func each[T any](c *client, p *process, kind, path string, visit func(T)) error {
	next := path
	for {
		var page struct {
			Items      []T
			NextCursor string `json:"next_cursor"`
		}
		if _, ok := c.askFor(p, http.StatusOK, request{kind: kind, method: http.MethodGet, path: next}, &page); !ok {
			return errors.New("the listing " + path + " ended early")
		}
		for _, item := range page.Items {
			visit(item)
		}
		if page.NextCursor == "" {
			return nil
		}
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		next = path + sep + "cursor=" + page.NextCursor
	}
}
