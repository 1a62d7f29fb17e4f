package postgres

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// at is a time where NULL is none.
func at(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(store.Micros(t))
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

// list gives a list of texts that is never NULL; none reads it back as the
// other engine does.
func list(l []string) []string {
	if l == nil {
		return []string{}
	}
	return l
}

func none(l []string) []string {
	if len(l) == 0 {
		return nil
	}
	return l
}

// objectOf reads what jsonb gives back. It writes every number out in full, so
// that one of 22 digits or more may have been a float64 with an exponent.
func objectOf(s *string) (map[string]any, error) {
	if s == nil {
		return nil, nil //nolint:nilnil // none
	}
	m, err := store.ObjectOf(*s)
	if err == nil && len(*s) > longest {
		shorten(m)
	}
	return m, err
}

// objectColumn scans a column of JSON objects, where NULL is none.
type objectColumn struct{ m *map[string]any }

// Scan implements sql.Scanner.
func (c objectColumn) Scan(src any) (err error) {
	switch v := src.(type) {
	case nil:
		*c.m = nil
	case string:
		*c.m, err = objectOf(&v)
	case []byte:
		*c.m, err = objectOf(new(string(v)))
	default:
		err = fmt.Errorf("an object cannot be read from %T", src)
	}
	return err
}

// longest number that encoding/json writes out in full.
const longest = 21

func shorten(m map[string]any) {
	for k, v := range m {
		m[k] = short(v)
	}
}

func short(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil && len(v) > longest && strconv.FormatFloat(f, 'f', -1, 64) == v.String() {
			return f
		}
	case map[string]any:
		shorten(v)
	case []any:
		for i, e := range v {
			v[i] = short(e)
		}
	}
	return v
}

// orNull returns NULL for the empty text.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// raw is a JSON text where NULL is none.
func raw(m json.RawMessage) *string {
	if len(m) == 0 {
		return nil
	}
	return new(string(m))
}

// maxDim is what fits in a page of 8 KiB beside the other columns of vectors,
// with names of embedders of up to 200 bytes.
const maxDim = 3900

// storable reports whether a column can hold the text. What cannot be stored is not found; the
// server would refuse the query.
func storable(s string) bool { return store.Text("", s) == nil }

// revisions compare as integers.
func rev(r memory.Revision) int64 { return int64(r) }

// limit is a bound of rows where 0 is none.
func limit(n int) int64 {
	if n <= 0 {
		return math.MaxInt64
	}
	return int64(n)
}

// params numbers the arguments of a statement that is put together.
type params struct{ args []any }

// add gives the placeholder of a further argument.
func (p *params) add(v any) string {
	p.args = append(p.args, v)
	return "$" + strconv.Itoa(len(p.args))
}

// list of ids as the driver takes it for uuid[].
type ids = []uuid.UUID
