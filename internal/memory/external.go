package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// maxExternalBytes is the maximum length in bytes of an id of an application.
const maxExternalBytes = 256

// External is what an application calls a collection by: its own ids of a user, an agent, a program and a
// run, in any spelling. "" is an id that is not set. A set of ids belongs to at most one collection of a tenant.
type External struct {
	User, Agent, App, Run string
}

// ByExternal is the place of a collection in an address where its External names it.
const ByExternal = "by"

// CheckCollectionName returns Invalid for text that cannot be the name of a new collection: what
// [tenant.CheckName] refuses, and ByExternal.
func CheckCollectionName(field, name string) error {
	if name == ByExternal {
		return fault.InvalidField(field, "%q is reserved: in paths it means a collection by the ids of an application", name)
	}
	return tenant.CheckName(field, name)
}

// ExternalID is one of the ids, with its name in the API.
type ExternalID struct{ Name, Value string }

// IDs lists the four ids in the order of their importance, also those that are not set.
func (e External) IDs() [4]ExternalID {
	return [...]ExternalID{{"user", e.User}, {"agent", e.Agent}, {"app", e.App}, {"run", e.Run}}
}

// IsZero reports whether no id is set.
func (e External) IsZero() bool { return e == External{} }

// Covers reports whether another set of ids has every id that is set in this one.
func (e External) Covers(o External) bool {
	others := o.IDs()
	for i, id := range e.IDs() {
		if id.Value != "" && id.Value != others[i].Value {
			return false
		}
	}
	return true
}

// IsValid reports whether a collection can have these ids.
func (e External) IsValid() bool { return e.Check("") == nil }

// Check returns Invalid, with fields below prefix, for an id that is too long, is not UTF-8, or has control
// characters.
func (e External) Check(prefix string) error {
	for _, id := range e.IDs() {
		if id.Value == "" {
			continue
		}
		if err := CheckExternalID(prefix+id.Name, id.Value); err != nil {
			return err
		}
	}
	return nil
}

// CheckExternalID returns Invalid, with the field, for text that cannot be an id of an application.
func CheckExternalID(field, id string) error {
	switch {
	case id == "":
		return fault.InvalidField(field, "must not be empty; leave it out when there is none")
	case len(id) > maxExternalBytes:
		return fault.InvalidField(field, "must have at most %d bytes; it has %d", maxExternalBytes, len(id))
	case !utf8.ValidString(id):
		return fault.InvalidField(field, "must be valid UTF-8")
	case strings.ContainsFunc(id, unicode.IsControl):
		return fault.InvalidField(field, "must not contain control characters")
	}
	return nil
}
