package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/apptest"
)

// C100: callers say who the person is, at any time. Contexts show it, an import keeps it, and it is replaced
// as a whole.
func TestPutProfile(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memorybank")
	made := b.Call(t, "one", "PUT", c+"/profile", `{"name":"Ada","hobbies":"sailing, old maps"}`).Want(http.StatusOK)
	again := b.Call(t, "one", "PUT", c+"/profile", `{"name":"Ada","speaking_style":"brief"}`).Want(http.StatusOK)
	if again.Text("note") != made.Text("note") || again.Text("meta.speaking_style") != "brief" || again.At("meta.hobbies") != nil || again.Number("revision") <= made.Number("revision") ||
		again.Header().Get("ETag") == made.Header().Get("ETag") {
		t.Errorf("%s, then %s", made.Body, again.Body)
	}
	if same := b.Call(t, "one", "PUT", c+"/profile", `{"name":"Ada","speaking_style":"brief"}`).Want(http.StatusOK); same.Number("revision") != again.Number("revision") {
		t.Errorf("a change without effect is a version: %s", same.Body)
	}
	if got := b.Call(t, "reader", "GET", c+"/profile", "").Want(http.StatusOK); got.Text("meta.name") != "Ada" || got.Text("meta.speaking_style") != "brief" || got.Length("notes") != 1 {
		t.Errorf("%s", got.Body)
	}
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"content":"I sold my boat."}]}`).Want(http.StatusAccepted)
	if got := b.Call(t, "one", "POST", c+"/context", `{"query":"boat"}`).Want(http.StatusOK); !strings.Contains(got.Text("text"), "speaking style: brief") {
		t.Errorf("the context does not say how the person speaks: %s", got.Body)
	}
	for body, status := range map[string]int{`{}`: 422, `{"age":"3"}`: 422, `{"name":7}`: 422, `{"name":"` + strings.Repeat("x", 5000) + `"}`: 422} {
		if got := b.Call(t, "one", "PUT", c+"/profile", body); got.Code != status {
			t.Errorf("%.30s is %d: %s", body, got.Code, got.Body)
		}
	}
	if got := b.Call(t, "reader", "PUT", c+"/profile", `{"name":"Eve"}`); got.Code != http.StatusForbidden {
		t.Errorf("a reader: %d", got.Code)
	}
}

// A collection whose policy remembers one person refuses messages of a second one, and takes them as the
// companion's.
func TestOnePerson(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ann", "memorybank")
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"name":"Ann","content":"I love climbing."},{"role":"assistant","name":"Bob","content":"Where?"}]}`).Want(http.StatusAccepted)
	for _, body := range []string{`{"messages":[{"name":"Bob","content":"I am anxious."}]}`, `{"messages":[{"name":"Ann","content":"Hi."},{"name":"Bob","content":"Hi."}]}`} {
		if got := b.Call(t, "one", "POST", c+"/messages", body); got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), "one person") {
			t.Errorf("%s is %d: %s", body, got.Code, got.Body)
		}
	}
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"name":"ann","content":"In Spain."},{"name":"ＡＮＮ","content":"By the sea."},{"content":"And at home."}]}`).Want(http.StatusAccepted)
	if got := b.Call(t, "one", "POST", c+"/bank", `{"name":"Bob","history":{"2023-05-01":[["I am anxious.","Why?"]]}}`); got.Code != http.StatusUnprocessableEntity {
		t.Errorf("the bank of another person: %d %s", got.Code, got.Body)
	}
	b.Call(t, "one", "POST", "/v1/collections", `{"name":"duo","policy":"memorybank","policy_config":{"persons":"several"}}`).Want(http.StatusCreated)
	if got := b.Call(t, "one", "POST", "/v1/collections/duo/messages", `{"messages":[{"name":"Ann","content":"Hi."},{"name":"Bob","content":"Hi."}]}`); got.Code >= 400 {
		t.Errorf("several persons: %d %s", got.Code, got.Body)
	}
	if got := b.Call(t, "one", "POST", b.Space(t, "both", "mem0")+"/messages", `{"messages":[{"name":"Ann","content":"Hi."},{"name":"Bob","content":"Hi."}]}`); got.Code >= 400 {
		t.Errorf("a policy that remembers several persons: %d %s", got.Code, got.Body)
	}
}
