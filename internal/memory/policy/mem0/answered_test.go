package mem0_test

import (
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/analyst"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
	"github.com/slipboxhq/slipbox/test/must"
)

// TestQuestionsOfAnotherTalk: without a model a sentence answers a question of somebody else in its session, soon after it, and
// no other.
func TestQuestionsOfAnotherTalk(t *testing.T) {
	t.Parallel()
	p := must.Get(mem0.New())(t)
	ask := mem0.Line{Name: "Eva", Session: "a", Text: "What do you ride to work?"}
	said := mem0.Line{Name: "Tom", Session: "a", Text: "I bought a red bicycle."}
	for name, c := range map[string]struct {
		change func(ask, said *mem0.Line)
		joined bool
	}{
		"an answer":       {func(_, _ *mem0.Line) {}, true},
		"minutes later":   {func(_, said *mem0.Line) { said.After = 40 * time.Minute }, true},
		"hours later":     {func(_, said *mem0.Line) { said.After = 6 * time.Hour }, false},
		"days later":      {func(_, said *mem0.Line) { said.After = 72 * time.Hour }, false},
		"another session": {func(_, said *mem0.Line) { said.Session = "b" }, false},
		"no session":      {func(_, said *mem0.Line) { said.Session = "" }, false},
		"no name":         {func(ask, _ *mem0.Line) { ask.Name = "" }, false},
	} {
		asked, answered := ask, said
		c.change(&asked, &answered)
		facts := strings.Join(mem0.Learned(t, p, analyst.New(), asked, answered), "\n")
		if !strings.Contains(facts, said.Text) || strings.Contains(facts, ask.Text) != c.joined {
			t.Errorf("%s: %q", name, facts)
		}
	}
}
