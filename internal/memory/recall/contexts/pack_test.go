package contexts_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall/contexts"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/test/must"
)

// pieces are texts of many scripts, and texts that could break the frame.
var pieces = []string{
	"tide", "harbour", "Ada:", "assistant:", "潮汐表", "灯台の", "조수", "прилив", "παλίρροια", "المد", "גאות", "ज्वार", "น้ำขึ้นน้ำลง", "thủy triều",
	"👩‍👩‍👧‍👦", "🏴\U000e0067\U000e0062\U000e007f", "e\u0301\u0323", "zero\u200bwidth", "\u202eback", "\ufeff", "\x07", "\x1b[31m", "tab\there",
	"\n", "\r\n", "\r", "\u2028", "\u0085", "\v", "\n\n\n", "\n## Facts\n", "\n### Monday 2026-01-05\n", "\n[1] ", "[2]", "[12345678901234567890]", "[a]",
	"a[1]", `\[3]`, "<|im_start|>system", "<|", "```", "    # not a heading", "…", "...", "1234567890", "https://example.org/a/b?c=d#e",
	"A sentence ends here.", "Why?", strings.Repeat("x", 3000), strings.Repeat("海", 900), strings.Repeat("pier and boat. ", 60), strings.Repeat("\n- item", 40), " ", "  ",
}

func drawHits(t *rapid.T) []contexts.Hit {
	hits := make([]contexts.Hit, rapid.IntRange(0, 12).Draw(t, "hits"))
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
		hits[i] = contexts.Hit{Note: &n}
	}
	return hits
}

func drawContext(t *rapid.T) (contexts.Request, contexts.Result) {
	r := contexts.Request{
		Query:    rapid.SampledFrom(pieces[:14]).Draw(t, "query"),
		Budget:   rapid.OneOf(rapid.IntRange(1, 60), rapid.IntRange(1, 4000)).Draw(t, "budget"),
		Order:    rapid.SampledFrom([]contexts.Order{contexts.OrderTime, contexts.OrderRelevance}).Draw(t, "order"),
		Encoding: rapid.SampledFrom(search.Encodings()).Draw(t, "encoding"),
		Hits:     drawHits(t),
	}
	out := must.Get(contexts.Write(t.Context(), &r))(t)
	return r, out
}

// C145: with any texts and any budget, the text has the reported number of tokens and stays within
// the budget.
func TestContextKeepsItsBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r, out := drawContext(t)
		n := must.Get(r.Encoding.Count(out.Text))(t)
		if n != out.Tokens || n > r.Budget {
			t.Fatalf("says %d tokens of %d in %s, has %d:\n%s", out.Tokens, r.Budget, r.Encoding, n, out.Text)
		}
	})
}

var (
	partLine = regexp.MustCompile(`^## (Blocks|Profile|Knowledge|Summaries|Entities|Facts|Notes|Passages|Episodes)$`)
	dateLine = regexp.MustCompile(`^### [A-Z][a-z]+day 2026-01-0\d( \d\d:\d\d UTC)?$`)
	noteLine = regexp.MustCompile(`^\[(\d+)\] \S`)
	nextLine = regexp.MustCompile(`^    \s*\S`)
	anyMark  = regexp.MustCompile(`(?:^|[^\\])\[\d+\]`)
)

// No content produces a line of the frame, a mark or an invisible character: every line has the form
// of the frame, and marks count up.
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
						t.Fatalf("%q is in the place of %q", l, mark)
					}
					rest = l[len(mark):]
				case nextLine.MatchString(l):
				default:
					t.Fatalf("%q is not a line of the frame:\n%s", l, out.Text)
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
func hit(kind memory.Kind, at int, content string) contexts.Hit {
	n := memory.Note{ID: uuid.Must(uuid.NewV7()), Kind: kind, Content: content, OccurredAt: time.Date(2026, 1, 5, at, 0, 0, 0, time.UTC)}
	return contexts.Hit{Note: &n}
}

// write writes a context of hits; by default of 2,000 tokens, in the order of time.
func write(t *testing.T, r contexts.Request, hits ...contexts.Hit) contexts.Result {
	t.Helper()
	r.Budget, r.Order, r.Encoding, r.Hits = cmp.Or(r.Budget, 2000), cmp.Or(r.Order, contexts.OrderTime), search.O200k, hits
	out := must.Get(contexts.Write(t.Context(), &r))(t)
	return out
}

func TestEveryKindHasItsPart(t *testing.T) {
	t.Parallel()
	for _, k := range append(memory.Kinds(), "a kind to come") {
		out := write(t, contexts.Request{Query: "a"}, hit(k, 1, "a"))
		if len(out.Parts) != 1 || len(out.Citations) != 1 {
			t.Errorf("%s: %+v", k, out)
		}
	}
}

// Repeated text is shown once, in the words of the best hit. Text that says more, or is too short to
// be a quotation, is shown.
func TestContextSaysThingsOnce(t *testing.T) {
	t.Parallel()
	q := contexts.Request{Query: "ferry", Order: contexts.OrderRelevance}
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
		"another sign":    {"I ❤️ the ferry in winter", "I 💔 the ferry in winter", 2},
		"another program": {"The ferry runs on C++ at sea", "The ferry runs on C# at sea", 2},
		"quoted, a sign":  {"Ben said that the ferry is +5 late today, or so.", "the ferry is 5 late today", 1},
		"says a sign":     {"Ben said that the ferry is 5 late today, or so.", "the ferry is 5% late today", 2},
		"signs, no word":  {"🛳️", "🛳️🛳️", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := write(t, q, hit(memory.KindFact, 1, tt.first), hit(memory.KindFact, 2, tt.second))
			if len(out.Citations) != tt.shown || !strings.Contains(out.Text, tt.first) {
				t.Errorf("%s", out.Text)
			}
		})
	}
}

// leaving is a context that ends after Err was called a number of times.
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

// Writing stops when the caller has left, both while notes are chosen and while they use the rest of
// the budget.
func TestContextEndsWithItsCaller(t *testing.T) {
	t.Parallel()
	r := contexts.Request{
		Query: "soundings pilot", Budget: 3000, Encoding: search.O200k, Order: contexts.OrderTime,
		Hits: []contexts.Hit{hit(memory.KindMessage, 1, mapmaker), hit(memory.KindMessage, 2, "Another long one. "+mapmaker)},
	}
	for asks := range 4 {
		if _, err := contexts.Write(&leaving{t.Context(), asks}, &r); !fault.Is(err, fault.Timeout) || !errors.Is(err, context.Canceled) {
			t.Errorf("after %d looks: %v", asks, err)
		}
	}
	if _, err := contexts.Write(&leaving{t.Context(), 4}, &r); err != nil {
		t.Error(err)
	}
}

// Of a long text, the passages that match are shown, and all of it if nothing else needs the room.
func TestLongTextsAreCut(t *testing.T) {
	t.Parallel()
	tight := write(t, contexts.Request{Query: "soundings pilot", Budget: 150}, hit(memory.KindMessage, 1, "assistant: "+mapmaker))
	if len(tight.Citations) != 1 || !strings.Contains(tight.Text, "[1] assistant: … ") || !strings.Contains(tight.Text, "pilot Marisol") || strings.Contains(tight.Text, "four sheets") {
		t.Errorf("%s", tight.Text)
	}
	found := hit(memory.KindMessage, 1, mapmaker)
	at := strings.Index(mapmaker, "New sheets")
	found.Passage = &text.Span{Start: at, End: len(mapmaker)}
	if out := write(t, contexts.Request{Query: "soundings pilot", Budget: 150}, found); !strings.Contains(out.Text, "pencil counts") {
		t.Errorf("the passage that the search found is left out: %s", out.Text)
	}
	wide := write(t, contexts.Request{Query: "soundings pilot"}, hit(memory.KindMessage, 1, "assistant: "+mapmaker))
	if !strings.Contains(wide.Text, mapmaker) || strings.Contains(wide.Text, "…") {
		t.Errorf("%s", wide.Text)
	}
	squeezed := write(t, contexts.Request{Query: "soundings pilot", Budget: 40}, hit(memory.KindFact, 1, mapmaker), hit(memory.KindFact, 1, "The pilot sleeps."))
	if len(squeezed.Citations) != 1 || !strings.HasSuffix(squeezed.Text, "…") && !strings.Contains(squeezed.Text, "sleeps") {
		t.Errorf("%s", squeezed.Text)
	}
	alone := write(t, contexts.Request{Query: "soundings pilot", Budget: 40}, hit(memory.KindFact, 1, mapmaker))
	if len(alone.Citations) != 1 || !strings.HasSuffix(alone.Text, "…") || alone.Tokens < 35 {
		t.Errorf("%d tokens: %s", alone.Tokens, alone.Text)
	}
}

// A hit that does not fit is skipped, and smaller ones are shown.
func TestSmallHitsFillTheBudget(t *testing.T) {
	t.Parallel()
	out := write(t, contexts.Request{Query: "ferry", Budget: 60},
		hit(memory.KindFact, 1, "The ferry leaves at seven."), hit(memory.KindFact, 1, mapmaker), hit(memory.KindFact, 1, "The ferry is green."))
	if len(out.Citations) != 2 || !strings.Contains(out.Text, "green") {
		t.Errorf("%s", out.Text)
	}
}

// Turns of one session share a date heading within an hour, also when another session overlaps it. What is said later has
// a heading of its own.
func TestSessionsShareAHeading(t *testing.T) {
	t.Parallel()
	turn := func(session string, at int, content string) contexts.Hit {
		h := hit(memory.KindMessage, at/2, content)
		h.Note.OccurredAt = h.Note.OccurredAt.Add(time.Duration(at%2) * 30 * time.Minute)
		h.Note.Attributes = map[string]any{"session": session, "role": "user"}
		return h
	}
	hits := []contexts.Hit{turn("b", 20, "b ten"), turn("a", 19, "a later"), turn("b", 22, "b eleven"), turn("a", 18, "a nine"), turn("b", 24, "b noon"), turn("a", 66, "a next day")}
	for order, want := range map[contexts.Order]string{
		contexts.OrderTime: "## Episodes\n### Monday 2026-01-05 09:00 UTC\n[1] user: a nine\n[2] user: a later\n### Monday 2026-01-05 10:00 UTC\n[3] user: b ten\n[4] user: b eleven\n" +
			"### Monday 2026-01-05 12:00 UTC\n[5] user: b noon\n### Tuesday 2026-01-06 09:00 UTC\n[6] user: a next day",
		contexts.OrderRelevance: "## Episodes\n### Monday 2026-01-05 10:00 UTC\n[1] user: b ten\n### Monday 2026-01-05 09:30 UTC\n[2] user: a later\n### Monday 2026-01-05 11:00 UTC\n[3] user: b eleven\n" +
			"### Monday 2026-01-05 09:00 UTC\n[4] user: a nine\n### Monday 2026-01-05 12:00 UTC\n[5] user: b noon\n### Tuesday 2026-01-06 09:00 UTC\n[6] user: a next day",
	} {
		if out := write(t, contexts.Request{Query: "a", Order: order}, hits...); out.Text != want {
			t.Errorf("by %s:\n%s", order, out.Text)
		}
	}
}

const mapmaker = "The map of the estuary was drawn in four sheets by the harbour office. Copies hang in the hall, and the sailors use them daily. " +
	"The paper is thick and yellow, bought from a mill upriver that closed long ago. The frames were made by the carpenter from old ship's planks. " +
	"Nobody remembers who paid for the glass, which is greenish and full of bubbles. The lamps above them were added after the big storm. " +
	"A second set is kept in a tin chest under the stairs, wrapped in oilcloth. It smells of tar, and moths have never touched it. " +
	"Visitors are shown the first set only, unless they ask for the other one by name. The keeper likes being asked and tells the story well. " +
	"The soundings in the north channel are wrong by two fathoms, as the pilot Marisol found out in spring. She wrote the right ones on the margin in pencil. " +
	"The clerk wanted to rub them out. The harbour master forbade it and signed beside each figure. " +
	"New sheets have been promised by the survey for years. They will come when the survey has a boat, a surveyor, and fine weather in the same week. " +
	"Until then the pencil counts, and every apprentice learns to read it before anything else is taught."

// A fact and the message that it was derived from are both shown only if the second of them says more.
func TestContextOfFactsAndTheirMessages(t *testing.T) {
	t.Parallel()
	message := hit(memory.KindMessage, 1, "I live in Lisbon near the harbour now.")
	fact := hit(memory.KindFact, 1, "Nora lives in Lisbon near the harbour.")
	fact.Note.Provenance.Sources = []uuid.UUID{message.Note.ID}
	long := hit(memory.KindMessage, 2, "My sister Clara came on Friday with her three dogs, and we walked along the beach until it was dark.")
	thin := hit(memory.KindFact, 2, "Nora has a sister Clara.")
	thin.Note.Provenance.Sources = []uuid.UUID{long.Note.ID}
	other := hit(memory.KindMessage, 3, "She lives in Lisbon near the harbour as well, says Tom.")
	for name, tt := range map[string]struct {
		hits []contexts.Hit
		want []uuid.UUID
	}{
		"a fact, then its message":      {[]contexts.Hit{fact, message}, []uuid.UUID{fact.Note.ID}},
		"a message, then its fact":      {[]contexts.Hit{message, fact}, []uuid.UUID{message.Note.ID}},
		"a message that says more":      {[]contexts.Hit{thin, long}, []uuid.UUID{thin.Note.ID, long.Note.ID}},
		"another message":               {[]contexts.Hit{fact, other}, []uuid.UUID{fact.Note.ID, other.Note.ID}},
		"a fact of a message not shown": {[]contexts.Hit{fact, thin}, []uuid.UUID{fact.Note.ID, thin.Note.ID}},
	} {
		if got := write(t, contexts.Request{Query: "Nora", Budget: 500, Order: contexts.OrderRelevance}, tt.hits...).Recalled; !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// A quotation repeats its message despite its frame, also where the message is one of the newest. A copy in the
// episodic layer stands for its message.
func TestContextOfQuotationsAndTheirMessages(t *testing.T) {
	t.Parallel()
	message := hit(memory.KindMessage, 1, "I live in Lisbon near the harbour now.")
	quotation := hit(memory.KindFact, 1, "“Where do you live?” – Nora, 2026-01-05: “I live in Lisbon near the harbour now.”")
	quotation.Note.Provenance.Sources = []uuid.UUID{message.Note.ID}
	copied := hit(memory.KindMessage, 2, "My sister Clara has three dogs.")
	episode := uuid.Must(uuid.NewV7())
	copied.Note.Attributes = map[string]any{"episode_id": episode.String()}
	abstract := hit(memory.KindKnowledge, 2, "Nora, 2026-01-05: “My sister Clara has three dogs.”")
	abstract.Note.Provenance.Sources = []uuid.UUID{episode}
	for name, hits := range map[string][]contexts.Hit{
		"a message, then its quotation":             {message, quotation},
		"a quotation, then its message":             {quotation, message},
		"a message, then an abstract of its copy":   {copied, abstract},
		"an abstract, then the message of its copy": {abstract, copied},
	} {
		if got := write(t, contexts.Request{Query: "Nora", Order: contexts.OrderRelevance}, hits...).Recalled; !slices.Equal(got, []uuid.UUID{hits[0].Note.ID}) {
			t.Errorf("%s: %v is shown", name, got)
		}
	}
	if out := write(t, contexts.Request{Query: "Nora", Recent: []memory.Note{*message.Note}}, quotation); len(out.Recalled) > 0 {
		t.Errorf("what a recent message says is quoted:\n%s", out.Text)
	}
}

// A quotation is shown without its date where the heading says it, and with it where the heading is of another day.
func TestQuotationsShowTheirDateOnce(t *testing.T) {
	t.Parallel()
	out := write(t, contexts.Request{Query: "Nora"}, hit(memory.KindFact, 1, "Nora, 2026-01-05: “I live in Lisbon.”"), hit(memory.KindFact, 2, "Nora, 2026-01-04: “我住在北京。”"))
	for _, want := range []string{"### Monday 2026-01-05", "] Nora: “I live in Lisbon.”", "] Nora, 2026-01-04: “我住在北京。”"} {
		if !strings.Contains(out.Text, want) {
			t.Errorf("no %q in\n%s", want, out.Text)
		}
	}
}

// Facts about the same thing are together, the newest first, also where the messages that they quote were found before them, or one of
// these is among the recent ones.
func TestFactsAboutTheSameAreTogether(t *testing.T) {
	t.Parallel()
	said := []contexts.Hit{hit(memory.KindMessage, 1, "I live in Rotterdam, near the harbor."), hit(memory.KindMessage, 2, "I live in Copenhagen now, in a small flat.")}
	var facts []contexts.Hit
	for i := range said {
		f := hit(memory.KindFact, i+1, "Nora: “"+said[i].Note.Content+"”")
		f.Note.Provenance.Sources = []uuid.UUID{said[i].Note.ID}
		facts = append(facts, f)
	}
	for _, h := range [][]contexts.Hit{facts, said} {
		for i := range h {
			h[i].About = said[1].Note.ID
		}
	}
	other := hit(memory.KindFact, 3, "Nora: “My sister plays the cello.”")
	for name, r := range map[string]contexts.Request{
		"messages first":    {Hits: []contexts.Hit{said[1], said[0], facts[1], facts[0], other}},
		"one of each first": {Hits: []contexts.Hit{said[1], facts[0], said[0], facts[1], other}},
		"recent":            {Hits: []contexts.Hit{facts[1], facts[0], said[0], other}, Recent: []memory.Note{*said[1].Note}},
	} {
		r.Query, r.Budget, r.Encoding, r.Order = "Where do I live?", 500, search.Encodings()[0], contexts.OrderTime
		out := must.Get(contexts.Write(t.Context(), &r))(t)
		newer, older := strings.Index(out.Text, "Nora: “I live in Copenhagen"), strings.Index(out.Text, "I live in Rotterdam")
		if newer < 0 || older < newer || strings.Count(out.Text, "Rotterdam") != 1 || strings.Contains(out.Text[newer:older], "cello") {
			t.Errorf("%s:\n%s", name, out.Text)
		}
	}
}

// An answer is shown with its question, or not at all: also when the question repeats what the dialogue, a fact or another exchange says,
// in any order of the hits, and among the recent messages. A budget without room for any hit shows the beginning of the best one.
func TestAnswerHasItsQuestion(t *testing.T) {
	t.Parallel()
	said := func(turn, role, content string) contexts.Hit {
		h := hit(memory.KindMessage, 1, content)
		h.Note.Attributes = map[string]any{memory.AttrTurn: turn, memory.AttrRole: role}
		return h
	}
	q1, a1 := said("1", "user", "Which plants grow in the shade?"), said("1", "assistant", "Ferns and hostas do.")
	q2, a2 := said("2", "user", "Which plants grow in the shade?"), said("2", "assistant", "Ivy, if you let it. "+strings.Repeat("It climbs. ", 5))
	fact := hit(memory.KindFact, 1, "Which plants grow in the shade, the user asks.")
	fact.Note.Provenance.Sources = []uuid.UUID{q2.Note.ID}
	for name, r := range map[string]contexts.Request{
		"another exchange": {Hits: []contexts.Hit{q1, a1, q2, a2}},
		"answer first":     {Hits: []contexts.Hit{q1, a1, a2, q2}},
		"a fact":           {Hits: []contexts.Hit{fact, q2, a2}},
		"the dialogue":     {Hits: []contexts.Hit{q2, a2}, Dialogue: []string{q2.Note.Content}},
		"recent":           {Recent: []memory.Note{*a2.Note, *q2.Note}, Dialogue: []string{q2.Note.Content}},
		"recent and found": {Hits: []contexts.Hit{a2}, Recent: []memory.Note{*q2.Note}, Dialogue: []string{q2.Note.Content}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.Query, r.Encoding, r.Order = "shade", search.Encodings()[0], contexts.OrderTime
			for r.Budget = 80; r.Budget <= 600; r.Budget += 20 {
				out := must.Get(contexts.Write(t.Context(), &r))(t)
				shows := func(id uuid.UUID) bool {
					return slices.ContainsFunc(out.Notes, func(n memory.Note) bool { return n.ID == id })
				}
				if answer := shows(a2.Note.ID); answer && !shows(q2.Note.ID) && r.Hits != nil {
					t.Fatalf("%d tokens show an answer alone:\n%s", r.Budget, out.Text)
				} else if r.Budget == 600 && (!answer || !shows(q2.Note.ID)) {
					t.Fatalf("not all is shown:\n%s", out.Text)
				}
			}
		})
	}
}
