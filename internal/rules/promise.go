package rules

import (
	"strings"
	"time"

	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// promiseForms matches promises, reports and advice of an assistant.
var promiseForms = regexp.MustCompile(`(?i)^(?:i(?:'ve| have| will|'ll|'m going to| am going to| recommend| recommended| suggest| suggested| booked| scheduled| created| sent| set up| found| ordered| updated| reserved| completed| finished| advise| promised?)\b|you should\b|(?:my|the) (?:recommendation|suggestion|advice)\b|we agreed\b)`)

// emptyPromise matches promises of nothing in particular.
var emptyPromise = regexp.MustCompile(`(?i)^i(?:'ll|'ve| will| have)(?: \w+)? (?:be happy|be glad|do my best|be here|help you|let you|keep (?:that|it|this)|remember|try|got it|noted)`)

// promisedFact returns what the assistant promises or advises, or "" if s is nothing of that
// kind.
func promisedFact(s, name string, saidAt time.Time) string {
	words := lowerWords(s)
	if !promiseForms.MatchString(s) || emptyPromise.MatchString(s) || injectedInstructions.MatchString(s) || countContentWords(words) < minContentWords {
		return ""
	}
	s = resolveDates(s, saidAt)
	tokens := tokenize(s)
	for i := range tokens {
		switch strings.ToLower(tokens[i].text) {
		case "you":
			tokens[i].text = "the user"
		case "your":
			tokens[i].text = "the user's"
		case "yours":
			tokens[i].text = "the user's"
		}
	}
	var b strings.Builder
	for _, tok := range tokens {
		b.WriteString(tok.text)
	}
	return retell(b.String(), name)
}
