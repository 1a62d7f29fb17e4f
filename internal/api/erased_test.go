package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
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

// A pass that forgets erases on request: what it names is gone with its history, in forks and in summaries, and the rest stays. In a
// fork it refuses what is inherited, and erases nothing.
func TestForgetErases(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "c", "memorybank")
	said := b.Call(t, "one", "POST", c+"/messages", `{"messages":[
		{"user":"I keep my quokka in the cellar.","assistant":"Noted.","occurred_at":"2025-01-01T09:00:00Z"},
		{"user":"I keep my walnut in the attic.","assistant":"Good.","occurred_at":"2026-03-01T08:00:00Z"}]}`).Want(http.StatusAccepted)
	b.RunJobs(t)
	b.Call(t, "one", "POST", c+"/clone", `{"name":"f"}`).Want(http.StatusCreated)
	b.RunJobs(t)
	history := func(c, id string) int { return b.Call(t, "one", "GET", c+"/notes/"+id+"/history", "").Code }
	old, newer := []string{said.Text("messages.0.id"), said.Text("messages.1.id")}, said.Text("messages.2.id")
	dry := b.Call(t, "one", "POST", c+"/forget", `{"dry_run":true,"erase":true}`).Want(http.StatusOK)
	if dry.Number("forgotten") < 2 || dry.At("erasure") != nil {
		t.Errorf("%s", dry.Body)
	}
	b.Call(t, "one", "POST", "/v1/collections/f/forget", `{"erase":true}`).Refused(http.StatusConflict, fault.Conflict, "")
	for _, id := range old {
		if got := history(c, id); got != http.StatusOK {
			t.Errorf("the history is %d after a dry run and a refusal", got)
		}
	}
	got := b.Call(t, "one", "POST", c+"/forget", `{"erase":true}`).Want(http.StatusOK)
	if got.At("dry_run") != false || got.Number("forgotten") != dry.Number("forgotten") || apptest.JSON(t, got.At("items")) != apptest.JSON(t, dry.At("items")) ||
		got.Number("revision") != b.Call(t, "one", "GET", c, "").Number("head_revision") {
		t.Errorf("%s", got.Body)
	}
	for _, id := range got.Texts("items.*.note") {
		if !slices.Contains(got.Texts("erasure.erased.*"), id) || history(c, id) != http.StatusNotFound || history("/v1/collections/f", id) != http.StatusNotFound {
			t.Errorf("%s remains: %s", id, got.Body)
		}
	}
	if got.Number("erasure.versions") < 2 || got.Length("erasure.collections") != 2 || got.Text("erasure.traces") == "" {
		t.Errorf("%s", got.Body)
	}
	b.RunJobs(t)
	if left := b.Call(t, "one", "GET", c+"/export", "").Want(http.StatusOK).Body.String(); strings.Contains(left, "quokka") || !strings.Contains(left, "walnut") {
		t.Errorf("left is %s", left)
	}
	if history(c, newer) != http.StatusOK {
		t.Error("what has not faded is gone")
	}
	none := b.Call(t, "one", "POST", c+"/forget", `{"erase":true}`).Want(http.StatusOK)
	if none.Number("forgotten") != 0 || none.Length("erasure.erased") != 0 {
		t.Errorf("%s", none.Body)
	}
}

// A call erases a limited number of notes and says how many are left; the next one continues.
func TestForgetErasesInParts(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "c", "memorybank")
	var turns []string
	for i := range 52 {
		turns = append(turns, fmt.Sprintf(`{"user":"Box %d is in the cellar.","assistant":"Noted.","occurred_at":"2025-01-01T09:00:00Z"}`, i))
	}
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[`+strings.Join(turns, ",")+`]}`).Want(http.StatusAccepted)
	for _, want := range [][2]float64{{100, 4}, {4, 0}} {
		got := b.Call(t, "one", "POST", c+"/forget", `{"erase":true}`).Want(http.StatusOK)
		left, _ := got.At("left").(float64)
		if got.Number("forgotten") != want[0] || left != want[1] || got.Length("erasure.erased") != int(want[0]) {
			t.Errorf("forgotten %v, erased %d, left %v; want %v", got.Number("forgotten"), got.Length("erasure.erased"), left, want)
		}
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
