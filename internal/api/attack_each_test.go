package api_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/test/must"
)

// pages returns an address of a listing of the victim and the cursor of its second page, "" when it has one page. Of its parameters,
// the collection is one of the vaults, and the others are taken from the listing that is above them in the path.
func (a *attack) pages(path string) (address, cursor string) {
	a.t.Helper()
	addresses := []string{""}
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		var next []string
		for _, above := range addresses {
			values := []string{part}
			switch {
			case part == "{collection}":
				values = vaults
			case strings.HasPrefix(part, "{"):
				list := a.Call(a.t, "one", "GET", above+"?limit=3", "")
				if values = nil; list.Code == http.StatusOK {
					values = list.Texts("items.*.id")
				}
			}
			for _, v := range values {
				next = append(next, above+"/"+v)
			}
		}
		addresses = next
	}
	for _, at := range addresses {
		credential := "one"
		if strings.HasPrefix(path, "/v1/tenants") {
			credential = "operator"
		}
		first := a.Call(a.t, credential, "GET", at+"?limit=1", "")
		if first.Code != http.StatusOK {
			continue
		}
		address = at
		if next, ok := first.At("next_cursor").(string); ok {
			return at, next
		}
	}
	return address, ""
}

// tampered returns what somebody could make of a cursor.
func tampered(cursor string) []string {
	middle := []byte(cursor)
	middle[len(middle)/2] ^= 1
	last := []byte(cursor)
	last[len(last)-1] ^= 2
	return []string{string(middle), string(last), cursor[1:], cursor[:len(cursor)-1], cursor + "A", cursor + "=", cursor + cursor, strings.ToUpper(cursor), "AAAA", "%"}
}

// Each listing refuses cursors that were tampered with, those of other listings, and those of others. It is in the contract which
// listings there are.
func (a *attack) tryCursors() {
	a.t.Helper()
	listings := map[string]string{} // addresses by paths
	genuine := map[string]string{}  // cursors by paths
	for _, op := range a.ops {
		if parameters, _ := op.Query(); parameters["cursor"] == nil || op.Method != http.MethodGet {
			continue
		}
		at, cursor := a.pages(op.Path)
		if at == "" {
			a.t.Errorf("nothing of the victim is at %s", op.Path)
			continue
		}
		if listings[op.Path] = at; cursor != "" {
			genuine[op.Path] = cursor
		}
	}
	if len(listings) < 25 || len(genuine) < len(listings)/2 {
		a.t.Errorf("%d listings, of which %d have a second page", len(listings), len(genuine))
	}
	a.cursors = slices.Sorted(maps.Values(genuine))
	for path, at := range listings {
		owner := "one"
		if strings.HasPrefix(path, "/v1/tenants") {
			owner = "operator"
		}
		refused := func(who, what, cursor string, statuses ...int) {
			a.t.Helper()
			got := a.Call(a.t, who, "GET", at+"?cursor="+url.QueryEscape(cursor), "")
			if !slices.Contains(statuses, got.Code) {
				a.t.Errorf("%s, %s as %s: %d %s", path, what, who, got.Code, got.Body)
			}
		}
		for of, cursor := range genuine {
			if of != path {
				refused(owner, "the cursor of "+of, cursor, http.StatusUnprocessableEntity)
				continue
			}
			for _, text := range tampered(cursor) {
				refused(owner, "tampered with", text, http.StatusUnprocessableEntity)
			}
			for _, who := range []string{"two", "ada"} {
				refused(who, "the cursor of another", cursor, http.StatusUnprocessableEntity, http.StatusNotFound, http.StatusForbidden)
			}
		}
		refused(owner, "no cursor", "AAAA", http.StatusUnprocessableEntity)
	}
}

// bodied returns the operations that take a body, by the contracts.
func (a *attack) bodied() []*contracttest.Operation {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(a.ops), func(o *contracttest.Operation) bool {
		id := o.Method + " " + o.Path // of MCP, one of the tools is enough
		again := seen[id]
		seen[id] = true
		return again || len(o.Media()) == 0 || o.Method == http.MethodGet
	})
}

// bodyOf returns a request of an operation whose body has media and is read from a body, with what the contract requires besides.
func (a *attack) bodyOf(op *contracttest.Operation, media string, body io.Reader) *http.Request {
	query := url.Values{}
	parameters, required := op.Query()
	for _, name := range required {
		query.Set(name, fmt.Sprint(a.fill(parameters[name], 4)))
	}
	if strings.HasPrefix(op.Path, "/v1/collections/by") {
		query.Set("user", "nora")
	}
	r := httptest.NewRequestWithContext(a.t.Context(), op.Method, pathParameter.ReplaceAllString(op.Path, "vault-amem")+"?"+query.Encode(), body)
	r.Header.Set("Authorization", "Bearer two")
	if p := op.Extensions["x-scope"]; p == "operator" {
		r.Header.Set("Authorization", "Bearer operator")
	}
	r.Header.Set("Content-Type", media)
	return r
}

// Each operation refuses a body that says that it is too large, and reads no more of one that does not say it than it may have.
func (a *attack) tryLargeBodies() {
	a.t.Helper()
	for _, op := range a.bodied() {
		// A form of OAuth is refused as another that cannot be read. What may be larger than a page is streamed, or has its own test.
		statuses, most := []int{http.StatusRequestEntityTooLarge}, int64(3<<20)
		if strings.HasPrefix(op.Path, "/oauth/") {
			statuses = append(statuses, http.StatusBadRequest)
		}
		for _, media := range op.Media() {
			for _, length := range []int64{1 << 50, -1} {
				if length < 0 && op.Extensions["x-body-limit"] != nil {
					continue
				}
				body := &counted{}
				r := a.bodyOf(op, media, body)
				r.ContentLength = length
				w := httptest.NewRecorder()
				if a.ServeHTTP(w, r); !slices.Contains(statuses, w.Code) || body.n > most || length > 0 && body.n > 64<<10 {
					a.t.Errorf("%s %s of %s, %d bytes: %d after %d bytes: %.200s", op.Method, op.Path, media, length, w.Code, body.n, w.Body)
				}
			}
		}
	}
}

// counted is a body of spaces without an end that counts what was read.
type counted struct{ n int64 }

func (c *counted) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	c.n += int64(len(p))
	return len(p), nil
}

// Each operation that takes a body ends a request whose body trickles, within the time of a request, by the clock of the bubble.
func TestAttackWithSlowBodies(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &attack{System: apptest.New(t, withAccess(t)), t: t}
		a.ops = slices.Concat(contracttest.Operations(t), a.tools()[:1], a.programs())
		srv := api.ServeInMemory(t, a)
		ended := map[int]int{}
		for _, op := range a.bodied() {
			for _, media := range op.Media() {
				began := time.Now()
				status := a.trickle(srv, a.bodyOf(op, media, http.NoBody))
				took := time.Since(began)
				if ended[status]++; status < http.StatusBadRequest || status == http.StatusInternalServerError || took > api.DefaultConfig().RequestTimeout+time.Second {
					t.Errorf("%s %s of %s: %d after %s", op.Method, op.Path, media, status, took)
				}
			}
		}
		if ended[http.StatusGatewayTimeout] < 50 {
			t.Errorf("how many requests ended, by status: %v", ended)
		}
	})
}

// trickle sends a request with a body of a byte in five seconds, and returns the status of the answer.
func (a *attack) trickle(srv interface{ Dial(t *testing.T) net.Conn }, r *http.Request) int {
	a.t.Helper()
	conn := srv.Dial(a.t)
	defer func() { _ = conn.Close() }()
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\nContent-Type: %s\r\nContent-Length: 10000\r\n\r\n", r.Method, r.URL.RequestURI(), r.Header.Get("Authorization"), r.Header.Get("Content-Type"))
	must.Get(io.WriteString(conn, head))(a.t)
	answered := make(chan int, 1)
	go func() {
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			answered <- 0
			return
		}
		_ = resp.Body.Close()
		answered <- resp.StatusCode
	}()
	drip := time.NewTicker(5 * time.Second)
	defer drip.Stop()
	for {
		select {
		case status := <-answered:
			return status
		case <-drip.C:
			_, _ = io.WriteString(conn, "[") // fails once it is answered
		}
	}
}
