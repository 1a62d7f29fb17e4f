package store

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/x448/float16"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// This file has what both engines do alike before a value is stored and after
// it is read, so that neither keeps what the other would refuse.

// Micros returns a time in UTC and in whole microseconds, as it is stored; zero stays zero.
func Micros(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// Text refuses what is not UTF-8, which would not survive JSON, and U+0000,
// which Postgres does not keep: Invalid with the field.
func Text(field, s string) error {
	if !utf8.ValidString(s) {
		return fault.InvalidField(field, "is not valid UTF-8")
	}
	if strings.ContainsRune(s, 0) {
		return fault.InvalidField(field, "must not contain the character U+0000")
	}
	return nil
}

// Texts is Text for every element.
func Texts(field string, l []string) error {
	for _, s := range l {
		if err := Text(field, s); err != nil {
			return err
		}
	}
	return nil
}

// Clean makes a text of our own, such as an error that quotes an endpoint, one
// that Text lets pass.
func Clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Object writes a JSON object whose keys and texts are free of U+0000; "" is
// the empty one.
func Object(field string, m map[string]any) (string, error) {
	if len(m) == 0 {
		return "", nil
	}
	doc, err := Document(field, m)
	if err == nil && escapesNull(doc) {
		err = fault.InvalidField(field, "must not contain the character U+0000")
	}
	if err != nil {
		return "", err
	}
	return doc, nil
}

// escapesNull tells whether a text inside a JSON document holds U+0000, which
// stands there only escaped.
func escapesNull(doc string) bool {
	for {
		i := strings.IndexByte(doc, '\\')
		if i < 0 {
			return false
		}
		if strings.HasPrefix(doc[i+1:], "u0000") {
			return true
		}
		doc = doc[i+2:] // an escaped backslash begins no escape
	}
}

// Document writes any value as JSON.
func Document(field string, v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fault.InvalidField(field, "is no JSON: %v", err)
	}
	return string(b), nil
}

// ObjectOf reads a JSON object as encoding/json does, but for integers that a
// float64 does not hold: they stay json.Number. "" is none.
func ObjectOf(s string) (map[string]any, error) {
	var m map[string]any // nil: none
	if s == "" {
		return m, nil
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		return nil, err
	}
	Exactly(m)
	return m, nil
}

// Exactly gives the numbers of a decoded object, in place, as ObjectOf does.
func Exactly(m map[string]any) {
	for k, v := range m {
		m[k] = exact(v)
	}
}

func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil || math.Abs(f) >= 1<<53 && !strings.ContainsAny(v.String(), ".eE") {
			return v
		}
		return f
	case map[string]any:
		Exactly(v)
	case []any:
		for i, e := range v {
			v[i] = exact(e)
		}
	}
	return v
}

// Half rounds a vector to binary16, so that what was returned is what will be
// read. Invalid "vector" for what does not fit.
func Half(v []float32) ([]float32, error) {
	rounded := make([]float32, len(v))
	for i, x := range v {
		h := float16.Fromfloat32(x)
		if !h.IsFinite() {
			return nil, fault.InvalidField("vector", "element %d is not a number that fits in 16 bits", i)
		}
		rounded[i] = h.Float32()
	}
	return rounded, nil
}

// HalfBytes gives a vector that Half rounded as little-endian binary16.
func HalfBytes(rounded []float32) []byte {
	b := make([]byte, 0, 2*len(rounded))
	for _, x := range rounded {
		b = binary.LittleEndian.AppendUint16(b, float16.Fromfloat32(x).Bits())
	}
	return b
}

// HalfOf reads what HalfBytes wrote; nothing is nil.
func HalfOf(b []byte) []float32 {
	if len(b) == 0 {
		return nil
	}
	v := make([]float32, len(b)/2)
	for i := range v {
		v[i] = float16.Frombits(binary.LittleEndian.Uint16(b[2*i:])).Float32()
	}
	return v
}

// QueryVector checks the vector of a search over a collection and rounds it as
// the index does: Invalid "vector" for other dimensions than the collection's,
// for zeros alone, and for what is no finite number.
func QueryVector(c *memory.Collection, v []float32) ([]float32, error) {
	switch {
	case c.Embedder == "":
		return nil, fault.InvalidField("vector", "the collection has no embedder")
	case c.Dim > 0 && len(v) != c.Dim:
		return nil, fault.InvalidField("vector", "has %d dimensions, the collection's embedder %q has %d", len(v), c.Embedder, c.Dim)
	}
	return index.Round(v)
}
