package memory

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"
)

// Turn is one message of a conversation with a model that may call tools.
type Turn struct {
	Role Role // RoleSystem, RoleUser, RoleAssistant or RoleTool
	Text string
	// Calls are the tool calls of an assistant's turn. Each is answered by a later turn of RoleTool whose
	// Answers is its ID.
	Calls   []ToolCall
	Answers string
}

// ToolCall is a call of a tool as a model wrote it: name and arguments may be wrong in any way.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON of an object, as far as the model managed
}

// ToolChoice is how free a model is to call tools.
type ToolChoice string

// The choices. The empty one is ChooseAuto.
const (
	ChooseAuto     ToolChoice = "auto"     // a text or calls, as the model decides
	ChooseRequired ToolChoice = "required" // at least one call
	ChooseNone     ToolChoice = "none"     // a text
)

// Dialogue asks a model for the next turn of a conversation.
type Dialogue struct {
	Purpose     string // for accounting and traces, such as "step"
	Turns       []Turn // the first is of RoleSystem
	Tools       []Tool
	Choice      ToolChoice
	Only        string  // with ChooseRequired: the tool that must be called; "": any
	Single      bool    // at most one call; default: several in parallel
	Temperature float64 // as in Call
	MaxTokens   int     // of the turn; 0: the model's default
	Collection  uuid.UUID
	Hearing     *Hearing // who hears the turn while it is made; nil: nobody. Models that only give whole turns ignore it
}

// Hearing receives what a model says while it says it: its text, and one argument of the calls of one tool.
// When Converse returns a turn, what was said since the last Again is that turn's.
type Hearing struct {
	Tool, Argument string // said too, when there is such a call; the text beside calls is then not said
	Say            func(piece string)
	Again          func(why string) // what was said so far does not count
}

// Said returns what a turn says: the arguments of its calls, or its text when it calls nothing.
func (h *Hearing) Said(t *Turn) string {
	if len(t.Calls) == 0 {
		return t.Text
	}
	var out []string
	for _, c := range t.Calls {
		var arguments map[string]any
		if c.Name != h.Tool || json.Unmarshal([]byte(c.Arguments), &arguments) != nil {
			continue
		}
		if said, ok := arguments[h.Argument].(string); ok && said != "" {
			out = append(out, said)
		}
	}
	return strings.Join(out, BetweenSaid)
}

// BetweenSaid separates what two calls say.
const BetweenSaid = "\n\n"

// Heard is a piece of what an agent says in a run, while its model says it.
type Heard struct {
	Run  uuid.UUID `json:"r"`
	Step int       `json:"s"`
	At   int       `json:"a"` // how many bytes of the step were said before; 0: it begins
	Text string    `json:"t,omitempty"`
	Why  string    `json:"w,omitempty"` // what was said so far does not count; Text is then empty
}

// Said is the turn of a model, and what it has cost.
type Said struct {
	Turn             Turn // of RoleAssistant
	Analyst          Analyst
	Model            string
	Requests         int // that reached the endpoint
	PromptTokens     int64
	CompletionTokens int64
}
