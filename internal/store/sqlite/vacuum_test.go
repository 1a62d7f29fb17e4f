package sqlite

import (
	"bytes"
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

const (
	gapMark  = "mark-of-what-was-erased"
	anyBytes = 1 << 40
)

// gapped is a store whose file has pieces of what was erased.
type gapped struct {
	disk

	log *commandtest.Buffer
}

// openAt opens a store whose timer does not fire within a test.
func openAt(t *testing.T, path string, below int64) *gapped {
	t.Helper()
	g := &gapped{log: &commandtest.Buffer{}}
	s := must.Get(Open(t.Context(), Config{Path: path, VacuumBelow: below}, Deps{Logger: slog.New(slog.NewTextHandler(g.log, nil))}))(t)
	t.Cleanup(func() { must.Do(t, s.Close()) })
	s.vacuums.after = time.Hour
	g.bench = bench{Store: s}
	return g
}

// newGapped returns a store with a note, whose file keeps a piece of what was erased. Keys are drawn by a fixed seed, so it is the
// same each time.
func newGapped(t *testing.T, path string, below int64) *gapped {
	t.Helper()
	g := openAt(t, path, below)
	tn := must.Get(g.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: "t"}))(t)
	g.scope = grant.Scope(tn.ID, uuid.Nil, "test", tenant.AllPermissions()...)
	g.collection = g.create(t, "c")
	g.fill(t, 20)
	for seed := range uint64(200) {
		g.eraseRows(t, seed)
		g.cut(t)
		if len(g.filesWith(t, gapMark)) > 0 {
			return g
		}
	}
	t.Fatal("no erasure left anything in a gap")
	return nil
}

// eraseRows writes rows of a table without rowids in random order, deletes some, and erases all that have the mark.
func (g *gapped) eraseRows(t *testing.T, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	must.Do(t, g.writing(t.Context(), ofCaller(uuid.Nil), func(ctx context.Context, q *session) error {
		if _, err := q.exec(ctx, "CREATE TABLE IF NOT EXISTS gapped (k INTEGER NOT NULL, x TEXT NOT NULL, PRIMARY KEY (k)) STRICT, WITHOUT ROWID"); err != nil {
			return err
		}
		for i := range 300 {
			text := strings.Repeat("y", 50+random.IntN(400))
			if i%10 == 3 {
				text = gapMark + text
			}
			if _, err := q.exec(ctx, "INSERT OR REPLACE INTO gapped VALUES (?, ?)", random.Int64N(1<<40), text); err != nil {
				return err
			}
			if i%7 == 0 {
				if _, err := q.exec(ctx, "DELETE FROM gapped WHERE k = (SELECT k FROM gapped WHERE k > ? LIMIT 1)", random.Int64N(1<<40)); err != nil {
					return err
				}
			}
		}
		return nil
	}))
	must.Do(t, transactions{g.Store}.Freeing(t.Context(), uuid.Nil, func(ctx context.Context, q store.Session) error {
		_, err := q.Exec(ctx, "DELETE FROM gapped WHERE x LIKE '%"+gapMark+"%'")
		return err
	}))
}

// cut moves the WAL into the file.
func (g *gapped) cut(t *testing.T) {
	t.Helper()
	g.checkpoints.running.Wait() // one of them may have the lock of checkpoints
	must.Do(t, g.cutWAL(t.Context()))
}

// vacuumNow does what the timer does.
func (g *gapped) vacuumNow(t *testing.T) error {
	t.Helper()
	q, leave, err := g.enterWriter(t.Context(), ofCaller(uuid.Nil))
	must.Do(t, err)
	defer leave()
	defer g.write.give(q)
	g.checkpoints.running.Wait() // as in cut
	return g.vacuumErased(t.Context(), q)
}

func (g *gapped) wantTraces(t *testing.T, want memory.Traces, kept bool) {
	t.Helper()
	if got := must.Get(g.Traces(t.Context()))(t); got != want {
		t.Errorf("traces are %s, want %s", got, want)
	}
	if found := g.filesWith(t, gapMark); len(found) > 0 != kept {
		t.Errorf("the mark is in %v", found)
	}
}

func (g *gapped) wantSound(t *testing.T) {
	t.Helper()
	if problems := must.Get(g.Verify(t.Context()))(t); len(problems) > 0 {
		t.Error(problems)
	}
}

// A piece of what was erased stays in a gap of a page until the file is vacuumed, at the end of the process at the latest.
func TestVacuumAtClose(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	g := newGapped(t, path, anyBytes)
	g.wantTraces(t, memory.TracesPending, true)
	must.Do(t, g.Close())
	if data := must.Get(os.ReadFile(path))(t); bytes.Contains(data, []byte(gapMark)) {
		t.Error("the mark is still in the file")
	}
	g = openAt(t, path, anyBytes)
	g.wantTraces(t, memory.TracesCleared, false)
	g.wantSound(t)
}

// A store is vacuumed when nothing was written since the timer was set, or when that was often so.
func TestVacuumWhenQuiet(t *testing.T) {
	t.Parallel()
	g := newGapped(t, filepath.Join(t.TempDir(), "x.db"), anyBytes)
	g.fill(t, 1)
	for range vacuumTurns {
		if g.isQuiet() {
			t.Fatal("it is quiet after a write")
		}
	}
	if !g.isQuiet() {
		t.Error("it waits for ever")
	}
	g.vacuumLater() // sets what was written before
	if !g.isQuiet() {
		t.Error("it is not quiet, and nothing was written")
	}
	if g.checkpoints.vacuuming == nil {
		t.Fatal("no timer is set")
	}
	g.checkpoints.vacuuming.Reset(0)
	end, look := time.After(5*time.Minute), time.NewTicker(10*time.Millisecond)
	defer look.Stop()
	for must.Get(g.Traces(t.Context()))(t) != memory.TracesCleared {
		select {
		case <-look.C:
		case <-end:
			t.Fatal("it is not vacuumed")
		}
	}
	g.wantTraces(t, memory.TracesCleared, false)
	if n := strings.Count(g.log.String(), "the file was vacuumed"); n != 1 {
		t.Errorf("%d lines in the log: %s", n, g.log)
	}
	g.wantSound(t)
}

// What was erased before a kill is known, and vacuumed, by the next process.
func TestVacuumAfterRestart(t *testing.T) {
	t.Parallel()
	killed := newGapped(t, filepath.Join(t.TempDir(), "x.db"), 0)
	path := filepath.Join(t.TempDir(), "x.db")
	for _, suffix := range []string{"", "-wal"} { // as a process leaves them that is killed
		must.Do(t, os.WriteFile(path+suffix, must.Get(os.ReadFile(killed.path+suffix))(t), 0o600))
	}
	g := openAt(t, path, anyBytes)
	g.wantTraces(t, memory.TracesPending, true)
	if g.checkpoints.vacuuming == nil {
		t.Error("no timer is set")
	}
	must.Do(t, g.Close())
	openAt(t, path, anyBytes).wantTraces(t, memory.TracesCleared, false)
}

// A file of a build that did not count erasures may have traces; a new one has none.
func TestTracesOfAnOlderBuild(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	g := openAt(t, path, anyBytes)
	g.wantTraces(t, memory.TracesCleared, false)
	must.Do(t, g.writing(t.Context(), ofCaller(uuid.Nil), func(ctx context.Context, q *session) error { return q.setMark(ctx, 0) }))
	g.wantTraces(t, memory.TracesPending, false)
	must.Do(t, g.Close())
	openAt(t, path, anyBytes).wantTraces(t, memory.TracesCleared, false)
}

// A file over the limit is left to its operator, whose command vacuums it while another process serves it.
func TestVacuumOfALargeFile(t *testing.T) {
	t.Parallel()
	for name, below := range map[string]int64{"never": 0, "limit": 4096} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGapped(t, filepath.Join(t.TempDir(), "x.db"), below)
			reader := metric.NewManualReader()
			must.Do(t, g.Measure(metric.NewMeterProvider(metric.WithReader(reader))))
			g.wantTraces(t, memory.TracesVacuumNeeded, true)
			for range 2 {
				if err := g.vacuumNow(t); err == nil {
					t.Error("it was vacuumed")
				}
			}
			if n := strings.Count(g.log.String(), "gateway vacuum"); n != 1 {
				t.Errorf("%d lines in the log: %s", n, g.log)
			}
			g.wantTraces(t, memory.TracesVacuumNeeded, true)
			if m := measured(t, reader); m["slipbox.database.vacuums failed"] != 0 || m["slipbox.database.unvacuumed"] < 4096 {
				t.Error(m)
			}
			tool := must.Get(Open(t.Context(), Config{Path: g.path, NoMigrate: true}, Deps{}))(t)
			before, after, err := tool.Vacuum(t.Context())
			if err != nil || before == 0 || after == 0 {
				t.Errorf("%d, %d, %v", before, after, err)
			}
			must.Do(t, tool.Close())
			g.wantTraces(t, memory.TracesCleared, false)
			g.fill(t, 3)
			g.wantSound(t)
		})
	}
}

// Without room for it there is no vacuum; the log says so once, and there is one when there is room.
func TestVacuumOnAFullDisk(t *testing.T) {
	t.Parallel()
	g := newGapped(t, filepath.Join(t.TempDir(), "x.db"), anyBytes)
	reader := metric.NewManualReader()
	must.Do(t, g.Measure(metric.NewMeterProvider(metric.WithReader(reader))))
	free := g.vacuums.free
	g.vacuums.free = func(string) int64 { return vacuumSpare }
	for range 3 {
		if err := g.vacuumNow(t); !fault.Is(err, fault.StorageFull) {
			t.Error(err)
		}
	}
	g.wantTraces(t, memory.TracesPending, true)
	if n := strings.Count(g.log.String(), "MiB free"); n != 1 {
		t.Errorf("%d lines in the log: %s", n, g.log)
	}
	if m := measured(t, reader); m["slipbox.database.vacuums failed"] != 3 || m["slipbox.database.unvacuumed"] < 4096 {
		t.Error(m)
	}
	g.vacuums.free = free
	g.reserve.low.Store(true)
	if err := g.vacuumNow(t); !fault.Is(err, fault.StorageFull) {
		t.Error(err)
	}
	g.reserve.low.Store(false)
	must.Do(t, g.vacuumNow(t))
	g.wantTraces(t, memory.TracesCleared, false)
	if m := measured(t, reader); m["slipbox.database.vacuums failed"] != 4 || m["slipbox.database.vacuums done"] != 1 || m["slipbox.database.unvacuumed"] != 0 {
		t.Error(m)
	}
}

// measured returns the values of metrics, each by its name and the values of its attributes.
func measured(t *testing.T, r *metric.ManualReader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	must.Do(t, r.Collect(t.Context(), &all))
	out := map[string]int64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		var points []metricdata.DataPoint[int64]
		switch d := m.Data.(type) {
		case metricdata.Gauge[int64]:
			points = d.DataPoints
		case metricdata.Sum[int64]:
			points = d.DataPoints
		}
		for _, p := range points {
			name := []string{m.Name}
			for _, a := range p.Attributes.ToSlice() {
				name = append(name, a.Value.AsString())
			}
			out[strings.Join(name, " ")] = p.Value
		}
	}
	return out
}

// While a reader has an older state, what was copied is not yet in the file: it stays pending, and is not copied twice.
func TestVacuumBesideReaders(t *testing.T) {
	t.Parallel()
	g := newGapped(t, filepath.Join(t.TempDir(), "x.db"), anyBytes)
	must.Do(t, g.snapshot(t.Context(), uuid.Nil, func(ctx context.Context, q *session) error {
		count := func() (n int) {
			must.Get(q.get(ctx, "SELECT COUNT(*) FROM notes", nil, &n))(t)
			return n
		}
		before := count()
		g.fill(t, 1)
		if err := g.vacuumNow(t); !fault.Is(err, fault.Unavailable) {
			t.Error(err)
		}
		if n := count(); n != before {
			t.Errorf("the reader sees %d notes, and saw %d", n, before)
		}
		return nil
	}))
	g.wantTraces(t, memory.TracesPending, true)
	g.vacuums.free = func(string) int64 { return 0 } // not asked
	must.Do(t, g.vacuumNow(t))
	g.wantTraces(t, memory.TracesCleared, false)
}

// What another process erases while a file is vacuumed is vacuumed again.
func TestVacuumBesideAnErasure(t *testing.T) {
	t.Parallel()
	g := newGapped(t, filepath.Join(t.TempDir(), "x.db"), anyBytes)
	other := openAt(t, g.path, 0)
	g.vacuums.free = func(path string) int64 {
		other.eraseRows(t, 0)
		return freeBytes(path)
	}
	if err := g.vacuumNow(t); !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
	if got := must.Get(g.Traces(t.Context()))(t); got != memory.TracesPending {
		t.Error(got)
	}
	g.vacuums.free = freeBytes
	must.Do(t, g.vacuumNow(t))
	g.wantTraces(t, memory.TracesCleared, false)
}

// An erasure that finds nothing leaves no traces.
func TestNothingErased(t *testing.T) {
	t.Parallel()
	g := newGapped(t, filepath.Join(t.TempDir(), "x.db"), anyBytes)
	must.Do(t, g.vacuumNow(t))
	n := g.add(t, memory.Note{Content: "said"})[0]
	must.Get(g.Write(t.Context(), g.scope, g.collection, memory.WriteOptions{Cause: memory.CauseDelete}, func(ctx context.Context, tx memory.Tx) error { return tx.Delete(ctx, n.ID) }))(t)
	g.wantTraces(t, memory.TracesCleared, false)
	for _, want := range []memory.Traces{memory.TracesPending, memory.TracesCleared} {
		must.Get(g.EraseNotes(t.Context(), g.scope, g.collection, memory.Erasing{Notes: []uuid.UUID{n.ID}}, memory.AuditEntry{Action: "note.erase"}))(t)
		g.wantTraces(t, want, false)
		must.Do(t, g.vacuumNow(t))
	}
}

// vacuumedFile is the variable that names the file which a process of TestVacuumIsKilled vacuums until it is killed.
const vacuumedFile = "SLIPBOX_TEST_VACUUM"

// A process that is killed while it vacuums loses nothing, and what is pending stays so.
func TestVacuumIsKilled(t *testing.T) {
	t.Parallel()
	if path := os.Getenv(vacuumedFile); path != "" {
		s := must.Get(Open(t.Context(), Config{Path: path, NoMigrate: true}, Deps{}))(t)
		for {
			_, _, err := s.Vacuum(t.Context())
			must.Do(t, err)
		}
	}
	g := newGapped(t, filepath.Join(t.TempDir(), "x.db"), 0)
	for range 10 {
		g.fill(t, 30)
	}
	for i, pages := range []int64{1, 100, 1000} { // in the log when it is killed
		g.eraseRows(t, uint64(i))
		g.cut(t)
		mark := g.markNow(t)
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestVacuumIsKilled$")
		cmd.Env = append(os.Environ(), vacuumedFile+"="+g.path)
		must.Do(t, cmd.Start())
		end, look := time.After(5*time.Minute), time.NewTicker(time.Millisecond)
		for wal := int64(0); wal < pages*4096; {
			select {
			case <-look.C:
				wal = must.Get(os.Stat(g.path + "-wal"))(t).Size()
			case <-end:
				t.Fatal("it does not vacuum")
			}
		}
		look.Stop()
		must.Do(t, cmd.Process.Kill())
		_ = cmd.Wait()
		g.wantSound(t)
		if now := g.markNow(t); now != mark && now&1 == 0 {
			t.Errorf("the number in the file is %d, and was %d", now, mark)
		}
	}
	_, _, err := g.Vacuum(t.Context())
	must.Do(t, err)
	g.wantTraces(t, memory.TracesCleared, false)
	g.wantSound(t)
}

func (g *gapped) markNow(t *testing.T) (n uint32) {
	t.Helper()
	must.Do(t, g.reading(t.Context(), uuid.Nil, func(ctx context.Context, q *session) (err error) {
		n, err = q.mark(ctx)
		return err
	}))
	return n
}
