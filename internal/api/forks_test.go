package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
)

// TestForks: a fork is compared with its base, merged with and without review, and taken back.
func TestForks(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "base")
	id := b.Call(t, "one", "POST", c+"/notes", `{"content":"one","infer":false}`).Text("note.id")
	b.Call(t, "one", "POST", c+"/clone", `{"name":"f"}`).Want(http.StatusCreated)
	f := "/v1/collections/f"
	b.Call(t, "one", "PATCH", f+"/notes/"+id, `{"content":"theirs","tags":["x"]}`).Want(http.StatusOK)
	made := b.Call(t, "one", "POST", f+"/notes", `{"content":"new","infer":false}`).Text("note.id")
	b.Call(t, "one", "POST", c+"/snapshots", `{"name":"before the merge"}`).Want(http.StatusCreated)

	first := b.Call(t, "reader", "GET", f+"/diff?limit=1", "").Want(http.StatusOK)
	if first.Length("items") != 1 || first.Text("items.0.change") != "changed" || first.Text("items.0.fields.0") != "content" ||
		first.Text("items.0.before.content") != "one" || first.Text("items.0.after.content") != "theirs" {
		t.Errorf("diff: %s", first.Body)
	}
	b.Call(t, "one", "POST", c+"/notes", `{"content":"later","infer":false}`).Want(http.StatusCreated)
	second := b.Call(t, "reader", "GET", f+"/diff?limit=1&cursor="+url.QueryEscape(first.Text("next_cursor")), "").Want(http.StatusOK)
	if second.Length("items") != 1 || second.Text("items.0.change") != "added" || second.At("next_cursor") != nil {
		t.Errorf("the next page: %s", second.Body)
	}

	b.Call(t, "one", "PATCH", c+"/notes/"+id, `{"content":"ours"}`).Want(http.StatusOK)
	refused := b.Call(t, "one", "POST", c+"/merge", `{"from":"f"}`)
	refused.Refused(409, fault.Conflict, "")
	if refused.Length("conflicts") != 1 || refused.Text("conflicts.0.field") != "content" || refused.Text("conflicts.0.ours") != "ours" || refused.Text("conflicts.0.base") != "one" {
		t.Errorf("conflicts: %s", refused.Body)
	}
	dry := b.Call(t, "one", "POST", c+"/merge", `{"from":"f","dry_run":true}`).Want(http.StatusOK)
	if dry.Number("merged.notes") != 2 || dry.Length("conflicts") != 1 {
		t.Errorf("dry run: %s", dry.Body)
	}
	proposed := b.Call(t, "one", "POST", c+"/merge", `{"from":"f","strategy":"theirs","review":true}`).Want(http.StatusAccepted)
	if again := b.Call(t, "one", "POST", c+"/merge", `{"from":"f","strategy":"theirs","review":true}`).Want(http.StatusOK); again.Text("review.id") != proposed.Text("review.id") {
		t.Errorf("repeated: %s", again.Body)
	}
	review := "/v1/reviews/" + proposed.Text("review.id") + "/approve"
	b.Call(t, "one", "POST", review, `{"notes":["`+made+`"]}`).Want(http.StatusOK)
	if b.Call(t, "one", "GET", c+"/notes/"+id, "").Text("content") != "ours" || b.Call(t, "one", "GET", c+"/notes/"+made, "").Text("content") != "new" {
		t.Error("the review was not approved in part")
	}
	merged := b.Call(t, "one", "POST", c+"/merge", `{"from":"f","strategy":"theirs"}`).Want(http.StatusOK)
	blame := b.Call(t, "reader", "GET", c+"/notes/"+id+"/blame", "").Want(http.StatusOK)
	if blame.Text("fields.content.cause") != "merge" || blame.Number("fields.content.revision") != merged.Number("revision") || blame.Text("fields.category.cause") != "add" {
		t.Errorf("blame: %s", blame.Body)
	}

	back := b.Call(t, "one", "POST", c+"/rollback", `{"snapshot":"before the merge"}`).Want(http.StatusOK)
	if back.Number("changed") != 3 || b.Call(t, "one", "GET", c+"/notes/"+id, "").Text("content") != "one" {
		t.Errorf("rollback: %s", back.Body)
	}
	since := b.Call(t, "reader", "GET", c+"/diff?against_at="+url.QueryEscape("before the merge"), "").Want(http.StatusOK)
	if since.Length("items") != 0 {
		t.Errorf("since the snapshot: %s", since.Body)
	}
	if list := b.Call(t, "reader", "GET", c+"/snapshots", "").Want(http.StatusOK); list.Length("items") != 1 {
		t.Errorf("snapshots: %s", list.Body)
	}
	b.Call(t, "one", "DELETE", c+"/snapshots/"+url.PathEscape("before the merge"), "").Want(http.StatusNoContent)
}

// TestPromoted: what an agent has promoted is found by the agent's name, and blame names the agent.
func TestPromoted(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "base")
	b.Call(t, "one", "POST", c+"/notes", `{"content":"The glaze is mixed with water.","infer":false}`).Want(http.StatusCreated)
	b.Call(t, "ada", "POST", c+"/clone", `{"name":"mine"}`).Want(http.StatusCreated)
	id := b.Call(t, "ada", "POST", "/v1/collections/mine/notes", `{"content":"Rutile turns the glaze blue.","infer":false}`).Want(http.StatusCreated).Text("note.id")
	proposed := b.Call(t, "one", "POST", c+"/merge", `{"from":"`+b.Call(t, "ada", "GET", "/v1/collections/mine", "").Text("id")+`","review":true}`).Want(http.StatusAccepted)
	if proposed.Text("review.merge.collection") == "" || proposed.Text("review.changes.0.after.provenance.agent") != "ada" {
		t.Errorf("the proposal: %s", proposed.Body)
	}
	b.Call(t, "one", "POST", "/v1/reviews/"+proposed.Text("review.id")+"/approve", `{"notes":["`+id+`"]}`).Want(http.StatusOK)
	if n := b.Call(t, "reader", "GET", c+"/notes/"+id, "").Want(http.StatusOK); n.Text("provenance.agent") != "ada" || n.Text("provenance.actor") != "key:ada" {
		t.Errorf("the note: %s", n.Body)
	}
	if blame := b.Call(t, "reader", "GET", c+"/notes/"+id+"/blame", "").Want(http.StatusOK); blame.Text("fields.content.agent") != "ada" {
		t.Errorf("blame: %s", blame.Body)
	}
	for _, by := range []string{`{"agent":"ada"}`, `{"field":"agent","op":"exists","value":true}`} {
		list := b.Call(t, "reader", "GET", c+"/notes?filter="+url.QueryEscape(by), "").Want(http.StatusOK)
		hits := b.Call(t, "reader", "POST", c+"/search", `{"query":"glaze","filter":`+by+`}`).Want(http.StatusOK)
		if list.Length("items") != 1 || list.Text("items.0.id") != id || hits.Length("hits") != 1 || hits.Text("hits.0.note.id") != id {
			t.Errorf("%s: %s %s", by, list.Body, hits.Body)
		}
	}
	if hits := b.Call(t, "reader", "POST", c+"/search", `{"query":"glaze","filter":{"agent":"bob"}}`).Want(http.StatusOK); hits.Length("hits") != 0 {
		t.Errorf("of bob: %s", hits.Body)
	}
}

// TestForksUnderPolicies: forks with other policies and settings learn the same, each by its own rules; they are compared, and not merged.
func TestForksUnderPolicies(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "base")
	for name, policy := range map[string]string{"f": `"policy":"mem0"`, "g": `"policy":"mem0","policy_config":{"similar":3}`, "h": `"policy":"amem"`} {
		made := b.Call(t, "one", "POST", c+"/clone", `{"name":"`+name+`",`+policy+`}`).Want(http.StatusCreated)
		if want := strings.Split(policy, `"`)[3]; made.Text("policy") != want || name == "g" && made.Number("policy_config.similar") != 3 {
			t.Errorf("%s: %s", policy, made.Body)
		}
		b.Call(t, "one", "POST", "/v1/collections/"+name+"/messages", `{"messages":[{"content":"I moved to Lisbon in March."}]}`).Want(http.StatusAccepted)
		b.RunJobs(t)
	}
	facts := func(name string) int {
		return b.Call(t, "reader", "GET", "/v1/collections/"+name+"/notes?kind=fact", "").Want(http.StatusOK).Length("items")
	}
	if f, g, h, base := facts("f"), facts("g"), facts("h"), facts("base"); f == 0 || g != f || h != 0 || base != 0 {
		t.Errorf("facts: %d, %d, %d, and %d in the base", f, g, h, base)
	}
	diff := b.Call(t, "reader", "GET", "/v1/collections/f/diff?against=h", "").Want(http.StatusOK)
	if diff.Length("items") < 3 {
		t.Errorf("diff: %s", diff.Body)
	}
	b.Call(t, "one", "POST", c+"/merge", `{"from":"f"}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "from")
}

// TestForksInBackground: a merge and a rollback are jobs when the caller does not wait.
func TestForksInBackground(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "base")
	b.Call(t, "one", "POST", c+"/clone", `{"name":"f"}`).Want(http.StatusCreated)
	b.Call(t, "one", "POST", "/v1/collections/f/notes", `{"content":"new","infer":false}`).Want(http.StatusCreated)
	merged := b.Call(t, "one", "POST", c+"/merge", `{"from":"f","wait":"none"}`).Want(http.StatusAccepted)
	if merged.Text("job.kind") != "merge" || merged.Text("job.state") != "queued" || merged.Number("merged.notes") != 0 {
		t.Errorf("merge: %s", merged.Body)
	}
	b.Call(t, "reader", "GET", "/v1/jobs/"+merged.Text("job.id"), "").Want(http.StatusOK)
	back := b.Call(t, "one", "POST", c+"/rollback", `{"revision":0,"wait":"none"}`).Want(http.StatusAccepted)
	if back.Text("job.kind") != "rollback" {
		t.Errorf("rollback: %s", back.Body)
	}
}

// TestAsOf: wherever a revision can be read, it can be named by its number, by a time, and by a snapshot.
func TestAsOf(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "base")
	id := b.Call(t, "one", "POST", c+"/notes", `{"content":"first ferry","infer":false}`).Text("note.id")
	b.Call(t, "one", "POST", c+"/snapshots", `{"name":"before"}`).Want(http.StatusCreated)
	at := int(b.Call(t, "one", "GET", c+"/notes/"+id, "").Number("revision"))
	b.Pass(time.Hour)
	b.Call(t, "one", "PATCH", c+"/notes/"+id, `{"content":"second ferry"}`).Want(http.StatusOK)
	b.Call(t, "one", "POST", c+"/notes", `{"content":"later ferry","infer":false}`).Want(http.StatusCreated)
	for asOf, want := range map[string]string{
		fmt.Sprint(at): "first ferry", "before": "first ferry", b.Now().Add(-time.Minute).Format(time.RFC3339): "first ferry",
		"2099-01-01T00:00:00Z": "second ferry", "2099-01-01T02:00:00+02:00": "second ferry",
	} {
		q := "?as_of=" + url.QueryEscape(asOf)
		if got := b.Call(t, "reader", "GET", c+"/notes/"+id+q, "").Want(http.StatusOK); got.Text("content") != want {
			t.Errorf("%s: %s", asOf, got.Body)
		}
		list := b.Call(t, "reader", "GET", c+"/notes"+q+"&limit=1", "").Want(http.StatusOK)
		if list.Text("items.0.content") != want {
			t.Errorf("%s: %s", asOf, list.Body)
		}
		if next := list.At("next_cursor"); next != nil {
			b.Call(t, "reader", "GET", c+"/notes"+q+"&cursor="+url.QueryEscape(list.Text("next_cursor")), "").Want(http.StatusOK)
		}
		b.Call(t, "reader", "GET", c+"/graph"+q, "").Want(http.StatusOK)
		b.Call(t, "reader", "GET", c+"/notes/"+id+"/blame"+q, "").Want(http.StatusOK)
		if got := b.Call(t, "reader", "POST", c+"/search", `{"query":"first second ferry","as_of":"`+asOf+`"}`).Want(http.StatusOK); !strings.Contains(got.Body.String(), want) {
			t.Errorf("search at %s: %s", asOf, got.Body)
		}
		if got := b.Call(t, "reader", "POST", c+"/context", `{"query":"ferry","as_of":"`+asOf+`"}`).Want(http.StatusOK); !strings.Contains(got.Body.String(), want) {
			t.Errorf("context at %s: %s", asOf, got.Body)
		}
		named := b.Call(t, "one", "POST", c+"/snapshots", `{"name":"s`+strings.NewReplacer(":", "", "+", "").Replace(asOf)+`","revision":"`+asOf+`"}`).Want(http.StatusCreated)
		if past := b.Call(t, "reader", "GET", c+"/notes/"+id+"?as_of="+fmt.Sprint(named.Number("revision")), ""); past.Text("content") != want {
			t.Errorf("a snapshot at %s: %s", asOf, named.Body)
		}
		fork := b.Call(t, "one", "POST", c+"/clone", `{"at_revision":"`+asOf+`"}`).Want(http.StatusCreated).Text("id")
		if got := b.Call(t, "one", "GET", "/v1/collections/"+fork+"/notes/"+id, "").Want(http.StatusOK); got.Text("content") != want {
			t.Errorf("a fork at %s: %s", asOf, got.Body)
		}
	}
	if got := b.Call(t, "reader", "GET", c+"/notes?as_of=2000-01-01T00:00:00Z", "").Want(http.StatusOK); got.Length("items") != 0 {
		t.Errorf("before all: %s", got.Body)
	}
	b.Call(t, "reader", "POST", c+"/search", fmt.Sprintf(`{"query":"ferry","as_of":%d}`, at)).Want(http.StatusOK)
	for _, bad := range []string{"never", "-1", "1.5", "2026-13-01T00:00:00Z", "99999999999999999999", "before "} {
		b.Call(t, "reader", "GET", c+"/notes?as_of="+url.QueryEscape(bad), "").Refused(422, fault.Invalid, "as_of")
		b.Call(t, "reader", "POST", c+"/search", `{"query":"a","as_of":"`+bad+`"}`).Refused(422, fault.Invalid, "as_of")
		b.Call(t, "one", "POST", c+"/clone", `{"at_revision":"`+bad+`"}`).Refused(422, fault.Invalid, "at_revision")
	}
	for _, bad := range []string{"-1", "1.5", "1e30", "999", "null", "[1]", "true"} {
		b.Call(t, "reader", "POST", c+"/search", `{"query":"a","as_of":`+bad+`}`).Refused(422, fault.Invalid, "as_of")
	}
	b.Call(t, "two", "GET", c+"/notes?as_of=before", "").Refused(404, fault.NotFound, "")
}

func TestForksRefused(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "base")
	b.Collection(t, "one", "other")
	b.Collection(t, "two", "foreign")
	b.Call(t, "one", "POST", c+"/notes", `{"content":"one","infer":false}`)
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
			b.Call(t, "one", x.method, c+x.path, x.body).Refused(x.status, x.code, x.field)
		})
	}
	for _, name := range []string{"", "a/b", "a\nb", "-x", strings.Repeat("a", 101)} {
		b.Call(t, "one", "POST", c+"/snapshots", apptest.Object(t, "name", name)).Refused(422, fault.Invalid, "name")
	}
}

// An erasure in a fork names those to which merges took the note: the base, and forks beside it, also by way of another one.
func TestErasureNamesWhereANoteStays(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	base := b.Space(t, "base", "none")
	b.Call(t, "one", "POST", base+"/notes", `{"content":"one"}`).Want(http.StatusCreated)
	for _, name := range []string{"f", "g", "h", "idle"} {
		b.Call(t, "one", "POST", base+"/clone", `{"name":"`+name+`"}`).Want(http.StatusCreated)
	}
	id := b.Call(t, "one", "POST", "/v1/collections/f/notes", `{"content":"secret"}`).Want(http.StatusCreated).Text("note.id")
	b.Call(t, "one", "POST", "/v1/collections/g/merge", `{"from":"f"}`).Want(http.StatusOK)
	b.Call(t, "one", "POST", "/v1/collections/h/merge", `{"from":"g"}`).Want(http.StatusOK)
	names := func(got apptest.Response) string {
		return strings.Join(slices.Sorted(slices.Values(got.Texts("kept.*.name"))), " ")
	}
	if got := names(b.Call(t, "one", "DELETE", "/v1/collections/f/notes/"+id+"?erase=true", "").Want(http.StatusOK)); got != "g h" {
		t.Errorf("kept in %q", got)
	}
	b.Call(t, "one", "POST", base+"/merge", `{"from":"h"}`).Want(http.StatusOK)
	if got := names(b.Call(t, "one", "DELETE", "/v1/collections/g/notes/"+id+"?erase=true", "").Want(http.StatusOK)); got != "base h" {
		t.Errorf("then in %q", got)
	}
}
