package notes

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text/unsaid"
)

// NotePatch is a merge patch of a note (RFC 7396). Unspecified fields keep their value, null resets
// a field to its default. Attributes are merged by the same rule: a null member is removed.
type NotePatch struct {
	Content    *string // nil: unchanged
	Context    nullable.Nullable[string]
	Keywords   nullable.Nullable[[]string]
	Tags       nullable.Nullable[[]string]
	Category   nullable.Nullable[string]
	Attributes nullable.Nullable[map[string]any]
	Importance nullable.Nullable[float64]
	OccurredAt nullable.Nullable[time.Time] // null: the time of creation
	ExpiresAt  nullable.Nullable[time.Time] // null: never
	TTLSeconds nullable.Nullable[int64]     // the same, from now on; not beside ExpiresAt
}

// check validates the fields and returns the patch to apply.
func (p NotePatch) check(now time.Time) (NotePatch, error) {
	var r memory.Validation
	if p.Content != nil {
		r.Content(unsaid.MarkNamed(*p.Content, false)) // as the note will be, or longer
	}
	if s, ok := specified(p.Context); ok {
		r.Text("context", s, memory.MaxContextBytes)
	}
	if list, ok := specified(p.Keywords); ok {
		p.Keywords = nullable.NewNullableWithValue(r.Terms("keywords", list, memory.MaxKeywords))
	}
	if list, ok := specified(p.Tags); ok {
		p.Tags = nullable.NewNullableWithValue(r.Terms("tags", list, memory.MaxTags))
	}
	if s, ok := specified(p.Category); ok {
		r.Category(s)
	}
	if m, ok := specified(p.Attributes); ok {
		r.Object("attributes", m)
	}
	if x, ok := specified(p.Importance); ok {
		r.Fraction("importance", x)
	}
	if t, ok := specified(p.OccurredAt); ok {
		p.OccurredAt = nullable.NewNullableWithValue(r.EventTime("occurred_at", t, now))
	}
	p.ExpiresAt = p.expiry(&r, now)
	return p, r.Err()
}

// expiry returns when a note expires after the patch, which may say how long it is kept from now on.
func (p NotePatch) expiry(r *memory.Validation, now time.Time) nullable.Nullable[time.Time] {
	if p.ExpiresAt.IsSpecified() && p.TTLSeconds.IsSpecified() {
		r.Addf("ttl_seconds", "must not be set beside expires_at")
	}
	if at, ok := specified(p.ExpiresAt); ok {
		return nullable.NewNullableWithValue(r.Expiry(&at, nil, now))
	}
	if ttl, ok := specified(p.TTLSeconds); ok {
		return nullable.NewNullableWithValue(r.Expiry(nil, &ttl, now))
	}
	if p.TTLSeconds.IsNull() {
		return nullable.NewNullNullable[time.Time]()
	}
	return p.ExpiresAt
}

// specified returns the value of a patch field; ok is false if the field is null or unspecified.
func specified[T any](f nullable.Nullable[T]) (v T, ok bool) {
	v, err := f.Get()
	return v, err == nil
}

// patched returns the new value of a field: old if the patch does not specify it, def if it is
// null.
func patched[T any](f nullable.Nullable[T], old, def T) T {
	switch v, ok := specified(f); {
	case ok:
		return v
	case f.IsNull():
		return def
	}
	return old
}

// apply merges the patch into a note. analyze reports that the content changed and that the policy
// will describe the note again. In that case descriptions that the caller did not supply are
// removed, because they describe the old content.
func (p NotePatch) apply(old memory.Note, policy string) (n memory.Note, analyze bool, err error) {
	n = old
	n.Keywords, n.Tags, n.Supplied = slices.Clone(old.Keywords), slices.Clone(old.Tags), slices.Clone(old.Supplied)
	if p.Content != nil && *p.Content != old.Content {
		n.Content = *p.Content
		n.Attributes = maps.Clone(old.Attributes) // a new text has no past
		delete(n.Attributes, memory.AttrDigest)
		analyze = memory.Decides(policy)
	}
	if analyze {
		n.State, n.Error, n.Analyst = memory.StateRaw, "", ""
		if !slices.Contains(n.Supplied, memory.FieldKeywords) {
			n.Keywords = nil
		}
		if !slices.Contains(n.Supplied, memory.FieldTags) {
			n.Tags = nil
		}
		if !slices.Contains(n.Supplied, memory.FieldContext) {
			n.Context = ""
		}
	}
	if p.Context.IsSpecified() {
		n.Context = patched(p.Context, "", "")
		markSupplied(&n, memory.FieldContext, n.Context != "" && n.Context != memory.DefaultContext)
	}
	if p.Keywords.IsSpecified() {
		n.Keywords = patched(p.Keywords, nil, nil)
		markSupplied(&n, memory.FieldKeywords, len(n.Keywords) > 0)
	}
	if p.Tags.IsSpecified() {
		n.Tags = patched(p.Tags, nil, nil)
		markSupplied(&n, memory.FieldTags, len(n.Tags) > 0)
	}
	n.Category = patched(p.Category, old.Category, memory.DefaultCategory)
	n.Importance = patched(p.Importance, old.Importance, memory.DefaultImportance)
	n.OccurredAt = patched(p.OccurredAt, old.OccurredAt, old.CreatedAt)
	if p.Attributes.IsSpecified() {
		was := n.Attributes
		n.Attributes = map[string]any{}
		if m, ok := specified(p.Attributes); ok {
			n.Attributes = mergePatch(was, m)
		}
		var r memory.Validation
		r.Object("attributes", n.Attributes)
		if it, ok := memory.ItemOf(&n); ok {
			r.Item("attributes."+memory.AttrItem, &it)
		}
		if err := r.Err(); err != nil {
			return n, false, err
		}
	}
	if p.ExpiresAt.IsSpecified() {
		n.ExpireAt(patched(p.ExpiresAt, time.Time{}, time.Time{}))
	}
	return n, analyze, nil
}

// markSupplied records whether the caller supplied a described field.
func markSupplied(n *memory.Note, field string, given bool) {
	n.Supplied = slices.DeleteFunc(n.Supplied, func(f string) bool { return f == field })
	if given {
		n.Supplied = append(n.Supplied, field)
		slices.Sort(n.Supplied)
	}
}

// meaningChanged reports whether what was learned from a note may differ after a change.
func meaningChanged(old, next *memory.Note) bool {
	return old == nil || old.Content != next.Content || !memory.SameEvent(old, next) || memory.Learnable(old) != memory.Learnable(next)
}

// wantVector is returned by a closure that needs the vector of a text. The closure is run again
// with it.
type wantVector struct{ text string }

func (w *wantVector) Error() string { return "the write needs a vector first" }

// Patch changes the specified fields of a note. Without a guard it applies to the version that is
// current at the write. A change of content runs analysis again; a change of other text only makes
// a new vector.
func (n *Service) Patch(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, p NotePatch, r memory.Request) (NoteWritten, error) {
	c, err := n.resolveWritable(ctx, s, ref)
	if err != nil {
		return NoteWritten{}, err
	}
	if p, err = p.check(n.now(&c)); err != nil {
		return NoteWritten{}, err
	}
	edit := noteEdit{
		cause: memory.CausePatch, action: "note.update", id: id, request: memory.Request{Guard: r.Guard, With: r.With},
		affectsMeaning: p.Content != nil || p.OccurredAt.IsSpecified() || p.Attributes.IsSpecified(),
		change: func(_ context.Context, _ memory.Tx, old *memory.Note) (memory.Note, bool, error) {
			if old == nil {
				return memory.Note{}, false, fault.Missing("note")
			}
			if err := block.CheckNote(old.Kind); err != nil {
				return memory.Note{}, false, err
			}
			return p.apply(*old, c.Policy)
		},
	}
	out, _, err := n.edit(ctx, s, &c, edit)
	return out, err
}

// noteEdit changes one note. change gets the visible version (nil: none) and returns the new one,
// and whether the policy must run on it.
type noteEdit struct {
	cause          memory.Cause
	action         string
	id             uuid.UUID
	request        memory.Request
	affectsMeaning bool // the change may affect what the note says
	change         func(ctx context.Context, tx memory.Tx, old *memory.Note) (memory.Note, bool, error)
}

// edit runs a noteEdit. A fast embedder runs between tries, never inside the transaction: the
// closure asks for a missing vector and runs again.
func (n *Service) edit(ctx context.Context, s tenant.Scope, c *memory.Collection, e noteEdit) (NoteWritten, *memory.Idempotency, error) {
	known := map[string]memory.Embedding{}
	_, fast := n.fastEmbedder(c)
	const tries = 3 // a note that keeps changing gets its vector from a job
	for try := 1; ; try++ {
		var d derivation
		if e.affectsMeaning {
			var err error
			if d, err = n.derivationOf(ctx, s, c, try >= moveTries, e.id); err != nil {
				return NoteWritten{}, nil, err
			}
		}
		out, seen, err := n.tryEdit(ctx, s, c, e, &d, known, fast && try <= tries)
		var w *wantVector
		switch {
		case errors.Is(err, errHeadMoved):
			continue
		case !errors.As(err, &w):
			return out, seen, err
		}
		known[w.text] = n.embed(ctx, s, c, []string{w.text})[0]
	}
}

func (n *Service) tryEdit(ctx context.Context, s tenant.Scope, c *memory.Collection, e noteEdit, d *derivation, known map[string]memory.Embedding, ask bool) (NoteWritten, *memory.Idempotency, error) {
	var out NoteWritten
	var wanted *wantVector
	request := ctx // a transaction may run in another one
	o := memory.WriteOptions{
		Cause: e.cause, Trigger: e.id, Idempotency: e.request.Idempotency,
		Audit: []memory.AuditEntry{audit(e.action, e.id, c)},
	}
	w, err := n.store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		out, wanted = NoteWritten{}, nil
		old, err := readVisible(ctx, tx, e.id)
		if err != nil {
			return err
		}
		if err := checkGuard(e.request.Guard, old); err != nil {
			return err
		}
		next, analyze, err := e.change(ctx, tx, old)
		if err != nil {
			return err
		}
		if _, err := c.ScreenNote(request, &next); err != nil {
			return err
		}
		if old != nil && !analyze && memory.SameSaid(old, &next) && old.State == next.State {
			out.Note = *old
			out.Note.Vector, out.Note.Tokens = nil, nil
		} else {
			leaveJob(old, &next)
			if err := setVector(c, old, &next, known, ask); err != nil {
				wanted = err
				return err
			}
			if err := n.putEdited(ctx, s, tx, c, old, next, analyze, &out); err != nil {
				return err
			}
			if err := d.follow(ctx, tx, c, old, &next); err != nil {
				return err
			}
		}
		if out.Links, err = tx.Links(ctx, memory.LinkQuery{Notes: []uuid.UUID{e.id}, Direction: memory.Outgoing}); err != nil {
			return err
		}
		answerEdit(tx, c, e.id, out.Changed)
		return e.request.With.Write(ctx, tx, out.Note)
	})
	switch {
	case wanted != nil:
		return NoteWritten{}, nil, wanted
	case err != nil:
		return NoteWritten{}, nil, err
	}
	out.Revision = w.Revision
	return out, w.Replay, nil
}

// leaveJob takes the job out of the provenance of a note whose text a caller has changed: no job found what it says now.
func leaveJob(old, next *memory.Note) {
	if old != nil && old.Content != next.Content {
		next.Provenance.Job = nil
	}
}

// answerEdit records for a repeated request what an edit answers.
func answerEdit(tx memory.Tx, c *memory.Collection, id uuid.UUID, changed bool) {
	ids := memory.AnswerIDs{Collection: c.ID, Notes: []uuid.UUID{id}, Revision: tx.View().At}
	if changed {
		ids.Revision = tx.Revision()
	}
	tx.Answer(ids.Raw())
}

// checkGuard checks the condition of a request on a note; nil: it has none to meet. The fault has the version that won.
func checkGuard(g memory.Guard, n *memory.Note) error {
	if n == nil {
		return nil
	}
	err := g.Check(string(n.Kind), n.Version().ETag())
	if f, ok := errors.AsType[*fault.Error](err); ok {
		f.Numbers = map[string]int{"version": int(n.From)}
	}
	return err
}

// readVisible reads one note with its vector; nil if it is not visible.
func readVisible(ctx context.Context, tx memory.Tx, id uuid.UUID) (*memory.Note, error) {
	notes, err := tx.Notes(ctx, []uuid.UUID{id}, memory.ReadOptions{Vector: true})
	if err != nil || len(notes) == 0 {
		return nil, err
	}
	return &notes[0], nil
}

// setVector sets the vector of the new version: the old one if the embedded text is the same, or a
// known one. If neither exists and ask is set, it returns a request for one.
func setVector(c *memory.Collection, old, next *memory.Note, known map[string]memory.Embedding, ask bool) *wantVector {
	text := memory.EmbedText(next)
	next.Embed(memory.Embedding{}, "")
	if old != nil && len(old.Vector) > 0 && memory.SameToEmbed(old, next) {
		next.EmbedAs(old)
		return nil
	}
	e, ok := known[text]
	if !ok && ask {
		return &wantVector{text: text}
	}
	if e.Vector != nil {
		next.Embed(e, c.Embedder)
	}
	return nil
}

// putEdited writes the new version and enqueues the job that it needs. A note that still waits for
// a vector of the same text has its job already.
func (n *Service) putEdited(ctx context.Context, s tenant.Scope, tx memory.Tx, c *memory.Collection, old *memory.Note, next memory.Note, analyze bool, out *NoteWritten) error {
	stored, err := tx.Put(ctx, next)
	if err != nil {
		return err
	}
	out.Note, out.Changed = stored, true
	job := noteJob(s, c, &next, analyze)
	if job == nil || !analyze && old != nil && len(old.Vector) == 0 && memory.SameToEmbed(old, &next) {
		return nil
	}
	j, err := tx.Enqueue(ctx, *job)
	if err != nil {
		return err
	}
	out.Job = &j
	return nil
}

// mergePatch applies a merge patch to an object (RFC 7396). Its arguments are not changed.
func mergePatch(target, patch map[string]any) map[string]any {
	out := make(map[string]any, len(target)+len(patch))
	maps.Copy(out, target)
	for k, v := range patch {
		switch p := v.(type) {
		case nil:
			delete(out, k)
		case map[string]any:
			old, _ := out[k].(map[string]any)
			out[k] = mergePatch(old, p)
		default:
			out[k] = v
		}
	}
	return out
}
