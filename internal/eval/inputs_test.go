package eval

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/test/must"
)

// write writes files below a temporary folder and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

const plainFile = `[{"id":"kiln","turns":[
	{"id":1,"speaker":"Ada","role":"user","text":"My kiln is blue.","at":"2026-03-01T09:00:00Z","session":1},
	{"id":2,"speaker":"Ben","role":"assistant","text":"Mine is red.","session":1},
	{"id":2,"speaker":"Ada","text":"I moved to Porto.","session":2},
	{"id":3,"speaker":"Ada","text":" "}],
	"questions":[{"q":"What color?","answer":"blue","category":4,"evidence":[1,1,99]}]},
	{"id":"kiln","turns":[{"text":"Hello."}]}]`

// Damaged input is named, and nothing is lost of it: unknown evidence, ids that occur twice, no questions, no times (C310).
func TestReadInputsNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"a.json": plainFile, "other.json": `{"settings": {"a": 1}}`, "notes.txt": "none"})
	d, warnings, err := ReadInputs([]string{dir}, []int{500})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Conversations) != 2 || d.Conversations[1].ID != "kiln-2" {
		t.Fatalf("%d conversations: %+v", len(d.Conversations), d.Conversations)
	}
	c := d.Conversations[0]
	ids := make([]string, len(c.Turns))
	for i := range c.Turns {
		ids[i] = c.Turns[i].ID
	}
	if !slices.Equal(ids, []string{"1", "2", "2#2"}) || !c.Turns[1].At.Equal(time.Date(2026, 3, 1, 9, 0, 1, 0, time.UTC)) {
		t.Errorf("turns %v, the second at %v", ids, c.Turns[1].At)
	}
	if q := c.Questions[0]; q.Category != "single-hop" || q.Answer != "blue" || !slices.Equal(q.Gold, []string{"1"}) || !slices.Equal(q.Unknown, []string{"99"}) {
		t.Errorf("question %+v", q)
	}
	if m := c.Turns[1].message(); m.Role != "assistant" || m.Name != "Ben" || m.Content != "Mine is red." {
		t.Errorf("message %+v", m)
	}
	all := strings.Join(warnings, "\n")
	for _, want := range []string{"there is no turn 99", "two turns are called 2", "two conversations are called kiln", "kiln-2 has no questions", "turn 3 is left out", "other.json is left out", "have no time"} {
		if !strings.Contains(all, want) {
			t.Errorf("no warning %q:\n%s", want, all)
		}
	}
}

func TestReadInputsRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": 1}`: "not a LoCoMo", `[]`: "empty list", `[{"turns": 7}]`: "not a list", `no`: "not JSON",
		`[{"id":"x","turns":[{"id":"y","text":"z","at":"soon"}]}]`:       `x: turn y: "soon" is not a time`,
		`[{"id":"x","turns":[{"id":"y","text":"z","role":"stranger"}]}]`: `role "stranger"`,
	} {
		dir := write(t, map[string]string{"a.json": text})
		if _, _, err := ReadInputs([]string{filepath.Join(dir, "a.json")}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if _, _, err := ReadInputs([]string{t.TempDir()}, nil); err == nil || !strings.Contains(err.Error(), "no conversation") {
		t.Errorf("an empty folder: %v", err)
	}
}

// The published forms are told apart by their fields (C310).
func TestReadInputsOfPublishedForms(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"locomo.json": string(sampleTalk),
		"long.json": `[{"question_id":"q1","question_type":"multi-session","question":"Which?","answer":7,"haystack_dates":["2023/05/21 (Sun) 02:21","2023/05/20 (Sat) 02:21"],
			"haystack_session_ids":["b","a"],"haystack_sessions":[[{"role":"user","content":"Later."}],[{"role":"user","content":"Seven.","has_answer":true},{"role":"assistant","content":""}]],"answer_session_ids":["a"]}]`,
		"corpus.jsonl": `{"id":"talk-1","people":["Ann","Ben"],"turns":[{"i":0,"d":"2025-01-02T03:04","s":"Ann","r":"person","t":"I keep bees."}],"facts":[],` +
			`"recalls":[{"turn":0}],"questions":[{"q":"What does Ann keep?","gold":[0],"kind":"single","a":"Bees"},{"q":"Since when?","kind":"abstain","a":"Never said"}]}` + "\n" +
			`{"id":"talk-2","turns":[{"i":0,"d":"2025-01-02T03:04","s":"user","r":"user","t":"Hello."}],"facts":[],"questions":[]}` + "\n",
		"bank.json":         `{"Ann":{"name":"Ann","history":{"2023-04-27":[{"query":"I keep bees.","response":"Nice."}]}}}`,
		"questions.jsonl":   `{"Ann":["What do I keep?"]}` + "\n" + `{"Bob":["Who?"]}`,
		"chats/3/chat.json": `[{"batch_number":1,"turns":[[{"role":"user","id":0,"time_anchor":"March-15-2024","content":"Plan it. ->-> 1,1"},{"role":"assistant","id":1,"content":"Done."}]]}]`,
		"chats/3/probing_questions/probing_questions.json": `{"knowledge_update":[{"question":"What?","ideal_answer":"A plan.","source_chat_ids":{"first":[0],"second":[5]}}]}`,
	})
	d, warnings, err := ReadInputs([]string{dir}, []int{500})
	if err != nil {
		t.Fatal(err)
	}
	by := map[string]*Conversation{}
	for i := range d.Conversations {
		by[d.Conversations[i].ID] = &d.Conversations[i]
	}
	long := by["q1"]
	if long == nil || len(long.Turns) != 2 || long.Turns[0].ID != "1:0" || long.Questions[0].Answer != "7" || !slices.Equal(long.Questions[0].Gold, []string{"1:0"}) {
		t.Errorf("LongMemEval: %+v", long)
	}
	if ann := by["Ann"]; ann == nil || len(ann.Turns) != 2 || ann.Turns[1].Role != "assistant" || len(ann.Questions) != 1 {
		t.Errorf("MemoryBank: %+v", ann)
	}
	chat := by["chat-3"]
	if chat == nil || chat.Turns[0].Text != "user: Plan it." || !slices.Equal(chat.Questions[0].Gold, []string{"0"}) || !slices.Equal(chat.Questions[0].Unknown, []string{"5"}) || chat.Questions[0].Answer != "A plan." {
		t.Errorf("BEAM: %+v", chat)
	}
	talk := by["talk-1"]
	if talk == nil || talk.Turns[0].Text != "Ann: I keep bees." || len(talk.Questions) != 2 || talk.Questions[0].Category != "single" ||
		talk.Questions[0].Answer != "Bees" || !slices.Equal(talk.Questions[0].Gold, []string{"0"}) || talk.Questions[1].Category != "adversarial" {
		t.Errorf("corpus: %+v", talk)
	}
	if len(d.Conversations) != 6 || d.Apart != "adversarial" {
		t.Errorf("%d conversations, apart %q", len(d.Conversations), d.Apart)
	}
	if all := strings.Join(warnings, "\n"); !strings.Contains(all, `questions for "Bob"`) || !strings.Contains(all, "there is no turn 5") {
		t.Errorf("warnings:\n%s", all)
	}
}
