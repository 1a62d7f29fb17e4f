package api

import (
	"net/http"
	"net/url"
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
		"two places to return to": {"POST", "/rollback", `{"revision":1,"snapshot":"x"}`, 422, fault.Invalid, ""},
		"no such name":            {"DELETE", "/snapshots/none", "", 404, fault.NotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.call(t, "one", x.method, c+x.path, x.body).refused(x.status, x.code, x.field)
		})
	}
}
