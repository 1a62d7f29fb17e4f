package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

const secondDim = 512

// secondEmbedder is another embedder: with small vectors, slow (so a write is answered before
// anything is embedded), with one token for each word.
type secondEmbedder struct {
	mu     sync.Mutex
	dim    int
	give   func(texts []string) error // called with each batch; Embed returns its error
	spoil  func(m *memory.Embedding)
	texts  int
	widest int // texts of one call
}

func (e *secondEmbedder) Name() string { return "second" }
func (e *secondEmbedder) Fast() bool   { return false }

func (e *secondEmbedder) Dim() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dim
}

func (e *secondEmbedder) set(change func(e *secondEmbedder)) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change(e)
}

func (e *secondEmbedder) Embed(_ context.Context, _ tenant.Scope, texts []string) ([]memory.Embedding, error) {
	e.mu.Lock()
	give, spoil, dim := e.give, e.spoil, e.dim
	e.texts, e.widest = e.texts+len(texts), max(e.widest, len(texts))
	e.mu.Unlock()
	if give != nil {
		if err := give(texts); err != nil {
			return nil, err
		}
	}
	out := make([]memory.Embedding, len(texts))
	for i, t := range texts {
		out[i].Vector = make([]float32, dim)
		for word := range strings.FieldsSeq(t) {
			var h uint32
			for _, b := range []byte(word) {
				h = 31*h + uint32(b)
			}
			out[i].Vector[h%uint32(dim)]++
			out[i].Tokens = append(out[i].Tokens, memory.Token{Word: word, Code: [memory.TokenDim]int8{int8(h % 127)}})
		}
		if spoil != nil {
			spoil(&out[i])
		}
	}
	return out, nil
}

// twoEmbedders are the embedders of a world and the second one.
type twoEmbedders struct {
	memory.Embedders
	other *secondEmbedder
}

func (t twoEmbedders) Names() []string { return append(t.Embedders.Names(), t.other.Name()) }

func (t twoEmbedders) ByName(name string) (memory.Embedder, bool) {
	if name == t.other.Name() {
		return t.other, true
	}
	return t.Embedders.ByName(name)
}

func newWorldWithSecond(t *testing.T) (*world, *secondEmbedder) {
	t.Helper()
	other := &secondEmbedder{dim: secondDim}
	w := newWorld(t, options{heuristic: true, config: `{"analyst":"heuristic"}`, also: other})
	return w, other
}

// addUninferred stores notes as they are, each in a changeset.
func (w *world) addUninferred(c uuid.UUID, contents ...string) []memory.Note {
	w.t.Helper()
	out := make([]memory.Note, len(contents))
	for i, s := range contents {
		written := must.Get(w.notes.Add(w.t.Context(), w.s, c.String(), notes.NewNote{Content: s, Infer: new(false)}, memory.Request{}))(w.t)
		out[i] = written.Note
	}
	return out
}

func numbered(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("note %d tells of thing%d", i, i)
	}
	return out
}

// reembed enqueues the job and leases it.
func (w *world) reembed(c uuid.UUID, embedder string) memory.Job {
	w.t.Helper()
	payload := must.Get(json.Marshal(memory.ReembedJob{Embedder: embedder}))(w.t)
	must.Get(w.store.Write(w.t.Context(), w.s, c, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Enqueue(ctx, memory.Job{Kind: memory.JobReembed, Stage: memory.StageTask, Payload: payload})
		return err
	}))(w.t)
	return w.lease(c)
}

func (w *world) lease(c uuid.UUID) memory.Job {
	w.t.Helper()
	for _, j := range w.claim(c, memory.StageTask, 10) {
		if j.Kind == memory.JobReembed {
			return j
		}
	}
	w.t.Fatal("no reembed job is due")
	return memory.Job{}
}

// convert runs a leased job and requires that it is done.
func (w *world) convert(j memory.Job) []memory.Progress {
	w.t.Helper()
	var told []memory.Progress
	must.Do(w.t, w.engine.RunReembed(w.t.Context(), grant.Job(j.Tenant, j.ID), j, func(_ context.Context, p memory.Progress) error {
		told = append(told, p)
		return nil
	}))
	if got := w.job(j.ID); got.State != memory.JobDone {
		w.t.Fatalf("the job is %+v", got)
	}
	return told
}

func (w *world) job(id uuid.UUID) memory.Job {
	w.t.Helper()
	j := must.Get(w.store.Job(w.t.Context(), w.s, id))(w.t)
	return j
}

func (w *world) verify() {
	w.t.Helper()
	problems, err := w.store.Verify(w.t.Context())
	if err != nil || len(problems) > 0 {
		w.t.Errorf("verify: %v, %v", problems, err)
	}
}

// countVectors counts the notes that a collection shows, and those of them with a vector of an
// embedder.
func (w *world) countVectors(c uuid.UUID, embedder string, dim int) (notes, with int64) {
	w.t.Helper()
	v := w.view(c)
	counts := must.Get(w.store.Counts(w.t.Context(), w.s, v))(w.t)
	with, other, err := w.store.CountVectors(w.t.Context(), w.s, v, embedder, dim)
	if err != nil || other > 0 {
		w.t.Fatalf("%d vectors of another size, %v", other, err)
	}
	return counts.Notes, with
}

// nearestTo returns the id of the first hit of a search by meaning.
func (w *world) nearestTo(c uuid.UUID, text string) uuid.UUID {
	w.t.Helper()
	out, err := w.recall.Search(w.t.Context(), w.s, w.view(c), recall.Query{Text: text, K: 3, Mode: "vector"})
	if err != nil || len(out.Hits) == 0 {
		w.t.Fatalf("search in %s: %v, %v", c, out.Hits, err)
	}
	return out.Hits[0].ID
}

func TestReembed(t *testing.T) {
	t.Parallel()
	w, other := newWorldWithSecond(t)
	main := w.c.ID
	notes := w.addUninferred(main, numbered(70)...)
	f, sibling := w.fork("f"), w.fork("sibling")
	own := w.addUninferred(f, "only in the fork")[0]
	hash := w.view(main).Collection
	before := w.view(f)
	if got := w.nearestTo(f, notes[7].Content); got != notes[7].ID { // the index of the old vectors is loaded
		t.Errorf("found %s", got)
	}

	told := w.convert(w.reembed(f, other.Name()))
	if last := told[len(told)-1]; last.Done != 71 || last.Total != 71 || len(told) < 3 {
		t.Errorf("told of %+v", told)
	}
	if other.widest > memory.EmbedBatch || other.texts != 71 {
		t.Errorf("%d texts, %d at once", other.texts, other.widest)
	}
	c := w.view(f).Collection
	if c.Embedder != other.Name() || c.Dim != secondDim || c.Head != before.At+1 {
		t.Errorf("the fork is %+v", c)
	}
	if n, with := w.countVectors(f, other.Name(), secondDim); n != 71 || with != 71 {
		t.Errorf("%d notes, %d vectors", n, with)
	}
	got := w.getIn(f, notes[7].ID)
	if got.Embedder != other.Name() || len(got.Vector) != secondDim || len(got.Tokens) != 5*memory.TokenDim || got.Version() != notes[7].Version() {
		t.Errorf("the fork reads %+v", got)
	}
	for _, id := range []uuid.UUID{main, sibling} {
		n := w.getIn(id, notes[7].ID)
		if x := w.view(id).Collection; x.Embedder != hash.Embedder || x.Dim != hash.Dim || x.Head != hash.Head || n.Embedder != hash.Embedder || n.Tokens != nil {
			t.Errorf("%s is %+v and reads %+v", x.Name, x, n)
		}
		if got := w.nearestTo(id, notes[7].Content); got != notes[7].ID {
			t.Errorf("found %s", got)
		}
	}
	if w.nearestTo(f, notes[7].Content) != notes[7].ID || w.nearestTo(f, own.Content) != own.ID {
		t.Error("a search in the fork does not find the notes")
	}
	out, err := w.recall.Search(t.Context(), w.s, before, recall.Query{Text: notes[7].Content, Mode: "vector"})
	if err != nil || out.Hits[0].ID != notes[7].ID {
		t.Errorf("a view from before the switch: %+v, %v", out.Hits, err)
	}

	// A second run finds nothing to do, and the way back embeds only what was written since.
	head := w.view(f).At
	w.convert(w.reembed(f, other.Name()))
	if w.view(f).At != head || other.texts != 71+2 { // two queries by meaning
		t.Errorf("a second time: head %d after %d, %d texts", w.view(f).At, head, other.texts)
	}
	w.addUninferred(f, "written with the second")
	w.drain()
	w.convert(w.reembed(f, hash.Embedder))
	if n, with := w.countVectors(f, hash.Embedder, hash.Dim); n != 72 || with != 72 || w.view(f).Collection.Embedder != hash.Embedder {
		t.Errorf("back: %d notes, %d vectors, %+v", n, with, w.view(f).Collection)
	}
	w.verify()
}

// An index of the layer that another fork loaded in the same embedder lacks the vectors of notes
// that only this fork sees.
func TestReembedBesideAnIndex(t *testing.T) {
	t.Parallel()
	w, other := newWorldWithSecond(t)
	main := w.c.ID
	w.addUninferred(main, numbered(3)...)
	early := w.fork("early")
	later := w.addUninferred(main, "zebras graze later")[0]
	late := w.fork("late")
	w.convert(w.reembed(early, other.Name()))
	w.nearestTo(early, "zebras graze later") // loads the layer of the base, up to its head
	w.convert(w.reembed(late, other.Name()))
	if w.nearestTo(late, later.Content) != later.ID {
		t.Error("the index lacks a vector that was added")
	}
	w.convert(w.reembed(main, other.Name()))
	if w.nearestTo(main, later.Content) != later.ID || w.nearestTo(early, "note 2 tells of thing2") == later.ID {
		t.Error("the base's own switch")
	}
	child, err := w.clone.Clone(t.Context(), w.s, late.String(), clone.Input{}, memory.Request{})
	if err != nil || child.Collection.Embedder != other.Name() || w.nearestTo(child.Collection.ID, later.Content) != later.ID {
		t.Errorf("a fork of a fork: %+v, %v", child.Collection, err)
	}
	w.verify()
}

// However a try ends, the next one continues, and the old vectors serve until the switch.
func TestReembedIsResumed(t *testing.T) {
	t.Parallel()
	w, other := newWorldWithSecond(t)
	notes := w.addUninferred(w.c.ID, numbered(100)...)
	old := w.view(w.c.ID).Collection.Embedder
	killed := errors.New("killed")
	j := w.reembed(w.c.ID, other.Name())
	for try := range 12 {
		steps := 0
		err := w.engine.RunReembed(t.Context(), grant.Job(j.Tenant, j.ID), j, func(_ context.Context, p memory.Progress) error {
			if _, with := w.countVectors(w.c.ID, other.Name(), secondDim); p.Done != with && p.Done != p.Total {
				t.Errorf("told of %d, there are %d", p.Done, with)
			}
			if steps++; steps > 2 {
				return killed
			}
			return nil
		})
		if err == nil {
			if try < 2 {
				t.Errorf("done at try %d", try)
			}
			break
		}
		if !errors.Is(err, killed) {
			t.Fatal(err)
		}
		if w.view(w.c.ID).Collection.Embedder == old && w.nearestTo(w.c.ID, notes[55].Content) != notes[55].ID {
			t.Error("the old vectors do not serve")
		}
		w.advance(time.Minute) // the lease expires
		j = w.lease(w.c.ID)
	}
	if other.texts != 100 {
		t.Errorf("%d texts for 100 notes", other.texts)
	}
	if n, with := w.countVectors(w.c.ID, other.Name(), secondDim); n != 100 || with != 100 || w.view(w.c.ID).Collection.Embedder != other.Name() {
		t.Errorf("%d notes, %d vectors", n, with)
	}
	if w.nearestTo(w.c.ID, notes[55].Content) != notes[55].ID {
		t.Error("the new vectors do not serve")
	}
	w.verify()
}

// Notes that are written while the job runs have vectors before the switch, or right after it if the
// writes do not stop.
func TestReembedCatchesUp(t *testing.T) {
	t.Parallel()
	for _, endless := range []bool{false, true} {
		t.Run(strconv.FormatBool(endless), func(t *testing.T) {
			t.Parallel()
			w, other := newWorldWithSecond(t)
			given := w.addUninferred(w.c.ID, numbered(40)...)
			written := 0
			other.set(func(e *secondEmbedder) {
				e.give = func([]string) error {
					if written++; endless || written < 5 {
						w.addUninferred(w.c.ID, fmt.Sprintf("meanwhile %d", written))
					}
					if written == 2 {
						_, err := w.notes.Delete(t.Context(), w.s, w.c.ID.String(), given[3].ID, memory.Request{})
						return err
					}
					return nil
				}
			})
			w.convert(w.reembed(w.c.ID, other.Name()))
			if n, with := w.countVectors(w.c.ID, other.Name(), secondDim); n != with && (!endless || with < n-1) {
				t.Errorf("%d notes, %d vectors", n, with)
			}
			other.set(func(e *secondEmbedder) { e.give = nil })
			w.drain()
			if n, with := w.countVectors(w.c.ID, other.Name(), secondDim); n != with {
				t.Errorf("in the end %d notes, %d vectors", n, with)
			}
			if counts, err := w.store.Counts(t.Context(), w.s, w.view(w.c.ID)); err != nil || counts.Pending != 0 {
				t.Errorf("%+v wait, %v", counts, err)
			}
			w.verify()
		})
	}
}

// With an embedder that fails, the job reports the reason, and nothing changes.
func TestReembedRefuses(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]struct {
		change func(e *secondEmbedder)
		code   fault.Code
		says   string
	}{
		"down": {func(e *secondEmbedder) {
			e.give = func([]string) error { return fault.New(fault.Unavailable, "it is down") }
		}, fault.Unavailable, "down"},
		"NaN":           {func(e *secondEmbedder) { e.spoil = func(m *memory.Embedding) { m.Vector[3] = float32(math.NaN()) } }, fault.ModelFailed, "element 3"},
		"infinite":      {func(e *secondEmbedder) { e.spoil = func(m *memory.Embedding) { m.Vector[0] = float32(math.Inf(-1)) } }, fault.ModelFailed, "element 0"},
		"beyond 16 bit": {func(e *secondEmbedder) { e.spoil = func(m *memory.Embedding) { m.Vector[1] = 1e5 } }, fault.ModelFailed, "element 1"},
		"other size":    {func(e *secondEmbedder) { e.spoil = func(m *memory.Embedding) { m.Vector = m.Vector[1:] } }, fault.ModelFailed, "511 dimensions instead of 512"},
		"grows under way": {func(e *secondEmbedder) {
			e.give = func([]string) error {
				if e.texts > memory.EmbedBatch { // the second batch; the lock is not held here
					e.set(func(e *secondEmbedder) { e.dim = 8 })
				}
				return nil
			}
		}, fault.ModelFailed, "dimensions"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, other := newWorldWithSecond(t)
			notes := w.addUninferred(w.c.ID, numbered(70)...)
			was := w.view(w.c.ID).Collection
			other.set(bad.change)
			j := w.reembed(w.c.ID, other.Name())
			err := w.engine.RunReembed(t.Context(), grant.Job(j.Tenant, j.ID), j, func(context.Context, memory.Progress) error { return nil })
			if !fault.Is(err, bad.code) || !strings.Contains(err.Error(), bad.says) {
				t.Fatalf("refused with %v", err)
			}
			w.run(j)
			if got := w.job(j.ID); got.State != memory.JobQueued && name != "grows under way" || got.Error == "" || got.Attempts != 1 {
				t.Errorf("the job is %+v", got)
			}
			if c := w.view(w.c.ID).Collection; c.Embedder != was.Embedder || c.Dim != was.Dim || c.Head != was.Head {
				t.Errorf("the collection is %+v", c)
			}
			if w.nearestTo(w.c.ID, notes[9].Content) != notes[9].ID {
				t.Error("the old vectors do not serve")
			}
			w.verify()
		})
	}
}

// One name has one size.
func TestReembedRefusesAnotherSize(t *testing.T) {
	t.Parallel()
	w, other := newWorldWithSecond(t)
	w.addUninferred(w.c.ID, "a", "b")
	f := w.fork("f")
	w.convert(w.reembed(f, other.Name()))
	other.set(func(e *secondEmbedder) { e.dim = 8 })
	for _, c := range []uuid.UUID{w.c.ID, f} {
		j := w.reembed(c, other.Name())
		w.run(j)
		if got := w.job(j.ID); got.State != memory.JobFailed || !strings.Contains(got.Error, "dimensions") {
			t.Errorf("the job is %+v", got)
		}
	}
	w.addUninferred(f, "c")
	w.drain()
	if n := w.jobs(uuid.Nil); !slices.ContainsFunc(n, func(j memory.Job) bool { return strings.Contains(j.Error, "has 8 dimensions now") }) {
		t.Error("a note was embedded by an embedder that has changed")
	}
}

// Missing vectors are computed with the collection's own embedder, in changesets.
func TestReembedFills(t *testing.T) {
	t.Parallel()
	w, other := newWorldWithSecond(t)
	w.addUninferred(w.c.ID, "with a vector")
	f := w.fork("f")
	w.convert(w.reembed(f, other.Name()))
	lacks := w.addUninferred(f, "without one")[0] // slow: a job would embed it
	w.convert(w.reembed(f, other.Name()))
	got := w.getIn(f, lacks.ID)
	if got.Embedder != other.Name() || got.From != lacks.From+1 {
		t.Errorf("filled %+v", got)
	}
	list, err := w.store.Changesets(t.Context(), w.s, w.view(f), lacks.From, 10)
	if err != nil || len(list) != 1 || list[0].Cause != memory.CauseReembed {
		t.Errorf("changesets %+v, %v", list, err)
	}
	w.drain()
	if counts, err := w.store.Counts(t.Context(), w.s, w.view(f)); err != nil || counts.Pending != 0 {
		t.Errorf("%+v, %v", counts, err)
	}
	w.verify()
}

// A long job lets others run in between.
func TestReembedTakesTurns(t *testing.T) {
	t.Parallel()
	other := &secondEmbedder{dim: secondDim}
	w := newWorld(t, options{heuristic: true, also: other, engine: engine.Config{ReembedSlice: time.Hour}})
	w.addUninferred(w.c.ID, numbered(70)...)
	other.set(func(e *secondEmbedder) { e.give = func([]string) error { w.advance(2 * time.Hour); return nil } })
	j := w.reembed(w.c.ID, other.Name())
	for turns := 1; ; turns++ {
		w.run(j)
		got := w.job(j.ID)
		if got.State == memory.JobDone {
			if turns < 3 {
				t.Errorf("%d turns", turns)
			}
			break
		}
		if got.State != memory.JobQueued || got.Attempts != 0 || turns > 10 {
			t.Fatalf("the job is %+v", got)
		}
		j = w.lease(w.c.ID)
	}
}
