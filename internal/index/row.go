package index

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/when"
)

// ID is a note id. It is an alias, so any named 16-byte id can be assigned to it.
type ID = [16]byte

// TokenDim is the number of components of a token's code.
const TokenDim = 64

// passageTokens is the length of a passage, as [text.Passages] counts.
const passageTokens = 100

// Row is one version of a note as the log has it. Note and From identify it within a layer.
type Row struct {
	Note      ID
	From      int64 // the revision where it begins, at least 1
	To        int64 // the revision where it ends; 0 while it is open
	Tombstone bool  // hides the note and is never a hit

	// What is searched by words, besides Record.Keywords and Record.Tags. Leave Context empty when
	// it is only a default.
	Content string
	Context string

	Digest int64 // rows that say the same share it; 0: not known

	Vector []float32 // of the layer's embedder; nil while it is pending
	// Codes of the words that count, for late interaction: TokenDim int8 each, as bytes, of length
	// 127. They are stored with the vector and ignored without one.
	Tokens []byte
	Record filter.Record
}

// Role is the role of the speaker of a note.
type Role uint8

// The roles. NoRole means that none is known, OtherRole that attributes.role is none of the three.
const (
	NoRole Role = iota
	User
	Assistant
	System
	OtherRole
)

var roleNames = [...]string{"", "user", "assistant", "system", "other"}

// String returns the role's name in lower case, "" for NoRole.
func (r Role) String() string { return roleNames[r] }

// roleOf returns the role in attributes.role, or else in the label that the content begins with.
// Letter case does not matter.
func roleOf(content string, attributes map[string]any) Role {
	if s, ok := attributes["role"].(string); ok && s != "" {
		for r := User; r < OtherRole; r++ {
			if strings.EqualFold(s, r.String()) {
				return r
			}
		}
		return OtherRole
	}
	for r := User; r < OtherRole; r++ {
		if n := len(r.String()); len(content) > n && content[n] == ':' && strings.EqualFold(content[:n], r.String()) {
			return r
		}
	}
	return NoRole
}

// sessionOf returns attributes.session, a string or a number; "" when there is none.
func sessionOf(attributes map[string]any) string {
	switch s := attributes["session"].(type) {
	case string:
		return s
	case json.Number:
		return s.String()
	case float64:
		return strconv.FormatFloat(s, 'g', -1, 64)
	case int:
		return strconv.Itoa(s)
	case int64:
		return strconv.FormatInt(s, 10)
	}
	return ""
}

// termCount is how often a term occurs in a passage.
type termCount struct {
	term    string
	passage uint32 // within the row
	tf, own uint16 // see posting
}

// analyzed is a Row whose text is analyzed and whose vector is checked, which needs no lock.
type analyzed struct {
	Row
	packed   packed    // nil planes: there is no vector
	passages []passage // row is not yet known
	counts   []termCount
	date     uint32 // number of terms of the date
	lang     text.Language
	marks    marks
}

// analyze computes the terms of content, context, keywords and tags, all in the language of content
// and context: a list of keywords rarely shows its own. What is not content belongs to the first
// passage.
func analyze(r *Row, dimensions int) (analyzed, error) {
	a := analyzed{Row: *r}
	if r.Tombstone {
		return a, nil
	}
	if r.Vector != nil {
		v, err := pack(r.Vector)
		if err != nil {
			return a, err
		}
		if len(r.Vector) != dimensions {
			return a, wrongDimensions(len(r.Vector), dimensions)
		}
		if len(r.Tokens)%TokenDim != 0 {
			return a, fault.InvalidField("tokens", "%d bytes are no whole number of codes", len(r.Tokens))
		}
		a.packed = v
	}
	guessed := r.Content
	if r.Context != "" {
		guessed += "\n" + r.Context
	}
	a.lang, _ = text.Guess(guessed)
	a.marks = marksOf(r)
	spans := text.Passages(r.Content, passageTokens)
	if len(spans) == 0 {
		spans = []text.Span{{}}
	}
	date := text.TermsIn(when.Words(r.Record.OccurredAt), a.lang)
	a.date = uint32(len(date)) //nolint:gosec // a few
	var terms []string
	for i, span := range spans {
		terms = append(terms[:0], text.TermsIn(r.Content[span.Start:span.End], a.lang)...)
		terms = append(terms, text.Signs(r.Content[span.Start:span.End])...)
		if i == 0 {
			terms = append(terms, text.TermsIn(r.Context, a.lang)...)
			for _, k := range r.Record.Keywords {
				terms = append(terms, text.TermsIn(k, a.lang)...)
			}
			for _, t := range r.Record.Tags {
				terms = append(terms, text.TermsIn(t, a.lang)...)
			}
		}
		a.passages = append(a.passages, passage{
			start: uint32(span.Start), end: uint32(span.End), //nolint:gosec // a note is far below 4 GiB
			length: uint32(len(terms) + len(date)), //nolint:gosec // as above
		})
		a.count(uint32(i), terms, date)
	}
	return a, nil
}

// count adds the counts of a passage's own terms and of those of the date.
func (a *analyzed) count(passage uint32, terms, date []string) {
	slices.Sort(terms)
	from := len(a.counts)
	a.counts = slices.Grow(a.counts, len(terms)+len(date))
	for j := 0; j < len(terms); {
		end := j + 1
		for end < len(terms) && terms[end] == terms[j] {
			end++
		}
		n := uint16(min(end-j, math.MaxUint16)) //nolint:gosec // bounded
		a.counts = append(a.counts, termCount{term: terms[j], passage: passage, tf: n, own: n})
		j = end
	}
	for _, t := range date {
		own := uint16(0)
		if passage == 0 {
			own = 1
		}
		added := a.counts[from:]
		if at := slices.IndexFunc(added, func(c termCount) bool { return c.term == t }); at >= 0 {
			added[at].tf, added[at].own = addCounts(added[at].tf, 1), addCounts(added[at].own, own)
		} else {
			a.counts = append(a.counts, termCount{term: t, passage: passage, tf: 1, own: own})
		}
	}
}
