package memory

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// CompareLinks is the order in which stores list links: by source, relation, target.
func CompareLinks(a, b Link) int {
	if c := bytes.Compare(a.Source[:], b.Source[:]); c != 0 {
		return c
	}
	if c := strings.Compare(a.Relation, b.Relation); c != 0 {
		return c
	}
	return bytes.Compare(a.Target[:], b.Target[:])
}

// LinksETag returns the entity tag of a note's outgoing links. It changes when one of them is
// added, removed or changed.
func LinksETag(note uuid.UUID, outgoing []Link) string {
	sorted := slices.SortedFunc(slices.Values(outgoing), CompareLinks)
	h := sha256.New()
	for _, l := range sorted {
		// Writing to a hash never fails.
		_, _ = fmt.Fprintf(h, "%s %s %q %s %d\n", l.Source, l.Target, l.Relation, l.Layer, l.From)
	}
	return `"links.` + note.String() + "." + hex.EncodeToString(h.Sum(nil)[:16]) + `"`
}
