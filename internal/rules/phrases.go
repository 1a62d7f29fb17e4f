package rules

import (
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
)

// This file finds the things that sentences are about: noun phrases, and actions such as "painting
// landscapes".

// maxPhraseWords is the number of words above which a phrase names no single thing.
const maxPhraseWords = 6

// vagueNouns name nothing without the words around them.
var vagueNouns = wordSet(`lot lots bit time times way ways thing things stuff kind kinds sort part place moment moments chance difference break look care
	fun blast ton tons idea sense power feeling feelings couple few bunch number point side rest end start back front top day days week weeks month
	months year years hour hours minute minutes morning evening night one ones something anything everything nothing someone everyone people others
	other another much many more most all none half good best better worst self hand turn reason result case fact effort
	impact vibe vibes energy joy progress mind step steps memories memory issue issues deal plan plans news update love support help
	home there here then now again up down out off away ahead forward together work while today tomorrow yesterday tonight
	awareness inspiration motivation confidence courage strength connection freedom experience experiences journey
	advice opportunity opportunities knowledge insight insights`)

// adjectiveEndings are endings of words that are adjectives, not nouns that the tagger does not
// know.
var adjectiveEndings = []string{"ful", "ous", "ive", "able", "ible", "less", "ish", "ed", "ing", "al", "ic", "est", "ent", "ant"}

// nounPhrase returns the noun phrase at the beginning of words, without articles and possessives,
// and the number of words that it takes; n is 0 if there is none.
func nounPhrase(words []grammar.Word) (phrase string, n int) {
	start := 0
	for start < len(words) && (isDeterminer(&words[start]) || words[start].Tag == "POS" && start > 0) {
		start++
	}
	// Of "a lot of books", the books count.
	if start+2 < len(words) && quantities[strings.ToLower(words[start].Text)] && words[start+1].Text == "of" {
		phrase, n = nounPhrase(words[start+2:])
		if n > 0 {
			n += start + 2
		}
		return phrase, n
	}
	// "Ana's dog" behind a verb is a thing of Ana's.
	if start+2 < len(words) && words[start+1].Tag == "POS" && strings.HasPrefix(words[start].Tag, "NNP") {
		start += 2
	}
	end, last := start, start // last is behind the last noun
	for end < len(words) && end-start <= maxPhraseWords {
		w := &words[end]
		switch {
		case w.Text == "towards" || w.Text == "toward":
		case last == end && end > start && nameParticles[w.Text] && words[end-1].Tag == "NNP" && end+1 < len(words) && startsUpper(words[end+1].Text):
			end++ // "Museu do Azulejo"
			continue
		case strings.HasPrefix(w.Tag, "NN") || w.Tag == "FW" || isUnknownNoun(words, end):
			end++
			last = end
			continue
		case w.Tag == "JJ" || w.Tag == "JJR" || w.Tag == "JJS" || w.Tag == "CD" || w.Tag == "VBG" && end+1 < len(words),
			(w.Tag == "VBN" || w.Tag == "VBD") && end+1 < len(words) && strings.HasPrefix(words[end+1].Tag, "NN"),
			w.Tag == "POS" || w.Text == "+" || w.Text == "&":
			if w.Tag != "VBG" || end == start || isNounOrAdjective(&words[end-1]) {
				end++
				continue
			}
		case strings.EqualFold(w.Text, "of") && last == end && end > start && end+1 < len(words):
			inner, taken := nounPhrase(words[end+1:])
			if inner == "" {
				return "", 0 // "a surge of energy"
			}
			if last-start+1+taken <= maxPhraseWords {
				last = end + 1 + taken
				end = last
			}
		}
		break
	}
	// In "the sunset Ana watched" the name begins a clause.
	for last-start > 1 && words[last-1].Tag == "NNP" && strings.HasPrefix(words[last-2].Tag, "NN") && words[last-2].Tag != "NNP" && last < len(words) && words[last].Tag[0] == 'V' {
		last--
	}
	if last == start || end-start > maxPhraseWords {
		return "", 0
	}
	first, final := words[start], words[last-1]
	phrase = strings.TrimRight(joinWords(words[start:last]), " +&'’")
	low := strings.ToLower(final.Text)
	if last-start == 1 && (vagueNouns[low] || text.IsTimeWord(low) || text.IsStopWord(low, text.English)) || vagueNouns[low] || vagueNouns[strings.ToLower(first.Text)] && last-start <= 3 ||
		utf8.RuneCountInString(phrase) < 2 || text.IsTimeWord(low) {
		return "", 0
	}
	return phrase, last
}

// nameParticles are small words within names.
var nameParticles = wordSet("do da de di del della des du van von der den la le el y")

// joinWords returns the text of words, with one space where the sentence has some.
func joinWords(words []grammar.Word) string {
	var b strings.Builder
	for i := range words {
		if i > 0 && words[i].Start > words[i-1].End {
			b.WriteByte(' ')
		}
		b.WriteString(words[i].Text)
	}
	return b.String()
}

var quantities = wordSet("lot lots couple number plenty bunch bit tons ton variety handful")

func isNounOrAdjective(w *grammar.Word) bool {
	return strings.HasPrefix(w.Tag, "NN") || strings.HasPrefix(w.Tag, "JJ")
}

func isDeterminer(w *grammar.Word) bool {
	return w.Tag == "DT" || w.Tag == "PDT" || w.Tag == "PRP$" || articles[strings.ToLower(w.Text)] && w.Tag != "NNP"
}

// isUnknownNoun reports whether the word at i, tagged as an adjective or a verb, must be a noun,
// because no noun follows: "I like tea/JJ.".
func isUnknownNoun(words []grammar.Word, i int) bool {
	w := strings.ToLower(words[i].Text)
	switch words[i].Tag {
	case "JJ", "VBP", "VB", "VBD", "VBZ":
	default:
		return false
	}
	if i > 0 && (words[i].Tag[0] == 'V' && !isDeterminer(&words[i-1]) && words[i-1].Tag != "JJ") || len(w) < 3 || adverbs[w] || emptyWords[w] || invariantVerbs[w] || baseVerbs[w] || knownAdjectives[w] {
		return false
	}
	for _, ending := range adjectiveEndings {
		if strings.HasSuffix(w, ending) && !strings.HasSuffix(w, "fish") {
			return false
		}
	}
	if i+1 == len(words) {
		return true
	}
	next := &words[i+1]
	return isAdverb(strings.ToLower(next.Text)) || text.IsTimeWord(next.Text) || next.Tag == "." || next.Tag == "," || next.Tag == "IN" || next.Tag == "CC" || next.Tag == "TO" || next.Text == "-" || next.Text == "–" || next.Text == ";"
}

// knownAdjectives are common adjectives without a telling ending.
var knownAdjectives = wordSet(`big small old new young long short high low hot cold warm cool easy hard late early fast slow free busy happy sad sick ill tired
	ready sure fine glad proud calm quiet loud strong weak rich poor safe rare cheap dark light bright clean dirty dry wet full empty open close near far deep wide
	true false right wrong real fair mad angry hungry lucky crazy funny silly scary tough rough smart sweet sore stuck alone alive awake asleep aware alike afraid
	huge tiny heavy healthy wealthy worth such own same last next other able unable likely lonely lovely friendly super extra pretty online offline
	red blue green yellow black white brown gray grey pink purple orange`)

// emptyActions are verbs that name no activity by themselves.
var emptyActions = wordSet(`be being do doing get getting go going have having make making keep keeping try trying help helping take taking see seeing continue continuing
	start starting let letting come coming give giving use using put putting find finding become becoming know knowing feel feeling need needing want wanting
	say saying tell telling think thinking look looking happen bring bringing share sharing show showing learning working allow allowing`)

// actionPhrase returns the activity at the beginning of words, a verb with its object: "painting
// landscapes", "explore the city". It returns "" if there is none.
func actionPhrase(words []grammar.Word) string {
	at := 0
	for at < len(words) && (words[at].Tag == "TO" || words[at].Tag == "RB") {
		at++
	}
	if at >= len(words) {
		return ""
	}
	verb := &words[at]
	low := strings.ToLower(verb.Text)
	isVerb := verb.Tag == "VB" || verb.Tag == "VBG" || verb.Tag == "VBP" || at > 0 && words[at-1].Tag == "TO"
	if !isVerb || adverbs[low] || emptyActions[low] {
		return ""
	}
	next := at + 1
	for next < len(words) && next <= at+2 && (words[next].Tag == "RP" || words[next].Tag == "IN" && !objectEndsAction[strings.ToLower(words[next].Text)] || words[next].Tag == "TO") {
		next++
	}
	if next < len(words) && (next == at+1 || words[next-1].Tag != "RP") {
		if _, n := nounPhrase(words[next:]); n > 0 {
			end := next + n
			if end-at > maxPhraseWords+1 {
				return ""
			}
			return joinWords(words[at:end])
		}
	}
	if next > at+1 || next < len(words) && (words[next].Tag == "VBG" || strings.HasPrefix(words[next].Tag, "NN") || words[next].Tag == "PRP" || isDeterminer(&words[next]) || words[next].Tag == "JJ") {
		return ""
	}
	return verb.Text
}

var objectEndsAction = wordSet("because since while if that than as so like when although though during after before until")
