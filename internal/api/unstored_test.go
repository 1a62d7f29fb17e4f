package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/test/must"
)

// A turn is stored after its answer was sent. The next request finds it nevertheless, on every way to ask.
func TestNextRequestKnowsTheTurnBefore(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	srv := httptest.NewServer(b)
	t.Cleanup(srv.Close)
	post := func(path, body string) string {
		t.Helper()
		r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+path, strings.NewReader(body)))(t)
		r.Header.Set("Authorization", "Bearer one")
		r.Header.Set("Content-Type", "application/json")
		res := must.Get(srv.Client().Do(r))(t)
		defer func() { _ = res.Body.Close() }()
		got, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s, %v", path, res.StatusCode, got, err)
		}
		return string(got)
	}
	const said, wanted = "I keep bees in Kiel.", "Where do I keep bees?"
	for i, c := range []struct{ tell, ask, body string }{
		{"chat", "chat", `{"message":"` + wanted + `"}`},
		{"chat", "search", `{"query":"` + wanted + `"}`},
		{"chat", "context", `{"query":"` + wanted + `"}`},
		{"chat", "/v1/search", `{"query":"` + wanted + `","collections":["NAME"]}`},
		{"completions", "/v1/chat/completions", `{"model":"slipbox@NAME","messages":[{"role":"user","content":"` + wanted + `"}]}`},
		{"completions", "/v1/responses", `{"model":"slipbox@NAME","input":"` + wanted + `"}`},
		{"stream", "context", `{"query":"` + wanted + `"}`},
	} {
		name := "space-" + string(rune('a'+i))
		at := "/v1/collections/" + name
		b.Call(t, "one", "POST", "/v1/collections", `{"name":"`+name+`","policy":"none"}`).Want(http.StatusCreated)
		switch c.tell {
		case "chat":
			post(at+"/chat", `{"message":"`+said+`"}`)
		case "completions":
			post("/v1/chat/completions", `{"model":"slipbox@`+name+`","messages":[{"role":"user","content":"`+said+`"}]}`)
		case "stream":
			post("/v1/chat/completions", `{"model":"slipbox@`+name+`","stream":true,"messages":[{"role":"user","content":"`+said+`"}]}`)
		}
		path := c.ask
		if !strings.HasPrefix(path, "/") {
			path = at + "/" + path
		}
		if got := post(path, strings.ReplaceAll(c.body, "NAME", name)); !strings.Contains(got, "Kiel") {
			t.Errorf("%s, then %s: %s", c.tell, c.ask, got)
		}
	}
}
