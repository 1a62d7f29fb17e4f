package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
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
}

func (s *turns) ClaimJobs(ctx context.Context, sc tenant.Scope, c uuid.UUID, stage memory.Stage, lease uuid.UUID, until time.Time, n int) ([]memory.Job, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c == s.base {
		return nil, nil
	}
	jobs, err := s.Store.ClaimJobs(ctx, sc, c, stage, lease, until, n)
	for i := range jobs {
		s.claims[jobs[i].Kind]++
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

// Forks that wait for their base take no turn of others. An import ends while one of 60 forks has the slot of upkeep and the others
// wait for it; later, when all wait for their base, another import and the note of a new tenant end, and no fork is looked at again.
func TestForksThatWaitTakeNoTurn(t *testing.T) {
	t.Parallel()
	const forks, lines = 60, 5
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
	for i := range 3 {
		p.add(fmt.Sprintf("The schooner carried salt on voyage %d.", i))
	}
	var adopts []uuid.UUID
	for i := range forks {
		r := must.Get(p.clone.Clone(t.Context(), p.s, p.c.ID.String(), clone.Input{Name: fmt.Sprintf("fork-%d", i)}, memory.Request{}))(t)
		jobs := must.Get(p.store.ListJobs(t.Context(), p.s, memory.JobQuery{Collection: r.Collection.ID, Limit: 2}))(t)
		if len(jobs) != 1 || jobs[0].Kind != memory.JobAdopt {
			t.Fatalf("a fork has the jobs %+v", jobs)
		}
		adopts = append(adopts, jobs[0].ID)
	}
	at.base = p.c.ID
	beside := must.Get(p.collections.Create(t.Context(), p.s, notes.CollectionInput{Name: "beside"}, memory.Request{}))(t).Collection
	imported := func(voyage string) {
		t.Helper()
		var body strings.Builder
		for i := range lines {
			fmt.Fprintf(&body, "{\"content\":\"Voyage %s carried timber to harbour %d.\"}\n", voyage, i)
		}
		job := must.Get(im.Start(t.Context(), p.s, beside.ID.String(), strings.NewReader(body.String())))(t)
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
