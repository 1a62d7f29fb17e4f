package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// table is a desk with notes laid out on it and answers written in advance.
type table struct {
	config  string
	near    []memory.Neighbour
	linked  map[uuid.UUID][]memory.Note
	answers map[string]string // by call name
	analyst memory.Analyst
	err     error
	asked   []memory.Call
}

func (d *table) Config() json.RawMessage { return json.RawMessage(d.config) }
func (d *table) Now() time.Time          { return noon }
func (d *table) Rand() *rand.Rand        { return rand.New(rand.NewPCG(1, 2)) }
func (d *table) Absent(memory.Kind, string) {
}

func (d *table) Analyst() memory.Analyst {
	if d.analyst == "" {
		return memory.AnalystModel
	}
	return d.analyst
}

// Ask holds an answer to the call's own check, as a model does.
func (d *table) Ask(_ context.Context, c memory.Call) (memory.Answer, error) {
	d.asked = append(d.asked, c)
	if d.err != nil {
		return memory.Answer{}, d.err
	}
	raw, ok := d.answers[c.Name]
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

func (d *table) Nearest(_ context.Context, _ memory.Note, k int) ([]memory.Neighbour, error) {
	return d.near[:min(k, len(d.near))], nil
}

func (d *table) Notes(_ context.Context, ids []uuid.UUID) ([]memory.Note, error) {
	var out []memory.Note
	for _, nb := range d.near {
		if slices.Contains(ids, nb.Note.ID) {
			out = append(out, nb.Note)
		}
	}
	return out, nil
}

func (d *table) Linked(_ context.Context, ids []uuid.UUID, limit int) (map[uuid.UUID][]memory.Note, error) {
	out := map[uuid.UUID][]memory.Note{}
	for _, id := range ids {
		out[id] = d.linked[id][:min(limit, len(d.linked[id]))]
	}
	return out, nil
}

func (d *table) NewID() uuid.UUID { return uuid.New() }

func (d *table) Similar(_ context.Context, q []memory.SimilarQuery) ([][]memory.Neighbour, error) {
	out := make([][]memory.Neighbour, len(q))
	for i := range q {
		out[i] = d.near[:min(q[i].K, len(d.near))]
	}
	return out, nil
}

func (d *table) Embed(_ context.Context, texts []string) ([][]float32, error) {
	return make([][]float32, len(texts)), nil
}

func (d *table) Past(context.Context, []uuid.UUID, memory.Revision) ([]memory.Note, error) {
	return nil, nil
}

func (d *table) ByKey(context.Context, memory.Kind, string) (memory.Note, bool, error) {
	return memory.Note{}, false, nil
}

func (d *table) Links(context.Context, []uuid.UUID, memory.Direction) ([]memory.Link, error) {
	return nil, nil
}

func (d *table) List(context.Context, memory.NoteQuery) ([]memory.Note, error) { return nil, nil }

func (d *table) Recent(context.Context, uuid.UUID, int) ([]memory.Note, error) { return nil, nil }

func (d *table) Usage(context.Context, []uuid.UUID) (map[uuid.UUID]memory.Usage, error) {
	return nil, nil
}

// id gives a fixed id for a small number.
func id(n byte) uuid.UUID {
	return uuid.UUID{0x01, 0x90, 6: 0x70, 8: 0x80, 15: n}
}

// note makes a note with everything set.
func note(n byte, content string) memory.Note {
	return memory.Note{
		ID: id(n), Kind: memory.KindNote, Content: content, Context: fmt.Sprintf("Context %d.", n),
		Keywords: []string{fmt.Sprintf("kw%d", n), "shared"}, Tags: []string{fmt.Sprintf("tag%d", n)},
		Category: "Work", Importance: 0.5, OccurredAt: noon.Add(time.Duration(n) * time.Hour),
	}
}

// neighbours gives n notes with ids 1..n, nearest first.
func neighbours(n int) []memory.Neighbour {
	out := make([]memory.Neighbour, n)
	for i := range out {
		out[i] = memory.Neighbour{Note: note(byte(i+1), fmt.Sprintf("Old content %d.", i+1)), Score: 0.9 - 0.1*float64(i)}
	}
	return out
}

func newAMem(t *testing.T) *AMem {
	t.Helper()
	p, err := NewAMem()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// added is the event of a note.
func added(n memory.Note) memory.Event { return memory.Event{Kind: memory.EventNote, Note: n} }
