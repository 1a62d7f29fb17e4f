package notes

import (
	"context"
	"errors"
	"math"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// ImportLine is one line of an import.
type ImportLine struct {
	Line int // from 1
	Raw  []byte
}

// ImportResult is the result of one line.
type ImportResult struct {
	Line     int
	ID       uuid.UUID
	Revision memory.Revision // at which the note begins
	Created  bool            // false without Err: the note existed with the same content
	Warnings []string        // what was left out, such as a link to a note that does not exist
	Err      error           // a fault of this line alone
}

// Importer imports notes with the ids, times, links, history and counters that they had elsewhere, and messages and notes that are new.
// It serves one stream of lines and must not be used concurrently.
//
// Importing a line again is a no-op, so an interrupted job starts from the first line. A note that
// exists with other content is not changed, and its line is Exists.
type Importer struct {
	notes      *Service
	scope      tenant.Scope
	collection memory.Collection
	job        uuid.UUID

	byLine  map[int]uuid.UUID // position (from 0) of each readable line to its note; some stores link by position
	waiting []waitingLinks
}

// waitingLinks holds the links of a line whose targets did not exist yet.
type waitingLinks struct {
	line  int
	note  uuid.UUID
	links []importLink
}

// maxWaitingLinks bounds how many links an import holds in memory for Finish.
const maxWaitingLinks = 4_000_000

// Importer returns an importer into a collection (collections:write and notes:write, and base:write
// if it is shared). job is recorded in the changesets; it may be zero.
func (n *Service) Importer(ctx context.Context, s tenant.Scope, ref string, job uuid.UUID) (*Importer, error) {
	if err := tenant.Check(s, tenant.CollectionsWrite); err != nil {
		return nil, err
	}
	c, err := n.resolveWritable(ctx, s, ref)
	if err != nil {
		return nil, err
	}
	return &Importer{notes: n, scope: s, collection: c, job: job, byLine: map[int]uuid.UUID{}}, nil
}

// Lines imports a batch of at most importBatch lines, in order: a note with an id as it was elsewhere, a message and a note without an
// id as new ones. What is beside each other and of one kind is one changeset. An error ends the batch; repeating it adds
// nothing twice.
func (im *Importer) Lines(ctx context.Context, lines []ImportLine) ([]ImportResult, error) {
	if len(lines) > importBatch {
		return nil, fault.New(fault.Internal, "an import batch has at most %d lines", importBatch)
	}
	results := make([]ImportResult, len(lines))
	for i, l := range lines {
		results[i].Line = l.Line
	}
	for begin := 0; begin < len(lines); {
		kind, end := kindOf(lines[begin].Raw), begin+1
		for end < len(lines) && kindOf(lines[end].Raw) == kind {
			end++
		}
		add := im.addNew
		if kind == lineKept {
			add = im.keep
		}
		if err := add(ctx, lines[begin:end], results[begin:end]); err != nil {
			return nil, err
		}
		begin = end
	}
	return results, nil
}

// keep stores notes as they were elsewhere.
func (im *Importer) keep(ctx context.Context, lines []ImportLine, results []ImportResult) error {
	n := im.notes
	batch := make([]*importNote, 0, len(lines))
	for i, l := range lines {
		in, err := decodeImport(l.Raw, n.now(&im.collection), im.scope.Actor(), n.takesImages(&im.collection))
		if err == nil {
			err = im.collection.ScreenKey("key", in.note.Key)
		}
		if err == nil {
			_, err = im.collection.ScreenNote(ctx, &in.note)
		}
		if err != nil {
			results[i].Err = lineFault(err)
			continue
		}
		in.at, in.line = i, l.Line
		im.byLine[l.Line-1] = in.note.ID
		batch = append(batch, in)
	}
	if len(batch) == 0 {
		return nil
	}
	return storeWhatFits(batch, func(part []*importNote) error { return im.keepPart(ctx, part, results) }, func(in *importNote, err error) {
		delete(im.byLine, in.line-1)
		results[in.at] = ImportResult{Line: in.line, Err: lineFault(err)}
	})
}

// keepPart stores a part of a batch for which there is room, or nothing of it.
func (im *Importer) keepPart(ctx context.Context, batch []*importNote, results []ImportResult) error {
	n := im.notes
	var bytes int64
	list := make([]*memory.Note, len(batch))
	for i, in := range batch {
		bytes += in.note.Size()
		list[i] = &in.note
	}
	if err := n.checkQuota(ctx, im.scope, int64(len(batch)), bytes); err != nil {
		return err
	}
	n.embedNotes(ctx, im.scope, &im.collection, list...)
	return im.writeBatch(ctx, batch, results)
}

// writeBatch stores one batch: first the notes, then the links whose ends exist.
func (im *Importer) writeBatch(ctx context.Context, batch []*importNote, results []ImportResult) error {
	var waiting []waitingLinks
	o := memory.WriteOptions{Cause: memory.CauseImport, Job: im.job, System: true}
	_, err := im.notes.store.Write(ctx, im.scope, im.collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
		waiting = nil
		known, err := readKnown(ctx, tx, batch)
		if err != nil {
			return err
		}
		for _, in := range batch {
			r, err := im.putNote(ctx, tx, in, known)
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
			left, warnings, err := im.putLinks(ctx, tx, in.note.ID, in.links)
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
		return fault.New(fault.TooLarge, "more than %d links point to later notes; sort the notes or split the import", maxWaitingLinks)
	}
	return nil
}

// readKnown reads the notes of a batch that exist, by id.
func readKnown(ctx context.Context, tx memory.Tx, batch []*importNote) (map[uuid.UUID]*memory.Note, error) {
	ids := make([]uuid.UUID, len(batch))
	for i, in := range batch {
		ids[i] = in.note.ID
	}
	notes, err := tx.Notes(ctx, ids, memory.ReadOptions{Vector: true})
	if err != nil {
		return nil, err
	}
	return memory.ByID(notes), tx.Foresee(ctx, ids)
}

// putNote writes one note unless it is known, and adds it to those.
func (im *Importer) putNote(ctx context.Context, tx memory.Tx, in *importNote, known map[uuid.UUID]*memory.Note) (r ImportResult, err error) {
	r = ImportResult{Line: in.line, ID: in.note.ID, Warnings: append([]string(nil), in.warnings...)}
	note, old := in.note, known[in.note.ID]
	if note.OccurredAt.IsZero() {
		note.OccurredAt = tx.Now()
		if old != nil {
			note.OccurredAt = old.OccurredAt
		}
	}
	if old != nil {
		r.Revision = old.From
		if !memory.SameSaid(old, &note) {
			r.Err = fault.New(fault.Exists, "a note with this id exists with other content")
		}
		return r, nil
	}
	if note.Key != "" {
		other, err := tx.NoteByKey(ctx, note.Kind, note.Key)
		if err == nil {
			return im.putBlock(ctx, tx, r, other, note)
		}
		if !fault.Is(err, fault.NotFound) {
			return r, err
		}
	}
	stored, err := tx.Put(ctx, note)
	if err != nil {
		return r, err
	}
	known[stored.ID] = &stored
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

// putBlock writes a block whose label the collection has. It becomes the next version of a block that the collection was created
// with and nobody has changed. Any other note keeps its key.
func (im *Importer) putBlock(ctx context.Context, tx memory.Tx, r ImportResult, other, note memory.Note) (ImportResult, error) {
	r.ID, r.Revision = other.ID, other.From
	said, was := block.Of(&note), block.Of(&other)
	next, changes := said.Note(&other)
	switch {
	case note.Kind != memory.KindBlock:
		r.ID, r.Revision = note.ID, 0
		r.Err = fault.New(fault.Exists, "another note has this key")
		return r, nil
	case !changes:
		return r, nil
	case other.From > 1 && other.Content != "", was.ReadOnly:
		r.Err = fault.New(fault.Exists, "the collection has a block %q with another value", said.Label)
		return r, nil
	}
	stored, err := tx.Put(ctx, next)
	if err != nil {
		return r, err
	}
	if next.Vector == nil {
		if _, err := tx.Enqueue(ctx, *noteJob(im.scope, &im.collection, &stored, false)); err != nil {
			return r, err
		}
	}
	r.Revision, r.Created = tx.Revision(), true
	return r, nil
}

// putLinks writes the links whose targets are visible and returns the others as left.
func (im *Importer) putLinks(ctx context.Context, tx memory.Tx, source uuid.UUID, links []importLink) (left []importLink, warnings []string, err error) {
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
	there := memory.ByID(notes)
	for _, l := range resolved {
		if there[l.Target] == nil {
			left = append(left, l)
			continue
		}
		if _, err := tx.Link(ctx, l.Link); err != nil {
			return nil, nil, err
		}
	}
	return left, warnings, nil
}

// Finish writes the links that waited for later notes and returns the lines that have links to
// notes that do not exist. The importer must not be used afterwards.
func (im *Importer) Finish(ctx context.Context) ([]ImportResult, error) {
	var out []ImportResult
	for len(im.waiting) > 0 {
		batch := im.waiting[:min(len(im.waiting), importBatch)]
		im.waiting = im.waiting[len(batch):]
		var results []ImportResult
		o := memory.WriteOptions{Cause: memory.CauseImport, Job: im.job, System: true}
		_, err := im.notes.store.Write(ctx, im.scope, im.collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
			results = nil
			for _, w := range batch {
				r, err := im.finishLinks(ctx, tx, w)
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

func (im *Importer) finishLinks(ctx context.Context, tx memory.Tx, w waitingLinks) (ImportResult, error) {
	r := ImportResult{Line: w.line, ID: w.note}
	note, err := readVisible(ctx, tx, w.note)
	if err != nil {
		return r, err
	}
	if note == nil { // deleted meanwhile
		r.Warnings = append(r.Warnings, "the note is deleted; its links were left out")
		return r, nil
	}
	r.Revision = note.From
	left, warnings, err := im.putLinks(ctx, tx, w.note, w.links)
	if err != nil {
		return r, err
	}
	r.Warnings = append(r.Warnings, warnings...)
	for _, l := range left {
		r.Warnings = append(r.Warnings, "there is no note for the link to "+l.name())
	}
	return r, nil
}

// usageOf validates imported counters and returns them as they are stored.
func usageOf(u importUsage) (*memory.Usage, error) {
	if u.AccessCount < 0 || u.Strength < 0 || math.IsNaN(u.Strength) || math.IsInf(u.Strength, 0) {
		return nil, errors.New("counters must not be negative")
	}
	out := memory.Usage{AccessCount: u.AccessCount, LastAccess: u.LastAccess, Strength: u.Strength}
	// Callers see, and import, the current strength; the first one is stored.
	if first := u.Strength - float64(u.AccessCount); first > 0 {
		out.Strength = first
	}
	if out.Strength == 0 {
		out.Strength = 1
	}
	return &out, nil
}
