package chat

import (
	"regexp"
	"strings"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// thinking matches the reasoning that some models write before the answer.
var thinking = regexp.MustCompile(`(?is)^\s*<(think|thinking|reasoning)>.*?</(?:think|thinking|reasoning)>`)

func withoutThinking(s string) string { return thinking.ReplaceAllString(s, "") }

// storedText returns a text as a message stores it.
func storedText(s string) string {
	return clip.Bytes(strings.TrimSpace(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "")), memory.MaxContentBytes)
}
