package api

import (
	"context"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// waitMargin is how much of the request's time remains for the answer when waiting for a job ends.
const waitMargin = 2 * time.Second

func (h *core) createNote(c *gin.Context, ref string, body wire.NoteInput) error {
	in, err := newNote(&body)
	if err != nil {
		return err
	}
	wait := query(c).Get("wait") == "evolved"
	// Checked before the write: a refused request writes nothing.
	leave, err := h.waiting.enterIf(wait, scope(c).Tenant())
	if err != nil {
		return err
	}
	defer leave()
	w, err := h.Notes.Add(c.Request.Context(), scope(c), ref, in, conditions(c))
	if err != nil {
		return err
	}
	nameRecord(c, w.Note.ID)
	// A new note was never recalled.
	note := wireNote(&w.Note, w.Links, &memory.Usage{Strength: 1}, false)
	if wait && w.Job != nil {
		endTurn(c)
		note = h.waitForNote(c, &w, note)
	}
	status := http.StatusCreated
	if w.Found {
		status = http.StatusOK
		if note, err = h.showChanged(c, &w); err != nil {
			return err
		}
	}
	setRevision(c, w.Revision)
	setETag(c, w.Note.Version())
	return reply(c, status, wire.NoteCreated{Note: note, Revision: int64(w.Revision), Job: wireJobRef(w.Job)})
}

// newNote converts the note of a body.
func newNote(in *wire.NoteInput) (notes.NewNote, error) {
	out := notes.NewNote{
		Kind: memory.Kind(valueOr(in.Kind, "")), Content: in.Content, Context: in.Context, Keywords: in.Keywords, Tags: in.Tags,
		Category: in.Category, Attributes: valueOr(in.Attributes, nil), Importance: in.Importance, Infer: in.Infer,
		OnDuplicate: memory.OnDuplicate(valueOr(in.OnDuplicate, "")), TTLSeconds: in.TTLSeconds,
	}
	if it := in.Item; it != nil {
		out.Item = &memory.Item{
			Type: memory.ItemType(it.Type), URL: valueOr(it.URL, ""), MediaType: valueOr(it.MediaType, ""),
			Language: valueOr(it.Language, ""), Name: valueOr(it.Name, ""), Description: valueOr(it.Description, ""),
		}
	}
	if in.OccurredAt != nil {
		at, err := eventTime("occurred_at", *in.OccurredAt)
		if err != nil {
			return out, err
		}
		out.OccurredAt = &at
	}
	if in.ExpiresAt != nil {
		at, err := eventTime("expires_at", *in.ExpiresAt)
		if err != nil {
			return out, err
		}
		out.ExpiresAt = &at
	}
	return out, nil
}

// waitForNote waits for the job of a note, updates w, and returns the note as it is then. The note is
// written, so a failure here is not an error of the request.
func (h *core) waitForNote(c *gin.Context, w *notes.NoteWritten, note wire.Note) wire.Note {
	ctx, s := c.Request.Context(), scope(c)
	stale := func(err error) wire.Note {
		if ctx.Err() == nil && !fault.Is(err, fault.NotFound) {
			h.log.WarnContext(ctx, "waiting for a note's job failed; answered without waiting", slog.String("request_id", requestID(c)),
				slog.String("job", w.Job.ID.String()), slog.Any("error", err))
		}
		return note
	}
	if !w.Job.Ended() {
		job, err := h.waitForJob(ctx, s, w.Job.ID, 0)
		if err != nil {
			return stale(err)
		}
		w.Job = &job
	}
	if !s.Allows(tenant.NotesRead) {
		return note
	}
	v, err := h.Recall.Open(ctx, s, w.Note.Collection.String(), nil, 0)
	if err != nil {
		return stale(err)
	}
	now, err := h.Recall.Get(ctx, s, v, w.Note.ID, false)
	if err != nil {
		return stale(err) // for example, the note was deleted
	}
	w.Note, w.Revision = now.Note, v.At
	return wireNoteView(&now, false)
}

// waitForJob returns the job when it ends, or as it is when the request's time runs out or the server
// stops. own is how many jobs ahead of it the request enqueued.
func (h *core) waitForJob(ctx context.Context, s tenant.Scope, id uuid.UUID, own int) (memory.Job, error) {
	waiting, stop := h.untilDrained(ctx)
	defer stop()
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		waiting, cancel = context.WithDeadline(waiting, deadline.Add(-waitMargin))
		defer cancel()
	}
	job, err := h.Waiter.Wait(waiting, s, id, own)
	if err != nil && waiting.Err() != nil {
		return h.Jobs.Job(ctx, s, id)
	}
	return job, err
}

// showChanged renders a changed note. Its usage is included if the caller may read.
func (h *core) showChanged(c *gin.Context, w *notes.NoteWritten) (wire.Note, error) {
	ctx, s := c.Request.Context(), scope(c)
	if !s.Allows(tenant.NotesRead) {
		return wireNote(&w.Note, w.Links, nil, false), nil
	}
	v, err := h.Recall.Open(ctx, s, w.Note.Collection.String(), &w.Revision, 0)
	if err != nil {
		return wire.Note{}, err
	}
	views, err := h.Recall.Views(ctx, s, v, []memory.Note{w.Note})
	if err != nil {
		return wire.Note{}, err
	}
	return wireNoteView(&views[0], false), nil
}

func (h *core) listNotes(c *gin.Context) error {
	expr, err := queryFilter(c)
	if err != nil {
		return err
	}
	v, cur, err := h.pageView(c)
	if err != nil {
		return err
	}
	q := recall.ListQuery{Filter: expr, Embedding: query(c).Get("include") == "embedding"}
	if kind := query(c).Get("kind"); kind != "" {
		q.Kinds = []memory.Kind{memory.Kind(kind)}
	}
	if state := query(c).Get("state"); state != "" {
		q.States = []memory.State{memory.State(state)}
	}
	list, err := h.notePage(c, v, cur, q)
	if err != nil {
		return err
	}
	return replyAt(c, http.StatusOK, v.At, list)
}

// setOrder reads the order of a list of notes, and where its page begins. Without an order, and by event time, the oldest come first.
func setOrder(c *gin.Context, cur *cursor, q *recall.ListQuery) error {
	order := query(c).Get("order")
	q.Newest = order == "newest" || order == "updated"
	if order == "updated" {
		q.ByRevision, q.ByTime = true, false
	}
	return cur.place(q)
}

// listPage reads a page of notes in the order of the request, and returns the cursor of the next one.
func (h *core) listPage(c *gin.Context, v memory.View, cur *cursor, q recall.ListQuery) (page recall.Page, next *string, err error) {
	if err := setOrder(c, cur, &q); err != nil {
		return page, nil, err
	}
	q.Limit = pageLimit(c)
	page, err = h.Recall.List(c.Request.Context(), scope(c), v, q)
	if err == nil && page.Next != uuid.Nil {
		next, err = h.nextCursorAt(c, placeAfter(&page, &q), v.Collection.ID, v.At)
	}
	return page, next, err
}

// placeAfter is the position of the page after this one.
func placeAfter(page *recall.Page, q *recall.ListQuery) string {
	switch {
	case q.ByTime:
		return strconv.FormatInt(page.NextTime.UnixMicro(), 10) + " " + page.Next.String()
	case q.ByRevision:
		return strconv.FormatInt(int64(page.NextRevision), 10) + " " + page.Next.String()
	default:
		return page.Next.String()
	}
}

// place continues a list of notes at the position of a cursor; nil: at its start.
func (c *cursor) place(q *recall.ListQuery) (err error) {
	if c == nil {
		return nil
	}
	if !q.ByTime && !q.ByRevision {
		q.After, err = c.afterID()
		return err
	}
	number, id, _ := strings.Cut(c.Position, " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if err == nil {
		q.After, err = route.ParseID(id)
	}
	if err != nil {
		return badCursor("is not a cursor of this listing")
	}
	q.AfterTime, q.AfterRevision = time.UnixMicro(n).UTC(), memory.Revision(n)
	return nil
}

// notePage answers a page of notes.
func (h *core) notePage(c *gin.Context, v memory.View, cur *cursor, q recall.ListQuery) (wire.NoteList, error) {
	page, next, err := h.listPage(c, v, cur, q)
	out := wire.NoteList{Items: make([]wire.Note, len(page.Items)), NextCursor: next, Revision: int64(v.At)}
	for i := range page.Items {
		out.Items[i] = wireNoteView(&page.Items[i], q.Embedding)
	}
	return out, err
}

// queryFilter decodes the filter parameter; nil without one.
func queryFilter(c *gin.Context) (filter.Expr, error) {
	text := query(c).Get("filter")
	if text == "" {
		return nil, nil //nolint:nilnil // the nil filter lets everything pass
	}
	switch value, err := parseJSON([]byte(text)); {
	case err != nil:
		return nil, prefixFields("filter", err)
	case value == nil: // as in a body, null is not absent
		return nil, fault.InvalidField("filter", "must not be null")
	}
	return parseFilter([]byte(text), "")
}

func (h *core) getNote(c *gin.Context, _ string, id uuid.UUID) error {
	v, err := h.view(c)
	if err != nil {
		return err
	}
	embedding := query(c).Get("include") == "embedding"
	note, err := h.Recall.Get(c.Request.Context(), scope(c), v, id, embedding)
	if err != nil {
		return err
	}
	setRevision(c, v.At)
	setETag(c, note.Version())
	return reply(c, http.StatusOK, wireNoteView(&note, embedding))
}

func (h *core) patchNote(c *gin.Context, ref string, id uuid.UUID) error {
	body, err := bind[wire.NotePatch](c)
	if err != nil {
		return err
	}
	p := notes.NotePatch{
		Content: body.Content, Context: body.Context, Keywords: body.Keywords, Tags: body.Tags, Category: body.Category,
		Attributes: objectPatch(body.Attributes), Importance: body.Importance, TTLSeconds: body.TTLSeconds,
	}
	if p.OccurredAt, err = timePatch("occurred_at", body.OccurredAt); err != nil {
		return err
	}
	if p.ExpiresAt, err = timePatch("expires_at", body.ExpiresAt); err != nil {
		return err
	}
	w, err := h.Notes.Patch(c.Request.Context(), scope(c), ref, id, p, conditions(c))
	if err != nil {
		return err
	}
	return h.replyWritten(c, &w)
}

// timePatch parses a time of a merge patch.
func timePatch(field string, text nullable.Nullable[string]) (out nullable.Nullable[time.Time], err error) {
	if text.IsNull() {
		out.SetNull()
	}
	if !text.IsSpecified() || text.IsNull() {
		return out, nil
	}
	said := text.MustGet()
	at, err := eventTime(field, said)
	out.Set(at)
	return out, err
}

func (h *core) restoreNote(c *gin.Context, ref string, id uuid.UUID) error {
	body, err := bind[wire.RestoreRequest](c)
	if err != nil {
		return err
	}
	w, err := h.Notes.Restore(c.Request.Context(), scope(c), ref, id, memory.Revision(body.Revision), conditions(c))
	if err != nil {
		return err
	}
	return h.replyWritten(c, &w)
}

func (h *core) replyWritten(c *gin.Context, w *notes.NoteWritten) error {
	nameRecord(c, w.Note.ID)
	note, err := h.showChanged(c, w)
	if err != nil {
		return err
	}
	setRevision(c, w.Revision)
	setETag(c, w.Note.Version())
	if w.Job != nil {
		c.Header("Slipbox-Job", w.Job.ID.String())
	}
	return reply(c, http.StatusOK, note)
}

func (h *core) deleteNote(c *gin.Context, ref string, id uuid.UUID) error {
	sources := notes.Sources(query(c).Get("sources"))
	if query(c).Get("erase") == "true" {
		out, err := h.Notes.Erase(c.Request.Context(), scope(c), ref, id, sources, conditions(c))
		if err != nil {
			return err
		}
		nameRecord(c, id)
		setSources(c, out.Said)
		return reply(c, http.StatusOK, wireErasure(&out))
	}
	out, err := h.Notes.DeleteWith(c.Request.Context(), scope(c), ref, id, sources, conditions(c))
	if err != nil {
		return err
	}
	nameRecord(c, id)
	setRevision(c, out.Revision)
	setSources(c, out.Said)
	return noContent(c)
}

// maxSources is how many sources of a deleted note a header names.
const maxSources = 32

// setSources names the notes that may still say what was deleted.
func setSources(c *gin.Context, ids []uuid.UUID) {
	if len(ids) == 0 {
		return
	}
	list := make([]string, 0, maxSources)
	for _, id := range ids[:min(len(ids), maxSources)] {
		list = append(list, id.String())
	}
	c.Header("Slipbox-Sources", strings.Join(list, ","))
}

func wireErasure(e *notes.Erasure) wire.ErasureReport {
	all := func(list []uuid.UUID) []uuid.UUID { return append([]uuid.UUID{}, list...) }
	out := wire.ErasureReport{
		Erased: all(e.Gone), Rewritten: all(e.Rewritten), Collections: all(e.Layers), Waiting: all(e.Waiting),
		Versions: e.Versions, Jobs: e.Jobs, Reviews: e.Reviews, Kept: []wire.ErasureKept{}, Traces: wire.Traces(e.Traces),
	}
	for _, k := range e.Kept {
		out.Kept = append(out.Kept, wire.ErasureKept{ID: k.ID, Name: k.Name})
	}
	return out
}
