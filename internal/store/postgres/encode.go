package postgres

import (
	"encoding/json"
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

// params collects the arguments of a statement and numbers them.
type params struct{ args []any }

// add returns the placeholder of a further argument.
func (p *params) add(v any) string {
	p.args = append(p.args, v)
	return "$" + strconv.Itoa(len(p.args))
}

// ids is a list of ids as the driver takes it for uuid[].
type ids = []uuid.UUID
