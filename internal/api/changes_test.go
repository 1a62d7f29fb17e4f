package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
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

func changeList(t *testing.T, a response) (out wire.ChangeList) {
	t.Helper()
	if err := json.Unmarshal(a.Body.Bytes(), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// Changes are read in pages, each of which begins where the one before says. Beyond the head there is nothing, and what
// the collection does not keep is gone.
func TestChanges(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	first, second := b.note(t, "one", c, "first"), b.note(t, "one", c, "second")
	link := encode(t, args{"links": []any{args{"target": second}}})
	b.call(t, "one", "PUT", c+"/notes/"+first+"/links", link).want(http.StatusOK)
	b.call(t, "one", "DELETE", c+"/notes/"+first, "").want(http.StatusNoContent)

	var got []string
	next := int64(0)
	for range 10 {
		page := changeList(t, b.call(t, "reader", "GET", fmt.Sprintf("%s/changes?after=%d&limit=3", c, next), "").want(http.StatusOK))
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
	beyond := changeList(t, b.call(t, "one", "GET", c+"/changes?after=1000", "").want(http.StatusOK))
	if len(beyond.Items) != 0 || beyond.Next != 1000 {
		t.Errorf("beyond the head there is %+v", beyond)
	}
	for query, field := range map[string]string{"after=-1": "after", "after=x": "after", "limit=0": "limit", "limit=201": "limit"} {
		b.call(t, "one", "GET", c+"/changes?"+query, "").refused(422, fault.Invalid, field)
	}
	for _, accept := range []string{"application/json", mediaSSE} {
		b.call(t, "bob", "GET", "/v1/collections/"+uuid.NewString()+"/changes", "", "Accept", accept).refused(404, fault.NotFound, "")
		b.call(t, "one", "GET", c+"/changes", "", "Accept", accept, "Last-Event-ID", "x").want(map[bool]int{true: 422, false: 200}[accept == mediaSSE])
	}
}

// A stream sends what is there and what comes, each change once, and ends with its collection. One that was cut is
// continued after the last event.
func TestChangesStream(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.collection(t, "one", "space")
	b.note(t, "one", c, "before")
	b.note(t, "one", c, "before, too")
	b.Events = []func(){
		func() {},
		func() {}, // a notification without a change
		func() { b.note(t, "one", c, "text") },
		func() { b.call(t, "one", "DELETE", c, "").want(http.StatusNoContent) },
		func() { t.Error("it continues after the end") },
	}
	got := b.call(t, "reader", "GET", c+"/changes?after=2", "", "Accept", mediaSSE, "Last-Event-ID", "1").want(http.StatusOK)
	events := strings.Split(strings.TrimSpace(got.Body.String()), "\n\n")
	if got.Header().Get("Content-Type") != mediaSSE || len(events) != 2 {
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
