package sqlite

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/x448/float16"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// open is the to_rev of a version that nothing has replaced.
const open = math.MaxInt64

// blob is how an id stands in the database.
func blob(id uuid.UUID) []byte { return id[:] }

// ids is how a list of ids is passed: JSON of hexadecimal texts.
func ids(list []uuid.UUID) string {
	var b strings.Builder
	b.Grow(len(list)*35 + 2)
	b.WriteByte('[')
	var buf [32]byte
	for i, id := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		hex.Encode(buf[:], id[:])
		b.WriteByte('"')
		b.Write(buf[:])
		b.WriteByte('"')
	}
	b.WriteByte(']')
	return b.String()
}

// micros is a time where 0 is none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func timeOf(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// event is a time where NULL is none, since 1970 may be meant.
func event(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

func eventOf(us *int64) time.Time {
	if us == nil {
		return time.Time{}
	}
	return time.UnixMicro(*us).UTC()
}

func trunc(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// list writes a list of texts; ” is the empty list.
func list(l []string) (string, error) {
	if len(l) == 0 {
		return "", nil
	}
	b, err := json.Marshal(l)
	return string(b), err
}

func listOf(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	var l []string
	if err := json.Unmarshal([]byte(s), &l); err != nil {
		return nil, err
	}
	return l, nil
}

// object writes a JSON object; "" is the empty one.
func object(field string, m map[string]any) (string, error) {
	if len(m) == 0 {
		return "", nil
	}
	b, err := json.Marshal(m)
	if err != nil {
		return "", fault.InvalidField(field, "is no JSON object: %v", err)
	}
	return string(b), nil
}

func objectOf(s string) (map[string]any, error) {
	var m map[string]any // nil: none
	if s == "" {
		return m, nil
	}
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		return nil, err
	}
	exactly(m)
	return m, nil
}

// exactly gives the values of an object as exact does, in place.
func exactly(m map[string]any) {
	for k, v := range m {
		m[k] = exact(v)
	}
}

// exact gives numbers as encoding/json does, but for integers that a float64
// does not hold: they stay json.Number.
func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil || math.Abs(f) >= 1<<53 && !strings.ContainsAny(v.String(), ".eE") {
			return v
		}
		return f
	case map[string]any:
		exactly(v)
	case []any:
		for i, e := range v {
			v[i] = exact(e)
		}
	}
	return v
}

func rawOf(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

// document writes any value as JSON.
func document(field string, v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fault.InvalidField(field, "is no JSON: %v", err)
	}
	return string(b), nil
}

// half rounds a vector to float16 and gives its bytes and the rounded values,
// so that what was returned is what will be read.
func half(v []float32) (blob []byte, rounded []float32, err error) {
	blob, rounded = make([]byte, 0, 2*len(v)), make([]float32, len(v))
	for i, x := range v {
		h := float16.Fromfloat32(x)
		if !h.IsFinite() {
			return nil, nil, fault.InvalidField("vector", "element %d is not a number that fits in 16 bits", i)
		}
		blob = binary.LittleEndian.AppendUint16(blob, h.Bits())
		rounded[i] = h.Float32()
	}
	return blob, rounded, nil
}

func halfOf(b []byte) []float32 {
	if len(b) == 0 {
		return nil
	}
	v := make([]float32, len(b)/2)
	for i := range v {
		v[i] = float16.Frombits(binary.LittleEndian.Uint16(b[2*i:])).Float32()
	}
	return v
}

// text refuses what is not UTF-8: it would not survive JSON.
func text(field, s string) error {
	if !utf8.ValidString(s) {
		return fault.InvalidField(field, "is not valid UTF-8")
	}
	return nil
}

func texts(field string, l []string) error {
	for _, s := range l {
		if err := text(field, s); err != nil {
			return err
		}
	}
	return nil
}

// revisions compare as integers.
func rev(r memory.Revision) int64 { return int64(r) }
