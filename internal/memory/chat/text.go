package chat

import (
	"regexp"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// thinking is what some models write before they answer.
var thinking = regexp.MustCompile(`(?is)^\s*<(think|thinking|reasoning)>.*?</(?:think|thinking|reasoning)>`)

func withoutThinking(s string) string { return thinking.ReplaceAllString(s, "") }

// stored is a text as a message keeps it.
func stored(s string) string {
	return clipBytes(strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")), memory.MaxContentBytes)
}
