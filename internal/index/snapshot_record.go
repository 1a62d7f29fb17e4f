package index

import (
	"encoding/binary"
	"encoding/json"
	"maps"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/slipboxhq/slipbox/internal/filter"
)

// The types of a value of an attribute in a snapshot.
const (
	valueNil = iota
	valueFalse
	valueTrue
	valueString
	valueNumber // json.Number
	valueFloat
	valueInt
	valueInt64
	valueList
	valueObject
	valueUnknown // cannot be stored: the snapshot is not usable
)

// appendRecord appends a record. Its strings are numbers of the snapshot's list: most are repeated.
func (w *snapshotWriter) appendRecord(b []byte, e *entry) []byte {
	r := e.record()
	for _, s := range []string{r.Kind, r.Category, r.State, r.Agent} {
		b = binary.AppendUvarint(b, w.number(s))
	}
	b = binary.AppendUvarint(b, bits.ReverseBytes64(math.Float64bits(r.Importance))) // the last bytes of most numbers are 0
	b = binary.AppendVarint(b, e.createdAt-w.created)
	w.created = e.createdAt
	for _, list := range [][]string{r.Tags, r.Keywords} {
		b = binary.AppendUvarint(b, uint64(len(list)))
		for _, s := range list {
			b = binary.AppendUvarint(b, w.number(s))
		}
	}
	if r.Attributes == nil {
		return append(b, valueNil)
	}
	return w.appendValue(b, r.Attributes)
}

func (w *snapshotWriter) appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, valueNil)
	case bool:
		return append(b, valueFalse+boolByte(v))
	case string:
		return binary.AppendUvarint(append(b, valueString), w.number(v))
	case json.Number:
		return binary.AppendUvarint(append(b, valueNumber), w.number(string(v)))
	case float64:
		return binary.LittleEndian.AppendUint64(append(b, valueFloat), math.Float64bits(v))
	case int:
		return binary.AppendVarint(append(b, valueInt), int64(v))
	case int64:
		return binary.AppendVarint(append(b, valueInt64), v)
	case []any:
		b = binary.AppendUvarint(append(b, valueList), uint64(len(v)))
		for _, x := range v {
			b = w.appendValue(b, x)
		}
		return b
	case map[string]any:
		b = binary.AppendUvarint(append(b, valueObject), uint64(len(v)))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			b = w.appendValue(binary.AppendUvarint(b, w.number(k)), v[k])
		}
		return b
	}
	return append(b, valueUnknown)
}

// recordReader reads what appendRecord has written.
type recordReader struct {
	cursor

	strings []string
	created int64 // when the last one was made
}

// read returns a record without its id and the time when it occurred, which are in its row.
func (r *recordReader) read() (out filter.Record) {
	out.Kind, out.Category, out.State, out.Agent = r.string(), r.string(), r.string(), r.string()
	out.Importance = math.Float64frombits(bits.ReverseBytes64(r.uvarint()))
	r.created += r.varint()
	out.CreatedAt = time.UnixMicro(r.created)
	out.Tags, out.Keywords = r.list(), r.list()
	out.Attributes, _ = r.value(0).(map[string]any)
	return out
}

func (r *recordReader) string() string {
	n := r.count(len(r.strings) - 1)
	if r.bad {
		return ""
	}
	return r.strings[n]
}

func (r *recordReader) list() []string {
	n := r.count(len(r.rest))
	if n == 0 {
		return nil
	}
	out := make([]string, n)
	for i := range out {
		out[i] = r.string()
	}
	return out
}

// maxValueDepth is the deepest nesting of a value that is read. Attributes are not as deep.
const maxValueDepth = 128

func (r *recordReader) value(depth int) any {
	if depth > maxValueDepth {
		r.bad = true
	}
	if r.bad {
		return nil
	}
	switch r.byte() {
	case valueNil:
		return nil
	case valueFalse:
		return false
	case valueTrue:
		return true
	case valueString:
		return r.string()
	case valueNumber:
		return json.Number(r.string())
	case valueFloat:
		return r.float()
	case valueInt:
		return int(r.varint())
	case valueInt64:
		return r.varint()
	case valueList:
		out := make([]any, r.count(len(r.rest)))
		for i := range out {
			out[i] = r.value(depth + 1)
		}
		return out
	case valueObject:
		n := r.count(len(r.rest))
		out := make(map[string]any, n)
		for range n {
			k := r.string()
			out[k] = r.value(depth + 1)
		}
		return out
	}
	r.bad = true
	return nil
}
