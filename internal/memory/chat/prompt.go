package chat

import (
	_ "embed"
	"strings"

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
