package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/text/quote"
)

// First lines of an answer without a model.
const (
	offlineFound   = "No model is configured; this is what memory holds:"
	offlineUnsure  = "No model is configured, and nothing in memory says this for sure. Nearest:"
	offlineNothing = "No model is configured, and memory holds nothing that belongs to this: nothing about that is known."
)

// Limits of an answer without a model.
const (
	offlineHits    = 5
	offlineNearest = 3 // of what is not surely an answer
	offlineSpare   = 3
	offlineRunes   = 300 // of each
)

// answerOffline answers with the best hits. Only the question is stored: the answer quotes memory, and
// storing it would make it quote itself.
func (s *Service) answerOffline(ctx context.Context, scope tenant.Scope, v memory.View, q *Question) (*Answer, error) {
	a := &Answer{Offline: true, Reply: offlineNothing, Revision: v.At, Citations: []recall.Citation{}}
	dialogue := dialogueQuery(q.Turns)
	if len(dialogue) == 0 {
		return a, nil
	}
	found, err := s.search(ctx, scope, v, dialogue)
	if err != nil {
		return nil, err
	}
	sure := belongs(&found, q)
	if len(found.Hits) == 0 || !sure {
		// Where a policy recalls only what it has learned, what was just said is in the messages.
		said, err := s.search(ctx, scope, v, dialogue, memory.KindMessage)
		if err != nil {
			return nil, err
		}
		if fits := belongs(&said, q); len(found.Hits) == 0 || len(said.Hits) > 0 && fits {
			found, sure = said, fits
		}
	}
	a.Degraded, a.Answerable = found.Degraded, found.Answerable
	first, most := offlineFound, offlineHits
	switch {
	case sure:
	case q.MinAnswerable != nil || *found.Answerable == 0: // the caller asked for better, or nothing in the question can be matched
		a.Withheld = "what was found hardly belongs to the question"
		return a, nil
	default:
		first, most = offlineUnsure, offlineNearest
	}
	var b strings.Builder
	b.WriteString(first + "\n")
	for i := range found.Hits[:min(most, len(found.Hits))] {
		n := &found.Hits[i].Note.Note
		content := n.Content
		if p := found.Hits[i].Passage; p != nil {
			content = content[p.Start:p.End]
		}
		a.Citations = append(a.Citations, recall.Cite(n))
		day := memory.Day(n.OccurredAt)
		fmt.Fprintf(&b, "\n[%d] %s: %s", len(a.Citations), day, clip.Runes(oneLine(quote.WithoutDay(content, n.OccurredAt)), offlineRunes))
	}
	if len(a.Citations) > 0 {
		a.Reply = b.String()
		a.Tokens = search.EstimateTokens(a.Reply)
	}
	return a, nil
}

// search returns the best hits, without messages that only ask: these are similar to the question and answer nothing, so
// that more hits are fetched.
func (s *Service) search(ctx context.Context, scope tenant.Scope, v memory.View, dialogue []recall.Message, kinds ...memory.Kind) (recall.Result, error) {
	query := recall.Query{Messages: dialogue, K: offlineHits + offlineSpare}
	if len(kinds) > 0 { // else those of the policy
		query.Filter = memory.OfKinds(kinds...)
	}
	found, err := s.recall.Search(ctx, scope, v, query)
	found.Hits = slices.DeleteFunc(found.Hits, func(h recall.Hit) bool {
		return h.Note.Kind == memory.KindMessage && onlyQuestions(h.Note.Content)
	})
	return found, err
}

// Without a model nobody judges what was found, so the nearest note is not a reply by being the nearest. What shares no word
// with the question but names has to match it better than offlineMin, which was chosen on the questions of seven
// conversations and on sentences of our own in Chinese.
const offlineMin = 0.5

// belongs reports whether what was found can be shown as what memory holds about the question.
func belongs(found *recall.Result, q *Question) bool {
	switch {
	case found.Answerable == nil:
		return true
	case q.MinAnswerable != nil:
		return *found.Answerable >= *q.MinAnswerable
	}
	return *found.Answerable >= offlineMin || sharesWords(q.Turns[len(q.Turns)-1].Content, found.Hits)
}

// sharesWords reports whether a hit has a word of the question that is not a name of a speaker.
func sharesWords(question string, hits []recall.Hit) bool {
	wanted := text.TermSet(question)
	for i := range hits {
		n := &hits[i].Note.Note
		for _, key := range []string{memory.AttrName, "speaker"} {
			name, _ := n.Attributes[key].(string)
			for _, t := range text.Terms(name) {
				delete(wanted, t)
			}
		}
	}
	return slices.ContainsFunc(hits, func(h recall.Hit) bool {
		return slices.ContainsFunc(text.Terms(h.Note.Content), func(t string) bool { return wanted[t] })
	})
}

// onlyQuestions reports whether a text has only questions.
func onlyQuestions(s string) bool {
	return !slices.ContainsFunc(text.Sentences(s), func(sentence string) bool {
		sentence = strings.TrimRightFunc(sentence, func(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '”' })
		return !strings.HasSuffix(sentence, "?") && !strings.HasSuffix(sentence, "？")
	})
}

// oneLine returns a text in one line, without invisible characters.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}
