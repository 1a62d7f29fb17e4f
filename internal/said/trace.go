package said

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// positions are the forms in which programs name a line of a source file: with a column or a message behind it, in parentheses, behind
// the path of the file, and in words behind a path or a quoted name. A host with its port has none of them.
var positions = regexp.MustCompile(`[\w)\]>-]\.[A-Za-z]\w{0,5}:\d+:` +
	`|\([^\s()]*\.[A-Za-z]\w{0,5}:\d+` +
	`|[/\\][^\s:"'()]*\.[A-Za-z]\w{0,5}[:(]\d+` +
	`|[/\\][^\s:"']*\.[A-Za-z]\w{0,5}[:,] ?\p{L}+ \d+` +
	`|["'](?:<[^"']*>|[^"']*\.\w{1,6})["'], \p{L}+ \d+` +
	`|^#?\d+\s+\S+\s+0x[0-9a-fA-F]{6,}\s+\S`) // a numbered call in a library, by its address

// loosePositions are forms in which a person, too, may name a part of a file: a word and a number behind it, or a number sign. Beside
// a call only a program does.
var (
	loosePositions = regexp.MustCompile(`[\w)\]-]\.[A-Za-z]\w{0,5}(?: \p{L}+ |#)\d+`)
	calls          = regexp.MustCompile(`\w\(`)
)

// fails is how a program says which of its calls failed: words, the call, and what is wrong with it behind a colon.
var fails = regexp.MustCompile(`^\s*\p{L}[^():]* [\w.:]+\(.*\) ?:(?:$|\s+\S+\s+\S|\s*$)`)

// frameWords is how many plain words a line has at most that only names a position.
const frameWords = 4

// traceLine is a line as part of a trace of an error.
type traceLine struct {
	indent     int
	named      bool // it names a position in a source file
	frame      bool // and says hardly more
	code       bool // at least a third of its words are code
	headed     bool // what it says is behind the name of an error
	introduces bool // it ends with a colon
}

// readTraceLine reads the form of a line.
func readTraceLine(line string) (t traceLine) {
	told := strings.TrimLeftFunc(line, unicode.IsSpace)
	t.indent = utf8.RuneCountInString(line) - utf8.RuneCountInString(told)
	told = withoutAddresses(strings.TrimSpace(told))
	plain, code, labeled := 0, 0, false
	for i, w := range strings.Fields(told) {
		bare, isLabel := strings.CutSuffix(w, ":")
		label, isCode := isLabel && strings.ContainsFunc(bare, unicode.IsLetter), isCodeWord(bare)
		labeled = labeled || label && i == 0
		t.headed = t.headed || label && isCode
		switch {
		case isCode:
			code++
		case strings.ContainsFunc(w, unicode.IsLetter):
			plain++
		}
	}
	t.code = code > 0 && 2*code >= plain
	t.introduces = strings.HasSuffix(told, ":")
	exact, loose := positions.MatchString(told), loosePositions.MatchString(told)
	t.named = (exact || loose) && (!labeled || t.headed)
	t.frame = t.named && plain <= frameWords && (exact || calls.MatchString(told))
	t.headed = t.headed || labeled && code > 0 || strings.HasSuffix(told, "):")
	return t
}

// isCodeWord reports whether a word is written as in a program: it has signs, or capitals inside, or is a sign.
func isCodeWord(w string) bool {
	w = strings.Trim(w, `"',.;!?…“”„«»`)
	if w = strings.TrimLeft(w, "("); !strings.Contains(w, "(") { // a person's parentheses are around words
		w = strings.TrimRight(w, ")")
	}
	before := ' '
	letters := false
	for _, r := range w {
		if strings.ContainsRune("()[]{}<>=|\\/_:.@#*`^~+", r) || unicode.IsUpper(r) && unicode.IsLower(before) {
			return true
		}
		letters = letters || unicode.IsLetter(r) || unicode.IsNumber(r)
		before = r
	}
	return w != "" && !letters
}

// tracesIn reports of each line whether it belongs to the trace of an error. A trace is in one paragraph: lines that name positions,
// what is between them, and the lines around them in which a program speaks.
func tracesIn(lines []string) []bool {
	in := make([]bool, len(lines))
	for from := 0; from < len(lines); {
		to := from
		for to < len(lines) && strings.TrimSpace(lines[to]) != "" {
			to++
		}
		markTrace(lines[from:to], in[from:to])
		from = to + 1
	}
	return in
}

// markTrace marks the lines of a trace in a paragraph.
func markTrace(lines []string, in []bool) {
	all := make([]traceLine, len(lines))
	first, last, named := -1, -1, 0
	for i, line := range lines {
		if all[i] = readTraceLine(line); !all[i].frame {
			continue
		}
		if named++; first < 0 {
			first = i
		}
		last = i
	}
	if first < 0 {
		markFailure(lines, all, in)
		return
	}
	begin, end := beginOf(lines, all, first), last+1
	for end < len(lines) {
		if t := &all[end]; !t.speaks() && t.indent <= all[begin].indent && !hasFewLetters(lines[end]) && (end > last+1 || !all[last].introduces) {
			break
		}
		end++
	}
	if named == 1 && end-begin == 1 && all[first].indent == 0 {
		return // a person may name a file
	}
	for i := begin; i < end; i++ {
		in[i] = true
	}
}

// markFailure marks the lines of a failed call, if no line names a position: what it says is indented, or a line in which a program speaks
// follows.
func markFailure(lines []string, all []traceLine, in []bool) {
	belongs := func(i, to int) bool {
		return all[i].indent > all[to].indent || all[i].speaks() && !fails.MatchString(lines[i])
	}
	for i := 0; i+1 < len(lines); i++ {
		if !fails.MatchString(lines[i]) || !belongs(i+1, i) {
			continue
		}
		in[i] = true
		for k := i + 1; k < len(lines) && belongs(k, i); k++ {
			in[k] = true
		}
	}
}

// beginOf returns where the trace begins whose first line with a position is known: above it are the names of errors, and headings below
// those.
func beginOf(lines []string, all []traceLine, first int) int {
	belongs := func(i int) bool {
		t := &all[i]
		return t.speaks() || !t.introduces && t.indent < all[i+1].indent && strings.HasSuffix(strings.Fields(lines[i])[0], ":")
	}
	begin := first
	for begin > 0 {
		at := begin - 1
		if all[at].introduces && !belongs(at) && at > 0 && belongs(at-1) {
			at-- // a heading in the trace
		}
		if !belongs(at) {
			break
		}
		begin = at
	}
	return begin
}

// speaks reports whether a program speaks in a line, beside one that names a position.
func (t *traceLine) speaks() bool { return t.named || t.headed || t.code }
