package store

import (
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// ErrLineage is what a step is refused with whose view has become outdated: a
// collection was made independent of one that is gone.
var ErrLineage = fault.New(fault.Conflict, "the lineage of the collection has changed; open it again")

// FurtherVectors checks the vectors that are to be added to versions and gives
// those of versions that the view may hold, rounded.
func FurtherVectors(v *memory.View, embedder string, vectors []memory.VersionVector) ([]memory.VersionVector, error) {
	out := make([]memory.VersionVector, 0, len(vectors))
	for _, x := range vectors {
		if err := CheckEmbedder(embedder, len(x.Vector)); err != nil {
			return nil, err
		}
		if err := CheckTokens(x.Tokens); err != nil {
			return nil, err
		}
		var err error
		if x.Vector, err = Half(x.Vector); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(v.Layers, func(l memory.Layer) bool { return l.Collection == x.Layer && x.From <= l.Bound }) {
			out = append(out, x)
		}
	}
	return out, nil
}

// CheckEmbedder refuses what no collection can be bound to.
func CheckEmbedder(name string, dim int) error {
	if name == "" {
		return fault.InvalidField("embedder", "is required")
	}
	if dim < 1 {
		return fault.InvalidField("vector", "has %d dimensions", dim)
	}
	return Text("embedder", name)
}

// OtherEmbedder takes from a note a vector of another embedder than the
// collection's and gives the job that makes the right one; nil: the note is
// left as it is.
func OtherEmbedder(c *memory.Collection, n *memory.Note) (*memory.Job, error) {
	if c.Embedder == "" || n.Vector == nil || n.Embedder == "" || n.Embedder == c.Embedder {
		return nil, nil //nolint:nilnil // nothing is to be done
	}
	n.Vector, n.Tokens, n.Embedder = nil, nil, ""
	payload, err := json.Marshal(memory.NoteJob{EmbedOnly: true})
	if err != nil {
		return nil, err
	}
	return &memory.Job{ID: uuid.Nil, Collection: c.ID, Note: n.ID, Kind: memory.JobNote, Stage: memory.StagePrepare, Payload: payload}, nil
}
