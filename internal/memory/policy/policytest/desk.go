// Package policytest holds what tests of policies share: a desk with fixed notes and
// scripted answers, sample notes and events, and golden files of prompts. Only tests
// import it; it depends on memory alone.
package policytest

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Noon is the time of every desk and the base of the sample notes' times.
var Noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// Desk is a [memory.Desk] with fixed notes and scripted answers. It records the calls.
// It writes nothing, and what it does not hold is empty.
type Desk struct {
	Overrides   string                      // the collection's policy_config
	Near        []memory.Neighbor           // of every note and query, best first
	LinkedNotes map[uuid.UUID][]memory.Note // by note
	Answers     map[string]string           // by call name
	By          memory.Analyst              // who answers; "": the model
	Err         error                       // of every call
	Asked       []memory.Call               // the calls so far
}

// Config returns the overrides.
func (d *Desk) Config() json.RawMessage { return json.RawMessage(d.Overrides) }

// Now returns Noon.
func (d *Desk) Now() time.Time { return Noon }

// Rand returns a source with a fixed seed.
func (d *Desk) Rand() *rand.Rand {
	return rand.New(rand.NewPCG(1, 2)) //nolint:gosec // tests need the same numbers every time
}

// Absent records nothing.
func (d *Desk) Absent(memory.Kind, string) {
}

// Analyst returns who answers: By, or the model.
func (d *Desk) Analyst() memory.Analyst {
	if d.By == "" {
		return memory.AnalystModel
	}
	return d.By
}

// Ask returns the scripted answer if the call's own check accepts it, as a model does.
func (d *Desk) Ask(_ context.Context, c memory.Call) (memory.Answer, error) {
	d.Asked = append(d.Asked, c)
	if d.Err != nil {
		return memory.Answer{}, d.Err
	}
	raw, ok := d.Answers[c.Name]
	if !ok {
		return memory.Answer{}, fmt.Errorf("no answer for %q", c.Name)
	}
	if c.Check != nil {
		if err := c.Check(json.RawMessage(raw)); err != nil {
			return memory.Answer{}, fmt.Errorf("%w: %w", memory.ErrBadAnswer, err)
		}
	}
	return memory.Answer{JSON: json.RawMessage(raw), Analyst: d.Analyst(), Model: "test"}, nil
}

// Nearest returns the first k of Near.
func (d *Desk) Nearest(_ context.Context, _ memory.Note, k int) ([]memory.Neighbor, error) {
	return d.Near[:min(k, len(d.Near))], nil
}

// Notes returns the notes in Near with these ids.
func (d *Desk) Notes(_ context.Context, ids []uuid.UUID) ([]memory.Note, error) {
	var out []memory.Note
	for _, nb := range d.Near {
		if slices.Contains(ids, nb.Note.ID) {
			out = append(out, nb.Note)
		}
	}
	return out, nil
}

// Linked returns at most limit of the LinkedNotes of each note.
func (d *Desk) Linked(_ context.Context, ids []uuid.UUID, limit int) (map[uuid.UUID][]memory.Note, error) {
	out := map[uuid.UUID][]memory.Note{}
	for _, id := range ids {
		out[id] = d.LinkedNotes[id][:min(limit, len(d.LinkedNotes[id]))]
	}
	return out, nil
}

// NewID returns a random id.
func (d *Desk) NewID() uuid.UUID { return uuid.New() }

// Similar returns the first notes of Near for each query.
func (d *Desk) Similar(_ context.Context, q []memory.SimilarQuery) ([][]memory.Neighbor, error) {
	out := make([][]memory.Neighbor, len(q))
	for i := range q {
		out[i] = d.Near[:min(q[i].K, len(d.Near))]
	}
	return out, nil
}

// Embed returns empty vectors.
func (d *Desk) Embed(_ context.Context, texts []string) ([][]float32, error) {
	return make([][]float32, len(texts)), nil
}

// Past returns no notes.
func (d *Desk) Past(context.Context, []uuid.UUID, memory.Revision) ([]memory.Note, error) {
	return nil, nil
}

// ByKey finds no note.
func (d *Desk) ByKey(context.Context, memory.Kind, string) (memory.Note, bool, error) {
	return memory.Note{}, false, nil
}

// Links returns no links.
func (d *Desk) Links(context.Context, []uuid.UUID, memory.Direction) ([]memory.Link, error) {
	return nil, nil
}

// List returns no notes.
func (d *Desk) List(context.Context, memory.NoteQuery) ([]memory.Note, error) { return nil, nil }

// All returns none.
func (d *Desk) All(context.Context, memory.Kind, memory.ReadOptions) ([]*memory.Note, error) {
	return nil, nil
}

// AllRead returns what is made of no notes.
func (d *Desk) AllRead(_ context.Context, _ memory.Kind, _ func(*memory.Note) any, sum func(any, []memory.ReadNote) any) (any, error) {
	return sum(nil, nil), nil
}

// Recent returns no messages.
func (d *Desk) Recent(context.Context, uuid.UUID, int) ([]memory.Note, error) { return nil, nil }

// Usage returns no usage.
func (d *Desk) Usage(context.Context, []uuid.UUID) (map[uuid.UUID]memory.Usage, error) {
	return map[uuid.UUID]memory.Usage{}, nil
}

// ID returns a fixed id for a small number.
func ID(n byte) uuid.UUID {
	return uuid.UUID{0x01, 0x90, 6: 0x70, 8: 0x80, 15: n}
}

// Note returns a note with all described fields set.
func Note(n byte, content string) memory.Note {
	return memory.Note{
		ID: ID(n), Kind: memory.KindNote, Content: content, Context: fmt.Sprintf("Context %d.", n),
		Keywords: []string{fmt.Sprintf("kw%d", n), "shared"}, Tags: []string{fmt.Sprintf("tag%d", n)},
		Category: "Work", Importance: 0.5, OccurredAt: Noon.Add(time.Duration(n) * time.Hour),
	}
}

// Neighbors returns n notes with ids 1..n, nearest first.
func Neighbors(n int) []memory.Neighbor {
	out := make([]memory.Neighbor, n)
	for i := range out {
		out[i] = memory.Neighbor{Note: Note(byte(i+1), fmt.Sprintf("Old content %d.", i+1)), Score: 0.9 - 0.1*float64(i)}
	}
	return out
}

// Added returns the event of an added note.
func Added(n memory.Note) memory.Event { return memory.Event{Kind: memory.EventNote, Note: n} }

// TaskEvent returns the event of a task; args is JSON, or "".
func TaskEvent(name, key, args string) memory.Event {
	e := memory.Event{Kind: memory.EventTask, Task: memory.Task{Name: name, Key: key}}
	if args != "" {
		e.Task.Args = json.RawMessage(args)
	}
	return e
}
