package said

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/text"
)

// ruleSigns are those of a line that separates parts of a text.
const ruleSigns = "-–—=*_#'─━═＝－＿"

// leastRule is how many signs such a line has at least.
const leastRule = 3

// isRule reports whether a line separates parts of a text: it repeats one sign.
func isRule(line string) bool {
	line = strings.Join(strings.Fields(line), "")
	sign, size := utf8.DecodeRuneInString(line)
	return strings.ContainsRune(ruleSigns, sign) && len(line) >= leastRule*size && strings.Trim(line, string(sign)) == ""
}

// begins and items are how a part between tags, and an item of a list, begin.
var (
	tagBegins = regexp.MustCompile(`^<(\pL[\pL\pN_-]*)[^<>]*>`)
	items     = regexp.MustCompile(`^(?:[-–—*+•·‣▪●○◦]\s|・|\(?\pN{1,3}[.)、．]|\(?\pL\)\s)`)
)

// part is what a line is to the parts of a text that have a form of their own.
type part struct {
	begins bool // one begins with the line
	behind bool // one ended before it
}

// partsIn returns that of each line. A part is what is between quotation marks or tags, from the beginning of a line to the end of this
// or a later one, or a list. Tags are taken out of the lines.
func partsIn(lines []string) []part {
	parts := make([]part, len(lines)+1)
	for i := 0; i < len(lines); {
		end := endFrom(lines, i)
		if end == 0 {
			i++
			continue
		}
		parts[i].begins, parts[end].behind = true, true
		i = end
	}
	return parts
}

// endFrom returns the line behind the part that begins with a line; 0: none does.
func endFrom(lines []string, from int) int {
	line := strings.TrimSpace(lines[from])
	if mark, _ := utf8.DecodeRuneInString(line); closers[mark] != "" {
		open := 0
		return endOfPart(lines, from, func(line string) bool { return endsMarked(line, mark, &open) })
	}
	if isItem(line) {
		return endOfList(lines, from)
	}
	tag := tagBegins.FindStringSubmatch(line)
	if tag == nil {
		return 0
	}
	closing := "</" + tag[1] + ">"
	end := endOfPart(lines, from, func(line string) bool { return strings.HasSuffix(line, closing) })
	if end > 0 {
		lines[from] = strings.TrimPrefix(line, tag[0])
		lines[end-1] = strings.TrimSuffix(strings.TrimSpace(lines[end-1]), closing)
	}
	return end
}

// isItem reports whether a line is an item of a list.
func isItem(line string) bool { return items.MatchString(line) && !isRule(line) }

// endOfPart returns the line behind the first one from a line on that ends a part; 0: none does.
func endOfPart(lines []string, from int, ends func(line string) bool) int {
	for i, line := range lines[from:] {
		if ends(strings.TrimSpace(line)) {
			return from + i + 1
		}
	}
	return 0
}

// endsMarked reports whether a line ends with the end of a quotation that a mark began, and counts those that are open behind it.
func endsMarked(line string, mark rune, open *int) bool {
	for _, r := range line {
		switch {
		case *open > 0 && strings.ContainsRune(closers[mark], r):
			*open--
		case r == mark:
			*open++
		}
	}
	return *open == 0 && endsQuotation(line)
}

// endOfList returns the line behind a list, whose items may have more than one paragraph: that of the paragraph behind its last item.
func endOfList(lines []string, from int) int {
	end, within := from, true
	for i := from; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		switch first, _ := utf8.DecodeRuneInString(lines[i]); {
		case isItem(line):
			end, within = i+1, true
		case line == "":
			within = false
		case within || unicode.IsSpace(first):
			end = max(end, i+1)
		}
	}
	return end
}

// partEnd returns the index of the first sentence that no longer belongs to what the sentence at an index introduces, by its form: behind a
// part that begins on the next line, or between two rules; the paragraph behind the last rule; and that in the language of the sentence
// behind a text in another one. The number of sentences: the end is not known.
func partEnd(all []piece, at int) int {
	from := at + 1
	for from < len(all) && all[from].line == all[at].line {
		from++
	}
	if from >= len(all) {
		return len(all)
	}
	behind := func(least gap) int {
		for i := from + 1; i < len(all); i++ {
			if g := all[i].behind; g >= least && g != paste {
				return i
			}
		}
		return len(all)
	}
	switch {
	case all[from].behind == paste:
		return from
	case all[from].opens:
		return behind(closed)
	case all[from].behind == ruled:
		return behind(ruled)
	}
	last := len(all) - 1 // where the last paragraph begins
	for last > from && all[last].behind < blank {
		last--
	}
	if last > from && (all[last].behind == ruled || isOtherwise(all[at:from], all[from:last], all[last:])) {
		return last
	}
	return len(all)
}

// isOtherwise reports whether a text is surely in another language than what is before and behind it, which are in one.
func isOtherwise(before, within, behind []piece) bool {
	language := func(of []piece) (text.Language, bool) {
		var b strings.Builder
		for _, p := range of {
			b.WriteString(p.text + " ")
		}
		return text.Guess(b.String())
	}
	asked, sure := language(before)
	told, sureToo := language(behind)
	handed, surely := language(within)
	return sure && sureToo && surely && asked == told && handed != asked
}
