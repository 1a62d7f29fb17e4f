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

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/test/must"
)

// C134, C135, C136: a collection with the policy memgpt begins with human and persona; blocks are created,
// listed, changed and deleted, and have a description.
func TestBlocks(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memgpt")
	first := b.Call(t, "reader", "GET", c+"/blocks", "").Want(http.StatusOK)
	if got := first.Texts("items.*.label"); !slices.Equal(got, []string{"human", "persona"}) || first.Text("items.0.description") == "" || first.Number("items.0.limit") != 5000 {
		t.Errorf("a new collection has %v: %s", got, first.Body)
	}
	if at := b.Call(t, "one", "GET", c, "").Want(http.StatusOK); at.Number("head_revision") != 1 || at.Number("counts.kinds.block") != 2 || at.Number("counts.pending") != 0 {
		t.Errorf("the collection is %s", at.Body)
	}
	made := b.Call(t, "one", "PUT", c+"/blocks/team", `{"value":"Ada","description":"who works here","limit":20,"metadata":{"by":"test"}}`).Want(http.StatusCreated)
	if made.Text("label") != "team" || made.Text("value") != "Ada" || made.Number("limit") != 20 || made.At("read_only") != false || made.Text("metadata.by") != "test" || made.Header().Get("ETag") == "" {
		t.Errorf("the new block is %s", made.Body)
	}
	again := b.Call(t, "one", "PUT", c+"/blocks/team", `{"value":"Ada, Bob"}`).Want(http.StatusOK)
	if again.Text("description") != "who works here" || again.Number("limit") != 20 || again.Text("id") != made.Text("id") || again.Number("version") <= made.Number("version") {
		t.Errorf("the changed block is %s", again.Body)
	}
	same := b.Call(t, "one", "PUT", c+"/blocks/team", `{"value":"Ada, Bob"}`).Want(http.StatusOK)
	if same.Number("version") != again.Number("version") {
		t.Errorf("a change without effect is a version: %s", same.Body)
	}
	if got := b.Call(t, "one", "POST", c+"/blocks/team/append", `{"text":"Cai"}`).Want(http.StatusOK).Text("value"); got != "Ada, Bob\nCai" {
		t.Errorf("append made %q", got)
	}
	if got := b.Call(t, "one", "POST", c+"/blocks/team/replace", `{"old":"Bob","new":"Bea"}`).Want(http.StatusOK).Text("value"); got != "Ada, Bea\nCai" {
		t.Errorf("replace made %q", got)
	}
	if got := b.Call(t, "one", "POST", c+"/blocks/team/insert", `{"text":"Team","line":0}`).Want(http.StatusOK).Text("value"); got != "Team\nAda, Bea\nCai" {
		t.Errorf("insert made %q", got)
	}
	past := b.Call(t, "one", "GET", c+fmt.Sprintf("/blocks/team?as_of=%d", int(made.Number("version"))), "").Want(http.StatusOK)
	if past.Text("value") != "Ada" {
		t.Errorf("the past is %s", past.Body)
	}
	page := b.Call(t, "one", "GET", c+"/blocks?limit=2", "").Want(http.StatusOK)
	rest := b.Call(t, "one", "GET", c+"/blocks?limit=2&cursor="+url.QueryEscape(page.Text("next_cursor")), "").Want(http.StatusOK)
	if got := append(page.Texts("items.*.label"), rest.Texts("items.*.label")...); !slices.Equal(got, []string{"human", "persona", "team"}) {
		t.Errorf("pages have %v", got)
	}
	b.Call(t, "one", "DELETE", c+"/blocks/team", "").Want(http.StatusNoContent)
	b.Call(t, "one", "GET", c+"/blocks/team", "").Refused(http.StatusNotFound, fault.NotFound, "")
	b.Call(t, "one", "DELETE", c+"/blocks/team", "").Refused(http.StatusNotFound, fault.NotFound, "")

	// Access is that of notes.
	b.Call(t, "writer", "GET", c+"/blocks", "").Refused(http.StatusForbidden, fault.Forbidden, "")
	b.Call(t, "reader", "PUT", c+"/blocks/human", `{"value":"x"}`).Refused(http.StatusForbidden, fault.Forbidden, "")
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		body := ""
		if method == "PUT" {
			body = `{"value":"x"}`
		}
		b.Call(t, "two", method, c+"/blocks/human", body).Refused(http.StatusNotFound, fault.NotFound, "")
	}
	// Any collection can have blocks.
	other := b.Space(t, "plain", "none")
	b.Call(t, "one", "PUT", other+"/blocks/human", `{}`).Want(http.StatusCreated)
	if got := b.Call(t, "one", "GET", other+"/blocks", "").Want(http.StatusOK).Texts("items.*.label"); !slices.Equal(got, []string{"human"}) {
		t.Errorf("it has %v", got)
	}
}

// C118: a write over the limit is refused with the sizes, in any script. C137: replace says how
// often the text occurs.
func TestBlocksAreBounded(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memgpt")
	at := c + "/blocks/human"
	b.Call(t, "one", "PUT", at, `{"limit":10}`).Want(http.StatusOK)
	for _, char := range []string{"a", "字", "🦆"} {
		for size, status := range map[int]int{9: 200, 10: 200, 11: 422} {
			got := b.Call(t, "one", "PUT", at, apptest.JSON(t, map[string]any{"value": strings.Repeat(char, size)})).Want(status)
			if status == http.StatusOK {
				b.Call(t, "one", "PUT", at, `{"value":""}`).Want(http.StatusOK)
				continue
			}
			if got.Refused(422, fault.Invalid, "value"); got.Number("current") != 0 || got.Number("limit") != 10 || got.Number("requested") != 11 {
				t.Errorf("%s: %s", char, got.Body)
			}
		}
	}
	b.Call(t, "one", "PUT", at, `{"value":"tea, tea"}`).Want(http.StatusOK)
	over := b.Call(t, "one", "POST", at+"/append", `{"text":"xx"}`)
	if over.Refused(422, fault.Invalid, "text"); over.Number("current") != 8 || over.Number("limit") != 10 {
		t.Errorf("append: %s", over.Body)
	}
	for old, matches := range map[string]float64{"tea": 2, "Tea": 0} {
		got := b.Call(t, "one", "POST", at+"/replace", apptest.JSON(t, map[string]any{"old": old, "new": "x"}))
		if got.Refused(422, fault.Invalid, "old"); got.Number("matches") != matches {
			t.Errorf("%q: %s", old, got.Body)
		}
	}
	b.Call(t, "one", "POST", at+"/insert", `{"text":"x","line":5}`).Refused(422, fault.Invalid, "line")
	b.Call(t, "one", "POST", at+"/append", `{"text":7}`).Refused(422, fault.Invalid, "text")
	b.Call(t, "one", "POST", at+"/append", `{}`).Refused(422, fault.Invalid, "text")
	b.Call(t, "one", "POST", at+"/append", `{"text":"x","more":1}`).Refused(422, fault.Invalid, "more")
	b.Call(t, "one", "PUT", at, `{"limit":0}`).Refused(422, fault.Invalid, "limit")
	b.Call(t, "one", "PUT", at, `{"value":"a\u0000b"}`).Refused(422, fault.Invalid, "value")
	b.Call(t, "one", "POST", c+"/blocks/nobody/append", `{"text":"x"}`).Refused(404, fault.NotFound, "")

	for label, status := range map[string]int{
		"用户": 201, "a/b": 201, "Ünïcode 1": 201, strings.Repeat("字", 64): 201,
		"a\nb": 422, strings.Repeat("x", 300): 422, "a\x00b": 422, " x": 422, "\xff": 400,
	} {
		target := c + "/blocks/" + url.PathEscape(label)
		b.Call(t, "one", "PUT", target, `{"value":"x"}`).Want(status)
		if status == http.StatusCreated {
			if got := b.Call(t, "one", "GET", target, "").Want(http.StatusOK).Text("label"); got != label {
				t.Errorf("%q is labeled %q", label, got)
			}
			continue
		}
		b.Call(t, "one", "GET", target, "").Want(http.StatusNotFound)
		b.Call(t, "one", "DELETE", target, "").Want(http.StatusNotFound)
	}
	b.Call(t, "one", "PUT", c+"/blocks/rules", `{"value":"Be kind.","read_only":true}`).Want(201)
	for _, refused := range []struct{ method, path, body string }{
		{"POST", "/append", `{"text":"x"}`},
		{"POST", "/replace", `{"old":"kind","new":"x"}`},
		{"POST", "/insert", `{"text":"x"}`},
		{"POST", "/undo", ""},
		{"PUT", "", `{"value":"x"}`},
		{"DELETE", "", ""},
	} {
		b.Call(t, "one", refused.method, c+"/blocks/rules"+refused.path, refused.body).Refused(403, fault.Forbidden, "")
	}
	b.Call(t, "one", "PUT", c+"/blocks/rules", `{"value":"Be kinder.","read_only":true}`).Want(200)
	b.Call(t, "one", "PUT", c+"/blocks/rules", `{"read_only":false}`).Want(200)
	b.Call(t, "one", "DELETE", c+"/blocks/rules", "").Want(204)
}

// The routes of notes show blocks and do not change them, so limits and read-only blocks hold.
func TestBlocksAreNotWrittenAsNotes(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memgpt")
	block := b.Call(t, "one", "PUT", c+"/blocks/human", `{"value":"Ada","read_only":true}`).Want(200)
	note := c + "/notes/" + block.Text("id")
	got := b.Call(t, "one", "GET", note, "").Want(200)
	if attributes, _ := got.At("attributes").(map[string]any); got.Text("kind") != "block" || got.Text("content") != "Ada" || got.Text("keywords.0") != "human" ||
		len(attributes) != 2 || attributes["limit"] != 5000.0 || attributes["read_only"] != true {
		t.Errorf("the note is %s", got.Body)
	}
	if h := b.Call(t, "one", "GET", note+"/history", "").Want(200); h.Length("items") != 2 {
		t.Errorf("its history is %s", h.Body)
	}
	for _, refused := range []struct{ method, target, body string }{
		{"PATCH", note, `{"content":"x"}`},
		{"PATCH", note, `{"attributes":{"read_only":false}}`},
		{"DELETE", note, ""},
		{"POST", note + "/restore", `{"revision":1}`},
		{"POST", c + "/notes", `{"content":"x","kind":"block"}`},
	} {
		answer := b.Call(t, "one", refused.method, refused.target, refused.body)
		if answer.Refused(422, fault.Invalid, "kind"); !strings.Contains(answer.Text("detail"), "/blocks/{label}") {
			t.Errorf("the refusal does not name the route: %s", answer.Body)
		}
	}
	for _, target := range []string{"/notes/bulk", "/import"} {
		b.Call(t, "one", "POST", c+target, `{"id":"0198f000-0000-7000-8000-000000000001","content":"x","kind":"block"}`)
		if n := b.Call(t, "one", "GET", c+"/blocks", "").Want(200).Length("items"); n != 2 {
			t.Errorf("%s made a block", target)
		}
	}
	// A deleted block comes back as it was, with what can be undone.
	b.Call(t, "one", "PUT", c+"/blocks/team", `{"value":"one"}`).Want(201)
	last := b.Call(t, "one", "POST", c+"/blocks/team/append", `{"text":"two"}`).Want(200)
	b.Call(t, "one", "DELETE", c+"/blocks/team", "").Want(204)
	b.Call(t, "one", "POST", c+"/notes/"+last.Text("id")+"/restore", fmt.Sprintf(`{"revision":%d}`, int(last.Number("version")))).Want(200)
	if got := b.Call(t, "one", "POST", c+"/blocks/team/undo", "").Want(200).Text("value"); got != "one" {
		t.Errorf("undo after the restore made %q", got)
	}
}

// Undo and redo walk the versions of a block, in a fork across the fork point, and in a copy as far as
// versions were copied.
func TestBlockUndo(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memgpt")
	at := c + "/blocks/human"
	b.Call(t, "one", "POST", at+"/undo", "").Refused(409, fault.Conflict, "")
	b.Call(t, "one", "POST", at+"/redo", "").Refused(409, fault.Conflict, "")
	for _, text := range []string{"one", "two", "three"} {
		b.Call(t, "one", "POST", at+"/append", apptest.JSON(t, map[string]any{"text": text})).Want(200)
		b.Call(t, "one", "POST", c+"/notes", apptest.JSON(t, map[string]any{"content": "beside " + text})).Want(201)
	}
	step := func(target, what, want string) {
		t.Helper()
		if got := b.Call(t, "one", "POST", target+"/"+what, "").Want(200).Text("value"); got != want {
			t.Errorf("%s made %q, want %q", what, got, want)
		}
	}
	step(at, "undo", "one\ntwo")
	fork := "/v1/collections/" + b.Call(t, "one", "POST", c+"/clone", `{"name":"side"}`).Want(201).Text("id")
	copied := b.Call(t, "one", "POST", c+"/clone", `{"name":"copy","mode":"copy"}`).Want(202)
	must.Get(b.Work(t.Context()))(t)
	step(fork+"/blocks/human", "redo", "one\ntwo\nthree")
	step(fork+"/blocks/human", "undo", "one\ntwo")
	step(fork+"/blocks/human", "undo", "one")
	step(at, "undo", "one")
	step(at, "undo", "")
	b.Call(t, "one", "POST", at+"/undo", "").Refused(409, fault.Conflict, "")
	step(at, "redo", "one")
	step(at, "redo", "one\ntwo")
	b.Call(t, "one", "POST", at+"/append", `{"text":"four"}`).Want(200)
	b.Call(t, "one", "POST", at+"/redo", "").Refused(409, fault.Conflict, "")
	step(at, "undo", "one\ntwo")
	side := "/v1/collections/" + copied.Text("collection.id") + "/blocks/human"
	if got := b.Call(t, "one", "GET", side, "").Want(200).Text("value"); got != "one\ntwo" {
		t.Errorf("the copy has %q", got)
	}
	b.Call(t, "one", "POST", side+"/undo", "").Refused(409, fault.Conflict, "")
	step(fork+"/blocks/human", "redo", "one\ntwo")

	// An undo is of the whole block, and guarded like any write.
	tag := b.Call(t, "one", "GET", at, "").Want(200).Header().Get("ETag")
	b.Call(t, "one", "PUT", at, `{"limit":100,"description":"other"}`).Want(200)
	b.Call(t, "one", "POST", at+"/undo", "", "If-Match", tag).Refused(412, fault.Precondition, "")
	if back := b.Call(t, "one", "POST", at+"/undo", "", "Idempotency-Key", "k").Want(200); back.Number("limit") != 5000 || back.Text("description") == "other" {
		t.Errorf("undone is %s", back.Body)
	}
	head := b.Call(t, "one", "GET", c, "").Want(200).Number("head_revision")
	b.Call(t, "one", "POST", at+"/undo", "", "Idempotency-Key", "k").Want(200)
	if now := b.Call(t, "one", "GET", c, "").Want(200).Number("head_revision"); now != head {
		t.Error("an undo that is sent twice is done twice")
	}
}

// Of writers on one version of a block one succeeds; without a guard every edit is kept.
func TestConcurrentBlocks(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memgpt")
	at := c + "/blocks/human"
	tag := b.Call(t, "one", "GET", at, "").Want(200).Header().Get("ETag")
	const writers = 4
	codes, made := make([]int, writers), make([]int, writers)
	var wait sync.WaitGroup
	for i := range writers {
		wait.Go(func() {
			codes[i] = b.Call(t, "one", "POST", at+"/append", fmt.Sprintf(`{"text":"guarded %d"}`, i), "If-Match", tag).Code
			b.Call(t, "one", "POST", at+"/append", fmt.Sprintf(`{"text":"free %d"}`, i))
			made[i] = b.Call(t, "one", "PUT", c+"/blocks/team", fmt.Sprintf(`{"value":"%d"}`, i)).Code
		})
	}
	wait.Wait()
	slices.Sort(codes)
	slices.Sort(made)
	if !slices.Equal(codes, []int{200, 412, 412, 412}) || !slices.Equal(made, []int{200, 200, 200, 201}) {
		t.Errorf("codes are %v and %v", codes, made)
	}
	value := b.Call(t, "one", "GET", at, "").Want(200).Text("value")
	for i := range writers {
		if !strings.Contains(value, fmt.Sprintf("free %d", i)) {
			t.Errorf("an edit is lost: %q", value)
		}
	}
	b.Call(t, "one", "PUT", c+"/blocks/new", `{"value":"x"}`, "If-Match", tag).Refused(412, fault.Precondition, "")
}

// An agent has at most 1,000 blocks, attached ones included; the next one is refused, with the reason. The context with all of
// them fits into the window.
func TestThousandsOfBlocks(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "ada", "memgpt")
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
	b.Call(t, "one", "PUT", c+"/blocks/last", `{"value":"the last one"}`).Want(http.StatusCreated)
	refused := b.Call(t, "one", "PUT", c+"/blocks/another", `{"value":"x"}`)
	refused.Refused(422, fault.Invalid, "label")
	if !strings.Contains(refused.Body.String(), "1000 blocks") {
		t.Errorf("the reason is %s", refused.Body)
	}
	shared := b.Call(t, "one", "POST", "/v1/blocks", `{"label":"shared"}`).Want(http.StatusCreated).Text("id")
	b.Call(t, "one", "POST", c+"/blocks/attach", apptest.JSON(t, map[string]any{"block": shared})).Refused(422, fault.Invalid, "block")
	b.Call(t, "one", "PUT", c+"/blocks/last", `{"value":"changed"}`).Want(http.StatusOK)
	if got := b.Call(t, "one", "GET", c+"/context", "").Want(200); got.Number("used") > got.Number("window") || got.Number("parts.2.tokens") < 1000 {
		t.Errorf("the context is %s", got.Body)
	}
}
