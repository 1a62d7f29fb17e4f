package sqlite

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"time"

	"github.com/google/uuid"
)

// ids returns a list of ids as a parameter: JSON of hexadecimal texts.
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

// micros returns a time in microseconds since 1970, 0 for none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// list returns a list of texts as JSON, "" for the empty list.
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
