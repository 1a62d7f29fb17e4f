package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// addMany stores notes about a few subjects, so that they have neighbors.
func (w *world) addMany(n int) []uuid.UUID {
	w.t.Helper()
	lines := make([]notes.BulkLine, n)
	for i := range lines {
		lines[i] = notes.BulkLine{Note: notes.NewNote{Content: fmt.Sprintf(
			"Voyage %d of the schooner carried %s to harbour %d.", i, []string{"timber", "salt", "wool"}[i%3], i%7)}}
	}
	out := must.Get(w.notes.AddMany(w.t.Context(), w.s, w.c.ID.String(), lines))(w.t)
	var made []uuid.UUID
	for _, r := range out {
		if r.Err != nil {
			w.t.Fatal(r.Err)
		}
		made = append(made, r.ID)
	}
	return made
}

// modelCalls counts the calls about notes.
func (w *world) modelCalls() int { return w.fake.Calls("analyze") + w.fake.Calls("evolve") }

// countNoteJobs counts the note jobs of a collection.
func (w *world) countNoteJobs(c uuid.UUID) int {
	w.t.Helper()
	return len(w.jobsOf(c, memory.JobNote))
}

// Forks of a collection whose notes are not decided yet wait for its jobs and share what they decide:
// no job and no call of a model for each fork.
func TestForksShareTheirBase(t *testing.T) {
	t.Parallel()
	const n, forks = 40, 10
	w := newWorld(t, options{})
	w.addMany(n)
	var made []uuid.UUID
	for i := range forks {
		made = append(made, w.fork(fmt.Sprint("fork", i)))
	}
	w.drain() // the forks have looked at their base once, and wait
	alone := w.modelCalls()
	w.settle()
	if got := w.modelCalls(); got != alone || w.fake.Calls("analyze") != n {
		t.Errorf("%d calls of the model, %d for the base alone", got, alone)
	}
	if got := len(w.jobs(uuid.Nil)); got > n+forks+2 { // and two consolidations
		t.Errorf("%d jobs", got)
	}
	want := w.digest(w.c.ID)
	for i, f := range made {
		if got := w.countNoteJobs(f); got != 0 {
			t.Errorf("fork %d has %d jobs", i, got)
		}
		sameDigest(t, fmt.Sprint("fork ", i), w.digest(f), want)
	}
	// A vector was copied with each note.
	for _, note := range w.all(made[0]) {
		if got := w.getIn(made[0], note.ID); got.Vector == nil || got.Layer != made[0] {
			t.Errorf("note %s has layer %s and a vector of %d", note.ID, got.Layer, len(got.Vector))
		}
	}
}

// What differs in a fork is decided there: a note that it changed, and what has a note of the fork among
// its neighbors. All else is shared.
func TestForkDecidesWhatDiffers(t *testing.T) {
	t.Parallel()
	const changed = "Apple trees blossom in the orchard, except when frost comes late."
	for name, differ := range map[string]func(w *world, f, apple uuid.UUID) (own int){
		"a changed note": func(w *world, f, apple uuid.UUID) int {
			text := changed
			must.Get(w.notes.Patch(w.t.Context(), w.s, f.String(), apple, notes.NotePatch{Content: &text}, memory.Request{}))(w.t)
			return 2
		},
		"a note of its own": func(w *world, f, _ uuid.UUID) int {
			in := notes.NewNote{Content: "Cherry trees blossom in the orchard every spring as well."}
			must.Get(w.notes.Add(w.t.Context(), w.s, f.String(), in, memory.Request{}))(w.t)
			return 3
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			w.fake.Always("evolve", keep())
			invoice := func(i int) string {
				return fmt.Sprintf("Quarterly invoice %d of the dentist was paid by wire transfer.", i)
			}
			for i := range 12 {
				w.learn(invoice(i))
			}
			apple := w.add("Apple trees blossom in the orchard every spring.")
			pear := w.add("Pear trees blossom in the orchard every spring too.")
			for i := range 6 {
				w.add(invoice(100 + i))
			}
			f := w.fork("f")
			want := differ(w, f, apple.ID)
			for w.step(f) { // the fork's own jobs; the adopt job waits
			}
			w.settle()
			own := map[uuid.UUID]bool{}
			for _, j := range w.jobsOf(f, memory.JobNote) {
				own[j.Note] = true
			}
			if len(own) != want || !own[apple.ID] || !own[pear.ID] {
				t.Errorf("the fork decided about %v; the trees are %s and %s", own, apple.ID, pear.ID)
			}
			for _, n := range w.all(f) {
				if n.State != memory.StateEvolved {
					t.Errorf("note %s is %q", n.ID, n.State)
				}
			}
			if got := w.getIn(f, apple.ID); name == "a changed note" && got.Content != changed {
				t.Errorf("the changed note is %q", got.Content)
			}
			if got := w.get(apple.ID); got.Content != apple.Content {
				t.Errorf("the base has %q", got.Content)
			}
		})
	}
}

// A fork decides itself when its base gives up, when a job of the base is canceled, and when the base
// is removed.
func TestForkWithoutItsBase(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*world){
		"canceled": func(w *world) {
			for _, j := range w.jobsOf(w.c.ID, memory.JobNote) {
				must.Get(w.store.CancelJob(w.t.Context(), w.s, j.ID, memory.AuditEntry{}))(w.t)
			}
		},
		"removed": func(w *world) {
			must.Get(w.store.DeleteCollection(w.t.Context(), w.s, w.c.ID, true, memory.AuditEntry{}))(w.t)
		},
		"other settings": func(w *world) {
			must.Get(w.store.UpdateCollection(w.t.Context(), w.s, w.c.ID, memory.AuditEntry{}, func(c *memory.Collection) error {
				c.PolicyConfig = json.RawMessage(`{"k_neighbours":2}`)
				return nil
			}))(w.t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{})
			made := w.addMany(4)
			f := w.fork("f")
			if !w.step(f) { // the adopt job waits now
				t.Fatal("the fork has no job")
			}
			if got := w.countNoteJobs(f); got != 0 {
				t.Fatalf("%d jobs while the base works", got)
			}
			lose(w)
			w.settle()
			if got := w.countNoteJobs(f); got != len(made) {
				t.Errorf("%d jobs, want one for each note", got)
			}
			for _, n := range made {
				if got := w.getIn(f, n); got.State != memory.StateEvolved {
					t.Errorf("note %s is %q", n, got.State)
				}
			}
		})
	}
}

// A note that the base failed at is waited for, since its job heals; the others are shared meanwhile.
func TestForkWaitsForAPendingNote(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.fake.Down(true)
	n := w.add("Patience is a virtue.")
	w.drain()
	f := w.fork("f")
	for range 3 {
		w.drain()
		w.advance(time.Minute)
	}
	if got := w.countNoteJobs(f); got != 0 {
		t.Errorf("the fork has %d jobs of its own", got)
	}
	w.fake.Down(false)
	w.settle()
	if got := w.getIn(f, n.ID); got.State != memory.StateEvolved || w.countNoteJobs(f) != 0 {
		t.Errorf("note is %q, with %d jobs in the fork", got.State, w.countNoteJobs(f))
	}
}

// breaking fails the writes of adopt jobs after so many.
type breaking struct {
	engine.Store

	left atomic.Int64
}

func (b *breaking) Write(ctx context.Context, s tenant.Scope, c uuid.UUID, o memory.WriteOptions, fn func(context.Context, memory.Tx) error) (memory.Written, error) {
	if o.Cause == memory.CauseAdopt && b.left.Add(-1) < 0 {
		return memory.Written{}, fault.New(fault.Unavailable, "the process was killed")
	}
	return b.Store.Write(ctx, s, c, o, fn)
}

// An adopt job can be killed between any two of its writes: a later round writes what is missing, and
// nothing twice.
func TestAdoptIsRepeated(t *testing.T) {
	t.Parallel()
	b := &breaking{}
	w := newWorld(t, options{wrap: func(s engine.Store) engine.Store { b.Store = s; return b }})
	b.left.Store(1)
	made := w.addMany(6)
	f := w.fork("f")
	w.step(f) // waits
	for w.step(w.c.ID) {
	}
	calls := w.modelCalls()
	w.advance(time.Minute)
	b.left.Store(1) // the notes, and not the links
	w.step(f)
	if got := w.getIn(f, made[0]); got.State != memory.StateEvolved {
		t.Fatalf("the first write failed: note is %q", got.State)
	}
	b.left.Store(1 << 30)
	w.settle()
	sameDigest(t, "fork", w.digest(f), w.digest(w.c.ID))
	if w.modelCalls() != calls {
		t.Errorf("%d calls of the model after %d", w.modelCalls(), calls)
	}
	for _, n := range made {
		list := must.Get(w.store.History(t.Context(), w.s, w.view(f), n, 0, 100))(t)
		own := 0
		for _, h := range list {
			if h.Note.Layer == f {
				own++
			}
		}
		if own != 1 {
			t.Errorf("the fork wrote note %s %d times", n, own)
		}
	}
}

// endsMeanwhile has the base decide at the moment when its jobs are listed.
type endsMeanwhile struct {
	engine.Store

	base   uuid.UUID
	decide func()
}

func (e *endsMeanwhile) ListJobs(ctx context.Context, s tenant.Scope, q memory.JobQuery) ([]memory.Job, error) {
	if decide := e.decide; decide != nil && q.Collection == e.base {
		e.decide = nil
		decide()
	}
	return e.Store.ListJobs(ctx, s, q)
}

// What the base decides while a fork looks at its jobs is shared, though the fork saw no job.
func TestBaseDecidesMeanwhile(t *testing.T) {
	t.Parallel()
	e := &endsMeanwhile{}
	w := newWorld(t, options{wrap: func(s engine.Store) engine.Store { e.Store = s; return e }})
	w.addMany(3)
	f := w.fork("f")
	e.base = w.c.ID
	e.decide = func() {
		for w.step(w.c.ID) {
		}
	}
	w.settle()
	if e.decide != nil {
		t.Error("the fork never looked at the jobs of its base")
	}
	if got := w.countNoteJobs(f); got != 0 {
		t.Errorf("the fork has %d jobs of its own", got)
	}
	sameDigest(t, "the fork", w.digest(f), w.digest(w.c.ID))
}

// countedReads counts what adopt jobs read.
type countedReads struct {
	engine.Store

	mu   sync.Mutex
	jobs int // lists of jobs
	logs int // reads of a log
}

func (c *countedReads) ListJobs(ctx context.Context, s tenant.Scope, q memory.JobQuery) ([]memory.Job, error) {
	c.mu.Lock()
	c.jobs++
	c.mu.Unlock()
	return c.Store.ListJobs(ctx, s, q)
}

func (c *countedReads) Changesets(ctx context.Context, s tenant.Scope, v memory.View, after memory.Revision, limit int) ([]memory.Changeset, error) {
	c.mu.Lock()
	c.logs++
	c.mu.Unlock()
	return c.Store.Changesets(ctx, s, v, after, limit)
}

// A fork that waits for its base runs twice, however many notes the base has waiting and however long it works: at its
// start, and at the end of the base's last job. A round asks for all jobs in one call, and one without news reads no log.
func TestForkIsWokenOnce(t *testing.T) {
	t.Parallel()
	const n = 30
	reads := &countedReads{}
	w := newWorld(t, options{wrap: func(s engine.Store) engine.Store { reads.Store = s; return reads }})
	w.addMany(n)
	f := w.fork("f")
	round := func(want int) {
		t.Helper()
		jobs := w.claim(f, memory.StageUpkeep, 10)
		if len(jobs) != want {
			t.Fatalf("%d adopt jobs are due, want %d", len(jobs), want)
		}
		for _, j := range jobs {
			w.run(j)
		}
	}
	round(1)
	if reads.jobs > 2 {
		t.Errorf("the first round listed jobs %d times for %d notes", reads.jobs, n)
	}
	round(0)
	w.advance(2 * time.Minute) // the pause without news, in case a wake-up is lost
	reads.jobs, reads.logs = 0, 0
	round(1)
	if reads.jobs != 1 || reads.logs != 0 {
		t.Errorf("a round without news listed jobs %d times and read %d pages of logs", reads.jobs, reads.logs)
	}
	for i := 0; w.step(w.c.ID); i++ {
		if open := w.countUnended(w.c.ID, memory.JobNote); open > 0 {
			round(0)
		}
	}
	reads.jobs = 0
	round(1)
	if reads.jobs > 2 {
		t.Errorf("the last round listed jobs %d times", reads.jobs)
	}
	if got := w.jobsOf(f, memory.JobAdopt); len(got) != 1 || got[0].State != memory.JobDone {
		t.Errorf("the adopt jobs are %+v", got)
	}
	sameDigest(t, "the fork", w.digest(f), w.digest(w.c.ID))
}

// countUnended counts the jobs of a kind of a collection that wait or run.
func (w *world) countUnended(c uuid.UUID, kind memory.JobKind) int {
	w.t.Helper()
	n := 0
	for _, j := range w.jobsOf(c, kind) {
		if !j.Ended() {
			n++
		}
	}
	return n
}
