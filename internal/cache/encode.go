package cache

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// format is that of values in Redis. One with another number is a miss, so that gateways of two
// builds can share a Redis.
const format = 1

// stored is a version as Redis keeps it: without its vector, and without the collection
// that it was read through.
type stored struct {
	Format int         `json:"f"`
	Note   memory.Note `json:"n"`
}

type codec struct{ log *slog.Logger }

func (codec) encode(n memory.Note) ([]byte, error) {
	n.Collection, n.Vector = uuid.Nil, nil
	return json.Marshal(stored{Format: format, Note: n})
}

// decode reads a value; ok is false when it cannot be the version that was asked for.
func (c codec) decode(ctx context.Context, want memory.Version, text string) (n memory.Note, ok bool) {
	var s stored
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // integers above 2^53 in attributes stay what they are, as in a store
	err := d.Decode(&s)
	if err != nil || s.Format != format || s.Note.Version() != want {
		c.log.DebugContext(ctx, "a cached version cannot be read; it is read from the store", "layer", want.Layer, "note", want.Note, "from", want.From, "error", err)
		return memory.Note{}, false
	}
	s.Note.Collection, s.Note.Vector = uuid.Nil, nil
	return s.Note, true
}

// own copies what a caller could change in a note that others share.
func own(n memory.Note) memory.Note {
	n.Keywords, n.Tags, n.Supplied = slices.Clone(n.Keywords), slices.Clone(n.Tags), slices.Clone(n.Supplied)
	n.Provenance.Sources = slices.Clone(n.Provenance.Sources)
	if n.Provenance.Job != nil {
		n.Provenance.Job = new(*n.Provenance.Job)
	}
	n.Attributes, _ = ownValue(n.Attributes).(map[string]any)
	return n
}

// ownValue copies a JSON value. Nil maps and lists stay nil.
func ownValue(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := maps.Clone(v)
		for k, x := range m {
			m[k] = ownValue(x)
		}
		return m
	case []any:
		l := slices.Clone(v)
		for i, x := range l {
			l[i] = ownValue(x)
		}
		return l
	default:
		return v
	}
}

// size is about what a note takes in memory, with its key and the entry's own cost, in bytes.
func size(n *memory.Note) uint32 {
	const fixed, header = 768, 16
	sum := fixed + len(n.Key) + len(n.Content) + len(n.Context) + len(n.Category) + len(n.Error) + len(n.Provenance.Actor) +
		len(n.Provenance.Sources)*16
	for _, list := range [][]string{n.Keywords, n.Tags, n.Supplied} {
		for _, s := range list {
			sum += header + len(s)
		}
	}
	return uint32(min(sum+sizeOf(n.Attributes), math.MaxUint32)) //nolint:gosec // bounded
}

func sizeOf(v any) int {
	const slot = 48 // of an interface in a map or list, and a share of the table
	switch v := v.(type) {
	case map[string]any:
		sum := 0
		for k, x := range v {
			sum += slot + len(k) + sizeOf(x)
		}
		return sum
	case []any:
		sum := 0
		for _, x := range v {
			sum += slot + sizeOf(x)
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
