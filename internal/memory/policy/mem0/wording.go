package mem0

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// wording is what one can tell of a text without understanding it.
type textTerms struct {
	terms map[string]bool
	lang  text.Language
	sure  bool
}

func termsOf(s string) textTerms {
	w := textTerms{terms: map[string]bool{}}
	w.lang, w.sure = text.Guess(s)
	for _, t := range text.Terms(s) {
		w.terms[t] = true
	}
	return w
}

// join adds the terms of another text.
func (w *textTerms) add(o textTerms) {
	for t := range o.terms {
		w.terms[t] = true
	}
}

// has counts how many of the terms w holds.
func (w *textTerms) countShared(terms map[string]bool) int {
	n := 0
	for t := range terms {
		if w.terms[t] {
			n++
		}
	}
	return n
}

// foreign tells that two texts are of different languages, so that their words cannot be compared.
func inOtherLanguage(a, b *textTerms) bool { return a.sure && b.sure && a.lang != b.lang }

// telling are the words by which two sentences that are otherwise alike say
// different things, in order: numbers, names within the sentence, negations.
func distinctiveWords(s string) []string {
	var out []string
	for i, w := range strings.FieldsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && r != '\'' && r != '’'
	}) {
		low := strings.ToLower(strings.ReplaceAll(w, "’", "'"))
		head, _ := utf8.DecodeRuneInString(w)
		switch {
		case strings.ContainsFunc(w, unicode.IsNumber), i > 0 && unicode.IsUpper(head), negations[low], strings.HasSuffix(low, "n't"):
			out = append(out, low)
		}
	}
	return out
}

var negations = policy.WordSet(`no not never none nothing without longer anymore neither nor stopped quit dislikes hates avoids cancelled canceled
	不 没 没有 不再 nicht kein keine keinen nie ohne pas jamais sans sin nunca`)

// sameSaid tells that two new facts that are as near by meaning say the same.
func isSameStatement(a, b string, cosine, from float64) bool {
	if text.Fold(strings.Join(strings.Fields(a), " ")) == text.Fold(strings.Join(strings.Fields(b), " ")) {
		return true
	}
	if cosine < from || !slices.Equal(distinctiveWords(a), distinctiveWords(b)) {
		return false
	}
	wa, wb := termsOf(a), termsOf(b)
	switch wa.lang { //nolint:exhaustive // of the others, names and numbers tell enough
	case text.Chinese, text.Japanese, text.Korean: // no letter case shows their names
		both := float64(wa.countShared(wb.terms))
		return both >= from*float64(len(wa.terms)+len(wb.terms)-int(both))
	}
	return true
}

// wording is the text that a decision gives a memory: the answer's, when the
// fact or the target bear out most of its words, else the fact's own.
func (l *ledger) memoryText(f *candidate, target *memory.Note) string {
	if f.dec.Text == nil {
		return f.text
	}
	s := policy.CleanLine(*f.dec.Text, l.c.FactChars)
	if s == "" || isEmptyAnswer(s) {
		return f.text
	}
	w, known := termsOf(s), termsOf(f.text)
	if target != nil {
		known.add(termsOf(target.Content))
	}
	known.add(l.x.all)
	if !inOtherLanguage(&w, &known) && (2*known.countShared(w.terms) < len(w.terms) || len(w.terms) == 0) {
		l.out.Dropped.Texts++
		return f.text
	}
	return s
}

// remains is what is true when a memory is deleted: the answer's text, or the
// fact itself unless it only calls something off.
func (l *ledger) remainingText(f *candidate, target *memory.Note) (string, bool) {
	if s := l.memoryText(f, target); s != f.text && text.Fold(s) != text.Fold(target.Content) {
		return s, true
	}
	return f.text, !onlyCancels(f.text, target.Content)
}

// offCues are the ways of saying that a plan or an appointment does not hold any more.
var cancelCues = []string{
	"cancel", "called off", "calls off", "call off", "calling off", "no longer plan", "dropped the plan", "dropped plans", "forget about",
	"取消", "作罢", "abgesagt", "annulé", "cancelad",
}

// clauses are divided at these.
var clauseEnds = regexp.MustCompile(`(?i)[,;:.!，；。！]|\b(?:and|but|instead|so|then|now|und|sondern|et|y|pero)\b|而|但|改`)

func isCancellation(s string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc(cancelCues, func(cue string) bool { return strings.Contains(s, cue) })
}

// onlyCallsOff tells that a fact says that what a memory says does not hold, and
// nothing else: a plan that is called off leaves nothing, what comes instead of it stays.
func onlyCancels(fact, target string) bool {
	if !isCancellation(fact) {
		return false
	}
	known := termsOf(target)
	for _, clause := range clauseEnds.Split(fact, -1) {
		if isCancellation(clause) {
			continue
		}
		for t := range termsOf(clause).terms {
			if !known.terms[t] && t != "user" && !text.IsTimeWord(t) && !policy.IsNumber(t) {
				return false
			}
		}
	}
	return true
}
