package notes

import (
	"context"
	"errors"
	"log/slog"
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
			note, err := n.buildNote(ctx, s, &c, &in)
			if err != nil {
				return NoteWritten{}, nil, err
			}
			out, seen, err := n.add(ctx, s, &c, []NewNote{in}, []memory.Note{note}, r)
			if err != nil || seen != nil {
				return NoteWritten{}, seen, err
			}
			return out[0], nil, nil
		})
	}, r.Idempotency)
}

// AddAll stores notes as Add does, all in one changeset or none. The fields of an error are under "messages".
func (n *Service) AddAll(ctx context.Context, s tenant.Scope, ref string, in []NewNote) ([]NoteWritten, error) {
	return memory.Again(func() ([]NoteWritten, error) {
		c, err := n.resolveWritable(ctx, s, ref)
		if err != nil {
			return nil, err
		}
		var r memory.Validation
		if len(in) > memory.MaxMessages {
			r.Addf("messages", "at most %d; there are %d", memory.MaxMessages, len(in))
			return nil, r.Err()
		}
		notes := make([]memory.Note, len(in))
		for i := range in {
			notes[i], err = n.buildNote(ctx, s, &c, &in[i])
			if f, ok := errors.AsType[*fault.Error](err); err != nil && (!ok || len(f.Fields) == 0) {
				return nil, err
			}
			r.AddUnder(err, "messages", i)
		}
		if err := r.Err(); err != nil {
			return nil, err
		}
		out, _, err := n.add(ctx, s, &c, in, notes, memory.Request{})
		return out, err
	})
}

// buildNote returns the note that a caller describes, with an id: the closure that writes it may run twice, and must write one note.
func (n *Service) buildNote(ctx context.Context, s tenant.Scope, c *memory.Collection, in *NewNote) (memory.Note, error) {
	note, err := in.build(n.now(c), s.Actor(), n.takesImages(c))
	if err == nil {
		_, err = c.ScreenNote(ctx, &note)
	}
	if err != nil {
		return note, err
	}
	if in.ID != uuid.Nil {
		return note, fault.InvalidField("id", "is set by the server; only an import keeps ids")
	}
	if note.ID, err = uuid.NewV7(); err != nil {
		return note, fault.Wrap(err, fault.Internal, "an id could not be generated")
	}
	return note, nil
}

func (n *Service) add(ctx context.Context, s tenant.Scope, c *memory.Collection, in []NewNote, notes []memory.Note, r memory.Request) ([]NoteWritten, *memory.Idempotency, error) {
	var size, jobs int64
	for i := range notes {
		size += notes[i].Size()
		if wantsPolicy(&in[i]) {
			jobs++
		}
	}
	if err := n.checkQuota(ctx, s, int64(len(notes)), size); err != nil {
		return nil, nil, err
	}
	if err := n.checkJobs(ctx, s, c, jobs); err != nil {
		return nil, nil, err
	}
	n.embedNotes(ctx, s, c, pointers(notes)...)

	out := make([]NoteWritten, len(notes))
	o := memory.WriteOptions{
		Cause: memory.CauseAdd, Idempotency: r.Idempotency,
		Audit: make([]memory.AuditEntry, len(notes)), // set by the closure
	}
	if len(notes) == 1 {
		o.Trigger = notes[0].ID
	}
	w, err := n.store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		ids := memory.AnswerIDs{Collection: c.ID}
		written := make([]memory.Note, len(notes))
		for i := range notes {
			var err error
			if out[i], err = in[i].put(ctx, s, tx, c, notes[i]); err != nil {
				return err
			}
			action := "note.create"
			if ids.Found = out[i].Found; ids.Found {
				action = "note.find"
			}
			o.Audit[i], written[i] = audit(action, out[i].Note.ID, c), out[i].Note
			ids.Notes, ids.Revision = append(ids.Notes, out[i].Note.ID), max(ids.Revision, out[i].Revision)
			if out[i].Job != nil {
				ids.Job = &out[i].Job.ID
			}
		}
		tx.Answer(ids.Raw())
		return r.With.Write(ctx, tx, written...)
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range out {
		out[i].Revision = w.Revision
	}
	return out, w.Replay, nil
}

// put writes a note, unless the collection has it.
func (in *NewNote) put(ctx context.Context, s tenant.Scope, tx memory.Tx, c *memory.Collection, note memory.Note) (NoteWritten, error) {
	if note.OccurredAt.IsZero() {
		note.OccurredAt = tx.Now()
	}
	same, err := in.duplicate(ctx, tx, note)
	if err != nil {
		return NoteWritten{}, err
	}
	if same.ID != uuid.Nil {
		return NoteWritten{Note: same, Found: true, Revision: max(tx.View().At, same.From)}, nil
	}
	out := NoteWritten{Changed: true}
	tx.Fresh(note.ID)
	if out.Note, err = tx.Put(ctx, note); err != nil {
		return out, err
	}
	out.Revision = tx.Revision()
	if job := noteJob(s, c, &note, wantsPolicy(in)); job != nil {
		j, err := tx.Enqueue(ctx, *job)
		if err != nil {
			return out, err
		}
		out.Job = &j
	}
	return out, nil
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
	return resolveFor(ctx, n.store, s, tenant.NotesWrite, ref)
}

// resolveFor resolves a collection that the scope may change with a permission.
func resolveFor(ctx context.Context, store interface {
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error)
}, s tenant.Scope, p tenant.Permission, ref string,
) (memory.Collection, error) {
	if err := tenant.Check(s, p); err != nil {
		return memory.Collection{}, err
	}
	c, err := store.ResolveCollection(ctx, s, ref)
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

// embedNotes sets the vectors of notes, as far as embed makes them.
func (n *Service) embedNotes(ctx context.Context, s tenant.Scope, c *memory.Collection, list ...*memory.Note) {
	texts := make([]string, len(list))
	for i, note := range list {
		texts[i] = memory.EmbedText(note)
	}
	made := n.embed(ctx, s, c, texts)
	for i, note := range list {
		if made[i].Vector != nil {
			note.Embed(made[i], c.Embedder)
		}
	}
}

func pointers(list []memory.Note) []*memory.Note {
	out := make([]*memory.Note, 0, len(list))
	for i := range list {
		out = append(out, &list[i])
	}
	return out
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
		n.OwnAttributes()[field] = it.Attribute()
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
