package notes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// check validates the fields and returns the patch as it is to be applied.
func (p NotePatch) check(now time.Time) (NotePatch, error) {
	var r memory.Validation
	if p.Content != nil {
		r.Content(*p.Content)
	}
	if s, ok := given(p.Context); ok {
		r.Text("context", s, memory.MaxContextBytes)
	}
	if list, ok := given(p.Keywords); ok {
		p.Keywords = nullable.NewNullableWithValue(r.Terms("keywords", list, memory.MaxKeywords))
	}
	if list, ok := given(p.Tags); ok {
		p.Tags = nullable.NewNullableWithValue(r.Terms("tags", list, memory.MaxTags))
	}
	if s, ok := given(p.Category); ok {
		r.Category(s)
	}
	if m, ok := given(p.Attributes); ok {
		r.Object("attributes", m)
	}
	if x, ok := given(p.Importance); ok {
		r.Fraction("importance", x)
	}
	if t, ok := given(p.OccurredAt); ok {
		p.OccurredAt = nullable.NewNullableWithValue(r.EventTime("occurred_at", t, now))
	}
	return p, r.Err()
}

// given returns the value of a field of a merge patch; ok is false when the
// field is null or not specified.
func given[T any](f nullable.Nullable[T]) (v T, ok bool) {
	v, err := f.Get()
	return v, err == nil
}

// patched returns the new value of a field: the old one when the patch does not
// specify it, and the default when it is null.
func patched[T any](f nullable.Nullable[T], old, def T) T {
	switch v, ok := given(f); {
	case ok:
		return v
	case f.IsNull():
		return def
	}
	return old
}

// apply merges the patch into a note. analyze reports that the content changed
// and the collection's policy will describe it again. Descriptions that the
// caller did not supply are dropped then, since they are of the old content.
func (p NotePatch) apply(old memory.Note, policy string) (n memory.Note, analyze bool, err error) {
	n = old
	n.Keywords, n.Tags, n.Supplied = slices.Clone(old.Keywords), slices.Clone(old.Tags), slices.Clone(old.Supplied)
	if p.Content != nil && *p.Content != old.Content {
		n.Content = *p.Content
		analyze = policy != memory.PolicyNone
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
		supply(&n, memory.FieldContext, n.Context != "" && n.Context != memory.DefaultContext)
	}
	if p.Keywords.IsSpecified() {
		n.Keywords = patched(p.Keywords, nil, nil)
		supply(&n, memory.FieldKeywords, len(n.Keywords) > 0)
	}
	if p.Tags.IsSpecified() {
		n.Tags = patched(p.Tags, nil, nil)
		supply(&n, memory.FieldTags, len(n.Tags) > 0)
	}
	n.Category = patched(p.Category, old.Category, memory.DefaultCategory)
	n.Importance = patched(p.Importance, old.Importance, memory.DefaultImportance)
	n.OccurredAt = patched(p.OccurredAt, old.OccurredAt, old.CreatedAt)
	if p.Attributes.IsSpecified() {
		n.Attributes = map[string]any{}
		if m, ok := given(p.Attributes); ok {
			n.Attributes = mergePatch(old.Attributes, m)
		}
		var r memory.Validation
		r.Object("attributes", n.Attributes)
		if err := r.Err(); err != nil {
			return n, false, err
		}
	}
	return n, analyze, nil
}

// supply records whether a described field is the caller's.
func supply(n *memory.Note, field string, given bool) {
	n.Supplied = slices.DeleteFunc(n.Supplied, func(f string) bool { return f == field })
	if given {
		n.Supplied = append(n.Supplied, field)
		slices.Sort(n.Supplied)
	}
}

// SameContent tells whether two versions say the same: everything but
// identity, times of writing, state and vector.
func SameContent(a, b *memory.Note) bool {
	return a.Kind == b.Kind && a.Key == b.Key && a.Content == b.Content && a.Context == b.Context &&
		slices.Equal(a.Keywords, b.Keywords) && slices.Equal(a.Tags, b.Tags) && a.Category == b.Category &&
		sameJSON(a.Attributes, b.Attributes) && a.Importance == b.Importance && a.OccurredAt.Equal(b.OccurredAt)
}

// saysOther tells whether what was learned from a note may be another thing now.
func saysOther(old, next *memory.Note) bool {
	return old == nil || old.Content != next.Content || !old.OccurredAt.Equal(next.OccurredAt) || memory.Learnable(old) != memory.Learnable(next)
}

// wantVector asks, from inside a closure, for the vector of a text; the
// closure runs again with it.
type wantVector struct{ text string }

func (w *wantVector) Error() string { return "a vector is wanted before the write" }

// Patch merges the named fields into a note. Without a guard it takes the note
// as it is then. A change of content runs analysis again; another change of
// text only embeds anew.
func (n *Service) Patch(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, p NotePatch, r memory.Request) (NoteWritten, error) {
	c, err := n.writable(ctx, s, ref)
	if err != nil {
		return NoteWritten{}, err
	}
	if p, err = p.check(n.clock()); err != nil {
		return NoteWritten{}, err
	}
	edit := noteEdit{
		cause: memory.CausePatch, action: "note.update", id: id, request: memory.Request{Guard: r.Guard},
		rewords: p.Content != nil || p.OccurredAt.IsSpecified() || p.Attributes.IsSpecified(),
		change: func(_ context.Context, _ memory.Tx, old *memory.Note) (memory.Note, bool, error) {
			if old == nil {
				return memory.Note{}, false, fault.Missing("note")
			}
			return p.apply(*old, c.Policy)
		},
	}
	out, _, err := n.edit(ctx, s, &c, edit)
	return out, err
}

// noteEdit changes one note: change gets the visible version (nil: none) and
// gives the one to be, and whether the policy has to run over it.
type noteEdit struct {
	cause   memory.Cause
	action  string
	id      uuid.UUID
	request memory.Request
	rewords bool // it may say something else then
	change  func(ctx context.Context, tx memory.Tx, old *memory.Note) (memory.Note, bool, error)
}

// edit runs a noteEdit. A fast embedder works between tries, never inside the
// transaction: the closure asks for a vector that is missing, and runs again.
func (n *Service) edit(ctx context.Context, s tenant.Scope, c *memory.Collection, e noteEdit) (NoteWritten, *memory.Idempotency, error) {
	known := map[string]memory.Embedding{}
	_, fast := n.fast(c)
	const tries = 3 // a note that keeps moving gets its vector from a job
	for try := 1; ; try++ {
		var d derivation
		if e.rewords {
			var err error
			if d, err = n.derivationOf(ctx, s, c, e.id, try >= moveTries); err != nil {
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
	o := memory.WriteOptions{
		Cause: e.cause, Trigger: e.id, Idempotency: e.request.Idempotency,
		Audit: []memory.AuditEntry{audit(e.action, e.id, c)},
	}
	w, err := n.store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		out, wanted = NoteWritten{}, nil
		old, err := visible(ctx, tx, e.id)
		if err != nil {
			return err
		}
		if old != nil {
			if err := e.request.Guard.Check("note", old.Version().ETag()); err != nil {
				return err
			}
		}
		next, analyze, err := e.change(ctx, tx, old)
		if err != nil {
			return err
		}
		if old != nil && !analyze && SameContent(old, &next) && old.State == next.State {
			out.Note = *old
			out.Note.Vector, out.Note.Tokens = nil, nil
		} else {
			if err := setVector(c, old, &next, known, ask); err != nil {
				wanted = err
				return err
			}
			if err := n.putEdited(ctx, s, tx, c, old, next, analyze, &out); err != nil {
				return err
			}
			if saysOther(old, &next) {
				if err := d.check(tx); err != nil {
					return err
				}
				if err := d.refresh(ctx, tx, c, old, &next); err != nil {
					return err
				}
			}
		}
		if out.Links, err = tx.Links(ctx, memory.LinkQuery{Notes: []uuid.UUID{e.id}, Direction: memory.Outgoing}); err != nil {
			return err
		}
		ids := memory.AnswerIDs{Collection: c.ID, Notes: []uuid.UUID{e.id}, Revision: tx.View().At}
		if out.Changed {
			ids.Revision = tx.Revision()
		}
		tx.Answer(ids.Raw())
		return nil
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

// visible reads one note with its vector; nil when there is none.
func visible(ctx context.Context, tx memory.Tx, id uuid.UUID) (*memory.Note, error) {
	notes, err := tx.Notes(ctx, []uuid.UUID{id}, memory.ReadOptions{Vector: true})
	if err != nil || len(notes) == 0 {
		return nil, err
	}
	return &notes[0], nil
}

// setVector gives the new version its vector: the old one while the embedded
// text is the same, a known one, or none. It asks for one when it may.
func setVector(c *memory.Collection, old, next *memory.Note, known map[string]memory.Embedding, ask bool) *wantVector {
	text := memory.EmbedText(next)
	next.Embed(memory.Embedding{}, "")
	if old != nil && len(old.Vector) > 0 && memory.EmbedText(old) == text {
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

// putEdited writes the new version and the job that it needs. A note that had
// no vector and still says the same has a job on its way already.
func (n *Service) putEdited(ctx context.Context, s tenant.Scope, tx memory.Tx, c *memory.Collection, old *memory.Note, next memory.Note, analyze bool, out *NoteWritten) error {
	stored, err := tx.Put(ctx, next)
	if err != nil {
		return err
	}
	out.Note, out.Changed = stored, true
	job := noteJob(s, c, &next, analyze)
	if job == nil || !analyze && old != nil && len(old.Vector) == 0 && memory.EmbedText(old) == memory.EmbedText(&next) {
		return nil
	}
	j, err := tx.Enqueue(ctx, *job)
	if err != nil {
		return err
	}
	out.Job = &j
	return nil
}

// mergePatch applies RFC 7396 to an object; neither argument is changed.
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

// sameJSON compares two objects by their JSON.
func sameJSON(a, b map[string]any) bool {
	if len(a) == 0 && len(b) == 0 {
		return true
	}
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(x, y)
}
