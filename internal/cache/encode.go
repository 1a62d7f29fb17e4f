package cache

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// format is the number of the form of values in Redis. A value with another number is a miss, so
// that gateways of two builds can share a Redis.
const format = 1

// stored is a version as it is kept in Redis: without its vector, and without the collection
// through which it was read.
type stored struct {
	Format int         `json:"f"`
	Note   memory.Note `json:"n"`
}

type codec struct{ log *slog.Logger }

func (codec) encode(n memory.Note) ([]byte, error) {
	n.Collection, n.Vector = uuid.Nil, nil
	return json.Marshal(stored{Format: format, Note: n})
}

// decode parses a value; ok is false when it cannot be the wanted version.
func (c codec) decode(ctx context.Context, want memory.Version, text string) (n memory.Note, ok bool) {
	var s stored
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // keeps integers above 2^53 in attributes exact, as a store does
	err := d.Decode(&s)
	if err != nil || s.Format != format || s.Note.Version() != want {
		c.log.DebugContext(ctx, "a cached version cannot be decoded; it is read from the store",
			"layer", want.Layer, "note", want.Note, "from", want.From, "error", err)
		return memory.Note{}, false
	}
	s.Note.Collection, s.Note.Vector = uuid.Nil, nil
	return s.Note, true
}

// noteBytes estimates the memory of a cached note, its key and the entry itself.
func noteBytes(n *memory.Note) uint32 {
	const fixed, header = 768, 16
	sum := fixed + len(n.Key) + len(n.Content) + len(n.Context) + len(n.Category) + len(n.Error) + len(n.Provenance.Actor) +
		len(n.Provenance.Sources)*16
	for _, list := range [][]string{n.Keywords, n.Tags, n.Supplied} {
		for _, s := range list {
			sum += header + len(s)
		}
	}
	return uint32(min(sum+valueBytes(n.Attributes), math.MaxUint32)) //nolint:gosec // bounded
}

func valueBytes(v any) int {
	const slot = 48 // of an interface in a map or list, and a share of the table
	switch v := v.(type) {
	case map[string]any:
		sum := 0
		for k, x := range v {
			sum += slot + len(k) + valueBytes(x)
		}
		return sum
	case []any:
		sum := 0
		for _, x := range v {
			sum += slot + valueBytes(x)
		}
		return sum
	case string:
		return len(v)
	case json.Number:
		return len(v)
	default:
		return 8
	}
}
