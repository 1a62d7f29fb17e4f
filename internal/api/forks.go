package api

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/merge"
)

func (h *core) diffCollection(c *gin.Context, ref string) error {
	ctx, s := c.Request.Context(), scope(c)
	in := clone.DiffInput{Against: query(c).Get("against"), Limit: pageLimit(c)}
	if kind := query(c).Get("kind"); kind != "" {
		in.Kinds = []memory.Kind{memory.Kind(kind)}
	}
	var err error
	if in.At, err = h.Clone.RevisionOf(ctx, s, ref, "at", query(c).Get("at")); err != nil {
		return err
	}
	against := cmp.Or(in.Against, ref)
	if in.AgainstAt, err = h.Clone.RevisionOf(ctx, s, against, "against_at", query(c).Get("against_at")); err != nil {
		return err
	}
	cur, err := h.cursorOf(c)
	if err != nil {
		return err
	}
	if cur != nil {
		if err := continueDiff(&in, cur); err != nil {
			return err
		}
	}
	d, err := h.Clone.Diff(ctx, s, ref, in)
	if err != nil {
		return err
	}
	if cur != nil && cur.Collection != d.To.Collection.ID {
		return badCursor("belongs to another collection")
	}
	var ends []uuid.UUID
	for _, l := range d.Links {
		ends = append(ends, l.Source, l.Target)
	}
	texts, err := h.Recall.Beginnings(ctx, s, ends, d.To, d.From)
	if err != nil {
		return err
	}
	out := wireDiff(&d, texts)
	if d.Next != uuid.Nil {
		place := d.Next.String() + " " + strconv.FormatInt(int64(d.From.At), 10)
		if out.NextCursor, err = h.nextCursorAt(c, place, d.To.Collection.ID, d.To.At); err != nil {
			return err
		}
	}
	return replyAt(c, http.StatusOK, d.To.At, out)
}

// continueDiff sets the place and the revisions of the page before.
func continueDiff(in *clone.DiffInput, cur *cursor) error {
	id, against, _ := strings.Cut(cur.Position, " ")
	after, err := route.ParseID(id)
	if err != nil {
		return badCursor("is not a cursor of this listing")
	}
	at, err := strconv.ParseInt(against, 10, 64)
	if err != nil {
		return badCursor("is not a cursor of this listing")
	}
	if in.Against == "" && in.AgainstAt == nil {
		// The parent: with a revision alone, the collection itself would be meant.
		in.AgainstParent = true
	}
	in.After, in.At, in.AgainstAt = after, &cur.Revision, new(memory.Revision(at))
	return nil
}

func wireDiff(d *clone.Diff, texts map[uuid.UUID]string) wire.Diff {
	ref := func(v *memory.View) wire.ViewRef {
		return wire.ViewRef{Collection: v.Collection.ID, Revision: int64(v.At)}
	}
	out := wire.Diff{
		From: ref(&d.From), To: ref(&d.To), Base: wire.ViewRef{Collection: d.Base.Collection, Revision: int64(d.Base.Bound)},
		Items: make([]wire.NoteChange, 0, len(d.Notes)), Links: make([]wire.LinkChange, 0, len(d.Links)),
	}
	note := func(n *memory.Note) *wire.Note {
		if n == nil {
			return nil
		}
		return new(wireNote(n, nil, nil, false))
	}
	for i := range d.Notes {
		n := &d.Notes[i]
		shown := wire.NoteChange{Note: n.Note, Change: wire.ChangeKind(n.Change), Fields: n.Fields, Before: note(n.Before), After: note(n.After)}
		if shown.Fields == nil {
			shown.Fields = []string{}
		}
		out.Items = append(out.Items, shown)
	}
	for _, l := range d.Links {
		out.Links = append(out.Links, wireLinkChange(l.LinkID, string(l.Change), texts[l.Source], texts[l.Target]))
	}
	return out
}

func (h *core) mergeCollection(c *gin.Context, ref string, body wire.MergeRequest) error {
	in := clone.MergeInput{
		From: body.From, Strategy: merge.Strategy(valueOr(body.Strategy, "")), Notes: body.Notes, DryRun: valueOr(body.DryRun, false),
		Review: valueOr(body.Review, false), ApproveFrom: body.ApproveFrom, Background: valueOr(body.Wait, "") == wire.MergeRequestWaitNone,
		Select: clone.Select{MinConfidence: valueOr(body.MinConfidence, 0), MinAge: time.Duration(valueOr(body.MinAgeSeconds, 0)) * time.Second},
	}
	for _, k := range body.Kinds {
		in.Select.Kinds = append(in.Select.Kinds, memory.Kind(k))
	}
	m, err := h.Clone.Merge(c.Request.Context(), scope(c), ref, in)
	if errors.Is(err, clone.ErrConflicts) {
		return &conflictsError{error: err, conflicts: wireConflicts(m.Conflicts)}
	}
	if err != nil {
		return err
	}
	out := wire.MergeResult{Revision: int64(m.Revision), Conflicts: wireConflicts(m.Conflicts)}
	out.Merged.Notes, out.Merged.Links = m.Notes, m.Links
	setRevision(c, m.Revision)
	switch {
	case m.Review != nil:
		out.Review, out.Replaced = new(wireReview(m.Review)), m.Replaced
		if m.Known {
			return reply(c, http.StatusOK, out)
		}
	case m.Job != nil:
		out.Job = new(wireJob(m.Job, h.now()))
	default:
		return reply(c, http.StatusOK, out)
	}
	return reply(c, http.StatusAccepted, out)
}

// conflictsError is the fault of a merge, with what is in its way.
type conflictsError struct {
	error
	conflicts []wire.MergeConflict
}

func (e *conflictsError) Unwrap() error { return e.error }

func wireConflicts(conflicts []merge.Conflict) []wire.MergeConflict {
	return each(conflicts, func(x *merge.Conflict) wire.MergeConflict {
		return wire.MergeConflict{Note: x.Note, Field: x.Field, Base: x.Base, Ours: x.Ours, Theirs: x.Theirs}
	})
}

func (h *core) rollbackCollection(c *gin.Context, ref string, body wire.RollbackRequest) error {
	ctx, s := c.Request.Context(), scope(c)
	given := 0
	for _, is := range []bool{body.Revision != nil, body.At != nil, body.Snapshot != nil} {
		if is {
			given++
		}
	}
	if given != 1 {
		return fault.InvalidField("revision", "give exactly one of revision, at and snapshot")
	}
	var to *memory.Revision
	var err error
	switch {
	case body.Revision != nil:
		to = new(memory.Revision(*body.Revision))
	case body.At != nil:
		to, err = h.Clone.RevisionOf(ctx, s, ref, "at", body.At.Format(time.RFC3339Nano))
	case body.Snapshot != nil:
		if err = clone.CheckSnapshotName(*body.Snapshot); err == nil {
			to, err = h.Clone.RevisionOf(ctx, s, ref, "snapshot", *body.Snapshot)
		}
	}
	if err != nil {
		return err
	}
	out, err := h.Clone.Rollback(ctx, s, ref, clone.RollbackInput{To: *to, Background: valueOr(body.Wait, "") == wire.RollbackRequestWaitNone})
	if err != nil {
		return err
	}
	setRevision(c, out.Revision)
	shown := wire.RollbackResult{Revision: int64(out.Revision), Changed: out.Changed}
	if out.Job == nil {
		return reply(c, http.StatusOK, shown)
	}
	shown.Job = new(wireJob(out.Job, h.now()))
	return reply(c, http.StatusAccepted, shown)
}

func (h *core) listSnapshots(c *gin.Context, ref string) error {
	v, err := h.view(c)
	if err != nil {
		return err
	}
	list, err := h.Clone.Snapshots(c.Request.Context(), scope(c), ref)
	if err != nil {
		return err
	}
	out := wire.SnapshotList{Items: each(list, wireSnapshot)}
	return replyAt(c, http.StatusOK, v.At, out)
}

func wireSnapshot(n *memory.Snapshot) wire.Snapshot {
	return wire.Snapshot{Name: n.Name, Revision: int64(n.Revision), CreatedAt: wire.Time(n.CreatedAt)}
}

func (h *core) createSnapshot(c *gin.Context, ref string, body wire.SnapshotRequest) error {
	at, err := h.revisionOf(c, ref, "revision", valueOr(body.Revision, nil))
	if err != nil {
		return err
	}
	n, err := h.Clone.Snapshot(c.Request.Context(), scope(c), ref, body.Name, at)
	if err != nil {
		return err
	}
	return replyAt(c, http.StatusCreated, n.Revision, wireSnapshot(&n))
}

func (h *core) deleteSnapshot(c *gin.Context, ref string) error {
	if err := h.Clone.DeleteSnapshot(c.Request.Context(), scope(c), ref, c.Param("snapshot")); err != nil {
		return err
	}
	return noContent(c)
}

func (h *core) blameNote(c *gin.Context, _ string, id uuid.UUID) error {
	v, err := h.view(c)
	if err != nil {
		return err
	}
	fields, err := h.Clone.Blame(c.Request.Context(), scope(c), v, id)
	if err != nil {
		return err
	}
	named, views := []uuid.UUID{id}, []memory.View{v}
	for _, x := range fields {
		named, views = append(named, x.Trigger), append(views, v.Upto(x.Revision), v.Upto(x.Revision-1))
	}
	texts, err := h.Recall.Beginnings(c.Request.Context(), scope(c), named, views...)
	if err != nil {
		return err
	}
	out := wire.Blame{Text: wire.Optional(texts[id]), Fields: make(map[string]wire.FieldOrigin, len(fields))}
	for name, x := range fields {
		out.Fields[name] = wire.FieldOrigin{
			Revision: int64(x.Revision), At: wire.Time(x.At), Actor: x.Actor, Cause: string(x.Cause), Job: wire.Optional(x.Job), Agent: wire.Optional(x.Agent),
			Trigger: wire.Optional(x.Trigger), TriggerText: wire.Optional(texts[x.Trigger]),
		}
	}
	return replyAt(c, http.StatusOK, v.At, out)
}
