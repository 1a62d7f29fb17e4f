package app

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/slipboxhq/slipbox/test/must"
)

// receiver is a service that webhooks are sent to. It answers as the path of the webhook says.
type receiver struct {
	*httptest.Server

	mu   sync.Mutex
	got  map[string][]received // by path
	news chan struct{}         // closed and replaced when something came
}

type received struct {
	id, notes string
	header    http.Header
	body      []byte
	revision  int64
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{got: map[string][]received{}, news: make(chan struct{})}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	var m struct {
		Data struct {
			Revision int64    `json:"revision"`
			Notes    []string `json:"notes"`
		} `json:"data"`
	}
	if err == nil {
		err = json.Unmarshal(body, &m)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.got[req.URL.Path] = append(r.got[req.URL.Path], received{req.Header.Get("Webhook-Id"), strings.Join(m.Data.Notes, " "), req.Header, body, m.Data.Revision})
	tries := len(r.got[req.URL.Path])
	close(r.news)
	r.news = make(chan struct{})
	r.mu.Unlock()
	switch req.URL.Path {
	case "/redirects":
		http.Redirect(w, req, r.URL+"/elsewhere", http.StatusTemporaryRedirect)
	case "/hangs":
		<-req.Context().Done()
	case "/huge": // accepted, with a body that nobody has asked for
		part := bytes.Repeat([]byte("x"), 1<<20)
		for range 1 << 10 {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	case "/closes":
		panic(http.ErrAbortHandler)
	case "/fails-first":
		if tries == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}
}

// wait waits until so many messages came to a path, and returns them.
func (r *receiver) wait(t *testing.T, path string, n int) []received {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		r.mu.Lock()
		got, news := slices.Clone(r.got[path]), r.news
		r.mu.Unlock()
		if len(got) >= n {
			return got
		}
		select {
		case <-news:
		case <-limit:
			t.Fatalf("%d messages came to %s, want %d", len(got), path, n)
		}
	}
}

// webhook creates a webhook for a path of the receiver, and returns its id and secret.
func (g *gatewayTest) webhook(r *receiver, path string, more object) (id, secret string) {
	g.t.Helper()
	more["url"] = r.URL + path
	made := g.call(http.StatusCreated, http.MethodPost, "/v1/webhooks", more)
	return made["id"].(string), made["secret"].(string)
}

// delivery waits until the newest delivery of a webhook is in a state.
func (g *gatewayTest) delivery(webhook, state string) object {
	g.t.Helper()
	var last any
	limit, often := time.After(time.Minute), time.NewTicker(50*time.Millisecond)
	defer often.Stop()
	for {
		items := g.call(http.StatusOK, http.MethodGet, "/v1/webhooks/"+webhook+"/deliveries?limit=1", nil)["items"].([]any)
		if last = items; len(items) > 0 && items[0].(object)["state"] == state {
			return items[0].(object)
		}
		select {
		case <-often.C:
		case <-limit:
			g.t.Fatalf("the newest delivery is %v, want one that is %s", last, state)
		}
	}
}

func verified(t *testing.T, secret string, m *received) {
	t.Helper()
	key, err := standardwebhooks.NewWebhook(secret)
	if err == nil {
		err = key.Verify(m.body, m.header)
	}
	if err != nil {
		t.Errorf("a message is not signed with %s: %v", secret, err)
	}
}

// Webhooks are told of each change once, in order and signed. A receiver that fails is tried again and holds nobody else, and what it
// answers harms nobody.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		r := newReceiver(t)
		at := must.Get(url.Parse(r.URL))(t)
		g := start(func(c *Settings) { c.Outbound.AllowHosts = []string{at.Host} })
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "space", "policy": "none"})
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "other", "policy": "none"})
		write := func(collection, content string) string {
			note := g.call(http.StatusCreated, http.MethodPost, "/v1/collections/"+collection+"/notes", object{"content": content, "infer": false})
			return note["note"].(object)["id"].(string)
		}
		write("space", "before there are webhooks")
		ids := map[string]string{}
		for _, path := range []string{"/redirects", "/hangs", "/huge", "/closes", "/fails-first"} {
			ids[path], _ = g.webhook(r, path, object{"events": []string{"note.added"}})
		}
		added, secret := g.webhook(r, "/added", object{"collection": "space", "events": []string{"note.added"}})
		_, _ = g.webhook(r, "/all", object{"collection": "space"})

		var want []string
		for i := range 5 {
			want = append(want, write("space", fmt.Sprint("note ", i)))
		}
		g.call(http.StatusNoContent, http.MethodDelete, "/v1/collections/space/notes/"+want[0], nil)
		elsewhere := write("other", "elsewhere")
		got := r.wait(t, "/added", 5)
		for i := range got {
			verified(t, secret, &got[i])
			if got[i].notes != want[i] || !strings.Contains(string(got[i].body), `"type":"note.added"`) || strings.Contains(string(got[i].body), "note "+fmt.Sprint(i)) {
				t.Errorf("message %d is %s, want one of note %s without its text", i, got[i].body, want[i])
			}
		}
		all := r.wait(t, "/all", 6)
		last := int64(0)
		for i := range all {
			if all[i].revision < last {
				t.Errorf("message %d is of revision %d, after %d", i, all[i].revision, last)
			}
			last = all[i].revision
		}
		if !strings.Contains(string(all[len(all)-1].body), `"type":"note.deleted"`) {
			t.Errorf("the last message is %s", all[len(all)-1].body)
		}

		// One that failed is sent again under the same id, before what follows it.
		again := r.wait(t, "/fails-first", 7)
		if fails := slices.IndexFunc(again[1:], func(m received) bool { return m.id == again[0].id }); fails < 0 {
			t.Errorf("the message %s was not sent again", again[0].id)
		}
		if d := g.delivery(ids["/huge"], "delivered"); d["status"] != float64(200) {
			t.Errorf("an answer of a gigabyte: %v", d)
		}
		for path, reason := range map[string]string{"/redirects": "307", "/closes": "broke off"} {
			if d := g.delivery(ids[path], "waiting"); !strings.Contains(d["error"].(string), reason) || d["next_at"] == nil {
				t.Errorf("%s: %v", path, d)
			}
		}
		if len(r.got["/elsewhere"]) > 0 {
			t.Error("a redirect was followed")
		}
		r.wait(t, "/huge", 6)
		if !strings.Contains(fmt.Sprint(r.wait(t, "/huge", 6)), elsewhere) {
			t.Error("a webhook of all collections did not hear of one")
		}

		// Two secrets are good after a rotation, and a message is sent once more on request.
		rotated := g.call(http.StatusOK, http.MethodPatch, "/v1/webhooks/"+added, object{"rotate_secret": true})["secret"].(string)
		d := g.delivery(added, "delivered")
		g.call(http.StatusAccepted, http.MethodPost, "/v1/webhooks/"+added+"/deliveries/"+d["id"].(string)+"/retry", nil)
		replay := r.wait(t, "/added", 6)[5]
		verified(t, secret, &replay)
		verified(t, rotated, &replay)
		if replay.id != d["id"] || rotated == secret {
			t.Errorf("the message %s was sent once more as %s", d["id"], replay.id)
		}
		shown := g.call(http.StatusOK, http.MethodGet, "/v1/webhooks/"+added, nil)
		if shown["secret"] != nil || strings.Contains(fmt.Sprint(g.call(http.StatusOK, http.MethodGet, "/v1/webhooks", nil)), "whsec_") {
			t.Error("a secret is shown again")
		}
		g.call(http.StatusNoContent, http.MethodDelete, "/v1/webhooks/"+added, nil)
		g.call(http.StatusNotFound, http.MethodGet, "/v1/webhooks/"+added+"/deliveries", nil)
		for name, bad := range map[string]object{
			"no url": {}, "no host": {"url": "nonsense"}, "a private address": {"url": "http://10.0.0.1/"}, "an event": {"url": r.URL, "events": []string{"note.read"}},
		} {
			if status, out := g.try(http.MethodPost, "/v1/webhooks", bad); status != http.StatusUnprocessableEntity {
				t.Errorf("%s: %d %v", name, status, out)
			}
		}
		if status, _ := g.try(http.MethodPost, "/v1/webhooks", object{"url": r.URL, "collection": "nothing"}); status != http.StatusNotFound {
			t.Errorf("a webhook of no collection: %d", status)
		}
	})
}
