package storetest

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func spoolCases() []testCase {
	return []testCase{
		{"Parts", spoolParts},
		{"Sweep", spoolSweep},
		{"Removal", spoolRemoval},
	}
}

func (w *world) putPart(job uuid.UUID, spool memory.SpoolName, n int, data string) {
	w.t.Helper()
	w.ok(w.PutPart(w.ctx, w.all, job, spool, n, []byte(data)))
}

func spoolParts(_ *testing.T, w *world) {
	job, other := uuid.New(), uuid.New()
	body := func(id uuid.UUID) []string { return w.parts(w.all, id, memory.SpoolBody) }
	for i := range 12 { // as numbers, 10 comes after 9
		w.putPart(job, memory.SpoolBody, 11-i, string(rune('l'-i)))
	}
	w.isf(slices.Equal(body(job), []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}), "in order: %v", body(job))
	w.putPart(job, memory.SpoolBody, 1, "\x00B\xff")
	w.putPart(job, memory.SpoolBody, 2, "")
	w.isf(slices.Equal(body(job)[:4], []string{"a", "\x00B\xff", "", "d"}), "replaced: %q", body(job))
	w.putPart(job, memory.SpoolResults, 0, "result")
	w.putPart(other, memory.SpoolBody, 0, "of another job")
	dropped := func(n int) int { return must(w.DropParts(w.ctx, w.all, job, memory.SpoolBody, n))(w.t) }
	w.isf(dropped(2) == 10 && len(body(job)) == 2, "what is left: %q", body(job))
	w.isf(dropped(2) == 0, "nothing is dropped twice")
	w.isf(dropped(0) == 2 && len(body(job)) == 0, "all: %q", body(job))
	w.isf(len(body(other)) == 1 && len(w.parts(w.all, job, memory.SpoolResults)) == 1, "only of that spool")

	largest := bytes.Repeat([]byte{7}, memory.MaxPart)
	for i := range 40 {
		w.ok(w.PutPart(w.ctx, w.all, job, memory.SpoolBody, i, largest))
	}
	n := 0
	stop := errors.New("enough")
	err := w.Parts(w.ctx, w.all, job, memory.SpoolBody, func(data []byte) error {
		w.isf(bytes.Equal(data, largest), "part %d came as %d bytes", n, len(data))
		// The store can be written and read while a part is worked on.
		w.putPart(other, memory.SpoolResults, n, "x")
		if n++; n == 5 {
			return stop
		}
		return nil
	})
	w.isf(errors.Is(err, stop) && n == 5 && len(w.parts(w.all, other, memory.SpoolResults)) == 5, "the error of fn: %v after %d", err, n)
	w.isf(dropped(0) == 40, "many are dropped")
	w.field(w.PutPart(w.ctx, w.all, job, memory.SpoolBody, 0, append(largest, 0)), "data")
	w.field(w.PutPart(w.ctx, w.all, job, memory.SpoolBody, -1, nil), "part")
	w.isf(len(body(job)) == 0, "a refused part is kept")
}

func spoolSweep(_ *testing.T, w *world) {
	c := w.collection("c")
	enqueue := func() uuid.UUID {
		id := uuid.New()
		w.job(c.ID, memory.Job{ID: id, Kind: memory.JobImport, Stage: memory.StageTask})
		return id
	}
	done, running, orphan, fresh, renewed := enqueue(), enqueue(), uuid.New(), uuid.New(), uuid.New()
	claimed, lease := w.claim(c.ID, memory.StageTask, 2)
	w.isf(len(claimed) == 2, "claimed %+v", claimed)
	w.ok(w.ReleaseJob(w.ctx, w.all, done, lease, memory.JobEnd{State: memory.JobDead}))
	waits := enqueue()
	old := []uuid.UUID{done, running, waits, orphan, renewed}
	for _, id := range old {
		for i := range 20 {
			w.putPart(id, memory.SpoolBody, i, "body")
		}
		w.putPart(id, memory.SpoolResults, 0, "result")
	}
	w.ok(w.PutPart(w.ctx, w.foreign, running, memory.SpoolResults, 0, []byte("of another tenant")))
	w.clock.Advance(25 * time.Hour)
	w.putPart(fresh, memory.SpoolBody, 0, "fresh")
	w.putPart(renewed, memory.SpoolBody, 3, "written again")
	// Whoever has something to sweep is known without asking each tenant.
	stale := func(limit int) []uuid.UUID {
		return must(w.StaleParts(w.ctx, w.clock.Now().Add(-24*time.Hour), limit))(w.t)
	}
	both := stale(10)
	w.isf(len(both) == 2 && slices.Contains(both, w.all.Tenant()) && slices.Contains(both, w.foreign.Tenant()), "tenants to sweep: %v", both)
	w.isf(len(stale(1)) == 1, "at most one tenant")
	w.isf(len(must(w.StaleParts(w.ctx, w.clock.Now().Add(-26*time.Hour), 10))(w.t)) == 0, "nothing is so old")
	w.ok(w.SweepParts(w.ctx, w.all, w.clock.Now().Add(-24*time.Hour)))
	w.isf(slices.Equal(stale(10), []uuid.UUID{w.foreign.Tenant()}), "left to sweep: %v", stale(10))
	for _, want := range []struct {
		name          string
		id            uuid.UUID
		body, results int
	}{
		{"of an ended job", done, 0, 0}, {"of a running job", running, 20, 0}, {"of a waiting job", waits, 20, 0},
		{"of no job", orphan, 0, 0}, {"fresh", fresh, 1, 0}, {"written again", renewed, 1, 0},
	} {
		b, r := len(w.parts(w.all, want.id, memory.SpoolBody)), len(w.parts(w.all, want.id, memory.SpoolResults))
		w.isf(b == want.body && r == want.results, "%s: %d parts of the body and %d of results are left", want.name, b, r)
	}
	w.isf(len(w.parts(w.foreign, running, memory.SpoolResults)) == 1, "another tenant's part is gone")
	w.ok(w.SweepParts(w.ctx, w.foreign, w.clock.Now().Add(-24*time.Hour)))
	w.isf(len(w.parts(w.foreign, running, memory.SpoolResults)) == 0, "its own sweep takes it")
	w.isf(len(stale(10)) == 0, "nothing is left to sweep: %v", stale(10))
}

// spoolRemoval: what is removed takes the spools of its jobs with it.
func spoolRemoval(_ *testing.T, w *world) {
	c, stays := w.collection("c"), w.collection("stays")
	mine, other := uuid.New(), uuid.New()
	w.job(c.ID, memory.Job{ID: mine, Kind: memory.JobImport, Stage: memory.StageTask})
	w.job(stays.ID, memory.Job{ID: other, Kind: memory.JobImport, Stage: memory.StageTask})
	for i := range 50 {
		w.putPart(mine, memory.SpoolBody, i, "secret")
	}
	w.putPart(mine, memory.SpoolResults, 0, "secret")
	w.putPart(other, memory.SpoolBody, 0, "stays")
	w.ok(w.DeleteCollection(w.ctx, w.all, c.ID, false, memory.AuditEntry{}))
	w.remove(c.ID, 10)
	w.isf(len(w.parts(w.all, mine, memory.SpoolBody)) == 0 && len(w.parts(w.all, mine, memory.SpoolResults)) == 0, "spools of a removed collection are left")
	w.isf(len(w.parts(w.all, other, memory.SpoolBody)) == 1, "the spool of another collection is gone")

	w.ok(w.PutPart(w.ctx, w.foreign, mine, memory.SpoolBody, 0, []byte("secret")))
	w.ok(w.DeleteTenant(w.ctx, w.op, w.other.ID))
	w.isf(len(w.parts(w.foreign, mine, memory.SpoolBody)) == 0, "spools of a removed tenant are left")
	w.refused(w.PutPart(w.ctx, w.foreign, mine, memory.SpoolBody, 0, nil), fault.NotFound)
	w.isf(len(w.parts(w.all, other, memory.SpoolBody)) == 1, "the spool of another tenant is gone")
}
