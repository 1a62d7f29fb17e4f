package chat

import (
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/text/recalled"
)

// Turn is a message of the current dialogue.
type Turn struct {
	ID         string // the caller's id of the message; makes sending it again safe; "": none
	Role       memory.Role
	Name       string
	Content    string
	Session    any
	OccurredAt *time.Time
}

// maxTurns is how many turns of a dialogue are used, from its end.
const maxTurns = 100

// dialogueQuery returns a dialogue as a query of recall: the turns of users and assistants, without those
// of systems and tools, and without what was recalled in them.
func dialogueQuery(turns []Turn) []recall.Message {
	var out []recall.Message
	for _, t := range turns {
		said := recalled.Strip(strings.ReplaceAll(t.Content, "\x00", ""))
		if (t.Role == memory.RoleUser || t.Role == memory.RoleAssistant) && said != "" {
			out = append(out, recall.Message{Role: string(t.Role), Name: t.Name, Content: said})
		}
	}
	return out[max(0, len(out)-maxTurns):]
}

// spoken returns how many turns are of users and assistants.
func spoken(turns []Turn) (n int) {
	for i := range turns {
		if turns[i].Role == memory.RoleUser || turns[i].Role == memory.RoleAssistant {
			n++
		}
	}
	return n
}

// checkTurns refuses a dialogue that does not end with a question.
func checkTurns(turns []Turn) error {
	if len(turns) == 0 {
		return fault.InvalidField("messages", "must have between 1 and %d entries", maxTurns)
	}
	for i := range turns {
		switch turns[i].Role {
		case "":
			turns[i].Role = memory.RoleUser
		case memory.RoleUser, memory.RoleAssistant, memory.RoleSystem, memory.RoleDeveloper:
		case memory.RoleTool:
			return fault.InvalidField("messages", "a message of a tool needs the call that it answers; send such dialogues to /v1/chat/completions")
		default:
			return fault.InvalidField("messages", "unknown role %q", clip.Runes(string(turns[i].Role), maxName))
		}
	}
	last := &turns[len(turns)-1]
	switch {
	case last.Role != memory.RoleUser:
		return fault.InvalidField("messages", "the last one must be the user's")
	case strings.TrimSpace(last.Content) == "":
		return fault.InvalidField("messages", "the last one must not be blank")
	}
	return nil
}
