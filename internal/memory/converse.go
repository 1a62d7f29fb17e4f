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
	Temperature float64 // as in Call
	MaxTokens   int     // of the turn; 0: the model's default
	Collection  uuid.UUID
	Stream      *TurnStream // receives the turn while it is generated; nil: none. Models that only return whole turns ignore it
}

// TurnStream receives the text of a turn while a model generates it: the text of a turn without calls, else one
// argument of the calls of one tool. When Converse returns a turn, the deltas since the last Reset are its text.
type TurnStream struct {
	Tool, Argument string
	Delta          func(piece string)
	Reset          func(why string) // the deltas so far do not count
}

// Text returns the text of a turn, as it is streamed: the argument of its calls, or its text when it calls nothing.
func (s *TurnStream) Text(t *Turn) string {
	if len(t.Calls) == 0 {
		return t.Text
	}
	var out []string
	for _, c := range t.Calls {
		var arguments map[string]any
		if c.Name != s.Tool || json.Unmarshal([]byte(c.Arguments), &arguments) != nil {
			continue
		}
		if text, ok := arguments[s.Argument].(string); ok && text != "" {
			out = append(out, text)
		}
	}
	return strings.Join(out, CallSeparator)
}

// CallSeparator separates the texts of two calls.
const CallSeparator = "\n\n"

// RunDelta is a piece of the text of a step of a run, while its model generates it.
type RunDelta struct {
	Run    uuid.UUID `json:"r"`
	Step   int       `json:"s"`
	Offset int       `json:"a"` // bytes of the step that were sent before; 0: it begins
	Text   string    `json:"t,omitempty"`
	Reset  string    `json:"w,omitempty"` // why the text so far does not count; Text is then empty
}

// TurnResult is the turn of a model, and what it has cost.
type TurnResult struct {
	Turn             Turn // of RoleAssistant
	Analyst          Analyst
	Model            string
	Requests         int // that reached the endpoint
	PromptTokens     int64
	CompletionTokens int64
}
