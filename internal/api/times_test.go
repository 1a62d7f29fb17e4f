package api_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/test/must"
)

// The setting timezone is checked by name, at creation and by PATCH, and a change is for what is written from then on.
func TestTimezoneOfACollection(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for _, policy := range []string{"amem", "layered", "mem0", "mem0g", "memgpt", "memorybank", "memoryos", "none"} {
		for _, bad := range []string{`"Mars/Olympus"`, `""`, `"Local"`, `"local"`, `" UTC"`, `"-05:00"`, `"../etc"`, `5`, `null`} {
			b.Call(t, "one", "POST", "/v1/collections", `{"name":"bad","policy":"`+policy+`","policy_config":{"timezone":`+bad+`}}`).
				Refused(http.StatusUnprocessableEntity, fault.Invalid, "policy_config.timezone")
		}
	}
	c := b.Space(t, "talk", "none")
	say := func(text string) {
		t.Helper()
		b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"content":"`+text+`","occurred_at":"2023-05-02T02:00:00Z"}]}`).Want(http.StatusAccepted)
	}
	say("before the change")
	b.Call(t, "one", "PATCH", c, `{"policy_config":{"timezone":"America/New_York"}}`).Want(http.StatusOK)
	say("behind the change")
	shown := b.Call(t, "reader", "POST", c+"/context", `{"query":"change"}`).Want(http.StatusOK).Text("text")
	for _, want := range []string{"Tuesday 2023-05-02 02:00 UTC", "Monday 2023-05-01 22:00 -04:00"} {
		if !strings.Contains(shown, want) {
			t.Errorf("a context does not say %q:\n%s", want, shown)
		}
	}
}

// A date in a range is a whole day in the zone of the collection, and the last one is included.
func TestRangesOfDates(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for zone, at := range map[string][4]string{
		"UTC":              {"2023-06-29T23:59:59Z", "2023-06-30T00:00:00Z", "2023-06-30T23:59:59.999999Z", "2023-07-01T00:00:00Z"},
		"America/New_York": {"2023-06-30T03:59:59Z", "2023-06-30T04:00:00Z", "2023-07-01T03:59:59.999999Z", "2023-07-01T04:00:00Z"},
		"Asia/Kolkata":     {"2023-06-29T18:29:59Z", "2023-06-29T18:30:00Z", "2023-06-30T18:29:59.999999Z", "2023-06-30T18:30:00Z"},
	} {
		name := strings.ToLower(zone[strings.LastIndex(zone, "/")+1:])
		c := b.Space(t, name, "none")
		b.Call(t, "one", "PATCH", c, `{"policy_config":{"timezone":"`+zone+`"}}`).Want(http.StatusOK)
		for i, text := range []string{"before", "first", "last", "after"} {
			b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"content":"`+text+`","occurred_at":"`+at[i]+`"}]}`).Want(http.StatusAccepted)
		}
		for parameters, want := range map[string][]string{
			"from=2023-06-30&to=2023-06-30": {"first", "last"},
			"to=2023-06-30":                 {"before", "first", "last"},
			"from=2023-06-30":               {"first", "last", "after"},
		} {
			if got := b.Call(t, "reader", "GET", c+"/messages?"+parameters, "").Want(http.StatusOK).Texts("items.*.content"); !slices.Equal(got, want) {
				t.Errorf("%s: %s gives %v, want %v", zone, parameters, got, want)
			}
		}
		for op, want := range map[string][]string{
			`"lte","value":"2023-06-30"`:                  {"before", "first", "last"},
			`"lt","value":"2023-06-30"`:                   {"before"},
			`"gt","value":"2023-06-30"`:                   {"after"},
			`"gte","value":"2023-06-30"`:                  {"first", "last", "after"},
			`"eq","value":"2023-06-30"`:                   {"first", "last"},
			`"ne","value":"2023-06-30"`:                   {"before", "after"},
			`"in","value":["2023-06-29","2023-07-01"]`:    {"before", "after"},
			`"in","value":["2023-06-29","` + at[3] + `"]`: {"before", "after"},
		} {
			filter := `{"field":"occurred_at","op":` + op + `}`
			if got := b.Call(t, "reader", "GET", c+"/notes?filter="+url.QueryEscape(filter), "").Want(http.StatusOK).Texts("items.*.content"); !slices.Equal(got, want) {
				t.Errorf("%s: notes with %s are %v, want %v", zone, op, got, want)
			}
			got := b.Call(t, "reader", "POST", c+"/search", `{"query":"before first last after","filter":`+filter+`}`).Want(http.StatusOK)
			if n := got.Length("hits"); n != len(want) {
				t.Errorf("%s: a search with %s finds %d, want %d: %s", zone, op, n, len(want), got.Body)
			}
		}
	}
}

// What is imported with a time in the past is of that time: in answers, and for filters.
func TestMem0ShowsTheTimeOfEvents(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for at, body := range map[string]string{
		"2025-03-10T00:00:00Z": `"2025-03-10"`,
		"2025-03-10T09:30:00Z": `"2025-03-10T09:30:00"`,
		"2025-03-10T23:30:00Z": `"2025-03-10T18:30:00-05:00"`,
		"2025-03-10T12:00:00Z": `1741608000`,
	} {
		for _, infer := range []string{"true", "false"} {
			user := "nora-" + strings.Map(func(r rune) rune {
				if r == ':' {
					return '-'
				}
				return r
			}, at) + infer
			callMem0(t, b, "one", "POST", "/v3/memories/add/", `{"messages":[{"role":"user","content":"I live in Oslo."}],"user_id":"`+user+`","timestamp":`+body+`,"infer":`+infer+`}`).Want(http.StatusOK)
			must.Get(b.Work(t.Context()))(t)
			find := func(filter string) apptest.Response {
				t.Helper()
				return callMem0(t, b, "one", "POST", "/v3/memories/", `{"filters":{"AND":[{"user_id":"`+user+`"},`+filter+`]}}`).Want(http.StatusOK)
			}
			march := find(`{"created_at":{"gte":"2025-03-10","lte":"2025-03-10"}}`)
			if march.Length("results") != 1 || march.Text("results.0.created_at") != at || march.Text("results.0.updated_at") != at {
				t.Errorf("timestamp %s, infer %s: %s", body, infer, march.Body)
			}
			for _, none := range []string{`{"created_at":{"gt":"2025-03-10"}}`, `{"created_at":{"lt":"2025-03-10"}}`, `{"created_at":{"gte":"2025-03-11"}}`} {
				if got := find(none); got.Length("results") != 0 {
					t.Errorf("timestamp %s: %s finds %s", body, none, got.Body)
				}
			}
		}
	}
}
