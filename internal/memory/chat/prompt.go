package chat

import (
	_ "embed"
	"strings"

	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/text/recalled"
)

//go:embed prompts/answer.txt
var instructions string

// withMemory returns the text with the context, or with a remark that there is none. All of it is marked, so that nothing
// of it is learned where it comes back. Notes in a context are escaped already; nothing in it may end the block, from
// wherever it comes.
func withMemory(context string) string {
	if context == "" {
		context = "(nothing that belongs to this)"
	}
	return recalled.Mark(strings.TrimSpace(instructions) + "\n\n" + text.EscapeTags(context))
}
