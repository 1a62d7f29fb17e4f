package store

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// ErrLineage is the fault for a step with an outdated view: a collection of its lineage was made
// independent of one that is gone.
var ErrLineage = fault.New(fault.Conflict, "the lineage of the collection has changed; open it again")

// CheckVersionVectors checks vectors that are to be added to versions. It returns, rounded, those of
// versions that the view may hold.
func CheckVersionVectors(v *memory.View, embedder string, vectors []memory.VersionVector) ([]memory.VersionVector, error) {
	out := make([]memory.VersionVector, 0, len(vectors))
	for _, x := range vectors {
		if err := checkEmbedder(embedder, len(x.Vector)); err != nil {
			return nil, err
		}
		if err := checkTokens(x.Tokens); err != nil {
			return nil, err
		}
		var err error
		if x.Vector, err = rounded(x.Vector); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(v.Layers, func(l memory.Layer) bool { return l.Collection == x.Layer && x.From <= l.Bound }) {
			out = append(out, x)
		}
	}
	return out, nil
}

// checkEmbedder returns Invalid for an embedder to which no collection can be bound.
func checkEmbedder(name string, dim int) error {
	if name == "" {
		return fault.InvalidField("embedder", "is required")
	}
	if dim < 1 {
		return fault.InvalidField("vector", "has %d dimensions", dim)
	}
	return Text("embedder", name)
}

// replaceForeignVector removes from a note a vector of another embedder than the collection's, and returns
// the job that makes the right one; nil: the note is not changed.
func replaceForeignVector(c *memory.Collection, n *memory.Note) (*memory.Job, error) {
	if c.Embedder == "" || n.Vector == nil || n.Embedder == "" || n.Embedder == c.Embedder {
		return nil, nil //nolint:nilnil // nothing to do
	}
	n.Vector, n.Tokens, n.Embedder = nil, nil, ""
	payload, err := json.Marshal(memory.NoteJob{EmbedOnly: true})
	if err != nil {
		return nil, err
	}
	return &memory.Job{ID: uuid.Nil, Collection: c.ID, Note: n.ID, Kind: memory.JobNote, Stage: memory.StagePrepare, Payload: payload}, nil
}
