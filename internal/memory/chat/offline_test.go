package chat

import (
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

// What shares no word with the question is shown if it matches well by meaning, in any language.
func TestWithheldOffline(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		question, note string
		answerable     float64
		shown          bool
	}{
		{"Which instrument does she play?", "The cello is what I practice every evening.", 0.6, true},
		{"Which instrument does she play?", "Football is on Sunday.", 0.45, false},
		{"她会什么乐器？", "我每天晚上练大提琴。", 0.6, true},
		{"她会什么乐器？", "星期天有足球赛。", 0.45, false},
		{"Does she play the cello?", "The cello is what I practice every evening.", 0.45, true},
	} {
		hit := recall.Hit{Note: &recall.NoteView{Note: memory.Note{Content: c.note}}}
		q := Question{Turns: []Turn{{Content: c.question}}}
		if why := withheld(&recall.Result{Answerable: &c.answerable, Hits: []recall.Hit{hit}}, &q); (why == "") != c.shown {
			t.Errorf("%s %s %g: withheld is %q", c.question, c.note, c.answerable, why)
		}
	}
}
