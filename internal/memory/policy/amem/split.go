package amem

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// splitAnswer is the answer of "split".
type splitAnswer struct {
	Parts []string `json:"parts"`
}

// splitParts returns the two parts of a note about two unrelated concepts. It returns
// nothing for another note, for a note that is the result of a split, and when the
// answer cannot be used.
func (p *Policy) splitParts(ctx context.Context, d memory.Desk, c *Config, n *memory.Note) ([]string, error) {
	if len(n.Provenance.Sources) > 0 || len(text.Sentences(n.Content)) < 2 {
		return nil, nil
	}
	if d.Analyst() != memory.AnalystModel {
		return splitByTerms(n.Content), nil
	}
	answer, err := p.split.Ask(ctx, d, memory.Call{
		Name: "split", Temperature: c.temperature(), MaxTokens: max(c.MaxTokens, len(n.Content)), Check: policy.CheckTypes[splitAnswer], Collection: n.Collection,
	}, analyzeMaterial{Time: policy.FormatTime(n.OccurredAt), Wanted: []string{"parts"}, Content: n.Content}, 1)
	switch {
	case errors.Is(err, memory.ErrBadAnswer):
		return []string{}, nil // the note stays whole
	case err != nil:
		return nil, fmt.Errorf("split: %w", err)
	}
	var a splitAnswer
	if err := json.Unmarshal(answer.JSON, &a); err != nil {
		return nil, fmt.Errorf("split: %w: %w", memory.ErrBadAnswer, err) // the call's own check refuses it first
	}
	if !keepsWords(n.Content, a.Parts) {
		return nil, nil
	}
	return a.Parts, nil
}

// keepsWords reports whether there are two parts that use only words of the whole, and
// at least four fifths of them: an answer can divide a note, but not rewrite it.
func keepsWords(whole string, parts []string) bool {
	if len(parts) != 2 {
		return false
	}
	left := map[string]int{}
	total := 0
	for _, w := range text.Words(whole) {
		left[w]++
		total++
	}
	used := 0
	for _, part := range parts {
		words := text.Words(part)
		if len(words) == 0 {
			return false
		}
		for _, w := range words {
			if left[w] == 0 {
				return false
			}
			left[w]--
			used++
		}
	}
	return used*5 >= total*4
}

// splitByTerms is what is used without a model, in any language. It divides a text into two
// runs of at least two sentences each that share no content word. Every sentence shares
// one with another sentence of its run; a sentence that does not is small talk, no
// concept. It takes one pass over the words, because a note may have 10,000 sentences.
func splitByTerms(s string) []string {
	sentences := text.Sentences(s)
	terms := make([][]string, len(sentences))
	last := map[string]int{} // the last sentence with a word
	in := map[string]int{}   // how many sentences have it
	total := 0
	for i, sentence := range sentences {
		terms[i] = text.Terms(sentence)
		total += len(terms[i])
		for _, t := range terms[i] {
			if at, ok := last[t]; !ok || at != i {
				in[t]++
			}
			last[t] = i
		}
	}
	// Words of one run are not in the other, so a sentence that shares a word with any other
	// sentence shares it within its run.
	for _, sentence := range terms {
		if !slices.ContainsFunc(sentence, func(t string) bool { return in[t] > 1 }) {
			return nil
		}
	}
	head, reach := 0, 0 // words before the cut, and the last sentence that has one of them
	for cut := 1; cut <= len(sentences)-2; cut++ {
		head += len(terms[cut-1])
		for _, t := range terms[cut-1] {
			reach = max(reach, last[t])
		}
		if cut >= 2 && reach < cut && head >= 4 && total-head >= 4 {
			return []string{strings.Join(sentences[:cut], " "), strings.Join(sentences[cut:], " ")}
		}
	}
	return nil
}

// splitNote turns a note into two raw notes. Both name the note that was split as their
// source, and each is then processed by the policy on its own. The whole text stays in
// the history of the first.
func splitNote(n memory.Note, parts []string) memory.Decision {
	from := append(slices.Clone(n.Provenance.Sources), n.ID)
	first := notePart(n, parts[0], from)
	second := notePart(n, parts[1], from)
	second.ID, second.Key, second.Layer, second.From = uuid.Nil, "", uuid.Nil, 0
	return memory.Decision{
		Note: first, Puts: []memory.Note{second},
		Outcome: policy.Encode(&Outcome{Policy: "amem", Decision: decisionSplit}),
	}
}

func notePart(n memory.Note, content string, sources []uuid.UUID) memory.Note {
	n.Content = content
	n.State = memory.StateRaw
	n.Vector = nil
	n.Analyst = ""
	n.Provenance.Sources = sources
	if !isSupplied(&n, "keywords") {
		n.Keywords = nil
	}
	if !isSupplied(&n, "tags") {
		n.Tags = nil
	}
	if !isSupplied(&n, "context") {
		n.Context = memory.DefaultContext
	}
	return n
}
