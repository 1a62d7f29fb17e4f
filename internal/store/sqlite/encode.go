package sqlite

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

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

func rawOf(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

// revisions compare as integers.
func rev(r memory.Revision) int64 { return int64(r) }
