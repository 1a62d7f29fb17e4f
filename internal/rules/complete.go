package rules

import (
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/grammar"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file completes a sentence that refers to a thing or a place of the exchange: "I loved it" behind
// "Have you read Dune?" is "I loved Dune". What it refers to must be certain: the nearest sentence that
// names anything of the kind names one thing.

// mention is a thing or a place that a sentence names.
type mention struct {
	phrase   string        // with what introduces it: "my pottery class", "jazz"
	at       string        // the preposition before a place: "in"
	head     string        // the last noun, folded
	kind     referenceKind // toThing, toThings
	place    bool
	specific bool // it needs no other sentence: a name, something of somebody's, or a kind of thing
	first    bool // it names the thing: "a class", not "the class"
}

// maxHeard is the number of sentences at the end of a long reply whose things a speaker may refer to.
const maxHeard = 4

// maxMentions bounds the mentions of one sentence.
const maxMentions = 12

var quotedTitle = regexp.MustCompile(`"([^"]{2,60})"`)

// mentionsIn returns what a sentence names. owner is who says it, if that is not the speaker whose
// sentences are completed: what is "your" is the speaker's.
func mentionsIn(s, owner string) []mention {
	var out []mention
	for _, m := range quotedTitle.FindAllStringSubmatch(s, 3) {
		out = append(out, mention{phrase: `"` + m[1] + `"`, head: strings.ToLower(lastWord(m[1])), specific: true, first: true})
	}
	words := grammar.English(s)
	for i := 0; i < len(words) && len(out) < maxMentions; {
		m, n := mentionAt(words, i, owner)
		if n > 0 && m.phrase != "" && !slices.ContainsFunc(out, func(o mention) bool { return o.head == m.head }) {
			out = append(out, m)
		}
		i += max(n, 1)
	}
	return out
}

// mentionAt returns the mention that begins at i and the number of its words; 0 if none does.
func mentionAt(words []grammar.Word, i int, owner string) (m mention, n int) {
	det := ""
	switch words[i].Tag {
	case "DT", "PRP$", "CD":
		det = strings.ToLower(words[i].Text)
	case "TO", "RB", "IN":
		return m, 0
	}
	if det != "" && i+1 < len(words) && words[i+1].Tag == "PRP$" {
		return m, 0 // "is that your shed"
	}
	before := ""
	if i > 0 {
		before = strings.ToLower(words[i-1].Text)
	}
	if words[i].Tag == "VBG" && i > 0 && (words[i-1].Tag[0] == 'V' && !beForms[before] || words[i-1].Tag == "IN") {
		if action := actionPhrase(words[i:]); action != "" {
			return mention{phrase: action, head: action, specific: true, first: true}, len(strings.Fields(action))
		}
		return m, 0
	}
	phrase, n := nounPhrase(words[i:])
	if n == 0 || phrase == "" || strings.Contains(phrase, `"`) {
		return m, 0
	}
	if det == "" && n > 1 && (words[i].Tag == "VBN" || words[i].Tag == "VBD" || words[i].Tag == "VBG") {
		return m, 0 // "have you tried pottery": the noun follows
	}
	last := &words[i+n-1]
	m = mention{head: strings.ToLower(last.Text), kind: toThing}
	if strings.HasSuffix(last.Tag, "S") && strings.HasPrefix(last.Tag, "NN") {
		m.kind = toThings
	}
	named := i > 0 && last.Tag == "NNP"
	switch {
	case hollowNouns[m.head], vagueNouns[m.head], timeNouns[m.head], text.IsTimeWord(m.head), personNouns[m.head], femaleKin[m.head], maleKin[m.head], interjections[m.head], text.IsSmallTalk(m.head):
		return mention{}, n
	case named && n == 1 && (before == "," || before == "with" || before == "and" || i+1 == len(words) || words[i+1].Text == "," || words[i+1].Text == "!"):
		return mention{}, n // a person, perhaps the listener
	case interjections[strings.ToLower(firstWord(phrase))], i == 0 && det == "" && last.Tag == "NNP" && n == 1:
		return mention{}, n
	}
	tail := ""
	if j := i + n; j+1 < len(words) && explainingPrepositions[strings.ToLower(words[j].Text)] {
		if more, k := nounPhrase(words[j+1:]); k > 0 && k < 5 && !hollowNouns[strings.ToLower(lastWord(more))] {
			tail = " " + joinWords(words[j:j+1+k])
		}
	}
	switch det {
	case "my", "our":
		m.specific, m.first = true, true
		if owner != "" {
			phrase = owner + "'s " + phrase
		} else {
			phrase = det + " " + phrase
		}
	case "your":
		if owner == "" {
			return mention{}, n
		}
		m.specific, m.first = true, true
		phrase = "my " + phrase
	case "the":
		m.specific = tail != "" || named || strings.Contains(phrase, " ")
		phrase = "the " + phrase
	case "a", "an", "some", "another":
		m.first = true
		phrase = "the " + phrase
	case "":
		m.specific, m.first = named || before != "in" && before != "into" && before != "on" && before != "of" && before != "for", true
	default:
		return mention{}, n
	}
	m.phrase = phrase + tail
	if placeBefore[before] || before == "the" && i > 1 && placeBefore[strings.ToLower(words[i-2].Text)] {
		m.place, m.at = named || placeNouns[m.head], before
	}
	return m, n
}

var (
	explainingPrepositions = wordSet("of for about in at from with on")
	placeBefore            = wordSet("in to at from near visit visited visiting around")
	placeNouns             = wordSet("park beach gym school university college hospital museum library shelter studio cafe café restaurant shop store office garden lake mountains island village town city church farm zoo center centre club camp")
	motionVerbs            = wordSet("go goes going went gone been move moved moving travel traveled travelling traveling fly flew drive drove come came return returned head headed heading back get got")
)

// mentionsBefore returns what the sentences before an utterance name, newest last: those of the same
// speaker, and of what the others said directly before it.
func mentionsBefore(all []utterance, i int) [][]mention {
	var out [][]mention
	for j := max(0, i-3); j < i; j++ {
		u := all[j]
		same := u.Role == all[i].Role && strings.EqualFold(u.Name, all[i].Name)
		if !same && j < i-1 {
			continue
		}
		owner := ""
		if !same {
			if owner = strings.Join(strings.Fields(u.Name), " "); owner == "" {
				owner = "the assistant"
			}
		}
		sentences := u.sentences
		if !same && len(sentences) > maxHeard {
			sentences = sentences[len(sentences)-maxHeard:]
		}
		for _, s := range sentences {
			if !isHan(s) && len(s) <= maxFactRunes {
				out = append(out, mentionsIn(s, owner))
			}
		}
	}
	return out
}

const (
	// reach is the number of sentences back to which a pronoun may refer, reachNoun that for a noun.
	reach     = 3
	reachNoun = 8
	// maxCompleted is the number of references above which a sentence is not completed.
	maxCompleted = 2
)

// complete replaces what a sentence refers to by what the sentences before it name. ok is false if
// there is nothing to replace, or if what is meant is not certain.
func complete(s string, before [][]mention) (completed string, ok bool) {
	refs := referencesIn(grammar.English(s))
	if len(refs) == 0 || len(refs) > maxCompleted {
		return "", false
	}
	for i := len(refs) - 1; i >= 0; i-- {
		r := &refs[i]
		with := ""
		switch r.kind {
		case toDefinite:
			with = namedBefore(r.head, before)
		case toThing, toThings, toPlace:
			with = onlyMention(r.kind, s[:r.start], before)
		case toPerson, toUnknown:
		}
		if with == "" || strings.HasPrefix(s[r.end:], "'") {
			return "", false
		}
		if !canComplete(s, r, with) {
			return "", false
		}
		if strings.EqualFold(s[r.start:r.end], "its") || strings.EqualFold(s[r.start:r.end], "their") {
			with += "'s"
		}
		s = s[:r.start] + with + s[r.end:]
	}
	return s, true
}

// canComplete reports whether a phrase can stand for a reference. "It" in "make it" refers to nothing, a
// kind of thing such as "jazz" is what somebody likes or does, and several things have to be somebody's.
func canComplete(s string, r *reference, with string) bool {
	if strings.Contains(strings.ToLower(s), strings.ToLower(with)) {
		return false
	}
	owned := strings.HasPrefix(with, "my ") || strings.HasPrefix(with, "our ") || strings.Contains(with, "'s ") || strings.HasPrefix(with, "the ") || strings.HasPrefix(with, `"`) || startsUpper(with) && !strings.HasSuffix(firstWord(with), "ing")
	switch r.kind {
	case toThing:
		if after := strings.ToLower(firstWord(strings.TrimSpace(s[r.end:]))); beForms[after] || after == "has" || after == "will" || after == "would" || after == "makes" || after == "made" {
			return false // "it" may be what happened
		}
		verb := strings.ToLower(lastWord(strings.TrimSpace(s[:r.start])))
		return !emptyObject[verb] && (owned || kindVerbs[verb])
	case toThings:
		verb := strings.ToLower(lastWord(strings.TrimSpace(s[:r.start])))
		return owned || supplyVerbs[verb] && strings.EqualFold(s[r.start:r.end], "them")
	case toDefinite, toPlace, toPerson, toUnknown:
	}
	return true
}

// supplyVerbs have things of a kind as their object.
var supplyVerbs = wordSet("sell sells sold grow grows grew keep keeps kept eat eats ate breed breeds raise raises feed feeds collect collects collected buy buys bought repair repairs fix fixes make makes bake bakes want wants need needs hide hides drink drinks wear wears take takes taking use uses using of spit spits hate hates like likes love loves")

var (
	emptyObject = wordSet("make made makes making get got gets getting take took give gave call put let worth work works worked call called that as than when if because so but and")
	kindVerbs   = wordSet("love loved like liked enjoy enjoyed hate hated play played do did practice practiced study studied learn learned learning quit miss missed prefer read watched watch teach taught")
)

// namedBefore returns how an earlier sentence names what "the" and a noun refer to; "" if none says
// more than the noun.
func namedBefore(head string, before [][]mention) string {
	for i := len(before) - 1; i >= 0 && i >= len(before)-reachNoun; i-- {
		for _, m := range before[i] {
			if m.head == head && m.first {
				if strings.Count(m.phrase, " ") > 1 || m.specific && strings.Contains(m.phrase, " ") {
					return m.phrase
				}
				return ""
			}
		}
	}
	return ""
}

// onlyMention returns the one thing or place that the nearest sentence with any names; "" if it has
// several. said is the sentence up to the reference.
func onlyMention(kind referenceKind, said string, before [][]mention) string {
	for i := len(before) - 1; i >= 0 && i >= len(before)-reach; i-- {
		var found []mention
		for _, m := range before[i] {
			if kind == toPlace && m.place || kind != toPlace && m.kind == kind && !m.place {
				found = append(found, m)
			}
		}
		switch {
		case len(found) == 0:
			continue
		case len(found) > 1 || !found[0].specific:
			return ""
		case kind != toPlace:
			return found[0].phrase
		case motionVerbs[strings.ToLower(lastWord(strings.TrimSpace(said)))]:
			return "to " + found[0].phrase
		case found[0].at == "at" || found[0].at == "in":
			return found[0].at + " " + found[0].phrase
		case startsUpper(found[0].phrase):
			return "in " + found[0].phrase
		}
		return "at " + found[0].phrase
	}
	return ""
}
