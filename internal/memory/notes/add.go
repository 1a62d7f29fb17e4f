package notes

import (
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Add stores a note and enqueues its job in the same transaction. The vector is stored with it when
// the collection's embedder is fast. Exists when a live note of that kind has the key. A note that the
// collection has already (memory.IsDuplicate) is returned, with Found, unless the input says to keep both.
func (n *Service) Add(ctx context.Context, s tenant.Scope, ref string, in NewNote, r memory.Request) (NoteWritten, error) {
	return memory.Again(func() (NoteWritten, error) {
		c, err := n.resolveWritable(ctx, s, ref)
		if err != nil {
			return NoteWritten{}, err
		}
		return n.writeNoteOnce(ctx, s, &c, r.Idempotency, func() (NoteWritten, *memory.Idempotency, error) {
			return n.add(ctx, s, &c, in, r)
		})
	}, r.Idempotency)
}

func (n *Service) add(ctx context.Context, s tenant.Scope, c *memory.Collection, in NewNote, r memory.Request) (NoteWritten, *memory.Idempotency, error) {
	note, err := in.build(n.now(c), s.Actor(), n.takesImages(c))
	if err == nil {
		_, err = c.ScreenNote(ctx, &note)
	}
	if err != nil {
		return NoteWritten{}, nil, err
	}
	if in.ID != uuid.Nil {
		return NoteWritten{}, nil, fault.InvalidField("id", "is set by the server; only an import keeps ids")
	}
	if err := n.checkQuota(ctx, s, 1, note.Size()); err != nil {
		return NoteWritten{}, nil, err
	}
	if wantsPolicy(&in) {
		if err := n.checkJobs(ctx, s, c, 1); err != nil {
			return NoteWritten{}, nil, err
		}
	}
	// The id is made here because the closure may run twice and must write one note.
	if note.ID, err = uuid.NewV7(); err != nil {
		return NoteWritten{}, nil, fault.Wrap(err, fault.Internal, "an id could not be generated")
	}
	if e := n.embed(ctx, s, c, []string{memory.EmbedText(&note)})[0]; e.Vector != nil {
		note.Embed(e, c.Embedder)
	}
	job := noteJob(s, c, &note, wantsPolicy(&in))

	var out NoteWritten
	o := memory.WriteOptions{
		Cause: memory.CauseAdd, Trigger: note.ID, Idempotency: r.Idempotency,
		Audit: make([]memory.AuditEntry, 1), // set by the closure
	}
	w, err := n.store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		out = NoteWritten{Changed: true}
		put := note
		if put.OccurredAt.IsZero() {
			put.OccurredAt = tx.Now()
		}
		o.Audit[0] = audit("note.create", note.ID, c)
		same, err := in.duplicate(ctx, tx, put)
		if err != nil {
			return err
		}
		if same.ID != uuid.Nil {
			out = NoteWritten{Note: same, Found: true}
			o.Audit[0] = audit("note.find", same.ID, c)
			at := max(tx.View().At, same.From)
			tx.Answer(memory.AnswerIDs{Collection: c.ID, Notes: []uuid.UUID{same.ID}, Revision: at, Found: true}.Raw())
			return r.With.Write(ctx, tx, same)
		}

		if out.Note, err = tx.Put(ctx, put); err != nil {
			return err
		}
		ids := memory.AnswerIDs{Collection: c.ID, Notes: []uuid.UUID{note.ID}, Revision: tx.Revision()}
		if job != nil {
			j, err := tx.Enqueue(ctx, *job)
			if err != nil {
				return err
			}
			out.Job, ids.Job = &j, &j.ID
		}
		tx.Answer(ids.Raw())
		return r.With.Write(ctx, tx, out.Note)
	})
	if err != nil {
		return NoteWritten{}, nil, err
	}
	out.Revision = w.Revision
	return out, w.Replay, nil
}

// wantsPolicy reports whether the caller asked for the policy to run.
func wantsPolicy(in *NewNote) bool { return in.Infer == nil || *in.Infer }

// duplicate returns the note that is there already and is returned instead, kept as long as either would be; a zero one for
// none.
func (in *NewNote) duplicate(ctx context.Context, tx memory.Tx, note memory.Note) (memory.Note, error) {
	if !in.looksForDuplicate() {
		return memory.Note{}, nil
	}
	same, err := tx.Duplicates(ctx, []memory.Note{note})
	if err != nil {
		return memory.Note{}, err
	}
	return keepLonger(ctx, tx, same[0], note.ExpiresAt)
}

// looksForDuplicate reports whether a note that is there already is returned instead.
func (in *NewNote) looksForDuplicate() bool {
	return in.Key == "" && in.OnDuplicate != memory.DuplicateKeep
}

// noteJob returns the job that a new or changed note needs: its policy's, one that only embeds, or
// nil.
func noteJob(s tenant.Scope, c *memory.Collection, note *memory.Note, infer bool) *memory.Job {
	j := &memory.Job{Tenant: s.Tenant(), Collection: c.ID, Note: note.ID, Kind: memory.JobNote, Stage: memory.StagePrepare, State: memory.JobQueued}
	switch {
	case infer && memory.Decides(c.Policy):
	case note.Vector == nil:
		j.Payload = memory.EmbedOnly()
	default:
		return nil
	}
	return j
}

func audit(action string, target uuid.UUID, c *memory.Collection) memory.AuditEntry {
	return memory.AuditEntry{Action: action, Target: target.String(), Detail: map[string]any{"collection": c.ID.String()}}
}

// resolveWritable resolves a collection whose notes the scope may write.
func (n *Service) resolveWritable(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error) {
	if err := tenant.Check(s, tenant.NotesWrite); err != nil {
		return memory.Collection{}, err
	}
	c, err := n.store.ResolveCollection(ctx, s, ref)
	if err != nil {
		return memory.Collection{}, err
	}
	telemetry.NameMemoryStore(ctx, c.ID)
	err = checkBase(s, &c)
	return c, err
}

// checkBase requires base:write for changes of a shared base.
func checkBase(s tenant.Scope, c *memory.Collection) error {
	if c.Shared() {
		return tenant.Check(s, tenant.BaseWrite)
	}
	return nil
}

// CheckRoom returns QuotaExceeded when a tenant has no room for more messages of a collection.
func (n *Service) CheckRoom(ctx context.Context, s tenant.Scope, c *memory.Collection, messages, bytes int64) error {
	if err := n.checkQuota(ctx, s, messages, bytes); err != nil {
		return err
	}
	return n.checkJobs(ctx, s, c, messages)
}

func (n *Service) checkQuota(ctx context.Context, s tenant.Scope, notes, bytes int64) error {
	if n.quota == nil {
		return nil
	}
	return n.quota.CheckNotes(ctx, s, notes, bytes)
}

// checkJobs checks whether more notes of a collection may wait for its policy.
func (n *Service) checkJobs(ctx context.Context, s tenant.Scope, c *memory.Collection, notes int64) error {
	if n.quota == nil || notes == 0 || !memory.Decides(c.Policy) {
		return nil
	}
	return n.quota.CheckJobs(ctx, s, notes)
}

// fastEmbedder returns the collection's embedder if it may run before a write is answered.
func (n *Service) fastEmbedder(c *memory.Collection) (memory.Embedder, bool) {
	e, ok := n.embedders.ByName(c.Embedder)
	if !ok || !e.Fast() {
		return nil, false
	}
	if e.Dim() != c.Dim {
		n.log.Error("the embedder is not used: its dimension is not the collection's",
			slog.String("collection", c.ID.String()), slog.String("embedder", c.Embedder),
			slog.Int("dim", e.Dim()), slog.Int("collection_dim", c.Dim))
		return nil, false
	}
	return e, true
}

// embed embeds texts with a fast embedder. A job makes the vectors that are missing from the
// result: the embedder is slow, not configured or failed, or the context ended. None of these stops
// a write.
func (n *Service) embed(ctx context.Context, s tenant.Scope, c *memory.Collection, texts []string) []memory.Embedding {
	out := make([]memory.Embedding, len(texts))
	e, ok := n.fastEmbedder(c)
	if !ok {
		return out
	}
	for i := 0; i < len(texts) && ctx.Err() == nil; i += memory.EmbedBatch {
		end := min(i+memory.EmbedBatch, len(texts))
		made, err := memory.EmbedAll(ctx, e, s, texts[i:end])
		n.embedding.Report(ctx, err, slog.Any("collection", c.ID))
		if err == nil {
			copy(out[i:], made)
			continue
		}
		if ctx.Err() != nil {
			break
		}
		if end-i > 1 {
			// A text that cannot be embedded must not cost the others their vectors.
			for k := i; k < end; k++ {
				if made, err := memory.EmbedAll(ctx, e, s, texts[k:k+1]); err == nil {
					out[k] = made[0]
				}
			}
		}
	}
	return out
}

// writeNoteOnce writes one note unless an answer is stored under the key. A replayed answer shows the note
// as it was at the revision of the write.
func (n *Service) writeNoteOnce(ctx context.Context, s tenant.Scope, c *memory.Collection, key *memory.Idempotency,
	write func() (NoteWritten, *memory.Idempotency, error),
) (NoteWritten, error) {
	k := memory.OnceKey{Key: key, Collection: c.ID}
	return memory.Once(ctx, n.store, s, k, write, func(ids memory.AnswerIDs, job *memory.Job) (NoteWritten, error) {
		v, notes, err := memory.WrittenNotes(ctx, n.store, s, ids)
		if err != nil {
			return NoteWritten{}, err
		}
		if len(notes) == 0 {
			return NoteWritten{}, fault.Missing("note")
		}
		out := NoteWritten{Note: notes[0], Revision: ids.Revision, Job: job, Changed: !ids.Found, Replayed: true, Found: ids.Found}
		out.Links, err = n.store.Links(ctx, s, v, memory.LinkQuery{Notes: ids.Notes, Direction: memory.Outgoing})
		return out, err
	})
}

// takesImages reports whether the collection's embedder takes images.
func (n *Service) takesImages(c *memory.Collection) bool {
	e, ok := n.embedders.ByName(c.Embedder)
	if ok {
		_, ok = memory.TakesImages(e)
	}
	return ok
}

// describe completes a note by its item: a description in words that a search finds becomes its context, unless the
// caller set one. An image without content has its description as content; without one it is found by the image alone,
// which the embedder must take (images), and its content is what it is called.
func (in *NewNote) describe(r *memory.Validation, n *memory.Note, images bool) {
	field := memory.AttrItem
	it, ok := memory.ItemOf(n)
	switch {
	case in.Item != nil:
		if n.Attributes[field] != nil {
			r.Addf("attributes."+field, "must not be set beside %s", field)
		}
		if n.Kind != memory.KindNote {
			r.Addf(field, "only a note of kind %s has one", memory.KindNote)
		}
		it = *in.Item
		n.Attributes = maps.Clone(n.Attributes)
		if n.Attributes == nil {
			n.Attributes = map[string]any{}
		}
		n.Attributes[field] = it.Attribute()
	case ok:
		field = "attributes." + field
	default:
		return
	}
	r.Item(field, &it)
	if n.Content == "" && it.Type == memory.ItemImage {
		n.Content = it.Description
		if n.Content == "" {
			n.Content = it.Line()
			if !images {
				r.Addf(field+".description", "required of an image without content: the collection's embedder takes texts only")
			}
		}
	}
	if it.Description == n.Content {
		it.Description = "" // it is said once
	}
	bare := memory.Item{Type: it.Type}
	if line := it.Line(); in.Context == nil && line != n.Content && line != bare.Line() {
		n.Context = line
	}
}

// now returns the time in the zone of the collection, which decides the day of what says no offset ([memory.Localize]).
func (n *Service) now(c *memory.Collection) time.Time { return n.clock().In(c.Zone()) }
