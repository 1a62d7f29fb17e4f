package store

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Visible reports whether callers that reach a collection can see it: it is neither being removed
// nor expired.
func Visible(c *memory.Collection, now time.Time) bool {
	return c.State != memory.CollectionDeleting && (c.ExpiresAt.IsZero() || c.ExpiresAt.After(now))
}

// PickCollection returns the collection that a reference means out of those found: that of the scope's own
// agent first.
func PickCollection[R any](s tenant.Scope, ref string, found []R) (r R, err error) {
	switch {
	case len(found) == 0:
		return r, fault.Missing("collection")
	case len(found) > 1 && !s.HasAgent():
		return r, fault.New(fault.Ambiguous, "several collections have the name %q; use an id", ref)
	}
	return found[0], nil
}

// CheckRevision returns an error for a revision that cannot be read: Invalid with the field when it
// was never written, RevisionGone when it is no longer kept.
func CheckRevision(field string, c *memory.Collection, r memory.Revision) error {
	switch {
	case r > c.Head || r < 0:
		return fault.InvalidField(field, "revision %d is not in the log, which ends at %d", r, c.Head)
	case r < c.Floor:
		return fault.New(fault.RevisionGone, "revision %d is no longer kept; the oldest is %d", r, c.Floor)
	}
	return nil
}

// CheckNewCollection returns an error for a collection that the scope cannot create.
func CheckNewCollection(s tenant.Scope, n *memory.NewCollection) error {
	if err := CheckName("name", n.Name); err != nil {
		return err
	}
	if err := Text("display_name", n.DisplayName); err != nil {
		return err
	}
	if !s.Reaches(n.Agent) {
		return fault.Missing("agent")
	}
	if n.CopyJob != nil && n.Parent != uuid.Nil {
		return fault.New(fault.Internal, "a copy has no parent")
	}
	return nil
}

// CheckFork returns an error for a fork that its parent cannot have, and sets what the fork shares
// with the parent: the embedder with its vectors, and the floor, below which the fork cannot be
// read either.
func CheckFork(fork, parent *memory.Collection) error {
	if err := CheckRevision("at_revision", parent, fork.ParentRevision); err != nil {
		return err
	}
	if parent.State == memory.CollectionCopying {
		return fault.New(fault.Conflict, "the collection is still being copied")
	}
	if fork.Embedder == "" {
		fork.Embedder, fork.Dim = parent.Embedder, parent.Dim
	}
	if fork.Embedder != parent.Embedder || fork.Dim != parent.Dim {
		return fault.InvalidField("embedder", "a fork has the embedder of its parent, %q with %d dimensions", parent.Embedder, parent.Dim)
	}
	fork.Floor, fork.Reembedded = parent.Floor, parent.Reembedded
	return nil
}

// CreatedIDs returns what is stored under the idempotency key of a request that created a
// collection. The job may be nil.
func CreatedIDs(n *memory.NewCollection, made uuid.UUID, job *memory.Job) []byte {
	ids := memory.AnswerIDs{Collection: n.Source, Made: made}
	if job != nil {
		ids.Job = &job.ID
	}
	return ids.Raw()
}

// EqualConfig reports whether two settings of a policy are equal; no settings are an empty object.
func EqualConfig(a, b json.RawMessage) bool {
	plain := func(raw json.RawMessage) string {
		var b bytes.Buffer
		if len(raw) == 0 || string(raw) == "null" || json.Compact(&b, raw) != nil || b.Len() == 0 {
			return "{}"
		}
		return b.String()
	}
	return plain(a) == plain(b)
}

// IsMessageList reports whether a list holds messages only, which have an index of their times.
func IsMessageList(kinds []memory.Kind) bool {
	return len(kinds) == 1 && kinds[0] == memory.KindMessage
}
