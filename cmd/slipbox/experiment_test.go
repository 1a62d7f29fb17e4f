package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

const (
	saidOfLisbon = `{"role": "user", "name": "Nora", "content": "I moved to Lisbon in March.", "occurred_at": "2026-03-02T09:00:00Z", "session": "1"}
{"role": "assistant", "content": "How is it there?"}
{"role": "user", "name": "Nora", "content": "Warm. I have rented a workshop near the river."}

{"role": "user", "name": "Nora", "content": "My kiln is blue.", "session": "2"}
`
	askedOfLisbon = `{"q": "Where does Nora live?", "gold": [0]}
{"q": "What did Nora rent, and which color has her kiln?", "gold": [3, 2, 3]}
{"q": "Who is Tom?", "gold": []}
`
)

func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	must.Do(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func (p *person) collectionNames(t *testing.T) (out []string) {
	t.Helper()
	_, problems, _ := p.run(t, "", "search", "-c", "no-such-collection", "x", "--text")
	return strings.Split(problems, ", ")
}

// One dialogue is learned in forks with other policies and constants: the table says what each knows, the diff what differs, and
// nothing is left behind.
func TestExperiment(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	talk, asked := write(t, "talk.jsonl", saidOfLisbon), write(t, "asked.jsonl", askedOfLisbon)
	args := []string{"experiment", talk, "--questions", asked, "--variant", "amem", "--variant", "mem0", "--variant", "few: mem0, similar=1", "--variant", "none"}
	before := p.collectionNames(t)
	got := object(t, p.pipe(t, "", args...))
	if got["turns"] != 4.0 || got["questions"] != 3.0 {
		t.Errorf("the dialogue: %v", got)
	}
	of := map[string]map[string]any{}
	for _, v := range got["variants"].([]any) {
		of[v.(map[string]any)["name"].(string)] = v.(map[string]any)
	}
	for _, name := range []string{"amem", "mem0", "few", "none"} {
		v := of[name]
		if v["asked"] != 2.0 || v["recall"].(float64) < 0.5 || v["context_tokens"].(float64) < 1 || v["failed_jobs"] != 0.0 || v["collection"] != nil {
			t.Errorf("%s: %v", name, v)
		}
	}
	if of["mem0"]["facts"].(float64) < 2 || of["amem"]["facts"] != 0.0 || of["none"]["notes"] != 0.0 || of["few"]["policy_config"].(map[string]any)["similar"] != 1.0 {
		t.Errorf("what was learned: %v", of)
	}
	differences := got["differences"].([]any)
	if len(differences) != 3 {
		t.Fatalf("%d differences", len(differences))
	}
	facts := 0
	for _, n := range differences[0].(map[string]any)["notes"].([]any) {
		if n := n.(map[string]any); n["change"] == "added" && n["after"].(map[string]any)["kind"] == "fact" {
			facts++
		}
	}
	if float64(facts) != of["mem0"]["facts"] {
		t.Errorf("mem0 against amem: %v", differences[0])
	}
	if after := p.collectionNames(t); len(after) != len(before) {
		t.Errorf("left behind: %v", after)
	}

	// For people; kept; of a collection that there is.
	p.prints(t, []string{"variant", "amem", "mem0 against amem: ", "none against amem: 4 differences, no note says the same", "  + Nora", "4 turns, 3 questions"}, args...)
	p.prints(t, []string{"twice: is kept as experiment-", "twice against diary's: ", "no questions"},
		"experiment", talk, "-c", "diary", "--keep", "--variant", "diary's: amem", "--variant", "twice: amem, k_neighbours=1")
	if after := p.collectionNames(t); len(after) != len(before)+2 {
		t.Errorf("kept: %v", after)
	}
}

// A policy for one person takes a talk of several: who speaks first is the user. Several are remembered where a policy can.
func TestExperimentOfSeveral(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	file := write(t, "talks.jsonl", strings.ReplaceAll(`{"id": "talks-1",
"turns": [{"i": 0, "d": "2025-01-14T19:42", "s": "Hannah", "r": "person", "t": "Mum's hip is done on the 11th."},
{"i": 1, "d": "2025-01-14T19:50", "s": "Beth", "r": "person", "t": "I take the train up. My flat is in Bedminster now."}],
"questions": [{"q": "Where is Beth's flat?", "gold": [1], "kind": "single", "a": "Bedminster"}]}`, "\n", " ")+
		"\n"+`{"id": "talks-2", "turns": [{"i": 0, "d": "2025-01-14T19:42", "s": "Hannah", "r": "person", "t": "Hello."}]}`+"\n")
	got := object(t, p.pipe(t, "", "experiment", file, "--dialogue", "talks-1", "--variant", "none", "--variant", "memoryos", "--variant", "memorybank"))
	for _, v := range got["variants"].([]any) {
		v := v.(map[string]any)
		if v["asked"] != 1.0 || v["recall"] != 1.0 {
			t.Errorf("%v", v)
		}
	}
}

// With a model, variants ask it by their settings, and differ in what they learn.
func TestExperimentWithAModel(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	p := newPerson(t, "SLIPBOX_LLM=openai", "SLIPBOX_LLM_BASE_URL="+model.URL(), "SLIPBOX_LLM_MODEL=words")
	p.login(t)
	got := object(t, p.pipe(t, "", "experiment", write(t, "talk.jsonl", saidOfLisbon), "--questions", write(t, "asked.jsonl", askedOfLisbon),
		"--variant", "mem0", "--variant", "quoted: mem0, extraction=quotations", "--variant", "same: mem0"))
	for _, v := range got["variants"].([]any) {
		if v := v.(map[string]any); v["facts"].(float64) < 1 || v["failed_jobs"] != 0.0 || v["recall"] == nil {
			t.Errorf("%v", v)
		}
	}
	differences := got["differences"].([]any)
	quoted, same := differences[0].(map[string]any), differences[1].(map[string]any)
	if len(quoted["notes"].([]any)) == 0 || len(same["notes"].([]any)) != 0 || same["same"].(float64) < 5 {
		t.Errorf("the differences: %v", differences)
	}
	if len(model.Requests()) == 0 {
		t.Error("the model was not asked")
	}
}

// What cannot be is refused before anything is made, with what to do.
func TestExperimentRefused(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.login(t)
	talk := write(t, "talk.jsonl", saidOfLisbon)
	before := p.collectionNames(t)
	for _, x := range []struct {
		want string
		args []string
	}{
		{"the gateway has no policy \"mem9\"; it has amem", []string{talk, "--variant", "amem", "--variant", "mem9"}},
		{"mem0 has no setting \"hat\"; it has ", []string{talk, "--variant", "amem", "--variant", "mem0,hat=1"}},
		{"similar", []string{talk, "--variant", "amem", "--variant", "mem0,similar=-1"}},
		{"is not SETTING=VALUE", []string{talk, "--variant", "amem", "--variant", "mem0,similar"}},
		{"2 to 20 variants", []string{talk, "--variant", "amem"}},
		{"two variants are called", []string{talk, "--variant", "amem", "--variant", "amem"}},
		{"name a policy", []string{talk, "--variant", "amem", "--variant", "x:"}},
		{"is empty", []string{write(t, "empty.jsonl", "\n \n"), "--variant", "amem", "--variant", "mem0"}},
		{"has no turns", []string{write(t, "none.jsonl", `{"id": "a", "turns": []}`), "--variant", "amem", "--variant", "mem0"}},
		{"turn 0 has no content", []string{write(t, "blank.jsonl", `{"role": "user"}`), "--variant", "amem", "--variant", "mem0"}},
		{"line 1", []string{write(t, "text.jsonl", `Nora moved.`), "--variant", "amem", "--variant", "mem0"}},
		{"question 1: there is no turn 9 (gold); the dialogue has 4 turns", []string{talk, "--questions", write(t, "q.jsonl", `{"q": "x", "gold": [9]}`), "--variant", "amem", "--variant", "mem0"}},
		{"question 1 has no text", []string{talk, "--questions", write(t, "q.jsonl", `{"gold": [1]}`), "--variant", "amem", "--variant", "mem0"}},
		{"one dialogue, with a turn in each line", []string{talk, "--dialogue", "x", "--variant", "amem", "--variant", "mem0"}},
		{"with --dialogue: a, b", []string{write(t, "two.jsonl", `{"id": "a", "turns": []}`+"\n"+`{"id": "b", "turns": []}`), "--variant", "amem", "--variant", "mem0"}},
		{"at least 1", []string{talk, "--budget", "0", "--variant", "amem", "--variant", "mem0"}},
		{"no such file", []string{talk + "x", "--variant", "amem", "--variant", "mem0"}},
		{"not found", []string{talk, "-c", "absent", "--variant", "amem", "--variant", "mem0"}},
	} {
		out, problems, code := p.run(t, "", append([]string{"experiment"}, x.args...)...)
		if code == 0 || out != "" || !strings.Contains(problems, x.want) {
			t.Errorf("%v: exit %d, %s%s", x.args, code, out, problems)
		}
	}
	if after := p.collectionNames(t); len(after) != len(before) {
		t.Errorf("left behind: %v", after)
	}
}
