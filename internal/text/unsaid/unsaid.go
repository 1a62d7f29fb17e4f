// Package unsaid replaces what is in a message but was not said: the thinking of a model, and encoded data such as images.
// Nobody asks for it, and in a context it takes the place of what was said.
package unsaid

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
)

// least is how long encoded data without a type is at least, in bytes. Hashes, keys and certificates are shorter, and people ask
// for them.
const least = 4096

const (
	names = `(?:[a-z]+:|ant|longcat_)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad)`
	// begin and end are the marks that families of models write around their thinking.
	begin = `(?:<` + names + `(?:\s[^<>]{0,60})?>|\[think\]|◁think▷|<\|(?:start_|begin_of_)?(?:think|thinking|thought)\|>|<\|inner_prefix\|>|<unused94>|` +
		`<\|channel\|>(?:analysis|commentary)<\|message\|>|<\|channel>thought\b)`
	end = `(?:</` + names + `\s*>|\[/think\]|◁/think▷|<\|(?:/|end_|end_of_)(?:think|thinking|thought)\|>|<\|inner_suffix\|>|<unused95>|<channel\|>)`
	// turnEnd ends the thinking of those that write it as a message of its own.
	turnEnd = `<\|end\|>(?:<\|start\|>assistant)?|<\|start\|>assistant`
	// details begins the thinking as a page shows it, folded.
	details  = `<details\s(?:[^<>]*\s)?type=["']?reasoning["']?(?:\s[^<>]*)?>`
	dataHead = `\bdata:([a-z]+/[a-z0-9.+-]+|)((?:;[a-z0-9-]+(?:=(?:[^\s;,"'<>]+|"[^"]*"))?)*),`
)

var (
	// thinking is a block that begins a line. In the middle of a line the words may be about the marks.
	thinking = regexp.MustCompile(`(?is)(^|\n)([ \t]*)` + begin + `.*?(?:` + end + `|` + turnEnd + `)`)
	// inline is a block in the middle of a line, as models write it. Who writes about the marks quotes them.
	inline = regexp.MustCompile(`(?is)(^|[^\x60])()` + begin + `.*?(?:` + end + `|` + turnEnd + `)`)
	// folded is a block as a page shows it, anywhere.
	folded = regexp.MustCompile(`(?is)` + details + `.*?</details\s*>`)
	// tag begins or ends a block, which may be within another.
	tag = regexp.MustCompile(`(?i)<(/?)` + names + `(?:\s[^<>]*)?>`)
	// begun is a block that was cut off, ended one whose begin was in the prompt of the model.
	begun = regexp.MustCompile(`(?is)^\s*(?:` + begin + `|` + details + `).*$`)
	ended = regexp.MustCompile(`(?is)^[^\x60]*?` + end + `\s*`)
	// glued is the end of one directly behind a word. People who write about the mark put a space before it.
	glued = regexp.MustCompile(`(?is)^[^<\x60]*[^\s<\x60]</` + names + `\s*>\s*`)
	// final is what one family of models writes around an answer.
	final = regexp.MustCompile(`(?i)<\|channel\|>final<\|message\|>|<\|(?:start_|begin_of_)(?:response|solution)\|>|<\|(?:end|return|end_response|end_of_solution)\|>\s*$`)

	dataURL = regexp.MustCompile(`(?i)` + dataHead + `([^\s"'<>()\x60\\]*)`)
	// dataSVG is an image that is markup, with spaces and quotes. It is looked for alone, since what has no end is read once then.
	dataSVG = regexp.MustCompile(`(?is)` + dataHead + `((?:<\?[^<>]*>\s*)?(?:<|%3c)svg\b.*?(?:</|%3c/|%3c%2f)svg\s*(?:>|%3e))`)
	// encoded is one or more lines of base64, in either alphabet, or of hexadecimal digits.
	encoded = regexp.MustCompile(`[A-Za-z0-9+/_-]{40,}={0,2}(?:(?:\s|\\[nr])+[A-Za-z0-9+/_-]{40,}={0,2})*(?:(?:\s|\\[nr])+[A-Za-z0-9+/_-]+={1,2})?`)
	// digests is a list of hashes, which people keep.
	digests = regexp.MustCompile(`(?i)^(?:(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})(?:[\s,;]+|$))+$`)
	// dump is bytes of two to eight hexadecimal digits with something between them.
	dump = regexp.MustCompile(`(?i)(?:\b|\\x)(?:(?:\\x|0x)?[0-9a-f]{2}(?:[0-9a-f]{2}){0,3}[\s:,;]{0,2}){2,}`)
)

// Mark returns a text with a mark in the place of each part that was not said. byModel says that a model wrote the text: its
// thinking is then also found in the middle of a line, and where one of its ends is missing. A marked text stays as it is.
func Mark(s string, byModel bool) string {
	s = MarkNamed(s, byModel)
	if len(s) < least {
		return s
	}
	s = encoded.ReplaceAllStringFunc(s, func(run string) string {
		if len(run) < least || !looksEncoded(run) || digests.MatchString(run) {
			return run
		}
		return mark("encoded data", len(run))
	})
	return dump.ReplaceAllStringFunc(s, func(run string) string {
		bytes := strings.TrimRight(run, " \t\r\n:,;")
		if len(bytes) < least || !looksHexadecimal(bytes) || digests.MatchString(bytes) {
			return run
		}
		return mark("encoded data", len(bytes)) + run[len(bytes):]
	})
}

// MarkNamed is [Mark] for what is kept on purpose, such as a note: data that does not name its type stays.
func MarkNamed(s string, byModel bool) string {
	if strings.ContainsAny(s, "<[◁") {
		s = markThinking(s, byModel)
	}
	if strings.Contains(s, ":") && dataURL.MatchString(s) {
		s = markData(markData(s, dataSVG), dataURL)
	}
	return s
}

func markData(s string, urls *regexp.Regexp) string {
	return urls.ReplaceAllStringFunc(s, func(url string) string {
		m := urls.FindStringSubmatch(url)
		if m[1] == "" && m[2] == "" {
			return url // "data:," may be a sentence
		}
		return mark(cmp.Or(strings.ToLower(m[1]), "data"), len(m[3]))
	})
}

const thought = "[left out: thinking]"

func mark(kind string, size int) string {
	if size < 1000 {
		return fmt.Sprintf("[left out: %s, %d bytes]", kind, size)
	}
	return fmt.Sprintf("[left out: %s, %d kB]", kind, (size+500)/1000)
}

// MarkEnded is for texts that a model or a person may have written: a mark takes the place of thinking whose begin was in the prompt
// of the model.
func MarkEnded(s string) string { return glued.ReplaceAllString(s, thought+"\n") }

func markThinking(s string, byModel bool) string {
	s = folded.ReplaceAllString(markBlocks(s, thinking, thought), thought)
	if !byModel {
		return s
	}
	s = markBlocks(s, inline, thought)
	s = ended.ReplaceAllString(s, thought+"\n")
	s = begun.ReplaceAllString(s, thought)
	return strings.TrimRight(final.ReplaceAllString(s, ""), "\n")
}

// markBlocks replaces blocks, each with those that are within it. What is before a block is in the first two groups of a match.
func markBlocks(s string, blocks *regexp.Regexp, instead string) string {
	var out strings.Builder
	for {
		m := blocks.FindStringSubmatchIndex(s)
		if m == nil {
			return out.String() + s
		}
		out.WriteString(s[:m[5]] + instead)
		s = s[endOfBlock(s, m[5], m[1]):]
	}
}

// maxNested is how deep blocks may be within others.
const maxNested = 8

// endOfBlock returns where a block ends that begins at a position and whose first end is known.
func endOfBlock(s string, begin, first int) int {
	for at, open := begin, 0; open < maxNested; {
		m := tag.FindStringSubmatchIndex(s[at:])
		switch {
		case len(m) == 0 || open == 0 && at+m[0] > begin: // of another form
			return first
		case m[2] == m[3]:
			open++
		case open == 1:
			return max(first, at+m[1])
		default:
			open--
		}
		at += m[1]
	}
	return first
}

// looksEncoded reports whether a run of letters, digits and four signs is data: data has letters and digits mixed, and few of
// the signs, which are between all words of a path.
func looksEncoded(run string) bool {
	var letters, digits, signs, all int
	for i := range len(run) {
		switch b := run[i]; {
		case b >= '0' && b <= '9':
			digits++
		case b|0x20 >= 'a' && b|0x20 <= 'z':
			letters++
		case b == '+' || b == '/' || b == '_' || b == '-':
			signs++
		default:
			continue
		}
		all++
	}
	return letters > 0 && digits*50 >= all && signs*12 <= all
}

// looksHexadecimal reports whether a run of hexadecimal digits is data: of random bytes, three digits in eight are letters, and
// a table of numbers has none.
func looksHexadecimal(run string) bool {
	var letters, digits int
	for i := range len(run) {
		switch b := run[i] | 0x20; {
		case run[i] >= '0' && run[i] <= '9':
			digits++
		case b >= 'a' && b <= 'f':
			letters++
		}
	}
	return letters*20 >= letters+digits && digits*5 >= letters+digits
}
