package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// TestForks: a fork is compared with its base, merged with and without review, and taken back.
func TestForks(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "base")
	id := b.call(t, "one", "POST", c+"/notes", `{"content":"one","infer":false}`).text("note.id")
	b.call(t, "one", "POST", c+"/clone", `{"name":"f"}`).want(http.StatusCreated)
	f := "/v1/collections/f"
	b.call(t, "one", "PATCH", f+"/notes/"+id, `{"content":"theirs","tags":["x"]}`).want(http.StatusOK)
	made := b.call(t, "one", "POST", f+"/notes", `{"content":"new","infer":false}`).text("note.id")
	b.call(t, "one", "POST", c+"/snapshots", `{"name":"before the merge"}`).want(http.StatusCreated)

	first := b.call(t, "reader", "GET", f+"/diff?limit=1", "").want(http.StatusOK)
	if first.length("items") != 1 || first.text("items.0.change") != "changed" || first.text("items.0.fields.0") != "content" ||
		first.text("items.0.before.content") != "one" || first.text("items.0.after.content") != "theirs" {
		t.Errorf("diff: %s", first.Body)
	}
	b.call(t, "one", "POST", c+"/notes", `{"content":"later","infer":false}`).want(http.StatusCreated)
	second := b.call(t, "reader", "GET", f+"/diff?limit=1&cursor="+url.QueryEscape(first.text("next_cursor")), "").want(http.StatusOK)
	if second.length("items") != 1 || second.text("items.0.change") != "added" || second.at("next_cursor") != nil {
		t.Errorf("the next page: %s", second.Body)
	}

	b.call(t, "one", "PATCH", c+"/notes/"+id, `{"content":"ours"}`).want(http.StatusOK)
	refused := b.call(t, "one", "POST", c+"/merge", `{"from":"f"}`)
	refused.refused(409, fault.Conflict, "")
	if refused.length("conflicts") != 1 || refused.text("conflicts.0.field") != "content" || refused.text("conflicts.0.ours") != "ours" || refused.text("conflicts.0.base") != "one" {
		t.Errorf("conflicts: %s", refused.Body)
	}
	dry := b.call(t, "one", "POST", c+"/merge", `{"from":"f","dry_run":true}`).want(http.StatusOK)
	if dry.number("merged.notes") != 2 || dry.length("conflicts") != 1 {
		t.Errorf("dry run: %s", dry.Body)
	}
	proposed := b.call(t, "one", "POST", c+"/merge", `{"from":"f","strategy":"theirs","review":true}`).want(http.StatusAccepted)
	review := "/v1/reviews/" + proposed.text("review.id") + "/approve"
	b.call(t, "one", "POST", review, `{"notes":["`+made+`"]}`).want(http.StatusOK)
	if b.call(t, "one", "GET", c+"/notes/"+id, "").text("content") != "ours" || b.call(t, "one", "GET", c+"/notes/"+made, "").text("content") != "new" {
		t.Error("the review was not approved in part")
	}
	merged := b.call(t, "one", "POST", c+"/merge", `{"from":"f","strategy":"theirs"}`).want(http.StatusOK)
	blame := b.call(t, "reader", "GET", c+"/notes/"+id+"/blame", "").want(http.StatusOK)
	if blame.text("fields.content.cause") != "merge" || blame.number("fields.content.revision") != merged.number("revision") || blame.text("fields.category.cause") != "add" {
		t.Errorf("blame: %s", blame.Body)
	}

	back := b.call(t, "one", "POST", c+"/rollback", `{"snapshot":"before the merge"}`).want(http.StatusOK)
	if back.number("changed") != 3 || b.call(t, "one", "GET", c+"/notes/"+id, "").text("content") != "one" {
		t.Errorf("rollback: %s", back.Body)
	}
	since := b.call(t, "reader", "GET", c+"/diff?against_at="+url.QueryEscape("before the merge"), "").want(http.StatusOK)
	if since.length("items") != 0 {
		t.Errorf("since the snapshot: %s", since.Body)
	}
	if list := b.call(t, "reader", "GET", c+"/snapshots", "").want(http.StatusOK); list.length("items") != 1 {
		t.Errorf("snapshots: %s", list.Body)
	}
	b.call(t, "one", "DELETE", c+"/snapshots/"+url.PathEscape("before the merge"), "").want(http.StatusNoContent)
}

// TestPromoted: what an agent has promoted is found by the agent's name, and blame names the agent.
func TestPromoted(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "base")
	b.call(t, "one", "POST", c+"/notes", `{"content":"The glaze is mixed with water.","infer":false}`).want(http.StatusCreated)
	b.call(t, "ada", "POST", c+"/clone", `{"name":"mine"}`).want(http.StatusCreated)
	id := b.call(t, "ada", "POST", "/v1/collections/mine/notes", `{"content":"Rutile turns the glaze blue.","infer":false}`).want(http.StatusCreated).text("note.id")
	proposed := b.call(t, "one", "POST", c+"/merge", `{"from":"`+b.call(t, "ada", "GET", "/v1/collections/mine", "").text("id")+`","review":true}`).want(http.StatusAccepted)
	if proposed.text("review.merge.collection") == "" || proposed.text("review.changes.0.after.provenance.agent") != "ada" {
		t.Errorf("the proposal: %s", proposed.Body)
	}
	b.call(t, "one", "POST", "/v1/reviews/"+proposed.text("review.id")+"/approve", `{"notes":["`+id+`"]}`).want(http.StatusOK)
	if n := b.call(t, "reader", "GET", c+"/notes/"+id, "").want(http.StatusOK); n.text("provenance.agent") != "ada" || n.text("provenance.actor") != "key:ada" {
		t.Errorf("the note: %s", n.Body)
	}
	if blame := b.call(t, "reader", "GET", c+"/notes/"+id+"/blame", "").want(http.StatusOK); blame.text("fields.content.agent") != "ada" {
		t.Errorf("blame: %s", blame.Body)
	}
	for _, by := range []string{`{"agent":"ada"}`, `{"field":"agent","op":"exists","value":true}`} {
		list := b.call(t, "reader", "GET", c+"/notes?filter="+url.QueryEscape(by), "").want(http.StatusOK)
		hits := b.call(t, "reader", "POST", c+"/search", `{"query":"glaze","filter":`+by+`}`).want(http.StatusOK)
		if list.length("items") != 1 || list.text("items.0.id") != id || hits.length("hits") != 1 || hits.text("hits.0.note.id") != id {
			t.Errorf("%s: %s %s", by, list.Body, hits.Body)
		}
	}
	if hits := b.call(t, "reader", "POST", c+"/search", `{"query":"glaze","filter":{"agent":"bob"}}`).want(http.StatusOK); hits.length("hits") != 0 {
		t.Errorf("of bob: %s", hits.Body)
	}
}

// TestForksUnderPolicies: forks with other policies and settings learn the same, each by its own rules; they are compared, and not merged.
func TestForksUnderPolicies(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "base")
	for name, policy := range map[string]string{"f": `"policy":"mem0"`, "g": `"policy":"mem0","policy_config":{"similar":3}`, "h": `"policy":"amem"`} {
		made := b.call(t, "one", "POST", c+"/clone", `{"name":"`+name+`",`+policy+`}`).want(http.StatusCreated)
		if want := strings.Split(policy, `"`)[3]; made.text("policy") != want || name == "g" && made.number("policy_config.similar") != 3 {
			t.Errorf("%s: %s", policy, made.Body)
		}
		b.call(t, "one", "POST", "/v1/collections/"+name+"/messages", `{"messages":[{"content":"I moved to Lisbon in March."}]}`).want(http.StatusAccepted)
		b.runJobs(t)
	}
	facts := func(name string) int {
		return b.call(t, "reader", "GET", "/v1/collections/"+name+"/notes?kind=fact", "").want(http.StatusOK).length("items")
	}
	if f, g, h, base := facts("f"), facts("g"), facts("h"), facts("base"); f == 0 || g != f || h != 0 || base != 0 {
		t.Errorf("facts: %d, %d, %d, and %d in the base", f, g, h, base)
	}
	diff := b.call(t, "reader", "GET", "/v1/collections/f/diff?against=h", "").want(http.StatusOK)
	if diff.length("items") < 3 {
		t.Errorf("diff: %s", diff.Body)
	}
	b.call(t, "one", "POST", c+"/merge", `{"from":"f"}`).refused(http.StatusUnprocessableEntity, fault.Invalid, "from")
}

// TestForksInBackground: a merge and a rollback are jobs when the caller does not wait.
func TestForksInBackground(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "base")
	b.call(t, "one", "POST", c+"/clone", `{"name":"f"}`).want(http.StatusCreated)
	b.call(t, "one", "POST", "/v1/collections/f/notes", `{"content":"new","infer":false}`).want(http.StatusCreated)
	merged := b.call(t, "one", "POST", c+"/merge", `{"from":"f","wait":"none"}`).want(http.StatusAccepted)
	if merged.text("job.kind") != "merge" || merged.text("job.state") != "queued" || merged.number("merged.notes") != 0 {
		t.Errorf("merge: %s", merged.Body)
	}
	b.call(t, "reader", "GET", "/v1/jobs/"+merged.text("job.id"), "").want(http.StatusOK)
	back := b.call(t, "one", "POST", c+"/rollback", `{"revision":0,"wait":"none"}`).want(http.StatusAccepted)
	if back.text("job.kind") != "rollback" {
		t.Errorf("rollback: %s", back.Body)
	}
}

// TestAsOf: wherever a revision can be read, it can be named by its number, by a time, and by a snapshot.
func TestAsOf(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "base")
	id := b.call(t, "one", "POST", c+"/notes", `{"content":"first ferry","infer":false}`).text("note.id")
	b.call(t, "one", "POST", c+"/snapshots", `{"name":"before"}`).want(http.StatusCreated)
	at := int(b.call(t, "one", "GET", c+"/notes/"+id, "").number("revision"))
	b.call(t, "one", "PATCH", c+"/notes/"+id, `{"content":"second ferry"}`).want(http.StatusOK)
	b.call(t, "one", "POST", c+"/notes", `{"content":"later ferry","infer":false}`).want(http.StatusCreated)
	for asOf, want := range map[string]string{
		fmt.Sprint(at): "first ferry", "before": "first ferry", "2099-01-01T00:00:00Z": "second ferry", "2099-01-01T02:00:00+02:00": "second ferry",
	} {
		q := "?as_of=" + url.QueryEscape(asOf)
		if got := b.call(t, "reader", "GET", c+"/notes/"+id+q, "").want(http.StatusOK); got.text("content") != want {
			t.Errorf("%s: %s", asOf, got.Body)
		}
		list := b.call(t, "reader", "GET", c+"/notes"+q+"&limit=1", "").want(http.StatusOK)
		if list.text("items.0.content") != want {
			t.Errorf("%s: %s", asOf, list.Body)
		}
		if next := list.at("next_cursor"); next != nil {
			b.call(t, "reader", "GET", c+"/notes"+q+"&cursor="+url.QueryEscape(list.text("next_cursor")), "").want(http.StatusOK)
		}
		b.call(t, "reader", "GET", c+"/graph"+q, "").want(http.StatusOK)
		b.call(t, "reader", "GET", c+"/notes/"+id+"/blame"+q, "").want(http.StatusOK)
		if got := b.call(t, "reader", "POST", c+"/search", `{"query":"first second ferry","as_of":"`+asOf+`"}`).want(http.StatusOK); !strings.Contains(got.Body.String(), want) {
			t.Errorf("search at %s: %s", asOf, got.Body)
		}
		if got := b.call(t, "reader", "POST", c+"/context", `{"query":"ferry","as_of":"`+asOf+`"}`).want(http.StatusOK); !strings.Contains(got.Body.String(), want) {
			t.Errorf("context at %s: %s", asOf, got.Body)
		}
		named := b.call(t, "one", "POST", c+"/snapshots", `{"name":"s`+strings.NewReplacer(":", "", "+", "").Replace(asOf)+`","revision":"`+asOf+`"}`).want(http.StatusCreated)
		if past := b.call(t, "reader", "GET", c+"/notes/"+id+"?as_of="+fmt.Sprint(named.number("revision")), ""); past.text("content") != want {
			t.Errorf("a snapshot at %s: %s", asOf, named.Body)
		}
		fork := b.call(t, "one", "POST", c+"/clone", `{"at_revision":"`+asOf+`"}`).want(http.StatusCreated).text("id")
		if got := b.call(t, "one", "GET", "/v1/collections/"+fork+"/notes/"+id, "").want(http.StatusOK); got.text("content") != want {
			t.Errorf("a fork at %s: %s", asOf, got.Body)
		}
	}
	if got := b.call(t, "reader", "GET", c+"/notes?as_of=2000-01-01T00:00:00Z", "").want(http.StatusOK); got.length("items") != 0 {
		t.Errorf("before all: %s", got.Body)
	}
	b.call(t, "reader", "POST", c+"/search", fmt.Sprintf(`{"query":"ferry","as_of":%d}`, at)).want(http.StatusOK)
	for _, bad := range []string{"never", "-1", "1.5", "2026-13-01T00:00:00Z", "99999999999999999999", "before "} {
		b.call(t, "reader", "GET", c+"/notes?as_of="+url.QueryEscape(bad), "").refused(422, fault.Invalid, "as_of")
		b.call(t, "reader", "POST", c+"/search", `{"query":"a","as_of":"`+bad+`"}`).refused(422, fault.Invalid, "as_of")
		b.call(t, "one", "POST", c+"/clone", `{"at_revision":"`+bad+`"}`).refused(422, fault.Invalid, "at_revision")
	}
	for _, bad := range []string{"-1", "1.5", "1e30", "999", "null", "[1]", "true"} {
		b.call(t, "reader", "POST", c+"/search", `{"query":"a","as_of":`+bad+`}`).refused(422, fault.Invalid, "as_of")
	}
	b.call(t, "two", "GET", c+"/notes?as_of=before", "").refused(404, fault.NotFound, "")
}

func TestForksRefused(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "base")
	b.collection(t, "one", "other")
	b.collection(t, "two", "foreign")
	b.call(t, "one", "POST", c+"/notes", `{"content":"one","infer":false}`)
	for name, x := range map[string]struct {
		method, path, body string
		status             int
		code               fault.Code
		field              string
	}{
		"unrelated":               {"GET", "/diff?against=other", "", 422, fault.Invalid, "against"},
		"itself":                  {"GET", "/diff?against=base", "", 422, fault.Invalid, "against"},
		"without a parent":        {"GET", "/diff", "", 422, fault.Invalid, "against"},
		"of another tenant":       {"GET", "/diff?against=foreign", "", 404, fault.NotFound, ""},
		"no such snapshot":        {"GET", "/diff?at=never", "", 422, fault.Invalid, "at"},
		"merge of unrelated":      {"POST", "/merge", `{"from":"other"}`, 422, fault.Invalid, "from"},
		"merge of itself":         {"POST", "/merge", `{"from":"base"}`, 422, fault.Invalid, "from"},
		"merge of another tenant": {"POST", "/merge", `{"from":"foreign"}`, 404, fault.NotFound, ""},
		"rollback to the future":  {"POST", "/rollback", `{"revision":99}`, 422, fault.Invalid, "revision"},
		"a name like a number":    {"POST", "/snapshots", `{"name":"7"}`, 422, fault.Invalid, "name"},
		"a name like a time":      {"POST", "/snapshots", `{"name":"2026-01-01"}`, 422, fault.Invalid, "name"},
		"two places to return to": {"POST", "/rollback", `{"revision":1,"snapshot":"x"}`, 422, fault.Invalid, "revision"},
		"no place to return to":   {"POST", "/rollback", `{"wait":"none"}`, 422, fault.Invalid, "revision"},
		"no such name":            {"DELETE", "/snapshots/none", "", 404, fault.NotFound, ""},
		"an unknown policy":       {"POST", "/clone", `{"policy":"mem9"}`, 422, fault.Invalid, "policy"},
		"an unknown setting":      {"POST", "/clone", `{"policy":"mem0","policy_config":{"hat":1}}`, 422, fault.Invalid, "policy_config.hat"},
		"a copy by another":       {"POST", "/clone", `{"policy":"mem0","mode":"copy"}`, 422, fault.Invalid, "mode"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.call(t, "one", x.method, c+x.path, x.body).refused(x.status, x.code, x.field)
		})
	}
}
