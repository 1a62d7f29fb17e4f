package fair

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/test/must"
)

// drain takes n items and returns their values; with keep, their slots are not returned.
func drain(t *testing.T, q *Queue[string], n int, keep bool) (out []string) {
	t.Helper()
	for range n {
		it, ok := q.Next()
		if !ok {
			t.Fatalf("nothing after %v", out)
		}
		out = append(out, it.Value)
		if !keep {
			q.Release(it.Tenant)
		}
	}
	return out
}

func push(q *Queue[string], tenant uuid.UUID, values ...string) {
	for _, v := range values {
		q.Push(tenant, v)
	}
}

func TestTenantsTakeTurns(t *testing.T) {
	t.Parallel()
	a, b, c := uuid.New(), uuid.New(), uuid.New()
	q := NewQueue[string](0)
	push(q, a, "a1", "a2", "a3", "a4")
	push(q, b, "b1", "b2")
	push(q, c, "c1")
	if got, want := drain(t, q, 7, false), []string{"a1", "b1", "c1", "a2", "b2", "a3", "a4"}; !slices.Equal(got, want) {
		t.Errorf("in order %v, want %v", got, want)
	}
	if q.Len() != 0 || q.Tenants() != 0 {
		t.Errorf("%d items of %d tenants left", q.Len(), q.Tenants())
	}
}

// What may turn out to be nothing has every second turn of its tenant, however much of it there is, and all of them while there is
// nothing else.
func TestLaterItemsTakeTurns(t *testing.T) {
	t.Parallel()
	a, b := uuid.New(), uuid.New()
	q := NewQueue[string](0)
	for _, v := range []string{"l1", "l2", "l3", "l4", "l5"} {
		q.PushLater(a, v)
	}
	gone := q.PushLater(a, "gone")
	push(q, a, "a1", "a2", "a3")
	push(q, b, "b1")
	if !q.Remove(gone) || q.Waiting(a) != 8 || q.Later(a) != 5 {
		t.Errorf("%d wait, %d of them later", q.Waiting(a), q.Later(a))
	}
	if got, want := drain(t, q, 9, false), []string{"a1", "b1", "l1", "a2", "l2", "a3", "l3", "l4", "l5"}; !slices.Equal(got, want) {
		t.Errorf("in order %v, want %v", got, want)
	}
	if q.Len() != 0 || q.Tenants() != 0 {
		t.Errorf("%d items of %d tenants left", q.Len(), q.Tenants())
	}
}

// A tenant that comes late is served in the current round, and is not owed earlier ones.
func TestTenantComesLate(t *testing.T) {
	t.Parallel()
	a, b := uuid.New(), uuid.New()
	q := NewQueue[string](0)
	push(q, a, "a1", "a2", "a3", "a4", "a5", "a6", "a7")
	drain(t, q, 3, false)
	push(q, b, "b1", "b2", "b3")
	if got, want := drain(t, q, 5, false), []string{"b1", "a4", "b2", "a5", "b3"}; !slices.Equal(got, want) {
		t.Errorf("in order %v, want %v", got, want)
	}
}

// A tenant whose slots are held long is served less often, and gets no more slots.
func TestFewestPlacesFirst(t *testing.T) {
	t.Parallel()
	slow, quick := uuid.New(), uuid.New()
	q := NewQueue[string](0)
	push(q, slow, "s1", "s2", "s3")
	drain(t, q, 2, true)
	push(q, quick, "q1", "q2")
	if got, want := drain(t, q, 2, false), []string{"q1", "q2"}; !slices.Equal(got, want) {
		t.Errorf("in order %v, want %v", got, want)
	}
	q.Release(slow)
	q.Release(slow)
	push(q, quick, "q3")
	if got := drain(t, q, 1, false); got[0] != "s3" {
		t.Errorf("%v first, want the one that was served less", got)
	}
}

func TestShareBoundsATenant(t *testing.T) {
	t.Parallel()
	a, b := uuid.New(), uuid.New()
	q := NewQueue[string](2)
	push(q, a, "a1", "a2", "a3")
	drain(t, q, 2, true)
	if it, ok := q.Next(); ok {
		t.Errorf("%v over the share", it.Value)
	}
	if q.Hold(a) || !q.Hold(b) {
		t.Error("Hold does not keep to the share")
	}
	q.Release(a)
	if got := drain(t, q, 1, true); got[0] != "a3" {
		t.Errorf("%v after a release", got)
	}
}

// In any order of events, a tenant that waits and holds no more slots than another is passed over by it at
// most twice; nothing is lost, and each tenant's items stay in order.
func TestQueueProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tenants := make([]uuid.UUID, 5)
		for i := range tenants {
			tenants[i] = uuid.New()
		}
		q := NewQueue[int](0)
		want := map[uuid.UUID][]*Item[int]{}
		held := map[uuid.UUID]int{}
		passed := map[uuid.UUID]map[uuid.UUID]int{} // by those who wait: how often others were served since
		next := 0
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				id := rapid.SampledFrom(tenants).Draw(t, "tenant")
				if len(want[id]) == 0 {
					passed[id] = map[uuid.UUID]int{}
				}
				next++
				want[id] = append(want[id], q.Push(id, next))
			},
			"remove": func(t *rapid.T) {
				id := rapid.SampledFrom(tenants).Draw(t, "tenant")
				if n := len(want[id]); n > 0 {
					i := rapid.IntRange(0, n-1).Draw(t, "at")
					if !q.Remove(want[id][i]) || q.Remove(want[id][i]) {
						t.Fatal("an item was not removed once")
					}
					want[id] = slices.Delete(want[id], i, i+1)
				}
			},
			"release": func(t *rapid.T) {
				id := rapid.SampledFrom(tenants).Draw(t, "tenant")
				if held[id] > 0 {
					held[id]--
					q.Release(id)
				}
			},
			"next": func(t *rapid.T) {
				it, ok := q.Next()
				waiting := 0
				for _, items := range want {
					waiting += len(items)
				}
				if ok != (waiting > 0) {
					t.Fatalf("next: %v with %d items", ok, waiting)
				}
				if !ok {
					return
				}
				id := it.Tenant
				if len(want[id]) == 0 || want[id][0] != it {
					t.Fatal("out of order")
				}
				for other, items := range want {
					if other == id || len(items) == 0 {
						continue
					}
					if held[other] < held[id] {
						t.Fatalf("a tenant with %d slots before one with %d", held[id], held[other])
					}
					if held[other] > held[id] {
						continue
					}
					if passed[other][id]++; passed[other][id] > 2 {
						t.Fatalf("a tenant was passed over %d times by one other", passed[other][id])
					}
				}
				passed[id] = map[uuid.UUID]int{}
				want[id] = want[id][1:]
				held[id]++
			},
			"": func(t *rapid.T) {
				n, who := 0, 0
				for id, items := range want {
					n += len(items)
					if len(items) > 0 {
						who++
					}
					if q.Waiting(id) != len(items) {
						t.Fatalf("%d wait, want %d", q.Waiting(id), len(items))
					}
				}
				if q.Len() != n || q.Tenants() != who {
					t.Fatalf("%d items of %d tenants, want %d of %d", q.Len(), q.Tenants(), n, who)
				}
			},
		})
	})
}

// Tenants that come and go leave nothing behind.
func TestIdleTenantsAreForgotten(t *testing.T) {
	t.Parallel()
	q := NewQueue[string](0)
	for range 10_000 {
		push(q, uuid.New(), "x")
		drain(t, q, 1, false)
	}
	if n := len(q.lines); n > idleLines {
		t.Errorf("%d lines are kept", n)
	}
}

// queueUp makes n callers of a tenant wait, in order, and appends name to the log when one is
// admitted; each leaves immediately.
func queueUp(t *testing.T, g *Gate, tenant uuid.UUID, c Class, n int, name string, log *[]string) {
	t.Helper()
	for range n {
		go func() {
			leave, err := g.Enter(t.Context(), tenant, c)
			if err != nil {
				return
			}
			*log = append(*log, name) // the gate has one slot
			leave()
		}()
		synctest.Wait()
	}
}

// entered enters a gate in the foreground.
func entered(t *testing.T, g *Gate, tenant uuid.UUID) (leave func()) {
	t.Helper()
	leave, err := g.Enter(t.Context(), tenant, Foreground)
	if err != nil {
		t.Error(err)
		return func() {}
	}
	return leave
}

func TestGateAdmitsByTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1, 0)
		var log []string
		flood := uuid.New()
		leave := must.Get(g.Enter(t.Context(), flood, Foreground))(t)
		queueUp(t, g, flood, Foreground, 4, "flood", &log)
		queueUp(t, g, uuid.New(), Foreground, 2, "other", &log)
		leave()
		synctest.Wait()
		if want := []string{"other", "flood", "other", "flood", "flood", "flood"}; !slices.Equal(log, want) {
			t.Errorf("admitted %v, want %v", log, want)
		}
	})
}

// Foreground is admitted first, and background every fifth time.
func TestGateClasses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1, 0)
		var log []string
		leave := must.Get(g.Enter(t.Context(), uuid.New(), Background))(t)
		queueUp(t, g, uuid.New(), Background, 2, "job", &log)
		queueUp(t, g, uuid.New(), Foreground, 9, "caller", &log)
		leave()
		synctest.Wait()
		want := slices.Repeat([]string{"caller", "caller", "caller", "caller", "job"}, 2)
		if !slices.Equal(log, append(want, "caller")) {
			t.Errorf("admitted %v", log)
		}
	})
}

// OthersWait is about the foreground of other tenants.
func TestGateOthersWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1, 0)
		var log []string
		flood, other := uuid.New(), uuid.New()
		leave := must.Get(g.Enter(t.Context(), flood, Foreground))(t)
		queueUp(t, g, flood, Foreground, 3, "flood", &log)
		queueUp(t, g, other, Background, 1, "job", &log)
		if g.OthersWait(flood) {
			t.Error("own callers and a job are others")
		}
		queueUp(t, g, other, Foreground, 1, "other", &log)
		if !g.OthersWait(flood) || !g.OthersWait(other) {
			t.Error("both tenants have callers that wait, and do not see each other's")
		}
		leave()
		synctest.Wait()
	})
}

func TestGateCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1, 0)
		tenant := uuid.New()
		leave := must.Get(g.Enter(t.Context(), tenant, Foreground))(t)
		ctx, cancel := context.WithCancel(t.Context())
		failed := make(chan error, 1)
		go func() {
			_, err := g.Enter(ctx, tenant, Foreground)
			failed <- err
		}()
		synctest.Wait()
		if g.Waiting(tenant) != 1 {
			t.Errorf("%d wait", g.Waiting(tenant))
		}
		cancel()
		if err := <-failed; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if _, err := g.Enter(ctx, tenant, Foreground); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v for a caller that has gone", err)
		}
		leave()
		for range 3 {
			again := must.Get(g.Enter(t.Context(), tenant, Foreground))(t)
			again()
		}
	})
}

// A tenant alone has the whole gate. While others use it, each has its share, and a slot is free for who
// comes next.
func TestGateShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size, share = 4, 2
		g := NewGate(size, share)
		flood, other := uuid.New(), uuid.New()
		enter := func(tenant uuid.UUID) (leave func()) { return entered(t, g, tenant) }
		all := make([]func(), size)
		for i := range all {
			all[i] = enter(flood)
		}
		first := make(chan struct{})
		go func() { enter(other)(); close(first) }()
		synctest.Wait()
		all[0]()
		<-first
		all[1]()
		var log []string
		queueUp(t, g, flood, Foreground, 3, "flood", &log)
		if len(log) > 0 || g.Waiting(flood) != 3 {
			t.Errorf("admitted %v beside the share, %d wait", log, g.Waiting(flood))
		}
		enter(other)() // does not wait
		enter(uuid.Nil)()
		all[2]()
		synctest.Wait()
		if len(log) != 3 {
			t.Errorf("admitted %v below the share", log)
		}
		for range aloneAfter + 1 {
			enter(flood)()
		}
		for i := range 3 {
			all[i] = enter(flood)
		}
	})
}

// However callers come, leave and give up, the gate admits no more than its size, and everyone who
// waits on is admitted.
func TestGateUnderLoad(t *testing.T) {
	t.Parallel()
	const size, share = 3, 2
	g := NewGate(size, share)
	tenants := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	for _, id := range tenants { // none is alone
		leave := must.Get(g.Enter(t.Context(), id, Foreground))(t)
		leave()
	}
	var mu sync.Mutex
	inside, most, by := 0, 0, map[uuid.UUID]int{}
	var callers sync.WaitGroup
	for i := range 30 {
		callers.Go(func() {
			for n := range 100 {
				ctx, cancel := context.WithCancel(t.Context())
				if n%7 == 0 {
					cancel()
				}
				tenant := tenants[i%len(tenants)]
				leave, err := g.Enter(ctx, tenant, Foreground)
				if err == nil {
					mu.Lock()
					inside++
					by[tenant]++
					most = max(most, inside)
					if by[tenant] > share {
						t.Errorf("%d of one tenant", by[tenant])
					}
					mu.Unlock()
					mu.Lock()
					inside--
					by[tenant]--
					mu.Unlock()
					leave()
				}
				cancel()
			}
		})
	}
	callers.Wait()
	if most > size || g.free != size {
		t.Errorf("%d inside together, %d slots free at the end", most, g.free)
	}
}
