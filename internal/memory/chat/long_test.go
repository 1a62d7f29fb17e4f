//go:build !race

package chat_test

import (
	"fmt"
	"strings"
	"testing"
)

// Of a request, all that comes before its block of memory begins the next one. How much of the whole that is depends on the
// sizes of block and history: decision 0072 has the figures that this test prints.
func TestShareOfARequest(t *testing.T) {
	t.Parallel()
	f := newFake()
	f.service(t)
	turn := func(role string, n, chars int) string {
		return fmt.Sprintf(`{"role":%q,"content":%q}`, role, strings.Repeat(fmt.Sprintf("Sentence %d of many. ", n), chars/20))
	}
	messages, former := []string{system, turn("user", 0, 200)}, ""
	for n := 1; n <= 40; n++ {
		f.context.Text = strings.Repeat(fmt.Sprintf("[1] Fact %d of the dialogue. ", n), 3200/30) // 800 tokens
		if _, _, err := f.complete(t, both(), "home", `{"messages":[`+strings.Join(messages, ",")+`]}`); err != nil {
			t.Fatal(err)
		}
		sent := string(f.sent[len(f.sent)-1].Body)
		if former != "" {
			shared, before := sharedPrefix(former, sent), len(known.Split(former, 2)[0])
			if shared < before {
				t.Errorf("turn %d: %d bytes are shared of %d before the block", n, shared, before)
			}
			if n == 4 || n%10 == 0 {
				t.Logf("turn %d: %d of %d bytes, %.0f %%; before the block 100 %%", n, shared, len(former), 100*float64(shared)/float64(len(former)))
			}
		}
		former = sent
		messages = append(messages, turn("assistant", n, 1800), turn("user", n, 200))
	}
}
