package memory

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// check refuses what the fields may not hold, and gives the patch as it is to
// be applied.
func (p NotePatch) check(now time.Time) (NotePatch, error) {
	var r refusals
	if p.Content.Set {
		if p.Content.Null {
			r.addf("content", "must not be null")
		} else {
			r.content(p.Content.Value)
		}
	}
	if p.Context.Set {
		r.text("context", p.Context.Value, MaxContextBytes)
	}
	if p.Keywords.Set {
		p.Keywords.Value = r.terms("keywords", p.Keywords.Value, MaxKeywords)
	}
	if p.Tags.Set {
		p.Tags.Value = r.terms("tags", p.Tags.Value, MaxTags)
	}
	if p.Category.Set && !p.Category.Null {
		r.category(p.Category.Value)
	}
	if p.Attributes.Set && !p.Attributes.Null {
		r.object("attributes", p.Attributes.Value)
	}
	if p.Importance.Set && !p.Importance.Null {
		r.fraction("importance", p.Importance.Value)
	}
	if p.OccurredAt.Set && !p.OccurredAt.Null {
		p.OccurredAt.Value = r.eventTime("occurred_at", p.OccurredAt.Value, now)
	}
	return p, r.err()
}

// apply merges the patch into a note. analyze tells that the content changed
// and the collection's policy will describe it anew: what the caller did not
// supply is dropped then, since it described something else.
func (p NotePatch) apply(old Note, policy string) (n Note, analyze bool, err error) {
	n = old
	n.Keywords, n.Tags, n.Supplied = slices.Clone(old.Keywords), slices.Clone(old.Tags), slices.Clone(old.Supplied)
	if p.Content.Set && p.Content.Value != old.Content {
		n.Content = p.Content.Value
		analyze = policy != PolicyNone
	}
	if analyze {
		n.State, n.Error, n.Analyst = StateRaw, "", ""
		if !slices.Contains(n.Supplied, FieldKeywords) {
			n.Keywords = nil
		}
		if !slices.Contains(n.Supplied, FieldTags) {
			n.Tags = nil
		}
		if !slices.Contains(n.Supplied, FieldContext) {
			n.Context = ""
		}
	}
	if p.Context.Set {
		n.Context = p.Context.Value
		n.supply(FieldContext, n.Context != "" && n.Context != DefaultContext)
	}
	if p.Keywords.Set {
		n.Keywords = p.Keywords.Value
		n.supply(FieldKeywords, len(n.Keywords) > 0)
	}
	if p.Tags.Set {
		n.Tags = p.Tags.Value
		n.supply(FieldTags, len(n.Tags) > 0)
	}
	if p.Category.Set {
		n.Category = p.Category.Value
		if p.Category.Null {
			n.Category = DefaultCategory
		}
	}
	if p.Attributes.Set {
		n.Attributes = map[string]any{}
		if !p.Attributes.Null {
			n.Attributes = mergePatch(old.Attributes, p.Attributes.Value)
		}
		var r refusals
		r.object("attributes", n.Attributes)
		if err := r.err(); err != nil {
			return n, false, err
		}
	}
	if p.Importance.Set {
		n.Importance = p.Importance.Value
		if p.Importance.Null {
			n.Importance = DefaultImportance
		}
	}
	if p.OccurredAt.Set {
		n.OccurredAt = p.OccurredAt.Value
		if p.OccurredAt.Null {
			n.OccurredAt = old.CreatedAt
		}
	}
	return n, analyze, nil
}

// supply records whether a described field is the caller's.
func (n *Note) supply(field string, given bool) {
	n.Supplied = slices.DeleteFunc(n.Supplied, func(f string) bool { return f == field })
	if given {
		n.Supplied = append(n.Supplied, field)
		slices.Sort(n.Supplied)
	}
}

// SameContent tells whether two versions say the same: everything but
// identity, times of writing, state and vector.
func SameContent(a, b *Note) bool {
	return a.Kind == b.Kind && a.Key == b.Key && a.Content == b.Content && a.Context == b.Context &&
		slices.Equal(a.Keywords, b.Keywords) && slices.Equal(a.Tags, b.Tags) && a.Category == b.Category &&
		sameJSON(a.Attributes, b.Attributes) && a.Importance == b.Importance && a.OccurredAt.Equal(b.OccurredAt)
}

// saysOther tells whether what was learned from a note may be another thing now.
func saysOther(old, next *Note) bool {
	return old == nil || old.Content != next.Content || !old.OccurredAt.Equal(next.OccurredAt) || Learnable(old) != Learnable(next)
}

// wantVector asks, from inside a closure, for the vector of a text; the
// closure runs again with it.
type wantVector struct{ text string }

func (w *wantVector) Error() string { return "a vector is wanted before the write" }

// Patch merges the named fields into a note. Without Match it takes the note
// as it is then. A change of content runs analysis again; another change of
// text only embeds anew.
func (n *Notes) Patch(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, p NotePatch, r Request) (NoteWritten, error) {
	c, err := n.writable(ctx, s, ref)
	if err != nil {
		return NoteWritten{}, err
	}
	if p, err = p.check(n.clock()); err != nil {
		return NoteWritten{}, err
	}
	edit := noteEdit{
		cause: CausePatch, action: "note.update", id: id, request: r,
		rewords: p.Content.Set || p.OccurredAt.Set || p.Attributes.Set,
		change: func(_ context.Context, _ Tx, old *Note) (Note, bool, error) {
			if old == nil {
				return Note{}, false, fault.Missing("note")
			}
			return p.apply(*old, c.Policy)
		},
	}
	return n.edit(ctx, s, &c, edit)
}

// noteEdit changes one note: change gets the visible version (nil: none) and
// gives the one to be, and whether the policy has to run over it.
type noteEdit struct {
	cause   Cause
	action  string
	id      uuid.UUID
	request Request
	rewords bool // it may say something else then
	change  func(ctx context.Context, tx Tx, old *Note) (Note, bool, error)
}

// edit runs a noteEdit. A fast embedder works between tries, never inside the
// transaction: the closure asks for a vector that is missing, and runs again.
func (n *Notes) edit(ctx context.Context, s tenant.Scope, c *Collection, e noteEdit) (NoteWritten, error) {
	known := map[string]Embedding{}
	_, fast := n.fast(c)
	const tries = 3 // a note that keeps moving gets its vector from a job
	for try := 1; ; try++ {
		var d derivation
		if e.rewords {
			var err error
			if d, err = n.derivationOf(ctx, s, c, e.id, try >= moveTries); err != nil {
				return NoteWritten{}, err
			}
		}
		out, err := n.tryEdit(ctx, s, c, e, &d, known, fast && try <= tries)
		var w *wantVector
		switch {
		case errors.Is(err, errHeadMoved):
			continue
		case !errors.As(err, &w):
			return out, err
		}
		known[w.text] = n.embed(ctx, s, c, []string{w.text})[0]
	}
}

func (n *Notes) tryEdit(ctx context.Context, s tenant.Scope, c *Collection, e noteEdit, d *derivation, known map[string]Embedding, ask bool) (NoteWritten, error) {
	var out NoteWritten
	var wanted *wantVector
	o := WriteOptions{
		Cause: e.cause, Trigger: e.id, Idempotency: e.request.Idempotency,
		Audit: []AuditEntry{audit(e.action, e.id, c)},
	}
	w, err := n.store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx Tx) error {
		out, wanted = NoteWritten{}, nil
		old, err := visible(ctx, tx, e.id)
		if err != nil {
			return err
		}
		if old != nil {
			if err := e.request.Match.check("note", old.Version().ETag()); err != nil {
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
		if out.Links, err = tx.Links(ctx, LinkQuery{Notes: []uuid.UUID{e.id}, Direction: Outgoing}); err != nil {
			return err
		}
		ids := answerIDs{Collection: c.ID, Note: e.id, Revision: tx.View().At}
		if out.Changed {
			ids.Revision = tx.Revision()
		}
		tx.Answer(http.StatusOK, ids.raw())
		return nil
	})
	switch {
	case wanted != nil:
		return NoteWritten{}, wanted
	case err != nil:
		return NoteWritten{}, err
	case w.Replay != nil:
		return n.rebuild(ctx, s, *c, *w.Replay)
	}
	out.Revision = w.Revision
	return out, nil
}

// visible reads one note with its vector; nil when there is none.
func visible(ctx context.Context, tx Tx, id uuid.UUID) (*Note, error) {
	notes, err := tx.Notes(ctx, []uuid.UUID{id}, ReadOptions{Vector: true})
	if err != nil || len(notes) == 0 {
		return nil, err
	}
	return &notes[0], nil
}

// setVector gives the new version its vector: the old one while the embedded
// text is the same, a known one, or none. It asks for one when it may.
func setVector(c *Collection, old, next *Note, known map[string]Embedding, ask bool) *wantVector {
	text := EmbedText(next)
	next.Embed(Embedding{}, "")
	if old != nil && len(old.Vector) > 0 && EmbedText(old) == text {
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
func (n *Notes) putEdited(ctx context.Context, s tenant.Scope, tx Tx, c *Collection, old *Note, next Note, analyze bool, out *NoteWritten) error {
	stored, err := tx.Put(ctx, next)
	if err != nil {
		return err
	}
	out.Note, out.Changed = stored, true
	job := noteJob(s, c, &next, analyze)
	if job == nil || !analyze && old != nil && len(old.Vector) == 0 && EmbedText(old) == EmbedText(&next) {
		return nil
	}
	j, err := tx.Enqueue(ctx, *job)
	if err != nil {
		return err
	}
	out.Job = &j
	return nil
}
