package rules

import (
	"regexp"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
)

// This file finds what a fact ends by ordinary words: "gave up coffee" ends "drinks five cups of
// coffee a day".

var (
	// habitEnds matches what somebody gives up, possessionEnds what somebody no longer has.
	habitEnds      = regexp.MustCompile(`(?i)\b(?:gave up|has given up|have given up|quit|stopped|cut out|went off|switched from|swore off) (?P<v>[^.,;!]{2,40})`)
	possessionEnds = regexp.MustCompile(`(?i)\b(?:sold|got rid of|gave away|no longer owns?) (?P<v>[^.,;!]{2,40})`)
	hanHabitEnds   = regexp.MustCompile(`(?:戒了?|戒掉了?|放弃了?|不再)(?P<v>\p{Han}{1,6}?)(?:了|[，,。；！!]|$)`)
	hanHabit       = regexp.MustCompile(`每天|常常?|经常|喜欢|爱|喝|吃|抽|学|练`)

	// habits are verbs of what somebody does again and again, in the form of factFrame.verb.
	habits = wordSet("drink eat smoke like plai do take go practic learn studi attend train us run swim watch read collect teach ride danc sing is")
	owning = wordSet("ha have own drive keep")

	// once matches a negation or a time that is about one occasion.
	once = regexp.MustCompile(`(?i)\b(?:didn't|did not|couldn't|could not|wasn't|weren't|today|tonight|tomorrow|yet|this (?:week|month|year|weekend|time|morning|evening)|that (?:day|time)|for (?:now|a while)|until)\b|\b(?:on|in|for) (?:the (?:week|weekend) of )?(?:\d|` + monthName.String() + `)|\b(?:in|of) \d{4}\b|今天|昨天|今晚|这次|这周|\d+日|\d+月`)
	// intended matches an intention and what is intended.
	intended = regexp.MustCompile(`\b(?:plan(?:s|ning|ned)? to|going to|wants? to|hop(?:es|ing) to|intends? to|about to|will|decided to|thinking (?:of|about)|considering) (?P<v>\p{Ll}[^.;!]{2,80})`)
	declined = regexp.MustCompile(`\b(?:won't|will not|(?:is|are) not going to|isn't going to|decided (?:not to|against)|not going to|can't|cannot) (?P<v>\p{Ll}[^.;!]{2,80})`)
)

// happenedOnce reports whether a negated fact is about one occasion.
func (f *factFrame) happenedOnce() bool { return !f.ended && once.MatchString(f.text) || hanOnce(f) }

// hanOnce is the same for Chinese, where every negation counts as an end.
func hanOnce(f *factFrame) bool {
	return isHan(f.text) && once.MatchString(f.text) && !strings.Contains(f.text, "不再") && !strings.Contains(f.text, "取消") && !strings.Contains(f.text, "放弃")
}

// endsHabit reports whether a fact says that somebody gave up what an older fact says that they do,
// or no longer has what it says that they have.
func (f *factFrame) endsHabit(old *factFrame) bool {
	if old.negated {
		return false
	}
	if isHan(f.text) {
		m := hanHabitEnds.FindStringSubmatch(f.text)
		return m != nil && hanHabit.MatchString(old.text) && strings.HasSuffix(strings.TrimRight(old.text, "。了"), m[1])
	}
	if m := habitEnds.FindStringSubmatch(f.plain); m != nil && habits[old.verb] {
		return namesObject(m[1], old.plain)
	}
	if m := possessionEnds.FindStringSubmatch(f.plain); m != nil && owning[old.verb] {
		return namesObject(m[1], old.plain)
	}
	return false
}

// dropsIntention reports whether a fact declines what an older one intends.
func (f *factFrame) dropsIntention(old *factFrame) bool {
	no, yes := declined.FindStringSubmatch(f.plain), intended.FindStringSubmatch(old.plain)
	if no == nil || yes == nil || old.negated || !strings.Contains(f.text, "after all") && once.MatchString(no[1]) {
		return false
	}
	verb, object := verbAndObject(" " + no[1])
	oldVerb, oldObject := verbAndObject(" " + strings.TrimPrefix(yes[1], "be "))
	return verb == oldVerb && object != "" && object == oldObject
}

// objectWords returns the nouns and adjectives of a noun phrase at the beginning of s, as stems.
func objectWords(s string) []string {
	var out []string
	for i, w := range grammar.English(s) {
		low := strings.ToLower(w.Text)
		switch {
		case w.Tag == "DT" || w.Tag == "PRP$" || w.Tag == "CD":
			continue
		case i == 0 && w.Tag == "VBG":
		case strings.HasPrefix(w.Tag, "NN") || strings.HasPrefix(w.Tag, "JJ"):
		default:
			return out
		}
		if text.IsTimeWord(low) || len(out) > 0 && emphasisWords[low] {
			return out
		}
		out = append(out, stemOf(low))
	}
	return out
}

// stemOf returns the form in which the words of facts are compared.
func stemOf(w string) string {
	if c := synonyms[w]; c != "" {
		return c
	}
	return text.Stem(w, text.English)
}

// namesObject reports whether all words of a noun phrase are in a text together, and the last of
// them is not a part of another noun there: "coffee" is not named in "coffee shop".
func namesObject(phrase, s string) bool {
	want := objectWords(phrase)
	if len(want) == 0 {
		return false
	}
	words := grammar.English(s)
	stems := make([]string, len(words))
	for i, w := range words {
		stems[i] = stemOf(strings.ToLower(w.Text))
	}
	for _, w := range want[:len(want)-1] {
		if !slices.Contains(stems, w) {
			return false
		}
	}
	head := want[len(want)-1]
	for i, st := range stems {
		if st == head && (i+1 == len(words) || !strings.HasPrefix(words[i+1].Tag, "NN")) {
			return true
		}
	}
	return false
}

// isPartOfCompound reports whether the last word of a negated fact is only a part of a noun in an
// older one, as "coffee" is of "coffee ice cream".
func isPartOfCompound(fact, old *factFrame) bool {
	if isHan(fact.text) || isHan(old.text) {
		return false
	}
	last := ""
	for _, w := range text.Words(clauseEnd.Split(fact.text, 2)[0]) {
		if st := stemOf(w); fact.terms[st] && old.terms[st] {
			last = st
		}
	}
	words := grammar.English(old.text)
	for i, w := range words {
		if stemOf(strings.ToLower(w.Text)) == last && i+1 < len(words) {
			next := stemOf(strings.ToLower(words[i+1].Text))
			return strings.HasPrefix(words[i+1].Tag, "NN") && strings.HasPrefix(w.Tag, "NN") && !fact.terms[next] && old.terms[next] && !text.IsTimeWord(words[i+1].Text)
		}
	}
	return false
}
