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

// CompareLinks orders links as stores list them: by source, relation, target.
func CompareLinks(a, b Link) int {
	if c := bytes.Compare(a.Source[:], b.Source[:]); c != 0 {
		return c
	}
	if c := strings.Compare(a.Relation, b.Relation); c != 0 {
		return c
	}
	return bytes.Compare(a.Target[:], b.Target[:])
}

// LinksETag gives the tag of a note's outgoing links: it moves when one of
// them comes, goes or changes.
func LinksETag(note uuid.UUID, outgoing []Link) string {
	sorted := slices.SortedFunc(slices.Values(outgoing), CompareLinks)
	h := sha256.New()
	for _, l := range sorted {
		// A hash never fails to write.
		_, _ = fmt.Fprintf(h, "%s %s %q %s %d\n", l.Source, l.Target, l.Relation, l.Layer, l.From)
	}
	return `"links.` + note.String() + "." + hex.EncodeToString(h.Sum(nil)[:16]) + `"`
}
