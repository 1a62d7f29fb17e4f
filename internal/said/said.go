// Package said reads talk without knowing its language: it finds the sentences of turns, leaves out what is
// pasted, tells which sentence answers a question, and says how likely a sentence states something worth keeping.
// That is a small learned head (head.go) over the form of a sentence and hashed parts of its words. With vectors of an
// encoder it also says what kind of thing a sentence is (kinds.go, judge.go).
package said

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/text"
)

// Turn is what one speaker said until the next one spoke.
type Turn struct {
	Speaker   string
	Assistant bool
	Text      string
}

// TurnsOf returns texts as turns of one person.
func TurnsOf(texts []string) []Turn {
	turns := make([]Turn, len(texts))
	for i, t := range texts {
		turns[i].Text = t
	}
	return turns
}

// Sentence is a sentence of a turn, with what is needed to understand it.
type Sentence struct {
	Text   string
	Turn   int    // index of its turn
	Lead   string // the sentence of the same turn that introduces it, by a colon; "": none
	Before string // the last sentence of the turn before, if this answers it, or needs it to be understood; "": none
	Asks   bool   // it ends as a question
	Apart  bool   // it begins a paragraph behind what a colon introduces, and does not belong to that
	Kinds  *Kinds // what it is, by Judge; nil: not known

	features features
	line     int    // of its turn
	behind   gap    // what is between it and the one before
	part     int    // how many sentences it and what follows its line are, up to the end of a part with a form of its own
	opened   *Kinds // of its words before a colon; nil: it has none, or they are not known
	handed   bool   // for work
	ofOthers bool   // it continues the words of somebody else
}

// Sentences returns the sentences of turns in order, from the turn at index from on. The turns before it are
// background.
func Sentences(turns []Turn, from int) []Sentence {
	var out []Sentence
	known := map[string]bool{}
	before, speaker := "", ""
	question, told := "", "" // what the turn before answers, and its text
	for i := range turns {
		turn := &turns[i]
		if turn.Speaker == speaker {
			before = "" // nobody else spoke
		}
		speaker = turn.Speaker
		all := split(turn.Text)
		if i >= from {
			out = append(out, read(turn, i, all, before, known)...)
		}
		for _, s := range all {
			for _, w := range text.Words(s.text) {
				known[w] = true
			}
		}
		last := ""
		if len(all) > 0 {
			last = all[len(all)-1].text
		}
		if question != "" && isEcho(last, told) && utf8.RuneCountInString(question+last) <= mostAsked {
			last = question + " " + last
		}
		question, told = "", turn.Text
		if Asks(before) {
			question = before
		}
		before = last
	}
	return out
}

// mostAsked is how many characters a question has at most with the echo of an answer to it.
const mostAsked = 2 * shortRunes

// isEcho reports whether a question is a part of what was said before it, asked back: "In Leeds?" What answers it answers the question
// before, too.
func isEcho(question, told string) bool {
	bare := strings.TrimFunc(question, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	return bare != "" && Asks(question) && strings.Contains(text.Fold(told), text.Fold(bare))
}

// read returns the sentences of one turn.
func read(turn *Turn, index int, all []piece, before string, known map[string]bool) []Sentence {
	out := make([]Sentence, 0, len(all))
	lead, line, asked := "", -1, Asks(before)
	question, most, end := "", answerWords, 0 // end: of what the lead introduces
	back := 0                                 // sentences that ask back
	if asked {
		question = before
	}
	for i, p := range all {
		ends := i >= end && introducesMore(lead)
		if ends || p.line != line && !introducesMore(lead) {
			lead = ""
		}
		s := Sentence{Text: p.text, Turn: index, Lead: lead, Asks: Asks(p.text), Apart: ends, line: p.line, behind: p.behind, part: partEnd(all, i) - i}
		words := shapeOf(p.text).words
		switch {
		case s.Asks:
		case question != "" && words <= most:
			s.Before = question
		case i == 0 && words <= dependentWords && !s.Names() && utf8.RuneCountInString(before) <= shortRunes:
			s.Before = before
		}
		if s.Asks && asked && back == i {
			back++
		}
		switch { // "Yes." alone leaves the rest of the answer to come, and so does the question asked back
		case words <= fewWords, back > i:
		case words > secondWords && most < answerWords:
			question = ""
		default:
			most = secondWords // another answer may follow: "Or rather in Porto."
		}
		if lead == "" && introduces(p.text) {
			lead, end = p.text, i+s.part
		}
		line = p.line
		s.features = featuresOf(&s, turn, max(0, i-back), len(all)-min(back, i), asked, known)
		out = append(out, s)
	}
	return out
}

// Words that make a fragment, at most; those of "Yes, please."; those of an answer that needs its question, and of another one behind
// it; and those of a sentence that is understood only with the one before it, unless it names something. That one is told if it is
// short: it costs room wherever the sentence is shown.
const (
	fragmentWords  = 4
	fewWords       = 2
	answerWords    = 16
	secondWords    = 6
	dependentWords = 10
	shortRunes     = 60
)

// Names reports whether a word behind the first one is written as a name. In a script without capitals none is.
func (s *Sentence) Names() bool {
	words := strings.Fields(s.Text)
	return slices.ContainsFunc(words[min(1, len(words)):], func(w string) bool {
		w = strings.TrimLeftFunc(w, unicode.IsPunct)
		first, size := utf8.DecodeRuneInString(w)
		second, _ := utf8.DecodeRuneInString(w[size:])
		return unicode.IsUpper(first) && unicode.IsLetter(second)
	})
}

// IsFragment reports whether a sentence has so few words that it needs the one before.
func (s *Sentence) IsFragment() bool { return shapeOf(s.Text).words <= fragmentWords }

// AnswersToo reports whether a sentence may be one more answer to the question before its turn.
func (s *Sentence) AnswersToo() bool {
	return !s.Asks && Asks(s.Before) && shapeOf(s.Text).words <= secondWords && !s.IsUntold()
}

// IsWord reports whether a sentence is a word or two, such as a greeting, and explains nothing.
func (s *Sentence) IsWord() bool { return shapeOf(s.Text).words <= fewWords }

// Introduced reports whether a colon introduces the sentence or a part of it.
func (s *Sentence) Introduced() bool { return s.Lead != "" || introduces(s.Text) }

// introducesMore reports whether a sentence ends with a colon.
func introducesMore(s string) bool {
	return strings.HasSuffix(strings.TrimRight(s, " "), ":") || strings.HasSuffix(s, "：")
}

// introduces reports whether a sentence has a colon between two words, or at its end, which another text may
// follow: words of somebody else, or a text that is handed over.
func introduces(s string) bool {
	for i, r := range s {
		if r == '：' {
			return true
		}
		if r != ':' {
			continue
		}
		next, _ := utf8.DecodeRuneInString(s[i+1:])
		if i+1 == len(s) || unicode.IsSpace(next) || strings.ContainsRune(openQuotes, next) {
			return true
		}
	}
	return false
}

// piece is a sentence in its line.
type piece struct {
	text   string
	line   int
	behind gap
	opens  bool // it begins a part with an end of its own, see partsIn
}

// gap is what is between two sentences.
type gap int

// What may be there, the weightiest last.
const (
	noGap  gap = iota
	blank      // a line without a text
	ruled      // a line that separates
	closed     // the end of a part
	paste      // a part that is left out
)

// split returns the sentences of a text without what is pasted. A web address or a path is one word, and what
// is between quotation marks belongs to one sentence.
func split(s string) []piece {
	var out []piece
	fenced, behind, opens := false, noGap, false
	lines := strings.Split(lineEnds.Replace(s), "\n")
	traced, parts := tracesIn(lines), partsIn(lines)
	for i, line := range lines {
		if parts[i].behind {
			opens, behind = false, max(behind, closed)
		}
		opens = opens || parts[i].begins
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			behind = max(behind, blank)
			continue
		case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
			fenced = !fenced
			continue
		case isRule(line):
			behind = max(behind, ruled)
			continue
		case fenced || traced[i] || isQuoted(line):
			behind = paste
			continue
		}
		pasted := isPasted(line)
		for _, sentence := range sentencesOf(line) {
			if told := withoutValues(sentence); pasted && (isPasted(told) || hasFewLetters(told)) {
				behind = paste
				break // what a person said before it is theirs
			}
			out = append(out, piece{sentence, i, behind, opens})
			behind, opens = noGap, false
		}
	}
	return out
}

// lineEnds makes one of all ends of a line.
var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n")

// sentencesOf returns the sentences of a line.
func sentencesOf(line string) []string {
	var out []string
	rest, held := line, ""
	for _, s := range text.Sentences(line) {
		at := strings.Index(rest, s)
		if at < 0 { // impossible: sentences are parts of the line
			continue
		}
		end := at + len(s)
		if n := closing(s); n > 0 && isOpen(held) { // French writes a space before the mark
			out = append(out, strings.TrimSpace(held+rest[:at+n]))
			held, rest, end = "", rest[at+n:], end-at-n
		}
		held += rest[:end]
		rest = rest[end:]
		next, _ := utf8.DecodeRuneInString(rest)
		if rest != "" && (!unicode.IsSpace(next) && held[len(held)-1] < utf8.RuneSelf || isOpen(held)) {
			continue
		}
		if t := strings.TrimSpace(held); t != "" {
			out = append(out, t)
		}
		held = ""
	}
	if t := strings.TrimSpace(held + rest); t != "" {
		out = append(out, t)
	}
	return out
}

// maxQuoted is how long a sentence grows, in bytes, to hold a quotation.
const maxQuoted = 400

// openQuotes and closeQuotes begin and end quotations. A straight mark does both.
const (
	openQuotes  = "\"“„«「『《"
	closeQuotes = "”»」』》"
	endQuotes   = closeQuotes + "\"“«" // in some languages
)

// closers are the marks that end a quotation, by the one that begins it. Those that begin one in some languages and end it in others
// do the latter where they can.
var closers = map[rune]string{
	'"': "\"", '“': "”", '„': "“”\"", '«': "»", '»': "«»", '”': "”", '「': "」", '『': "』", '《': "》",
}

// isOpen reports whether a quotation begins in a text and does not end there.
func isOpen(s string) bool {
	if len(s) > maxQuoted {
		return false
	}
	var open []string // the marks that end each quotation
	before := ' '
	for _, r := range s {
		opens := closers[r]
		switch {
		case len(open) > 0 && strings.ContainsRune(open[len(open)-1], r):
			open = open[:len(open)-1]
		case strings.ContainsRune(closeQuotes, r) && !unicode.IsSpace(before) && before != ':':
		case opens != "":
			open = append(open, opens)
		}
		before = r
	}
	return len(open) > 0
}

// closing returns how many bytes of marks that end a quotation a text begins with, if another sentence follows them.
func closing(s string) int {
	behind := strings.TrimLeft(s, endQuotes)
	next, _ := utf8.DecodeRuneInString(strings.TrimLeft(behind, " \u00a0\u202f"))
	if behind == s || !unicode.IsLetter(next) || unicode.IsLower(next) {
		return 0
	}
	return len(s) - len(behind)
}

// Bounds of what is pasted.
const (
	pastedRunes   = 40  // a line from this length on may be a log
	leastLetters  = 0.6 // of a line of talk
	longestWord   = 120 // of a line in a script with spaces
	tableColumns  = 3   // marks that separate them
	quotedByMails = ">"
)

// isQuoted reports whether a line is a quoted one of a mail, or a row of a table.
func isQuoted(line string) bool {
	return strings.HasPrefix(line, quotedByMails) || strings.Count(line, "|") >= tableColumns
}

// isPasted reports whether a line is not talk by its form: a row of values, code, a log.
func isPasted(line string) bool {
	word := 0
	for _, r := range line {
		if word++; unicode.IsSpace(r) || r >= 0x2e80 {
			word = 0 // a script without spaces, or a sign
		}
		if word > longestWord {
			return true
		}
	}
	return hasFewLetters(line) && (utf8.RuneCountInString(line) >= pastedRunes || isRow(line))
}

// isRow reports whether a line is a row of values.
func isRow(line string) bool {
	return strings.Count(line, "\t") >= tableColumns ||
		!strings.Contains(line, " ") && strings.Count(line, ",")+strings.Count(line, ";") >= tableColumns
}

// hasFewLetters reports whether a text has fewer letters than talk has.
func hasFewLetters(s string) bool {
	letters, all := 0, 0
	for _, r := range s {
		if unicode.IsSpace(r) {
			continue
		}
		if all++; unicode.IsLetter(r) || unicode.IsMark(r) {
			letters++
		}
	}
	return float64(letters) < leastLetters*float64(all)
}

// mostValues is how many digits of values a sentence has at most, such as the numbers of an account or two telephones.
const mostValues = 24

// withoutValues returns a text without the digits of values: words that have no letter, behind one that has.
func withoutValues(s string) string {
	told, digits := false, 0
	words := strings.Fields(s)
	for i, w := range words {
		c := shapeOf(w)
		if told = told || c.letters > 0; !told || c.letters > 0 {
			continue
		}
		if digits += c.digits; digits <= mostValues {
			words[i] = strings.ReplaceAll(digitsAsZero(w), "0", "")
		}
	}
	return strings.Join(words, " ")
}

// questionMarks are those of Latin, Chinese, Arabic, Armenian, Ethiopic and Greek.
const questionMarks = "?？؟՞፧\u037e"

// Asks reports whether a sentence ends with a question mark. In Greek that looks like a semicolon.
func Asks(s string) bool {
	s = strings.TrimRightFunc(s, func(r rune) bool {
		return r != ';' && !strings.ContainsRune(questionMarks, r) && !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
	end, _ := utf8.DecodeLastRuneInString(s)
	if end == ';' {
		return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Greek, r) })
	}
	return end != utf8.RuneError && strings.ContainsRune(questionMarks, end)
}
