package memory

import "time"

// Attributes of a message, by which policies, searches and callers know what
// it is in a conversation.
const (
	AttrRole    = "role"       // user, assistant, system, developer or tool
	AttrName    = "name"       // of who speaks, as prompts and facts name them
	AttrSession = "session"    // text or number
	AttrTurn    = "turn"       // id of the exchange that it belongs to
	AttrRecall  = "recalled"   // true: it was written with recalled memories before it, so nothing is learned from it
	AttrExpires = "expires_at" // RFC 3339: what is learned from it ends then
)

// Role is the part that a message has in a conversation.
type Role string

// The roles. Nothing is ever learned from what a system, a developer or a tool says.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
	RoleTool      Role = "tool"
)

// Roles lists every role.
func Roles() []Role { return []Role{RoleUser, RoleAssistant, RoleSystem, RoleDeveloper, RoleTool} }

// Utterance is a message as policies and models see it.
type Utterance struct {
	Role    Role
	Name    string // "" unknown
	Content string
	Time    time.Time
}

// UtteranceOf reads a note as something said. A note without a role was said by a user.
func UtteranceOf(n *Note) Utterance {
	u := Utterance{Role: RoleUser, Content: n.Content, Time: n.OccurredAt}
	if s, ok := n.Attributes[AttrRole].(string); ok && s != "" {
		u.Role = Role(s)
	}
	u.Name, _ = n.Attributes[AttrName].(string)
	return u
}

// Learnable tells whether facts may be taken from a message: a person or an
// assistant says it, and it was not written from memory.
func Learnable(n *Note) bool {
	if n.Attributes[AttrRecall] == true {
		return false
	}
	r := UtteranceOf(n).Role
	return r == RoleUser || r == RoleAssistant
}

// MaxMessages is how many messages one call may add.
const MaxMessages = 500
