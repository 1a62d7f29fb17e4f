package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/apptest"
)

// An erasure removes a note and what it alone supported, and nothing else that one changeset removed or changed with it: a rollback,
// a merge, the end of a time to live, a pass that forgets, an exchange that retires facts.
func TestErasedAlone(t *testing.T) {
	t.Parallel()
	for how, remove := range map[string]func(t *testing.T, b *apptest.System, c string, ids []string, stays string){
		"rollback": func(t *testing.T, b *apptest.System, c string, _ []string, stays string) {
			t.Helper()
			b.Call(t, "one", "PATCH", c+"/notes/"+stays, `{"content":"stays, second"}`).Want(http.StatusOK)
			b.Call(t, "one", "PATCH", c+"/notes/"+stays, `{"content":"stays, third"}`).Want(http.StatusOK)
			b.Call(t, "one", "POST", c+"/rollback", `{"revision":1}`).Want(http.StatusOK)
		},
		"merge": func(t *testing.T, b *apptest.System, c string, ids []string, _ string) {
			t.Helper()
			b.Call(t, "one", "POST", c+"/clone", `{"name":"f"}`).Want(http.StatusCreated)
			for _, id := range ids {
				b.Call(t, "one", "DELETE", "/v1/collections/f/notes/"+id, "").Want(http.StatusNoContent)
			}
			b.Call(t, "one", "POST", c+"/merge", `{"from":"f"}`).Want(http.StatusOK)
			b.Call(t, "one", "DELETE", "/v1/collections/f", "").Want(http.StatusNoContent)
			b.RunJobs(t)
		},
		"expiry": func(t *testing.T, b *apptest.System, c string, _ []string, _ string) {
			t.Helper()
			b.Pass(2 * time.Hour)
			b.Call(t, "one", "GET", c+"/notes", "").Want(http.StatusOK)
		},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			b := apptest.New(t)
			c := b.Collection(t, "one", "c")
			stays := b.Call(t, "one", "POST", c+"/notes", `{"content":"stays, first","infer":false}`).Want(http.StatusCreated).Text("note.id")
			var ids []string
			for i := range 3 {
				ids = append(ids, b.Call(t, "one", "POST", c+"/notes", fmt.Sprintf(`{"content":"goes %d","infer":false,"ttl_seconds":3600}`, i)).Want(http.StatusCreated).Text("note.id"))
			}
			remove(t, b, c, ids, stays)
			history := func(id string) int { return b.Call(t, "one", "GET", c+"/notes/"+id+"/history", "").Length("items") }
			before := []int{history(stays), history(ids[1]), history(ids[2])}
			if before[1] != 2 || before[2] != 2 {
				t.Fatalf("removed with a history of %v versions", before)
			}
			report := b.Call(t, "one", "DELETE", c+"/notes/"+ids[0]+"?erase=true", "").Want(http.StatusOK)
			if report.Length("erased") != 1 || report.Text("erased.0") != ids[0] || report.Length("rewritten") != 0 {
				t.Errorf("%s", report.Body)
			}
			b.Call(t, "one", "GET", c+"/notes/"+ids[0]+"/history", "").Want(http.StatusNotFound)
			if after := []int{history(stays), history(ids[1]), history(ids[2])}; !slices.Equal(before, after) {
				t.Errorf("the others had %v versions and have %v", before, after)
			}
		})
	}
}

// One of several messages that a pass has forgotten is erased, with what was derived from it; the others can still be restored.
func TestErasedOfForgotten(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "c", "memorybank")
	told := map[string]string{}
	for _, word := range []string{"quokka", "walnut"} {
		said := b.Call(t, "one", "POST", c+"/messages", fmt.Sprintf(`{"messages":[{"user":"I keep my %s in the cellar.","assistant":"Noted."}]}`, word)).Want(http.StatusAccepted)
		told[word] = said.Text("messages.0.id")
		b.RunJobs(t)
		b.Pass(time.Hour)
	}
	b.Pass(200 * 24 * time.Hour)
	b.RunJobs(t)
	if got := b.Call(t, "one", "POST", c+"/forget", `{"mode":"threshold"}`).Want(http.StatusOK); got.Number("forgotten") < 2 {
		t.Fatalf("%s", got.Body)
	}
	b.Call(t, "one", "DELETE", c+"/notes/"+told["quokka"]+"?erase=true", "").Want(http.StatusOK)
	b.RunJobs(t)
	b.Call(t, "one", "GET", c+"/notes/"+told["quokka"]+"/history", "").Want(http.StatusNotFound)
	past := b.Call(t, "one", "GET", c+"/notes/"+told["walnut"]+"/history", "").Want(http.StatusOK)
	from := past.Number(fmt.Sprintf("items.%d.revision", past.Length("items")-1))
	b.Call(t, "one", "POST", c+"/notes/"+told["walnut"]+"/restore", fmt.Sprintf(`{"revision":%.0f}`, from)).Want(http.StatusOK)
	if got := b.Call(t, "one", "GET", c+"/notes/"+told["walnut"], "").Want(http.StatusOK); !strings.Contains(got.Text("content"), "walnut") {
		t.Errorf("%s", got.Body)
	}
}

// A message that is restored brings back the facts that were deleted with it, also when one of them has been restored before.
func TestRestoredWithFacts(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "c", "mem0")
	said := b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"role":"user","name":"Nora","content":"I live in Lisbon. My boat is called Quokka."}]}`).Want(http.StatusAccepted).Text("messages.0.id")
	b.RunJobs(t)
	facts := b.Call(t, "one", "GET", c+"/notes?kind=fact", "").Want(http.StatusOK)
	restore := func(id string) {
		last := b.Call(t, "one", "GET", c+"/notes/"+id+"/history", "").Want(http.StatusOK).Number("items.1.revision") // behind its end
		b.Call(t, "one", "POST", c+"/notes/"+id+"/restore", fmt.Sprintf(`{"revision":%.0f}`, last)).Want(http.StatusOK)
	}
	for i := range facts.Length("items") {
		b.Call(t, "one", "DELETE", c+"/notes/"+said, "").Want(http.StatusNoContent)
		b.RunJobs(t)
		restore(facts.Text(fmt.Sprintf("items.%d.id", i)))
		restore(said)
		if now := b.Call(t, "one", "GET", c+"/notes?kind=fact", "").Want(http.StatusOK); now.Length("items") != 2 {
			t.Errorf("after the fact %d and the message: %s", i, now.Body)
		}
	}
}

// A fact that went with its message is erased alone: the answer names the message, which may still say it in its past.
func TestErasedOfDeleted(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "c", "mem0")
	said := b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"role":"user","name":"Nora","content":"I live in Lisbon. My boat is called Quokka."}]}`).Want(http.StatusAccepted).Text("messages.0.id")
	b.RunJobs(t)
	facts := b.Call(t, "one", "GET", c+"/notes?kind=fact", "").Want(http.StatusOK)
	if facts.Length("items") != 2 {
		t.Fatalf("%s", facts.Body)
	}
	b.Call(t, "one", "DELETE", c+"/notes/"+said, "").Want(http.StatusNoContent)
	b.RunJobs(t)
	erased := b.Call(t, "one", "DELETE", c+"/notes/"+facts.Text("items.0.id")+"?erase=true", "").Want(http.StatusOK)
	if erased.Length("erased") != 1 || erased.Header().Get("Slipbox-Sources") != said {
		t.Errorf("%s %q", erased.Body, erased.Header().Get("Slipbox-Sources"))
	}
	for _, id := range []string{said, facts.Text("items.1.id")} {
		b.Call(t, "one", "GET", c+"/notes/"+id+"/history", "").Want(http.StatusOK)
	}
}
