package chat

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
)

// First lines of an answer without a model.
const (
	offlineFound   = "No model is configured; this is what memory holds:"
	offlineNothing = "No model is configured, and memory holds nothing that belongs to this."
)

// Limits of an answer without a model.
const (
	offlineHits  = 5
	offlineSpare = 3
	offlineRunes = 300 // of each
)

// answerOffline answers with the best hits. Only the question is stored: the answer quotes memory, and
// storing it would make it quote itself.
func (s *Service) answerOffline(ctx context.Context, scope tenant.Scope, v memory.View, turns []Turn) (*Answer, error) {
	a := &Answer{Offline: true, Reply: offlineNothing, Revision: v.At, Citations: []recall.Citation{}}
	dialogue := dialogueQuery(turns)
	if len(dialogue) == 0 {
		return a, nil
	}
	// More hits are fetched, because stored questions are similar to this one and answer nothing.
	found, err := s.recall.Search(ctx, scope, v, recall.Query{Messages: dialogue, K: offlineHits + offlineSpare})
	if err != nil {
		return nil, err
	}
	a.Degraded = found.Degraded
	var b strings.Builder
	b.WriteString(offlineFound + "\n")
	for i := range found.Hits {
		n := &found.Hits[i].Note.Note
		content := n.Content
		if n.Kind == memory.KindMessage && onlyQuestions(content) {
			continue
		}
		if len(a.Citations) == offlineHits {
			break
		}
		if p := found.Hits[i].Passage; p != nil {
			content = content[p.Start:p.End]
		}
		a.Citations = append(a.Citations, recall.Citation{Note: n.ID, Revision: n.From})
		fmt.Fprintf(&b, "\n[%d] %s: %s", len(a.Citations), n.OccurredAt.UTC().Format("2006-01-02"), clip(oneLine(content), offlineRunes))
	}
	if len(a.Citations) > 0 {
		a.Reply = b.String()
		a.Tokens = search.EstimateTokens(a.Reply)
	}
	return a, nil
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
