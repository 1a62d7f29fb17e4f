package mem0

import (
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// The names of the ids, in the order of memory.External.IDs: in bodies and filters, and as attributes of the memories
// whose collection has another id.
var idNames = [...]string{"user_id", "agent_id", "app_id", "run_id"}

// attrMetadata is the attribute with the metadata of a memory.
const attrMetadata = "metadata"

// aliases are the names that the TypeScript client passes on in filters as its caller wrote them.
var aliases = map[string]string{"userId": "user_id", "agentId": "agent_id", "appId": "app_id", "runId": "run_id"}

// kindOf returns the place of an id's name, or of its alias, in idNames.
func kindOf(name string) (kind int, ok bool) {
	if full, isAlias := aliases[name]; isAlias {
		name = full
	}
	for i, known := range idNames {
		if name == known {
			return i, true
		}
	}
	return 0, false
}

// kindNames are the names of the ids as types of entities.
var kindNames = [...]string{"user", "agent", "app", "run"}

// externalOf returns the ids with one id set.
func externalOf(kind int, id string) memory.External {
	var e memory.External
	*[...]*string{&e.User, &e.Agent, &e.App, &e.Run}[kind] = id
	return e
}

// entity is the ids of a body.
type entity struct {
	UserID  *string `json:"user_id"`
	AgentID *string `json:"agent_id"`
	AppID   *string `json:"app_id"`
	RunID   *string `json:"run_id"`
}

// external checks the ids.
func (e *entity) external() (memory.External, error) {
	var out memory.External
	for kind, p := range [...]*string{e.UserID, e.AgentID, e.AppID, e.RunID} {
		if p == nil {
			continue
		}
		if err := setID(&out, kind, *p); err != nil {
			return out, err
		}
	}
	return out, nil
}

// setID checks an id and sets it. Malformed if another value is set, and for "*": filters mean any value by it, so
// that nobody can be called that, and who deletes what is of "*" is not told that everything was deleted.
func setID(e *memory.External, kind int, id string) error {
	to := [...]*string{&e.User, &e.Agent, &e.App, &e.Run}[kind]
	if id == "*" {
		return malformed("%s: \"*\" is not an id", idNames[kind])
	}
	if err := memory.CheckExternalID(idNames[kind], id); err != nil {
		return err
	}
	if *to != "" && *to != id {
		return malformed("%s is given twice, with different values", idNames[kind])
	}
	*to = id
	return nil
}

// homeOf returns the id that names the collection of a memory: that of its user, else of its agent, app or run.
func homeOf(e memory.External) memory.External {
	for kind, id := range e.IDs() {
		if id.Value != "" {
			return externalOf(kind, id.Value)
		}
	}
	return memory.External{}
}

// attributesOf returns the ids that do not name the collection, as attributes.
func attributesOf(e memory.External) map[string]any {
	out, home := map[string]any{}, homeOf(e).IDs()
	for kind, id := range e.IDs() {
		if id.Value != "" && home[kind].Value == "" {
			out[idNames[kind]] = id.Value
		}
	}
	return out
}

// idsOf returns the ids of a memory: those of its collection, and its attributes.
func idsOf(c memory.External, attributes map[string]any) [len(idNames)]*string {
	var out [len(idNames)]*string
	for kind, id := range c.IDs() {
		if id.Value != "" {
			out[kind] = &id.Value
		} else if text, ok := attributes[idNames[kind]].(string); ok {
			out[kind] = &text
		}
	}
	return out
}

// malformed is a refusal with the status 400, which mem0 uses where the routes under /v1 use 422.
func malformed(format string, args ...any) error { return fault.New(fault.Malformed, format, args...) }

// errNoEntity refuses what would concern every user.
func errNoEntity() error {
	return malformed("at least one of %s must be given with a value; \"*\" alone is not enough", wording.Or(idNames[:]...))
}
