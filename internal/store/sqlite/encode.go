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

// dimensions is how many numbers v.vec has, as store.PackVector writes it: in 12 bits each, with how many are too much of a multiple of 32
// as the third byte, or in two bytes each. Other bytes have 0.
const dimensions = "(CASE WHEN length(v.vec) % 2 = 0 THEN length(v.vec) / 2 WHEN substr(v.vec, 1, 1) = x'01' AND length(v.vec) % 48 = 3 THEN" +
	" (length(v.vec) - 3) / 48 * 32 + 1 - instr(x'000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f', substr(v.vec, 3, 1)) ELSE 0 END)"
