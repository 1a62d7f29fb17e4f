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
	"github.com/slipboxhq/slipbox/test/must"
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

// Each enumerated parameter of the contract refuses another value, and says which it can have. What is not enumerated is named here.
func TestParametersRefuseUnknownValues(t *testing.T) {
	t.Parallel()
	free := map[string]string{ // names, ids, texts, times and filters; what is in brackets its handler enumerates
		"action": "", "after": "", "against": "", "against_at": "", "agent": "", "agent_id": "", "app": "", "as_of": "", "at": "", "collection": "", "cursor": "",
		"expires_at": "", "filter": "", "format": "(postHistory)", "from": "", "kind": "(listJobs)", "me": "", "name": "", "object": "", "parent": "", "q": "",
		"query": "", "relation": "", "run": "", "session": "", "since": "", "subject": "", "target": "", "timezone": "", "to": "", "user": "", "valid_at": "",
	}
	doc := must.Get(sharedDocument())(t)
	enumerated := 0
	for id, op := range doc.operations {
		if op.public {
			continue
		}
		for name, p := range op.checks().query {
			schema := p.Schema.Value
			_, isFree := free[name]
			if schema.Enum == nil && schema.Format == "" && schema.Type.Permits("string") {
				if !isFree {
					t.Errorf("%s: %s has no enumeration, and is not named as free", id, name)
				}
				continue
			}
			if schema.Type.Permits("string") && schema.Enum == nil {
				continue // of a format
			}
			_, err := op.checkParameters(request(http.MethodGet, "/?"+url.Values{name: {"none such"}}.Encode(), nil))
			f, ok := errors.AsType[*fault.Error](err)
			if !ok || f.Code != fault.Invalid {
				t.Errorf("%s: %s: %v", id, name, err)
				continue
			}
			for _, e := range f.Fields {
				if e.Field != name {
					continue
				}
				for _, allowed := range schema.Enum {
					enumerated++
					if !strings.Contains(e.Reason, fmt.Sprint(allowed)) || !strings.Contains(e.Reason, `it is "none such"`) {
						t.Errorf("%s: %s: %s", id, name, e.Reason)
					}
				}
			}
		}
	}
	if enumerated < 40 {
		t.Errorf("only %d values were looked at", enumerated)
	}
}

// A filter or a list by a kind or a state that is none is refused with those that there are, and so is an id that is none.
func TestFiltersRefuseUnknownValues(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	_, key := s.tenant(t, "acme")
	want[wire.Collection](t, s, http.StatusCreated, key, http.MethodPost, "/v1/collections", `{"name":"c","policy":"none"}`)
	for filter, refusal := range map[string][2]string{
		`{"kind":"notes"}`:                                   {"filter.kind", `, passage, profile, knowledge or file; it is "notes"`},
		`{"kind":["note","Fact"]}`:                           {"filter.kind.1", `must be one of note, message,`},
		`{"not":{"field":"state","op":"ne","value":"done"}}`: {"filter.not.value", `must be one of raw, evolved, pending or in_review; it is "done"`},
		`{"kinds":"note"}`:                                   {"filter.kinds", `unknown field "kinds"; want one of id, kind,`},
		`{"id":"nothing"}`:                                   {"filter.id", `must be the id of a note, a UUID; it is "nothing"`},
		`{"id":["01a22c00-e10b-70a3-97c1-32dcc94eee13",""]}`: {"filter.id.1", `must be the id of a note, a UUID`},
		`{"id":"01A22C00-E10B-70A3-97C1-32DCC94EEE13"}`:      {},
		`{"field":"id","op":"contains","value":"01a2"}`:      {},
		`{"field":"kind","op":"contains","value":"ote"}`:     {},
		`{"field":"state","op":"gt","value":"m"}`:            {},
	} {
		for _, call := range [][3]string{
			{http.MethodPost, "/v1/collections/c/search", `{"query":"a","filter":` + filter + `}`},
			{http.MethodGet, "/v1/collections/c/notes?filter=" + url.QueryEscape(filter), ""},
		} {
			if refusal[0] == "" {
				want[any](t, s, http.StatusOK, key, http.MethodGet, "/v1/collections/c/notes?filter="+url.QueryEscape(filter), "")
				continue
			}
			p := s.refused(t, fault.Invalid, key, call[0], call[1], call[2])
			if len(p.Errors) != 1 || p.Errors[0].Field != refusal[0] || !strings.Contains(p.Errors[0].Reason, refusal[1]) {
				t.Errorf("%s %s: %+v", call[0], filter, p.Errors)
			}
		}
	}
	p := s.refused(t, fault.Invalid, key, http.MethodGet, "/v1/jobs?kind=exchanges", "")
	if len(p.Errors) != 1 || !strings.HasSuffix(p.Errors[0].Reason, `webhook or flush; it is "exchanges"`) {
		t.Error(p.Errors)
	}
	want[any](t, s, http.StatusOK, key, http.MethodGet, "/v1/jobs?kind=exchange", "")
}

// Many unknown parameters are refused with as many hints as are shown: each is compared with all valid
// names.
func TestManyUnknownParameters(t *testing.T) {
	t.Parallel()
	doc := must.Get(sharedDocument())(t)
	unknown := url.Values{}
	for i := range 5000 {
		unknown.Set(fmt.Sprint("limit", i), "")
	}
	_, err := doc.operations["listNotes"].checkParameters(request(http.MethodGet, notesPath+"?"+unknown.Encode(), nil))
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
