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
	w.noError(w.PutPart(w.ctx, w.all, job, spool, n, []byte(data)))
}

func spoolParts(_ *testing.T, w *world) {
	job, other := uuid.New(), uuid.New()
	body := func(id uuid.UUID) []string { return w.parts(w.all, id, memory.SpoolBody) }
	for i := range 12 { // part numbers are ordered as numbers, not as text
		w.putPart(job, memory.SpoolBody, 11-i, string(rune('l'-i)))
	}
	w.assertf(slices.Equal(body(job), []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}), "in order: %v", body(job))
	w.putPart(job, memory.SpoolBody, 1, "\x00B\xff")
	w.putPart(job, memory.SpoolBody, 2, "")
	w.assertf(slices.Equal(body(job)[:4], []string{"a", "\x00B\xff", "", "d"}), "replaced: %q", body(job))
	w.putPart(job, memory.SpoolResults, 0, "result")
	w.putPart(other, memory.SpoolBody, 0, "of another job")
	dropped := func(n int) int { return must(w.DropParts(w.ctx, w.all, job, memory.SpoolBody, n))(w.t) }
	w.assertf(dropped(2) == 10 && len(body(job)) == 2, "parts 0 and 1 are left: %q", body(job))
	w.assertf(dropped(2) == 0, "nothing is left to drop")
	w.assertf(dropped(0) == 2 && len(body(job)) == 0, "all are dropped: %q", body(job))
	w.assertf(len(body(other)) == 1 && len(w.parts(w.all, job, memory.SpoolResults)) == 1, "other spools are unchanged")

	largest := bytes.Repeat([]byte{7}, memory.MaxPart)
	for i := range 40 {
		w.noError(w.PutPart(w.ctx, w.all, job, memory.SpoolBody, i, largest))
	}
	n := 0
	stop := errors.New("enough")
	err := w.Parts(w.ctx, w.all, job, memory.SpoolBody, func(data []byte) error {
		w.assertf(bytes.Equal(data, largest), "part %d is read with %d bytes", n, len(data))
		// The store can be written and read during the callback.
		w.putPart(other, memory.SpoolResults, n, "x")
		if n++; n == 5 {
			return stop
		}
		return nil
	})
	w.assertf(errors.Is(err, stop) && n == 5 && len(w.parts(w.all, other, memory.SpoolResults)) == 5, "the callback's error ends the read: %v after %d", err, n)
	w.assertf(dropped(0) == 40, "many are dropped")
	w.wantInvalid(w.PutPart(w.ctx, w.all, job, memory.SpoolBody, 0, append(largest, 0)), "data")
	w.wantInvalid(w.PutPart(w.ctx, w.all, job, memory.SpoolBody, -1, nil), "part")
	w.assertf(len(body(job)) == 0, "a refused part is stored")
}

func spoolSweep(_ *testing.T, w *world) {
	c := w.collection("c")
	enqueue := func() uuid.UUID {
		id := uuid.New()
		w.job(c.ID, memory.Job{ID: id, Kind: memory.JobImport, Stage: memory.StageTask})
		return id
	}
	done, running, orphan, recent, renewed := enqueue(), enqueue(), uuid.New(), uuid.New(), uuid.New()
	claimed, lease := w.claim(c.ID, memory.StageTask, 2)
	w.assertf(len(claimed) == 2, "claimed %+v", claimed)
	w.noError(w.ReleaseJob(w.ctx, w.all, done, lease, memory.JobEnd{State: memory.JobDead}))
	waiting := enqueue()
	old := []uuid.UUID{done, running, waiting, orphan, renewed}
	for _, id := range old {
		for i := range 20 {
			w.putPart(id, memory.SpoolBody, i, "body")
		}
		w.putPart(id, memory.SpoolResults, 0, "result")
	}
	w.noError(w.PutPart(w.ctx, w.foreign, running, memory.SpoolResults, 0, []byte("of another tenant")))
	w.clock.Advance(25 * time.Hour)
	w.putPart(recent, memory.SpoolBody, 0, "recent")
	w.putPart(renewed, memory.SpoolBody, 3, "written again")
	// StaleParts finds the tenants that have parts to sweep.
	stale := func(limit int) []uuid.UUID {
		return must(w.StaleParts(w.ctx, w.clock.Now().Add(-24*time.Hour), limit))(w.t)
	}
	ids := stale(10)
	w.assertf(len(ids) == 2 && slices.Contains(ids, w.all.Tenant()) && slices.Contains(ids, w.foreign.Tenant()), "tenants to sweep: %v", ids)
	w.assertf(len(stale(1)) == 1, "at most one tenant")
	w.assertf(len(must(w.StaleParts(w.ctx, w.clock.Now().Add(-26*time.Hour), 10))(w.t)) == 0, "no part is that old")
	w.noError(w.SweepParts(w.ctx, w.all, w.clock.Now().Add(-24*time.Hour)))
	w.assertf(slices.Equal(stale(10), []uuid.UUID{w.foreign.Tenant()}), "left to sweep: %v", stale(10))
	for _, want := range []struct {
		name          string
		id            uuid.UUID
		body, results int
	}{
		{"of an ended job", done, 0, 0}, {"of a running job", running, 20, 0}, {"of a waiting job", waiting, 20, 0},
		{"of no job", orphan, 0, 0}, {"recent", recent, 1, 0}, {"written again", renewed, 1, 0},
	} {
		b, r := len(w.parts(w.all, want.id, memory.SpoolBody)), len(w.parts(w.all, want.id, memory.SpoolResults))
		w.assertf(b == want.body && r == want.results, "%s: %d parts of the body and %d of the results are left", want.name, b, r)
	}
	w.assertf(len(w.parts(w.foreign, running, memory.SpoolResults)) == 1, "the sweep removed a part of another tenant")
	w.noError(w.SweepParts(w.ctx, w.foreign, w.clock.Now().Add(-24*time.Hour)))
	w.assertf(len(w.parts(w.foreign, running, memory.SpoolResults)) == 0, "the sweep of its tenant removes it")
	w.assertf(len(stale(10)) == 0, "nothing is left to sweep: %v", stale(10))
}

// spoolRemoval: removing a collection or a tenant removes the spools of its jobs.
func spoolRemoval(_ *testing.T, w *world) {
	c, stays := w.collection("c"), w.collection("stays")
	job, other := uuid.New(), uuid.New()
	w.job(c.ID, memory.Job{ID: job, Kind: memory.JobImport, Stage: memory.StageTask})
	w.job(stays.ID, memory.Job{ID: other, Kind: memory.JobImport, Stage: memory.StageTask})
	for i := range 50 {
		w.putPart(job, memory.SpoolBody, i, "secret")
	}
	w.putPart(job, memory.SpoolResults, 0, "secret")
	w.putPart(other, memory.SpoolBody, 0, "stays")
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, c.ID, false, memory.AuditEntry{})))
	w.remove(c.ID, 10)
	w.assertf(len(w.parts(w.all, job, memory.SpoolBody)) == 0 && len(w.parts(w.all, job, memory.SpoolResults)) == 0, "spools of a removed collection are left")
	w.assertf(len(w.parts(w.all, other, memory.SpoolBody)) == 1, "the spool of another collection was removed")

	w.noError(w.PutPart(w.ctx, w.foreign, job, memory.SpoolBody, 0, []byte("secret")))
	w.noError(w.DeleteTenant(w.ctx, w.op, w.other.ID))
	w.assertf(len(w.parts(w.foreign, job, memory.SpoolBody)) == 0, "spools of a removed tenant are left")
	w.wantFault(w.PutPart(w.ctx, w.foreign, job, memory.SpoolBody, 0, nil), fault.NotFound)
	w.assertf(len(w.parts(w.all, other, memory.SpoolBody)) == 1, "the spool of another tenant was removed")
}
