package memory

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// NoteJob is the payload of a job of kind note.
type NoteJob struct {
	EmbedOnly bool `json:"embed_only,omitempty"` // only the vector is missing: the job ends after prepare
}

// Add stores a note, with its vector when the collection's embedder is fast,
// and enqueues its job in the same transaction. Exists when a live note of
// that kind has the key.
func (n *Notes) Add(ctx context.Context, s tenant.Scope, ref string, in NewNote, r Request) (NoteWritten, error) {
	c, err := n.writable(ctx, s, ref)
	if err != nil {
		return NoteWritten{}, err
	}
	if out, ok, err := n.replay(ctx, s, c, r.Idempotency); ok || err != nil {
		return out, err
	}
	note, err := in.note(n.clock(), s.Actor())
	if err != nil {
		return NoteWritten{}, err
	}
	if in.ID != uuid.Nil {
		return NoteWritten{}, fault.InvalidField("id", "is given by the server; only an import keeps ids")
	}
	if err := n.checkQuota(ctx, s, 1, note.Size()); err != nil {
		return NoteWritten{}, err
	}
	// The id is made here, so that a closure that runs twice writes one note.
	if note.ID, err = uuid.NewV7(); err != nil {
		return NoteWritten{}, fault.Wrap(err, fault.Internal, "no id could be made")
	}
	if e := n.embed(ctx, s, &c, []string{EmbedText(&note)})[0]; e.Vector != nil {
		note.Embed(e, c.Embedder)
	}
	job := noteJob(s, &c, &note, infers(&in))

	var out NoteWritten
	o := WriteOptions{
		Cause: CauseAdd, Trigger: note.ID, Idempotency: r.Idempotency,
		Audit: []AuditEntry{audit("note.create", note.ID, &c)},
	}
	w, err := n.store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx Tx) error {
		out = NoteWritten{Changed: true}
		put := note
		if put.OccurredAt.IsZero() {
			put.OccurredAt = tx.Now()
		}
		var err error
		if out.Note, err = tx.Put(ctx, put); err != nil {
			return err
		}
		ids := answerIDs{Collection: c.ID, Note: note.ID, Revision: tx.Revision()}
		if job != nil {
			j, err := tx.Enqueue(ctx, *job)
			if err != nil {
				return err
			}
			out.Job, ids.Job = &j, &j.ID
		}
		tx.Answer(http.StatusCreated, ids.raw())
		return nil
	})
	if err != nil {
		return NoteWritten{}, err
	}
	if w.Replay != nil {
		return n.rebuild(ctx, s, c, *w.Replay)
	}
	out.Revision = w.Revision
	return out, nil
}

// infers tells whether the caller wants the policy to run.
func infers(in *NewNote) bool { return in.Infer == nil || *in.Infer }

// noteJob gives the job that a new or changed note needs: its policy's, or one
// that only embeds, or none.
func noteJob(s tenant.Scope, c *Collection, note *Note, infer bool) *Job {
	j := &Job{Tenant: s.Tenant(), Collection: c.ID, Note: note.ID, Kind: JobNote, Stage: StagePrepare, State: JobQueued}
	switch {
	case infer && c.Policy != PolicyNone:
	case note.Vector == nil:
		j.Payload = json.RawMessage(`{"embed_only":true}`)
	default:
		return nil
	}
	return j
}

func audit(action string, target uuid.UUID, c *Collection) AuditEntry {
	return AuditEntry{Action: action, Target: target.String(), Detail: map[string]any{"collection": c.ID.String()}}
}

// writable resolves a collection that the scope may write notes to.
func (n *Notes) writable(ctx context.Context, s tenant.Scope, ref string) (Collection, error) {
	if err := tenant.Check(s, tenant.NotesWrite); err != nil {
		return Collection{}, err
	}
	c, err := n.store.ResolveCollection(ctx, s, ref)
	if err != nil {
		return Collection{}, err
	}
	err = checkBase(s, &c)
	return c, err
}

// checkBase demands base:write for changes of a shared base.
func checkBase(s tenant.Scope, c *Collection) error {
	if c.Shared() {
		return tenant.Check(s, tenant.BaseWrite)
	}
	return nil
}

func (n *Notes) checkQuota(ctx context.Context, s tenant.Scope, notes, bytes int64) error {
	if n.quota == nil {
		return nil
	}
	return n.quota.CheckNotes(ctx, s, notes, bytes)
}

// fast gives the collection's embedder when it may run before a write's answer.
func (n *Notes) fast(c *Collection) (Embedder, bool) {
	e, ok := n.embedders.ByName(c.Embedder)
	if !ok || !e.Fast() {
		return nil, false
	}
	if e.Dim() != c.Dim {
		n.log.Error("embedder has another dimension than the collection; not used",
			slog.String("collection", c.ID.String()), slog.String("embedder", c.Embedder),
			slog.Int("dim", e.Dim()), slog.Int("collection_dim", c.Dim))
		return nil, false
	}
	return e, true
}

// embed embeds texts with a fast embedder. An entry without a vector is a job's
// work: the embedder is slow, not configured, or failed, or the context ended,
// which never stops a write.
func (n *Notes) embed(ctx context.Context, s tenant.Scope, c *Collection, texts []string) []Embedding {
	out := make([]Embedding, len(texts))
	e, ok := n.fast(c)
	if !ok {
		return out
	}
	for i := 0; i < len(texts) && ctx.Err() == nil; i += EmbedBatch {
		end := min(i+EmbedBatch, len(texts))
		made, err := EmbedAll(ctx, e, s, texts[i:end])
		if err == nil {
			copy(out[i:], made)
			continue
		}
		if ctx.Err() != nil {
			break
		}
		if end-i > 1 {
			// One text that cannot be embedded must not cost the others their vectors.
			for k := i; k < end; k++ {
				if made, err := EmbedAll(ctx, e, s, texts[k:k+1]); err == nil {
					out[k] = made[0]
				}
			}
		}
		n.log.Warn("embedding before a write failed; a job will do it", slog.String("collection", c.ID.String()), slog.Any("error", err))
	}
	return out
}

// replay answers from an idempotency key that was seen before; ok is false
// when there is nothing to replay.
func (n *Notes) replay(ctx context.Context, s tenant.Scope, c Collection, k *Idempotency) (out NoteWritten, ok bool, err error) {
	if k == nil {
		return out, false, nil
	}
	seen, ok, err := n.store.Replayed(ctx, s, *k)
	if err != nil || !ok {
		return out, false, err
	}
	out, err = n.rebuild(ctx, s, c, seen)
	return out, true, err
}

// rebuild gives an earlier answer again: the note as it was at the write's
// revision, the job as it is now.
func (n *Notes) rebuild(ctx context.Context, s tenant.Scope, c Collection, seen Idempotency) (NoteWritten, error) {
	var ids answerIDs
	if err := json.Unmarshal(seen.IDs, &ids); err != nil {
		return NoteWritten{}, fault.Wrap(err, fault.Internal, "the kept answer cannot be read")
	}
	out := NoteWritten{Revision: ids.Revision, Replayed: true, Changed: true}
	v, err := n.store.OpenView(ctx, s, c.ID.String(), At{AsOf: &ids.Revision})
	switch {
	case fault.Is(err, fault.RevisionGone):
		// The write is below the floor; what is left of it is its id.
		v, err = n.store.OpenView(ctx, s, c.ID.String(), At{})
		if err != nil {
			return NoteWritten{}, err
		}
	case err != nil:
		return NoteWritten{}, err
	}
	notes, err := n.store.Notes(ctx, s, v, []uuid.UUID{ids.Note}, ReadOptions{})
	if err != nil {
		return NoteWritten{}, err
	}
	if len(notes) == 0 {
		return NoteWritten{}, fault.Missing("note")
	}
	out.Note = notes[0]
	if out.Links, err = n.store.Links(ctx, s, v, LinkQuery{Notes: []uuid.UUID{ids.Note}, Direction: Outgoing}); err != nil {
		return NoteWritten{}, err
	}
	if ids.Job != nil {
		j, err := n.store.Job(ctx, s, *ids.Job)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return NoteWritten{}, err
		}
		if err == nil {
			out.Job = &j
		}
	}
	return out, nil
}
