package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/clock"
	"github.com/slipboxhq/slipbox/test/must"
)

// disk is a store whose disk can be full.
type disk struct {
	bench

	clock  *clock.Clock
	widen  func(t *testing.T) // makes room
	wholly bool               // the file system itself is full
}

const testReserve = 8 << 20

// newDisk opens a store in a directory, with a tenant and a collection.
func newDisk(t *testing.T, dir string) *disk {
	t.Helper()
	d := &disk{clock: clock.New(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))}
	s := must.Get(Open(t.Context(), Config{Path: filepath.Join(dir, "x.db"), Reserve: testReserve}, Deps{Clock: d.clock.Now}))(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	tn := must.Get(s.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: "t"}))(t)
	d.bench = bench{Store: s, scope: grant.Scope(tn.ID, uuid.Nil, "test", tenant.AllPermissions()...)}
	d.collection = d.create(t, "c")
	return d
}

func (d *disk) create(t *testing.T, name string) uuid.UUID {
	t.Helper()
	c := must.Get(d.CreateCollection(t.Context(), d.scope, memory.NewCollection{Collection: memory.Collection{Name: name, Policy: "amem", Embedder: "hash", Dim: 384}}))(t)
	return c.Collection.ID
}

// put writes a note of 64 KiB.
func (d *disk) put(cause memory.Cause) error {
	_, err := d.Write(context.Background(), d.scope, d.collection, memory.WriteOptions{Cause: cause}, func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Put(ctx, memory.Note{Content: strings.Repeat("x", memory.MaxContentBytes)})
		return err
	})
	return err
}

// mountedDisk is a store on a file system of some MiB; ok is false where a test may not mount one.
func mountedDisk(t *testing.T, size string) (d *disk, ok bool) {
	t.Helper()
	dir := t.TempDir()
	if err := mount(dir, "size="+size); err != nil {
		t.Logf("no file system of its own: %v", err)
		return nil, false
	}
	t.Cleanup(func() {
		if err := unmount(dir); err != nil {
			t.Error(err)
		}
	})
	d = newDisk(t, dir)
	d.wholly = true
	d.widen = func(t *testing.T) {
		t.Helper()
		must.Do(t, mount(dir, "remount,size=64m"))
	}
	return d, true
}

// limitedDisk is a store whose file and reserve have 16 MiB together.
func limitedDisk(t *testing.T) *disk {
	t.Helper()
	d := newDisk(t, t.TempDir())
	limit := int64(8 << 20 / 4096)
	r := &d.reserve
	size := func() (n int64) {
		if err := d.reading(t.Context(), uuid.Nil, func(ctx context.Context, q *session) error {
			_, err := q.get(ctx, "PRAGMA page_count", nil, &n)
			return err
		}); err != nil {
			t.Error(err)
		}
		return n
	}
	r.pages = limit
	r.remove = func() error { r.pages = limit + testReserve/4096; return nil }
	r.make = func() error {
		if size() > limit {
			return syscall.ENOSPC
		}
		r.pages = limit
		return nil
	}
	d.widen = func(*testing.T) { limit += 8 << 20 / 4096 }
	return d
}

// On a full disk writes are refused and the readiness says so; deletions succeed, and after them writes use
// what they freed. When there is room again, everything is as before.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	t.Run("limited", func(t *testing.T) { t.Parallel(); limitedDisk(t).fillAndFree(t, 50) })
	t.Run("mounted", func(t *testing.T) {
		t.Parallel()
		if d, ok := mountedDisk(t, "24m"); ok {
			d.fillAndFree(t, 50)
		}
	})
	t.Run("small", func(t *testing.T) {
		t.Parallel()
		d, ok := mountedDisk(t, "4m")
		if !ok {
			return
		}
		if info, err := os.Stat(d.path + reserveSuffix); err != nil || info.Size() != 1<<20 {
			t.Errorf("the reserve on a disk of 4 MiB: %+v, %v", info, err)
		}
		d.fillAndFree(t, 4)
	})
}

// The reserve is a share of a small disk.
func TestReserveSize(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, c := range []struct{ want, disk, size int64 }{
		{16 * mib, 0, 16 * mib}, {16 * mib, 1 << 40, 16 * mib}, {16 * mib, 64 * mib, 16 * mib},
		{16 * mib, 32 * mib, 8 * mib}, {16 * mib, 3 * mib, 3 * mib / 4}, {0, 3 * mib, 0}, {-1, 3 * mib, 0},
	} {
		if got := reserveSize(c.want, c.disk); got != c.size {
			t.Errorf("%d bytes on a disk of %d: %d, want %d", c.want, c.disk, got, c.size)
		}
	}
}

// fillAndFree fills the disk, with a number of notes at least, and deletes.
func (d *disk) fillAndFree(t *testing.T, least int) {
	t.Helper()
	first := d.collection
	if err := d.CheckWrites(t.Context()); err != nil {
		t.Fatalf("with room: %v", err)
	}
	fill := func(most int) (stored int, err error) {
		for stored < most {
			if err = d.put(memory.CauseAdd); err != nil {
				// A checkpoint that runs beside the writer may make room: then the disk was not full yet.
				d.checkpoints.running.Wait()
				err = d.put(memory.CauseAdd)
			}
			if err != nil {
				return stored, err
			}
			stored++
		}
		return stored, nil
	}
	n, err := fill(400)
	refused(t, err, fault.StorageFull)
	if n < least {
		t.Fatalf("full after %d notes of 64 KiB", n)
	}
	refused(t, d.CheckWrites(t.Context()), fault.StorageFull)
	if d.reserve.low.Load() {
		t.Fatal("an ordinary write took the reserve")
	}
	// A changeset that deletes is written.
	if err := d.put(memory.CauseDelete); err != nil {
		t.Fatalf("a deletion on a full disk: %v", err)
	}
	if !d.reserve.low.Load() {
		t.Error("the reserve is there, though a deletion needed it")
	}
	refused(t, d.put(memory.CauseAdd), fault.StorageFull) // what the reserve gave is not for it
	refused(t, d.CheckWrites(t.Context()), fault.StorageFull)
	if _, err := d.DeleteCollection(t.Context(), d.scope, first, false, memory.AuditEntry{Action: "collection.delete"}); err != nil {
		t.Fatalf("deleting a collection on a full disk: %v", err)
	}
	for gone, steps := false, 0; !gone; steps++ {
		if gone, err = d.RemoveRows(t.Context(), d.scope, first, 0); err != nil || steps > 100 {
			t.Fatalf("step %d of a removal on a full disk: %v", steps, err)
		}
	}
	d.collection = d.create(t, "again")
	if again, err := fill(n / 2); err != nil || again != n/2 {
		t.Fatalf("%d of %d notes in the space that was freed: %v", again, n/2, err)
	}
	if p, err := d.Verify(t.Context()); err != nil || len(p) > 0 {
		t.Fatalf("the store is not sound: %v, %v", p, err)
	}
	d.widen(t)
	d.clock.Pass(fullFor)
	if err := d.CheckWrites(t.Context()); err != nil || d.reserve.low.Load() {
		t.Fatalf("with room again: %v", err)
	}
	if again, err := fill(n); err != nil {
		t.Fatalf("%d of %d notes with room again: %v", again, n, err)
	}
	if p, err := d.Verify(t.Context()); err != nil || len(p) > 0 {
		t.Fatalf("the store is not sound: %v, %v", p, err)
	}
	if _, err := os.Stat(d.path + reserveSuffix); d.wholly && err != nil {
		t.Errorf("the reserve is not back: %v", err)
	}
}

// A store that starts on a full disk deletes too, and one without a reserve leaves no file.
func TestReserveAtStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := newDisk(t, dir)
	if info, err := os.Stat(d.path + reserveSuffix); err != nil || info.Size() != testReserve || info.Sys().(*syscall.Stat_t).Blocks*512 < testReserve {
		t.Fatalf("the reserve: %+v, %v", info, err)
	}
	must.Do(t, d.openReserve(t.Context(), Config{}))
	if _, err := os.Stat(d.path + reserveSuffix); !os.IsNotExist(err) {
		t.Errorf("without a reserve its file is there: %v", err)
	}
}

// The answer of CheckWrites is that of the file system, and is asked for at most every five seconds.
func TestCheckWrites(t *testing.T) {
	t.Parallel()
	d := newDisk(t, t.TempDir())
	must.Do(t, d.CheckWrites(t.Context()))
	must.Do(t, os.MkdirAll(d.path+probeSuffix+"/in the way", 0o700))
	if err := d.CheckWrites(t.Context()); err != nil {
		t.Errorf("asked again at once: %v", err)
	}
	d.clock.Pass(writesEvery)
	if err := d.CheckWrites(t.Context()); err == nil {
		t.Error("a probe that cannot be written is no problem")
	}
	must.Do(t, os.RemoveAll(d.path+probeSuffix))
	d.clock.Pass(writesEvery)
	if err := d.CheckWrites(t.Context()); err != nil {
		t.Error(err)
	}
}

// A folder that became read-only, as after an error of the disk, is refused with a sentence, and nothing in it is lost.
func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	set := func(readOnly bool) error { // of a file system of its own, which only root mounts; else of the folder
		switch {
		case os.Geteuid() == 0 && readOnly:
			return mount(dir, "remount,ro,size=32m")
		case os.Geteuid() == 0:
			return mount(dir, "remount,size=32m")
		case readOnly:
			return os.Chmod(dir, 0o500)
		}
		return os.Chmod(dir, 0o700)
	}
	if os.Geteuid() == 0 {
		if err := mount(dir, "size=32m"); err != nil {
			t.Logf("no file system of its own, and root writes to any folder: %v", err)
			return
		}
		defer func() {
			if err := unmount(dir); err != nil {
				t.Error(err)
			}
		}()
	}
	d := newDisk(t, dir)
	must.Do(t, d.put(memory.CauseAdd))
	path := d.path
	must.Do(t, errors.Join(d.Close(), set(true)))
	_, err := Open(t.Context(), Config{Path: path}, Deps{})
	if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "cannot write the database file") {
		t.Errorf("a read-only folder is %v", err)
	}
	must.Do(t, set(false))
	again := must.Get(Open(t.Context(), Config{Path: path}, Deps{Clock: d.clock.Now}))(t)
	if n, err := again.TenantUsage(t.Context(), d.scope); err != nil || n.Notes != 1 {
		t.Errorf("afterwards: %+v, %v", n, err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// A WAL that readers kept is truncated when it has grown by half its limit since the last try: to try again at each write would
// wait for readers at each. So the first write after the readers need not do it, but writes of half the limit do. From then on
// the WAL keeps to its limit. Checkpoints beside the writer are stopped: a try that meets one ends at once, and one that begins
// the WAL again keeps it from growing.
func TestWALIsBounded(t *testing.T) {
	t.Parallel()
	d := newDisk(t, t.TempDir())
	d.checkpoints.stop()
	d.walLimit = 1 << 20
	size := func() int64 {
		info := must.Get(os.Stat(d.path + "-wal"))(t)
		return info.Size()
	}
	must.Do(t, d.snapshot(t.Context(), uuid.Nil, func(ctx context.Context, q *session) error {
		var n int
		if _, err := q.get(ctx, "SELECT COUNT(*) FROM notes", nil, &n); err != nil {
			return err
		}
		for range 30 {
			if err := d.put(memory.CauseAdd); err != nil {
				return err
			}
		}
		return nil
	}))
	kept := size()
	if kept < 2*d.walLimit {
		t.Fatalf("the WAL has %d bytes, though a reader kept it", kept)
	}
	const most = memory.MaxContentBytes * 2 // of a write: its pages, and those of indexes
	again := kept + d.walLimit/2 + most
	for range 40 {
		must.Do(t, d.put(memory.CauseAdd))
		now := size()
		if now < kept {
			again = d.walLimit + most
		}
		if now > again {
			t.Fatalf("the WAL has %d bytes after %d, want at most %d", now, kept, again)
		}
	}
	if again != d.walLimit+most {
		t.Error("the WAL was never truncated")
	}
}
