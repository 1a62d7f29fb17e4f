package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/internal/apptest"
)

// Why a list that has pages cannot be asked for as newest, oldest and updated.
const (
	newestOnly = "has one order, the newest first: entries do not change, or only end"
	byName     = "is read by name"
	fewRows    = "is of rows that a tenant has few of, the oldest first"
	ofLinks    = "is of links, which have no such order"
	asPrompted = "is in the order of prompts"
	whenRead   = "is ranked when it is read"
	aLog       = "is the log, read forward"
)

// TestEveryPagedListHasAnOrder: a list with pages is asked for as newest, oldest or updated first, or is named here with its reason.
func TestEveryPagedListHasAnOrder(t *testing.T) {
	t.Parallel()
	without := map[string]string{
		"listAudit": newestOnly, "listDeliveries": newestOnly, "listJobs": newestOnly, "listMoves": newestOnly, "listRuns": newestOnly,
		"getNoteHistory": newestOnly, "getSharedBlockHistory": newestOnly, "listReviews": newestOnly,
		"listAgents": byName, "listFolders": byName, "listOwnTools": byName, "listTenants": byName,
		"listAPIKeys": fewRows, "listGrants": fewRows, "listWebhooks": fewRows,
		"listFacts": ofLinks, "getSession": ofLinks, "diffCollection": ofLinks,
		"listBlocks": asPrompted, "listSessions": whenRead, "listChanges": aLog,
	}
	doc := contracttest.Documents(t)[""]
	for path, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			has := func(name string) *openapi3.Parameter { return op.Parameters.GetByInAndName("query", name) }
			if has("cursor") == nil && has("after") == nil {
				continue
			}
			ordered := false
			if p := has("order"); p != nil {
				ordered = !slices.ContainsFunc([]any{"newest", "oldest", "updated"}, func(o any) bool { return !slices.Contains(p.Schema.Value.Enum, o) })
			}
			if _, named := without[op.OperationID]; named == ordered {
				t.Errorf("%s (%s): has the orders: %v; is named as one without: %v", op.OperationID, path, ordered, named)
			}
			delete(without, op.OperationID)
		}
	}
	if len(without) > 0 {
		t.Errorf("are named, and are no lists with pages: %v", without)
	}
}

// Lists of notes of one kind have the orders of the list of notes, and their cursors stay at their revision.
func TestListsOfOneKindInOrder(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Space(t, "lists", "none")
	b.Call(t, "one", "POST", "/v1/folders", `{"name":"manuals"}`).Want(http.StatusCreated)
	note := func(kind string) func(name string) string {
		return func(name string) string {
			return c + "/notes/" + b.Call(t, "one", "POST", c+"/notes", apptest.JSON(t, map[string]any{
				"content": name, "kind": kind, "infer": false, "attributes": map[string]any{"of": "user", "period": "day"},
			})).Want(http.StatusCreated).Text("note.id")
		}
	}
	file := func(at, notes string) func(name string) string {
		return func(name string) string {
			return notes + "/notes/" + b.ReadFile(t, at, name, "The text of "+name).Text("id")
		}
	}
	for _, list := range []struct {
		target, field, change string
		make                  func(name string) string // returns the path at which it is changed
	}{
		{c + "/knowledge?of=user", "content", `{"importance":%f}`, note("knowledge")},
		{c + "/summaries?period=day", "content", `{"importance":%f}`, note("summary")},
		{c + "/files?", "name", `{"importance":%f}`, file(c, c)},
		{"/v1/folders/manuals/files?", "name", `{"importance":%f}`, file("/v1/folders/manuals", "/v1/collections/manuals")},
		{"/v1/blocks?", "label", `{"value":"%f"}`, func(name string) string { return "/v1/blocks/" + standAlone(t, b, name, "x") }},
	} {
		var second string
		for i, name := range []string{"a", "b", "c", "d"} {
			if at := list.make(name); i == 1 {
				second = at
			}
		}
		changes := 0.0
		change := func(int) {
			changes += 0.01
			b.Call(t, "one", "PATCH", second, fmt.Sprintf(list.change, changes)).Want(http.StatusOK)
		}
		change(0)
		for order, want := range map[string]string{"": "a b c d", "&order=oldest": "a b c d", "&order=newest": "d c b a", "&order=updated": "b d c a"} {
			for _, limit := range []string{"&limit=1", "&limit=3", "&limit=50"} {
				if got := strings.Join(listAll(t, b, "one", list.target+order+limit, list.field, change), " "); got != want {
					t.Errorf("%s%s%s: %q, want %q", list.target, order, limit, got, want)
				}
			}
		}
		b.Call(t, "one", "GET", list.target+"&order=recent", "").Refused(422, "invalid", "order")
	}
}
