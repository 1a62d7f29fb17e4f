package chat_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/chat"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// The first lines of replies.
const (
	lineFound   = "No model is configured; this is what memory holds:"
	lineUnsure  = "No model is configured, and nothing in memory says this for sure. Nearest:"
	lineNothing = "No model is configured, and memory holds nothing that belongs to this: nothing about that is known."
)

// stored is a memory that finds the same for every question: what the policy recalls, or the messages.
type stored struct {
	answerable       float64
	recalled, spoken []string
}

func (m *stored) search(q recall.Query) (out recall.Result) {
	texts, kind := m.recalled, memory.KindFact
	if q.Filter != nil {
		texts, kind = m.spoken, memory.KindMessage
	}
	for _, text := range texts {
		note := memory.Note{ID: uuid.Must(uuid.NewV7()), Kind: kind, Content: text, OccurredAt: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
		out.Hits, out.Answerable = append(out.Hits, recall.Hit{Note: &recall.NoteView{Note: note}}), &m.answerable
	}
	return out
}

// What shares no word with the question is shown as what memory holds if it matches well by meaning, in any language. Otherwise the nearest
// is quoted, and the reply says that it may be no answer. Nothing is known where nothing was found, or nothing can be matched.
func TestOfflineReply(t *testing.T) {
	t.Parallel()
	four := []string{"Football is on Sunday.", "The match was lost again.", "The grass is cut.", "The goal has a new net."}
	for name, c := range map[string]struct {
		question string
		memory   stored
		least    *float64
		first    string
		quoted   int
		withheld bool
		quote    string
		absent   string
	}{
		"near by meaning":        {question: "Which instrument does she play?", memory: stored{0.6, []string{"The cello is what I practice every evening."}, nil}, first: lineFound, quoted: 1},
		"far by meaning":         {question: "Which instrument does she play?", memory: stored{0.45, four, nil}, first: lineUnsure, quoted: 3, quote: "[1] 2026-03-01: Football is on Sunday."},
		"near, Chinese":          {question: "她会什么乐器？", memory: stored{0.6, []string{"我每天晚上练大提琴。"}, nil}, first: lineFound, quoted: 1},
		"far, Chinese":           {question: "我的工作是什么？", memory: stored{0.4, []string{"I'm a cook."}, nil}, first: lineUnsure, quoted: 1, quote: "I'm a cook."},
		"a shared word":          {question: "Does she play the cello?", memory: stored{0.45, []string{"The cello is what I practice every evening."}, nil}, first: lineFound, quoted: 1},
		"empty":                  {question: "What's my job?", first: lineNothing},
		"nothing can be matched": {question: "???", memory: stored{0, four, nil}, first: lineNothing, withheld: true},
		"the caller wants more":  {question: "What's my job?", memory: stored{0.45, four, nil}, least: new(0.5), first: lineNothing, withheld: true},
		"said, not learned yet":  {question: "Where do I keep bees?", memory: stored{0.4, four, []string{"I keep bees in Kiel."}}, first: lineFound, quoted: 1, quote: "Kiel", absent: "Football"},
		"said alone":             {question: "What's my job?", memory: stored{0.4, nil, []string{"I'm a cook."}}, first: lineUnsure, quoted: 1, quote: "cook"},
		"asked before":           {question: "What's my job?", memory: stored{0.4, nil, []string{"What's my job?", "I'm a cook."}}, first: lineUnsure, quoted: 1, quote: "cook", absent: "job"},
		"learned and said":       {question: "What's my job?", memory: stored{0.4, []string{"I'm a cook."}, []string{"Well."}}, first: lineUnsure, quoted: 1, quote: "cook", absent: "Well"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFake()
			f.search = c.memory.search
			s := must.Get(chat.New(chat.Deps{Recall: f, Notes: f}, chat.Config{}))(t)
			q := chat.Question{Turns: ask(c.question).Turns, MinAnswerable: c.least, Forget: true}
			a := must.Get(s.Answer(t.Context(), scope(tenant.NotesRead), "home", q, nil))(t)
			if first, _, _ := strings.Cut(a.Reply, "\n"); first != c.first || len(a.Citations) != c.quoted || (a.Withheld != "") != c.withheld ||
				!strings.Contains(a.Reply, c.quote) || c.absent != "" && strings.Contains(a.Reply, c.absent) {
				t.Errorf("%q, %d citations, withheld %q", a.Reply, len(a.Citations), a.Withheld)
			}
		})
	}
}
