package api_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
)

// labels returns the labels of a list of blocks.
func (a response) labels() []string {
	a.T.Helper()
	out := []string{}
	for i := range a.length("items") {
		out = append(out, a.text(fmt.Sprintf("items.%d.label", i)))
	}
	return out
}

// C134, C135, C136: a collection with the policy memgpt begins with human and persona; blocks are created,
// listed, changed and deleted, and have a description.
func TestBlocks(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.space(t, "ada", "memgpt")
	first := b.call(t, "reader", "GET", c+"/blocks", "").want(http.StatusOK)
	if got := first.labels(); !slices.Equal(got, []string{"human", "persona"}) || first.text("items.0.description") == "" || first.number("items.0.limit") != 5000 {
		t.Errorf("a new collection has %v: %s", got, first.Body)
	}
	if at := b.call(t, "one", "GET", c, "").want(http.StatusOK); at.number("head_revision") != 1 || at.number("counts.kinds.block") != 2 || at.number("counts.pending") != 0 {
		t.Errorf("the collection is %s", at.Body)
	}
	made := b.call(t, "one", "PUT", c+"/blocks/team", `{"value":"Ada","description":"who works here","limit":20,"metadata":{"by":"test"}}`).want(http.StatusCreated)
	if made.text("label") != "team" || made.text("value") != "Ada" || made.number("limit") != 20 || made.at("read_only") != false || made.text("metadata.by") != "test" || made.Header().Get("ETag") == "" {
		t.Errorf("the new block is %s", made.Body)
	}
	again := b.call(t, "one", "PUT", c+"/blocks/team", `{"value":"Ada, Bob"}`).want(http.StatusOK)
	if again.text("description") != "who works here" || again.number("limit") != 20 || again.text("id") != made.text("id") || again.number("version") <= made.number("version") {
		t.Errorf("the changed block is %s", again.Body)
	}
	same := b.call(t, "one", "PUT", c+"/blocks/team", `{"value":"Ada, Bob"}`).want(http.StatusOK)
	if same.number("version") != again.number("version") {
		t.Errorf("a change without effect is a version: %s", same.Body)
	}
	if got := b.call(t, "one", "POST", c+"/blocks/team/append", `{"text":"Cai"}`).want(http.StatusOK).text("value"); got != "Ada, Bob\nCai" {
		t.Errorf("append made %q", got)
	}
	if got := b.call(t, "one", "POST", c+"/blocks/team/replace", `{"old":"Bob","new":"Bea"}`).want(http.StatusOK).text("value"); got != "Ada, Bea\nCai" {
		t.Errorf("replace made %q", got)
	}
	if got := b.call(t, "one", "POST", c+"/blocks/team/insert", `{"text":"Team","line":0}`).want(http.StatusOK).text("value"); got != "Team\nAda, Bea\nCai" {
		t.Errorf("insert made %q", got)
	}
	past := b.call(t, "one", "GET", c+fmt.Sprintf("/blocks/team?as_of=%d", int(made.number("version"))), "").want(http.StatusOK)
	if past.text("value") != "Ada" {
		t.Errorf("the past is %s", past.Body)
	}
	page := b.call(t, "one", "GET", c+"/blocks?limit=2", "").want(http.StatusOK)
	rest := b.call(t, "one", "GET", c+"/blocks?limit=2&cursor="+url.QueryEscape(page.text("next_cursor")), "").want(http.StatusOK)
	if got := append(page.labels(), rest.labels()...); !slices.Equal(got, []string{"human", "persona", "team"}) {
		t.Errorf("pages have %v", got)
	}
	b.call(t, "one", "DELETE", c+"/blocks/team", "").want(http.StatusNoContent)
	b.call(t, "one", "GET", c+"/blocks/team", "").refused(http.StatusNotFound, fault.NotFound, "")
	b.call(t, "one", "DELETE", c+"/blocks/team", "").refused(http.StatusNotFound, fault.NotFound, "")

	// Access is that of notes.
	b.call(t, "writer", "GET", c+"/blocks", "").refused(http.StatusForbidden, fault.Forbidden, "")
	b.call(t, "reader", "PUT", c+"/blocks/human", `{"value":"x"}`).refused(http.StatusForbidden, fault.Forbidden, "")
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		body := ""
		if method == "PUT" {
			body = `{"value":"x"}`
		}
		b.call(t, "two", method, c+"/blocks/human", body).refused(http.StatusNotFound, fault.NotFound, "")
	}
	// Any collection can have blocks.
	other := b.space(t, "plain", "none")
	b.call(t, "one", "PUT", other+"/blocks/human", `{}`).want(http.StatusCreated)
	if got := b.call(t, "one", "GET", other+"/blocks", "").want(http.StatusOK).labels(); !slices.Equal(got, []string{"human"}) {
		t.Errorf("it has %v", got)
	}
}

// C118: a write over the limit is refused with the sizes, in any script. C137: replace says how
// often the text occurs.
func TestBlocksAreBounded(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.space(t, "ada", "memgpt")
	at := c + "/blocks/human"
	b.call(t, "one", "PUT", at, `{"limit":10}`).want(http.StatusOK)
	for _, char := range []string{"a", "字", "🦆"} {
		for size, status := range map[int]int{9: 200, 10: 200, 11: 422} {
			got := b.call(t, "one", "PUT", at, encode(t, map[string]any{"value": strings.Repeat(char, size)})).want(status)
			if status == http.StatusOK {
				b.call(t, "one", "PUT", at, `{"value":""}`).want(http.StatusOK)
				continue
			}
			if got.refused(422, fault.Invalid, "value"); got.number("current") != 0 || got.number("limit") != 10 || got.number("requested") != 11 {
				t.Errorf("%s: %s", char, got.Body)
			}
		}
	}
	b.call(t, "one", "PUT", at, `{"value":"tea, tea"}`).want(http.StatusOK)
	over := b.call(t, "one", "POST", at+"/append", `{"text":"xx"}`)
	if over.refused(422, fault.Invalid, "text"); over.number("current") != 8 || over.number("limit") != 10 {
		t.Errorf("append: %s", over.Body)
	}
	for old, matches := range map[string]float64{"tea": 2, "Tea": 0} {
		got := b.call(t, "one", "POST", at+"/replace", encode(t, map[string]any{"old": old, "new": "x"}))
		if got.refused(422, fault.Invalid, "old"); got.number("matches") != matches {
			t.Errorf("%q: %s", old, got.Body)
		}
	}
	b.call(t, "one", "POST", at+"/insert", `{"text":"x","line":5}`).refused(422, fault.Invalid, "line")
	b.call(t, "one", "POST", at+"/append", `{"text":7}`).refused(422, fault.Invalid, "text")
	b.call(t, "one", "POST", at+"/append", `{}`).refused(422, fault.Invalid, "text")
	b.call(t, "one", "POST", at+"/append", `{"text":"x","more":1}`).refused(422, fault.Invalid, "more")
	b.call(t, "one", "PUT", at, `{"limit":0}`).refused(422, fault.Invalid, "limit")
	b.call(t, "one", "PUT", at, `{"value":"a\u0000b"}`).refused(422, fault.Invalid, "value")
	b.call(t, "one", "POST", c+"/blocks/nobody/append", `{"text":"x"}`).refused(404, fault.NotFound, "")

	for label, status := range map[string]int{
		"用户": 201, "a/b": 201, "Ünïcode 1": 201, strings.Repeat("字", 64): 201,
		"a\nb": 422, strings.Repeat("x", 300): 422, "a\x00b": 422, " x": 422, "\xff": 400,
	} {
		target := c + "/blocks/" + url.PathEscape(label)
		b.call(t, "one", "PUT", target, `{"value":"x"}`).want(status)
		if status == http.StatusCreated {
			if got := b.call(t, "one", "GET", target, "").want(http.StatusOK).text("label"); got != label {
				t.Errorf("%q is labeled %q", label, got)
			}
			continue
		}
		b.call(t, "one", "GET", target, "").want(http.StatusNotFound)
		b.call(t, "one", "DELETE", target, "").want(http.StatusNotFound)
	}
	b.call(t, "one", "PUT", c+"/blocks/rules", `{"value":"Be kind.","read_only":true}`).want(201)
	for _, refused := range []struct{ method, path, body string }{
		{"POST", "/append", `{"text":"x"}`},
		{"POST", "/replace", `{"old":"kind","new":"x"}`},
		{"POST", "/insert", `{"text":"x"}`},
		{"POST", "/undo", ""},
		{"PUT", "", `{"value":"x"}`},
		{"DELETE", "", ""},
	} {
		b.call(t, "one", refused.method, c+"/blocks/rules"+refused.path, refused.body).refused(403, fault.Forbidden, "")
	}
	b.call(t, "one", "PUT", c+"/blocks/rules", `{"value":"Be kinder.","read_only":true}`).want(200)
	b.call(t, "one", "PUT", c+"/blocks/rules", `{"read_only":false}`).want(200)
	b.call(t, "one", "DELETE", c+"/blocks/rules", "").want(204)
}

// The routes of notes show blocks and do not change them, so limits and read-only blocks hold.
func TestBlocksAreNotWrittenAsNotes(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.space(t, "ada", "memgpt")
	block := b.call(t, "one", "PUT", c+"/blocks/human", `{"value":"Ada","read_only":true}`).want(200)
	note := c + "/notes/" + block.text("id")
	got := b.call(t, "one", "GET", note, "").want(200)
	if attributes, _ := got.at("attributes").(map[string]any); got.text("kind") != "block" || got.text("content") != "Ada" || got.text("keywords.0") != "human" ||
		len(attributes) != 2 || attributes["limit"] != 5000.0 || attributes["read_only"] != true {
		t.Errorf("the note is %s", got.Body)
	}
	if h := b.call(t, "one", "GET", note+"/history", "").want(200); h.length("items") != 2 {
		t.Errorf("its history is %s", h.Body)
	}
	for _, refused := range []struct{ method, target, body string }{
		{"PATCH", note, `{"content":"x"}`},
		{"PATCH", note, `{"attributes":{"read_only":false}}`},
		{"DELETE", note, ""},
		{"POST", note + "/restore", `{"revision":1}`},
		{"POST", c + "/notes", `{"content":"x","kind":"block"}`},
	} {
		answer := b.call(t, "one", refused.method, refused.target, refused.body)
		if answer.refused(422, fault.Invalid, "kind"); !strings.Contains(answer.text("detail"), "/blocks/{label}") {
			t.Errorf("the refusal does not name the route: %s", answer.Body)
		}
	}
	for _, target := range []string{"/notes/bulk", "/import"} {
		b.call(t, "one", "POST", c+target, `{"id":"0198f000-0000-7000-8000-000000000001","content":"x","kind":"block"}`)
		if n := b.call(t, "one", "GET", c+"/blocks", "").want(200).length("items"); n != 2 {
			t.Errorf("%s made a block", target)
		}
	}
	// A deleted block comes back as it was, with what can be undone.
	b.call(t, "one", "PUT", c+"/blocks/team", `{"value":"one"}`).want(201)
	last := b.call(t, "one", "POST", c+"/blocks/team/append", `{"text":"two"}`).want(200)
	b.call(t, "one", "DELETE", c+"/blocks/team", "").want(204)
	b.call(t, "one", "POST", c+"/notes/"+last.text("id")+"/restore", fmt.Sprintf(`{"revision":%d}`, int(last.number("version")))).want(200)
	if got := b.call(t, "one", "POST", c+"/blocks/team/undo", "").want(200).text("value"); got != "one" {
		t.Errorf("undo after the restore made %q", got)
	}
}

// Undo and redo walk the versions of a block, in a fork across the fork point, and in a copy as far as
// versions were copied.
func TestBlockUndo(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.space(t, "ada", "memgpt")
	at := c + "/blocks/human"
	b.call(t, "one", "POST", at+"/undo", "").refused(409, fault.Conflict, "")
	b.call(t, "one", "POST", at+"/redo", "").refused(409, fault.Conflict, "")
	for _, text := range []string{"one", "two", "three"} {
		b.call(t, "one", "POST", at+"/append", encode(t, map[string]any{"text": text})).want(200)
		b.call(t, "one", "POST", c+"/notes", encode(t, map[string]any{"content": "beside " + text})).want(201)
	}
	step := func(target, what, want string) {
		t.Helper()
		if got := b.call(t, "one", "POST", target+"/"+what, "").want(200).text("value"); got != want {
			t.Errorf("%s made %q, want %q", what, got, want)
		}
	}
	step(at, "undo", "one\ntwo")
	fork := "/v1/collections/" + b.call(t, "one", "POST", c+"/clone", `{"name":"side"}`).want(201).text("id")
	copied := b.call(t, "one", "POST", c+"/clone", `{"name":"copy","mode":"copy"}`).want(202)
	if _, err := b.Work(t.Context()); err != nil {
		t.Fatal(err)
	}
	step(fork+"/blocks/human", "redo", "one\ntwo\nthree")
	step(fork+"/blocks/human", "undo", "one\ntwo")
	step(fork+"/blocks/human", "undo", "one")
	step(at, "undo", "one")
	step(at, "undo", "")
	b.call(t, "one", "POST", at+"/undo", "").refused(409, fault.Conflict, "")
	step(at, "redo", "one")
	step(at, "redo", "one\ntwo")
	b.call(t, "one", "POST", at+"/append", `{"text":"four"}`).want(200)
	b.call(t, "one", "POST", at+"/redo", "").refused(409, fault.Conflict, "")
	step(at, "undo", "one\ntwo")
	side := "/v1/collections/" + copied.text("collection.id") + "/blocks/human"
	if got := b.call(t, "one", "GET", side, "").want(200).text("value"); got != "one\ntwo" {
		t.Errorf("the copy has %q", got)
	}
	b.call(t, "one", "POST", side+"/undo", "").refused(409, fault.Conflict, "")
	step(fork+"/blocks/human", "redo", "one\ntwo")

	// An undo is of the whole block, and guarded like any write.
	tag := b.call(t, "one", "GET", at, "").want(200).Header().Get("ETag")
	b.call(t, "one", "PUT", at, `{"limit":100,"description":"other"}`).want(200)
	b.call(t, "one", "POST", at+"/undo", "", "If-Match", tag).refused(412, fault.Precondition, "")
	if back := b.call(t, "one", "POST", at+"/undo", "", "Idempotency-Key", "k").want(200); back.number("limit") != 5000 || back.text("description") == "other" {
		t.Errorf("undone is %s", back.Body)
	}
	head := b.call(t, "one", "GET", c, "").want(200).number("head_revision")
	b.call(t, "one", "POST", at+"/undo", "", "Idempotency-Key", "k").want(200)
	if now := b.call(t, "one", "GET", c, "").want(200).number("head_revision"); now != head {
		t.Error("an undo that is sent twice is done twice")
	}
}

// Of writers on one version of a block one succeeds; without a guard every edit is kept.
func TestConcurrentBlocks(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.space(t, "ada", "memgpt")
	at := c + "/blocks/human"
	tag := b.call(t, "one", "GET", at, "").want(200).Header().Get("ETag")
	const writers = 4
	codes, made := make([]int, writers), make([]int, writers)
	var wait sync.WaitGroup
	for i := range writers {
		wait.Go(func() {
			codes[i] = b.call(t, "one", "POST", at+"/append", fmt.Sprintf(`{"text":"guarded %d"}`, i), "If-Match", tag).Code
			b.call(t, "one", "POST", at+"/append", fmt.Sprintf(`{"text":"free %d"}`, i))
			made[i] = b.call(t, "one", "PUT", c+"/blocks/team", fmt.Sprintf(`{"value":"%d"}`, i)).Code
		})
	}
	wait.Wait()
	slices.Sort(codes)
	slices.Sort(made)
	if !slices.Equal(codes, []int{200, 412, 412, 412}) || !slices.Equal(made, []int{200, 200, 200, 201}) {
		t.Errorf("codes are %v and %v", codes, made)
	}
	value := b.call(t, "one", "GET", at, "").want(200).text("value")
	for i := range writers {
		if !strings.Contains(value, fmt.Sprintf("free %d", i)) {
			t.Errorf("an edit is lost: %q", value)
		}
	}
	b.call(t, "one", "PUT", c+"/blocks/new", `{"value":"x"}`, "If-Match", tag).refused(412, fault.Precondition, "")
}

// An agent has at most 1,000 blocks, attached ones included; the next one is refused, with the reason. The context with all of
// them fits into the window.
func TestThousandsOfBlocks(t *testing.T) {
	t.Parallel()
	b := newSystem(t)
	c := b.space(t, "ada", "memgpt")
	id := uuid.MustParse(strings.TrimPrefix(c, "/v1/collections/"))
	_, err := b.Store.Write(t.Context(), b.Scopes["one"].Scope, id, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
		for i := range block.MaxBlocks - 3 { // human and persona are there
			made := block.New(fmt.Sprint("block ", i))
			n, _ := made.Note(nil)
			if _, err := tx.Put(ctx, n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	b.call(t, "one", "PUT", c+"/blocks/last", `{"value":"the last one"}`).want(http.StatusCreated)
	refused := b.call(t, "one", "PUT", c+"/blocks/another", `{"value":"x"}`)
	refused.refused(422, fault.Invalid, "label")
	if !strings.Contains(refused.Body.String(), "1000 blocks") {
		t.Errorf("the reason is %s", refused.Body)
	}
	shared := b.call(t, "one", "POST", "/v1/blocks", `{"label":"shared"}`).want(http.StatusCreated).text("id")
	b.call(t, "one", "POST", c+"/blocks/attach", encode(t, args{"block": shared})).refused(422, fault.Invalid, "block")
	b.call(t, "one", "PUT", c+"/blocks/last", `{"value":"changed"}`).want(http.StatusOK)
	if got := b.call(t, "one", "GET", c+"/context", "").want(200); got.number("used") > got.number("window") || got.number("parts.2.tokens") < 1000 {
		t.Errorf("the context is %s", got.Body)
	}
}
