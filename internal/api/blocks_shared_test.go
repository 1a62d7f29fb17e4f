package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// standAlone creates a stand-alone block and returns its id.
func (b *system) standAlone(t *testing.T, label, value string) string {
	t.Helper()
	made := b.call(t, "one", "POST", "/v1/blocks", encode(t, map[string]any{"label": label, "value": value})).want(http.StatusCreated)
	return made.text("id")
}

// attach attaches a block, in a mode.
func (b *system) attach(t *testing.T, c, id, mode string) response {
	t.Helper()
	return b.call(t, "one", "POST", c+"/blocks/attach", encode(t, map[string]any{"block": id, "mode": mode}))
}

// owned creates a collection of an agent with the policy memgpt, and returns its path.
func (b *system) owned(t *testing.T, name, agent string, blocks ...string) string {
	t.Helper()
	in := map[string]any{"name": name, "agent": agent, "policy": "memgpt"}
	if len(blocks) > 0 {
		in["blocks"] = blocks
	}
	return "/v1/collections/" + b.call(t, "one", "POST", "/v1/collections", encode(t, in)).want(http.StatusCreated).text("id")
}

// texts returns the strings of a list.
func (a response) texts(path string) []string {
	a.T.Helper()
	out := []string{}
	for i := range a.length(path) {
		out = append(out, a.text(fmt.Sprintf("%s.%d", path, i)))
	}
	return out
}

// C330: a block is created without an agent, listed, changed, undone, and attached by id when an agent is created.
func TestStandAloneBlocks(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	if got := b.call(t, "reader", "GET", "/v1/blocks", "").want(http.StatusOK); got.length("items") != 0 {
		t.Errorf("at first there are %s", got.Body)
	}
	b.call(t, "one", "GET", "/v1/blocks/"+uuid.NewString(), "").refused(http.StatusNotFound, fault.NotFound, "")
	made := b.call(t, "one", "POST", "/v1/blocks", `{"label":"team","value":"Ada","description":"who works here","limit":20,"metadata":{"by":"test"}}`).want(http.StatusCreated)
	at := "/v1/blocks/" + made.text("id")
	if made.text("label") != "team" || made.text("value") != "Ada" || made.number("limit") != 20 || made.length("attached") != 0 || made.Header().Get("ETag") == "" {
		t.Errorf("the new block is %s", made.Body)
	}
	second := b.standAlone(t, "team", "another with the label")
	if got := b.call(t, "reader", "GET", "/v1/blocks", "").want(http.StatusOK).labels(); !slices.Equal(got, []string{"team", "team"}) {
		t.Errorf("there are %v", got)
	}
	page := b.call(t, "one", "GET", "/v1/blocks?limit=1", "").want(http.StatusOK)
	if rest := b.call(t, "one", "GET", "/v1/blocks?limit=1&cursor="+page.text("next_cursor"), "").want(http.StatusOK); rest.text("items.0.id") != second || strings.Contains(rest.Body.String(), "next_cursor") {
		t.Errorf("the second page is %s", rest.Body)
	}
	changed := b.call(t, "one", "PATCH", at, `{"value":"Ada, Bob","label":"crew"}`).want(http.StatusOK)
	if changed.text("label") != "crew" || changed.text("description") != "who works here" || changed.number("version") <= made.number("version") {
		t.Errorf("the changed block is %s", changed.Body)
	}
	b.call(t, "one", "PATCH", at, `{"value":"this is longer than the limit"}`).refused(422, fault.Invalid, "value")
	if got := b.call(t, "one", "POST", at+"/undo", "").want(http.StatusOK); got.text("value") != "Ada" || got.text("label") != "team" {
		t.Errorf("the undo made %s", got.Body)
	}
	b.call(t, "one", "POST", at+"/undo", "").refused(http.StatusConflict, fault.Conflict, "")
	if got := b.call(t, "one", "POST", at+"/redo", "").want(http.StatusOK); got.text("value") != "Ada, Bob" {
		t.Errorf("the redo made %s", got.Body)
	}
	if got := b.call(t, "reader", "GET", at+"/history", "").want(http.StatusOK); got.length("items") != 4 {
		t.Errorf("the history is %s", got.Body)
	}

	// At the creation of an agent; a block that the policy begins with gives way to one with its label.
	human := b.standAlone(t, "human", "Nora")
	c := b.owned(t, "agent", "ada", made.text("id"), human)
	list := b.call(t, "ada", "GET", c+"/blocks", "").want(http.StatusOK)
	if got := list.labels(); !slices.Equal(slices.Sorted(slices.Values(got)), []string{"crew", "human", "persona"}) {
		t.Errorf("the agent has %v", got)
	}
	if got := b.call(t, "ada", "GET", c+"/blocks/human", "").want(http.StatusOK); got.text("value") != "Nora" || got.text("id") != human || !slices.Equal(got.texts("attached"), []string{strings.TrimPrefix(c, "/v1/collections/")}) {
		t.Errorf("the attached block is %s", got.Body)
	}
	for _, blocks := range [][]string{{human, human}, {human, b.standAlone(t, "human", "")}} {
		b.call(t, "one", "POST", "/v1/collections", encode(t, map[string]any{"name": "x", "policy": "memgpt", "blocks": blocks})).want(map[bool]int{true: 201, false: 409}[blocks[0] == blocks[1]])
	}
	b.call(t, "one", "POST", "/v1/collections", encode(t, map[string]any{"name": "y", "policy": "memgpt", "blocks": []string{uuid.NewString()}})).refused(404, fault.NotFound, "")

	// Who may do what.
	b.call(t, "reader", "POST", "/v1/blocks", `{"label":"x"}`).refused(http.StatusForbidden, fault.Forbidden, "")
	b.call(t, "ada", "POST", "/v1/blocks", `{"label":"x"}`).refused(http.StatusForbidden, fault.Forbidden, "")
	b.call(t, "ada", "PATCH", at, `{"value":"x"}`).refused(http.StatusForbidden, fault.Forbidden, "")
	if got := b.call(t, "two", "GET", "/v1/blocks", "").want(http.StatusOK); got.length("items") != 0 {
		t.Errorf("another tenant sees %s", got.Body)
	}
	for method, target := range map[string]string{"GET": at, "PATCH": at, "DELETE": at, "POST": at + "/undo"} {
		body := map[string]string{"PATCH": `{"value":"x"}`}[method]
		b.call(t, "two", method, target, body).refused(http.StatusNotFound, fault.NotFound, "")
	}
}

// C138: an edit by one agent shows in the other's next context. C134: a block is detached.
func TestSharedBlocks(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	ada, bob := b.owned(t, "ada-memory", "ada"), b.owned(t, "bob-memory", "bob")
	id := b.standAlone(t, "team", "")
	b.attach(t, ada, id, "rw").want(http.StatusOK)
	if got := b.attach(t, bob, id, "rw").want(http.StatusOK); got.length("attached") != 2 {
		t.Errorf("attached is %s", got.Body)
	}
	tokens := func(agent, c string) float64 {
		return b.call(t, agent, "GET", c+"/context", "").want(http.StatusOK).number("parts.2.tokens")
	}
	before := tokens("bob", bob)
	step := b.call(t, "ada", "POST", ada+"/step", `{"tool":"core_memory_append","arguments":{"label":"team","content":"We ship on Fridays, whatever happens."}}`).want(http.StatusOK)
	if step.at("ok") != true {
		t.Fatalf("the edit: %s", step.Body)
	}
	if after := tokens("bob", bob); after <= before {
		t.Errorf("the other context has %v tokens of blocks, before the edit %v", after, before)
	}
	if got := b.call(t, "bob", "GET", bob+"/blocks/team", "").want(http.StatusOK); got.text("value") != "We ship on Fridays, whatever happens." {
		t.Errorf("the other agent reads %s", got.Body)
	}
	if got := b.call(t, "bob", "POST", bob+"/context", `{"query":"when do we ship?"}`).want(http.StatusOK); !strings.Contains(got.Body.String(), "We ship on Fridays") {
		t.Errorf("the context for a prompt is %s", got.Body)
	}
	if got := b.call(t, "bob", "POST", bob+"/blocks/team/replace", `{"old":"Fridays","new":"Mondays"}`).want(http.StatusOK).text("value"); got != "We ship on Mondays, whatever happens." {
		t.Errorf("replace made %q", got)
	}
	if got := b.call(t, "ada", "POST", ada+"/blocks/team/undo", "").want(http.StatusOK).text("value"); got != "We ship on Fridays, whatever happens." {
		t.Errorf("undo made %q", got)
	}
	// A request that is repeated under its key is one edit.
	for range 2 {
		b.call(t, "ada", "POST", ada+"/blocks/team/append", `{"text":"Once."}`, "Idempotency-Key", "k").want(http.StatusOK)
	}
	if got := b.call(t, "bob", "GET", bob+"/blocks/team", "").want(http.StatusOK).text("value"); strings.Count(got, "Once.") != 1 {
		t.Errorf("repeated: %q", got)
	}

	// For reading only.
	if got := b.attach(t, bob, id, "ro").want(http.StatusOK); got.at("read_only") != true {
		t.Errorf("attached for reading it is %s", got.Body)
	}
	b.call(t, "bob", "POST", bob+"/blocks/team/append", `{"text":"x"}`).refused(http.StatusForbidden, fault.Forbidden, "")
	b.call(t, "bob", "PUT", bob+"/blocks/team", `{"value":"x","read_only":false}`).refused(http.StatusForbidden, fault.Forbidden, "")
	if got := b.call(t, "bob", "POST", bob+"/step", `{"tool":"memory_rethink","arguments":{"label":"team","text":"mine"}}`).want(http.StatusOK); got.at("ok") != false {
		t.Errorf("the tool: %s", got.Body)
	}

	// Deleting it names who has it; an agent is told of its own collections only.
	all := b.call(t, "one", "DELETE", "/v1/blocks/"+id, "")
	all.refused(http.StatusConflict, fault.Conflict, "")
	if got := all.texts("collections"); len(got) != 2 {
		t.Errorf("attached to %v", got)
	}
	own := b.call(t, "ada", "DELETE", ada+"/blocks/team", "")
	own.refused(http.StatusConflict, fault.Conflict, "")
	if got := own.texts("collections"); !slices.Equal(got, []string{strings.TrimPrefix(ada, "/v1/collections/")}) {
		t.Errorf("the agent is told of %v", got)
	}
	b.call(t, "one", "PATCH", "/v1/blocks/"+id, `{"label":"crew"}`).refused(http.StatusConflict, fault.Conflict, "")
	b.call(t, "one", "DELETE", "/v1/collections/slipbox.blocks", "").refused(http.StatusConflict, fault.Conflict, "")

	// Labels are unique in a collection, whichever comes first.
	b.attach(t, ada, b.standAlone(t, "team", ""), "rw").refused(http.StatusConflict, fault.Exists, "")
	b.attach(t, ada, b.standAlone(t, "human", ""), "rw").refused(http.StatusConflict, fault.Exists, "")

	// What is foreign is absent.
	foreign := b.call(t, "two", "POST", "/v1/blocks", `{"label":"theirs"}`).want(http.StatusCreated).text("id")
	b.attach(t, ada, foreign, "rw").refused(http.StatusNotFound, fault.NotFound, "")
	b.attach(t, ada, uuid.NewString(), "rw").refused(http.StatusNotFound, fault.NotFound, "")
	b.attach(t, ada, b.call(t, "ada", "GET", ada+"/blocks/human", "").text("id"), "rw").refused(http.StatusNotFound, fault.NotFound, "")
	b.call(t, "bob", "POST", ada+"/blocks/attach", encode(t, map[string]any{"block": id, "mode": "ro"})).refused(http.StatusNotFound, fault.NotFound, "")
	b.call(t, "ada", "POST", ada+"/blocks/attach", encode(t, map[string]any{"block": id})).refused(http.StatusForbidden, fault.Forbidden, "")
	b.attach(t, ada, id, "all").refused(422, fault.Invalid, "mode")

	b.call(t, "ada", "POST", ada+"/blocks/human/detach", "").refused(http.StatusConflict, fault.Conflict, "")
	if got := b.call(t, "ada", "POST", ada+"/blocks/team/detach", "").want(http.StatusOK); got.text("id") != id || slices.Contains(got.texts("attached"), strings.TrimPrefix(ada, "/v1/collections/")) {
		t.Errorf("detached: %s", got.Body)
	}
	b.call(t, "ada", "POST", ada+"/blocks/team/detach", "").refused(http.StatusNotFound, fault.NotFound, "")
	b.call(t, "ada", "GET", ada+"/blocks/team", "").refused(http.StatusNotFound, fault.NotFound, "")
	b.call(t, "bob", "POST", bob+"/blocks/team/detach", "").want(http.StatusOK)
	b.call(t, "one", "DELETE", "/v1/blocks/"+id, "").want(http.StatusNoContent)
	b.call(t, "one", "GET", "/v1/blocks/"+id, "").refused(http.StatusNotFound, fault.NotFound, "")
}

// Two agents edit one block at once: with the version that they read, one wins and the other learns which version
// did; without it no edit is lost.
func TestSharedBlockAtOnce(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	id := b.standAlone(t, "team", "")
	agents := map[string]string{"ada": b.owned(t, "ada-memory", "ada", id), "bob": b.owned(t, "bob-memory", "bob", id)}
	tag := b.call(t, "ada", "GET", agents["ada"]+"/blocks/team", "").want(http.StatusOK).Header().Get("ETag")
	var mu sync.Mutex
	answers := map[int]response{}
	var all sync.WaitGroup
	for agent, c := range agents {
		all.Go(func() {
			got := b.call(t, agent, "PUT", c+"/blocks/team", encode(t, map[string]any{"value": agent}), "If-Match", tag)
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
	if lost.number("version") != won.number("version") {
		t.Errorf("the version that won is %v, the other is told %s", won.number("version"), lost.Body)
	}
	for agent, c := range agents {
		for i := range 5 {
			all.Go(func() {
				b.call(t, agent, "POST", c+"/blocks/team/append", encode(t, map[string]any{"text": fmt.Sprint(agent, i)})).want(http.StatusOK)
			})
		}
	}
	all.Wait()
	if got := b.call(t, "ada", "GET", agents["ada"]+"/blocks/team", "").want(http.StatusOK).text("value"); strings.Count(got, "\n") != 10 {
		t.Errorf("the block is %q", got)
	}
}

// A clone gets copies of attached blocks, or the same ones.
func TestClonesOfSharedBlocks(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	id := b.standAlone(t, "team", "Ada")
	c := b.owned(t, "ada-memory", "ada", id)
	value := func(c string) response {
		return b.call(t, "one", "GET", c+"/blocks/team", "").want(http.StatusOK)
	}
	clone := func(body map[string]any, status int) string {
		t.Helper()
		got := b.call(t, "one", "POST", c+"/clone", encode(t, body)).want(status)
		path := "id"
		if status == http.StatusAccepted {
			path = "collection.id"
			b.runJobs(t)
		}
		return "/v1/collections/" + got.text(path)
	}
	for name, made := range map[string]string{
		"fork": clone(map[string]any{"name": "f1"}, http.StatusCreated), "past": clone(map[string]any{"name": "f2", "at_revision": 1}, http.StatusCreated),
		"copy": clone(map[string]any{"name": "c1", "mode": "copy"}, http.StatusAccepted),
	} {
		got := value(made)
		if got.text("value") != "Ada" || got.text("id") == id || got.length("attached") != 0 {
			t.Errorf("%s: the copied block is %s", name, got.Body)
		}
		b.call(t, "one", "POST", made+"/blocks/team/append", `{"text":"Bob"}`).want(http.StatusOK)
		if got := value(c).text("value"); got != "Ada" {
			t.Errorf("%s: the shared block is %q", name, got)
		}
		again := b.call(t, "one", "POST", made+"/clone", `{}`).want(http.StatusCreated)
		if got := value("/v1/collections/" + again.text("id")).text("value"); got != "Ada\nBob" {
			t.Errorf("%s: a fork of it has %q", name, got)
		}
	}
	for name, made := range map[string]string{
		"fork": clone(map[string]any{"name": "f3", "blocks": "share"}, http.StatusCreated),
		"copy": clone(map[string]any{"name": "c2", "mode": "copy", "blocks": "share"}, http.StatusAccepted),
	} {
		if got := value(made); got.text("id") != id || got.length("attached") < 2 {
			t.Errorf("%s: the shared block is %s", name, got.Body)
		}
		b.call(t, "one", "POST", made+"/blocks/team/append", encode(t, map[string]any{"text": name})).want(http.StatusOK)
		if got := value(c).text("value"); !strings.HasSuffix(got, "\n"+name) {
			t.Errorf("%s: the shared block is %q", name, got)
		}
	}
	b.call(t, "one", "POST", c+"/clone", `{"blocks":"none"}`).refused(422, fault.Invalid, "blocks")
	// What is deleted no longer holds the block.
	for _, path := range []string{"f3", "c2", "ada-memory"} {
		ref := "/v1/collections/" + path
		if path == "ada-memory" {
			ref = c + "?forks=materialise"
		}
		b.call(t, "one", "DELETE", ref, "").want(http.StatusNoContent)
	}
	b.call(t, "one", "DELETE", "/v1/blocks/"+id, "").want(http.StatusNoContent)
}
