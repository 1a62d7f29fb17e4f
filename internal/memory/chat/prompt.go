package chat

import (
	_ "embed"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Marks around the context from memory.
const (
	openMark  = "<slipbox-memory>"
	closeMark = "</slipbox-memory>"
)

//go:embed prompts/answer.txt
var instructions string

// withMemory returns the system message with the context, or with a remark that there is none.
func withMemory(text string) string {
	if text == "" {
		text = "(nothing that belongs to this)"
	}
	return strings.TrimSpace(instructions) + "\n\n" + openMark + "\n" + escapeMarks(text) + "\n" + closeMark
}

// anyMark matches what a model could read as one of the marks: in any case, with or without spaces,
// and with invisible characters in it.
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

// escapeMarks returns a text that cannot close the marks around it: a mark in it gets a backslash, like
// other marks of a context.
func escapeMarks(text string) string { return anyMark.ReplaceAllString(text, `<\$1`) }

// clip cuts a text to a number of characters.
func clip(s string, runes int) string {
	if utf8.RuneCountInString(s) <= runes {
		return s
	}
	return string([]rune(s)[:runes]) + "…"
}

// clipBytes cuts a text to a number of bytes, at the end of a character.
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
