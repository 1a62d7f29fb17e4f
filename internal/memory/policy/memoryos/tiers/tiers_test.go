package tiers_test

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/test/must"
)

// tiersSpace creates a collection with the policy memoryos and returns its path.
func tiersSpace(t *testing.T, b *apptest.System, config string) string {
	t.Helper()
	return "/v1/collections/" + b.Call(t, "one", "POST", "/v1/collections", `{"name":"tiers","policy":"memoryos","policy_config":`+config+`}`).Want(http.StatusCreated).Text("id")
}

// tell adds an exchange and runs its jobs.
func tell(t *testing.T, b *apptest.System, c, user, assistant string) apptest.Response {
	t.Helper()
	said := b.Call(t, "one", "POST", c+"/messages", apptest.Object(t, "messages", []any{map[string]any{"user": user, "assistant": assistant}})).Want(http.StatusAccepted)
	b.RunJobs(t)
	return said
}

// C212, C213, C225, C232, C233, C237, C239, C245: what the tiers hold is readable: sessions by heat or by visit with their
// pages, knowledge of both sides, the profile with its dimensions, counts, and why something moved.
func TestC212Tiers(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := tiersSpace(t, b, `{"short_capacity":1,"heat_threshold":2}`)
	if got := b.Call(t, "reader", "GET", c+"/tiers", "").Want(http.StatusOK); got.Number("short.capacity") != 1 || got.Number("short.pairs") != 0 || got.At("long.profile") != false || got.Number("long.capacity") != 100 || got.Number("mid.capacity") != 2000 {
		t.Errorf("%s", got.Body)
	}
	for _, list := range []string{"/sessions", "/knowledge", "/moves"} {
		if got := b.Call(t, "reader", "GET", c+list, "").Want(http.StatusOK); got.Length("items") != 0 || got.At("next_cursor") != nil {
			t.Errorf("%s: %s", list, got.Body)
		}
	}
	first := tell(t, b, c, "I love cooking and I work as a nurse in Porto.", "I recommend the fish market in Porto to you.")
	tell(t, b, c, "My sister Ines plays the cello in an orchestra.", "Which orchestra is it?")
	tell(t, b, c, "Good night.", "Sleep well.")

	state := b.Call(t, "reader", "GET", c+"/tiers", "").Want(http.StatusOK)
	if state.Number("short.pairs") != 1 || state.Number("mid.pages") != 2 || state.Number("long.user") == 0 || state.At("long.profile") != true {
		t.Errorf("%s", state.Body)
	}
	list := b.Call(t, "reader", "GET", c+"/sessions", "").Want(http.StatusOK)
	if n := list.Length("items"); float64(n) != state.Number("mid.sessions") || n == 0 {
		t.Fatalf("%s", list.Body)
	}
	for i := range list.Length("items") {
		at := fmt.Sprintf("items.%d.", i)
		if list.Text(at+"summary") == "" || list.Length(at+"keywords") == 0 || list.Number(at+"recency") > 1 || list.Number(at+"pages") == 0 || list.Number(at+"fresh") != 0 || list.Number(at+"interaction") != 0 || list.Number(at+"visits") != 0 {
			t.Errorf("%s", list.Body)
		}
	}
	// A search that shows a page heats its session.
	b.Call(t, "reader", "POST", c+"/search", `{"query":"Who plays the cello?"}`).Want(http.StatusOK)
	must.Do(t, b.Recall.Flush(t.Context()))
	hot := b.Call(t, "reader", "GET", c+"/sessions?order=heat&limit=1", "").Want(http.StatusOK)
	id := hot.Text("items.0.id")
	if hot.Number("items.0.visits") != 1 || hot.Number("items.0.heat") < 1.5 {
		t.Errorf("%s", hot.Body)
	}
	if next := hot.At("next_cursor"); (next != nil) != (list.Length("items") > 1) {
		t.Errorf("%s", hot.Body)
	} else if next != nil {
		rest := b.Call(t, "reader", "GET", c+"/sessions?order=heat&limit=1&cursor="+hot.Text("next_cursor"), "").Want(http.StatusOK)
		if rest.Length("items") != 1 || rest.Text("items.0.id") == id {
			t.Errorf("%s", rest.Body)
		}
	}
	b.Call(t, "reader", "GET", c+"/sessions?order=recent", "").Want(http.StatusOK)

	var pages []string
	for _, id := range list.Texts("items.*.id") {
		session := b.Call(t, "reader", "GET", c+"/sessions/"+id, "").Want(http.StatusOK)
		for k := range session.Length("pages") {
			at := fmt.Sprintf("pages.%d.", k)
			pages = append(pages, session.Text(at+"id"))
			if session.Text(at+"user") == "" || session.Text(at+"assistant") == "" || session.Text(at+"meta") == "" || session.At(at+"analyzed") != true || session.Length(at+"messages") != 2 || session.Text(at+"reason") == "" {
				t.Errorf("%s", session.Body)
			}
		}
	}
	if len(pages) != 2 || !slices.Contains(pages, first.Text("messages.0.id")) {
		t.Errorf("the pages are %v", pages)
	}
	user := b.Call(t, "reader", "GET", c+"/knowledge?of=user", "").Want(http.StatusOK)
	all := b.Call(t, "reader", "GET", c+"/knowledge", "").Want(http.StatusOK)
	of := b.Call(t, "reader", "GET", c+"/knowledge?of=assistant", "").Want(http.StatusOK)
	if float64(user.Length("items")) != state.Number("long.user") || float64(of.Length("items")) != state.Number("long.assistant") || all.Length("items") != user.Length("items")+of.Length("items") || user.Text("items.0.kind") != "knowledge" {
		t.Errorf("%s\n%s", user.Body, of.Body)
	}
	if !strings.Contains(user.Body.String(), "nurse") || strings.Contains(user.Body.String(), "fish market") {
		t.Errorf("%s", user.Body)
	}
	profile := b.Call(t, "reader", "GET", c+"/profile", "").Want(http.StatusOK)
	// A level is a judgment: there are no dimensions.
	if !strings.Contains(profile.Text("text"), "I love cooking") || profile.At("dimensions") != nil || profile.Text("updated_at") == "" {
		t.Errorf("%s", profile.Body)
	}
	summaries := b.Call(t, "reader", "GET", c+"/summaries?period=session", "").Want(http.StatusOK)
	if summaries.Length("items") != list.Length("items") || summaries.Text("items.0.session") == "" || summaries.Text("items.0.content") == "" {
		t.Errorf("%s", summaries.Body)
	}
	moves := b.Call(t, "reader", "GET", c+"/moves", "").Want(http.StatusOK)
	var kinds []string
	for i := range moves.Length("items") {
		at := fmt.Sprintf("items.%d.", i)
		kinds = append(kinds, moves.Text(at+"from")+" to "+moves.Text(at+"to"))
		if moves.Text(at+"reason") == "" || moves.Text(at+"at") == "" || moves.Text(at+"note") == "" || moves.Text(at+"job") == "" || moves.Number(at+"heat") <= 0 {
			t.Errorf("%s", moves.Body)
		}
	}
	if want := []string{"mid to long", "short to mid", "mid to long", "short to mid"}; !slices.Equal(kinds, want) {
		t.Errorf("the moves are %v", kinds)
	}
	part := b.Call(t, "reader", "GET", c+"/moves?limit=1", "").Want(http.StatusOK)
	rest := b.Call(t, "reader", "GET", c+"/moves?limit=100&cursor="+part.Text("next_cursor"), "").Want(http.StatusOK)
	if part.Length("items")+rest.Length("items") != len(kinds) {
		t.Errorf("%s\n%s", part.Body, rest.Body)
	}
	old := b.Call(t, "reader", "GET", c+"/sessions?as_of=1", "").Want(http.StatusOK)
	if old.Length("items") != 0 {
		t.Errorf("%s", old.Body)
	}
	text := b.Call(t, "reader", "POST", c+"/context", `{"query":"What do I work as?"}`).Want(http.StatusOK).Text("text")
	for _, want := range []string{"nurse", "Good night."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the context: %s", want, text)
		}
	}
}

// What has no tiers says so; sessions of others are absent; bad parameters are named.
func TestTiersRefuse(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := tiersSpace(t, b, `{"short_capacity":1}`)
	tell(t, b, c, "I keep bees.", "Lovely.")
	tell(t, b, c, "I sell honey.", "Lovely.")
	id := b.Call(t, "reader", "GET", c+"/sessions", "").Want(http.StatusOK).Text("items.0.id")
	plain := b.Space(t, "plain", "memorybank")
	for _, route := range []string{"/sessions", "/sessions/" + id, "/tiers", "/moves"} {
		b.Call(t, "reader", "GET", plain+route, "").Refused(http.StatusUnprocessableEntity, fault.Invalid, "collection")
		b.Call(t, "two", "GET", c+route, "").Refused(http.StatusNotFound, fault.NotFound, "")
		b.Call(t, "writer", "GET", c+route, "").Refused(http.StatusForbidden, fault.Forbidden, "")
	}
	if got := b.Call(t, "reader", "GET", plain+"/knowledge", "").Want(http.StatusOK); got.Length("items") != 0 {
		t.Errorf("%s", got.Body)
	}
	message := b.Call(t, "reader", "GET", c+"/messages", "").Want(http.StatusOK).Text("items.0.id")
	for _, session := range []string{message, "0190a000-0000-7000-8000-000000000000", "none", "%00"} {
		b.Call(t, "reader", "GET", c+"/sessions/"+session, "").Refused(http.StatusNotFound, fault.NotFound, "")
	}
	for parameters, field := range map[string]string{
		"/sessions?order=coldest": "order", "/sessions?limit=0": "limit", "/knowledge?of=me": "of", "/moves?limit=500": "limit", "/tiers?as_of=99": "as_of",
	} {
		b.Call(t, "reader", "GET", c+parameters, "").Refused(http.StatusUnprocessableEntity, fault.Invalid, field)
	}
	b.Call(t, "reader", "POST", c+"/search?include=all", `{"query":"bees"}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "include")
	// One person a collection, unless it says otherwise.
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"role":"user","name":"Ann","content":"I row."}]}`).Want(http.StatusAccepted)
	b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"role":"user","name":"Ben","content":"I sail."}]}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "messages.0.name")
}

// C333: what left the middle tier is in the log; searches and contexts find it only with include=evicted. Times that lie
// far apart, are equal or go backwards, pairs of one side and pairs of 60 KiB move like others.
func TestC333IncludeEvicted(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := tiersSpace(t, b, `{"short_capacity":1,"mid_capacity":1,"merge_threshold":11,"keyword_weight":0}`)
	long := strings.Repeat("The quokka eats leaves. ", 60<<10/24)
	for i, m := range []string{
		apptest.Object(t, "user", "My okapi is called Bo.", "occurred_at", "2026-01-05T10:00:00Z"),
		apptest.Object(t, "assistant", "An axolotl lives in water.", "occurred_at", "1901-01-01T00:00:00Z"),
		apptest.Object(t, "user", long, "assistant", "Sure.", "occurred_at", "2026-01-05T10:00:00Z"),
		apptest.Object(t, "user", "A quiet day.", "assistant", "Yes.", "occurred_at", "2026-01-05T10:00:00Z"),
		apptest.Object(t, "user", "Good night.", "assistant", "Sleep well."),
	} {
		if got := b.Call(t, "one", "POST", c+"/messages", `{"messages":[`+m+`]}`); got.Code != http.StatusAccepted {
			t.Fatalf("%d: %s", i, got.Body)
		}
		b.RunJobs(t)
	}
	state := b.Call(t, "reader", "GET", c+"/tiers", "").Want(http.StatusOK)
	if state.Number("mid.sessions") != 1 || state.Number("mid.pages") != 1 || state.Number("short.pairs") != 1 {
		t.Errorf("%s", state.Body)
	}
	if got := b.Call(t, "reader", "GET", c+"/messages?limit=100", "").Want(http.StatusOK); got.Length("items") != 8 {
		t.Errorf("%d messages", got.Length("items"))
	}
	messages := map[string]any{"field": "kind", "op": "eq", "value": "message"}
	for word, said := range map[string]string{"okapi": "My okapi is called Bo.", "axolotl": "An axolotl lives in water.", "quokka": long} {
		for path, want := range map[string]bool{"/search": false, "/context": false, "/search?include=evicted": true, "/context?include=evicted": true} {
			got := b.Call(t, "reader", "POST", c+path, apptest.Object(t, "query", word, "filter", messages)).Want(http.StatusOK)
			if strings.Contains(strings.ReplaceAll(got.Body.String(), `"query":"`+word+`"`, ""), word) != want {
				t.Errorf("%s: %s found is %t", path, word, !want)
			}
		}
		// Without a condition on the kind, what is known of it is found, too.
		for path, want := range map[string]bool{"/search": false, "/search?include=evicted": true} {
			got := b.Call(t, "reader", "POST", c+path, apptest.Object(t, "query", word)).Want(http.StatusOK)
			if slices.Contains(got.Texts("hits.*.note.content"), said) != want {
				t.Errorf("%s of all kinds: %s found is %t", path, word, !want)
			}
		}
		if got := b.Call(t, "reader", "POST", c+"/context?include=evicted", apptest.Object(t, "query", word)).Want(http.StatusOK); !strings.Contains(got.Text("text"), word) {
			t.Errorf("the context has no %s: %s", word, got.Body)
		}
	}
	evicted := map[string]int{}
	moves := b.Call(t, "reader", "GET", c+"/moves?limit=200", "").Want(http.StatusOK)
	for i := range moves.Length("items") {
		if at := fmt.Sprintf("items.%d.", i); moves.Text(at+"to") == "evicted" {
			evicted[moves.Text(at+"note")]++
		}
	}
	if len(evicted) != 3 { // what was said in 1901 answers nothing of today
		t.Errorf("evicted were %v", evicted)
	}
	for session, times := range evicted {
		if times != 1 {
			t.Errorf("the session %s left %d times", session, times)
		}
	}
}

// C243: what is searched does not need what moves and learns, and the other way around: messages are found before a job ran, and jobs
// move them without a search.
func TestTiersReadAndUpdateAlone_C243(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := tiersSpace(t, b, `{"short_capacity":1,"heat_threshold":2}`)
	for _, said := range []string{"I adopted a dog called Rex.", "We hiked in the Dolomites."} {
		b.Call(t, "one", "POST", c+"/messages", apptest.Object(t, "messages", []any{map[string]any{"user": said, "assistant": "I see."}})).Want(http.StatusAccepted)
	}
	if got := b.Call(t, "reader", "POST", c+"/search", `{"query":"a dog called Rex"}`).Want(http.StatusOK); got.Text("hits.0.note.content") != "I adopted a dog called Rex." {
		t.Errorf("%s", got.Body)
	}
	if got := b.Call(t, "reader", "GET", c+"/tiers", "").Want(http.StatusOK); got.Number("short.pairs") != 2 || got.Number("mid.pages") != 0 {
		t.Errorf("%s", got.Body)
	}
	b.RunJobs(t)
	if got := b.Call(t, "reader", "GET", c+"/tiers", "").Want(http.StatusOK); got.Number("short.pairs") != 1 || got.Number("mid.pages") != 1 || got.Number("long.user") == 0 {
		t.Errorf("%s", got.Body)
	}
}

// What is erased is in no page, either: the words of an exchange are not kept on the links to its other messages.
func TestTiersErasedWords(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := tiersSpace(t, b, `{"short_capacity":1,"heat_threshold":1}`)
	told := b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"role":"user","content":"Who do I see on Mondays?"},`+
		`{"role":"assistant","content":"On Mondays you see your therapist, Doctor Quenlin."},{"role":"user","content":"Yes, Doctor Quenlin is my therapist."}]}`).Want(http.StatusAccepted)
	b.RunJobs(t)
	tell(t, b, c, "I like hiking in the Dolomites.", "")
	sessions := func() string {
		var all strings.Builder
		for _, id := range b.Call(t, "one", "GET", c+"/sessions", "").Want(http.StatusOK).Texts("items.*.id") {
			all.Write(b.Call(t, "one", "GET", c+"/sessions/"+id, "").Want(http.StatusOK).Body.Bytes())
		}
		return all.String()
	}
	if got := sessions(); !strings.Contains(got, `"Doctor Quenlin"`) {
		t.Errorf("the page has no keywords: %s", got)
	}
	for _, id := range []string{told.Text("messages.1.id"), told.Text("messages.2.id")} {
		b.Call(t, "one", "DELETE", c+"/notes/"+id+"?erase=true", "").Want(http.StatusOK)
		b.RunJobs(t)
	}
	for _, door := range []string{"/graph", "/export"} {
		if got := b.Call(t, "one", "GET", c+door, "").Want(http.StatusOK).Body.String(); strings.Contains(got, "Quenlin") {
			t.Errorf("%s: %s", door, got)
		}
	}
	if got := sessions(); strings.Contains(got, "Quenlin") {
		t.Errorf("%s", got)
	}
}

// A pair that says nothing and a time that cannot be read are refused by name, and nothing of their request is stored. A pair of one side
// becomes a page of one message, whose other side is absent.
func TestTiersOddPairs(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := tiersSpace(t, b, `{"short_capacity":1}`)
	for said, field := range map[string]string{
		`{"user":"","assistant":""}`:                          "messages.1.user",
		`{"user":" \n","assistant":"\t"}`:                     "messages.1.user",
		`{"user":""}`:                                         "messages.1.user",
		`{"assistant":""}`:                                    "messages.1.user",
		`{"user":"I row.","occurred_at":"yesterday"}`:         "messages.1.occurred_at",
		`{"user":"I row.","occurred_at":""}`:                  "messages.1.occurred_at",
		`{"user":"I row.","occurred_at":"2026-02-30"}`:        "messages.1.occurred_at",
		`{"assistant":"You row.","occurred_at":"1e99"}`:       "messages.1.occurred_at",
		`{"role":"user","content":"a","occurred_at":"24:61"}`: "messages.1.occurred_at",
	} {
		b.Call(t, "one", "POST", c+"/messages", `{"messages":[{"user":"I keep bees.","assistant":"Lovely."},`+said+`]}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, field)
	}
	if n := b.RunJobs(t); n != 0 {
		t.Errorf("%d jobs", n)
	}
	if got := b.Call(t, "reader", "GET", c+"/messages", "").Want(http.StatusOK); got.Length("items") != 0 {
		t.Errorf("%s", got.Body)
	}
	told := tell(t, b, c, "", "Your kettle boils.") // the other way around, it would be the answer
	asked := tell(t, b, c, "Does anyone hear me?", "")
	if asked.Length("messages") != 1 || told.Length("messages") != 1 {
		t.Fatalf("%s\n%s", asked.Body, told.Body)
	}
	tell(t, b, c, "Good night.", "Sleep well.")
	if got := b.Call(t, "reader", "GET", c+"/tiers", "").Want(http.StatusOK); got.Number("short.pairs") != 1 || got.Number("mid.pages") != 2 {
		t.Errorf("%s", got.Body)
	}
	pages := map[string]any{}
	list := b.Call(t, "reader", "GET", c+"/sessions", "").Want(http.StatusOK)
	for _, id := range list.Texts("items.*.id") {
		session := b.Call(t, "reader", "GET", c+"/sessions/"+id, "").Want(http.StatusOK)
		for k := range session.Length("pages") {
			at := fmt.Sprintf("pages.%d.", k)
			pages[session.Text(at+"id")] = []any{session.At(at + "user"), session.At(at + "assistant"), session.Length(at + "messages")}
		}
	}
	want := map[string]any{asked.Text("messages.0.id"): []any{"Does anyone hear me?", nil, 1}, told.Text("messages.0.id"): []any{nil, "Your kettle boils.", 1}}
	if !reflect.DeepEqual(pages, want) {
		t.Errorf("the pages are %v, want %v", pages, want)
	}
}

// C242: what is imported may be of elsewhere or damaged. Lines that no note can be made of are refused by name; damaged records are stored,
// reported and left as they are; links and references lead to nothing outside of the collection; the rest works on.
func TestTiersImportForeignAndDamaged(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := tiersSpace(t, b, `{"short_capacity":1,"heat_threshold":2}`)
	elsewhere := "/v1/collections/" + b.Call(t, "one", "POST", "/v1/collections", `{"name":"elsewhere","policy":"memoryos"}`).Want(http.StatusCreated).Text("id")
	hidden := "/v1/collections/" + b.Call(t, "two", "POST", "/v1/collections", `{"name":"hidden","policy":"memoryos"}`).Want(http.StatusCreated).Text("id")
	other := b.Call(t, "one", "POST", elsewhere+"/messages", `{"messages":[{"user":"The okapi is called Bo."}]}`).Want(http.StatusAccepted).Text("messages.0.id")
	foreign := b.Call(t, "two", "POST", hidden+"/messages", `{"messages":[{"user":"The axolotl is called Mo."}]}`).Want(http.StatusAccepted).Text("messages.0.id")
	b.RunJobs(t)
	id := func(n int) string { return fmt.Sprintf("0199aaaa-bbbb-7ccc-8ddd-%012d", n) }
	link := func(target string, attributes any) map[string]any {
		return map[string]any{"target": target, "relation": "page", "attributes": attributes}
	}
	page := map[string]any{"meta": "Bees.", "analyzed": true, "preloaded": false, "keywords": []string{"bees"}, "chain": []string{other, foreign}, "reason": "imported"}
	counts := map[string]any{"theme": "bees", "interaction": 0, "fresh": 0, "pages": 1, "seen": 0, "last_visit": "2026-02-01T10:00:00Z"}
	lines := []struct {
		line     string
		status   float64
		field    string
		warnings int
	}{
		{apptest.Object(t, "id", id(1), "kind", "message", "content", "I keep bees.", "category", "page", "occurred_at", "2026-02-01T10:00:00Z"), 201, "", 0},
		{apptest.Object(t, "id", id(2), "kind", "message", "content", "Lovely.", "category", "page", "occurred_at", "2026-02-01T10:00:00Z"), 201, "", 0},
		{apptest.Object(t, "id", id(3), "kind", "session", "content", "They speak about bees.", "attributes", counts, "links", []any{
			link(id(1), page), link(id(2), map[string]any{"of": id(1)}), link(other, page), link(foreign, page),
		}), 201, "", 2},
		{apptest.Object(t, "id", id(4), "kind", "session", "content", "Damaged counts.", "attributes", map[string]any{"pages": "many"}), 201, "", 0},
		{apptest.Object(t, "id", id(5), "kind", "session", "content", "Counts out of range.", "attributes", map[string]any{"pages": 1, "fresh": 7}), 201, "", 0},
		{apptest.Object(t, "id", id(6), "kind", "session", "content", "Damaged pages.", "attributes", counts, "links", []any{
			link(id(1), map[string]any{"meta": 7}), link(id(2), map[string]any{"of": "nobody"}),
		}), 201, "", 0},
		{apptest.Object(t, "id", id(7), "kind", "session", "content", "A page of elsewhere.", "attributes", counts, "links", []any{link(id(2), map[string]any{"of": foreign})}), 201, "", 0},
		{apptest.Object(t, "id", id(8), "kind", "profile", "key", "overall", "content", "Damaged.", "attributes", map[string]any{"dimensions": "many"}), 201, "", 0},
		{apptest.Object(t, "id", id(9), "kind", "knowledge", "content", "The user owns a kettle.", "attributes", map[string]any{"of": "nobody", "from_session": foreign}), 201, "", 0},
		{`{"id":"` + id(11) + `","kind":"session"`, 400, "", 0},
		{apptest.Object(t, "id", id(12), "kind", "tier", "content", "a"), 422, "kind", 0},
		{apptest.Object(t, "kind", "session", "content", "a"), 422, "id", 0},
		{apptest.Object(t, "id", id(14), "kind", "message", "content", "a", "occurred_at", "yesterday"), 422, "occurred_at", 0},
		{apptest.Object(t, "id", id(15), "kind", "session", "content", "a", "attributes", "many"), 422, "attributes", 0},
		{apptest.Object(t, "id", id(16), "kind", "session", "content", "a", "usage", map[string]any{"access_count": -1}), 422, "usage.access_count", 0},
		{apptest.Object(t, "id", id(17), "kind", "session", "content", "a", "links", []any{map[string]any{"target": "nobody"}}), 422, "links.0.target", 0},
		{apptest.Object(t, "id", id(18), "kind", "session", "content", "a", "heat", 99), 422, "heat", 0},
	}
	var body []string
	for _, l := range lines {
		body = append(body, l.line)
	}
	job := b.Call(t, "one", "POST", c+"/import", strings.Join(body, "\n")).Want(http.StatusAccepted).Text("job.id")
	results := b.Call(t, "one", "GET", "/v1/jobs/"+job+"/results", "").Want(http.StatusOK).Lines()
	for i, l := range lines {
		warnings, _ := results[i]["warnings"].([]any)
		field, _ := apptest.Dig(results[i], "error.errors.0.field").(string)
		if results[i]["status"] != l.status || field != l.field || len(warnings) != l.warnings {
			t.Errorf("line %d: %v", i+1, results[i])
		}
	}
	b.RunJobs(t)
	tell(t, b, c, "The bees swarm in May.", "All of them?")
	tell(t, b, c, "I work as a nurse in Porto.", "Nice.")
	tell(t, b, c, "Good night.", "Sleep well.")

	damaged := map[string]bool{}
	list := b.Call(t, "reader", "GET", c+"/sessions", "").Want(http.StatusOK)
	for i := range list.Length("items") {
		at := fmt.Sprintf("items.%d.", i)
		session := b.Call(t, "reader", "GET", c+"/sessions/"+list.Text(at+"id"), "").Want(http.StatusOK)
		if session.At("damaged") != nil {
			damaged[list.Text(at+"id")] = true
		}
		if raw := session.Body.String(); strings.Contains(raw, "okapi") || strings.Contains(raw, "axolotl") || strings.Contains(raw, foreign) {
			t.Errorf("a session leads elsewhere: %s", raw)
		}
	}
	if want := map[string]bool{id(4): true, id(5): true, id(6): true}; !maps.Equal(damaged, want) {
		t.Errorf("damaged are %v: %s", damaged, list.Body)
	}
	for n, want := range map[int]string{4: "Damaged counts.", 5: "Counts out of range.", 8: "Damaged."} {
		if got := b.Call(t, "reader", "GET", c+"/notes/"+id(n), "").Want(http.StatusOK); got.Text("content") != want {
			t.Errorf("%s was overwritten: %s", want, got.Body)
		}
	}
	if got := b.Call(t, "reader", "GET", c+"/tiers", "").Want(http.StatusOK); got.Number("short.pairs") != 1 || got.Number("long.user") < 2 {
		t.Errorf("%s", got.Body)
	}
	if got := b.Call(t, "reader", "POST", c+"/search", `{"query":"I keep bees."}`).Want(http.StatusOK); got.Text("hits.0.note.content") != "I keep bees." {
		t.Errorf("%s", got.Body)
	}
	for _, path := range []string{"/search?include=evicted", "/context?include=evicted"} {
		if got := b.Call(t, "reader", "POST", c+path, `{"query":"What are they called?"}`).Want(http.StatusOK).Body.String(); strings.Contains(got, "okapi") || strings.Contains(got, "axolotl") {
			t.Errorf("%s finds what is elsewhere: %s", path, got)
		}
	}
	if got := b.Call(t, "one", "GET", elsewhere+"/notes/"+other, "").Want(http.StatusOK); got.Text("content") != "The okapi is called Bo." {
		t.Errorf("%s", got.Body)
	}
}
