package store

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// OpenEnd is the to_rev of a version that nothing has replaced.
const OpenEnd = math.MaxInt64

// NoteVersion is a row of notes.
type NoteVersion struct {
	memory.Note
	To    memory.Revision // the revision at which it ended, or OpenEnd
	Bytes int64           // what it counts for
}

// NoteRow is a version of a note as it is written.
type NoteRow struct {
	NoteVersion
	AttributesJSON string // "": none
	ProvenanceJSON string // "": none
	Digest         int64  // memory.DigestOf; 0 of a tombstone
	OccurredOffset int64  // of the zone of OccurredAt, in seconds
}

// NoteWrites write versions of notes.
type NoteWrites interface {
	InsertNote(ctx context.Context, tenantID uuid.UUID, n NoteRow) error
	// InsertVector adds the vector of a version, rounded, with its token directions.
	InsertVector(ctx context.Context, tenantID uuid.UUID, v memory.Version, embedder string, vector []float32, tokens []byte) error
	// VectorLimit is how many dimensions a vector may have; 0: any number.
	VectorLimit() int
}

// endNote ends a version at a revision.
func endNote(ctx context.Context, q Conn, tenantID uuid.UUID, v memory.Version, at memory.Revision) error {
	return q.Later(ctx, "UPDATE notes SET to_rev = $5 WHERE tenant = $1 AND layer = $2 AND id = $3 AND from_rev = $4", tenantID, v.Layer, v.Note, int64(v.From), int64(at))
}

// DeleteNote deletes a version and its vectors.
func DeleteNote(ctx context.Context, q Conn, tenantID uuid.UUID, v memory.Version) error {
	return all(ctx, q, []any{tenantID, v.Layer, v.Note, int64(v.From)},
		"DELETE FROM notes WHERE tenant = $1 AND layer = $2 AND id = $3 AND from_rev = $4", "DELETE FROM vectors WHERE tenant = $1 AND layer = $2 AND note = $3 AND from_rev = $4")
}

// encode checks a note and changes it into what will be read when it is stored.
func (t *Tx) encode(n *memory.Note) (r NoteRow, err error) {
	if err := checkNote(n); err != nil {
		return r, err
	}
	if r.AttributesJSON, err = Object("attributes", n.Attributes); err != nil {
		return r, err
	}
	if p := &n.Provenance; len(p.Sources) > 0 || p.Actor != "" || p.Agent != "" || p.Job != nil || p.Stale {
		if r.ProvenanceJSON, err = Document("provenance", n.Provenance); err != nil {
			return r, err
		}
	}
	if n.Attributes, err = ObjectOf(r.AttributesJSON); err != nil {
		return r, err
	}
	n.Keywords, n.Tags, n.Supplied = cloneTexts(n.Keywords), cloneTexts(n.Tags), cloneTexts(n.Supplied)
	n.OccurredAt, n.CreatedAt, n.ExpiresAt = memory.EventInstant(n.OccurredAt), Micros(n.CreatedAt), Micros(n.ExpiresAt)
	if n.Vector == nil {
		n.Embedder, n.Tokens = "", nil
	} else if err := checkVector(&t.row.Collection, n); err != nil {
		return r, err
	} else if most := t.q.VectorLimit(); most > 0 && len(n.Vector) > most {
		return r, VectorTooLong(len(n.Vector), most)
	} else if n.Vector, err = rounded(n.Vector); err != nil {
		return r, err
	}
	r.Bytes, err = noteBytes(n, r.AttributesJSON)
	return r, err
}

// VectorTooLong is the fault for a vector with more dimensions than the engine can store.
func VectorTooLong(dimensions, most int) error {
	return fault.InvalidField("vector", "has %d dimensions, a vector that Postgres keeps has at most %d", dimensions, most)
}

// noteBytes is what a version counts for in bytes, the same on every engine.
func noteBytes(n *memory.Note, attributes string) (int64, error) {
	size := len(n.Content) + len(n.Context) + len(n.Category) + len(n.Key) + len(attributes) + 2*len(n.Vector) + len(n.Tokens)
	for _, list := range [][]string{n.Keywords, n.Tags} {
		if len(list) == 0 {
			continue
		}
		doc, err := Document("keywords", list)
		if err != nil {
			return 0, err
		}
		size += len(doc)
	}
	return int64(size), nil
}

// cloneTexts returns nil for the empty list, as it is read again.
func cloneTexts(l []string) []string {
	if len(l) == 0 {
		return nil
	}
	return slices.Clone(l)
}

// Put implements memory.Tx.
func (t *Tx) Put(ctx context.Context, n memory.Note) (memory.Note, error) {
	if err := ctx.Err(); err != nil {
		return n, err
	}
	var old NoteVersion
	var had bool
	var err error
	if n.ID == uuid.Nil {
		if n.ID, err = uuid.NewV7(); err != nil {
			return n, err
		}
	} else if old, had, err = t.version(n.ID); err != nil {
		return n, err
	}
	n.Kind, n.State = cmp.Or(n.Kind, memory.KindNote), cmp.Or(n.State, memory.StateRaw)
	if err := t.embedLater(ctx, &n); err != nil {
		return n, err
	}
	row, err := t.encode(&n)
	if err != nil {
		return n, err
	}
	if n.Key != "" && (!had || old.Deleted || old.Key != n.Key || old.Kind != n.Kind) {
		// The lock of the head makes this check sufficient: no other transaction writes.
		other, taken, err := t.q.NoteVersionByKey(t.ctx, t.scope.Tenant(), t.layers, NoteReader{}, n.Kind, n.Key)
		if err != nil {
			return n, err
		}
		if taken && other.ID != n.ID {
			return n, fault.New(fault.Exists, "a %s with this key exists", n.Kind)
		}
		if err := t.checkLabel(&n); err != nil {
			return n, err
		}
	}
	if n.CreatedAt.IsZero() {
		n.CreatedAt = t.now
		if had && !old.Deleted {
			n.CreatedAt = old.CreatedAt
		}
	}
	n.Collection, n.Layer, n.From, n.UpdatedAt, n.Deleted = t.row.ID, t.row.ID, t.revision, t.now, false
	row.Note, row.To, row.Digest, row.OccurredOffset = n, OpenEnd, memory.DigestOf(&n), int64(Offset(n.OccurredAt))
	t.head.expireBy(n.ExpiresAt)
	if err := t.replace(old, had, row); err != nil {
		return n, err
	}
	if n.Vector != nil {
		err = t.q.InsertVector(t.ctx, t.scope.Tenant(), n.Version(), n.Embedder, n.Vector, n.Tokens)
	}
	return n, err
}

// embedLater removes from a note a vector that the collection's embedder did not make, and
// enqueues the job that makes the right one.
func (t *Tx) embedLater(ctx context.Context, n *memory.Note) error {
	job, err := replaceForeignVector(&t.row.Collection, n)
	if err != nil || job == nil {
		return err
	}
	_, err = t.Enqueue(ctx, *job)
	return err
}

// Delete implements memory.Tx.
func (t *Tx) Delete(ctx context.Context, note uuid.UUID) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	old, err := t.visible(note)
	if err != nil {
		return err
	}
	return t.replace(old, true, NoteRow{NoteVersion: NoteVersion{To: OpenEnd, Note: memory.Note{
		ID: note, Layer: t.row.ID, From: t.revision, Kind: old.Kind, CreatedAt: old.CreatedAt, UpdatedAt: t.now, Deleted: true,
	}}})
}

// replace ends the old version, if the collection's own layer has it, and inserts the new one. A
// version that this changeset itself wrote is overwritten.
func (t *Tx) replace(old NoteVersion, had bool, n NoteRow) error {
	// Links follow their endpoints: count those that this change hides or shows.
	wasVisible := had && !old.Deleted
	var links, own int64
	var err error
	if wasVisible && n.Deleted {
		if links, own, err = t.q.CountLinksOf(t.ctx, t.scope.Tenant(), t.layers, n.ID); err != nil {
			return err
		}
		links, own = -links, -own
	}
	if had && old.Layer == t.row.ID {
		if old.From == t.revision {
			t.head.Stored.Bytes -= old.Bytes
			err = DeleteNote(t.ctx, t.q, t.scope.Tenant(), old.Version())
		} else {
			err = endNote(t.ctx, t.q, t.scope.Tenant(), old.Version(), t.revision)
		}
		if err != nil {
			return err
		}
		if !old.Deleted {
			t.head.Stored.Notes--
		}
	}
	if err := t.q.InsertNote(t.ctx, t.scope.Tenant(), n); err != nil {
		return err
	}
	if t.shown == nil {
		t.shown = map[uuid.UUID]bool{}
	}
	t.logged, t.shown[n.ID] = true, !n.Deleted
	t.head.Stored.Bytes += n.Bytes
	if wasVisible {
		countNote(&t.head.Counts, &old.Note, old.Bytes, -1)
	}
	if !n.Deleted {
		t.head.Stored.Notes++
		countNote(&t.head.Counts, &n.Note, n.Bytes, 1)
	}
	if had && old.Deleted && !n.Deleted {
		if links, own, err = t.q.CountLinksOf(t.ctx, t.scope.Tenant(), t.layers, n.ID); err != nil {
			return err
		}
	}
	t.head.Links += links
	t.head.Stored.Hidden -= own
	return nil
}
