package memory

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"strconv"
	"strings"
)

// OnDuplicate is what an add does when the collection has the same note already: one with the same bytes as
// content, of the same kind, speaker, session, event day and item.
type OnDuplicate string

// The choices; "" is DuplicateReturn. DuplicateReturn answers the note that is there, and writes nothing.
const (
	DuplicateReturn OnDuplicate = "return"
	DuplicateKeep   OnDuplicate = "keep"
)

// DigestOf returns the number that duplicates share; never 0. OccurredAt must be set. Other notes may share it,
// with a chance of 2^-64 for each pair: IsDuplicate decides.
func DigestOf(n *Note) int64 {
	if said, ok := digestBefore(n); ok {
		return said
	}
	parts := []string{string(n.Kind), speakerKey(n), Day(n.OccurredAt), n.Content}
	if it, ok := ItemOf(n); ok {
		parts = append(parts, string(it.Type), it.URL, it.MediaType, it.Language, it.Name, it.Description)
	}
	all := make([]byte, 0, 1024) // on the stack, for most notes
	for _, part := range parts {
		all = append(binary.LittleEndian.AppendUint64(all, uint64(len(part))), part...)
	}
	sum := sha256.Sum256(all)
	if d := int64(binary.LittleEndian.Uint64(sum[:])); d != 0 { //nolint:gosec // bits, not a number
		return d
	}
	return 1
}

// AttrDigest is the attribute of a message from which a sentence was taken out: the digest that it had before, in
// hexadecimal digits, so that a client that sends the message again finds it.
const AttrDigest = "digest_before"

func digestBefore(n *Note) (int64, bool) {
	text, ok := n.Attributes[AttrDigest].(string)
	if !ok {
		return 0, false
	}
	d, err := strconv.ParseInt(text, 16, 64)
	return d, err == nil && d != 0
}

// Repeats reports whether a text is what a note said, also before a sentence was taken out of it.
func (n *Note) Repeats(content string) bool {
	if n.Content == content {
		return true
	}
	before, ok := digestBefore(n)
	if !ok {
		return false
	}
	was := *n
	was.Content, was.Attributes = content, maps.Clone(n.Attributes)
	delete(was.Attributes, AttrDigest)
	return DigestOf(&was) == before
}

// IsDuplicate reports whether two notes say the same: see OnDuplicate.
func IsDuplicate(a, b *Note) bool {
	if _, ok := digestBefore(a); ok {
		return a.Kind == b.Kind && DigestOf(a) == DigestOf(b)
	}
	if _, ok := digestBefore(b); ok {
		return a.Kind == b.Kind && DigestOf(a) == DigestOf(b)
	}
	x, _ := ItemOf(a)
	y, _ := ItemOf(b)
	return a.Kind == b.Kind && a.Content == b.Content && speakerKey(a) == speakerKey(b) && x == y &&
		Day(a.OccurredAt) == Day(b.OccurredAt)
}

// speakerKey returns who says a note, and where.
func speakerKey(n *Note) string {
	var b strings.Builder
	for _, key := range []string{AttrRole, AttrName, "speaker", AttrSession} {
		switch v := n.Attributes[key].(type) {
		case nil:
			b.WriteString("-")
		case string:
			b.WriteString(strconv.Quote(v))
		default: // a number is the same in each of its Go types
			fmt.Fprint(&b, v)
		}
		b.WriteString(" ")
	}
	return b.String()
}
