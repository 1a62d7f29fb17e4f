package llm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/text/unsaid"
)

// TestVisibleText: after every piece, what is shown is what would be shown of the whole so far; what may become a
// mark is held back.
func TestVisibleText(t *testing.T) {
	t.Parallel()
	for _, whole := range []string{
		"", "plain", "a < b > c", "<think>hm, where <b> is it?</think>You live in <Lisbon>.", "where is it?</think>You live in Lisbon.",
		"one<THINKING>two</Thinking>three<reasoning>four", "a<think>b</think>c<think>d</think>e</think>f", "<think>never ends, a>b", "<think/> 日本 <thinking", "x</reasoning></reasoning>y",
		"[THINK]a [b][/THINK]c [d] e", "◁think▷a◁/think▷b", "<unused94>thought\na<unused95>b < c", "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b",
		"<|START_THINKING|>a<|END_THINKING|><|START_RESPONSE|>b<|END_RESPONSE|>", "a `<think>` b `</think>` c", "<analysis>a</analysis>\nb", "b\n<think>a",
	} {
		for _, size := range []int{1, 2, 5, 13, 100} {
			t.Run(fmt.Sprintf("%s/%d", whole, size), func(t *testing.T) {
				t.Parallel()
				var v visibleText
				for at := 0; at < len(whole); at += size {
					so := whole[:min(at+size, len(whole))]
					v.add(whole[at:len(so)])
					want := stripThinking(so)
					if got := v.shown.String(); got != want {
						t.Fatalf("of %q: %q, want %q", so, got, want)
					}
					held, ok := strings.CutPrefix(want, v.String())
					if !ok || len(held) > unsaid.LongestMark {
						t.Fatalf("of %q: %q is held back", so, held)
					}
				}
			})
		}
	}
	var v visibleText
	v.add("Hello <th")
	if got := v.String(); got != "Hello " {
		t.Errorf("what may become a mark is shown: %q", got)
	}
}
