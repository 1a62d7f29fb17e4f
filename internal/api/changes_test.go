package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/test/must"
)

func summary(ch *wire.Change) string {
	var out strings.Builder
	fmt.Fprint(&out, ch.Revision, " ", ch.Cause)
	for _, n := range ch.Notes {
		out.WriteString(" " + string(n.Change))
	}
	for _, l := range ch.Links {
		out.WriteString(" link " + string(l.Change))
	}
	return out.String()
}

func changeList(t *testing.T, a apptest.Response) (out wire.ChangeList) {
	t.Helper()
	must.Do(t, json.Unmarshal(a.Body.Bytes(), &out))
	return out
}

// Changes are read in pages, each of which begins where the one before says. Beyond the head there is nothing, and what
// the collection does not keep is gone.
func TestChanges(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	first, second := b.Note(t, "one", c, "first"), b.Note(t, "one", c, "second")
	link := apptest.JSON(t, map[string]any{"links": []any{map[string]any{"target": second}}})
	b.Call(t, "one", "PUT", c+"/notes/"+first+"/links", link).Want(http.StatusOK)
	b.Call(t, "one", "DELETE", c+"/notes/"+first, "").Want(http.StatusNoContent)

	var got []string
	next := int64(0)
	for range 10 {
		page := changeList(t, b.Call(t, "reader", "GET", fmt.Sprintf("%s/changes?after=%d&limit=3", c, next), "").Want(http.StatusOK))
		if len(page.Items) == 0 {
			break
		}
		for i := range page.Items {
			got = append(got, summary(&page.Items[i]))
		}
		next = page.Next
	}
	if want := "1 add added,2 add added,3 link link added,4 delete removed"; strings.Join(got, ",") != want || next != 4 {
		t.Errorf("%q, next %d", got, next)
	}
	refused := b.Call(t, "one", "GET", c+"/changes?after=1000", "")
	refused.Refused(422, fault.Invalid, "after")
	if detail := refused.Text("detail"); !strings.Contains(detail, "revision, which is 4") || !strings.Contains(detail, "from 0 again") {
		t.Errorf("beyond the head: %s", detail)
	}
	for query, field := range map[string]string{"after=-1": "after", "after=x": "after", "limit=0": "limit", "limit=201": "limit"} {
		b.Call(t, "one", "GET", c+"/changes?"+query, "").Refused(422, fault.Invalid, field)
	}
	for _, accept := range []string{"application/json", "text/event-stream"} {
		b.Call(t, "bob", "GET", "/v1/collections/"+uuid.NewString()+"/changes", "", "Accept", accept).Refused(404, fault.NotFound, "")
		b.Call(t, "one", "GET", c+"/changes", "", "Accept", accept, "Last-Event-ID", "x").Want(map[bool]int{true: 422, false: 200}[accept == "text/event-stream"])
	}
}

// What changes, differences and blames name has its text: also what is deleted since, and nothing of what is erased.
func TestChangesHaveTexts(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	long := strings.Repeat("long ", 100)
	first, second, third := b.Note(t, "one", c, "first"), b.Note(t, "one", c, "second"), b.Note(t, "one", c, long)
	b.Call(t, "one", "POST", c+"/clone", `{"name":"f"}`).Want(http.StatusCreated)
	f := "/v1/collections/f"
	links := apptest.JSON(t, map[string]any{"links": []any{map[string]any{"target": second}, map[string]any{"target": third}}})
	b.Call(t, "one", "PUT", f+"/notes/"+first+"/links", links).Want(http.StatusOK)
	b.Call(t, "one", "PATCH", f+"/notes/"+second, `{"content":"changed"}`).Want(http.StatusOK)
	b.Call(t, "one", "DELETE", f+"/notes/"+second, "").Want(http.StatusNoContent)

	texts := func() string {
		var out []string
		for _, ch := range changeList(t, b.Call(t, "reader", "GET", f+"/changes", "").Want(http.StatusOK)).Items {
			for _, n := range ch.Notes {
				out = append(out, fmt.Sprint(n.Change, " ", valueOf(n.Text)))
			}
			for _, l := range ch.Links {
				out = append(out, fmt.Sprint(valueOf(l.SourceText), " to ", valueOf(l.TargetText)))
			}
		}
		return strings.Join(out, ", ")
	}
	cut := long[:200] + "…"
	if got, want := texts(), "added first, added second, added "+cut+", first to second, first to "+cut+", changed changed, removed changed"; got != want {
		t.Errorf("changes: %s", got)
	}
	diff := b.Call(t, "reader", "GET", f+"/diff", "").Want(http.StatusOK)
	if diff.Text("links.0.source_text") != "first" || diff.Text("links.0.target_text") != cut {
		t.Errorf("diff: %s", diff.Body)
	}
	blame := b.Call(t, "reader", "GET", f+"/notes/"+first+"/blame", "").Want(http.StatusOK)
	if blame.Text("text") != "first" || blame.Text("fields.content.trigger") != first || blame.Text("fields.content.trigger_text") != "first" {
		t.Errorf("blame: %s", blame.Body)
	}
	b.Call(t, "one", "DELETE", c+"/notes/"+second+"?erase=true", "").Want(http.StatusOK)
	b.Call(t, "one", "DELETE", c+"/notes/"+third+"?erase=true", "").Want(http.StatusOK)
	if got := texts(); strings.Contains(got, "second") || strings.Contains(got, "changed c") || strings.Contains(got, "long") || !strings.Contains(got, "added first") {
		t.Errorf("after the erasure: %s", got)
	}
}

func valueOf(s *string) string {
	if s == nil {
		return "?"
	}
	return *s
}

// A stream sends what is there and what comes, each change once, and ends with its collection. One that was cut is
// continued after the last event.
func TestChangesStream(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	b.Note(t, "one", c, "before")
	b.Note(t, "one", c, "before, too")
	b.Events = []func(){
		func() {},
		func() {}, // a notification without a change
		func() { b.Note(t, "one", c, "text") },
		func() { b.Call(t, "one", "DELETE", c, "").Want(http.StatusNoContent) },
		func() { t.Error("it continues after the end") },
	}
	got := b.Call(t, "reader", "GET", c+"/changes?after=2", "", "Accept", "text/event-stream", "Last-Event-ID", "1").Want(http.StatusOK)
	events := strings.Split(strings.TrimSpace(got.Body.String()), "\n\n")
	if got.Header().Get("Content-Type") != "text/event-stream" || len(events) != 2 {
		t.Fatalf("%v: %q", got.Header(), events)
	}
	for i, event := range events {
		head, data, _ := strings.Cut(event, "\ndata: ")
		var seen wire.Change
		if err := json.Unmarshal([]byte(data), &seen); err != nil || head != fmt.Sprintf("id: %d\nevent: change", i+2) || seen.Revision != int64(i+2) || len(seen.Notes) != 1 {
			t.Errorf("%q: %v", event, err)
		}
	}
}
