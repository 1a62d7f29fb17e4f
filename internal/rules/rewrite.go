package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word of a sentence, or the characters between two words.
type token struct {
	text   string
	isWord bool
}

// tokenize splits a sentence into tokens. Words keep their apostrophes and hyphens.
func tokenize(s string) []token {
	var out []token
	start, inWord := 0, false
	for i, r := range s {
		w := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || (r == '\'' || r == '-' || r == '_') && inWord
		if i > start && w != inWord {
			out = append(out, token{s[start:i], inWord})
			start = i
		}
		inWord = w
	}
	if start < len(s) {
		out = append(out, token{s[start:], inWord})
	}
	return out
}

// retelling rewrites what one person says about themselves in the third person.
type retelling struct {
	name        string // as written inside a sentence: "Caroline", "the user"
	tokens      []token
	out         []string
	subjectSeen bool // the name has been a subject in this sentence
	inflected   bool // the speaker's last verb was inflected
}

// retell rewrites a sentence of the first person in the third person: "I love my dog" becomes
// "Ana loves Ana's dog". A pronoun could be that of
// somebody else, so only speakers without a name have one. Content words do not change.
func retell(s, name string) string {
	t := retelling{name: name, tokens: tokenize(s)}
	t.out = make([]string, len(t.tokens))
	for i, p := range t.tokens {
		t.out[i] = p.text
	}
	for i := range t.tokens {
		if t.tokens[i].isWord {
			t.rewriteWord(i)
		}
	}
	return formatSentence(strings.Join(t.out, ""))
}

// withPronouns replaces the possessive of a sentence's subject by "their", where it comes again, so
// that patterns need to know one form only.
func withPronouns(s string) string {
	date := leadingDate.FindString(s)
	m := plainName.FindStringSubmatch(s[len(date):])
	if len(m) < 2 || strings.HasPrefix(m[1], "The ") {
		return s
	}
	name, _, _ := strings.Cut(m[1], "'")
	at := len(date) + len(m[1])
	return s[:at] + strings.ReplaceAll(s[at:], " "+name+"'s ", " their ")
}

// formatSentence returns s with a capital, one full stop and single spaces.
func formatSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	s = strings.TrimRight(s, " ,;:-–—.!…~")
	if s == "" {
		return ""
	}
	s = upperFirst(s)
	if last, _ := utf8.DecodeLastRuneInString(s); strings.ContainsRune(`"”?。！`, last) {
		return s
	}
	return s + "."
}

// upperFirst returns s with a capital at its beginning.
func upperFirst(s string) string {
	if s == "" {
		return ""
	}
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(r)) + s[n:]
}

// lowerWord returns the word at i in lower case, or "" if there is none.
func (t *retelling) lowerWord(i int) string {
	if i < 0 || i >= len(t.tokens) || !t.tokens[i].isWord {
		return ""
	}
	return strings.ToLower(t.tokens[i].text)
}

// wordBefore returns the index of the word before i if only space is between them, else -1.
func (t *retelling) wordBefore(i int) int {
	if i >= 2 && t.tokens[i-2].isWord && strings.TrimSpace(t.tokens[i-1].text) == "" {
		return i - 2
	}
	return -1
}

// wordAfter returns the index of the word after i if only space is between them, else -1.
func (t *retelling) wordAfter(i int) int {
	if i+2 < len(t.tokens) && t.tokens[i+2].isWord && strings.TrimSpace(t.tokens[i+1].text) == "" {
		return i + 2
	}
	return -1
}

// speakerContractions maps a contraction of the speaker and a verb to that verb in the third person.
var speakerContractions = map[string]string{
	"i'm": "is", "we're": "is", "im": "is", "i've": "has", "we've": "has", "ive": "has", "i'll": "will", "we'll": "will", "i'd": "would", "we'd": "would",
}

// rewriteWord rewrites the word at i if it refers to the speaker, and tracks whose verb comes next.
func (t *retelling) rewriteWord(i int) {
	w := t.lowerWord(i)
	switch w {
	case "i", "we":
		if w == "i" && t.tokens[i].text == "i" && t.wordBefore(i) < 0 && i > 0 {
			return // the "i" of an enumeration
		}
		t.rewriteSubject(i)
	case "i'm", "we're", "im", "i've", "we've", "ive", "i'll", "we'll", "i'd", "we'd":
		verb := speakerContractions[w]
		next := t.wordAfter(i)
		for next >= 0 && isAdverb(t.lowerWord(next)) {
			next = t.wordAfter(next)
		}
		if verb == "would" && next >= 0 && (participles[t.lowerWord(next)] || strings.HasSuffix(t.lowerWord(next), "ed") && t.lowerWord(next) != "need") {
			verb = "had"
		}
		if t.isJointSubject(i) {
			verb = map[string]string{"is": "are", "has": "have"}[verb] + map[string]string{"will": "will", "would": "would", "had": "had"}[verb]
		}
		t.out[i] = t.name + " " + verb
		t.subjectSeen, t.inflected = true, false
	case "my", "our":
		if t.subjectSeen && (t.name == "the user" || t.name == "the assistant") {
			t.out[i] = "their"
		} else {
			t.out[i] = t.name + "'s"
		}
	case "mine", "ours":
		t.out[i] = t.name + "'s"
	case "me", "us":
		t.out[i] = t.name
	case "myself", "ourselves":
		t.out[i] = "themselves"
	case "to":
		t.inflected = false // a verb behind "and" may belong to the infinitive
	case "and":
		if t.inflected {
			t.inflectAfterAnd(i)
		}
	default:
		if other := pronouns[w]; other {
			t.inflected = false
		}
	}
}

// pronouns begin a clause with another subject.
var pronouns = wordSet("he she it they you that which who he's she's it's they're you're there there's this what")

// isJointSubject reports whether the speaker is one of several subjects: "my friends and I".
func (t *retelling) isJointSubject(i int) bool {
	b := t.wordBefore(i)
	if b <= 0 || t.lowerWord(b) != "and" && t.lowerWord(b) != "or" || t.subjectSeen || t.wordBefore(b) < 0 {
		return false
	}
	var said strings.Builder
	for _, p := range t.tokens[:b] {
		said.WriteString(p.text)
	}
	return !finiteVerb.MatchString(said.String()) // a verb before "and" ends a clause
}

// rewriteSubject rewrites the speaker as a subject and inflects the verb.
func (t *retelling) rewriteSubject(i int) {
	t.out[i] = t.name
	defer func() { t.subjectSeen = true }()
	t.inflected = false
	if t.isJointSubject(i) {
		return
	}
	if b := t.wordBefore(i); b >= 0 {
		if f, ok := irregularForms[t.lowerWord(b)]; ok && t.out[b] == t.tokens[b].text { // "so am I"
			t.out[b] = f
			return
		}
		if invariantVerbs[t.lowerWord(b)] && (t.lowerWord(b) == "did" || t.lowerWord(b) == "was" || t.lowerWord(b) == "had" || isModal(t.lowerWord(b))) {
			return
		}
	}
	next := t.wordAfter(i)
	for next >= 0 && (isAdverb(t.lowerWord(next)) || t.lowerWord(next) == "no" || t.lowerWord(next) == "longer") {
		next = t.wordAfter(next)
	}
	if next < 0 {
		return
	}
	t.out[next], t.inflected = inflect(t.tokens[next].text)
}

// inflectAfterAnd inflects a verb behind "and" whose subject is still the speaker.
func (t *retelling) inflectAfterAnd(i int) {
	next := t.wordAfter(i)
	for next >= 0 && isAdverb(t.lowerWord(next)) {
		next = t.wordAfter(next)
	}
	if next >= 0 && baseVerbs[t.lowerWord(next)] {
		t.out[next], _ = inflect(t.tokens[next].text)
	}
}

func isModal(w string) bool {
	switch w {
	case "can", "could", "will", "would", "should", "may", "might", "must", "shall":
		return true
	}
	return false
}

func isAdverb(w string) bool {
	return adverbs[w] || len(w) > 4 && strings.HasSuffix(w, "ly") && !notAdverbs[w]
}

// inflect returns the third person of a verb in the first person, and whether it is a present
// form that changed.
func inflect(v string) (string, bool) {
	w := strings.ToLower(v)
	if f, ok := irregularForms[w]; ok {
		return f, w != "were" && w != "weren't"
	}
	r, _ := utf8.DecodeRuneInString(v)
	last, _ := utf8.DecodeLastRuneInString(w)
	switch {
	case invariantVerbs[w], notVerbs[w], unicode.IsUpper(r), strings.ContainsAny(w, "'-_0123456789"), !unicode.Is(unicode.Latin, last),
		strings.HasSuffix(w, "ing") && len(w) > 5, isPastForm(w), len(w) < 2:
		return v, false
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "ly") && !notAdverbs[w]:
		return v, false
	}
	return thirdPersonForm(v), true
}

// isPastForm reports whether a word is a regular past form, not another verb that ends in "ed".
func isPastForm(w string) bool {
	if !strings.HasSuffix(w, "ed") || len(w) < 4 {
		return false
	}
	switch w {
	case "need", "feed", "heed", "seed", "weed", "speed", "bleed", "breed", "succeed", "proceed", "exceed", "embed", "shed":
		return false
	}
	return true
}

// thirdPersonForm adds the ending of the third person to a regular verb.
func thirdPersonForm(v string) string {
	n := len(v)
	switch {
	case strings.HasSuffix(v, "y") && n > 1 && !strings.ContainsRune("aeiou", rune(v[n-2])):
		return v[:n-1] + "ies"
	case strings.HasSuffix(v, "s"), strings.HasSuffix(v, "x"), strings.HasSuffix(v, "z"), strings.HasSuffix(v, "ch"), strings.HasSuffix(v, "sh"), strings.HasSuffix(v, "o"):
		return v + "es"
	}
	return v + "s"
}
