package rules

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/grammar"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// This file keeps sentences that no rule understands as what somebody says, with what is needed to understand them: the
// question that they answer, or the sentence before. An excerpt is
//
//	Asked “How often is she shod?”, Rory says: “Every six weeks.”
//
// Relative dates are replaced by dates also within the quotation.

// The bounds of excerpts.
const (
	maxTalkRunes    = 600 // of the utterance; what is longer is no talk
	maxExcerptRunes = 240 // of the sentence
	maxBeforeRunes  = 160 // of the sentence before it
	// maxListenerRunes is the longest name that excerptForm finds again.
	maxListenerRunes = 64
	// coveredShare is the share of a sentence's content words from which its facts say what it says.
	coveredShare = 0.5
)

var (
	excerptForm = regexp.MustCompile(`^(?:(?:Asked|After) “([^”]*)”, )?([^“”:]{1,80}) (?:says|tells [^“”:]{1,64}): “([^”]*)”$`)
	hanExcerpt  = regexp.MustCompile(`^(?:(?:被问|听到)“([^”]*)”，)?([^“”：]{1,64})说：“([^”]*)”$`)
	aboutOthers = regexp.MustCompile(`(?i)\b(?:she|he|her|his|him|hers)(?:'s|'d|'ll)?\b`)
	pointing    = regexp.MustCompile(`(?i)\b(?:it|its|they|their|them|that|this|those|these|there|one|ones|both)(?:'s|'ll|'d|'re|'ve)?\b`)
	hanPointing = regexp.MustCompile(`[他她它这那]`)
	// onlyHeard matches what the speaker does not vouch for, or would only like to be so.
	onlyHeard = regexp.MustCompile(`(?i)\b(?:heard|apparently|supposedly|rumou?r|they say|people say|(?:i|we) wish|as if)\b|听说|据说|传说|说是|好像听|要是.*就好`)
)

// pointsElsewhere reports whether a sentence has a word whose meaning another sentence may give.
func pointsElsewhere(s string) bool {
	if isHan(s) {
		return hanPointing.MatchString(s)
	}
	return pointing.MatchString(s) || aboutOthers.MatchString(s)
}

// isExcerpt reports whether a fact is an excerpt.
func isExcerpt(fact string) bool {
	_, _, _, ok := excerptParts(fact)
	return ok
}

// withoutExcerpts returns the facts that say what somebody's words mean.
func withoutExcerpts(facts []string) []string {
	return slices.DeleteFunc(slices.Clone(facts), isExcerpt)
}

// excerptParts returns who speaks in an excerpt, what was said before, and what is said; ok is false if the fact is none.
func excerptParts(fact string) (speaker, before, said string, ok bool) {
	m := excerptForm.FindStringSubmatch(fact)
	if m == nil {
		m = hanExcerpt.FindStringSubmatch(fact)
	}
	if m == nil {
		return "", "", "", false
	}
	return m[2], m[1], m[3], true
}

// excerpts returns excerpts of the sentences of an utterance that its facts do not cover.
func (r *utteranceReader) excerpts(facts []string) []string {
	if r.agent || utf8.RuneCountInString(r.u.Content) > maxTalkRunes || strings.Contains(r.u.Content, "**") {
		return nil
	}
	known := map[string]bool{}
	for _, f := range facts {
		for w := range wordsOf(f) {
			known[w] = true
		}
	}
	var out []string
	for i, s := range r.sentences {
		s = strings.TrimSpace(s)
		if strings.ContainsAny(s, "?？") || onlyHeard.MatchString(s) || utf8.RuneCountInString(s) > maxExcerptRunes || injectedInstructions.MatchString(s) {
			continue
		}
		words := wordsOf(s)
		if len(words) == 0 || float64(overlap(words, known)) >= coveredShare*float64(len(words)) {
			continue
		}
		if e := r.excerpt(i, s); e != "" && utf8.RuneCountInString(e) <= maxFactRunes {
			out = append(out, e)
		}
	}
	return out
}

// excerpt returns the excerpt of the sentence at i, or, if it is about the speaker and needs nothing else, that sentence in
// the third person.
func (r *utteranceReader) excerpt(i int, s string) string {
	han := isHan(s)
	name := r.speakerName("the user", "the assistant")
	if han {
		name = r.speakerName("用户", "助手")
		s = strings.TrimRight(resolveDates(s, r.u.Time), "。！!.~～ ")
	} else {
		s = strings.TrimRight(formatSentence(resolveDates(stripFiller(s), r.u.Time)), ". ")
	}
	points := pointsElsewhere(s)
	words := lowerWords(s)
	switch {
	case han && !points && strings.Contains(s, "我") && !strings.ContainsAny(s, "你您"):
		return hanRetell(s, name)
	case !han && !points && mentionsSpeaker(words) && !addressesListener(words) && hasFiniteVerb(grammar.English(s)):
		return retell(s, name)
	}
	before := ""
	asked := i == 0 && r.question != ""
	if asked {
		before = r.question
	} else if points || len(words) <= 4 && !han {
		before = r.sentenceBefore(i)
	}
	return excerptOf(name, r.listener, before, s, asked)
}

// sentenceBefore returns the sentence before the one at i, of the same utterance or the one before.
func (r *utteranceReader) sentenceBefore(i int) string {
	if i > 0 {
		return r.sentences[i-1]
	}
	if r.at == 0 || len(r.all[r.at-1].sentences) == 0 {
		return ""
	}
	last := r.all[r.at-1].sentences
	return last[len(last)-1]
}

// excerptOf writes an excerpt.
func excerptOf(name, listener, before, said string, asked bool) string {
	plain := func(s string) string {
		return strings.NewReplacer("“", "'", "”", "'", `"`, "'").Replace(strings.TrimSpace(s))
	}
	if utf8.RuneCountInString(before) > maxBeforeRunes {
		before = ""
	}
	said, before = plain(said), plain(before)
	// A name may have any characters, and those around it must be found again.
	inline := func(s string) string { return strings.NewReplacer(":", " ", "：", " ").Replace(plain(s)) }
	if name, listener = inline(name), inline(listener); utf8.RuneCountInString(listener) > maxListenerRunes {
		listener = ""
	}
	var b strings.Builder
	if isHan(said) {
		switch {
		case before == "":
		case asked:
			b.WriteString("被问“" + before + "”，")
		default:
			b.WriteString("听到“" + before + "”，")
		}
		return b.String() + name + "说：“" + said + "”"
	}
	switch {
	case before == "":
		name = upperFirst(name)
	case asked:
		b.WriteString("Asked “" + before + "”, ")
	default:
		b.WriteString("After “" + before + "”, ")
	}
	b.WriteString(name)
	if listener != "" && addressesListener(lowerWords(said)) {
		b.WriteString(" tells " + listener)
	} else {
		b.WriteString(" says")
	}
	return b.String() + ": “" + said + ".”"
}
