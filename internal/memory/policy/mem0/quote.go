package mem0

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// UnmarshalJSON reads facts as texts, as the analyst gives them, or as objects with the words that say them, as a model
// is asked to.
func (e *Extraction) UnmarshalJSON(raw []byte) error {
	var lists struct {
		Facts []json.RawMessage `json:"facts"`
	}
	if err := json.Unmarshal(raw, &lists); err != nil {
		return fmt.Errorf("read the facts: %w", err)
	}
	*e = Extraction{Facts: make([]string, len(lists.Facts)), said: make([]string, len(lists.Facts)), categories: make([][]string, len(lists.Facts))}
	for i, fact := range lists.Facts {
		if json.Unmarshal(fact, &e.Facts[i]) == nil {
			continue
		}
		var q quotedFact
		if err := json.Unmarshal(fact, &q); err != nil {
			return fmt.Errorf("read the facts: %w", err)
		}
		e.Facts[i], e.said[i], e.categories[i] = q.Fact, q.Said, q.Categories
	}
	return nil
}

// quotedFact is a fact as a model answers it.
type quotedFact struct {
	Said string `json:"said"` // the words of the messages; "": not given
	Fact string `json:"fact"`
	// Categories are names that the caller of the add has chosen.
	Categories []string `json:"categories,omitempty"`
}

// quotedFacts returns the facts whose quotation is in the new messages, or that have none, and how many others there are.
// What a model says without words of the messages is seen so.
func (e *Extraction) quotedFacts(x *exchange) (facts []string, notSaid int) {
	var all strings.Builder
	for i := range x.messages {
		all.WriteString(lettersOf(x.messages[i].Content))
	}
	for i, fact := range e.Facts {
		if i < len(e.said) && !strings.Contains(all.String(), lettersOf(e.said[i])) {
			notSaid++
			continue
		}
		facts = append(facts, fact)
	}
	return facts, notSaid
}

// spareFacts is how many facts an exchange may have beyond its sentences: a sentence may say several things.
const spareFacts = 3

var mostFacts = []byte(`"maxItems": 25`)

// boundFacts returns the schema of "extract" with a bound on the number of facts that the messages can have, so that a small
// model, which fills a list as long as it may, comes to an end.
func boundFacts(schema json.RawMessage, c *Config, messages []memory.Utterance) json.RawMessage {
	most := spareFacts
	for i := range messages {
		most += len(text.Sentences(messages[i].Content))
	}
	return bytes.Replace(schema, mostFacts, fmt.Appendf(nil, `"maxItems": %d`, min(most, c.MaxFacts)), 1)
}

// lettersOf returns a text without what a quotation may change: case, spaces and punctuation, and how accents are written.
func lettersOf(s string) string {
	return strings.Map(func(r rune) rune {
		switch d := text.Digit(r); {
		case d != 0:
			return rune(d)
		case unicode.In(r, unicode.L, unicode.M, unicode.N):
			return r
		}
		return -1
	}, text.Fold(s))
}
