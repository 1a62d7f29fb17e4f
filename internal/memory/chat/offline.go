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

// What an answer without a model begins with: it says what it is.
const (
	offlineFound   = "No model is configured; this is what memory holds:"
	offlineNothing = "No model is configured, and memory holds nothing that belongs to this."
)

// Bounds of an answer without a model.
const (
	offlineHits  = 5
	offlineSpare = 3
	offlineRunes = 300 // of each
)

// offline answers with the best hits as they are. The question alone is to be
// remembered: the answer quotes memory, which would only quote itself next time.
func (s *Service) offline(ctx context.Context, scope tenant.Scope, v memory.View, turns []Turn) (*Answer, error) {
	a := &Answer{Offline: true, Reply: offlineNothing, Revision: v.At, Citations: []recall.Citation{}}
	dialogue := asked(turns)
	if len(dialogue) == 0 {
		return a, nil
	}
	// Some more, since questions that were remembered are like this one and answer nothing.
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
		if n.Kind == memory.KindMessage && asks(content) {
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

// asks tells whether all that a text says is questions.
func asks(s string) bool {
	return !slices.ContainsFunc(text.Sentences(s), func(sentence string) bool {
		sentence = strings.TrimRightFunc(sentence, func(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '”' })
		return !strings.HasSuffix(sentence, "?") && !strings.HasSuffix(sentence, "？")
	})
}

// oneLine gives a text in a line, without what is not to be seen.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}
