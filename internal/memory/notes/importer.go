package notes

import (
	"context"
	"errors"
	"math"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// ImportLine is one line of an import.
type ImportLine struct {
	Line int // counted from 1
	Raw  []byte
}

// ImportResult is the outcome of one line.
type ImportResult struct {
	Line     int
	ID       uuid.UUID
	Revision memory.Revision // where the note begins
	Created  bool            // false without Err: it was here before with the same content
	Warnings []string        // what could not be kept, such as a link to nowhere
	Err      error           // a fault, of this line alone
}

// Importer brings in notes as they were elsewhere: with ids, times, links,
// history and counters. It is for one stream of lines and one goroutine.
//
// Importing a line again changes nothing, so a job that was interrupted starts
// from the first line. A note that is here with other content is left alone
// and its line is Exists.
type Importer struct {
	notes      *Service
	scope      tenant.Scope
	collection memory.Collection
	job        uuid.UUID

	byLine  map[int]uuid.UUID // position, from 0, of each readable line: some stores link by position
	waiting []waitingLinks
}

// waitingLinks are links of a line whose targets were not there yet.
type waitingLinks struct {
	line  int
	note  uuid.UUID
	links []importLink
}

// maxWaitingLinks bounds what an import keeps in memory for Finish.
const maxWaitingLinks = 4_000_000

// Importer makes an importer into a collection (collections:write and
// notes:write, base:write for a shared one). job is recorded in changesets; it
// may be zero.
func (n *Service) Importer(ctx context.Context, s tenant.Scope, ref string, job uuid.UUID) (*Importer, error) {
	if err := tenant.Check(s, tenant.CollectionsWrite); err != nil {
		return nil, err
	}
	c, err := n.writable(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	return &Importer{notes: n, scope: s, collection: c, job: job, byLine: map[int]uuid.UUID{}}, nil
}

// Lines imports a batch, in order, as one changeset; the batch is at most
// Config.BatchSize lines. An error fails the whole batch and leaves
// nothing of it written.
func (im *Importer) Lines(ctx context.Context, lines []ImportLine) ([]ImportResult, error) {
	n := im.notes
	if len(lines) > n.cfg.BatchSize {
		return nil, fault.New(fault.Internal, "an import batch has at most %d lines", n.cfg.BatchSize)
	}
	results := make([]ImportResult, len(lines))
	batch := make([]*importNote, 0, len(lines))
	var bytes int64
	var texts []string
	for i, l := range lines {
		results[i].Line = l.Line
		in, err := decodeImport(l.Raw, n.clock(), im.scope.Actor())
		if err != nil {
			results[i].Err = asFault(err)
			continue
		}
		in.at, in.line = i, l.Line
		im.byLine[l.Line-1] = in.note.ID
		batch = append(batch, in)
		bytes += in.note.Size()
		texts = append(texts, memory.EmbedText(&in.note))
	}
	if len(batch) == 0 {
		return results, nil
	}
	if err := n.checkQuota(ctx, im.scope, int64(len(batch)), bytes); err != nil {
		return nil, err
	}
	for i, e := range n.embed(ctx, im.scope, &im.collection, texts) {
		if e.Vector != nil {
			batch[i].note.Embed(e, im.collection.Embedder)
		}
	}
	return results, im.write(ctx, batch, results)
}

// write puts one batch: first the notes, then the links whose ends are there.
func (im *Importer) write(ctx context.Context, batch []*importNote, results []ImportResult) error {
	var waiting []waitingLinks
	o := memory.WriteOptions{Cause: memory.CauseImport, Job: im.job, System: true}
	_, err := im.notes.store.Write(ctx, im.scope, im.collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
		waiting = nil
		for _, in := range batch {
			r, err := im.put(ctx, tx, in)
			if err != nil {
				return err
			}
			results[in.at] = r
		}
		for _, in := range batch {
			r := &results[in.at]
			if r.Err != nil || len(in.links) == 0 {
				continue
			}
			left, warnings, err := im.link(ctx, tx, in.note.ID, in.links)
			if err != nil {
				return err
			}
			r.Warnings = append(r.Warnings, warnings...)
			if len(left) > 0 {
				waiting = append(waiting, waitingLinks{line: in.line, note: in.note.ID, links: left})
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	im.waiting = append(im.waiting, waiting...)
	total := 0
	for _, w := range im.waiting {
		total += len(w.links)
	}
	if total > maxWaitingLinks {
		return fault.New(fault.TooLarge, "more than %d links point to notes further down; sort the notes or split the import", maxWaitingLinks)
	}
	return nil
}

// put writes one note unless it is there.
func (im *Importer) put(ctx context.Context, tx memory.Tx, in *importNote) (r ImportResult, err error) {
	r = ImportResult{Line: in.line, ID: in.note.ID, Warnings: append([]string(nil), in.warnings...)}
	old, err := visible(ctx, tx, in.note.ID)
	if err != nil {
		return r, err
	}
	note := in.note
	if note.OccurredAt.IsZero() {
		note.OccurredAt = tx.Now()
		if old != nil {
			note.OccurredAt = old.OccurredAt
		}
	}
	if old != nil {
		r.Revision = old.From
		if !SameContent(old, &note) {
			r.Err = fault.New(fault.Exists, "a note with this id is here with other content")
		}
		return r, nil
	}
	if note.Key != "" {
		_, err := tx.NoteByKey(ctx, note.Kind, note.Key)
		if err == nil {
			r.Err = fault.New(fault.Exists, "another note has this key")
			return r, nil
		}
		if !fault.Is(err, fault.NotFound) {
			return r, err
		}
	}
	if _, err := tx.Put(ctx, note); err != nil {
		return r, err
	}
	if in.usage != nil {
		if err := tx.SetUsage(ctx, note.ID, *in.usage); err != nil {
			return r, err
		}
	}
	if note.Vector == nil {
		if _, err := tx.Enqueue(ctx, *noteJob(im.scope, &im.collection, &note, false)); err != nil {
			return r, err
		}
	}
	r.Revision, r.Created = tx.Revision(), true
	return r, nil
}

// link puts the links whose targets are visible and gives back the others.
func (im *Importer) link(ctx context.Context, tx memory.Tx, source uuid.UUID, links []importLink) (left []importLink, warnings []string, err error) {
	resolved := make([]importLink, 0, len(links))
	ids := make([]uuid.UUID, 0, len(links))
	for _, l := range links {
		if l.position >= 0 {
			id, ok := im.byLine[l.position]
			if !ok {
				left = append(left, l)
				continue
			}
			l.Target = id
		}
		if l.Target == source {
			warnings = append(warnings, "a link of the note to itself was left out")
			continue
		}
		l.Source = source
		resolved, ids = append(resolved, l), append(ids, l.Target)
	}
	if len(ids) == 0 {
		return left, warnings, nil
	}
	notes, err := tx.Notes(ctx, ids, memory.ReadOptions{})
	if err != nil {
		return nil, nil, err
	}
	there := make(map[uuid.UUID]bool, len(notes))
	for i := range notes {
		there[notes[i].ID] = true
	}
	for _, l := range resolved {
		if !there[l.Target] {
			left = append(left, l)
			continue
		}
		if _, err := tx.Link(ctx, l.Link); err != nil {
			return nil, nil, err
		}
	}
	return left, warnings, nil
}

// Finish puts the links that waited for notes further down, and tells per line
// which point nowhere. The importer is used up.
func (im *Importer) Finish(ctx context.Context) ([]ImportResult, error) {
	var out []ImportResult
	for len(im.waiting) > 0 {
		batch := im.waiting[:min(len(im.waiting), im.notes.cfg.BatchSize)]
		im.waiting = im.waiting[len(batch):]
		var results []ImportResult
		o := memory.WriteOptions{Cause: memory.CauseImport, Job: im.job, System: true}
		_, err := im.notes.store.Write(ctx, im.scope, im.collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
			results = nil
			for _, w := range batch {
				r, err := im.finishNote(ctx, tx, w)
				if err != nil {
					return err
				}
				if len(r.Warnings) > 0 {
					results = append(results, r)
				}
			}
			return nil
		})
		if err != nil {
			return out, err
		}
		out = append(out, results...)
	}
	return out, nil
}

func (im *Importer) finishNote(ctx context.Context, tx memory.Tx, w waitingLinks) (ImportResult, error) {
	r := ImportResult{Line: w.line, ID: w.note}
	note, err := visible(ctx, tx, w.note)
	if err != nil {
		return r, err
	}
	if note == nil { // deleted meanwhile
		r.Warnings = append(r.Warnings, "the note is gone; its links were left out")
		return r, nil
	}
	r.Revision = note.From
	left, warnings, err := im.link(ctx, tx, w.note, w.links)
	if err != nil {
		return r, err
	}
	r.Warnings = append(r.Warnings, warnings...)
	for _, l := range left {
		r.Warnings = append(r.Warnings, "no note for the link to "+l.name())
	}
	return r, nil
}

// usageOf gives counters as they are kept.
func usageOf(u importUsage) (*memory.Usage, error) {
	if u.AccessCount < 0 || u.Strength < 0 || math.IsNaN(u.Strength) || math.IsInf(u.Strength, 0) {
		return nil, errors.New("counters must not be negative")
	}
	out := memory.Usage{AccessCount: u.AccessCount, LastAccess: u.LastAccess, Strength: u.Strength}
	if out.Strength == 0 {
		out.Strength = 1
	}
	return &out, nil
}
