package memory_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// What an answer has from the example in its instructions is found, unless it was said.
func TestEcho(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ prompt, answer, echo string }{
		{"I live in Kiel.", `{"summary": "Ann lives in Kiel."}`, "ann"},
		{"ANN: I live in Kiel.", `{"summary": "Ann lives in Kiel."}`, ""},
		{"Annual fees rose.", `{"summary": "Annual fees rose."}`, ""},
		{"I live in Kiel.", `{"summary": "小安住在基尔。"}`, "小安"},
		{"How was it?", `{"reply": "Ask how the exam went, and praise the work."}`, `"Ask how the exam went, and praise the work."`},
		{"How was it?", `{"reply": "Ask how the exam went."}`, ""},
	} {
		c := memory.Call{System: `Example: {"summary": "Ann moved. 小安搬家了。", "reply": "Ask how the exam went, and praise the work."}`, Prompt: tc.prompt}
		if got := c.Echo(json.RawMessage(tc.answer)); got != tc.echo {
			t.Errorf("%s after %s: %q, want %q", tc.answer, tc.prompt, got, tc.echo)
		}
	}
	if c := (memory.Call{System: "No example."}); c.Echo(json.RawMessage(`{"summary": "Ann lives in Kiel."}`)) != "" {
		t.Error("a name that no example has")
	}
}

// Each name in the example of a prompt is known as one.
func TestExampleNames(t *testing.T) {
	t.Parallel()
	capital := regexp.MustCompile(`\b[A-Z][a-z]+\b`)
	others := []string{"And", "Ask", "Assistant", "Be", "Booked", "Dentist", "Do", "Example", "Examples", "From", "Goal", "High", "I", "Invoices", "Is", "March", "May", "Next", "On", "Patient", "She", "Tests", "The", "Tuesday", "We"}
	files, err := filepath.Glob("policy/*/prompts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		text := must.Get(os.ReadFile(path))(t)
		_, example, _ := strings.Cut(string(text), "\nExample")
		example, _, _ = strings.Cut(example, "=====")
		c := memory.Call{System: string(text)}
		for _, word := range capital.FindAllString(example, -1) {
			if !slices.Contains(others, word) && c.Echo(json.RawMessage(`{"summary": "`+word+`"}`)) == "" {
				t.Errorf("%s: %s is no name of an example", path, word)
			}
		}
	}
}
