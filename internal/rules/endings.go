package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file finds what a fact ends by ordinary words: "gave up coffee" ends "drinks five cups of
// coffee a day".

// endingAdverbs matches words before the verb of an ending.
const endingAdverbs = `(?:(?:has|have|had to|just|finally|recently|already|now|actually|officially|also) )*`

var (
	// givesUp matches what somebody stops to do, take or belong to, loses what somebody no longer has, and
	// callsOff what somebody no longer pays for. Each is the verb of the fact: who wants to quit has not quit.
	givesUp  = regexp.MustCompile(`^ ` + endingAdverbs + `(?:gave up|given up|quit|stopped|dropped(?: out of)?|cut out|went off|came off|is (?:now )?off|switched from|swore off|resigned from|stepped down from|withdrew from|(?:got|was) (?:fired|let go) (?:from|by)) (?P<v>[^.,;!]{2,60})`)
	loses    = regexp.MustCompile(`^ ` + endingAdverbs + `(?:sold|got rid of|gave away|traded in|no longer (?:owns?|has)) (?P<v>[^.,;!]{2,60})`)
	callsOff = regexp.MustCompile(`^ ` + endingAdverbs + `(?:cancell?ed|unsubscribed from|ended) (?P<v>[^.,;!]{2,60})`)
	// noLonger matches what somebody no longer does, takes or belongs to.
	noLonger = regexp.MustCompile(`^ ` + endingAdverbs + `(?:is )?no longer (?:an? (?:\p{Ll}+ )?(?:of|at|in) |in |at |on |\p{Ll}+(?:s|ing) (?:at |for |in |to |with )?)(?P<v>[^.,;!]{2,60})`)
	// narrower matches a place, a company or an occasion behind what ends: "concerts in Rome" are not all concerts.
	narrower = regexp.MustCompile(`\p{L} (?:in|at|with|before|after|during|on) (?:the |their |an? )?(?P<v>\p{L}+)`)
	// endsNothing matches a visit on the way and an end that did not come, besideThing what only says where something is.
	endsNothing = regexp.MustCompile(`^ ` + endingAdverbs + `(?:stopped (?:by|at|in|off|for|to)|(?:never|didn't|hasn't|haven't|not) (?:quit|stop|stopped|gave up|given up|give up))\b`)
	besideThing = regexp.MustCompile(`\b(?:near|behind|above|opposite|beside|outside|next to|across from) (?P<v>(?:the|an?|their) [^.,;!]{2,40})`)
	// leaves matches who left for good, which a time of day or a day alone does not say.
	leaves = regexp.MustCompile(`^ ` + endingAdverbs + `left (?P<v>[^.,;!]{2,40}?) (?:for (?:good|another)|in (?:the week of|\d|\p{Lu}))`)
	// prescribed matches what a doctor ends.
	prescribed = regexp.MustCompile(`^'s (?:doctor|physician|GP|cardiologist|psychiatrist|specialist) (?:has )?(?:stopped|discontinued) (?P<v>[^.,;!]{2,60})`)

	// engaged matches what somebody does again and again, or belongs to, before what it is; subscribed what is paid for.
	engaged      = regexp.MustCompile(`^(?: is| 's)?(?: still| also| now| currently| a| an| the| \p{Ll}+ly)* (?:works?|working|employed|teach(?:es|ing)?|volunteer(?:s|ing)?|sings?|singing|plays?|playing|trains?|training|goes|going|attend(?:s|ing)?|belongs?|(?:\p{Ll}+ )?member|student|part|coach(?:es|ing)?|interns?|interning|does|doing|tak(?:es|e|ing)|on|us(?:es|ing)|drinks?|drinking|smok(?:es|ing)|eats?|eating|runs?|rows?|rowing|danc(?:es|ing)|stud(?:ies|ying)|learn(?:s|ing)|practic(?:es|ing)|ha(?:s|ve) a job|enrolled) `)
	subscribed   = regexp.MustCompile(`\b(?:subscription|subscribe[sd]?|membership|member|account|pays for|signed up)\b`)
	hanHabitEnds = regexp.MustCompile(`(?:戒了?|戒掉了?|放弃了?|不再)(?P<v>\p{Han}{1,6}?)(?:了|[，,。；！!]|$)`)
	hanHabit     = regexp.MustCompile(`每天|常常?|经常|喜欢|爱|喝|吃|抽|学|练`)

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
	if m := givesUp.FindStringSubmatch(f.rest); m != nil && habits[old.verb] && !isNarrower(m[1], old.rest) && namesObject(m[1], old.plain) {
		return true
	}
	if f.endsEngagement(old) != "" {
		return true
	}
	isListed := strings.Contains(old.rest, " and ")
	if m := loses.FindStringSubmatch(f.rest); m != nil && owning[old.verb] && !isListed {
		return namesObject(m[1], old.plain)
	}
	return false
}

// endsEngagement returns what an older fact says that somebody works at, belongs to, takes or pays for, if a fact
// says that this ended; "" otherwise.
func (f *factFrame) endsEngagement(old *factFrame) string {
	if old.negated || isHan(f.text) || isHan(old.text) {
		return ""
	}
	for _, form := range []*regexp.Regexp{givesUp, noLonger, leaves, prescribed, callsOff} {
		m := form.FindStringSubmatch(f.rest)
		if len(m) == 0 || isNarrower(m[1], old.rest) {
			continue
		}
		if form != callsOff && engaged.MatchString(old.rest) || (form == givesUp || form == callsOff) && subscribed.MatchString(old.rest) {
			return complementNamed(m[1], old.rest)
		}
	}
	return ""
}

// endsOther reports whether a fact ends something else than what an older fact is about, though both name it: a
// lesson at the gym, the bakery beside a kiosk, one of two jobs, or coffee at work. A visit ends nothing.
func (f *factFrame) endsOther(old *factFrame) bool {
	if endsNothing.MatchString(f.rest) {
		return true
	}
	if m := callsOff.FindStringSubmatch(f.rest); m != nil {
		head := objectWords(m[1])
		return len(head) > 0 && !old.terms[head[len(head)-1]]
	}
	m, beside := givesUp.FindStringSubmatch(f.rest), besideThing.FindStringSubmatch(old.rest)
	switch {
	case m == nil:
		return false
	case isNarrower(m[1], old.rest), engaged.MatchString(old.rest) && strings.Contains(old.rest, " and ") && complementNamed(m[1], old.rest) == "":
		return true
	case beside == nil:
		return false
	}
	head, place := objectWords(m[1]), objectWords(beside[1])
	return len(head) > 0 && len(place) > 0 && head[len(head)-1] == place[len(place)-1]
}

// isNarrower reports whether a noun phrase is qualified by a place, a company or an occasion that a text does not name.
func isNarrower(phrase, s string) bool {
	m := narrower.FindStringSubmatch(phrase)
	return len(m) > 0 && !text.IsTimeWord(m[1]) && !monthName.MatchString(m[1]) && !strings.Contains(strings.ToLower(s), strings.ToLower(m[1]))
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

// complementMarks are the words between a verb and what belongs to it.
var complementMarks = wordSet("at for in of to with on a an the their")

// paidFor are heads that a name may stand for: "Netflix" for "a Netflix subscription".
var paidFor = wordSet("subscription membership member account plan contract pass")

// complementNamed returns what the verb of a text is about, if a noun phrase names it and nothing is listed beside
// it; "" otherwise. "The bakery" is not what "works at a shop near the bakery" is about.
func complementNamed(phrase, s string) string {
	want := slices.DeleteFunc(objectWords(phrase), func(w string) bool { return paidFor[w] })
	if len(want) == 0 {
		return ""
	}
	words := grammar.English(s)
	for i, w := range words {
		if stemOf(strings.ToLower(w.Text)) != want[len(want)-1] {
			continue
		}
		next := i + 1
		if next < len(words) && (words[next].Text == "and" || words[next].Text == "or" || words[next].Text == "," && next+1 < len(words) && strings.HasPrefix(words[next+1].Tag, "NN")) {
			return ""
		}
		if next < len(words) && strings.HasPrefix(words[next].Tag, "NN") && !paidFor[strings.ToLower(words[next].Text)] && !text.IsTimeWord(words[next].Text) {
			continue
		}
		first := i
		for first > 0 && (strings.HasPrefix(words[first-1].Tag, "JJ") || strings.HasPrefix(words[first-1].Tag, "NN") || words[first-1].Tag == "POS") {
			first--
		}
		named := map[string]bool{}
		for _, m := range words[first : i+1] {
			named[stemOf(strings.ToLower(m.Text))] = true
		}
		if slices.ContainsFunc(want, func(m string) bool { return !named[m] }) || first == 0 {
			continue
		}
		if before := words[first-1]; complementMarks[strings.ToLower(before.Text)] || strings.HasPrefix(before.Tag, "VB") {
			for first > 0 && (words[first-1].Tag == "DT" || words[first-1].Tag == "PRP$") {
				first--
			}
			if first > 0 && (complementMarks[strings.ToLower(words[first-1].Text)] || strings.HasPrefix(words[first-1].Tag, "VB")) {
				return strings.Join(slices.Sorted(maps.Keys(named)), " ")
			}
		}
	}
	return ""
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
