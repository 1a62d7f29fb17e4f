package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// application is one decision on its way into the log.
type application struct {
	e     *Engine
	job   *memory.Job // nil: a caller asks
	event memory.EventKind
	about []memory.Note // the notes of the event as they were read; none for a task
	desk  *desk
	dec   memory.Decision
	spent costs
	last  bool // what moved is left out
	try   int

	owns    []memory.Note // the notes of the event as they will be
	refused []refused
}

// ready completes a decision before its transaction: what it may touch, states, vectors.
func (a *application) ready(ctx context.Context, s tenant.Scope, em memory.Embedder) error {
	a.own()
	a.confine()
	for i := range a.owns {
		n := &a.owns[i]
		switch {
		case a.dec.Pending != "":
			n.State, n.Error = memory.StatePending, a.dec.Pending
		case a.dec.Review != nil:
			n.State, n.Error = memory.StateInReview, ""
		case a.event == memory.EventNote && n.State == memory.StateRaw && n.Content != a.about[i].Content:
			// Divided: what is left of it goes through the policy anew.
			n.State, n.Error = memory.StateRaw, ""
		default:
			n.State, n.Error = memory.StateEvolved, ""
		}
	}
	if err := a.listed(ctx, s); err != nil {
		return err
	}
	notes := make([]*memory.Note, 0, len(a.owns)+len(a.dec.Puts))
	was := make([]memory.Note, 0, cap(notes))
	for i := range a.owns {
		notes, was = append(notes, &a.owns[i]), append(was, a.about[i])
	}
	for i := range a.dec.Puts {
		p := &a.dec.Puts[i]
		notes = append(notes, p)
		was = append(was, a.desk.read[p.ID]) // the zero note for a new one
	}
	for _, n := range notes {
		n.Vector, n.Tokens = nil, nil
	}
	return a.e.revector(ctx, s, em, notes, was)
}

// own gives the notes of the event as the decision leaves them: that of a note
// is the decision's, messages stay as they are unless they are put.
func (a *application) own() {
	a.owns = slices.Clone(a.about)
	for i := range a.owns {
		n := &a.owns[i]
		put := -1
		if a.event != memory.EventNote {
			put = slices.IndexFunc(a.dec.Puts, func(p memory.Note) bool { return p.ID == n.ID })
		}
		was := *n
		switch {
		case a.event == memory.EventNote:
			*n = a.dec.Note
		case put >= 0:
			*n = a.dec.Puts[put]
		}
		n.ID, n.Kind, n.Key = was.ID, was.Kind, was.Key
		if err := n.Check(); err != nil {
			a.refuse("note", n.Kind, err)
			*n = was
		}
	}
}

func (a *application) refuse(part string, kind memory.Kind, err error) {
	a.refused = append(a.refused, refused{Part: part, Kind: kind, Reason: reason(err)})
}

// mine tells whether a note is one of the event's.
func (a *application) mine(id uuid.UUID) bool {
	return slices.ContainsFunc(a.about, func(n memory.Note) bool { return n.ID == id })
}

// known tells whether the policy has seen a note.
func (a *application) known(id uuid.UUID) bool {
	_, read := a.desk.read[id]
	_, seen := a.desk.seen[id]
	return read || seen || a.mine(id)
}

// fresh tells whether a put makes a note.
func (a *application) fresh(p *memory.Note) bool { return p.ID == uuid.Nil || a.desk.made[p.ID] }

// confine drops what a policy may not ask for: changes of notes that it has not
// seen, links between others than those it has seen or makes, links of a note to
// itself, and what is too long to be kept. One bad part is not the whole
// decision's end.
func (a *application) confine() {
	made := map[uuid.UUID]bool{}
	keys := map[naturalKey]bool{}
	var puts []memory.Note
	for _, p := range a.dec.Puts {
		fresh := a.fresh(&p)
		if a.mine(p.ID) || !fresh && !a.known(p.ID) || fresh && made[p.ID] {
			continue
		}
		if p.Key != "" && keys[naturalKey{p.Kind, p.Key}] {
			a.refused = append(a.refused, refused{Part: "note", Kind: p.Kind, Reason: "another note of the decision has its key"})
			continue
		}
		if fresh {
			a.complete(&p)
		}
		if err := p.Check(); err != nil {
			a.refuse("note", p.Kind, err)
			continue
		}
		keys[naturalKey{p.Kind, p.Key}] = true
		if p.ID != uuid.Nil && fresh {
			made[p.ID] = true
		}
		puts = append(puts, p)
	}
	a.dec.Puts = puts
	a.dec.Deletes = slices.DeleteFunc(slices.Clone(a.dec.Deletes), func(id uuid.UUID) bool { return !a.known(id) })
	end := func(id uuid.UUID) bool { return made[id] || a.known(id) }
	var links []memory.Link
	for _, l := range a.dec.Links {
		if l.Source == l.Target || !end(l.Source) || !end(l.Target) {
			continue
		}
		if err := l.Check(); err != nil {
			a.refuse("link", "", err)
			continue
		}
		links = append(links, l)
	}
	a.dec.Links = links
}

// complete fills in what a new note needs: a policy has decided about it
// unless it says otherwise, and it comes from what the event is about.
func (a *application) complete(p *memory.Note) {
	if p.Kind == "" {
		p.Kind = memory.KindNote
	}
	if p.State == "" {
		p.State = memory.StateEvolved
	}
	if p.Category == "" {
		p.Category = memory.DefaultCategory
	}
	if len(p.Provenance.Sources) == 0 {
		for i := range a.about {
			p.Provenance.Sources = append(p.Provenance.Sources, a.about[i].ID)
		}
	}
}

// listed reads again, with their vectors, notes that are changed and were only
// listed, so that their texts need not be embedded anew.
func (a *application) listed(ctx context.Context, s tenant.Scope) error {
	var ids []uuid.UUID
	for i := range a.dec.Puts {
		id := a.dec.Puts[i].ID
		_, read := a.desk.read[id]
		if _, seen := a.desk.seen[id]; seen && !read {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	notes, err := a.e.store.Notes(ctx, s, a.desk.v, ids, memory.ReadOptions{Vector: true})
	if err != nil {
		return err
	}
	a.desk.record(notes)
	return nil
}

func (a *application) apply(ctx context.Context, s tenant.Scope) error {
	o := memory.WriteOptions{Cause: a.cause(), Job: a.job.ID, Trigger: a.job.Note, System: true}
	_, err := a.e.store.Write(ctx, s, a.job.Collection, o, func(ctx context.Context, tx memory.Tx) error {
		w := writing{application: a, tx: tx}
		return w.run(ctx)
	})
	return err
}

// cause is what the log says of the changeset.
func (a *application) cause() memory.Cause {
	switch {
	case a.dec.Cause != "":
		return a.dec.Cause
	case a.dec.Pending != "":
		return memory.CauseMark
	default:
		return memory.CauseEvolve
	}
}

// sameJSON tells that two objects say the same. Numbers of different types are
// equal when they are written alike.
func sameJSON(a, b map[string]any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
