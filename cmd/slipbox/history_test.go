package main

import (
	"archive/zip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/test/must"
)

// histories are the fixtures of the translators.
const histories = "../../internal/memory/transfer/testdata/"

// zipped packs a folder.
func zipped(t *testing.T, from string) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), filepath.Base(from)+".zip")
	f := must.Get(os.Create(at))(t)
	w := zip.NewWriter(f)
	must.Do(t, w.AddFS(os.DirFS(from)))
	must.Do(t, w.Close())
	must.Do(t, f.Close())
	return at
}

// A person's own history comes in by one command, once, and is found. What nothing says is asked for; what is not recognized is
// refused and not stored.
func TestImportHistories(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	chat := zipped(t, histories+"chatgpt")
	dry := object(t, p.pipe(t, "", "import", chat, "-c", "past", "--create", "amem", "--dry-run"))
	if _, _, code := p.run(t, "", "search", "-c", "past", "kiln"); dry["created"] != 5.0 || code != 3 {
		t.Errorf("a dry run: %v, exit %d", dry, code)
	}
	first := object(t, p.pipe(t, "", "import", chat, "-c", "past", "--create", "amem", "--me", "Nora"))
	second := object(t, p.pipe(t, "", "import", chat, "-c", "past", "--me", "Nora"))
	if first["created"] != 5.0 || second["created"] != 0.0 || second["known"] != 5.0 {
		t.Errorf("the import: %v, then %v", first, second)
	}
	if hits := p.pipe(t, "", "search", "-c", "past", "When do I fly to Lisbon?", "-k", "1"); !strings.Contains(hits, "2025-10-09T08:53:21.25Z") {
		t.Errorf("the message: %s", hits)
	}
	if said := p.pipe(t, "", "import", chat, "-c", "past", "--me", "Nora", "--dry-run", "--text"); strings.Contains(said, "were there") || !strings.Contains(said, "from 1 file; ") {
		t.Errorf("a dry run counts what it has not looked for: %s", said)
	}
	for _, name := range []string{"claude", "slack", "telegram", "whatsapp-ios", "jsonl", "memoryos", "mem0", "memorybank", "letta", "gemini", "mail", "transcript"} {
		at := filepath.Join(histories, name)
		if file := map[string]string{"jsonl": "chat.jsonl", "mem0": "memories.json", "transcript": "2026-03-13 Planning.vtt"}[name]; file != "" {
			at = filepath.Join(at, file)
		}
		one := object(t, p.pipe(t, "", "import", at, "-c", "all", "--create", "mem0"))
		two := object(t, p.pipe(t, "", "import", at, "-c", "all"))
		if one["created"] == 0.0 || two["created"] != 0.0 || fmt.Sprint(two["skipped"]) != "[]" {
			t.Errorf("%s: %v, then %v", name, one, two)
		}
	}
	person := []string{"import", filepath.Join(histories, "whatsapp"), "-c", "ben", "--create", "memorybank"}
	if _, problems, code := p.run(t, "", person...); code != 1 || !strings.Contains(problems, "--me") || !strings.Contains(problems, "Nora") {
		t.Errorf("two people: exit %d, %s", code, problems)
	}
	if out := object(t, p.pipe(t, "", append(person, "--me", "Nora")...)); out["created"] != 4.0 {
		t.Errorf("two people, of whom one is remembered: %v", out)
	}
	// A file of a system that is here, too, is taken whole: with strengths and summaries, blocks and calls of tools.
	for name, policy := range map[string]string{"memorybank": "memorybank", "letta": "memgpt"} {
		one := object(t, p.pipe(t, "", "import", histories+name, "-c", policy, "--create", policy))
		two := object(t, p.pipe(t, "", "import", histories+name, "-c", policy))
		if one["created"].(float64) < 7 || two["created"] != 0.0 || two["known"] != one["created"] {
			t.Errorf("%s, whole: %v, then %v", name, one, two)
		}
	}
	if facts := p.pipe(t, "", "search", "-c", "memorybank", "What did Nora plant?"); !strings.Contains(facts, "Nora planted tomatoes.") {
		t.Errorf("the summary of MemoryBank: %s", facts)
	}
	strange := filepath.Join(t.TempDir(), "data.json")
	must.Do(t, os.WriteFile(strange, []byte(`{"rows": [1, 2]}`), 0o600))
	if _, problems, code := p.run(t, "", "import", strange, "-c", "past"); code != 1 || !strings.Contains(problems, "whatsapp") ||
		!strings.Contains(problems, "docs/history.md") {
		t.Errorf("what is not recognized: exit %d, %s", code, problems)
	}
	odd := write(t, "odd.jsonl", `{"role":"user","content":"I keep bees.","timestamp":"2024-01-01T09:00:00Z"}`+"\n")
	p.prints(t, []string{"notes: 1 message,\n2024-01-01\n"}, "import", odd, "-c", "past", "--dry-run")
	bare := write(t, "bare.jsonl", `{"content":"eins"}`+"\n")
	p.prints(t, []string{"\neins\n", "from 1 file; "}, "import", bare, "-c", "past", "--dry-run")
	day := filepath.Join(t.TempDir(), "chat.txt")
	must.Do(t, os.WriteFile(day, []byte("3/4/26, 9:59 AM - Nora: Late.\n"), 0o600))
	if _, problems, code := p.run(t, "", "import", day, "-c", "past"); code != 1 || !strings.Contains(problems, "--dates") ||
		!strings.Contains(problems, "docs/history/whatsapp.md") {
		t.Errorf("a date that can be read in two ways: exit %d, %s", code, problems)
	}
}

// Of a memory that recalls exchanges a search prints both sides of one, whichever the question names.
func TestSearchPrintsExchanges(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	talk := filepath.Join(t.TempDir(), "talk.jsonl")
	lines := `{"role":"user","content":"Which kiln should I buy?","occurred_at":"2026-03-01T09:00:00Z"}` + "\n" +
		`{"role":"assistant","content":"The Skutt 818 fits in a shed.","occurred_at":"2026-03-01T09:00:00Z"}` + "\n"
	must.Do(t, os.WriteFile(talk, []byte(lines), 0o600))
	p.pipe(t, "", "import", talk, "-c", "bank", "--create", "memorybank")
	found := p.pipe(t, "", "search", "-c", "bank", "Skutt 818")
	if !strings.Contains(found, "Which kiln should I buy?") || !strings.Contains(found, "The Skutt 818 fits in a shed.") {
		t.Errorf("found %s", found)
	}
}

// What a person exports comes back with the same words, by the same command that imports a history. A file is never written over.
func TestExport(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	p.pipe(t, "", "import", histories+"jsonl/chat.jsonl", "-c", "all", "--create", "amem")
	at := filepath.Join(t.TempDir(), "all.jsonl")
	p.pipe(t, "", "export", at, "-c", "all")
	raw, err := os.ReadFile(at)
	if err != nil || !strings.Contains(string(raw), "Ich wohne in Rom.") {
		t.Fatalf("%s %v", raw, err)
	}
	if _, problems, code := p.run(t, "", "export", at, "-c", "all"); code != 1 || !strings.Contains(problems, "exists") {
		t.Errorf("a second export: exit %d, %s", code, problems)
	}
	back := object(t, p.pipe(t, "", "import", at, "-c", "again", "--create", "amem"))
	if n := float64(strings.Count(string(raw), "\n")); back["created"] != n || fmt.Sprint(back["skipped"]) != "[]" {
		t.Errorf("%v notes came back of %v: %v", back["created"], n, back)
	}
	if said := p.pipe(t, "", "export", "-c", "again"); said != string(raw) {
		t.Errorf("the export of what came back:\n%s\nwant\n%s", said, raw)
	}
	text := filepath.Join(t.TempDir(), "all.md")
	p.pipe(t, "", "export", text, "-c", "all")
	if raw, err := os.ReadFile(text); err != nil || !strings.HasPrefix(string(raw), "# all\n") {
		t.Errorf("%s %v", raw, err)
	}
	gone := filepath.Join(t.TempDir(), "none.jsonl")
	if _, problems, code := p.run(t, "", "export", gone, "-c", "nothing"); code != 3 || !strings.Contains(problems, "not found") {
		t.Errorf("no collection: exit %d, %s", code, problems)
	}
	if _, err := os.Stat(gone); err == nil {
		t.Error("an export that failed leaves a file")
	}
}

// Wiki links of a folder become links between notes, whichever file was imported first, and other links of a note stay. Front matter
// of Obsidian and properties of Logseq become time, tags and attributes.
func TestImportLinksFiles(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	dir := t.TempDir()
	write := writer(t, dir)
	write("Kiln.md", "---\ndate: 2026-03-01\ntags: [pottery]\naliases: [Ofen]\nproject: A\n---\n# Kiln\nSee [[Glaze recipes|the glazes]] and [[Kiln]] and [[nothing]].\n\n# Again\n[[glaze recipes#Blue]]\n")
	write("notes/Glaze recipes.md", "Used in the [[ofen]], and in ![[陶器/窯]].\n")
	write("pages/陶器___窯.md", "date:: 2026-03-02\ntags:: [[work]], clay\n- 窯は三月に届く。\n")
	write("logseq/bak/Kiln.md", "An old copy. [[Kiln]]")
	ids := func() map[string]map[string]any {
		t.Helper()
		out := map[string]map[string]any{}
		for _, item := range p.get(t, "/v1/collections/vault/notes")["items"].([]any) {
			n := item.(map[string]any)
			section, _ := n["attributes"].(map[string]any)["section"].(string)
			out[fmt.Sprint(n["attributes"].(map[string]any)["source"], "#", section)] = n
		}
		return out
	}
	linked := func(n map[string]any) (out []string) {
		for _, l := range n["links"].([]any) {
			out = append(out, fmt.Sprint(l.(map[string]any)["target"]))
		}
		return out
	}
	first := object(t, p.pipe(t, "", "import", dir, "-c", "vault", "--create", "amem", "--no-infer"))
	is := ids()
	kiln, again, glaze, oven := is["Kiln.md#Kiln"], is["Kiln.md#Again"], is["notes/Glaze recipes.md#"], is["pages/陶器___窯.md#"]
	if first["created"] != 4.0 || first["linked"] != 4.0 || kiln == nil || again == nil || glaze == nil || oven == nil {
		t.Fatalf("the import: %v, %v", first, is)
	}
	if got := fmt.Sprint(linked(kiln), linked(again)); got != fmt.Sprintf("[%v] [%v]", glaze["id"], glaze["id"]) {
		t.Errorf("links of the kiln: %s", got)
	}
	if got := linked(glaze); len(got) != 2 {
		t.Errorf("links of the glazes, by an alias and by a path: %v", got)
	}
	if got := fmt.Sprint(kiln["tags"], kiln["occurred_at"], kiln["attributes"].(map[string]any)["project"], oven["tags"], oven["occurred_at"]); got != "[pottery]2026-03-01T00:00:00ZA[work clay]2026-03-02T00:00:00Z" {
		t.Errorf("front matter: %s", got)
	}
	if second := object(t, p.pipe(t, "", "import", dir, "-c", "vault")); second["created"] != 0.0 || second["linked"] != 0.0 {
		t.Errorf("a second import: %v", second)
	}
	body := fmt.Sprintf(`{"links":[{"target":%q},{"target":%q,"relation":"heats","confidence":0.5,"attributes":{"why":"by hand"}}]}`, glaze["id"], oven["id"])
	p.call(t, "PUT", "/v1/collections/vault/notes/"+kiln["id"].(string)+"/links", strings.NewReader(body))
	write("Later.md", "x")
	write("notes/Glaze recipes.md", "Used in the [[ofen]], and [[later]].\n")
	write("Kiln.md", "---\ndate: 2026-03-01\ntags: [pottery]\naliases: [Ofen]\nproject: A\n---\n# Kiln\nSee [[Glaze recipes]] and [[Later]].\n\n# Again\n[[glaze recipes#Blue]]\n")
	third := object(t, p.pipe(t, "", "import", dir, "-c", "vault"))
	links := p.get(t, "/v1/collections/vault/notes/"+kiln["id"].(string)+"/links")["items"].([]any)
	if third["linked"] != 2.0 || third["replaced"] != 2.0 || len(links) != 3 || !strings.Contains(fmt.Sprint(links), "why:by hand") {
		t.Errorf("a folder that changed: %v\n%v", third, links)
	}
}

// The date, tags, attributes and links of a note follow its file, also where the text stays. What a person has written stays.
func TestImportFollowsFrontMatter(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	dir := t.TempDir()
	write := writer(t, dir)
	var kiln map[string]any
	step := func(want, is string) {
		t.Helper()
		args := []string{"import", dir, "-c", "v2", "--create", "none"}
		dry := object(t, p.pipe(t, "", append(args, "--dry-run")...))
		got := object(t, p.pipe(t, "", args...))
		if counts := fmt.Sprint(got["created"], got["known"], got["replaced"], got["kept"]); counts != want || dry["replaced"] != got["replaced"] {
			t.Errorf("%s; want %s; a dry run says %v", counts, want, dry["replaced"])
		}
		if again := object(t, p.pipe(t, "", args...)); again["replaced"] != 0.0 || again["created"] != 0.0 || again["linked"] != 0.0 {
			t.Errorf("once more: %v", again)
		}
		for _, item := range p.get(t, "/v1/collections/v2/notes")["items"].([]any) {
			if n := item.(map[string]any); n["attributes"].(map[string]any)["source"] == "a.md" {
				kiln = n
			}
		}
		attributes := kiln["attributes"].(map[string]any)
		if state := fmt.Sprintf("%v %v %v %v %d", kiln["tags"], attributes["status"], attributes["room"], attributes["hand"], len(kiln["links"].([]any))); state != is {
			t.Errorf("the note is %s; want %s", state, is)
		}
	}
	date := func(want string) {
		t.Helper()
		if at := kiln["occurred_at"]; at != want {
			t.Errorf("the date is %v; want %s", at, want)
		}
	}
	text := "# A\n\nThe kiln links [[b]].\n"
	write("b.md", "# B\n\nOther.")
	write("a.md", "---\ntags: [red, hot]\nstatus: open\nroom: 12\ndate: 2024-05-01\n---\n"+text)
	step("2 0 0 0", "[red hot] open 12 <nil> 1")
	date("2024-05-01T00:00:00Z")
	write("a.md", "---\ntags: [blue, hot]\nstatus: closed\nroom: 12\ndate: 2025-06-02\n---\n"+text)
	step("0 1 1 0", "[hot blue] closed 12 <nil> 1")
	date("2025-06-02T00:00:00Z")

	p.patch(t, "/v1/collections/v2/notes/"+kiln["id"].(string), `{"tags": ["hot", "mine"], "attributes": {"status": "waits", "hand": 1}}`)
	write("a.md", "---\ntags: [green]\nstatus: done\nroom: 13\ndate: 2025-07-02\n---\n# A\n\nThe kiln is new.\n")
	step("0 1 1 0", "[mine green] waits 13 1 0")
	date("2025-07-02T00:00:00Z")
	write("a.md", "# A\n\nThe kiln is new.\n")
	step("0 1 1 0", "[mine] waits <nil> 1 0")
	if kiln["occurred_at"] == "2025-07-02T00:00:00Z" {
		t.Error("the note keeps the date that the file no longer has")
	}
	must.Do(t, os.Chtimes(filepath.Join(dir, "a.md"), time.Time{}, time.Unix(1_700_000_000, 0)))
	step("0 2 0 0", "[mine] waits <nil> 1 0")
}
