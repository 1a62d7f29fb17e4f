package sqlite

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// encoded is a note as the columns hold it.
type encoded struct {
	keywords, tags, attributes, supplied, provenance string
	vector, tokens                                   []byte
}

func (e *encoded) bytes(n *memory.Note) int64 {
	return int64(len(n.Content) + len(n.Context) + len(n.Category) + len(n.Key) + len(e.keywords) + len(e.tags) + len(e.attributes) + len(e.vector) + len(e.tokens))
}

// encode checks a note and brings it into the form in which it will be read.
func (t *tx) encode(n *memory.Note) (e encoded, err error) {
	if err := store.CheckNote(n); err != nil {
		return e, err
	}
	if e.keywords, err = list(n.Keywords); err != nil {
		return e, err
	}
	if e.tags, err = list(n.Tags); err != nil {
		return e, err
	}
	if e.supplied, err = list(n.Supplied); err != nil {
		return e, err
	}
	if e.attributes, err = store.Object("attributes", n.Attributes); err != nil {
		return e, err
	}
	if p := &n.Provenance; len(p.Sources) > 0 || p.Actor != "" || p.Job != nil || p.Stale {
		if e.provenance, err = store.Document("provenance", n.Provenance); err != nil {
			return e, err
		}
	}
	// What is returned is what will be read.
	if n.Attributes, err = store.ObjectOf(e.attributes); err != nil {
		return e, err
	}
	n.Keywords, n.Tags, n.Supplied = orNil(n.Keywords), orNil(n.Tags), orNil(n.Supplied)
	n.OccurredAt, n.CreatedAt = trunc(n.OccurredAt), trunc(n.CreatedAt)
	if n.Vector == nil {
		n.Embedder, n.Tokens = "", nil
		return e, nil
	}
	if err := store.CheckVector(&t.row.Collection, n); err != nil {
		return e, err
	}
	if n.Vector, err = store.Half(n.Vector); err == nil {
		e.vector, e.tokens = store.HalfBytes(n.Vector), append([]byte{}, n.Tokens...)
	}
	return e, err
}

func orNil(l []string) []string {
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
	ctx = context.WithoutCancel(ctx)
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
	if n.Kind == "" {
		n.Kind = memory.KindNote
	}
	if n.State == "" {
		n.State = memory.StateRaw
	}
	if err := t.embedLater(ctx, &n); err != nil {
		return n, err
	}
	e, err := t.encode(&n)
	if err != nil {
		return n, err
	}
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
	v := version{Note: n, to: open, bytes: e.bytes(&n)}
	if err := t.replace(ctx, old, had, v, e); err != nil {
		return n, err
	}
	if e.vector != nil {
		_, err = t.q.exec(ctx, "INSERT INTO vectors (tenant, layer, note, from_rev, embedder, vec, tokens) VALUES (?, ?, ?, ?, ?, ?, ?)",
			blob(t.tenant()), blob(t.row.ID), blob(n.ID), rev(t.revision), n.Embedder, e.vector, e.tokens)
	}
	return n, err
}

// Delete implements memory.Tx.
func (t *tx) Delete(ctx context.Context, note uuid.UUID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	old, err := t.visible(ctx, note)
	if err != nil {
		return err
	}
	v := version{to: open, Note: memory.Note{
		ID: note, Layer: t.row.ID, From: t.revision, Kind: old.Kind, CreatedAt: old.CreatedAt, UpdatedAt: t.now, Deleted: true,
	}}
	return t.replace(ctx, old, true, v, encoded{})
}

// replace ends the old version, if the own layer holds it, and inserts the
// new one. A version that this changeset itself wrote is overwritten.
func (t *tx) replace(ctx context.Context, old version, had bool, n version, e encoded) error {
	own := []any{blob(t.tenant()), blob(t.row.ID), blob(n.ID)}
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
			if _, err := t.q.exec(ctx, "DELETE FROM notes WHERE tenant = ? AND layer = ? AND id = ? AND from_rev = ?", append(own, rev(t.revision))...); err != nil {
				return err
			}
			if _, err := t.q.exec(ctx, "DELETE FROM vectors WHERE tenant = ? AND layer = ? AND note = ? AND from_rev = ?", append(own, rev(t.revision))...); err != nil {
				return err
			}
		} else if _, err := t.q.exec(ctx, "UPDATE notes SET to_rev = ? WHERE tenant = ? AND layer = ? AND id = ? AND from_rev = ?",
			append([]any{rev(t.revision)}, append(own, rev(old.From))...)...); err != nil {
			return err
		}
		if !old.Deleted {
			t.head.stored.notes--
		}
	}
	if err := t.q.insertNote(ctx, t.tenant(), n, e); err != nil {
		return err
	}
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
func (t *tx) touching(ctx context.Context, note uuid.UUID) (int64, error) {
	var total int64
	for i := range t.layers {
		where, args := visibleLinks(t.tenant(), t.layers, i)
		var n int64
		// Two searches: by source, and by target.
		for _, end := range []string{" WHERE l.source = ?", " INDEXED BY links_target WHERE l.target = ?"} {
			if _, err := t.q.get(ctx, "SELECT COUNT(*) FROM links l"+end+" AND "+where, append([]any{blob(note)}, args...), &n); err != nil {
				return 0, err
			}
			total += n
		}
	}
	return total, nil
}

func (q *session) insertNote(ctx context.Context, tenantID uuid.UUID, n version, e encoded) error {
	_, err := q.exec(ctx, `INSERT INTO notes (tenant, layer, id, from_rev, to_rev, deleted, kind, state, key, importance, occurred_at, created_at, updated_at,
 bytes, embedder, category, context, keywords, tags, attributes, error, analyst, supplied, provenance, content)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		blob(tenantID), blob(n.Layer), blob(n.ID), rev(n.From), rev(n.to), n.Deleted, string(n.Kind), string(n.State), n.Key, n.Importance,
		event(n.OccurredAt), event(n.CreatedAt), micros(n.UpdatedAt), n.bytes, n.Embedder, n.Category, n.Context,
		e.keywords, e.tags, e.attributes, n.Error, string(n.Analyst), e.supplied, e.provenance, n.Content)
	return err
}
