package store

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/x448/float16"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// This file has what both engines do before a value is stored and after it is read, so that neither
// stores what the other would refuse.

// Micros returns a time in UTC and in whole microseconds, as it is stored; zero stays zero.
func Micros(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// Offset returns how many seconds the zone of a time is ahead of UTC at that time: what is stored beside the time of an event.
func Offset(t time.Time) int {
	_, offset := t.Zone()
	return offset
}

// eventOf returns the time of an event, which is stored in UTC, in the zone that [Offset] names.
func eventOf(t time.Time, offset int) time.Time {
	if t.IsZero() || offset == 0 {
		return t
	}
	return t.In(time.FixedZone("", offset))
}

// Text returns Invalid with the field for a text that is not UTF-8, which JSON cannot carry, or
// that has U+0000, which Postgres cannot store.
func Text(field, s string) error {
	if !utf8.ValidString(s) {
		return fault.InvalidField(field, "is not valid UTF-8")
	}
	if strings.ContainsRune(s, 0) {
		return fault.InvalidField(field, "must not contain the character U+0000")
	}
	return nil
}

// texts checks every text of a list as Text does.
func texts(field string, l []string) error {
	for _, s := range l {
		if err := Text(field, s); err != nil {
			return err
		}
	}
	return nil
}

// Clean changes a text of the platform's own, such as an error that quotes an endpoint, into one
// that Text accepts.
func Clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Object encodes a JSON object whose keys and texts are free of U+0000; "" is the empty object.
func Object(field string, m map[string]any) (string, error) {
	if len(m) == 0 {
		return "", nil
	}
	doc, err := Document(field, m)
	if err == nil && hasEscapedNull(doc) {
		err = fault.InvalidField(field, "must not contain the character U+0000")
	}
	if err != nil {
		return "", err
	}
	return doc, nil
}

// hasEscapedNull reports whether a text inside a JSON document has U+0000, which appears there only
// escaped.
func hasEscapedNull(doc string) bool {
	for {
		i := strings.IndexByte(doc, '\\')
		if i < 0 {
			return false
		}
		if strings.HasPrefix(doc[i+1:], "u0000") {
			return true
		}
		doc = doc[i+2:] // skip the escaped character: an escaped backslash starts no escape
	}
}

// Document encodes any value as JSON.
func Document(field string, v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fault.InvalidField(field, "is no JSON: %v", err)
	}
	return string(b), nil
}

// ObjectOf decodes a JSON object as encoding/json does, except that numbers that a float64 does not hold stay json.Number: those
// beyond its range, and whole ones with more digits, which are written in full. "" is not an object.
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
	convertNumbers(m)
	return m, nil
}

// convertNumbers converts the numbers of a decoded object, in place, as ObjectOf does.
func convertNumbers(m map[string]any) {
	for k, v := range m {
		m[k] = convertNumber(v)
	}
}

func convertNumber(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, ok := filter.Scalar(v); ok {
			return n.Any()
		}
	case map[string]any:
		convertNumbers(v)
	case []any:
		for i, e := range v {
			v[i] = convertNumber(e)
		}
	}
	return v
}

// rounded rounds a vector as the index does, so that what is returned equals what will be read. Invalid
// "vector" for elements that do not fit into 16 bits.
func rounded(v []float32) ([]float32, error) {
	zeros := true
	for i, x := range v {
		if !float16.Fromfloat32(x).IsFinite() {
			return nil, fault.InvalidField("vector", "element %d is not a number that fits in 16 bits", i)
		}
		zeros = zeros && x == 0
	}
	if zeros {
		return make([]float32, len(v)), nil
	}
	return index.Round(v)
}

// Halves are the numbers of a vector as little-endian binary16, the form in which it is moved. [VectorOf] reverses it.
func Halves(v []float32) []byte { return index.Halves(v) }

// PackVector returns a vector as engines without a type for it keep it. [VectorOf] reverses it.
func PackVector(v []float32) []byte { return index.Pack(v) }

// VectorOf returns the vector that Halves or PackVector has encoded; nil for no bytes.
func VectorOf(b []byte) []float32 { return index.Unpack(b) }

// QueryVector checks the query vector of a search and rounds it as the index does. Invalid "vector"
// for other dimensions than the collection's, for a vector of zeros, and for elements that are not
// finite numbers.
func QueryVector(c *memory.Collection, v []float32) ([]float32, error) {
	switch {
	case c.Embedder == "":
		return nil, fault.InvalidField("vector", "the collection has no embedder")
	case c.Dim > 0 && len(v) != c.Dim:
		return nil, fault.InvalidField("vector", "has %d dimensions, the collection's embedder %q has %d", len(v), c.Embedder, c.Dim)
	}
	return index.Round(v)
}

// QueryProbe returns what compares the query vector of a search with stored ones, after the checks of QueryVector.
func QueryProbe(c *memory.Collection, v []float32) (*index.Probe, error) {
	rounded, err := QueryVector(c, v)
	if err != nil {
		return nil, err
	}
	return index.NewProbe(rounded)
}
