package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// canary is a word that is told once, and looked for behind every door.
const canary = "quokka"

// canaryPolicies are all policies, with settings by which they derive at once.
var canaryPolicies = map[string]string{
	"none": `{}`, "amem": `{}`, "mem0": `{"summary_every":1}`, "mem0g": `{}`, "memorybank": `{"summary_delay":0}`,
	"memoryos": `{"short_capacity":1,"heat_threshold":1}`, "layered": `{"importance_threshold":0,"consolidate_every":2,"consolidate_from":1}`, "memgpt": `{}`,
}

// canaryCage is a collection that was told the canary.
type canaryCage struct {
	*apptest.System
	t       *testing.T
	path    string
	message string // the id of the message with the canary
}

func newCage(t *testing.T, policy string) *canaryCage {
	t.Helper()
	b := apptest.New(t)
	made := b.Call(t, "one", "POST", "/v1/collections", fmt.Sprintf(`{"name":"cage","policy":%q,"policy_config":%s}`, policy, canaryPolicies[policy]))
	if made.Code != http.StatusCreated {
		made = b.Call(t, "one", "POST", "/v1/collections", fmt.Sprintf(`{"name":"cage","policy":%q}`, policy)).Want(http.StatusCreated)
	}
	w := &canaryCage{System: b, t: t, path: "/v1/collections/" + made.Text("id")}
	w.say("I live in Lisbon with my sister Anna.")
	w.message = w.say("I keep the spare key of the boathouse under the " + canary + " statue. I have a boat called Bo.").Text("messages.0.id")
	w.say("My brother Tom works at Siemens in Porto.")
	w.say("We sail to Cascais every summer.")
	w.settle()
	return w
}

func (w *canaryCage) say(text string) apptest.Response {
	w.t.Helper()
	w.Pass(time.Minute)
	out := w.Call(w.t, "one", "POST", w.path+"/messages", fmt.Sprintf(`{"messages":[{"user":%q,"assistant":"I see.","name":"Nora"}]}`, text)).Want(http.StatusAccepted)
	w.RunJobs(w.t)
	return out
}

// settle runs what is due later, too.
func (w *canaryCage) settle() {
	w.t.Helper()
	for range 3 {
		w.RunJobs(w.t)
		w.Pass(2 * time.Minute)
	}
	w.RunJobs(w.t)
}

// seen returns the doors behind which the canary is seen.
func (w *canaryCage) seen(past bool) []string {
	w.t.Helper()
	var out []string
	look := func(method, target, body string) {
		a := w.Call(w.t, "one", method, target, body)
		if strings.Contains(strings.ToLower(a.Body.String()), canary) {
			out = append(out, method+" "+strings.TrimPrefix(target, w.path)+": "+a.Body.String())
		}
	}
	for _, op := range contracttest.Operations(w.t) {
		if op.Method == http.MethodGet && strings.HasPrefix(op.Path, "/v1/collections/{collection}") && strings.Count(op.Path, "{") == 1 && !strings.HasSuffix(op.Path, "/changes") {
			look("GET", strings.Replace(op.Path, "/v1/collections/{collection}", w.path, 1), "")
		}
	}
	look("GET", "/v1/jobs?limit=100", "")
	look("GET", "/v1/reviews", "")
	for _, query := range []string{"Where is the spare key of the boathouse?", "statue", "boat"} {
		ask := fmt.Sprintf(`{"query":%q}`, query)
		look("POST", w.path+"/search", ask)
		look("POST", w.path+"/context", ask)
		look("POST", w.path+"/recall", ask)
		look("POST", w.path+"/chat", fmt.Sprintf(`{"message":%q,"remember":false}`, query))
		look("POST", "/v1/search", fmt.Sprintf(`{"query":%q,"collections":["cage"]}`, query))
	}
	if past {
		head := int(w.Call(w.t, "one", "GET", w.path, "").Number("head_revision"))
		for at := range head + 1 {
			look("GET", fmt.Sprintf("%s/notes?limit=100&as_of=%d", w.path, at), "")
		}
	}
	return out
}

// derived returns the ids of the notes that were derived and have the canary.
func (w *canaryCage) derived() []string {
	w.t.Helper()
	var out []string
	all := w.Call(w.t, "one", "GET", w.path+"/notes?limit=100", "").Want(http.StatusOK)
	for i := range all.Length("items") {
		at := fmt.Sprintf("items.%d.", i)
		if kind := all.Text(at + "kind"); kind != string(memory.KindMessage) && strings.Contains(all.Text(at+"content"), canary) {
			out = append(out, all.Text(at+"id"))
		}
	}
	return out
}

// inEachCage runs a test with a canary in a collection of each policy.
func inEachCage(t *testing.T, do func(t *testing.T, w *canaryCage)) {
	t.Helper()
	for policy := range canaryPolicies {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			do(t, newCage(t, policy))
		})
	}
}

// A message that is deleted is not shown any more behind any door, nor is what was derived from it alone.
func TestDeletedSource(t *testing.T) {
	t.Parallel()
	inEachCage(t, func(t *testing.T, w *canaryCage) {
		t.Helper()
		if len(w.seen(false)) == 0 {
			t.Fatal("the canary was never there")
		}
		w.Call(t, "one", "DELETE", w.path+"/notes/"+w.message, "").Want(http.StatusNoContent)
		w.settle()
		for _, door := range w.seen(false) {
			t.Errorf("%.600s", door)
		}
	})
}

// What was derived and is deleted is not shown any more behind any door, but in the notes that the answer names.
func TestDeletedDerived(t *testing.T) {
	t.Parallel()
	inEachCage(t, func(t *testing.T, w *canaryCage) {
		t.Helper()
		list := w.derived()
		t.Logf("%d derived notes have it", len(list))
		var named []string
		for _, id := range list {
			a := w.Call(t, "one", "DELETE", w.path+"/notes/"+id, "")
			if a.Code == http.StatusNotFound { // it went with another one
				continue
			}
			if ids := a.Want(http.StatusNoContent).Header().Get("Slipbox-Sources"); ids != "" {
				named = append(named, strings.Split(ids, ",")...)
			}
		}
		if len(list) == 0 {
			named = []string{w.message}
		}
		w.settle()
		if seen := w.seen(false); len(named) == 0 {
			for _, door := range seen {
				t.Errorf("%.600s", door)
			}
			return
		}
		slices.Sort(named)
		for _, id := range slices.Compact(named) {
			w.Call(t, "one", "DELETE", w.path+"/notes/"+id, "")
		}
		w.settle()
		for _, door := range w.seen(false) {
			t.Errorf("after the named sources were deleted, too: %.600s", door)
		}
	})
}

// What is erased is not in the past, either.
func TestErased(t *testing.T) {
	t.Parallel()
	inEachCage(t, func(t *testing.T, w *canaryCage) {
		t.Helper()
		report := w.Call(t, "one", "DELETE", w.path+"/notes/"+w.message+"?erase=true", "").Want(http.StatusOK)
		if report.Number("versions") < 1 || report.Text("erased.0") == "" {
			t.Errorf("report %s", report.Body)
		}
		w.settle()
		for _, door := range w.seen(true) {
			t.Errorf("%.600s", door)
		}
		w.Call(t, "one", "GET", w.path+"/notes/"+w.message+"/history", "").Want(http.StatusNotFound)
		if problems, err := w.Store.Verify(t.Context()); err != nil || len(problems) > 0 {
			t.Errorf("the store: %+v, %v", problems, err)
		}
	})
}

// Nor is it when it was removed before, together with another message.
func TestErasedExpired(t *testing.T) {
	t.Parallel()
	inEachCage(t, func(t *testing.T, w *canaryCage) {
		t.Helper()
		other := w.say("I keep my passport in the cellar.").Text("messages.0.id")
		// An agent has it in the result of a tool, too, and in the summary of what left its window.
		var result string
		if strings.HasSuffix(t.Name(), "/memgpt") {
			result = w.Call(t, "one", "POST", w.path+"/messages", `{"messages":[{"role":"tool","content":"Found: I keep the spare key of the boathouse under the quokka statue."}]}`).Want(http.StatusAccepted).Text("messages.0.id")
			w.Call(t, "one", "POST", w.path+"/flush", `{"force":true}`).Want(http.StatusAccepted)
			w.settle()
		}
		for _, id := range []string{w.message, other} {
			w.Call(t, "one", "PATCH", w.path+"/notes/"+id, `{"ttl_seconds":60}`).Want(http.StatusOK)
		}
		w.settle()
		w.Call(t, "one", "DELETE", w.path+"/notes/"+w.message+"?erase=true", "").Want(http.StatusOK)
		w.settle()
		for _, door := range w.seen(true) {
			t.Errorf("%.600s", door)
		}
		w.Call(t, "one", "GET", w.path+"/notes/"+other+"/history", "").Want(http.StatusOK)
		if result != "" && w.Call(t, "one", "GET", w.path+"/notes/"+result, "").Want(http.StatusOK).Text("content") == "" {
			t.Error("the result of the tool is gone")
		}
	})
}
