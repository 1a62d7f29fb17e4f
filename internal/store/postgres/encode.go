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

// nullTime returns a time where NULL is none.
func nullTime(t time.Time) *time.Time {
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

func objectOf(s *string) (map[string]any, error) {
	if s == nil {
		return nil, nil //nolint:nilnil // none
	}
	return store.ObjectOf(*s)
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

// orNull returns NULL for the empty text.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// nullJSON returns a JSON text where NULL is none.
func nullJSON(m json.RawMessage) *string {
	if len(m) == 0 {
		return nil
	}
	return new(string(m))
}

// maxDim is how many dimensions fit in a page of 8 KiB beside the other columns of vectors, with
// names of embedders of up to 200 bytes.
const maxDim = 3900

// storable reports whether a column can hold the text. What cannot be stored is not found; the
// server would refuse the query.
func storable(s string) bool { return store.Text("", s) == nil }

// rev returns a revision as an integer; revisions compare as integers.
func rev(r memory.Revision) int64 { return int64(r) }

// limit returns a limit of rows where 0 is none.
func limit(n int) int64 {
	if n <= 0 {
		return math.MaxInt64
	}
	return int64(n)
}

// params collects the arguments of a statement and numbers them.
type params struct{ args []any }

// add returns the placeholder of a further argument.
func (p *params) add(v any) string {
	p.args = append(p.args, v)
	return "$" + strconv.Itoa(len(p.args))
}

// ids is a list of ids as the driver takes it for uuid[].
type ids = []uuid.UUID
