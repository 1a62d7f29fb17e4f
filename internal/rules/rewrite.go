package rules

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// piece is a word of a sentence or what stands between two.
type piece struct {
	s    string
	word bool
}

// pieces takes a sentence apart. Words keep their apostrophes and hyphens.
func pieces(s string) []piece {
	var out []piece
	start, inWord := 0, false
	for i, r := range s {
		w := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) || (r == '\'' || r == '-' || r == '_') && inWord
		if i > start && w != inWord {
			out = append(out, piece{s[start:i], inWord})
			start = i
		}
		inWord = w
	}
	if start < len(s) {
		out = append(out, piece{s[start:], inWord})
	}
	return out
}

// retelling puts what one person says about themselves into the third person.
type retelling struct {
	name      string // as it stands inside a sentence: "Caroline", "the user"
	in        []piece
	out       []string
	subject   bool // the name has been a subject in this sentence
	inflected bool // the last verb of the speaker was bent
}

// retell rewrites a sentence of the first person about name: "I love my dog"
// becomes "Ana loves Ana's dog". The words of content stay as they are.
func retell(s, name string) string {
	t := retelling{name: name, in: pieces(s)}
	t.out = make([]string, len(t.in))
	for i, p := range t.in {
		t.out[i] = p.s
	}
	for i := range t.in {
		if t.in[i].word {
			t.word(i)
		}
	}
	return sentence(strings.Join(t.out, ""))
}

// sentence gives s a capital, one full stop, and single spaces.
func sentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	s = strings.TrimRight(s, " ,;:-–—.!…~")
	if s == "" {
		return ""
	}
	r, n := utf8.DecodeRuneInString(s)
	s = string(unicode.ToUpper(r)) + s[n:]
	if last, _ := utf8.DecodeLastRuneInString(s); strings.ContainsRune(`"”?。！`, last) {
		return s
	}
	return s + "."
}

// lower gives the word at i in lower case, "" where there is none.
func (t *retelling) lower(i int) string {
	if i < 0 || i >= len(t.in) || !t.in[i].word {
		return ""
	}
	return strings.ToLower(t.in[i].s)
}

// before gives the place of the word before i if only a space is between; -1 none.
func (t *retelling) before(i int) int {
	if i >= 2 && t.in[i-2].word && strings.TrimSpace(t.in[i-1].s) == "" {
		return i - 2
	}
	return -1
}

// after is before's counterpart.
func (t *retelling) after(i int) int {
	if i+2 < len(t.in) && t.in[i+2].word && strings.TrimSpace(t.in[i+1].s) == "" {
		return i + 2
	}
	return -1
}

var selfShort = map[string]string{
	"i'm": "is", "we're": "is", "im": "is", "i've": "has", "we've": "has", "ive": "has", "i'll": "will", "we'll": "will", "i'd": "would", "we'd": "would",
}

func (t *retelling) word(i int) {
	w := t.lower(i)
	switch w {
	case "i", "we":
		if w == "i" && t.in[i].s == "i" && t.before(i) < 0 && i > 0 {
			return // an enumeration, not a person
		}
		t.speaks(i)
	case "i'm", "we're", "im", "i've", "we've", "ive", "i'll", "we'll", "i'd", "we'd":
		verb := selfShort[w]
		next := t.after(i)
		for next >= 0 && isAdverb(t.lower(next)) {
			next = t.after(next)
		}
		if verb == "would" && next >= 0 && (participles[t.lower(next)] || strings.HasSuffix(t.lower(next), "ed") && t.lower(next) != "need") {
			verb = "had"
		}
		if t.joined(i) {
			verb = map[string]string{"is": "are", "has": "have"}[verb] + map[string]string{"will": "will", "would": "would", "had": "had"}[verb]
		}
		t.out[i] = t.name + " " + verb
		t.subject, t.inflected = true, false
	case "my", "our":
		if t.subject {
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
		t.inflected = false // a verb behind "and" may go with the infinitive
	case "and":
		if t.inflected {
			t.goesOn(i)
		}
	default:
		if other := pronouns[w]; other {
			t.inflected = false
		}
	}
}

// pronouns begin a clause of another subject.
var pronouns = wordSet("he she it they you that which who he's she's it's they're you're there there's this what")

// joined tells that the speaker is one of several subjects: "my friends and I".
func (t *retelling) joined(i int) bool {
	b := t.before(i)
	if b <= 0 || t.lower(b) != "and" && t.lower(b) != "or" || t.subject || t.before(b) < 0 {
		return false
	}
	var said strings.Builder
	for _, p := range t.in[:b] {
		said.WriteString(p.s)
	}
	return !finite.MatchString(said.String()) // else a clause ends there
}

// speaks rewrites the speaker as a subject and bends the verb behind.
func (t *retelling) speaks(i int) {
	t.out[i] = t.name
	defer func() { t.subject = true }()
	t.inflected = false
	if t.joined(i) {
		return
	}
	if b := t.before(i); b >= 0 {
		if f, ok := bent[t.lower(b)]; ok && t.out[b] == t.in[b].s { // "so am I"
			t.out[b] = f
			return
		}
		if unbending[t.lower(b)] && (t.lower(b) == "did" || t.lower(b) == "was" || t.lower(b) == "had" || isModal(t.lower(b))) {
			return
		}
	}
	next := t.after(i)
	for next >= 0 && isAdverb(t.lower(next)) {
		next = t.after(next)
	}
	if next < 0 {
		return
	}
	t.out[next], t.inflected = bend(t.in[next].s)
}

// goesOn bends a verb behind "and" whose subject the speaker still is.
func (t *retelling) goesOn(i int) {
	next := t.after(i)
	for next >= 0 && isAdverb(t.lower(next)) {
		next = t.after(next)
	}
	if next >= 0 && baseVerbs[t.lower(next)] {
		t.out[next], _ = bend(t.in[next].s)
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

// bend gives the third person of a verb of the first, and whether it is a
// present form that changed.
func bend(v string) (string, bool) {
	w := strings.ToLower(v)
	if f, ok := bent[w]; ok {
		return f, w != "were" && w != "weren't"
	}
	r, _ := utf8.DecodeRuneInString(v)
	last, _ := utf8.DecodeLastRuneInString(w)
	switch {
	case unbending[w], notVerbs[w], unicode.IsUpper(r), strings.ContainsAny(w, "'-_0123456789"), !unicode.Is(unicode.Latin, last),
		strings.HasSuffix(w, "ing") && len(w) > 5, pastForm(w), len(w) < 2:
		return v, false
	case strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "ly") && !notAdverbs[w]:
		return v, false
	}
	return thirdForm(v), true
}

// pastForm tells a regular past form from a verb that ends like one.
func pastForm(w string) bool {
	if !strings.HasSuffix(w, "ed") || len(w) < 4 {
		return false
	}
	switch w {
	case "need", "feed", "heed", "seed", "weed", "speed", "bleed", "breed", "succeed", "proceed", "exceed", "embed", "shed":
		return false
	}
	return true
}

func thirdForm(v string) string {
	n := len(v)
	switch {
	case strings.HasSuffix(v, "y") && n > 1 && !strings.ContainsRune("aeiou", rune(v[n-2])):
		return v[:n-1] + "ies"
	case strings.HasSuffix(v, "s"), strings.HasSuffix(v, "x"), strings.HasSuffix(v, "z"), strings.HasSuffix(v, "ch"), strings.HasSuffix(v, "sh"), strings.HasSuffix(v, "o"):
		return v + "es"
	}
	return v + "s"
}
