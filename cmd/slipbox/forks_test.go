package main

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// noteID returns the id of the note that a search finds first.
func (p *person) noteID(t *testing.T, collection, query string) string {
	t.Helper()
	hits := object(t, p.pipe(t, "", "search", "-c", collection, query))["hits"].([]any)
	return hits[0].(map[string]any)["note"].(map[string]any)["id"].(string)
}

// prints runs a command that has to work as for people, and checks what it prints on either output.
func (p *person) prints(t *testing.T, want []string, args ...string) {
	t.Helper()
	out, said, code := p.run(t, "", append(args, "--text")...)
	if code != 0 {
		t.Errorf("%v: exit %d\n%s", args, code, said)
	}
	for _, w := range want {
		if !strings.Contains(out+said, w) {
			t.Errorf("%v lacks %q:\n%s%s", args, w, out, said)
		}
	}
}

// A fork is compared with its base and merged into it: by one side's value where both changed a field, in part, after a review, and
// once. What was merged is taken back, and the feed has all of it.
func TestDiffMergeRollback(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	p.pipe(t, "", "add", "--wait", "Shelves:\nfirst bowls\nthen vases")
	p.pipe(t, "", "watch")
	shelves, kiln := p.noteID(t, "diary", "shelves"), p.noteID(t, "diary", "kiln")
	p.prints(t, []string{"before the trip", "revision "}, "snapshot", "create", "before the trip")
	p.prints(t, []string{"before the trip"}, "snapshot", "list")
	p.pipe(t, "", "fork", "what-if")
	p.prints(t, []string{"nothing differs"}, "diff", "-c", "what-if")
	p.patch(t, "/v1/collections/what-if/notes/"+shelves, `{"content": "Shelves:\nfirst plates\nthen vases", "tags": ["order"]}`)
	p.pipe(t, "", "add", "-c", "what-if", "--wait", "The glaze is out.")
	glaze := p.noteID(t, "what-if", "glaze")
	p.pipe(t, "", "watch")

	p.prints(t, []string{"~ note " + shelves, "- first bowls", "+ first plates", "+ tags: order", "+ note " + glaze, "  + The glaze is out."}, "diff", "-c", "what-if")
	p.pipe(t, "", "fork", "links")
	p.call(t, http.MethodPut, "/v1/collections/links/notes/"+shelves+"/links", strings.NewReader(`{"links": [{"target": "`+kiln+`"}]}`))
	p.patch(t, "/v1/collections/links/notes/"+shelves, `{"tags": ["order"]}`)
	p.prints(t, []string{
		"~ note " + shelves + "\n  Shelves:\n  first bowls\n  then vases\n  + tags: order", "+ link " + shelves + " related " + kiln + "\n  Shelves:\n  first bowls\n  then vases\n  ",
	}, "diff", "-c", "links")
	p.prints(t, []string{"there are more: --limit 4"}, "diff", "diary", "-c", "what-if", "-n", "1")
	page := object(t, p.pipe(t, "", "diff", "-c", "what-if", "--kind", "note"))
	if items := page["items"].([]any); len(items) != 2 || len(page["links"].([]any)) != 0 {
		t.Errorf("the diff in a pipe: %v", page)
	}

	// Both sides changed one line.
	p.patch(t, "/v1/collections/diary/notes/"+shelves, `{"content": "Shelves:\nfirst cups\nthen vases"}`)
	out, problems, code := p.run(t, "", "merge", "what-if", "--text")
	if code != 1 || out != "" || !strings.Contains(problems, "conflict "+shelves+"  content") || !strings.Contains(problems, "ours:   Shelves:\n          first cups") ||
		!strings.Contains(problems, "--strategy") {
		t.Errorf("a conflict: exit %d\n%s%s", code, out, problems)
	}
	p.prints(t, []string{"conflict " + shelves, "would merge 2 notes"}, "merge", "what-if", "--dry-run", "--strategy", "theirs")
	p.prints(t, []string{"merged 1 note"}, "merge", "what-if", "--note", glaze)
	merged := object(t, p.pipe(t, "", "merge", "what-if", "--strategy", "theirs"))
	if merged["merged"].(map[string]any)["notes"] != 1.0 {
		t.Errorf("the rest: %v", merged)
	}
	p.prints(t, []string{"there is nothing to merge"}, "merge", "what-if", "--strategy", "theirs")
	p.prints(t, []string{"Shelves:\nfirst plates\nthen vases\n", "content\n  revision ", "merge · by key:"}, "blame", shelves)
	p.prints(t, []string{"merge\n", "  ~ note " + shelves + "\n    Shelves:\n    first plates\n"}, "changes")

	// What needs approval, and what does not.
	p.pipe(t, "", "add", "-c", "what-if", "Plates sell best.")
	p.prints(t, []string{"1 note is in review", "slipbox review approve "}, "merge", "what-if", "--review", "--kind", "note", "--min-age", "0s", "--approve-from", "0.9")
	p.prints(t, []string{"there is nothing to merge"}, "merge", "what-if", "--min-confidence", "0.5")

	// The past, and back.
	undone := object(t, p.pipe(t, "", "rollback", "before the trip"))["revision"].(float64)
	p.prints(t, []string{"the collection shows that already"}, "rollback", "before the trip")
	if out := p.pipe(t, "", "search", "glaze"); strings.Contains(out, "glaze is out") {
		t.Errorf("after the rollback: %s", out)
	}
	p.prints(t, []string{"- note " + glaze}, "diff", "--against-at", strconv.Itoa(int(undone)-1), "--at", "before the trip")
	p.prints(t, []string{"are as they were", "takes it back"}, "rollback", strconv.Itoa(int(undone)-1))
	p.prints(t, []string{"nothing differs"}, "diff", "--against-at", "2099-01-01T00:00:00Z")
	p.pipe(t, "", "snapshot", "delete", "before the trip")
	p.prints(t, []string{"no snapshots"}, "snapshot", "list")
	p.prints(t, []string{"revision 1 ", "by key:"}, "blame", kiln, "--as-of", "1")
}

// Of a merge that was proposed, a person sees each note, and approves some.
func TestReview(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	p.pipe(t, "", "watch")
	kiln := p.noteID(t, "diary", "kiln")
	p.prints(t, []string{"nothing waits for a decision"}, "review", "list", "-c", "diary")
	p.pipe(t, "", "fork", "what-if", "--owner", "scout")
	fork := object(t, p.pipe(t, "", "diff", "diary", "-c", "what-if"))["to"].(map[string]any)["collection"].(string)
	p.patch(t, "/v1/collections/"+fork+"/notes/"+kiln, `{"content": "The blue kiln is inspected on Monday.", "tags": ["kiln"]}`)
	p.pipe(t, "", "add", "-c", fork, "--wait", "Rutile turns the glaze blue.")
	p.pipe(t, "", "add", "-c", fork, "--wait", "Customers hate blue.")
	p.pipe(t, "", "watch")
	rutile, customers := p.noteID(t, fork, "rutile"), p.noteID(t, fork, "customers")
	id := object(t, p.pipe(t, "", "merge", fork, "--review"))["review"].(map[string]any)["id"].(string)
	p.prints(t, []string{"a merge from what-if", "3 notes", id}, "review", "list", "-c", "diary")
	p.prints(t, []string{
		"open", "~ note " + kiln, "- The blue kiln is inspected on Friday.", "+ The blue kiln is inspected on Monday.", "+ note " + rutile, "  + Rutile turns the glaze blue.",
	}, "review", "show", id)
	_, problems, code := p.run(t, "", "review", "approve", id, "--note", "7")
	if code != 1 || !strings.Contains(problems, "is not an id of a note") {
		t.Errorf("no id: exit %d, %s", code, problems)
	}
	if _, problems, code = p.run(t, "", "review", "approve", id, "--note", id); code != 1 || !strings.Contains(problems, "does not change the note") {
		t.Errorf("another note: exit %d, %s", code, problems)
	}
	p.prints(t, []string{"2 of 3 notes approved"}, "review", "approve", id, "--note", rutile, "--note", kiln, "--reason", "tried")
	if out := p.pipe(t, "", "search", "customers"); strings.Contains(out, "hate blue") {
		t.Errorf("what was not approved: %s", out)
	}
	p.prints(t, []string{"merge · of scout · by key:"}, "blame", rutile)
	p.prints(t, []string{"+ note " + customers}, "diff", "diary", "-c", fork)
	if _, problems, code = p.run(t, "", "review", "approve", id); code != 1 || !strings.Contains(problems, "approved already") {
		t.Errorf("twice: exit %d, %s", code, problems)
	}
	p.prints(t, []string{"tried"}, "review", "list", "--state", "approved")
	if _, problems, code = p.run(t, "", "review", "undo", id); code != 1 || !strings.Contains(problems, "is a merge; a rollback to revision") {
		t.Errorf("an undo of a merge: exit %d, %s", code, problems)
	}
	again := object(t, p.pipe(t, "", "merge", fork, "--review", "--note", customers))["review"].(map[string]any)["id"].(string)
	p.prints(t, []string{"1 note rejected"}, "review", "reject", again)
	if _, problems, code = p.run(t, "", "review", "show", "01a209ee-4f42-78fb-9893-5cff446707b3"); code != 3 || !strings.Contains(problems, "slipbox review list") {
		t.Errorf("no review: exit %d, %s", code, problems)
	}
}

// What a policy is not sure of is shown by the text of the note and of those that it would be linked to.
func TestReviewOfLinks(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	p.call(t, http.MethodPost, "/v1/collections", strings.NewReader(`{"name": "careful", "policy_config": {"confidence_gate": 1, "strengthen_gate": 1}}`))
	first, second := "The ferry to Naxos leaves Piraeus at nine.", "The ferry to Naxos leaves Piraeus late in a storm."
	p.pipe(t, "", "add", "-c", "careful", "--wait", first)
	p.pipe(t, "", "add", "-c", "careful", "--wait", second)
	p.prints(t, []string{second + "\n  + link related to " + first}, "review", "list", "-c", "careful")
	id := object(t, p.pipe(t, "", "review", "list", "-c", "careful"))["id"].(string)
	p.prints(t, []string{"  " + second + "\n  + link related to " + first}, "review", "show", id)
	p.prints(t, []string{"1 note approved"}, "review", "approve", id)
}

// A command that reads the past takes a revision, a time or the name of a snapshot.
func TestAsOf(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	p.pipe(t, "", "watch")
	kiln := p.noteID(t, "diary", "kiln")
	made := object(t, p.pipe(t, "", "snapshot", "create", "before the trip"))
	p.patch(t, "/v1/collections/diary/notes/"+kiln, `{"content": "The kiln is sold."}`)
	revision := strconv.Itoa(int(made["revision"].(float64)))
	for i, past := range []string{revision, "before the trip", made["created_at"].(string)} {
		p.prints(t, []string{"The blue kiln is inspected on Friday."}, "search", "kiln", "--as-of", past)
		if out := p.pipe(t, "", "export", "--as-of", past); !strings.Contains(out, "inspected on Friday") {
			t.Errorf("export at %s: %s", past, out)
		}
		p.prints(t, []string{"content\n  revision 1 "}, "blame", kiln, "--as-of", past)
		fork := "fork-" + strconv.Itoa(i)
		p.pipe(t, "", "fork", fork, "--at", past)
		p.prints(t, []string{"The blue kiln is inspected on Friday."}, "search", "kiln", "-c", fork)
		p.prints(t, []string{"again " + strconv.Itoa(i) + "\n  revision " + revision + " "}, "snapshot", "create", "again "+strconv.Itoa(i), "--at", past)
	}
	for _, args := range [][]string{{"search", "kiln", "--as-of", "never"}, {"export", "--as-of", "never"}, {"blame", kiln, "--as-of", "never"}} {
		if _, problems, code := p.run(t, "", args...); code != 1 || !strings.Contains(problems, "--as-of: is neither a revision, a time") {
			t.Errorf("%v: exit %d, %s", args, code, problems)
		}
	}
}

func (p *person) deleteCollection(t *testing.T, name string) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), http.MethodDelete, p.url+"/v1/collections/"+name, http.NoBody))(t)
	r.Header.Set("Authorization", "Bearer "+p.key)
	resp := must.Get(http.DefaultClient.Do(r))(t)
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusNoContent {
		t.Errorf("the deletion of %s: %s", name, resp.Status)
	}
}

// A feed that is followed continues where it was cut off, and ends with its collection.
func TestChangesAreFollowed(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	p.pipe(t, "", "watch")
	args := []string{"changes", "--follow"}
	run := commandtest.Start(t, commandtest.Command(t, p.env, args...))
	run.Await(t, "it printed what was there", func() bool { return strings.Contains(run.Stdout.String(), `"revision":1`) })
	p.gateway.Stop(t)
	p.start(t)
	p.pipe(t, "", "add", "Nora fired the vases.")
	id := p.noteID(t, "diary", "vases")
	run.Await(t, "it printed what came after a restart", func() bool { return strings.Contains(run.Stdout.String(), id) })
	p.deleteCollection(t, "diary")
	<-run.Done
	if code := run.ExitCode(); code != 3 || !strings.Contains(run.Stderr.String(), "not found") {
		t.Errorf("after the collection was deleted: exit %d, %s", code, run.Stderr)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(run.Stdout.String()) {
		_, revision, _ := strings.Cut(line, `"revision":`)
		if seen[revision] {
			t.Errorf("twice: %s", line)
		}
		seen[revision] = true
	}
}

// A webhook is made, called, and its calls are listed.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	called := make(chan string, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { called <- r.Header.Get("Webhook-Id") }))
	t.Cleanup(receiver.Close)
	p := newPerson(t, "SLIPBOX_ALLOW_HOSTS=127.0.0.1")
	p.login(t)
	hook := object(t, p.pipe(t, "", "webhook", "create", receiver.URL, "-c", "diary", "--event", "note.added"))
	id := hook["id"].(string)
	if !strings.HasPrefix(hook["secret"].(string), "whsec_") {
		t.Errorf("the webhook: %v", hook)
	}
	p.pipe(t, "", "add", "Nora fired the vases.")
	delivery := <-called
	p.pipe(t, "", "watch")
	p.prints(t, []string{receiver.URL, id, "note.added"}, "webhook", "list")
	p.prints(t, []string{"note.added", delivery}, "webhook", "deliveries", id)
	p.prints(t, []string{"sent again"}, "webhook", "retry", id, delivery)
	if again := <-called; again != delivery {
		t.Errorf("%s was sent again as %s", delivery, again)
	}
	p.prints(t, []string{"secret: whsec_"}, "webhook", "rotate", id)
	p.pipe(t, "", "webhook", "delete", id)
	p.prints(t, []string{"no webhooks"}, "webhook", "list")
}

// TestForkOfOnePerson: a key that reaches the memory of one person forks it under ids that the key reaches, and is told which without them.
func TestForkOfOnePerson(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	made := p.call(t, http.MethodPost, "/v1/api-keys", strings.NewReader(`{"display_name":"ida","scopes":["clone","notes:read","notes:write","collections:write","base:write"],"external":{"user":"ida"}}`))
	secret, _ := made["key"].(string)
	env := []string{"SLIPBOX_URL=" + p.url, "SLIPBOX_KEY=" + secret}
	run := func(wanted int, args ...string) string {
		t.Helper()
		out, problems, code := p.runIn(t, env, "", args...)
		if code != wanted {
			t.Fatalf("%v: exit %d: %s%s", args, code, out, problems)
		}
		return out + problems
	}
	run(0, "add", "--user", "ida", "--create", "none", "Ida likes tea.")
	if refused := run(1, "fork", "what-if", "--user", "ida"); !strings.Contains(refused, "--external") || !strings.Contains(refused, "user=ida") || !strings.Contains(refused, "run") {
		t.Errorf("without ids: %s", refused)
	}
	if refused := run(1, "fork", "what-if", "--user", "ida", "--external", "person=ida"); !strings.Contains(refused, `"person"`) {
		t.Errorf("with another id: %s", refused)
	}
	run(0, "fork", "what-if", "--user", "ida", "--external", "user=ida,run=what-if")
	if found := run(0, "search", "--user", "ida", "--run", "what-if", "tea"); !strings.Contains(found, "Ida likes tea.") {
		t.Errorf("in the fork: %s", found)
	}
}
