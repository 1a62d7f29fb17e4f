package clone

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/merge"
)

// match finds the notes of the other side that this side has under another id: that have its key, or were told to both.
func (p *mergePlan) match(h head, d *decision) error {
	for _, id := range p.ids {
		if theirs := p.other[id]; d.ours[id] == nil && theirs != nil && theirs.Key != "" {
			if err := p.matchKey(h, d, theirs); err != nil {
				return err
			}
		}
	}
	told := p.told(func(id uuid.UUID) bool { return d.ours[id] == nil })
	return eachTold(h, told, func(ours *memory.Note) {
		if p.inherited[ours.ID] || p.base[ours.ID] != nil || p.other[ours.ID] != nil {
			return // the other side was told it once more
		}
		digest := memory.DigestOf(ours)
		i := slices.IndexFunc(told[digest], func(n *memory.Note) bool { return toldTwice(ours, n) })
		if i < 0 {
			return
		}
		theirs := told[digest][i]
		told[digest] = slices.Delete(told[digest], i, i+1) // each is one note of the other side
		d.same[theirs.ID], d.taken[theirs.ID] = ours.ID, ours
	})
}

// matchKey finds the note of this side with the key of one of the other side.
func (p *mergePlan) matchKey(h head, d *decision, theirs *memory.Note) error {
	taken, err := h.byKey(theirs.Kind, theirs.Key)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if held, ok := p.other[taken.ID]; slices.Contains(p.ids, taken.ID) && (!ok || held.Key != theirs.Key || held.Kind != theirs.Kind) {
		return nil // the merge frees the key
	}
	d.same[theirs.ID], d.taken[theirs.ID] = taken.ID, &taken
	return nil
}

// told returns notes without a key that the other side has, by their digests: as they were at the last merge, if they were there.
func (p *mergePlan) told(wanted func(id uuid.UUID) bool) map[int64][]*memory.Note {
	out := map[int64][]*memory.Note{}
	for _, id := range p.ids {
		n := p.other[id]
		if n == nil || !wanted(id) {
			continue
		}
		if was := p.base[id]; was != nil {
			n = was
		}
		if n.Key == "" {
			digest := memory.DigestOf(n)
			out[digest] = append(out[digest], n)
		}
	}
	return out
}

// eachTold calls each for the notes of this side with one of the digests, oldest first.
func eachTold(h head, told map[int64][]*memory.Note, each func(*memory.Note)) error {
	for batch := range slices.Chunk(slices.Sorted(maps.Keys(told)), readBatch) {
		q := memory.NoteQuery{Digests: batch}
		q.Vector = true
		list, err := h.list(q)
		if err != nil {
			return err
		}
		for i := range list {
			each(&list[i])
		}
	}
	return nil
}

// readInherited reads which notes that say the same as one of the other side are of the view that both sides come from.
func (p *mergePlan) readInherited(ctx context.Context, base memory.View) error {
	var ids []uuid.UUID
	told := p.told(func(uuid.UUID) bool { return true })
	if err := eachTold(p.headOf(ctx), told, func(n *memory.Note) { ids = append(ids, n.ID) }); err != nil {
		return err
	}
	shown, err := p.c.notesIn(ctx, p.s, base, ids)
	p.inherited = make(map[uuid.UUID]bool, len(shown))
	for id := range shown {
		p.inherited[id] = true
	}
	return err
}

// toldTwice reports whether two notes without a key are one that was told to both sides: the same words of the same speaker at the same
// time, and nothing in their attributes that contradicts. Ids of notes do not: each side has its own.
func toldTwice(ours, theirs *memory.Note) bool {
	if ours.Key != "" || !ours.OccurredAt.Equal(theirs.OccurredAt) || !memory.IsDuplicate(ours, theirs) {
		return false
	}
	_, conflicts := merge.Notes(nil, ours, alike(ours, theirs), merge.Ours)
	return !slices.ContainsFunc(conflicts, func(c merge.Conflict) bool { return !isID(c.Ours) || !isID(c.Theirs) })
}

func isID(value any) bool {
	text, _ := value.(string)
	_, err := uuid.Parse(text)
	return err == nil
}

// decideTaken decides about a note that this side has under another id: what says the same is that note.
func (p *mergePlan) decideTaken(d *decision, taken, theirs *memory.Note) {
	base := p.base[theirs.ID]
	if theirs.Key == "" && base != nil { // the other side has changed it since both were told
		was, is := *base, *theirs
		was.ID, is.ID = taken.ID, taken.ID
		out, conflicts := merge.Notes(&was, taken, &is, p.strategy)
		d.conflicts = append(d.conflicts, conflicts...)
		if out != taken {
			d.puts, d.ours[taken.ID] = append(d.puts, p.attributed(*out, base, theirs)), taken
		}
		return
	}
	if taken.Content == theirs.Content {
		if out, conflicts := merge.Notes(nil, taken, alike(taken, theirs), p.strategy); theirs.Key == "" || len(conflicts) == 0 {
			if len(merge.Fields(taken, out)) > 0 {
				d.puts, d.ours[taken.ID] = append(d.puts, *out), taken
			}
			return
		}
	}
	d.conflicts = append(d.conflicts, merge.Conflict{Note: theirs.ID, Field: "key", Ours: taken.ID.String(), Theirs: theirs.ID.String()})
	if p.strategy == merge.Theirs {
		n := *theirs
		n.ID, n.CreatedAt, n.Error = taken.ID, taken.CreatedAt, ""
		d.puts, d.ours[n.ID], d.replaced[n.ID] = append(d.puts, p.attributed(n, nil, theirs)), taken, true
	}
}

// alike returns a note of the other side as the one that this side has, where both say the same: when each heard it, and what was made
// of it since, are not conflicts.
func alike(ours, theirs *memory.Note) *memory.Note {
	n := *theirs
	n.ID, n.Context, n.Category, n.Importance, n.State = ours.ID, ours.Context, ours.Category, ours.Importance, ours.State
	n.OccurredAt, n.ExpiresAt = ours.OccurredAt, ours.ExpiresAt
	n.Attributes = maps.Clone(theirs.Attributes)
	for _, key := range []string{memory.AttrTurn, memory.AttrSession} {
		delete(n.Attributes, key)
		if v, ok := ours.Attributes[key]; ok {
			n.Attributes[key] = v
		}
	}
	return &n
}

// renamedNote returns a note of the other side with the ids by which this side has the notes that it names.
func (d *decision) renamedNote(n *memory.Note) *memory.Note {
	if n == nil || len(d.same) == 0 || n.Kind == memory.KindPassage { // decidePassages decides about those
		return n
	}
	out := *n
	out.Provenance.Sources, out.Attributes = d.renamedNotes(n.Provenance.Sources), maps.Clone(n.Attributes)
	for name, value := range out.Attributes {
		text, _ := value.(string)
		if id, err := uuid.Parse(text); err == nil && d.same[id] != uuid.Nil {
			out.Attributes[name] = d.same[id].String()
		}
	}
	return &out
}

// renamedNotes returns the ids by which this side has notes, each once.
func (d *decision) renamedNotes(ids []uuid.UUID) []uuid.UUID {
	out := ids[:0:0]
	for _, id := range ids {
		if own, ok := d.same[id]; ok {
			id = own
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// renamed returns a link between the notes that this side has.
func (d *decision) renamed(l memory.LinkID) memory.LinkID {
	if id, ok := d.same[l.Source]; ok {
		l.Source = id
	}
	if id, ok := d.same[l.Target]; ok {
		l.Target = id
	}
	return l
}
