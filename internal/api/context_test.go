package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/fault"
)

func TestContext(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	add := func(body string) string {
		return b.Call(t, "one", "POST", c+"/notes", body).Want(http.StatusCreated).Text("note.id")
	}
	turn := `{"kind":"message","content":%q,"occurred_at":"2026-02-01T09:3%d:00Z","attributes":{"session":1,"speaker":%q},"infer":false}`
	question := add(fmt.Sprintf(turn, "When does the ferry leave?", 0, "Ada"))
	answer := add(fmt.Sprintf(turn, "The ferry leaves at seven.", 1, "Ben"))
	fact := add(`{"kind":"fact","content":"The ferry is green.","occurred_at":"2026-01-30T00:00:00Z","infer":false}`)
	path := c + "/context"

	const facts, episodes = "## Facts\n### Friday 2026-01-30\n[1] The ferry is green.",
		"## Episodes\n### Sunday 2026-02-01 09:30 UTC\n[2] Ada: When does the ferry leave?\n[3] Ben: The ferry leaves at seven."
	got := b.Call(t, "reader", "POST", path, `{"query":"ferry"}`).Want(http.StatusOK)
	if got.Text("text") != facts+"\n\n"+episodes || got.Text("encoding") != "o200k_base" || got.Number("tokens") < 30 || got.Header().Get("Slipbox-Revision") != "3" {
		t.Errorf("%s", got.Body)
	}
	for i, id := range []string{fact, question, answer} {
		if got.Text(fmt.Sprintf("citations.%d.note", i)) != id || got.Number(fmt.Sprintf("citations.%d.revision", i)) == 0 {
			t.Errorf("citation %d: %s", i, got.Body)
		}
	}
	if got.Length("parts") != 2 || got.Text("parts.0.kind") != "facts" || got.Text("parts.0.text") != facts || got.Length("parts.0.citations") != 1 ||
		got.Text("parts.1.kind") != "episodes" || got.Text("parts.1.text") != episodes || got.Text("parts.1.citations.1.note") != answer || got.Number("parts.1.tokens") == 0 {
		t.Errorf("%s", got.Body)
	}
	for name, tt := range map[string]struct{ body, want string }{
		"messages":  {`{"messages":[{"role":"user","content":"and the colour of the ferry?"},{"user":"is it green?","assistant":"well"}],"k":1}`, "## Facts\n### Friday 2026-01-30\n[1] The ferry is green."},
		"relevance": {`{"query":"ferry leaves seven","mode":"lexical","order":"relevance","filter":{"field":"kind","op":"eq","value":"message"},"encoding":"estimate"}`, "## Episodes\n### Sunday 2026-02-01 09:31 UTC\n[1] Ben: The ferry leaves at seven."},
		"the past":  {`{"query":"ferry","as_of":0}`, ""},
		"strict":    {`{"query":"ferry","min_score":1e9}`, ""},
		"no room":   {`{"query":"ferry","token_budget":1,"encoding":"estimate"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := b.Call(t, "one", "POST", path, tt.body).Want(http.StatusOK)
			if text := got.Text("text"); !strings.HasPrefix(text, tt.want) || tt.want == "" && (text != "" || got.Number("tokens") != 0 || got.Length("parts") != 0 || got.Length("citations") != 0) {
				t.Errorf("%s", got.Body)
			}
		})
	}
}

func TestContextIsRefused(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	path := c + "/context"
	for body, field := range map[string]string{
		`{}`: "query",
		`{"query":"a","messages":[{"role":"user","content":"b"}]}`: "messages",
		`{"query":" "}`: "query",
		`{"messages":[{"user":"a"},{"name":"Ada"}]}`:                         "messages.1.content",
		`{"query":"a","token_budget":0}`:                                     "token_budget",
		`{"query":"a","token_budget":100001}`:                                "token_budget",
		`{"query":"a","k":201}`:                                              "k",
		`{"query":"a","order":"random"}`:                                     "order",
		`{"query":"a","encoding":"p50k_base"}`:                               "encoding",
		`{"query":"a","as_of":7}`:                                            "as_of",
		`{"query":"a","vector":[1]}`:                                         "vector",
		`{"query":"a","filter":{"field":"kind","op":"near","value":"fact"}}`: "filter",
	} {
		got := b.Call(t, "one", "POST", path, body)
		if got.Code != http.StatusUnprocessableEntity || got.Text("code") != string(fault.Invalid) || !strings.HasPrefix(got.Text("errors.0.field"), field) {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
	}
	for body, reason := range map[string]string{
		`{"query":"a","reference_time":"soon"}`: "must be a time in RFC 3339, or YYYYMMDDHHmm",
		`{"query":"a","reference_time":7}`:      "value must be a string",
	} {
		got := b.Call(t, "one", "POST", path, body)
		if got.Code != http.StatusUnprocessableEntity || got.Text("errors.0.field") != "reference_time" || got.Text("errors.0.reason") != reason {
			t.Errorf("%s: %d %s", body, got.Code, got.Body)
		}
	}
	b.Call(t, "writer", "POST", path, `{"query":"a"}`).Refused(http.StatusForbidden, fault.Forbidden, "")
	b.Call(t, "two", "POST", path, `{"query":"a"}`).Refused(http.StatusNotFound, fault.NotFound, "")
	own := b.Collection(t, "ada", "own")
	b.Call(t, "bob", "POST", own+"/context", `{"query":"a"}`).Refused(http.StatusNotFound, fault.NotFound, "")
}

// C013, C014: a context counts one use of each note that it cites.
func TestContextCounts(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	id := b.Note(t, "one", c, "The ferry leaves at seven.")
	b.Call(t, "reader", "POST", c+"/context", `{"query":"ferry"}`).Want(http.StatusOK)
	b.Call(t, "reader", "POST", c+"/context", `{"query":"ferry","token_budget":1}`).Want(http.StatusOK)
	got := b.Call(t, "one", "GET", c+"/notes/"+id, "").Want(http.StatusOK)
	if got.Number("usage.access_count") != 1 || got.Text("usage.last_access") != "2026-03-01T09:00:00Z" {
		t.Errorf("%s", got.Body)
	}
}

// A context in a fork shows what the fork sees.
func TestContextInAFork(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	id := b.Note(t, "one", c, "A heron stands in the reeds.")
	fork := "/v1/collections/" + b.Call(t, "one", "POST", c+"/clone", `{"agent":"ada"}`).Want(http.StatusCreated).Text("id")
	b.Call(t, "ada", "PATCH", fork+"/notes/"+id, `{"content":"An otter swims in the reeds."}`).Want(http.StatusOK)
	for path, want := range map[string]string{c: "heron", fork: "otter"} {
		got := b.Call(t, "one", "POST", path+"/context", `{"query":"reeds"}`).Want(http.StatusOK)
		if !strings.Contains(got.Text("text"), want) || got.Length("citations") != 1 || got.Text("citations.0.note") != id {
			t.Errorf("%s", got.Body)
		}
	}
}

// A context of a policy that derives facts also finds what was said and not derived; its searches find facts alone.
func TestContextFindsMessages(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	for _, policy := range []string{"mem0", "mem0g"} {
		c := b.Space(t, "talk-"+policy, policy)
		said := []string{`{"content":"The lighthouse keeper polishes brass.","name":"Ann"}`}
		for i := range 20 { // the newest messages are in every context
			said = append(said, fmt.Sprintf(`{"content":"Number %d is about something else."}`, i))
		}
		b.Call(t, "one", "POST", c+"/messages", `{"infer":false,"messages":[`+strings.Join(said, ",")+`]}`).Want(http.StatusAccepted)
		const query = `{"query":"what does the lighthouse keeper polish?"`
		if got := b.Call(t, "one", "POST", c+"/search", query+"}").Want(http.StatusOK); got.Length("hits") != 0 {
			t.Errorf("%s: a search shows messages: %s", policy, got.Body)
		}
		if got := b.Call(t, "one", "POST", c+"/context", query+"}").Want(http.StatusOK).Text("text"); !strings.Contains(got, "Ann: The lighthouse keeper polishes brass.") {
			t.Errorf("%s: %s", policy, got)
		}
		onlyFacts := b.Call(t, "one", "POST", c+"/context", query+`,"filter":{"field":"kind","op":"eq","value":"fact"}}`).Want(http.StatusOK)
		if strings.Contains(onlyFacts.Text("text"), "lighthouse") {
			t.Errorf("%s: the filter does not hold: %s", policy, onlyFacts.Body)
		}
	}
}

// Contexts and chats say how well what was found fits the question, and show nothing of it below min_answerable. A
// question about one person that only another one answers fits less.
func TestMinAnswerable(t *testing.T) {
	t.Parallel()
	b := apptest.New(t)
	c := b.Collection(t, "one", "space")
	for _, note := range [][2]string{{"Ann", "I play the cello every evening."}, {"Ann", "My cello has a new bow."}, {"Bob", "Football is on Sunday."}, {"Bob", "The match was lost again."}} {
		b.Call(t, "one", "POST", c+"/notes", fmt.Sprintf(`{"kind":"message","content":%q,"attributes":{"speaker":%q},"infer":false}`, note[1], note[0])).Want(http.StatusCreated)
	}
	ask := func(path, body string) apptest.Response {
		t.Helper()
		return b.Call(t, "one", "POST", c+path, body).Want(http.StatusOK)
	}
	ann := ask("/context", `{"query":"Does Ann play the cello?"}`)
	bob := ask("/context", `{"query":"Does Bob play the cello?"}`)
	if ann.Number("answerable") < bob.Number("answerable")+0.2 || ann.Text("text") == "" || ann.At("withheld") != nil || ask("/search", `{"query":"Does Ann play the cello?","k":50}`).Number("answerable") != ann.Number("answerable") {
		t.Errorf("%s, %s", ann.Body, bob.Body)
	}
	least := (ann.Number("answerable") + bob.Number("answerable")) / 2
	for who, want := range map[string]bool{"Ann": true, "Bob": false} {
		got := ask("/context", fmt.Sprintf(`{"query":"Does %s play the cello?","min_answerable":%g,"fields":["content"]}`, who, least))
		if shown := got.Text("text") != ""; shown != want || (got.At("withheld") == nil) != want || (got.Length("citations") > 0) != want || (got.Number("tokens") > 0) != want || got.At("answerable") == nil {
			t.Errorf("%s: %s", who, got.Body)
		}
		reply := ask("/chat", fmt.Sprintf(`{"message":"Does %s play the cello?","min_answerable":%g,"remember":false}`, who, least))
		if known := strings.Contains(reply.Text("reply"), "cello"); known != want || (reply.At("withheld") == nil) != want || reply.At("answerable") == nil ||
			!want && !strings.Contains(reply.Text("reply"), "nothing about that is known") {
			t.Errorf("%s: %s", who, reply.Body)
		}
	}
	// By itself, an offline reply does not pass the nearest notes off as an answer.
	if got := ask("/chat", `{"message":"What is the capital of Mongolia?","remember":false}`); !strings.Contains(got.Text("reply"), "nothing in memory says this for sure") || got.Length("citations") != 3 || got.At("offline") != true {
		t.Errorf("%s", got.Body)
	}
	empty := b.Collection(t, "one", "empty")
	if got := b.Call(t, "one", "POST", empty+"/context", `{"query":"cello","min_answerable":0.1}`).Want(http.StatusOK); got.Text("withheld") != "nothing was found" || got.At("answerable") != nil {
		t.Errorf("%s", got.Body)
	}
	b.Call(t, "one", "POST", c+"/context", `{"query":"cello","min_answerable":1.5}`).Refused(http.StatusUnprocessableEntity, fault.Invalid, "min_answerable")
}
