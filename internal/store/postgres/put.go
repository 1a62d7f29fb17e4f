package postgres

import (
	"cmp"
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/pgvector/pgvector-go"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// encoded is a note as the columns hold it.
type encoded struct {
	attributes, provenance *string
	vector                 *pgvector.HalfVector
	tokens                 []byte
	bytes                  int64
}

// encode checks a note and brings it into the form in which it will be read.
func (t *tx) encode(n *memory.Note) (e encoded, err error) {
	if err := store.CheckNote(n); err != nil {
		return e, err
	}
	if e.attributes, err = object("attributes", n.Attributes); err != nil {
		return e, err
	}
	if p := &n.Provenance; len(p.Sources) > 0 || p.Actor != "" || p.Job != nil || p.Stale {
		if e.provenance, err = document("provenance", n.Provenance); err != nil {
			return e, err
		}
	}
	// What is returned is what will be read.
	if n.Attributes, err = objectOf(e.attributes); err != nil {
		return e, err
	}
	n.Keywords, n.Tags, n.Supplied = copied(n.Keywords), copied(n.Tags), copied(n.Supplied)
	n.OccurredAt, n.CreatedAt = trunc(n.OccurredAt), trunc(n.CreatedAt)
	if n.Vector == nil {
		n.Embedder, n.Tokens = "", nil
	} else if err := store.CheckVector(&t.row.Collection, n); err != nil {
		return e, err
	} else if e.vector, n.Vector, err = half(n.Vector); err != nil {
		return e, err
	}
	e.tokens = append([]byte{}, n.Tokens...)
	e.bytes = e.size(n)
	return e, nil
}

// size is what the note counts for in bytes, as the other engine has it.
func (e *encoded) size(n *memory.Note) int64 {
	size := len(n.Content) + len(n.Context) + len(n.Category) + len(n.Key) + 2*len(n.Vector) + len(n.Tokens)
	for _, list := range [][]string{n.Keywords, n.Tags} {
		if len(list) > 0 {
			if doc, err := document("", list); err == nil {
				size += len(*doc)
			}
		}
	}
	if e.attributes != nil {
		size += len(*e.attributes)
	}
	return int64(size)
}

func copied(l []string) []string {
	if len(l) == 0 {
		return nil
	}
	return append([]string(nil), l...)
}

// Put implements memory.Tx.
func (t *tx) Put(ctx context.Context, n memory.Note) (memory.Note, error) {
	if err := ctx.Err(); err != nil {
		return n, err
	}
	ctx = t.bare
	var old version
	var had bool
	var err error
	if n.ID == uuid.Nil {
		if n.ID, err = uuid.NewV7(); err != nil {
			return n, err
		}
	} else if old, had, err = t.version(ctx, n.ID); err != nil {
		return n, err
	}
	n.Kind, n.State = cmp.Or(n.Kind, memory.KindNote), cmp.Or(n.State, memory.StateRaw)
	if err := t.embedLater(ctx, &n); err != nil {
		return n, err
	}
	e, err := t.encode(&n)
	if err != nil {
		return n, err
	}
	// The collection's lock makes this look enough: nobody else writes.
	if n.Key != "" && (!had || old.Deleted || old.Key != n.Key || old.Kind != n.Kind) {
		other, taken, err := t.q.byKey(ctx, t.tenant(), t.layers, reader{}, n.Kind, n.Key)
		if err != nil {
			return n, err
		}
		if taken && other.ID != n.ID {
			return n, fault.New(fault.Exists, "a %s with this key exists", n.Kind)
		}
	}
	if n.CreatedAt.IsZero() {
		n.CreatedAt = t.now
		if had && !old.Deleted {
			n.CreatedAt = old.CreatedAt
		}
	}
	n.Collection, n.Layer, n.From, n.UpdatedAt, n.Deleted = t.row.ID, t.row.ID, t.revision, t.now, false
	if err := t.replace(ctx, old, had, version{Note: n, to: open, bytes: e.bytes}, e); err != nil {
		return n, err
	}
	if e.vector != nil {
		t.q.later("INSERT INTO vectors (tenant, layer, note, from_rev, embedder, vec, tokens) VALUES ($1, $2, $3, $4, $5, $6, $7)",
			t.tenant(), t.row.ID, n.ID, rev(t.revision), n.Embedder, e.vector, e.tokens)
	}
	return n, nil
}

// Delete implements memory.Tx.
func (t *tx) Delete(ctx context.Context, note uuid.UUID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	old, err := t.visible(t.bare, note)
	if err != nil {
		return err
	}
	v := version{to: open, Note: memory.Note{
		ID: note, Layer: t.row.ID, From: t.revision, Kind: old.Kind, CreatedAt: old.CreatedAt, UpdatedAt: t.now, Deleted: true,
	}}
	return t.replace(t.bare, old, true, v, encoded{})
}

// replace ends the old version, if the own layer holds it, and inserts the
// new one. A version that this changeset itself wrote is overwritten.
func (t *tx) replace(ctx context.Context, old version, had bool, n version, e encoded) error {
	own := []any{t.tenant(), t.row.ID, n.ID, rev(t.revision)}
	// Links follow their endpoints: count those that this change hides or shows.
	wasVisible := had && !old.Deleted
	links := int64(0)
	var err error
	if wasVisible && n.Deleted {
		if links, err = t.touching(ctx, n.ID); err != nil {
			return err
		}
		links = -links
	}
	if had && old.Layer == t.row.ID {
		if old.From == t.revision {
			t.head.stored.bytes -= old.bytes
			t.q.later("DELETE FROM notes WHERE tenant = $1 AND layer = $2 AND id = $3 AND from_rev = $4", own...)
			t.q.later("DELETE FROM vectors WHERE tenant = $1 AND layer = $2 AND note = $3 AND from_rev = $4", own...)
		} else {
			t.q.later("UPDATE notes SET to_rev = $4 WHERE tenant = $1 AND layer = $2 AND id = $3 AND from_rev = $5", append(own, rev(old.From))...)
		}
		if !old.Deleted {
			t.head.stored.notes--
		}
	}
	t.q.insertNote(t.tenant(), n, e)
	t.logged = true
	t.head.stored.bytes += n.bytes
	if wasVisible {
		store.CountNote(&t.head.Counts, &old.Note, old.bytes, -1)
	}
	if !n.Deleted {
		t.head.stored.notes++
		store.CountNote(&t.head.Counts, &n.Note, n.bytes, 1)
	}
	if had && old.Deleted && !n.Deleted {
		if links, err = t.touching(ctx, n.ID); err != nil {
			return err
		}
	}
	t.head.Links += links
	return nil
}

// touching counts the visible links of a note.
func (t *tx) touching(ctx context.Context, note uuid.UUID) (n int64, err error) {
	p := params{args: []any{t.tenant(), note}}
	var sums []string
	for i := range t.layers {
		where := p.visibleLinks(t.layers, i)
		// Two searches: by source, and by target.
		for _, end := range []string{"l.source", "l.target"} {
			sums = append(sums, "(SELECT COUNT(*) FROM links l WHERE "+end+" = $2 AND "+where+")")
		}
	}
	_, err = t.q.get(ctx, "SELECT "+strings.Join(sums, " + "), p.args, &n)
	return n, err
}

// insertNote goes with the next statement.
func (q *session) insertNote(tenantID uuid.UUID, n version, e encoded) {
	q.later(`INSERT INTO notes (tenant, layer, id, from_rev, to_rev, deleted, kind, state, key, importance, occurred_at, created_at, updated_at,
 bytes, embedder, category, context, keywords, tags, attributes, error, analyst, supplied, provenance, content)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)`,
		tenantID, n.Layer, n.ID, rev(n.From), rev(n.to), n.Deleted, string(n.Kind), string(n.State), n.Key, n.Importance,
		at(n.OccurredAt), at(n.CreatedAt), n.UpdatedAt, n.bytes, n.Embedder, n.Category, n.Context,
		list(n.Keywords), list(n.Tags), e.attributes, n.Error, string(n.Analyst), list(n.Supplied), e.provenance, n.Content)
}
