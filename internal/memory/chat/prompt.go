package chat

import (
	_ "embed"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/text/recalled"
)

//go:embed prompts/answer.txt
var instructions string

// withMemory returns the system message with the context, or with a remark that there is none. Notes in
// a context are escaped already; nothing in it may end the message, from wherever it comes.
func withMemory(context string) string {
	if context == "" {
		context = "(nothing that belongs to this)"
	}
	return strings.TrimSpace(instructions) + "\n\n" + recalled.Mark(text.EscapeTags(context))
}

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
