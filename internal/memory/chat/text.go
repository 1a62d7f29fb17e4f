package chat

import (
	"strings"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text/unsaid"
)

// storedText returns a text of a role as a message stores it. What was not said is left out before the rest is cut.
func storedText(s string, role memory.Role) string {
	s = unsaid.Mark(strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", ""), role == memory.RoleAssistant)
	return clip.Bytes(strings.TrimSpace(s), memory.MaxContentBytes)
}
