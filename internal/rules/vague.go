package rules

import (
	"strings"

	"github.com/slipboxhq/slipbox/internal/grammar"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file finds sentences that name something and still say nothing: fragments, passing states in
// set words, offers of what the chat will show, and steps of a recipe.

// passing matches set expressions for a state of mind or a course of things that passes. They are
// idioms, so no rule of grammar tells them from what they would mean word by word.
var passing = regexp.MustCompile(`(?i)\b(?:` +
	`(?:find|finding|found) (?:my|our) (?:zen|groove|rhythm|footing|feet|flow|mojo|way)|(?:chugging|plugging|trucking|plodding|muddling) (?:along|away|through)|` +
	`on an? (?:\p{L}+ )?(?:high|roll|streak)|(?:hit|hitting) an? (?:\p{L}+ )?(?:wall|snag|low|nerve|bump|slump|sore spot|rough patch)|in an? (?:\p{L}+ )?(?:rut|slump|funk|headspace|mood)|` +
	`(?:my|our) (?:worries|stress|troubles|doubts|fears)(?: just| all| simply)* (?:disappear|vanish|melt|fade|fly|go)|(?:ended up|spent the (?:day|evening|night)) laughing|` +
	`(?:dig|dug|digging) deep|(?:keep|kept|keeping)(?: on)? pushing|(?:keep|keeping|kept|take|taking) (?:it|things) (?:light|simple|low-key|easy|slow)|` +
	`(?:even |way |so much )?more (?:pumped|psyched|motivated|determined|stoked|excited|fired up) to (?:chase|follow|reach|pursue|keep|continue|achieve)|raise awareness and start conversations` +
	`)\w*\b`)

// offers matches pictures and advice that the speaker is about to show in the chat.
var offers = regexp.MustCompile(`(?i)^(?:i|we)(?:'ve| have)?(?: also| just| even| got| have| took| taken| seen)* (?:a (?:lot|ton|bunch|couple|few)(?: of)?|lots of|tons of|plenty of|some|many|several|so many) (?:[\p{L}-]+ ){0,2}(?:photos?|pics?|pictures?|shots|snaps|recommendations?|suggestions?|tips|ideas)\b|` +
	`\b(?:is|are|sitting|standing|lying) on the (?:left|right)[.!]*$|^(?:i|we)(?:'ve| have)? seen some (?:\p{L}+ )?places\b.*\bshots\b`)

// recipeStep matches one step of a recipe: an ingredient and what it is for.
var recipeStep = regexp.MustCompile(`(?i)^(?:i|we)(?: just| also| then)* (?:added|mixed|sprinkled|stirred|threw|put|used|tossed)\b.*\bfor (?:a |an |some |the |that )?(?:extra |more )?(?:[\p{L}-]+ )?(?:flavou?r|taste|kick|texture|crunch|creaminess|sweetness|tang)\b`)

// byTheWay matches an aside that says where a statement is from: ", like Tim said".
var byTheWay = regexp.MustCompile(`^(?i:like|as) (?:I|we|he|she|they|you|\p{Lu}\p{Ll}+) (?:said|mentioned|told (?:me|you)|suggested),\s+|,?\s+(?:speaking of|(?:like|as) (?:I|we|he|she|they|you|\p{Lu}\p{Ll}+) (?:said|mentioned|suggested))([.!]*)$`)

// possiblePart matches a last clause that only supposes.
var possiblePart = regexp.MustCompile(`(?i)(?:,| -| –)? (?:so|and|but) (?:maybe|perhaps|hopefully) (?:i|we|it|they|he|she|that|this)\b[^.;]*([.!]*)$`)

// opinionEnd matches a whole predicate of opinion: "has been a roller coaster but rewarding".
var opinionEnd = regexp.MustCompile(`\b(?:is|was|are|were|has been|have been|'s)((?: (?:so|such|really|super|very|quite|pretty|just|a|an|the|big|huge|bit|of|one|and|but|best|roller|coaster|rollercoaster|hurdle|feat|bummer|blast|journey|ride|rewarding|encouraging|inspiring|amazing|awesome|exciting|wild|crazy|tough|fun|challenging|incredible))+)[.!]*$`)

// comparesWithListener matches an answer that only compares with what the question names: "other types
// of books as well", "my favorite is me too".
var comparesWithListener = regexp.MustCompile(`(?i)\bother (?:\p{L}+ ){1,4}(?:as well|too)[.!]*$|\b(?:is|are|was) me(?: too| as well| also)?[.!]*$`)

// saysLittle reports whether a sentence, with the words of it, is a fragment, a passing state, an
// offer, a step of a recipe or an opinion on something of the speaker's.
func saysLittle(s string, words []grammar.Word) bool {
	switch {
	case isFragment(words), offers.MatchString(s), recipeStep.MatchString(s), demonstratesNoun(words):
		return true
	case passing.MatchString(s):
		return anchors(grammar.English(passing.ReplaceAllString(s, " "))) <= fullAnchor
	}
	if at := opinionEnd.FindStringIndex(s); at != nil {
		for i := range words {
			if w := &words[i]; w.Start < at[0] && i > 0 && strings.HasPrefix(w.Tag, "NNP") {
				return false // it names somebody or something: "my cat Bailey is so fun"
			}
		}
		low := strings.ToLower(s[:at[0]])
		return strings.HasPrefix(low, "my ") || strings.HasPrefix(low, "our ")
	}
	return false
}

// isFragment reports whether a sentence is a subordinate clause alone: "Especially after I failed
// the test".
func isFragment(words []grammar.Word) bool {
	if len(words) < 3 || !fragmentAdverbs[strings.ToLower(words[0].Text)] || !fragmentConjunctions[strings.ToLower(words[1].Text)] {
		return false
	}
	verbs := 0
	for i := range words {
		switch words[i].Tag {
		case ",":
			return false
		case "VBD", "VBZ", "VBP", "MD":
			verbs++
		}
	}
	return verbs < 2
}

var (
	fragmentAdverbs      = wordSet("especially particularly mainly mostly partly even only just not")
	fragmentConjunctions = wordSet("after before when while since because though although if until")
)

// demonstratesNoun reports whether "that" points at something, although the tagger reads it as a
// conjunction: no verb follows it.
func demonstratesNoun(words []grammar.Word) bool {
	for i := 1; i+1 < len(words); i++ {
		if !strings.EqualFold(words[i].Text, "that") || words[i].Tag != "IN" || words[i-1].Tag == "" || words[i-1].Tag[0] != 'V' {
			continue
		}
		for _, w := range words[i+1:] {
			if strings.HasPrefix(w.Tag, "VB") || w.Tag == "MD" || w.Tag == "PRP" {
				return false
			}
		}
		return true
	}
	return false
}
