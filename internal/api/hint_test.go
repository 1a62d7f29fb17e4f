package api

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
)

func TestSuggest(t *testing.T) {
	t.Parallel()
	valid := []string{"attributes", "content", "expand_links", "k", "min_score", "query", "tags", "token_budget"}
	for name, want := range map[string]string{
		"top_k": "k", "limit": "k", "topK": "k", "text": "content", "metadata": "attributes", "Metadata": "attributes",
		"contents": "content", "contnet": "content", "Content": "content", "expandLinks": "expand_links", "qurey": "query", "tag": "tags",
		"tokenbudget": "token_budget", "minscore": "min_score", "id": "", "x": "", "": "", "flavor": "", "kk": "", "日本": "",
		strings.Repeat("content", 1000): "",
	} {
		if got := suggest(name, valid); got != want {
			t.Errorf("%.20q: %q, want %q", name, got, want)
		}
	}
	if got := suggest("text", []string{"query"}); got != "" {
		t.Errorf("a field that the body does not have is suggested: %q", got)
	}
}

// A name that other systems use for a field of ours is refused with ours.
func TestUnknownFieldsNameTheRightOne(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, key := s.tenant(t, "acme")
	want[wire.Collection](t, s, http.StatusCreated, key, http.MethodPost, "/v1/collections", `{"name":"c","policy":"none"}`)
	for _, tt := range []struct{ method, path, body, field, reason string }{
		{http.MethodPost, "/v1/collections/c/search", `{"query":"a","top_k":3}`, "top_k", "unknown field; did you mean `k`?"},
		{http.MethodPost, "/v1/collections/c/search", `{"query":"a","limit":3}`, "limit", "unknown field; did you mean `k`?"},
		{http.MethodPost, "/v1/collections/c/notes", `{"content":"a","text":"a"}`, "text", "unknown field; did you mean `content`?"},
		{http.MethodPost, "/v1/collections/c/notes", `{"content":"a","metadata":{}}`, "metadata", "unknown field; did you mean `attributes`?"},
		{http.MethodPost, "/v1/collections/c/notes", `{"content":"a","keyword":["b"]}`, "keyword", "unknown field; did you mean `keywords`?"},
		{http.MethodPost, "/v1/collections/c/notes", `{"content":"a","flavor":"red"}`, "flavor", "unknown field"},
		{http.MethodPost, "/v1/collections/c/notes?wiat=evolved", `{"content":"a"}`, "wiat", "unknown parameter; did you mean `wait`?"},
		{http.MethodGet, "/v1/collections/c/notes?top_k=3", "", "top_k", "unknown parameter; did you mean `limit`?"},
		{http.MethodPost, "/v1/collections", `{"title":"My notes"}`, "title", "unknown field; did you mean `display_name`?"},
		{http.MethodPost, "/v1/collections", `{"label":"My notes"}`, "label", "unknown field; did you mean `display_name`?"},
		{http.MethodPost, "/v1/collections/c/search", `{"query":"a","user_id":"nora"}`, "user_id", "unknown field; did you mean `external`?"},
		{http.MethodGet, "/v1/collections?user_id=nora", "", "user_id", "unknown parameter; did you mean `user`?"},
		{
			http.MethodPost, "/v1/collections/c/search", `{"query":"a","filter":{"importance":{"gte":0.5}}}`, "filter.importance",
			"want a value or a list; other comparisons are written {field, op, value}, op being " +
				"eq, ne, gt, gte, lt, lte, in, contains, icontains or exists",
		},
		{http.MethodGet, "/v1/collections/c/notes?color=red", "", "color", "unknown parameter"},
	} {
		p := s.refused(t, fault.Invalid, key, tt.method, tt.path, tt.body)
		found := false
		for _, e := range p.Errors {
			found = found || e.Field == tt.field && e.Reason == tt.reason
		}
		if !found {
			t.Errorf("%s %s: %+v, want %s: %s", tt.path, tt.body, p.Errors, tt.field, tt.reason)
		}
	}
}

// Many unknown parameters are refused with as many hints as are shown: each is compared with all valid
// names.
func TestManyUnknownParameters(t *testing.T) {
	t.Parallel()
	doc, err := sharedDocument()
	if err != nil {
		t.Fatal(err)
	}
	unknown := url.Values{}
	for i := range 5000 {
		unknown.Set(fmt.Sprint("limit", i), "")
	}
	_, err = doc.operations["listNotes"].checkParameters(request(http.MethodGet, notesPath+"?"+unknown.Encode(), nil))
	f, ok := errors.AsType[*fault.Error](err)
	if !ok || f.Code != fault.Invalid || len(f.Fields) != maxProblemFields+1 {
		t.Errorf("%v", err)
	}
}

// A path with a slash at its end is answered with the right one; mem0's own paths have it.
func TestSlashAtTheEndIsNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t, DefaultConfig(), nil)
	for path, want := range map[string]string{
		notesPath + "/?limit=3":                  notesPath + ";",
		"/v1/collections/by//?user=x":            "/v1/collections/by;",
		"/v1/chat/completions/":                  "/v1/chat/completions;",
		"/v1/" + strings.Repeat("x", 4000) + "/": "/v1/xxx",
		mem0Base + "/v1/nothing/":                "no such route; see /docs",
		"/v1/nothing":                            "no such route; see /docs",
	} {
		w := b.do(request(http.MethodGet, path, nil))
		if w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), want) || w.Body.Len() > 1000 {
			t.Errorf("%.60s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
}
