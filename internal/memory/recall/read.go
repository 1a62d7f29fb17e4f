package recall

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// checkRead returns an error for a scope without notes:read, or one that did not open the view.
func checkRead(s tenant.Scope, v *memory.View) error {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return err
	}
	return v.Check(s)
}

// Get reads one note with links and usage. NotFound if it is not visible.
func (r *Service) Get(ctx context.Context, s tenant.Scope, v memory.View, id uuid.UUID, embedding bool) (NoteView, error) {
	if err := checkRead(s, &v); err != nil {
		return NoteView{}, err
	}
	views, err := r.readViews(ctx, s, v, []uuid.UUID{id}, embedding)
	if err != nil {
		return NoteView{}, err
	}
	if len(views) == 0 {
		return NoteView{}, fault.Missing("note")
	}
	return views[0], nil
}

// readViews reads notes by id with links and usage, in the order of ids.
func (r *Service) readViews(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID, embedding bool) ([]NoteView, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	notes, err := r.store.Notes(ctx, s, v, ids, memory.ReadOptions{Vector: embedding})
	if err != nil {
		return nil, err
	}
	return r.Views(ctx, s, v, notes)
}

// Views adds links and usage to notes that were read before, such as the result of a write.
func (r *Service) Views(ctx context.Context, s tenant.Scope, v memory.View, notes []memory.Note) ([]NoteView, error) {
	if err := checkRead(s, &v); err != nil || len(notes) == 0 {
		return nil, err
	}
	versions := make([]memory.Version, len(notes))
	for i := range notes {
		versions[i] = notes[i].Version()
	}
	links, err := r.outgoingLinks(ctx, s, &v, versions)
	if err != nil {
		return nil, err
	}
	usage, err := r.usageOf(ctx, s, &v, versions)
	if err != nil {
		return nil, err
	}
	out := make([]NoteView, len(notes))
	for i := range notes {
		out[i] = NoteView{Note: notes[i], Links: links[notes[i].ID], Usage: usage[notes[i].ID]}
	}
	return out, nil
}

// outgoingLinks reads the outgoing links of notes in one batch.
func (r *Service) outgoingLinks(ctx context.Context, s tenant.Scope, v *memory.View, versions []memory.Version) (map[uuid.UUID][]memory.Link, error) {
	links, err := r.linksOf(ctx, s, v, versions, memory.LinkQuery{Direction: memory.Outgoing})
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID][]memory.Link, len(versions))
	for _, l := range links {
		out[l.Source] = append(out[l.Source], l)
	}
	return out, nil
}

// List pages through notes, oldest id first unless Newest or ByTime.
func (r *Service) List(ctx context.Context, s tenant.Scope, v memory.View, q ListQuery) (Page, error) {
	if err := checkRead(s, &v); err != nil {
		return Page{}, err
	}
	limit, err := pageLimit(q.Limit)
	if err != nil {
		return Page{}, err
	}
	notes, err := r.store.ListNotes(ctx, s, v, memory.NoteQuery{
		Filter: filter.InZone(q.Filter, v.Zone()), Kinds: q.Kinds, States: q.States, After: q.After, Newest: q.Newest, Limit: limit + 1,
		ByTime: q.ByTime, AfterTime: q.AfterTime, ByRevision: q.ByRevision, AfterRevision: q.AfterRevision, ReadOptions: memory.ReadOptions{Vector: q.Embedding},
	})
	if err != nil {
		return Page{}, err
	}
	var page Page
	if len(notes) > limit {
		notes = notes[:limit]
		page.Next = notes[limit-1].ID
		if q.ByTime {
			page.NextTime = notes[limit-1].OccurredAt
		}
		if q.ByRevision {
			page.NextRevision = notes[limit-1].From
		}
	}
	if q.Bare {
		page.Items = make([]NoteView, len(notes))
		for i := range notes {
			page.Items[i].Note = notes[i]
		}
		return page, nil
	}
	page.Items, err = r.Views(ctx, s, v, notes)
	return page, err
}

func pageLimit(n int) (int, error) {
	if n == 0 {
		return memory.DefaultPage, nil
	}
	if n < 1 || n > memory.MaxPage {
		return 0, fault.InvalidField("limit", "must be between 1 and %d", memory.MaxPage)
	}
	return n, nil
}

// History pages through the versions of a note, newest first. before is exclusive; 0 starts at the
// view's revision.
func (r *Service) History(ctx context.Context, s tenant.Scope, v memory.View, id uuid.UUID, before memory.Revision, limit int) (HistoryPage, error) {
	if err := checkRead(s, &v); err != nil {
		return HistoryPage{}, err
	}
	limit, err := pageLimit(limit)
	if err != nil {
		return HistoryPage{}, err
	}
	entries, err := r.store.History(ctx, s, v, id, before, limit+1)
	if err != nil {
		return HistoryPage{}, err
	}
	var page HistoryPage
	if len(entries) > limit {
		entries = entries[:limit]
		page.Next = entries[limit-1].Note.From
	}
	page.Items = entries
	return page, nil
}

// Changes lists what the changesets after a revision and up to that of the view did, in order.
func (r *Service) Changes(ctx context.Context, s tenant.Scope, v memory.View, after memory.Revision, limit int) ([]memory.Change, error) {
	if err := checkRead(s, &v); err != nil {
		return nil, err
	}
	limit, err := pageLimit(limit)
	if err != nil {
		return nil, err
	}
	page, err := r.store.Changes(ctx, s, v, after, limit)
	if err != nil {
		return nil, err
	}
	return page, r.nameChanges(ctx, s, v, page)
}

// beginning is how many characters of a note stand for it beside its id.
const beginning = 200

// Beginnings returns how notes begin, those that the first of some views shows of them.
func (r *Service) Beginnings(ctx context.Context, s tenant.Scope, ids []uuid.UUID, views ...memory.View) (map[uuid.UUID]string, error) {
	out := make(map[uuid.UUID]string, len(ids))
	for i := range views {
		missing := slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool { _, ok := out[id]; return ok || id == uuid.Nil })
		slices.SortFunc(missing, memory.CompareIDs)
		for batch := range slices.Chunk(slices.Compact(missing), memory.MaxPage) {
			found, err := r.store.Notes(ctx, s, views[i], batch, memory.ReadOptions{})
			if err != nil {
				return nil, err
			}
			for k := range found {
				out[found[k].ID] = clip.Runes(found[k].Content, beginning)
			}
		}
	}
	return out, nil
}

// nameChanges sets the texts of changes: of a note that is gone as it was at the change, or before it.
func (r *Service) nameChanges(ctx context.Context, s tenant.Scope, v memory.View, page []memory.Change) error {
	var all []uuid.UUID
	for i := range page {
		all = append(all, page[i].IDs()...)
	}
	now, err := r.Beginnings(ctx, s, all, v)
	if err != nil {
		return err
	}
	for i := range page {
		c, texts := &page[i], now
		ids := c.IDs()
		if slices.ContainsFunc(ids, func(id uuid.UUID) bool { _, ok := now[id]; return !ok }) {
			if texts, err = r.Beginnings(ctx, s, ids, v, v.Upto(c.Revision), v.Upto(c.Revision-1)); err != nil {
				return err
			}
		}
		for k := range c.Notes {
			c.Notes[k].Text = texts[c.Notes[k].Note]
		}
		for k := range c.Links {
			c.Links[k].SourceText, c.Links[k].TargetText = texts[c.Links[k].Source], texts[c.Links[k].Target]
		}
	}
	return nil
}
