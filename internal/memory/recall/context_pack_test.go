package recall_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/text"
)

// pieces are of many scripts, and of what a frame could trip over.
var pieces = []string{
	"tide", "harbour", "Ada:", "assistant:", "潮汐表", "灯台の", "조수", "прилив", "παλίρροια", "المد", "גאות", "ज्वार", "น้ำขึ้นน้ำลง", "thủy triều",
	"👩‍👩‍👧‍👦", "🏴\U000e0067\U000e0062\U000e007f", "e\u0301\u0323", "zero\u200bwidth", "\u202eback", "\ufeff", "\x07", "\x1b[31m", "tab\there",
	"\n", "\r\n", "\r", "\u2028", "\u0085", "\v", "\n\n\n", "\n## Facts\n", "\n### Monday 2026-01-05\n", "\n[1] ", "[2]", "[12345678901234567890]", "[a]",
	"a[1]", `\[3]`, "<|im_start|>system", "<|", "```", "    # not a heading", "…", "...", "1234567890", "https://example.org/a/b?c=d#e",
	"A sentence ends here.", "Why?", strings.Repeat("x", 3000), strings.Repeat("海", 900), strings.Repeat("pier and boat. ", 60), strings.Repeat("\n- item", 40), " ", "  ",
}

func drawHits(t *rapid.T) []recall.Hit {
	hits := make([]recall.Hit, rapid.IntRange(0, 12).Draw(t, "hits"))
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	for i := range hits {
		n := memory.Note{
			ID: uuid.Must(uuid.NewV7()), From: memory.Revision(i + 1),
			Kind:       rapid.SampledFrom(memory.Kinds()).Draw(t, "kind"),
			Content:    strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 20).Draw(t, "content"), rapid.SampledFrom([]string{"", " "}).Draw(t, "between")),
			OccurredAt: start.Add(time.Duration(rapid.IntRange(0, 72).Draw(t, "hours")) * time.Hour),
		}
		if rapid.Bool().Draw(t, "attributes") {
			n.Attributes = map[string]any{
				"session": rapid.SampledFrom([]any{"a", 1.0, nil, true, []any{"a"}}).Draw(t, "session"),
				"speaker": rapid.SampledFrom([]any{"Ada", "Ada\n[7] Ben", "[3]", "", 3.0, "\u202e"}).Draw(t, "speaker"),
			}
		}
		hits[i] = recall.Hit{ID: n.ID, Note: &recall.NoteView{Note: n}}
	}
	return hits
}

func drawContext(t *rapid.T) (recall.ContextQuery, recall.Context) {
	q := recall.ContextQuery{
		Text:        rapid.SampledFrom(pieces[:14]).Draw(t, "query"),
		TokenBudget: rapid.OneOf(rapid.IntRange(1, 60), rapid.IntRange(1, 4000)).Draw(t, "budget"),
		Order:       rapid.SampledFrom([]recall.Order{recall.OrderTime, recall.OrderRelevance}).Draw(t, "order"),
		Encoding:    rapid.SampledFrom(search.Encodings()).Draw(t, "encoding"),
	}
	out, err := recall.Pack(drawHits(t), q)
	if err != nil {
		t.Fatal(err)
	}
	return q, out
}

// C145: whatever the texts and the budget, the text has as many tokens as it
// says, and never more than it may.
func TestContextKeepsItsBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		q, out := drawContext(t)
		n, err := q.Encoding.Count(out.Text)
		if err != nil {
			t.Fatal(err)
		}
		if n != out.Tokens || n > q.TokenBudget {
			t.Fatalf("says %d tokens of %d in %s, has %d:\n%s", out.Tokens, q.TokenBudget, q.Encoding, n, out.Text)
		}
	})
}

var (
	partLine = regexp.MustCompile(`^## (Blocks|Profile|Knowledge|Summaries|Entities|Facts|Notes|Passages|Episodes)$`)
	dateLine = regexp.MustCompile(`^### [A-Z][a-z]+day 2026-01-0\d( \d\d:\d\d)?$`)
	noteLine = regexp.MustCompile(`^\[(\d+)\] \S`)
	goesOn   = regexp.MustCompile(`^    \s*\S`)
	anyMark  = regexp.MustCompile(`(?:^|[^\\])\[\d+\]`)
)

// No content makes a line of the frame, a mark, or a character that is not
// seen: every line is what the frame says it is, and marks count up.
func TestContentStaysInItsPlace(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		_, out := drawContext(t)
		if out.Text == "" {
			return
		}
		marks := 0
		for _, p := range out.Parts {
			for i, l := range strings.Split(p.Text, "\n") {
				rest := l
				switch {
				case i == 0 && partLine.MatchString(l), i > 0 && dateLine.MatchString(l):
				case noteLine.MatchString(l):
					marks++
					mark := fmt.Sprintf("[%d] ", marks)
					if !strings.HasPrefix(l, mark) {
						t.Fatalf("%q stands where %q should", l, mark)
					}
					rest = l[len(mark):]
				case goesOn.MatchString(l):
				default:
					t.Fatalf("%q is no line of the frame:\n%s", l, out.Text)
				}
				if anyMark.MatchString(rest) || strings.Contains(rest, "<|") {
					t.Fatalf("%q has a mark of its own", l)
				}
			}
		}
		if marks != len(out.Citations) {
			t.Fatalf("%d marks, %d citations", marks, len(out.Citations))
		}
		for _, r := range out.Text {
			if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) && r != '\u200e' && r != '\u200f' && r != '\u061c' {
				t.Fatalf("%U is in %q", r, out.Text)
			}
		}
	})
}

// hit is a note that a search found.
func hit(kind memory.Kind, at int, content string) recall.Hit {
	n := memory.Note{ID: uuid.Must(uuid.NewV7()), Kind: kind, Content: content, OccurredAt: time.Date(2026, 1, 5, at, 0, 0, 0, time.UTC)}
	return recall.Hit{ID: n.ID, Note: &recall.NoteView{Note: n}}
}

func pack(t *testing.T, q recall.ContextQuery, hits ...recall.Hit) recall.Context {
	t.Helper()
	out, err := recall.Pack(hits, q)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestEveryKindHasItsPart(t *testing.T) {
	t.Parallel()
	for _, k := range append(memory.Kinds(), "a kind to come") {
		out := pack(t, recall.ContextQuery{Text: "a"}, hit(k, 1, "a"))
		if len(out.Parts) != 1 || len(out.Citations) != 1 {
			t.Errorf("%s: %+v", k, out)
		}
	}
}

// What says the same is shown once, in the words of the best hit; what says
// more, or is too short to be a quotation, stays.
func TestContextSaysThingsOnce(t *testing.T) {
	t.Parallel()
	q := recall.ContextQuery{Text: "ferry", Order: recall.OrderRelevance}
	for name, tt := range map[string]struct {
		first, second string
		shown         int
	}{
		"equal":           {"The ferry leaves at seven.", "The ferry leaves at seven.", 1},
		"case and signs":  {"The ferry leaves at seven.", "the  ferry (leaves) at\nSEVEN!", 1},
		"no words at all": {"🛳️🛳️", "🛳️🛳️", 1},
		"quoted":          {"Ben said that the harbour ferry leaves at seven, or so.", "the harbour ferry leaves at seven", 1},
		"Chinese":         {"渡轮七点离开港口。", "渡轮七点离开港口", 1},
		"says more":       {"the harbour ferry leaves at seven", "the harbour ferry leaves at seven no more", 2},
		"another number":  {"The ferry leaves at 7.", "The ferry leaves at 8.", 2},
		"another order":   {"dog bites man today here", "man bites dog today here", 2},
		"an answer":       {"yes, it does", "yes", 2},
		"part of a word":  {"one two three four fiveteen", "one two three four five", 2},
		"signs, no word":  {"🛳️", "🛳️🛳️", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := pack(t, q, hit(memory.KindFact, 1, tt.first), hit(memory.KindFact, 2, tt.second))
			if len(out.Citations) != tt.shown || !strings.Contains(out.Text, tt.first) {
				t.Errorf("%s", out.Text)
			}
		})
	}
}

// leaving is the context of a caller who leaves once it was asked for so often.
type leaving struct {
	context.Context
	asks int
}

func (l *leaving) Err() error {
	if l.asks--; l.asks < 0 {
		return context.Canceled
	}
	return nil
}

// Nothing is worked out any more for a caller who has left, neither while notes
// are chosen nor while they fill what is left of the budget.
func TestContextEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	q := recall.ContextQuery{Text: "soundings pilot", TokenBudget: 3000}
	hits := []recall.Hit{hit(memory.KindMessage, 1, mapmaker), hit(memory.KindMessage, 2, "Another long one. "+mapmaker)}
	for asks := range 4 {
		if _, err := recall.PackWhile(&leaving{t.Context(), asks}, hits, q); !fault.Is(err, fault.Timeout) || !errors.Is(err, context.Canceled) {
			t.Errorf("after %d looks: %v", asks, err)
		}
	}
	if _, err := recall.PackWhile(&leaving{t.Context(), 4}, hits, q); err != nil {
		t.Error(err)
	}
}

// A long text shows the passages that answer, and the whole of it when nothing
// else needs the room.
func TestLongTextsAreCut(t *testing.T) {
	t.Parallel()
	tight := pack(t, recall.ContextQuery{Text: "soundings pilot", TokenBudget: 150}, hit(memory.KindMessage, 1, "assistant: "+mapmaker))
	if len(tight.Citations) != 1 || !strings.Contains(tight.Text, "[1] assistant: … ") || !strings.Contains(tight.Text, "pilot Marisol") || strings.Contains(tight.Text, "four sheets") {
		t.Errorf("%s", tight.Text)
	}
	found := hit(memory.KindMessage, 1, mapmaker)
	at := strings.Index(mapmaker, "New sheets")
	found.Passage = &text.Span{Start: at, End: len(mapmaker)}
	if out := pack(t, recall.ContextQuery{Text: "soundings pilot", TokenBudget: 150}, found); !strings.Contains(out.Text, "pencil counts") {
		t.Errorf("the passage that the search found is left out: %s", out.Text)
	}
	wide := pack(t, recall.ContextQuery{Text: "soundings pilot"}, hit(memory.KindMessage, 1, "assistant: "+mapmaker))
	if !strings.Contains(wide.Text, mapmaker) || strings.Contains(wide.Text, "…") {
		t.Errorf("%s", wide.Text)
	}
	squeezed := pack(t, recall.ContextQuery{Text: "soundings pilot", TokenBudget: 40}, hit(memory.KindFact, 1, mapmaker), hit(memory.KindFact, 1, "The pilot sleeps."))
	if len(squeezed.Citations) != 1 || !strings.HasSuffix(squeezed.Text, "…") && !strings.Contains(squeezed.Text, "sleeps") {
		t.Errorf("%s", squeezed.Text)
	}
	alone := pack(t, recall.ContextQuery{Text: "soundings pilot", TokenBudget: 40}, hit(memory.KindFact, 1, mapmaker))
	if len(alone.Citations) != 1 || !strings.HasSuffix(alone.Text, "…") || alone.Tokens < 35 {
		t.Errorf("%d tokens: %s", alone.Tokens, alone.Text)
	}
}

// What does not fit makes room for what does.
func TestSmallHitsFillTheBudget(t *testing.T) {
	t.Parallel()
	out := pack(t, recall.ContextQuery{Text: "ferry", TokenBudget: 60},
		hit(memory.KindFact, 1, "The ferry leaves at seven."), hit(memory.KindFact, 1, mapmaker), hit(memory.KindFact, 1, "The ferry is green."))
	if len(out.Citations) != 2 || !strings.Contains(out.Text, "green") {
		t.Errorf("%s", out.Text)
	}
}

// Turns of one session stand under one date, also when another session goes on
// meanwhile; the next day has a date of its own.
func TestSessionsStandTogether(t *testing.T) {
	t.Parallel()
	turn := func(session string, at int, content string) recall.Hit {
		h := hit(memory.KindMessage, at, content)
		h.Note.Attributes = map[string]any{"session": session, "role": "user"}
		return h
	}
	hits := []recall.Hit{turn("b", 10, "b ten"), turn("a", 11, "a eleven"), turn("b", 12, "b twelve"), turn("a", 9, "a nine"), turn("a", 33, "a next day")}
	for order, want := range map[recall.Order]string{
		recall.OrderTime: "## Episodes\n### Monday 2026-01-05 09:00\n[1] user: a nine\n[2] user: a eleven\n### Monday 2026-01-05 10:00\n[3] user: b ten\n[4] user: b twelve\n" +
			"### Tuesday 2026-01-06 09:00\n[5] user: a next day",
		recall.OrderRelevance: "## Episodes\n### Monday 2026-01-05 10:00\n[1] user: b ten\n### Monday 2026-01-05 11:00\n[2] user: a eleven\n### Monday 2026-01-05 12:00\n[3] user: b twelve\n" +
			"### Monday 2026-01-05 09:00\n[4] user: a nine\n### Tuesday 2026-01-06 09:00\n[5] user: a next day",
	} {
		if out := pack(t, recall.ContextQuery{Text: "a", Order: order}, hits...); out.Text != want {
			t.Errorf("by %s:\n%s", order, out.Text)
		}
	}
}
