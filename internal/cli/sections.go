package cli

import (
	"strings"
	"unicode/utf8"
)

// sectionSize is how many characters a note of a file has at most: some 500 tokens, so that a context of usual size has
// room for several.
const sectionSize = 2_000

// section is a part of a file that becomes a note.
type section struct{ heading, content string }

// sections cuts a text at the headings of Markdown, and what is too long at empty lines, at line ends, or anywhere. A
// section begins with its heading, and one that has nothing else with that of the next. Headings in fenced code are none,
// and front matter is left out.
func sections(text string) []section {
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\uFEFF")
	text = withoutFrontMatter(text)
	var out []section
	var heading, fence string
	var body strings.Builder
	bare := true // the body has headings alone
	end := func() {
		for _, part := range pieces(strings.TrimSpace(body.String())) {
			out = append(out, section{heading, part})
		}
		body.Reset()
		bare = true
	}
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if mark := fenceOf(trimmed); mark != "" {
			if fence == "" {
				fence = mark
			} else if mark == fence {
				fence = ""
			}
		}
		if title, ok := headingOf(line); ok && fence == "" {
			if !bare {
				end()
			}
			heading = title
		} else if trimmed != "" {
			bare = false
		}
		body.WriteString(line)
	}
	end()
	return out
}

// withoutFrontMatter removes the settings between lines of three hyphens at the start of a file.
func withoutFrontMatter(text string) string {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return text
	}
	if _, after, ok := strings.Cut(rest, "\n---\n"); ok {
		return after
	}
	return text
}

func fenceOf(line string) string {
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(line, mark) {
			return mark
		}
	}
	return ""
}

func headingOf(line string) (string, bool) {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level == 0 || level > 6 || level >= len(line) || line[level] != ' ' {
		return "", false
	}
	title := strings.TrimSpace(strings.TrimRight(strings.TrimSpace(line[level:]), "#"))
	return title, title != ""
}

// pieces cuts a text into parts of at most sectionSize characters, at the last empty line, line end or space that fits.
func pieces(text string) []string {
	var out []string
	for text != "" {
		if utf8.RuneCountInString(text) <= sectionSize {
			return append(out, text)
		}
		end := 0 // in bytes
		for range sectionSize {
			_, n := utf8.DecodeRuneInString(text[end:])
			end += n
		}
		for _, sep := range []string{"\n\n", "\n", " "} {
			if i := strings.LastIndex(text[:end], sep); i > 0 {
				end = i
				break
			}
		}
		if part := strings.TrimSpace(text[:end]); part != "" {
			out = append(out, part)
		}
		text = strings.TrimSpace(text[end:])
	}
	return out
}
