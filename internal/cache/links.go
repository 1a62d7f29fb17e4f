package cache

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/google/uuid"
	"github.com/maypok86/otter/v2"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// linksShare is the part of the memory of this process's level that links may use besides versions:
// one in linksShare.
const linksShare = 8

// linksKey is the identity of the outgoing links of a note. What a view shows at its bounds never
// changes, so they are never stale.
type linksKey struct {
	tenant uuid.UUID
	note   uuid.UUID
	view   string // its layers, their bounds and erase epochs
}

func newLinksCache(bytes int64) (*otter.Cache[linksKey, []memory.Link], error) {
	c, err := otter.New(&otter.Options[linksKey, []memory.Link]{
		MaximumWeight: uint64(max(bytes/linksShare, 1)),
		Weigher:       linksBytes,
	})
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "cache: make the cache of links")
	}
	return c, nil
}

// linksBytes estimates the memory of an entry.
func linksBytes(k linksKey, links []memory.Link) uint32 {
	const entry, link = 256, 160
	sum := entry + len(k.view)
	for i := range links {
		sum += link + len(links[i].Relation) + valueBytes(links[i].Attributes)
	}
	return uint32(sum) //nolint:gosec // there are at most DefaultLinks
}

// viewPart is the length of a layer in viewKey.
const viewPart = 16 + 8 + 8

// layers returns the layers of the view.
func (k linksKey) layers() []heldLayer {
	out := make([]heldLayer, 0, len(k.view)/viewPart)
	for part := []byte(k.view); len(part) >= viewPart; part = part[viewPart:] {
		epoch := int64(binary.LittleEndian.Uint64(part[24:])) //nolint:gosec // bits, not a number
		out = append(out, heldLayer{k.tenant, uuid.UUID(part[:16]), epoch})
	}
	return out
}

// viewKey identifies what a view shows.
func viewKey(v *memory.View) string {
	key := make([]byte, 0, viewPart*len(v.Layers))
	for _, l := range v.Layers {
		key = append(key, l.Collection[:]...)
		key = binary.LittleEndian.AppendUint64(key, uint64(l.Bound))      //nolint:gosec // bits, not a number
		key = binary.LittleEndian.AppendUint64(key, uint64(l.EraseEpoch)) //nolint:gosec // as above
	}
	return string(key)
}

// Links implements memory.Reader. The outgoing links of notes are kept in this process, by what the
// view shows; all other questions are the store's.
func (v *Versions) Links(ctx context.Context, s tenant.Scope, view memory.View, q memory.LinkQuery) ([]memory.Link, error) {
	// Rows are still added below the head of a copy in progress.
	if q.Direction != memory.Outgoing || q.Limit != 0 || q.Hidden || view.Collection.State == memory.CollectionCopying {
		return v.Reader.Links(ctx, s, view, q)
	}
	if err := view.Check(s); err != nil {
		return nil, err
	}
	notes := slices.Clone(q.Notes)
	slices.SortFunc(notes, memory.CompareIDs)
	notes = slices.Compact(notes)
	key := linksKey{tenant: s.Tenant(), view: viewKey(&view)}
	found := make([][]memory.Link, len(notes))
	var missing []uuid.UUID
	var places []int
	for i, id := range notes {
		key.note = id
		links, ok := v.links.GetIfPresent(key)
		if !ok {
			missing, places = append(missing, id), append(places, i)
		}
		found[i] = links
	}
	if len(missing) > 0 {
		read, err := v.Reader.Links(ctx, s, view, memory.LinkQuery{Notes: missing, Direction: memory.Outgoing})
		if err != nil {
			return nil, err
		}
		if len(read) >= memory.DefaultLinks { // some may be left out
			return v.Reader.Links(ctx, s, view, q)
		}
		for n, i := range places {
			own := 0
			for own < len(read) && read[own].Source == missing[n] {
				own++
			}
			found[i], read = slices.Clip(read[:own]), read[own:]
			key.note = missing[n]
			v.links.Set(key, found[i])
		}
	}
	var out []memory.Link
	for _, links := range found {
		for _, l := range links {
			l.Attributes, _ = memory.CopyValue(l.Attributes).(map[string]any)
			out = append(out, l)
		}
	}
	return out[:min(len(out), memory.DefaultLinks)], nil
}
