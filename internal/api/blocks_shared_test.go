package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
)

// standAlone creates a stand-alone block and returns its id.
func standAlone(t *testing.T, b *apptest.System, label, value string) string {
	t.Helper()
	made := b.Call(t, "one", "POST", "/v1/blocks", apptest.JSON(t, map[string]any{"label": label, "value": value})).Want(http.StatusCreated)
	return made.Text("id")
}

// attachBlock attaches a block, in a mode.
func attachBlock(t *testing.T, b *apptest.System, c, id, mode string) apptest.Response {
	t.Helper()
	return b.Call(t, "one", "POST", c+"/blocks/attach", apptest.JSON(t, map[string]any{"block": id, "mode": mode}))
}

// ownedBy creates a collection of an agent with the policy memgpt, and returns its path.
func ownedBy(t *testing.T, b *apptest.System, name, agent string, blocks ...string) string {
	t.Helper()
	in := map[string]any{"name": name, "agent": agent, "policy": "memgpt"}
	if len(blocks) > 0 {
		in["blocks"] = blocks
	}
	return "/v1/collections/" + b.Call(t, "one", "POST", "/v1/collections", apptest.JSON(t, in)).Want(http.StatusCreated).Text("id")
}

// C330: a block is created without an agent, listed, changed, undone, and attached by id when an agent is created.
func TestStandAloneBlocks(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	if got := b.Call(t, "reader", "GET", "/v1/blocks", "").Want(http.StatusOK); got.Length("items") != 0 {
		t.Errorf("at first there are %s", got.Body)
	}
	b.Call(t, "one", "GET", "/v1/blocks/"+uuid.NewString(), "").Refused(http.StatusNotFound, fault.NotFound, "")
	made := b.Call(t, "one", "POST", "/v1/blocks", `{"label":"team","value":"Ada","description":"who works here","limit":20,"metadata":{"by":"test"}}`).Want(http.StatusCreated)
	at := "/v1/blocks/" + made.Text("id")
	if made.Text("label") != "team" || made.Text("value") != "Ada" || made.Number("limit") != 20 || made.Length("attached") != 0 || made.Header().Get("ETag") == "" {
		t.Errorf("the new block is %s", made.Body)
	}
	second := standAlone(t, b, "team", "another with the label")
	if got := b.Call(t, "reader", "GET", "/v1/blocks", "").Want(http.StatusOK).Texts("items.*.label"); !slices.Equal(got, []string{"team", "team"}) {
		t.Errorf("there are %v", got)
	}
	page := b.Call(t, "one", "GET", "/v1/blocks?limit=1", "").Want(http.StatusOK)
	if rest := b.Call(t, "one", "GET", "/v1/blocks?limit=1&cursor="+page.Text("next_cursor"), "").Want(http.StatusOK); rest.Text("items.0.id") != second || strings.Contains(rest.Body.String(), "next_cursor") {
		t.Errorf("the second page is %s", rest.Body)
	}
	changed := b.Call(t, "one", "PATCH", at, `{"value":"Ada, Bob","label":"crew"}`).Want(http.StatusOK)
	if changed.Text("label") != "crew" || changed.Text("description") != "who works here" || changed.Number("version") <= made.Number("version") {
		t.Errorf("the changed block is %s", changed.Body)
	}
	b.Call(t, "one", "PATCH", at, `{"value":"this is longer than the limit"}`).Refused(422, fault.Invalid, "value")
	if got := b.Call(t, "one", "POST", at+"/undo", "").Want(http.StatusOK); got.Text("value") != "Ada" || got.Text("label") != "team" {
		t.Errorf("the undo made %s", got.Body)
	}
	b.Call(t, "one", "POST", at+"/undo", "").Refused(http.StatusConflict, fault.Conflict, "")
	if got := b.Call(t, "one", "POST", at+"/redo", "").Want(http.StatusOK); got.Text("value") != "Ada, Bob" {
		t.Errorf("the redo made %s", got.Body)
	}
	if got := b.Call(t, "reader", "GET", at+"/history", "").Want(http.StatusOK); got.Length("items") != 4 {
		t.Errorf("the history is %s", got.Body)
	}

	// At the creation of an agent; a block that the policy begins with gives way to one with its label.
	human := standAlone(t, b, "human", "Nora")
	c := ownedBy(t, b, "agent", "ada", made.Text("id"), human)
	list := b.Call(t, "ada", "GET", c+"/blocks", "").Want(http.StatusOK)
	if got := list.Texts("items.*.label"); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"crew", "human", "persona"}) {
		t.Errorf("the agent has %v", got)
	}
	if got := b.Call(t, "ada", "GET", c+"/blocks/human", "").Want(http.StatusOK); got.Text("value") != "Nora" || got.Text("id") != human || !slices.Equal(got.Texts("attached.*"), []string{strings.TrimPrefix(c, "/v1/collections/")}) {
		t.Errorf("the attached block is %s", got.Body)
	}
	for _, blocks := range [][]string{{human, human}, {human, standAlone(t, b, "human", "")}} {
		b.Call(t, "one", "POST", "/v1/collections", apptest.JSON(t, map[string]any{"name": "x", "policy": "memgpt", "blocks": blocks})).Want(map[bool]int{true: 201, false: 409}[blocks[0] == blocks[1]])
	}
	b.Call(t, "one", "POST", "/v1/collections", apptest.JSON(t, map[string]any{"name": "y", "policy": "memgpt", "blocks": []string{uuid.NewString()}})).Refused(404, fault.NotFound, "")

	// Who may do what.
	b.Call(t, "reader", "POST", "/v1/blocks", `{"label":"x"}`).Refused(http.StatusForbidden, fault.Forbidden, "")
	b.Call(t, "ada", "POST", "/v1/blocks", `{"label":"x"}`).Refused(http.StatusForbidden, fault.Forbidden, "")
	b.Call(t, "ada", "PATCH", at, `{"value":"x"}`).Refused(http.StatusForbidden, fault.Forbidden, "")
	if got := b.Call(t, "two", "GET", "/v1/blocks", "").Want(http.StatusOK); got.Length("items") != 0 {
		t.Errorf("another tenant sees %s", got.Body)
	}
	for method, target := range map[string]string{"GET": at, "PATCH": at, "DELETE": at, "POST": at + "/undo"} {
		body := map[string]string{"PATCH": `{"value":"x"}`}[method]
		b.Call(t, "two", method, target, body).Refused(http.StatusNotFound, fault.NotFound, "")
	}
}

// C138: an edit by one agent shows in the other's next context. C134: a block is detached.
func TestSharedBlocks(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	ada, bob := ownedBy(t, b, "ada-memory", "ada"), ownedBy(t, b, "bob-memory", "bob")
	id := standAlone(t, b, "team", "")
	attachBlock(t, b, ada, id, "rw").Want(http.StatusOK)
	if got := attachBlock(t, b, bob, id, "rw").Want(http.StatusOK); got.Length("attached") != 2 {
		t.Errorf("attached is %s", got.Body)
	}
	tokens := func(agent, c string) float64 {
		return b.Call(t, agent, "GET", c+"/context", "").Want(http.StatusOK).Number("parts.2.tokens")
	}
	before := tokens("bob", bob)
	step := b.Call(t, "ada", "POST", ada+"/step", `{"tool":"core_memory_append","arguments":{"label":"team","content":"We ship on Fridays, whatever happens."}}`).Want(http.StatusOK)
	if step.At("ok") != true {
		t.Fatalf("the edit: %s", step.Body)
	}
	if after := tokens("bob", bob); after <= before {
		t.Errorf("the other context has %v tokens of blocks, before the edit %v", after, before)
	}
	if got := b.Call(t, "bob", "GET", bob+"/blocks/team", "").Want(http.StatusOK); got.Text("value") != "We ship on Fridays, whatever happens." {
		t.Errorf("the other agent reads %s", got.Body)
	}
	if got := b.Call(t, "bob", "POST", bob+"/context", `{"query":"when do we ship?"}`).Want(http.StatusOK); !strings.Contains(got.Body.String(), "We ship on Fridays") {
		t.Errorf("the context for a prompt is %s", got.Body)
	}
	if got := b.Call(t, "bob", "POST", bob+"/blocks/team/replace", `{"old":"Fridays","new":"Mondays"}`).Want(http.StatusOK).Text("value"); got != "We ship on Mondays, whatever happens." {
		t.Errorf("replace made %q", got)
	}
	if got := b.Call(t, "ada", "POST", ada+"/blocks/team/undo", "").Want(http.StatusOK).Text("value"); got != "We ship on Fridays, whatever happens." {
		t.Errorf("undo made %q", got)
	}
	// A request that is repeated under its key is one edit.
	for range 2 {
		b.Call(t, "ada", "POST", ada+"/blocks/team/append", `{"text":"Once."}`, "Idempotency-Key", "k").Want(http.StatusOK)
	}
	if got := b.Call(t, "bob", "GET", bob+"/blocks/team", "").Want(http.StatusOK).Text("value"); strings.Count(got, "Once.") != 1 {
		t.Errorf("repeated: %q", got)
	}

	// For reading only.
	if got := attachBlock(t, b, bob, id, "ro").Want(http.StatusOK); got.At("read_only") != true {
		t.Errorf("attached for reading it is %s", got.Body)
	}
	b.Call(t, "bob", "POST", bob+"/blocks/team/append", `{"text":"x"}`).Refused(http.StatusForbidden, fault.Forbidden, "")
	b.Call(t, "bob", "PUT", bob+"/blocks/team", `{"value":"x","read_only":false}`).Refused(http.StatusForbidden, fault.Forbidden, "")
	if got := b.Call(t, "bob", "POST", bob+"/step", `{"tool":"memory_rethink","arguments":{"label":"team","text":"mine"}}`).Want(http.StatusOK); got.At("ok") != false {
		t.Errorf("the tool: %s", got.Body)
	}

	// Deleting it names who has it; an agent is told of its own collections only.
	all := b.Call(t, "one", "DELETE", "/v1/blocks/"+id, "")
	all.Refused(http.StatusConflict, fault.Conflict, "")
	if got := all.Texts("collections.*"); len(got) != 2 {
		t.Errorf("attached to %v", got)
	}
	own := b.Call(t, "ada", "DELETE", ada+"/blocks/team", "")
	own.Refused(http.StatusConflict, fault.Conflict, "")
	if got := own.Texts("collections.*"); !slices.Equal(got, []string{strings.TrimPrefix(ada, "/v1/collections/")}) {
		t.Errorf("the agent is told of %v", got)
	}
	b.Call(t, "one", "PATCH", "/v1/blocks/"+id, `{"label":"crew"}`).Refused(http.StatusConflict, fault.Conflict, "")
	b.Call(t, "one", "DELETE", "/v1/collections/slipbox.blocks", "").Refused(http.StatusConflict, fault.Conflict, "")

	// Labels are unique in a collection, whichever comes first.
	attachBlock(t, b, ada, standAlone(t, b, "team", ""), "rw").Refused(http.StatusConflict, fault.Exists, "")
	attachBlock(t, b, ada, standAlone(t, b, "human", ""), "rw").Refused(http.StatusConflict, fault.Exists, "")

	// What is foreign is absent.
	foreign := b.Call(t, "two", "POST", "/v1/blocks", `{"label":"theirs"}`).Want(http.StatusCreated).Text("id")
	attachBlock(t, b, ada, foreign, "rw").Refused(http.StatusNotFound, fault.NotFound, "")
	attachBlock(t, b, ada, uuid.NewString(), "rw").Refused(http.StatusNotFound, fault.NotFound, "")
	attachBlock(t, b, ada, b.Call(t, "ada", "GET", ada+"/blocks/human", "").Text("id"), "rw").Refused(http.StatusNotFound, fault.NotFound, "")
	b.Call(t, "bob", "POST", ada+"/blocks/attach", apptest.JSON(t, map[string]any{"block": id, "mode": "ro"})).Refused(http.StatusNotFound, fault.NotFound, "")
	b.Call(t, "ada", "POST", ada+"/blocks/attach", apptest.JSON(t, map[string]any{"block": id})).Refused(http.StatusForbidden, fault.Forbidden, "")
	attachBlock(t, b, ada, id, "all").Refused(422, fault.Invalid, "mode")

	b.Call(t, "ada", "POST", ada+"/blocks/human/detach", "").Refused(http.StatusConflict, fault.Conflict, "")
	if got := b.Call(t, "ada", "POST", ada+"/blocks/team/detach", "").Want(http.StatusOK); got.Text("id") != id || slices.Contains(got.Texts("attached.*"), strings.TrimPrefix(ada, "/v1/collections/")) {
		t.Errorf("detached: %s", got.Body)
	}
	b.Call(t, "ada", "POST", ada+"/blocks/team/detach", "").Refused(http.StatusNotFound, fault.NotFound, "")
	b.Call(t, "ada", "GET", ada+"/blocks/team", "").Refused(http.StatusNotFound, fault.NotFound, "")
	b.Call(t, "bob", "POST", bob+"/blocks/team/detach", "").Want(http.StatusOK)
	b.Call(t, "one", "DELETE", "/v1/blocks/"+id, "").Want(http.StatusNoContent)
	b.Call(t, "one", "GET", "/v1/blocks/"+id, "").Refused(http.StatusNotFound, fault.NotFound, "")
}

// Two agents edit one block at once: with the version that they read, one wins and the other learns which version
// did; without it no edit is lost.
func TestSharedBlockAtOnce(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	id := standAlone(t, b, "team", "")
	agents := map[string]string{"ada": ownedBy(t, b, "ada-memory", "ada", id), "bob": ownedBy(t, b, "bob-memory", "bob", id)}
	tag := b.Call(t, "ada", "GET", agents["ada"]+"/blocks/team", "").Want(http.StatusOK).Header().Get("ETag")
	var mu sync.Mutex
	answers := map[int]apptest.Response{}
	var all sync.WaitGroup
	for agent, c := range agents {
		all.Go(func() {
			got := b.Call(t, agent, "PUT", c+"/blocks/team", apptest.JSON(t, map[string]any{"value": agent}), "If-Match", tag)
			mu.Lock()
			defer mu.Unlock()
			answers[got.Code] = got
		})
	}
	all.Wait()
	won, lost := answers[http.StatusOK], answers[http.StatusPreconditionFailed]
	if won.T == nil || lost.T == nil {
		t.Fatalf("the answers are %v", answers)
	}
	if lost.Number("version") != won.Number("version") {
		t.Errorf("the version that won is %v, the other is told %s", won.Number("version"), lost.Body)
	}
	for agent, c := range agents {
		for i := range 5 {
			all.Go(func() {
				b.Call(t, agent, "POST", c+"/blocks/team/append", apptest.JSON(t, map[string]any{"text": fmt.Sprint(agent, i)})).Want(http.StatusOK)
			})
		}
	}
	all.Wait()
	if got := b.Call(t, "ada", "GET", agents["ada"]+"/blocks/team", "").Want(http.StatusOK).Text("value"); strings.Count(got, "\n") != 10 {
		t.Errorf("the block is %q", got)
	}
}

// A clone gets copies of attached blocks, or the same ones.
func TestClonesOfSharedBlocks(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	id := standAlone(t, b, "team", "Ada")
	c := ownedBy(t, b, "ada-memory", "ada", id)
	value := func(c string) apptest.Response {
		return b.Call(t, "one", "GET", c+"/blocks/team", "").Want(http.StatusOK)
	}
	clone := func(body map[string]any, status int) string {
		t.Helper()
		got := b.Call(t, "one", "POST", c+"/clone", apptest.JSON(t, body)).Want(status)
		path := "id"
		if status == http.StatusAccepted {
			path = "collection.id"
			b.RunJobs(t)
		}
		return "/v1/collections/" + got.Text(path)
	}
	for name, made := range map[string]string{
		"fork": clone(map[string]any{"name": "f1"}, http.StatusCreated), "past": clone(map[string]any{"name": "f2", "at_revision": 1}, http.StatusCreated),
		"copy": clone(map[string]any{"name": "c1", "mode": "copy"}, http.StatusAccepted),
	} {
		got := value(made)
		if got.Text("value") != "Ada" || got.Text("id") == id || got.Length("attached") != 0 {
			t.Errorf("%s: the copied block is %s", name, got.Body)
		}
		b.Call(t, "one", "POST", made+"/blocks/team/append", `{"text":"Bob"}`).Want(http.StatusOK)
		if got := value(c).Text("value"); got != "Ada" {
			t.Errorf("%s: the shared block is %q", name, got)
		}
		again := b.Call(t, "one", "POST", made+"/clone", `{}`).Want(http.StatusCreated)
		if got := value("/v1/collections/" + again.Text("id")).Text("value"); got != "Ada\nBob" {
			t.Errorf("%s: a fork of it has %q", name, got)
		}
	}
	for name, made := range map[string]string{
		"fork": clone(map[string]any{"name": "f3", "blocks": "share"}, http.StatusCreated),
		"copy": clone(map[string]any{"name": "c2", "mode": "copy", "blocks": "share"}, http.StatusAccepted),
	} {
		if got := value(made); got.Text("id") != id || got.Length("attached") < 2 {
			t.Errorf("%s: the shared block is %s", name, got.Body)
		}
		b.Call(t, "one", "POST", made+"/blocks/team/append", apptest.JSON(t, map[string]any{"text": name})).Want(http.StatusOK)
		if got := value(c).Text("value"); !strings.HasSuffix(got, "\n"+name) {
			t.Errorf("%s: the shared block is %q", name, got)
		}
	}
	b.Call(t, "one", "POST", c+"/clone", `{"blocks":"none"}`).Refused(422, fault.Invalid, "blocks")
	// What is deleted no longer holds the block.
	for _, path := range []string{"f3", "c2", "ada-memory"} {
		ref := "/v1/collections/" + path
		if path == "ada-memory" {
			ref = c + "?forks=materialise"
		}
		b.Call(t, "one", "DELETE", ref, "").Want(http.StatusNoContent)
	}
	b.Call(t, "one", "DELETE", "/v1/blocks/"+id, "").Want(http.StatusNoContent)
}
