package store

import (
	"fmt"
	"math"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// checkNote returns Invalid for a note whose texts or numbers cannot be stored, and cleans what the
// platform itself wrote, its error and its actor. Object checks attributes, half the vector.
func checkNote(n *memory.Note) error {
	if math.IsNaN(n.Importance) || math.IsInf(n.Importance, 0) {
		return fault.InvalidField("importance", "is not a number")
	}
	n.Error, n.Provenance.Actor, n.Provenance.Agent = Clean(n.Error), Clean(n.Provenance.Actor), Clean(n.Provenance.Agent)
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
		if err := texts(f.name, f.texts); err != nil {
			return err
		}
	}
	return nil
}

// checkVector returns Invalid for a vector that the collection cannot hold, and sets the
// collection's embedder where the note names none.
func checkVector(c *memory.Collection, n *memory.Note) error {
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
	if err := checkTokens(n.Tokens); err != nil {
		return err
	}
	return Text("embedder", n.Embedder)
}

// checkTokens returns Invalid "tokens" for bytes that are not directions of tokens.
func checkTokens(b []byte) error {
	if len(b)%memory.TokenDim != 0 || len(b) > memory.MaxTokens*memory.TokenDim {
		return fault.InvalidField("tokens", "has %d bytes; %d for each of at most %d tokens are stored", len(b), memory.TokenDim, memory.MaxTokens)
	}
	return nil
}

// WrongTokens returns the SQL condition for rows that checkTokens would refuse.
func WrongTokens(column string) string {
	return fmt.Sprintf("(length(%[1]s) %% %[2]d <> 0 OR length(%[1]s) > %[3]d)", column, memory.TokenDim, memory.MaxTokens*memory.TokenDim)
}

// checkLink returns Invalid for a link whose identity or numbers cannot be stored, and sets the
// default relation where the link names none.
func checkLink(l *memory.Link) error {
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

// checkName returns Invalid for a name that could be taken for an id. The caller checks its
// alphabet.
func checkName(field, name string) error {
	if name == "" {
		return fault.InvalidField(field, "is required")
	}
	if _, err := uuid.Parse(name); err == nil {
		return fault.InvalidField(field, "must not look like an id")
	}
	return Text(field, name)
}

// checkPart returns Invalid "part" or "data" for a part of a spool that cannot be stored.
func checkPart(n int, data []byte) error {
	if n < 0 {
		return fault.InvalidField("part", "must not be negative")
	}
	if len(data) > memory.MaxPart {
		return fault.InvalidField("data", "at most %d bytes; it has %d", memory.MaxPart, len(data))
	}
	return nil
}

// checkKey returns Invalid for an idempotency key that cannot be stored.
func checkKey(k memory.Idempotency) error { return Text("Idempotency-Key", k.Key) }
