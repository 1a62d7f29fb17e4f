package store

import (
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// CheckNote refuses a note whose texts or numbers cannot be kept, and cleans
// what is of our own making, its error and its actor. Attributes are left to Object, the
// vector to Half.
func CheckNote(n *memory.Note) error {
	if math.IsNaN(n.Importance) || math.IsInf(n.Importance, 0) {
		return fault.InvalidField("importance", "is not a number")
	}
	n.Error, n.Provenance.Actor = Clean(n.Error), Clean(n.Provenance.Actor)
	for _, f := range []struct {
		name  string
		texts []string
	}{
		{"content", []string{n.Content}},
		{"context", []string{n.Context}},
		{"category", []string{n.Category}},
		{"key", []string{n.Key}},
		{"kind", []string{string(n.Kind)}},
		{"state", []string{string(n.State)}},
		{"analyst", []string{string(n.Analyst)}},
		{"keywords", n.Keywords},
		{"tags", n.Tags},
		{"supplied", n.Supplied},
	} {
		if err := Texts(f.name, f.texts); err != nil {
			return err
		}
	}
	return nil
}

// CheckVector refuses a vector that the collection cannot hold, and names the
// embedder of one that does not name its own.
func CheckVector(c *memory.Collection, n *memory.Note) error {
	if n.Embedder == "" {
		n.Embedder = c.Embedder
	}
	switch {
	case n.Embedder == "":
		return fault.InvalidField("vector", "the collection has no embedder")
	case n.Embedder == c.Embedder && c.Dim > 0 && len(n.Vector) != c.Dim:
		return fault.InvalidField("vector", "has %d dimensions, the collection's embedder %q has %d", len(n.Vector), c.Embedder, c.Dim)
	case len(n.Vector) == 0:
		return fault.InvalidField("vector", "is empty")
	}
	if err := CheckTokens(n.Tokens); err != nil {
		return err
	}
	return Text("embedder", n.Embedder)
}

// maxTokens is how many tokens of a text are kept.
const maxTokens = 256

// CheckTokens refuses what are no directions of tokens: Invalid "tokens".
func CheckTokens(b []byte) error {
	if len(b)%memory.TokenDim != 0 || len(b) > maxTokens*memory.TokenDim {
		return fault.InvalidField("tokens", "has %d bytes; %d for each of at most %d tokens are stored", len(b), memory.TokenDim, maxTokens)
	}
	return nil
}

// WrongTokens is the condition for rows that CheckTokens would refuse, in SQL.
func WrongTokens(column string) string {
	return fmt.Sprintf("(length(%[1]s) %% %[2]d <> 0 OR length(%[1]s) > %[3]d)", column, memory.TokenDim, maxTokens*memory.TokenDim)
}

// CheckLink refuses a link whose identity or numbers cannot be kept, and names
// the relation of one that does not name its own.
func CheckLink(l *memory.Link) error {
	if l.Source == l.Target {
		return fault.InvalidField("target", "a note cannot be linked to itself")
	}
	if l.Relation == "" {
		l.Relation = memory.RelatedTo
	}
	if math.IsNaN(l.Confidence) || math.IsInf(l.Confidence, 0) {
		return fault.InvalidField("confidence", "is not a number")
	}
	return Text("relation", l.Relation)
}

// CheckName refuses a name that cannot be told from an id. Its alphabet is
// the caller's matter.
func CheckName(field, name string) error {
	if name == "" {
		return fault.InvalidField(field, "is required")
	}
	if _, err := uuid.Parse(name); err == nil {
		return fault.InvalidField(field, "must not look like an id")
	}
	return Text(field, name)
}

// CheckPart refuses a part of a spool: Invalid "part" or "data".
func CheckPart(n int, data []byte) error {
	if n < 0 {
		return fault.InvalidField("part", "must not be negative")
	}
	if len(data) > memory.MaxPart {
		return fault.InvalidField("data", "at most %d bytes; it has %d", memory.MaxPart, len(data))
	}
	return nil
}

// CheckKey refuses an idempotency key that cannot be kept.
func CheckKey(k memory.Idempotency) error { return Text("Idempotency-Key", k.Key) }
