package chat

import (
	_ "embed"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The marks that memory stands between.
const (
	openMark  = "<slipbox-memory>"
	closeMark = "</slipbox-memory>"
)

//go:embed prompts/answer.txt
var instructions string

// withMemory is the system message with what memory holds; with nothing of it
// where memory holds nothing.
func withMemory(text string) string {
	if text == "" {
		text = "(nothing that belongs to this)"
	}
	return strings.TrimSpace(instructions) + "\n\n" + openMark + "\n" + fenced(text) + "\n" + closeMark
}

// anyMark finds what could be read as one of the marks, in any case, with or
// without spaces, and with characters that are not seen within it.
var anyMark = func() *regexp.Regexp {
	const unseen = `[\p{Cf}\p{Mn}\p{Me}]*`
	b := strings.Builder{}
	b.WriteString(`(?i)[<＜‹〈]([\s\p{Cf}/／\\]*` + unseen)
	for _, r := range "slipbox-memory" {
		if r == '-' {
			b.WriteString(`[\p{Pd}_\s]?` + unseen)
			continue
		}
		b.WriteString(regexp.QuoteMeta(string(r)) + unseen)
	}
	b.WriteString(`)`)
	return regexp.MustCompile(b.String())
}()

// fenced makes a text safe to stand between the marks: a mark within it gets a
// backslash, as other marks of a context do.
func fenced(text string) string { return anyMark.ReplaceAllString(text, `<\$1`) }

// clip cuts a text to so many characters.
func clip(s string, runes int) string {
	if utf8.RuneCountInString(s) <= runes {
		return s
	}
	return string([]rune(s)[:runes]) + "…"
}

// clipBytes cuts a text to so many bytes, at the end of a character.
func clipBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	const ellipsis = "…"
	end := limit - len(ellipsis)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + ellipsis
}
