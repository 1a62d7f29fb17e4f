package text

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The bounds of key phrases.
const (
	maxPhraseWords = 3   // of a name, or of words that are repeated together; two for others
	fewPhrases     = 3   // up to this number, weak candidates are used too
	phraseFloor    = 0.5 // of the best score: beyond fewPhrases, what scores less is left out
	maxPairPhrase  = 10  // characters of a script without spaces; a longer run is a clause, and a part of it may be half a word
)

// The features of a word, each a factor of its weight. All hold in every language.
const (
	capitalFactor  = 1.4 // capitalized, not at the start of a sentence: a name, in German a noun
	openingFactor  = 0.7 // the first word of a sentence: often an interjection, a pronoun or a verb
	fullSentence   = 4.0 // content words of a sentence that tells something; a shorter one counts for less: "Thanks, Mel!"
	pairDamping    = 0.8 // of each further word of a phrase that only its position supports
	namePhrase     = 0.5 // of each further word of a name or of a repeated phrase
	clauseFactor   = 0.7 // a run of a script without spaces that is longer than most words
	longRun        = 5   // characters
	sentenceFactor = 0.1 // loss of an extract for each sentence from the start
)

// shortFactors are the factors of words by their letters. The shorter a word, the more common it is: Zipf's law of abbreviation.
var shortFactors = [...]float64{0, 0, 0.4, 0.45, 0.7, 0.85}

// content is a word that may be part of a key phrase.
type content struct {
	token
	stem     string
	sentence int
	first    bool // it opens a sentence
	capital  bool // it begins with a capital, and does not open a sentence
	weak     bool // used only when there is little else: a word that is a whole opening clause ("Well, …"), a single Han character
	weight   float64
}

// candidate is a possible key phrase: words [from, to) of one run of content words.
type candidate struct {
	text  string
	words []content
	weak  bool
	score float64
}

// Keyphrases returns at most n phrases that describe what s is about, best first. Each occurs verbatim in s, has at most
// three words, and contains no stop word, no bare number and no word of exclude (names, in any letter case). It returns
// fewer when the text has no more.
//
// The method combines RAKE's candidates (runs of content words between stop words and punctuation) with statistics of the
// text: how often a word occurs, how long it is, whether it opens a sentence or is capitalized inside one, and how much
// its sentence tells. It has no lists of words but the stop words. The result depends on the arguments only.
func Keyphrases(s string, n int, exclude ...string) []string {
	if n <= 0 {
		return nil
	}
	plain := strings.ReplaceAll(s, "ʼ", "´") // Unicode has the one for a letter; both have two bytes
	lang, _ := Guess(plain)
	r := phraseReader{s: s, lang: lang, drop: map[string]bool{}, opens: true}
	for _, name := range exclude {
		for _, w := range append(Words(name), strings.Fields(name)...) {
			r.drop[foldWord(w)] = true
		}
	}
	r.read(plain)
	if len(r.words) == 0 {
		return nil
	}
	pairs := r.weigh()
	all := r.candidates(pairs)
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(b.score, a.score) })
	// A short text has few: two for three words.
	return choosePhrases(all, min(n, max(fewPhrases, len(r.words)*2/3)))
}

// phraseReader reads the content words of a text.
type phraseReader struct {
	s    string
	lang Language
	drop map[string]bool

	words []content
	runs  []int // where runs of content words begin in words
	// The state behind the last token.
	end      int  // of the token
	sentence int  // its number
	opens    bool // the next token opens a sentence
	clause   int  // tokens since the last punctuation
	opening  bool // the clause opens a sentence
	last     int  // the index in words of the last token; -1: it is not there
	number   bool // the token was a number
	short    bool // the next token is a function word
}

func (r *phraseReader) read(plain string) {
	r.last = -1
	var parts []token
	scan(plain, func(t token) {
		if n := len(parts); n == 0 || t.class != classWord || parts[n-1].class != classWord || !isApostrophe(r.s[parts[n-1].end:t.start]) {
			r.joined(parts)
			parts = parts[:0]
		}
		parts = append(parts, t)
	})
	r.joined(parts)
	r.endClause()
}

// apostrophes are the signs that are written for an apostrophe.
const apostrophes = "'’ʼ‘＇´"

func isApostrophe(gap string) bool {
	return gap != "" && strings.Contains(apostrophes, gap) && utf8.RuneCountInString(gap) == 1
}

// joined reads the parts of a word with apostrophes between them. A function word is read alone: it lost its vowel before the
// next part ("l'homme", "dell'arte"), or is a consonant behind one ("Ann's"). Else they are one word: "Qur'an", "O'zbek", "п'ять".
func (r *phraseReader) joined(parts []token) {
	if len(parts) == 0 {
		return
	}
	whole := token{start: parts[0].start, end: parts[len(parts)-1].end, class: parts[0].class}
	function := func(t token) bool {
		stop := func(end string) bool { return stems.stem([]byte(foldWord(r.s[t.start:t.end])+end), r.lang).stop }
		if t.end == whole.end {
			return stop("") && !strings.ContainsAny(r.s[t.start:t.start+1], "aeiouAEIOU")
		}
		return stop("") || stop("a") || stop("e") || stop("o")
	}
	first, _ := utf8.DecodeRuneInString(r.s[whole.start:])
	if len(parts) == 1 || !unicode.Is(unicode.Latin, first) || isNegation(r.s[whole.start:whole.end]) || !slices.ContainsFunc(parts, function) {
		r.token(whole)
		return
	}
	for _, t := range parts {
		r.short = function(t)
		r.token(t)
	}
	r.short = false
}

// isNegation reports whether a word is an English verb with a short "not", which is none of the words that it looks like: "won't".
func isNegation(word string) bool {
	before, ok := strings.CutSuffix(strings.ToLower(word), "t")
	before = strings.TrimRight(before, apostrophes)
	return ok && len(before)+1 < len(word) && strings.HasSuffix(before, "n")
}

// token reads the next token.
func (r *phraseReader) token(t token) {
	gap := r.s[r.end:t.start]
	if !joinsPhrase(gap) {
		r.breakRun()
		if r.end > 0 && strings.ContainsFunc(gap, endsClause) {
			r.endClause()
		}
		if strings.ContainsFunc(gap, endsSentence) {
			r.sentence++
			r.opens = true
		}
	}
	if r.clause == 0 {
		r.opening = r.opens
	}
	afterNumber := r.number && gap == ""
	r.end, r.last, r.number = t.end, -1, false
	r.clause++
	if t.class == classPair {
		r.pairRun(t, afterNumber)
	} else {
		r.word(t)
	}
	r.opens = false
}

// endClause marks a word that is a whole clause and opens a sentence: "Well, …", "Да, …", "好的，…".
func (r *phraseReader) endClause() {
	if r.clause == 1 && r.opening && r.last >= 0 {
		r.words[r.last].weak = true
	}
	r.clause = 0
}

func (r *phraseReader) breakRun() {
	if at := len(r.words); len(r.runs) == 0 || r.runs[len(r.runs)-1] != at {
		r.runs = append(r.runs, at)
	}
}

// word reads a word of a script with spaces.
func (r *phraseReader) word(t token) {
	w := foldWord(r.s[t.start:t.end])
	lang := scriptLanguage(w, false, r.lang)
	e := stems.stem([]byte(w), lang)
	r.number = isNumber(w)
	if e.stop || r.short || r.drop[w] || letters(w) < 2 || isNegation(r.s[t.start:t.end]) {
		r.breakRun()
		return
	}
	first, _ := utf8.DecodeRuneInString(r.s[t.start:])
	r.last = len(r.words)
	r.words = append(r.words, content{
		token: t, stem: e.term, sentence: r.sentence, first: r.opens, capital: !r.opens && unicode.IsUpper(first), weight: lengthFactor(r.s[t.start:t.end]),
	})
}

// pairRun reads a run of a script without spaces. Every part of it is a run of its own.
func (r *phraseReader) pairRun(t token, afterNumber bool) {
	whole := t
	splitPairRun(r.s, t, r.lang, afterNumber, func(part token) {
		w := foldWord(r.s[part.start:part.end])
		if r.drop[w] || stopWords[r.lang][w] {
			return
		}
		n := utf8.RuneCountInString(w)
		c := content{token: part, stem: w, sentence: r.sentence, weight: 1, weak: n == 1}
		if n > longRun {
			c.weight = clauseFactor
		}
		r.breakRun()
		r.words = append(r.words, c)
		if part == whole && n <= fewPhrases {
			r.last = len(r.words) - 1
		}
	})
	r.breakRun()
}

// joinsPhrase reports whether two words with gap between them may be in one phrase.
func joinsPhrase(gap string) bool {
	switch gap {
	case "", " ", "-", "&", " & ", "/":
		return true
	}
	return isApostrophe(gap)
}

func endsClause(r rune) bool {
	return unicode.IsPunct(r) && r != '-' && !strings.ContainsRune(apostrophes, r) || r == '\n'
}

func endsSentence(r rune) bool {
	return unicode.Is(unicode.STerm, r) || r == '\n' || r == '…' || r == ':'
}

func letters(w string) int {
	n := 0
	for _, r := range w {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

func isNumber(w string) bool {
	return strings.IndexFunc(w, func(r rune) bool { return !unicode.IsNumber(r) }) < 0
}

// lengthFactor returns the factor of a word by its length. A name in capitals, or one with a digit, is not common for being short.
func lengthFactor(word string) float64 {
	n := utf8.RuneCountInString(word)
	if n >= len(shortFactors) || hasDigit(word) || isUpper(word) {
		return 1
	}
	return shortFactors[n]
}

func isUpper(s string) bool { return s == strings.ToUpper(s) && s != strings.ToLower(s) }

// script says how a character of a script without spaces may be part of a word.
type script uint8

const (
	scriptOther  script = iota // Hangul, Thai and others: a run is a word or a phrase
	scriptKanji                // Han and Katakana: content
	scriptKana                 // Hiragana: endings and function words
	scriptNumber               // Han numerals
)

func scriptOf(r rune) script {
	switch {
	case strings.ContainsRune("〇零一二三四五六七八九十百千万萬亿億两兩几幾", r):
		return scriptNumber
	case unicode.Is(unicode.Hiragana, r):
		return scriptKana
	case r == 'ー' || unicode.In(r, unicode.Han, unicode.Katakana):
		return scriptKanji
	}
	return scriptOther
}

// splitPairRun calls yield with the parts of a run of a script without spaces that may be words: it is cut at function
// words, where Kana begin and end, and at numbers with what they count ("一杯", "15号").
func splitPairRun(s string, t token, lang Language, afterNumber bool, yield func(token)) {
	stop := stopWords[lang]
	start, skip := t.start, afterNumber
	cut := func(to int) {
		if n := utf8.RuneCountInString(s[start:to]); n > 1 && n <= maxPairPhrase || n == 1 && lang == Chinese {
			yield(token{start: start, end: to, class: classPair})
		}
	}
	for i := t.start; i < t.end; {
		r, n := utf8.DecodeRuneInString(s[i:])
		kind := scriptOf(r)
		width := 0
		if kind != scriptOther {
			width = functionWord(s[i:t.end], stop)
		}
		switch {
		case kind == scriptNumber || kind == scriptKana || width > 0:
			cut(i)
			skip = kind == scriptNumber
			i += max(width, n)
			start = i
		case skip && kind == scriptKanji: // what is counted by the number
			skip = false
			i += n
			start = i
		default:
			i += n
		}
	}
	if start < t.end {
		cut(t.end)
	}
}

// functionWord returns the length of the function word with which s begins, the longest one; 0: there is none.
func functionWord(s string, stop map[string]bool) int {
	for _, runes := range [...]int{3, 2, 1} {
		if w := firstRunes(s, runes); w != "" && stop[w] {
			return len(w)
		}
	}
	return 0
}

// firstRunes returns the first n characters of s, or "" if it has fewer.
func firstRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	if n == 0 {
		return s
	}
	return ""
}

// weigh sets the weight of every content word, and returns how often two words follow one another.
func (r *phraseReader) weigh() map[[2]string]int {
	freq := make(map[string]int, len(r.words))
	inSentence := make([]int, r.sentence+1)
	for i := range r.words {
		freq[r.words[i].stem]++
		if !r.words[i].weak {
			inSentence[r.words[i].sentence]++
		}
	}
	best := make(map[string]float64, len(freq))
	for i := range r.words {
		c := &r.words[i]
		w := c.weight
		switch {
		case c.capital:
			w = capitalFactor
		case c.first:
			w *= openingFactor
		}
		w *= 1 + math.Log(float64(freq[c.stem]))
		w *= min(1, float64(inSentence[c.sentence])/fullSentence)
		best[c.stem] = max(best[c.stem], w)
	}
	pairs := map[[2]string]int{}
	for i := range r.words {
		r.words[i].weight = best[r.words[i].stem]
		if i > 0 {
			pairs[[2]string{r.words[i-1].stem, r.words[i].stem}]++
		}
	}
	return pairs
}

// candidates returns the phrases of the runs.
func (r *phraseReader) candidates(pairs map[[2]string]int) []candidate {
	out := make([]candidate, 0, 2*len(r.words))
	r.breakRun()
	from := 0
	for _, to := range r.runs {
		for i := from; i < to; i++ {
			out = append(out, r.phrasesAt(r.words[i:to], pairs)...)
		}
		from = to
	}
	return out
}

// phrasesAt returns the phrases that begin a run. The score of a phrase is a damped sum of its words: it beats its parts,
// but two words that only follow one another do not beat a strong one.
func (r *phraseReader) phrasesAt(run []content, pairs map[[2]string]int) []candidate {
	sum := run[0].weight
	out := []candidate{{text: r.s[run[0].start:run[0].end], words: run[:1], weak: run[0].weak, score: sum}}
	if run[0].weak {
		return out
	}
	names := run[0].capital
	for j := 1; j < min(len(run), maxPhraseWords); j++ {
		c := &run[j]
		if c.weak || slices.ContainsFunc(run[:j], func(o content) bool { return o.stem == c.stem }) {
			break
		}
		names = names && c.capital
		together := names || pairs[[2]string{run[j-1].stem, c.stem}] > 1
		if j > 1 && !together {
			break
		}
		sum += c.weight
		damping := pairDamping
		if together {
			damping = namePhrase
		}
		out = append(out, candidate{text: r.s[run[0].start:c.end], words: run[:j+1], score: sum / (1 + damping*float64(j))})
	}
	return out
}

// choosePhrases returns the best candidates of which most words are not in earlier phrases.
func choosePhrases(all []candidate, n int) []string {
	var out []string
	seen := map[string]bool{}
	add := func(weak bool, limit int, floor float64) {
		for i := range all {
			c := &all[i]
			if len(out) >= limit {
				return
			}
			if c.weak != weak || len(out) >= fewPhrases && c.score < floor || !isFresh(c, seen, out) {
				continue
			}
			for _, w := range c.words {
				seen[w.stem] = true
			}
			out = append(out, c.text)
		}
	}
	add(false, n, phraseFloor*all[0].score)
	if len(out) == 0 {
		add(true, min(n, fewPhrases), 0)
	}
	return out
}

// isFresh reports whether most words of a candidate are not in the phrases that were chosen.
func isFresh(c *candidate, seen map[string]bool, chosen []string) bool {
	fresh := 0
	for _, w := range c.words {
		if !seen[w.stem] {
			fresh++
		}
	}
	if fresh*2 <= len(c.words) {
		return false
	}
	return c.words[0].class != classPair || !slices.ContainsFunc(chosen, func(o string) bool { return strings.Contains(o, c.text) })
}
