package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// A memory is asked, forked, looked back into and listed.
func TestChatForkHistoryFacts(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	note := object(t, p.pipe(t, "", "search", "kiln"))["hits"].([]any)[0].(map[string]any)["note"].(map[string]any)["id"].(string)
	if reply := object(t, p.pipe(t, "When is the kiln inspected?\n", "chat", "--forget")); !strings.Contains(reply["reply"].(string), "Friday") || reply["remembered"] != false {
		t.Errorf("the reply in a pipe: %v", reply)
	}
	if reply := p.pipe(t, "", "chat", "--text", "When is the kiln inspected?"); !strings.Contains(reply, "Friday") {
		t.Errorf("the reply: %q", reply)
	}
	if fork := object(t, p.pipe(t, "", "fork", "what-if", "--ttl", "1h")); fork["name"] != "what-if" || fork["expires_at"] == nil {
		t.Errorf("the fork: %v", fork)
	}
	if added := object(t, p.pipe(t, "", "add", "-c", "what-if", "--ttl", "90m", "The kiln exploded.")); added["note"].(map[string]any)["expires_at"] == nil {
		t.Errorf("a note with an end: %v", added)
	}
	if out := p.pipe(t, "", "search", "exploded"); strings.Contains(out, "exploded.") {
		t.Errorf("the fork changed its source: %s", out)
	}
	if copied := object(t, p.pipe(t, "", "fork", "copied", "--copy")); copied["job"] == nil {
		t.Errorf("the copy: %v", copied)
	} else if out := p.pipe(t, "", "watch", copied["job"].(map[string]any)["id"].(string)); !strings.Contains(out, `"state":"done"`) {
		t.Errorf("its job: %s", out)
	}
	p.pipe(t, "", "watch")
	if out := p.pipe(t, "", "list", "--query", "COPIED", "--order", "newest"); !strings.Contains(out, `"name":"copied"`) || strings.Contains(out, `"name":"what-if"`) {
		t.Errorf("a list of collections: %s", out)
	}
	if out := p.pipe(t, "", "notes", "--order", "newest", "--limit", "1", "--text"); !strings.Contains(out, "kiln") {
		t.Errorf("a list of notes: %s", out)
	}
	if first, _, _ := strings.Cut(p.pipe(t, "", "history", note), "\n"); object(t, first)["cause"] == nil {
		t.Errorf("the history in a pipe: %s", first)
	}
	if out := p.pipe(t, "", "history", "--text", note); !strings.Contains(out, "+ The blue kiln is inspected on Friday.") || !strings.Contains(out, "  add\n") {
		t.Errorf("the history: %s", out)
	}
	if _, problems, code := p.run(t, "", "history", "01a1fdda-ccd6-713d-97db-eda78326c93a"); code != 3 {
		t.Errorf("an unknown note: exit %d, %s", code, problems)
	}
	// Edges of a graph take a model.
	p = newPerson(t, "SLIPBOX_LLM=openai", "SLIPBOX_LLM_BASE_URL="+llmtest.New(t).URL(), "SLIPBOX_LLM_MODEL=words")
	p.login(t)
	p.pipe(t, "", "add", "-c", "graph", "--create", "mem0g", "--wait", "Nora lives in Oslo.")
	if out := p.pipe(t, "", "facts", "Nora", "--text", "-c", "graph"); !strings.Contains(out, "Nora") || !strings.Contains(out, "Oslo") {
		t.Errorf("facts: %q", out)
	}
	if _, problems, code := p.run(t, "", "facts", "--text"); code != 0 || !strings.Contains(problems, "mem0g needs a model") {
		t.Errorf("no facts: exit %d, %s", code, problems)
	}
}

// writer returns a function that writes files below a directory.
func writer(t *testing.T, dir string) func(name, content string) {
	t.Helper()
	return func(name, content string) {
		t.Helper()
		at := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(at), 0o700))
		must.Do(t, os.WriteFile(at, []byte(content), 0o600))
	}
}

// A folder is imported once, however often the import is started, and what changed in it is corrected.
func TestImportGoesOn(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	dir := t.TempDir()
	write := writer(t, dir)
	write("2024-05-06 trip.md", "# Trip\nWe took the ferry.\n\n## Food\nMussels.\n")
	write("deep/er/plain.TXT", "The harbor is closed in winter.")
	write("empty.md", "\n")
	write("binary.txt", "a\x00b")
	write("talk.txt", "Nora: I fire on Friday.\nIda: Which glaze?\nNora: Celadon.\n")
	write(".hidden/secret.md", "No.")
	write("code.go", "package x")
	dry := object(t, p.pipe(t, "", "import", dir, "-c", "trips", "--create", "amem", "--dry-run"))
	if _, _, code := p.run(t, "", "search", "-c", "trips", "ferry"); dry["created"] != 3.0 || code != 3 {
		t.Errorf("a dry run: %v, exit %d", dry, code)
	}
	first := object(t, p.pipe(t, "", "import", dir, "-c", "trips", "--create", "amem", "--no-infer"))
	if first["created"] != 3.0 || first["known"] != 0.0 || len(first["skipped"].([]any)) != 3 {
		t.Errorf("the import: %v", first)
	}
	write("2024-05-06 trip.md", "# Trip\nWe took the ferry.\n\n## Food\nOysters.\n")
	second := object(t, p.pipe(t, "", "import", dir, "-c", "trips"))
	if second["created"] != 0.0 || second["known"] != 2.0 || second["replaced"] != 1.0 {
		t.Errorf("the second import: %v", second)
	}
	hits := p.pipe(t, "", "search", "-c", "trips", "ferry", "-k", "1")
	if !strings.Contains(hits, "2024-05-06T00:00:00Z") {
		t.Errorf("the date of a file's name: %s", hits)
	}
	write("long.md", "# "+strings.Repeat("x", 20<<10)+"\nText.\n")
	out, problems, code := p.run(t, "", "import", dir, "-c", "trips")
	if refused := object(t, out); code != 1 || refused["known"] != 3.0 || !strings.Contains(fmt.Sprint(refused["skipped"]), "long.md") || !strings.Contains(problems, "refused") {
		t.Errorf("refused notes: exit %d, %v, %s", code, refused, problems)
	}
	bank := filepath.Join(dir, "ada.json")
	write("ada.json", `{"name": "Ada", "history": {"2026-03-01": [{"query": "I moved to Lisbon.", "response": "How is it?"}]}}`)
	once := object(t, p.pipe(t, "", "import", bank, "-c", "ada", "--create", "memorybank"))
	twice := object(t, p.pipe(t, "", "import", bank, "-c", "ada"))
	if once["created"] != 3.0 || twice["created"] != 0.0 || twice["known"] != 3.0 {
		t.Errorf("MemoryBank: %v, then %v", once, twice)
	}
	for _, tt := range []struct{ path, want string }{
		{filepath.Join(dir, "none"), "no such file"}, {filepath.Join(dir, ".hidden", "none"), "no such file"}, {t.TempDir(), "no file to import"},
	} {
		if _, problems, code := p.run(t, "", "import", tt.path); code != 1 || !strings.Contains(problems, tt.want) {
			t.Errorf("%s: exit %d, %s", tt.path, code, problems)
		}
	}
}

// The notes of a file follow it. What a person corrected stays, and so does what another file of the same name says.
func TestImportFollowsAFile(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	dirs := []string{t.TempDir(), t.TempDir()}
	write := func(dir int, name, content string) {
		t.Helper()
		must.Do(t, os.WriteFile(filepath.Join(dirs[dir], name), []byte(content), 0o600))
	}
	step := func(dir int, want string, contents ...string) {
		t.Helper()
		dry := object(t, p.pipe(t, "", "import", dirs[dir], "-c", "trips", "--create", "amem", "--no-infer", "--dry-run"))
		got := object(t, p.pipe(t, "", "import", dirs[dir], "-c", "trips", "--create", "amem", "--no-infer"))
		if is := fmt.Sprint(got["created"], got["known"], got["replaced"], got["deleted"], got["kept"]); is != want {
			t.Errorf("%s; want %s", is, want)
		}
		if dry["replaced"] != got["replaced"] || dry["deleted"] != got["deleted"] || dry["kept"] != got["kept"] {
			t.Errorf("a dry run says %v, and what happens is %v", dry, got)
		}
		if is := p.contents(t, "trips"); !slices.Equal(is, contents) {
			t.Errorf("there are %q", is)
		}
	}
	write(0, "a.md", "# Boat\nWe took the ferry.\n# Food\nMussels.\n# Bed\nA hostel.\n")
	step(0, "3 0 0 0 0", "# Bed\nA hostel.", "# Boat\nWe took the ferry.", "# Food\nMussels.")
	write(1, "a.md", "# Food\nApples.\n")
	step(1, "1 0 0 0 3", "# Bed\nA hostel.", "# Boat\nWe took the ferry.", "# Food\nApples.", "# Food\nMussels.")

	// One section is corrected, one is gone, and one moves to another file.
	write(0, "a.md", "# Food\nOysters.\n")
	write(0, "b.md", "# Bed\nA hostel.\n")
	step(0, "0 1 1 1 1", "# Bed\nA hostel.", "# Food\nApples.", "# Food\nOysters.")
	note := object(t, p.pipe(t, "", "search", "-c", "trips", "oysters", "-k", "1"))["hits"].([]any)[0].(map[string]any)["note"].(map[string]any)["id"].(string)
	if out := p.pipe(t, "", "history", "--text", "-c", "trips", note); !strings.Contains(out, "- # Food\n    Mussels.") || !strings.Contains(out, "+ # Food\n    Oysters.") {
		t.Errorf("the history: %s", out)
	}

	// What a person wrote is not replaced, and is not written again.
	p.patch(t, "/v1/collections/trips/notes/"+note, `{"content": "Oysters, and they were bad.", "attributes": {"earlier": [{"content": "Clams.", "occurred_at": "2020-01-01T00:00:00Z"}]}}`)
	if out := p.pipe(t, "", "history", "--text", "-c", "trips", note); !strings.Contains(out, "+ earlier: 2020-01-01T00:00:00Z Clams.") {
		t.Errorf("the history: %s", out)
	}
	step(0, "0 2 0 0 0", "# Bed\nA hostel.", "# Food\nApples.", "Oysters, and they were bad.")
	write(0, "a.md", "# Food\nShrimps.\n")
	step(0, "1 1 0 0 2", "# Bed\nA hostel.", "# Food\nApples.", "# Food\nShrimps.", "Oysters, and they were bad.")
}

// contents returns what the notes of a collection say, sorted.
func (p *person) contents(t *testing.T, collection string) []string {
	t.Helper()
	var out []string
	for _, n := range p.get(t, "/v1/collections/"+collection+"/notes?limit=200")["items"].([]any) {
		out = append(out, n.(map[string]any)["content"].(string))
	}
	slices.Sort(out)
	return out
}

// Ctrl-C ends a command that waits, with 130 and how to go on; a key that is revoked meanwhile is said to be.
func TestInterruptAndRevokedKey(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	hangs := hangingGateway(t)
	cmd := commandtest.Command(t, append(p.env, "SLIPBOX_URL="+hangs.url, "SLIPBOX_API_KEY="+p.key), "search", "kiln")
	run := commandtest.Start(t, cmd)
	<-hangs.asked
	must.Do(t, syscall.Kill(run.PID(), syscall.SIGINT))
	<-run.Done
	if run.ExitCode() != 130 || !strings.Contains(run.Stderr.String(), "interrupted") {
		t.Errorf("exit %d, %s", run.ExitCode(), run.Stderr)
	}
	list := commandtest.CommandOf(t, "../gateway", nil, "key", "list", "--data", p.data)
	out := must.Get(list.Output())(t)
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); strings.Contains(line, "active") {
			if out, err := commandtest.CommandOf(t, "../gateway", nil, "key", "revoke", fields[0], "--data", p.data).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	p.gateway.Await(t, "the key was refused", func() bool {
		_, problems, code := p.run(t, "", "search", "kiln")
		return code == 2 && strings.Contains(problems, "slipbox login")
	})
}

// The day of a file begins where the zone of the collection begins it.
func TestImportDates(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	dir := t.TempDir()
	for _, day := range []string{"2026-06-01", "2026-01-15"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, day+".md"), []byte("On "+day+" I saw the dentist.\n"), 0o600))
	}
	for zone, want := range map[string][]string{
		"UTC": {"2026-01-15T00:00:00Z", "2026-06-01T00:00:00Z"}, "America/New_York": {"2026-01-15T05:00:00Z", "2026-06-01T04:00:00Z"},
		"Asia/Tokyo": {"2026-01-14T15:00:00Z", "2026-05-31T15:00:00Z"},
	} {
		c := strings.ToLower(strings.ReplaceAll(zone, "/", "-"))
		p.pipe(t, "", "add", "-c", c, "--create", "none", "A first note.")
		p.patch(t, "/v1/collections/"+c, `{"policy_config": {"timezone": "`+zone+`"}}`)
		p.pipe(t, "", "import", dir, "-c", c)
		var got []string
		for _, hit := range object(t, p.pipe(t, "", "search", "-c", c, "dentist", "-k", "5"))["hits"].([]any) {
			if note := hit.(map[string]any)["note"].(map[string]any); strings.Contains(note["content"].(string), "dentist") {
				got = append(got, note["occurred_at"].(string))
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: the notes are of %v, want %v", zone, got, want)
		}
	}
}

// A file is added once, found and cited by its name, and deleted.
func TestFiles(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	file := filepath.Join(t.TempDir(), `mill "old".txt`)
	must.Do(t, os.WriteFile(file, []byte("The emergency valve of the mill is green.\n"), 0o600))
	added := object(t, p.pipe(t, "", "file", "add", file, "--user", "nora", "--create", "mem0"))
	p.pipe(t, "", "watch", added["job"].(map[string]any)["id"].(string))
	id := added["file"].(map[string]any)["id"].(string)
	if again := object(t, p.pipe(t, "", "file", "add", file, "--user", "nora")); again["job"] != nil || again["file"].(map[string]any)["id"] != id {
		t.Errorf("the same file is stored twice: %v", again)
	}
	if out := p.pipe(t, "", "file", "list", "--user", "nora", "--text"); !strings.Contains(out, `mill "old".txt`) || !strings.Contains(out, "ready") {
		t.Errorf("the files are %s", out)
	}
	later := filepath.Join(t.TempDir(), "later.txt")
	must.Do(t, os.WriteFile(later, []byte("The mill was sold.\n"), 0o600))
	p.pipe(t, "", "watch", object(t, p.pipe(t, "", "file", "add", later, "--user", "nora"))["job"].(map[string]any)["id"].(string))
	for order, olderFirst := range map[string]bool{"updated": false, "newest": false, "oldest": true} {
		out := p.pipe(t, "", "file", "list", "--user", "nora", "--text", "--order", order)
		if (strings.Index(out, `mill "old"`) < strings.Index(out, "later.txt")) != olderFirst {
			t.Errorf("%s: %s", order, out)
		}
	}
	if out := p.pipe(t, "", "search", "--user", "nora", "valve"); !strings.Contains(out, "green") {
		t.Errorf("found %s", out)
	}
	if _, problems, code := p.run(t, "", "file", "add", filepath.Dir(file), "--user", "nora"); code != 1 || !strings.Contains(problems, "not a file") {
		t.Errorf("a folder: exit %d, %s", code, problems)
	}
	if out := object(t, p.pipe(t, "", "file", "delete", id, "--user", "nora")); out["deleted"] != id {
		t.Errorf("deleted: %v", out)
	}
	if out := p.pipe(t, "", "search", "--user", "nora", "valve"); strings.Contains(out, "green") {
		t.Errorf("found after the deletion: %s", out)
	}
}

// What is deleted is no longer recalled by a hook, and erased it is not in the history either.
func TestDeleteAndErase(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	for _, in := range []string{"The code of the safe is 47K1.", "I sail on Sundays."} {
		stop := map[string]any{"session_id": in, "prompt": in}
		p.run(t, hookJSON(t, stop), "hook", "claude-code", "recall", "--user", "nora")
		delete(stop, "prompt")
		stop["last_assistant_message"] = "I see."
		if _, problems, code := p.run(t, hookJSON(t, stop), "hook", "claude-code", "capture", "--user", "nora", "--wait"); code != 0 {
			t.Fatal(problems)
		}
	}
	recall := func() string {
		t.Helper()
		var out string
		for ended := time.Now().Add(time.Minute); out == "" && time.Now().Before(ended); { // a recall gives up soon on a busy machine
			out = p.pipe(t, hookJSON(t, map[string]any{"session_id": "later", "prompt": "What is the code of the safe, and when do I sail?"}), "hook", "claude-code", "recall", "--user", "nora")
		}
		return out
	}
	if out := recall(); !strings.Contains(out, "47K1") {
		t.Fatalf("recalled: %s", out)
	}
	var note string
	for _, m := range p.messages(t, "nora") {
		if strings.Contains(m["content"].(string), "47K1") {
			note = m["id"].(string)
		}
	}
	if out := object(t, p.pipe(t, "", "delete", note, "--user", "nora")); out["deleted"] != note {
		t.Errorf("deleted: %v", out)
	}
	if out := recall(); strings.Contains(out, "47K1") || !strings.Contains(out, "sail") {
		t.Errorf("recalled after the deletion: %s", out)
	}
	if out := p.pipe(t, "", "history", note, "--user", "nora"); !strings.Contains(out, "47K1") {
		t.Errorf("the history of a deleted note: %s", out)
	}
	if out := p.pipe(t, "", "delete", "--erase", "--text", note, "--user", "nora"); !strings.Contains(out, "erased") || !strings.Contains(out, "versions") {
		t.Errorf("erased: %s", out)
	}
	if out, problems, code := p.run(t, "", "history", note, "--user", "nora"); code != 3 {
		t.Errorf("the history of an erased note: exit %d, %s%s", code, out, problems)
	}
	if _, problems, code := p.run(t, "", "delete", note, "--sources", "some", "--user", "nora"); code == 0 || !strings.Contains(problems, "sources") {
		t.Errorf("an unknown choice: exit %d, %s", code, problems)
	}
}
