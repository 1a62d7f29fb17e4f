package contexts_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall/contexts"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/test/must"
)

// C145: with any fixed notes and any budget, the text has the reported number of tokens, stays
// within the budget, and has every mark once.
func TestFixedNotesKeepTheBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := contexts.Request{
			Query:    rapid.SampledFrom(pieces[:14]).Draw(t, "query"),
			Budget:   rapid.OneOf(rapid.IntRange(1, 200), rapid.IntRange(1, 4000)).Draw(t, "budget"),
			Order:    rapid.SampledFrom([]contexts.Order{contexts.OrderTime, contexts.OrderRelevance}).Draw(t, "order"),
			Encoding: rapid.SampledFrom(search.Encodings()).Draw(t, "encoding"),
			Details:  true,
			ByDate:   rapid.Bool().Draw(t, "by date"),
			Hits:     drawHits(t),
		}
		for _, h := range drawHits(t) {
			h.Note.Kind = memory.KindMessage
			r.Recent = append(r.Recent, *h.Note)
		}
		for _, h := range drawHits(t) {
			h.Note.Attributes = map[string]any{"reply_strategy": rapid.SampledFrom(pieces).Draw(t, "strategy")}
			r.Pinned = append(r.Pinned, *h.Note)
		}
		if len(r.Recent) > 0 && rapid.Bool().Draw(t, "found as well") {
			r.Hits = append(r.Hits, contexts.Hit{Note: new(r.Recent[0])})
		}
		out := must.Get(contexts.Write(t.Context(), &r))(t)
		n := must.Get(r.Encoding.Count(out.Text))(t)
		if n != out.Tokens || n > r.Budget {
			t.Fatalf("says %d tokens of %d in %s, has %d:\n%s", out.Tokens, r.Budget, r.Encoding, n, out.Text)
		}
		seen := map[uuid.UUID]bool{}
		for i, c := range out.Citations {
			if seen[c.Note] {
				t.Fatalf("a note is cited twice:\n%s", out.Text)
			}
			seen[c.Note] = true
			if mark := fmt.Sprintf("\n[%d] ", i+1); strings.Count(out.Text, mark) != 1 {
				t.Fatalf("%q is not there once:\n%s", mark, out.Text)
			}
		}
	})
}

// At every budget from 200 tokens a context shows how to answer a person, and then the portrait, beside what was found.
func TestPortraitAtEveryBudget(t *testing.T) {
	t.Parallel()
	for name, said := range map[string]struct{ strategy, portrait, history, message string }{
		"english": {
			"Answer warmly and ask what Ann thinks. " + strings.Repeat("Take her worries seriously, and offer comfort before advice. ", 5),
			"Ann comes across as anxious and kind. " + strings.Repeat("She often speaks of her exams, of her mother, and of a garden by the sea. ", 12),
			strings.Repeat("2023-05-01: Ann failed an exam and planted roses. ", 40), "I planted roses and read about bees again, and it rained all day in the garden. ",
		},
		"chinese": {
			"温柔地回答，先安慰，再给建议。" + strings.Repeat("认真对待她的担忧，多问她的想法。", 8), "小安给人的印象是细心、敏感。" + strings.Repeat("她常常谈到考试、母亲和海边的花园。", 30),
			strings.Repeat("2023-05-01：小安考试没有通过，种了玫瑰。", 30), "我今天种了玫瑰，又读了关于蜜蜂的书，花园里下了一整天的雨。",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			portrait := *hit(memory.KindProfile, 1, said.portrait).Note
			portrait.Attributes = map[string]any{"reply_strategy": said.strategy}
			meta := *hit(memory.KindProfile, 1, "name: Ann; hobbies: gardening").Note
			history := *hit(memory.KindSummary, 1, said.history).Note
			r := contexts.Request{Query: "roses", Pinned: []memory.Note{portrait, meta, history}, Order: contexts.OrderTime, ByDate: true}
			for range 30 {
				r.Hits = append(r.Hits, hit(memory.KindMessage, 2, said.message+uuid.NewString()))
			}
			for _, encoding := range search.Encodings() {
				r.Encoding = encoding
				for r.Budget = 200; r.Budget <= 4000; r.Budget += 50 + r.Budget/4 {
					out := must.Get(contexts.Write(t.Context(), &r))(t)
					strategy := strings.Index(out.Text, string([]rune("reply strategy: " + said.strategy)[:24]))
					shown := strings.Index(out.Text, string([]rune(said.portrait)[:8]))
					if strategy < 0 || shown < strategy {
						t.Errorf("%d tokens of %s: the strategy is at %d, the portrait at %d:\n%s", r.Budget, encoding, strategy, shown, out.Text)
					}
					if !strings.Contains(out.Text, string([]rune(said.message)[:8])) {
						t.Errorf("%d tokens show nothing of what was found", r.Budget)
					}
				}
			}
		})
	}
}

// By date, daily summaries and the other messages of exchanges leave a small budget to the messages that were found,
// and get what these leave of a large one. The history is shown beside the portrait.
func TestFoundMessagesComeFirst(t *testing.T) {
	t.Parallel()
	portrait := *hit(memory.KindProfile, 1, strings.Repeat("Ann is kind and often speaks of her garden. ", 20)).Note
	portrait.Attributes = map[string]any{"reply_strategy": "Be warm."}
	history := *hit(memory.KindSummary, 1, strings.Repeat("Ann planted roses. ", 60)).Note
	r := contexts.Request{
		Query: "bees", Pinned: []memory.Note{portrait, history}, Order: contexts.OrderTime, Encoding: search.Encodings()[0], ByDate: true,
	}
	for i := range 20 {
		besides := hit(memory.KindMessage, 2, fmt.Sprintf("Answer %d is that one may always ask a neighbor about such a thing.", i))
		besides.Beside = true
		r.Hits = append(r.Hits,
			hit(memory.KindSummary, 2, fmt.Sprintf("Summary %d is about the bees of the town and all that they did.", i)),
			hit(memory.KindMessage, 2, fmt.Sprintf("Message %d is about bees in the garden and the house.", i)), besides)
	}
	count := func(budget int) (found, others int, text string) {
		r.Budget = budget
		out := must.Get(contexts.Write(t.Context(), &r))(t)
		return strings.Count(out.Text, "Message "), strings.Count(out.Text, "Summary ") + strings.Count(out.Text, "Answer "), out.Text
	}
	if found, others, text := count(400); found < 12 || others > 3 || !strings.Contains(text, "planted roses") {
		t.Errorf("400 tokens show %d messages that were found and %d others:\n%s", found, others, text)
	}
	if found, others, text := count(4000); found != 20 || others != 40 {
		t.Errorf("4,000 tokens show %d messages that were found and %d others:\n%s", found, others, text)
	}
}

// What a summary does not show does not hide the message that says it.
func TestOnlyShownSentencesHide(t *testing.T) {
	t.Parallel()
	said := hit(memory.KindMessage, 1, "The ferry to the island leaves at seven from the old harbor.")
	summary := hit(memory.KindSummary, 1, "Ann bought honey at the market. The ferry to the island leaves at seven from the old harbor. "+strings.Repeat("It rained. ", 80))
	summary.Note.Provenance.Sources = []uuid.UUID{said.Note.ID}
	out := must.Get(contexts.Write(t.Context(), &contexts.Request{
		Query: "honey market", Budget: 400, Order: contexts.OrderTime, Encoding: search.Encodings()[0], ByDate: true, Hits: []contexts.Hit{summary, said},
	}))(t)
	if !strings.Contains(out.Text, "honey") || !slices.ContainsFunc(out.Notes, func(n memory.Note) bool { return n.ID == said.Note.ID }) {
		t.Errorf("%s", out.Text)
	}
}

// A pinned statement has no heading with its date, so its line says since when it holds, unless its text does.
func TestPinnedStatementsSaySinceWhen(t *testing.T) {
	t.Parallel()
	knows := hit(memory.KindKnowledge, 1, "The user lives in Lisbon").Note
	knows.Attributes = map[string]any{memory.AttrConfidence: 0.6}
	quoted := hit(memory.KindKnowledge, 1, "Nora, 2026-01-05: “I work as a nurse.”").Note
	portrait := hit(memory.KindProfile, 1, "Nora is curious.").Note
	east := hit(memory.KindFact, 1, "The user works in Osaka").Note // in the night, where its writer is
	east.OccurredAt = time.Date(2026, 3, 1, 2, 0, 0, 0, time.FixedZone("", 9*3600))
	out := write(t, contexts.Request{Query: "Nora", Details: true, Pinned: []memory.Note{*knows, *quoted, *portrait, *east}})
	for _, want := range []string{"] The user lives in Lisbon (since 2026-01-05, confidence 0.60)\n", "] The user works in Osaka (since 2026-03-01)", "“I work as a nurse.”", "] Nora is curious."} {
		if !strings.Contains(out.Text, want) {
			t.Errorf("no %q in\n%s", want, out.Text)
		}
	}
	if strings.Count(out.Text, "since") != 2 {
		t.Errorf("a date is said twice:\n%s", out.Text)
	}
}
