package rules

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
	"github.com/slipboxhq/slipbox/internal/when"
)

// This file makes a fact of an English sentence, or refuses it.

// englishFact returns the fact of a sentence, or "" if it has none.
func englishFact(s, name string, saidAt time.Time, agent bool) string {
	if strings.Contains(s, "?") || strings.Count(s, `"`)%2 == 1 || utf8.RuneCountInString(s) > maxFactRunes {
		return ""
	}
	s = stripFiller(s)
	if agent {
		return promisedFact(s, name, saidAt)
	}
	s = withoutHypothesis(ellipticLead.ReplaceAllString(s, ""))
	s = unmetFirst.ReplaceAllString(possiblePart.ReplaceAllString(byTheWay.ReplaceAllString(s, "$1"), "$1"), "")
	if s == "" || requests.MatchString(s) || injectedInstructions.MatchString(s) || unfinished.MatchString(s) || reactions.MatchString(s) {
		return ""
	}
	if mutualStatement.MatchString(s) || hearsay.MatchString(s) || supposedOfOthers.MatchString(s) || elliptic.MatchString(s) || suppositions.MatchString(s) && !statedWishes.MatchString(s) {
		return ""
	}
	s = restoreSubject(s)
	words := lowerWords(s)
	if len(words) < 2 || addressesListener(words) || isUnclear(s) && !newsOfDay.MatchString(s) && !onCalendar.MatchString(s) && !partedWays.MatchString(s) {
		return ""
	}
	n := countContentWords(words)
	switch {
	case pronounObject.MatchString(s) && n < 2*minContentWords:
		return ""
	case hasDanglingReference(s) && n < 2*minContentWords+1:
		return ""
	case strongStatement.MatchString(s):
		if n < 1 {
			return ""
		}
	case n < minContentWords:
		return ""
	case jointSpeaker.MatchString(s):
	case startsWithSpeaker(words) && !pronounFirst.MatchString(s):
		if feelings.MatchString(s) && n < minContentWords+1 {
			return ""
		}
	case mentionsSpeaker(words):
		if praisedThing.MatchString(s) {
			return ""
		}
		if n < minContentWords || pronounFirst.MatchString(s) || generalRemark.MatchString(s) || !involvesSpeakerAlone(s) {
			return ""
		}
	case !isAboutNamedSubject(s, words) && !isScheduled(s, saidAt):
		return ""
	}
	return retell(resolveDates(s, saidAt), name)
}

var (
	// unmetFirst matches a wish that a following "but" takes back: "I'd love to, but".
	unmetFirst = regexp.MustCompile(`(?i)^(?:i|we)(?:'d| would) (?:love|like|have loved|have liked) to,? but (?:(?:sadly|unfortunately),? )?`)
	// ellipticLead matches a clause in front whose verb only the question has: "I can't, I work that day".
	ellipticLead = regexp.MustCompile(`(?i)^(?:i|we)(?: can't| couldn't| won't| don't| didn't|'m not| am not| do| did| am| have| haven't)(?: (?:make it|come|really|any ?more))?(?:,| -| –|;) (?:because |as |since )?`)
	// hearsay matches what the speaker only heard or supposes.
	hearsay = regexp.MustCompile(`(?i)^(?:i|we)(?:'ve| have)?(?: just| also| only| once)? (?:heard|hear|reckon|guess|bet|gather|imagine|suppose|was told|were told)\b(?: (?:that|the|they|it|he|she|there|people|somebody|someone|we|you|i|his|her|their)\b| \p{Lu}\p{Ll}+ (?:is|was|has|might|may|will|wants?)\b)|^(?:people|somebody|someone|everyone|rumou?r|word) (?:say|says|said|told|has|thinks?|reckons?)\b`)
	// hypothesis matches a clause about what would be, with what joins it to the one before.
	hypothesis = regexp.MustCompile(`(?:^|,? ?(?:;|–|—|-|,)? (?:(?:and|but|so|because|or) )?)(I|[Ww]e|[Hh]e|[Ss]he|[Tt]hey|[Ii]t|[Tt]hat|(?:[Mm]y|[Oo]ur) (?:\p{L}+ ){1,3}?)(?:'d| ?would)(?: (?:probably|never|always|just|still|even|only|gladly|happily|definitely|totally|also|have|not))* (\p{L}+)`)
	// ownParent matches a parent of the speaker who is named as children do: "Mum is a nurse".
	ownParent = regexp.MustCompile(`^(?:Mum|Mom|Mommy|Dad|Daddy|Grandma|Grandpa|Granny)(?:'s)? `)
	// supposedOfOthers matches what others would do.
	supposedOfOthers = regexp.MustCompile(`^(?:(?:[Mm]y|[Oo]ur) (?:\p{L}+ ){1,3}|(?:[Hh]e|[Ss]he|[Tt]hey) |\p{Lu}\p{Ll}{2,}(?:'s \p{Ll}+)?(?: \p{Lu}\p{Ll}+)? )would (?:probably |never |rather |always |just )*(?:be|say|think|kill|die|laugh|hate|do|recommend|tell|have|agree|help|go|need|cost|take|make|know|want)\b`)
	// elliptic matches a sentence whose verb only the question has, as in "My brother does".
	elliptic = regexp.MustCompile(`(?i)^(?:my |our )?[\p{L}' ]{1,40} (?:does|did|can|will|has|is|was|do|doesn't|didn't|can't|won't|isn't|wasn't)[.!]*$`)
)

// dated matches a day or a month.
var dated = regexp.MustCompile(`\b(?:January|February|March|April|June|July|August|September|October|November|December|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|\d{1,2}(?:st|nd|rd|th))\b`)

// withoutHypothesis returns a sentence up to the first clause about what would be: "I'm the cook, I'd know". Wishes of the
// speaker stay, and "'d" that means "had".
func withoutHypothesis(s string) string {
	if !strings.Contains(s, "would ") && !strings.Contains(s, "'d ") {
		return s
	}
	if slices.ContainsFunc(grammar.English(s), func(w grammar.Word) bool { return w.Tag == "VBD" && !strings.HasPrefix(w.Text, "'") }) {
		return s // what used to happen
	}
	for _, m := range hypothesis.FindAllStringSubmatchIndex(s, 4) {
		if joint := strings.TrimSpace(s[m[0]:m[2]]); m[0] > 0 && joint == "" {
			continue // "what I'd expect"
		}
		subject, verb := strings.ToLower(s[m[2]:m[3]]), strings.ToLower(s[m[4]:m[5]])
		contracted := strings.Contains(s[m[3]:m[4]], "'d")
		wish := verb == "love" || verb == "like" || verb == "prefer" || verb == "rather" && (subject == "i" || subject == "we")
		planned := (subject == "i" || subject == "we") && m[0] == 0 && dated.MatchString(s) // "we would take the train on the 3rd of May"
		if wish || planned || contracted && (participles[verb] || strings.HasSuffix(verb, "ed") || verb == "better") || !contracted && !strings.Contains(s[m[3]:m[4]], "would") {
			continue
		}
		return strings.TrimRight(s[:m[0]], " ,;–—-")
	}
	return s
}

// praisedThing matches an opinion on something of the speaker's.
var praisedThing = regexp.MustCompile(`(?i)^(?:(?:my|our|the) )?(?:[\p{L}-]+ ){0,2}[\p{L}-]+(?: is| are| was| were|'s)(?: going| doing| being)? (?:so |really |very |super |pretty |my |our |like )*(?:good|great|well|awesome|amazing|wonderful|fine|okay|ok|important|everything|rocks?|future|strength|support|motivation|inspiration|happiness|joy|priority|world|life|anchor)\b`)

// jointSpeaker matches a sentence about the speaker and one other person.
var jointSpeaker = regexp.MustCompile(`^(?:\p{Lu}\p{Ll}+|[Mm]y \p{Ll}+(?: \p{Lu}\p{Ll}+)?) and I (?:\p{Ll}+ly |just |have |are )?(?:broke|split|got|moved|divorced|separated|married|met|bought|adopted|live|work|share|opened|started|have|are|were|went|own|run)\b`)

// hasDanglingReference reports whether a sentence refers to something that only an earlier
// sentence names: it has a pronoun before any noun that the pronoun could refer to.
func hasDanglingReference(s string) bool {
	at := danglingReference.FindStringIndex(s)
	if len(at) == 0 || antecedent.MatchString(s[:at[0]]) {
		return false
	}
	// The pronoun may refer to a name inside the sentence.
	for i, p := range tokenize(s[:at[0]]) {
		if i > 0 && p.isWord && startsUpper(p.text) && !selfWords[strings.ToLower(p.text)] {
			return false
		}
	}
	return true
}

// startsWithSpeaker reports whether the speaker is the subject of a sentence: the first word, or
// the first one behind a date, an adverb or a clause of time.
func startsWithSpeaker(words []string) bool {
	for i, w := range words[:min(len(words), 9)] {
		switch {
		case selfWords[w]:
			return true
		case i == 0 && !clauseOpeners[w] && !text.IsTimeWord(w) && !isAdverb(w):
			return false
		}
	}
	return false
}

// clauseOpeners are words that begin a clause before the subject.
var clauseOpeners = wordSet("when while since after before during on in at last this next every each for from as one two three with back the by")

// involvesSpeakerAlone reports whether a sentence with another subject has a verb and mentions
// the speaker alone, not a group.
func involvesSpeakerAlone(s string) bool {
	words := tokenize(s)
	at := 0
	for _, p := range words {
		w := strings.ToLower(p.text)
		if p.isWord && selfWords[w] {
			switch w {
			case "us", "our", "we", "we're", "we've", "we'll", "ourselves":
				return false
			case "my":
				return finiteVerb.MatchString(s) || at == 0 && hasFiniteVerb(grammar.English(s))
			}
			return finiteVerb.MatchString(s[:at])
		}
		at += len(p.text)
	}
	return false
}

// addressesListener reports whether a sentence addresses the listener.
func addressesListener(words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		switch w {
		case "you", "your", "yours", "yourself", "you're", "you've", "you'll", "you'd", "u", "ur", "y'all", "let's", "lets":
			return true
		}
		return false
	})
}

// restoreSubject adds the subject to a sentence whose "I" was left out.
func restoreSubject(s string) string {
	first, rest, _ := strings.Cut(s, " ")
	w := strings.ToLower(first)
	low := strings.ToLower(s[:1]) + s[1:]
	switch {
	case w == "just" || w == "finally" || w == "recently":
		second, _, _ := strings.Cut(rest, " ")
		if second = strings.ToLower(second); clippedPast[second] || isPastForm(second) && !clippedNot[second] {
			return "I " + low
		}
	case rest == "":
	case clippedPast[w], isPastForm(w) && !clippedNot[w] && clippedObject.MatchString(rest):
		return "I " + low
	case w == "been":
		return "I have " + low
	case clippedPresent[w] && clippedGoal.MatchString(rest) && !clippedSubject.MatchString(rest) && !isSubjectGerund(s):
		return "I am " + low
	}
	return s
}

// isSubjectGerund reports whether the participle at the beginning of a sentence is its subject:
// "Learning about history fascinates me".
func isSubjectGerund(s string) bool {
	return slices.ContainsFunc(grammar.English(s)[1:], func(w grammar.Word) bool { return w.Tag == "VBZ" || w.Tag == "VBD" || w.Tag == "MD" })
}

var (
	clippedObject  = regexp.MustCompile(`(?i)^(?:my|a|an|the|some|to|in|at|with|for|on|up|out|our|about|from)\b`)
	clippedSubject = regexp.MustCompile(`(?i)\b(?:is|are|was|were|can|could|helps?|makes?|gives?|brings?|takes|seems|feels|has|keeps?|lets?|will|would)\b`)
)

var clippedGoal = regexp.MustCompile(`(?i)^(?:to|of|about|on|for|forward|my|a|an|the|some)\b`)

// namedSubject matches the beginning of a statement about somebody else by name.
var namedSubject = regexp.MustCompile(`^\p{Lu}[\p{L}'-]+(?: (?:and )?\p{Lu}[\p{L}'-]+)* (?:is|was|has|had|have|run|own|teach|keep|grow|sell|lives?|lived|works?|worked|moved|loves?|loved|likes?|liked|hates?|plays?|played|got|went|bought|started|joined|graduated|married|died|passed|adopted|visited|won|lost|broke|quit|studies|studied|teaches|taught|wants?|wanted|prefers?|can't|cannot|owns?|enjoys?|invited|gave|told|helped|made|took|said|asked|called|came|left|sold|cancell?ed|divorced|retired|switched|dropped|stopped|became|resigned|speaks|spoke|drives|drove|runs|ran|takes|needs|met|opened|wrote|grew|turned|will|won't|doesn't|didn't|isn't|hasn't|no longer|just|recently|finally)\b`)

// notNames are words that begin a sentence with a capital and are not names.
var notNames = wordSet(`it that this these those there here he she they who what which when where why how everyone everything nothing something
	someone nobody life love time people things music art nature books the a an its his her their one some many most all each every no such
	friends family work health exercise animals dogs cats games food sports history science technology god today yesterday tomorrow
	sounds looks seems glad great good congrats happy`)

// isAboutNamedSubject reports whether a sentence is a statement about a named person or thing.
func isAboutNamedSubject(s string, words []string) bool {
	return namedSubject.MatchString(s) && !strings.HasSuffix(words[0], "ing") && !generalRemark.MatchString(s) && !notNames[strings.TrimSuffix(words[0], "'s")] && countContentWords(words) >= minContentWords+1
}

// isScheduled reports whether a sentence is a statement about something on a date relative to
// today, or about what was moved to another date.
func isScheduled(s string, saidAt time.Time) bool {
	if newsOfDay.MatchString(s) || onCalendar.MatchString(s) {
		return true
	}
	if saidAt.IsZero() || pronounFirst.MatchString(s) || generalRemark.MatchString(s) || !finiteVerb.MatchString(s) {
		return false
	}
	return slices.ContainsFunc(when.Parse(s, saidAt), func(r when.Range) bool { return relativeWords.MatchString(s[r.Start:r.End]) })
}

// partedWays matches a couple's end, which says enough without who the other is.
var partedWays = regexp.MustCompile(`(?i)^we(?:'ve| have)? (?:just |recently )?(?:split up|broken? up|separated|divorced|got divorced)(?:[.!]| in | last | two | a )`)

// onCalendar matches a statement that something of the speaker's is on a day or at an hour, or that something is on a
// day of the calendar.
var onCalendar = regexp.MustCompile(`^(?:(?:The|Our) (?:[\p{L}'-]+ ){0,5}?(?:is|are|takes place|will be|starts|begins|meets|ends|opens|closes) (?:on |set for |planned for |due on )(?:` + calendarDay + `|the \d{1,2}(?:st|nd|rd|th)\b|` + weekdayName + `s\b)|(?:Our|My) (?:[\p{L}'-]+ ){1,6}?(?:starts|begins|ends|leaves|opens|closes) at ` + hourWord + `\b)`)

// continuesLastFact reports whether a sentence says more about the person or thing of the
// sentence before.
func continuesLastFact(s string) bool {
	t := stripFiller(s)
	words := lowerWords(t)
	if strings.Contains(s, "?") || suppositions.MatchString(t) || len(words) == 0 || reactions.MatchString(t) || requests.MatchString(t) {
		return false
	}
	more := thirdPersonFirst.MatchString(t) || selfWords[words[0]] && hasDanglingReference(t)
	if !more || addressesListener(words) {
		return false
	}
	if anchors(grammar.English(t)) < fullAnchor {
		return false
	}
	if words[0] == "it" && generalRemark.MatchString(t) || fleeting.MatchString(t) || passing.MatchString(t) {
		return false
	}
	need := minContentWords
	if words[0] == "it" || words[0] == "it's" {
		need++ // "it" is most often only praised
	}
	return countContentWords(words) >= need
}

var (
	// thereAtEnd matches what somebody is or has at a place that another sentence names; it is true without the place.
	thereAtEnd = regexp.MustCompile(`^((?:I'm|I am|I was) (?:an?|the) (?:[\p{L}-]+ ){0,3}[\p{L}-]+) there([.!]*)$`)
	// itWhen matches where or when "it" is.
	itWhen = regexp.MustCompile(`^It(?:'s| is| was|'ll be| will be| starts| ends| begins| opens| takes place) ((?:on|at|in|from|every|until|tomorrow|next|due|called|named)\b [^,;]*)$`)
)

// itNamed returns a sentence about where or when "it" is with its subject, if the last sentence that names anything names
// one thing; else "".
func itNamed(s string, before [][]mention) string {
	plain := stripFiller(s)
	m := itWhen.FindStringSubmatchIndex(plain)
	if m == nil {
		return ""
	}
	with := onlyMention(toThing, "", before)
	if with == "" || !strings.Contains(with, " ") && !startsUpper(with) || groupNouns[strings.ToLower(lastWord(with))] || vagueNouns[strings.ToLower(firstWord(plain[m[2]:]))] {
		return ""
	}
	said := strings.NewReplacer("'s ", " is ", "'ll be ", " will be ").Replace(plain[len("It"):m[2]]) + plain[m[2]:]
	return upperFirst(with) + said
}

// opinionOfOther matches what the speaker thinks of somebody or something.
var opinionOfOther = regexp.MustCompile(`(?i)(?:'s| is| are| was| were)(?: \p{L}+ly| always| just)* (?:so|such|very|quite|pretty|really|super|incredibly|too) |\bcan (?:definitely|really|always|truly)\b| (?:is|are|was|were) (?:so |very |really )?(?:cute|adorable|sweet|lovely|funny|hilarious|gorgeous)[.!]*$`)

// isStatementAboutOther reports whether a sentence whose pronoun was resolved says something about
// that person or thing.
func isStatementAboutOther(s string) bool {
	words := lowerWords(s)
	return countContentWords(words) >= minContentWords && !selfWords[words[0]] && !generalRemark.MatchString(s) &&
		!addressesListener(words) && !suppositions.MatchString(s) && !opinionOfOther.MatchString(s) && !hasDanglingReference(s) && standsAlone(grammar.English(s))
}

// clauseBreak matches the place where a clause about the speaker begins, clauseEnding the one
// where it ends and the listener is addressed.
var (
	clauseBreak  = regexp.MustCompile(`(?:,? but|;|\s[–—-]+|—|,? and|, so|,)\s+(?:I|I'm|I've|we|we're|we've|my|My)\s`)
	clauseEnding = regexp.MustCompile(`(?i)(?:,? but|;|\s[–—-]+|—|,? and|,? so|,|,? because)\s+(?:please |just |maybe |do |don't |be |let |if |when |can |could |would |what |how |how's |you|your|thanks|remember |make sure|tell |keep |watch )`)
	// ownAddress matches what a speaker says about their place beside an invitation.
	ownAddress = regexp.MustCompile(`(?i)\b(?:my|our) (?:place|home|flat|apartment|house|office)\b[^.;]*?[,;:] (?:and )?(?:the|my|our) (address|phone number|code|door code) is ([^.;!?]{3,60})`)
	// reachMe matches how the speaker is reached.
	reachMe = regexp.MustCompile(`(?i)^(?:you can(?: always| best)? |you'll |please |just |(?:it's )?best to |always |either )?(?:reach|contact|call|text|email|e-mail|message|phone|ring|write to|get hold of|find) me (?:best )?((?:at|on|under|via|by|through) (?:my )?(?:[^ ]*[@\d][^ ]*(?: [\d ]+)?|(?:e-?mail|text|phone|post|letter|message|whatsapp|signal|telegram|landline|mobile|work (?:phone|number|email))\b[^,;!?]*))`)
	// visits matches the end of a plan to see the listener.
	visits = regexp.MustCompile(`(?i)\b(?:travel(?:ing|ling)?|go(?:ing)?|fly(?:ing)?|com(?:e|ing)|driv(?:e|ing)|move|moving|trip|visit|be)\b.*?(,? (?:and |to )(?:see|visit|meet) you(?: (?:all|guys|both|again))*)(?:[.!]|$)`)
)

// withoutVisit returns a sentence about a journey without its end "to see you".
func withoutVisit(s string) string {
	if m := visits.FindStringSubmatchIndex(s); m != nil {
		return s[:m[2]] + s[m[3]:]
	}
	return ""
}

// ownClauses returns the parts of a sentence in which the speaker talks about themselves and not
// to the listener. It has none if the sentence asks or supposes something.
func ownClauses(s string) []string {
	plain := stripFiller(s)
	asks := strings.IndexByte(plain, '?')
	if asks >= 0 && asks < len(plain)-1 || strings.Count(s, `"`)%2 == 1 || conditional.MatchString(plain) || injectedInstructions.MatchString(s) {
		return nil
	}
	if m := ownAddress.FindStringSubmatch(s); m != nil {
		return []string{"My " + strings.ToLower(m[1]) + " is " + m[2]}
	}
	var out []string
	if at := clauseEnding.FindStringIndex(plain); len(at) == 2 && startsWithSpeaker(lowerWords(plain[:at[0]])) && !suppositions.MatchString(plain[:at[0]]) {
		if first := plain[:at[0]]; !openSubordinate.MatchString(first) {
			out = append(out, first)
		}
	}
	at := clauseBreak.FindAllStringIndex(s, 8)
	if len(at) == 0 || asks >= 0 || requests.MatchString(plain) {
		return out
	}
	m := at[len(at)-1]
	if suppositions.MatchString(s[m[0]:]) {
		return out
	}
	part := strings.TrimLeft(s[m[0]:], " ,;–—-")
	for _, w := range []string{"but ", "and ", "so "} {
		part = strings.TrimPrefix(part, w)
	}
	return append(out, part)
}
