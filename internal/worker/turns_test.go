package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/queue"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/internal/worker"
	"github.com/slipboxhq/slipbox/test/must"
)

// turns is a store in which the notes of one collection wait, and that counts the jobs that are claimed.
type turns struct {
	store.Store

	mu     sync.Mutex
	base   uuid.UUID // its notes have no turn
	began  chan struct{}
	hold   chan struct{} // rounds of its forks wait until it is closed
	claims map[memory.JobKind]int
	tasks  int // claims of tasks since an import was claimed
	before int // those of the last import
}

func (s *turns) ClaimJobs(ctx context.Context, sc tenant.Scope, c uuid.UUID, stage memory.Stage, lease uuid.UUID, until time.Time, n int) ([]memory.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c == s.base {
		return nil, nil
	}
	jobs, err := s.Store.ClaimJobs(ctx, sc, c, stage, lease, until, n)
	if stage == memory.StageTask {
		s.tasks++
	}
	for i := range jobs {
		s.claims[jobs[i].Kind]++
		if jobs[i].Kind == memory.JobImport {
			s.tasks, s.before = 0, s.tasks
		}
	}
	return jobs, err
}

func (s *turns) ListJobs(ctx context.Context, sc tenant.Scope, q memory.JobQuery) ([]memory.Job, error) {
	if q.Collection == s.base && q.Unended {
		select {
		case s.began <- struct{}{}:
		default:
		}
		select {
		case <-s.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Store.ListJobs(ctx, sc, q)
}

func (s *turns) claimed(kind memory.JobKind) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claims[kind]
}

// fork makes forks of the plant's collection, whose notes wait, and returns their adopt jobs.
func (s *turns) fork(p *plant, n int) (adopts []uuid.UUID) {
	p.t.Helper()
	for i := range 3 {
		p.add(fmt.Sprintf("The schooner carried salt on voyage %d.", i))
	}
	for i := range n {
		r := must.Get(p.clone.Clone(p.t.Context(), p.s, p.c.ID.String(), clone.Input{Name: fmt.Sprintf("fork-%d", i)}, memory.Request{}))(p.t)
		jobs := must.Get(p.store.ListJobs(p.t.Context(), p.s, memory.JobQuery{Collection: r.Collection.ID, Limit: 2}))(p.t)
		if len(jobs) != 1 || jobs[0].Kind != memory.JobAdopt {
			p.t.Fatalf("a fork has the jobs %+v", jobs)
		}
		adopts = append(adopts, jobs[0].ID)
	}
	s.base = p.c.ID
	return adopts
}

// harbours is the body of an import.
func harbours(voyage string, lines int) io.Reader {
	var body strings.Builder
	for i := range lines {
		fmt.Fprintf(&body, "{\"content\":\"Voyage %s carried timber to harbour %d.\"}\n", voyage, i)
	}
	return strings.NewReader(body.String())
}

// Forks that wait for their base take no turn of others. An import ends while one of many forks has the slot of upkeep and the others
// wait for it; later, when all wait for their base, another import and the note of a new tenant end, and no fork is looked at again.
func TestForksThatWaitTakeNoTurn(t *testing.T) {
	t.Parallel()
	const lines = 5
	var im *notes.Imports
	at := &turns{began: make(chan struct{}, 1), hold: make(chan struct{}), claims: map[memory.JobKind]int{}}
	p := newPlant(t, settings{
		// No poll helps: each job is claimed at the start, or by its wake-up.
		worker: worker.Config{Queue: queue.Config{Poll: time.Hour}},
		wrap:   func(s store.Store) store.Store { at.Store = s; return at },
		imports: func(ctx context.Context, s tenant.Scope, j memory.Job, progress memory.ReportProgress) (json.RawMessage, error) {
			return im.Run(ctx, s, j, progress)
		},
	})
	p.stop()
	im = notes.NewImports(p.store, p.notes)
	adopts := at.fork(p, forks)
	beside := must.Get(p.collections.Create(t.Context(), p.s, notes.CollectionInput{Name: "beside"}, memory.Request{}))(t).Collection
	imported := func(voyage string) {
		t.Helper()
		job := must.Get(im.Start(t.Context(), p.s, beside.ID.String(), harbours(voyage, lines)))(t)
		p.worker.Notify(memory.Due{Tenant: p.s.Tenant(), Collection: beside.ID}, memory.StageTask)
		if j := p.ended(job.ID); j.State != memory.JobDone || j.Progress == nil || j.Progress.Done != lines {
			t.Fatalf("the import ended as %+v", j)
		}
	}
	wantClaims := func(when string, adopt, imports int) {
		t.Helper()
		if a, i := at.claimed(memory.JobAdopt), at.claimed(memory.JobImport); a != adopt || i != imports {
			t.Errorf("%s, %d rounds of forks and %d imports were claimed; want %d and %d", when, a, i, adopt, imports)
		}
	}
	p.run()
	<-at.began
	imported("out")
	wantClaims("while a fork has the slot", queue.Upkeeps(2), 1)

	close(at.hold)
	p.waitFor("to await the base", adopts, func(j *memory.Job) bool {
		return j.State == memory.JobQueued && strings.Contains(string(j.Payload), "awaits")
	})
	wantClaims("when all forks have begun", forks, 1)
	imported("home")
	wantClaims("while all forks wait", forks, 2)

	other := must.Get(p.store.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: "other"}))(t)
	p.s = grant.Scope(other.ID, uuid.Nil, "key:test", tenant.AllPermissions()...)
	p.c = must.Get(p.collections.Create(t.Context(), p.s, notes.CollectionInput{Name: "main"}, memory.Request{}))(t).Collection
	if j := p.ended(p.add("The harbour of another tenant.").Job.ID); j.State != memory.JobDone {
		t.Errorf("the note ended as %+v", j)
	}
	wantClaims("when another tenant's note is decided", forks, 2)
}

// While workers are killed in turn, imports have their turn after a bounded number of claims, though the leases that died with them are
// held: with a wake-up, and by a poll alone, as without Redis. What the dead held is taken over when their leases end.
func TestImportsWhileWorkersAreKilled(t *testing.T) {
	t.Parallel()
	const kills = 3
	var im *notes.Imports
	var doomed uuid.UUID // its imports do not end before their process
	began := make(chan struct{}, kills)
	at := &turns{began: make(chan struct{}, 1), hold: make(chan struct{}), claims: map[memory.JobKind]int{}}
	p := newPlant(t, settings{
		worker: worker.Config{Queue: queue.Config{Poll: time.Hour, Share: 75, Grace: time.Millisecond}},
		wrap:   func(s store.Store) store.Store { at.Store = s; return at },
		imports: func(ctx context.Context, s tenant.Scope, j memory.Job, progress memory.ReportProgress) (json.RawMessage, error) {
			if j.Collection == doomed && j.Claims <= 1 {
				began <- struct{}{}
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return im.Run(ctx, s, j, progress)
		},
	})
	p.stop()
	im = notes.NewImports(p.store, p.notes)
	p.mu.Lock()
	p.frozen = time.Now() // no lease ends by itself
	p.mu.Unlock()
	adopts := at.fork(p, forks)
	collection := func(name string) memory.Due {
		c := must.Get(p.collections.Create(t.Context(), p.s, notes.CollectionInput{Name: name}, memory.Request{}))(t).Collection
		return memory.Due{Tenant: p.s.Tenant(), Collection: c.ID}
	}
	beside, lost := collection("beside"), collection("lost")
	doomed = lost.Collection
	var dead []uuid.UUID
	for kill := range kills {
		dead = append(dead, must.Get(im.Start(t.Context(), p.s, lost.Collection.String(), harbours(fmt.Sprint("lost ", kill), 5)))(t).ID)
		p.run()
		<-at.began
		p.waitFor("to begin", dead[kill:], func(j *memory.Job) bool {
			p.worker.Notify(lost, memory.StageTask)
			return j.State == memory.JobRunning
		})
		<-began
		p.die()
		select {
		case <-at.began: // of the process that died
		default:
		}
		p.run()
		<-at.began // it claims: a wake-up before that is lost
		job := must.Get(im.Start(t.Context(), p.s, beside.Collection.String(), harbours(fmt.Sprint("home ", kill), 5)))(t)
		at.mu.Lock()
		at.tasks = 0
		at.mu.Unlock()
		most := 4
		if kill%2 == 0 {
			p.worker.Notify(beside, memory.StageTask)
		} else {
			most = polled
			p.waitFor("to end", []uuid.UUID{job.ID}, func(j *memory.Job) bool { p.worker.Wake(); return j.Ended() })
		}
		if j := p.ended(job.ID); j.State != memory.JobDone || j.Progress == nil || j.Progress.Done != 5 {
			t.Errorf("the import ended as %+v", j)
		}
		at.mu.Lock()
		if at.before > most {
			t.Errorf("after kill %d an import had its turn after %d claims, want %d or fewer", kill, at.before, most)
		}
		at.mu.Unlock()
		for _, id := range dead {
			if j := must.Get(p.store.Job(t.Context(), p.s, id))(t); j.Shown(p.now()) != memory.JobRunning {
				t.Errorf("an import of a dead process is %s before its lease ends", j.Shown(p.now()))
			}
		}
		p.die()
	}
	close(at.hold)
	p.later(15 * time.Second) // a lease
	p.run()
	p.waitFor("to end", dead, func(j *memory.Job) bool { p.worker.Wake(); return j.Ended() })
	for _, id := range dead {
		if j := p.ended(id); j.State != memory.JobDone || j.Progress == nil || j.Progress.Done != 5 {
			t.Errorf("an import of a dead process ended as %+v", j)
		}
	}
	p.waitFor("to await the base", adopts, func(j *memory.Job) bool {
		return j.State == memory.JobQueued && strings.Contains(string(j.Payload), "awaits")
	})
}
