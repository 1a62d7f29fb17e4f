package memory

import "github.com/google/uuid"

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
