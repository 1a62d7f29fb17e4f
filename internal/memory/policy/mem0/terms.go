package mem0

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// textTerms are the terms of a text and the guess of its language, by which texts are
// compared without a model.
type textTerms struct {
	terms map[string]bool
	lang  text.Language
	sure  bool // the guess is certain
}

// termsOf returns the terms of a text.
func termsOf(s string) textTerms {
	w := textTerms{terms: map[string]bool{}}
	w.lang, w.sure = text.Guess(s)
	for _, t := range text.Terms(s) {
		w.terms[t] = true
	}
	return w
}

// add adds the terms of another text.
func (w *textTerms) add(o textTerms) {
	for t := range o.terms {
		w.terms[t] = true
	}
}

// countShared returns how many of the terms are in w.
func (w *textTerms) countShared(terms map[string]bool) int {
	n := 0
	for t := range terms {
		if w.terms[t] {
			n++
		}
	}
	return n
}

// inOtherLanguage reports whether two texts certainly have different languages, so that
// their words cannot be compared.
func inOtherLanguage(a, b *textTerms) bool { return a.sure && b.sure && a.lang != b.lang }

// distinctiveWords returns the words by which two otherwise similar sentences differ in
// meaning, in order: numbers, names within the sentence, negations.
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

// isSameStatement reports whether two new facts say the same: they have the same words, or
// a cosine of at least threshold and the same distinctive words.
func isSameStatement(a, b string, cosine, threshold float64) bool {
	if text.Fold(strings.Join(strings.Fields(a), " ")) == text.Fold(strings.Join(strings.Fields(b), " ")) {
		return true
	}
	if cosine < threshold || !slices.Equal(distinctiveWords(a), distinctiveWords(b)) {
		return false
	}
	wa, wb := termsOf(a), termsOf(b)
	switch wa.lang { //nolint:exhaustive // in the others, distinctive words are enough
	case text.Chinese, text.Japanese, text.Korean: // names have no capital letters there
		shared := float64(wa.countShared(wb.terms))
		return shared >= threshold*float64(len(wa.terms)+len(wb.terms)-int(shared))
	}
	return true
}

// memoryText returns the text of a memory after a decision: the answer's, if at least half
// of its words are in the fact, its target or the messages, else the fact's.
func (l *ledger) memoryText(f *candidate, target *memory.Note) string {
	if f.decision.Text == nil {
		return f.text
	}
	s := policy.CleanLine(*f.decision.Text, l.c.FactChars)
	if s == "" || policy.IsEmptyAnswer(s) {
		return f.text
	}
	w, known := termsOf(s), termsOf(f.text)
	if target != nil {
		known.add(termsOf(target.Content))
	}
	known.add(l.exchange.allTerms)
	if !inOtherLanguage(&w, &known) && (2*known.countShared(w.terms) < len(w.terms) || len(w.terms) == 0) {
		l.out.Dropped.Texts++
		return f.text
	}
	return s
}

// remainingText returns what is true after a memory is deleted: the answer's text, or the
// fact itself; ok is false when the fact only cancels the memory.
func (l *ledger) remainingText(f *candidate, target *memory.Note) (content string, ok bool) {
	if s := l.memoryText(f, target); s != f.text && text.Fold(s) != text.Fold(target.Content) {
		return s, true
	}
	return f.text, !onlyCancels(f.text, target.Content)
}

// untouchedStatements returns the statements of a memory that a fact is not about: those
// that share no word with it but what all statements share, such as the name of the person.
// all is true if the memory makes several and the fact is about none of them. A memory with
// one statement has none that is untouched.
func untouchedStatements(content, fact string) (untouched []string, all bool) {
	statements := text.Sentences(content)
	if len(statements) < 2 {
		return nil, false
	}
	said := termsOf(fact)
	first, _, _ := strings.Cut(statements[0], " ")
	common := termsOf(statements[0]).terms
	for _, s := range statements {
		if opening, _, _ := strings.Cut(s, " "); opening != first && said.lang != text.Chinese {
			return nil, false // a statement that the one before explains
		}
		terms := termsOf(s).terms
		maps.DeleteFunc(common, func(t string, _ bool) bool { return !terms[t] })
	}
	for _, s := range statements {
		own := termsOf(s)
		maps.DeleteFunc(own.terms, func(t string, _ bool) bool { return common[t] })
		if own.countShared(said.terms) == 0 {
			untouched = append(untouched, s)
		}
	}
	return untouched, len(untouched) == len(statements)
}

// containsAll reports whether a text has all words of each of the statements.
func containsAll(s string, statements []string) bool {
	have := termsOf(s)
	return !slices.ContainsFunc(statements, func(st string) bool {
		w := termsOf(st)
		return have.countShared(w.terms) < len(w.terms)
	})
}

// cancelCues are words that cancel a plan or an appointment.
var cancelCues = []string{
	"cancel", "called off", "calls off", "call off", "calling off", "no longer plan", "dropped the plan", "dropped plans", "forget about",
	"取消", "作罢", "abgesagt", "annulé", "cancelad",
}

// clauseEnds matches what separates the clauses of a sentence.
var clauseEnds = regexp.MustCompile(`(?i)[,;:.!，；。！]|\b(?:and|but|instead|so|then|now|und|sondern|et|y|pero)\b|而|但|改`)

// isCancellation reports whether a text has one of the cancelCues.
func isCancellation(s string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc(cancelCues, func(cue string) bool { return strings.Contains(s, cue) })
}

// onlyCancels reports whether a fact only cancels what a memory says. A canceled plan
// leaves no fact; what replaces it does.
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
			if !known.terms[t] && t != "user" && !policy.IsTimeWord(t) && !policy.IsNumber(t) {
				return false
			}
		}
	}
	return true
}
