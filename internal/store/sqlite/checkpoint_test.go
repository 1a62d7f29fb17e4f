package sqlite

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// The WAL is moved into the file beside the writer, and begun again, so it does not reach the size from which
// writes wait for it.
func TestCheckpoints(t *testing.T) {
	t.Parallel()
	d := newDisk(t, t.TempDir())
	d.walLimit = 1 << 40
	const (
		page  = 4096
		notes = 30 // in a write, of 17 pages each
	)
	size := func(suffix string) int64 {
		info := must.Get(os.Stat(d.path + suffix))(t)
		return info.Size()
	}
	for range 12 {
		d.fill(t, notes)
		d.checkpoints.running.Wait()
	}
	wal, file := size("-wal"), size("")
	if most := int64(2 * restartPages * page); wal > most || file < most {
		t.Errorf("the WAL has %d bytes and the file %d, want at most and at least %d", wal, file, most)
	}
}

// fill writes large notes in one transaction.
func (d *disk) fill(t *testing.T, notes int) {
	t.Helper()
	must.Get(d.Write(t.Context(), d.scope, d.collection, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
		for range notes {
			if _, err := tx.Put(ctx, memory.Note{Content: strings.Repeat("x", memory.MaxContentBytes)}); err != nil {
				return err
			}
		}
		return nil
	}))(t)
}

// A long WAL is moved, and the file synced, while the writer is in use: its turn is for the rest only.
func TestCheckpointBesideTheWriter(t *testing.T) {
	t.Parallel()
	d := newDisk(t, t.TempDir())
	d.walLimit = 1 << 40
	d.checkpoints.stop() // only the one of this test
	d.fill(t, 150)       // of 17 pages each
	must.Do(t, d.writing(t.Context(), ofCaller(d.scope.Tenant()), func(ctx context.Context, _ *session) error {
		pages, err := d.moveBeside(ctx)
		if err != nil || pages < restartPages {
			t.Errorf("the WAL has %d pages, want %d or more; %v", pages, restartPages, err)
		}
		return nil
	}))
	if d.checkpoints.file == nil {
		t.Error("the file was not synced")
	}
	must.Do(t, d.reading(t.Context(), d.scope.Tenant(), func(ctx context.Context, q *session) error {
		pages, moved, _, err := q.moveWAL(ctx, "NOOP")
		if left := pages - moved; left > restartRest {
			t.Errorf("%d of %d pages are left, want at most %d", left, pages, restartRest)
		}
		return err
	}))
}

// What is erased is in no file of a quiet store after a short time: not in the database, and not in its WAL.
func TestErasedIsInNoFile(t *testing.T) {
	t.Parallel()
	d := newDisk(t, t.TempDir())
	const mark = "mark-of-an-erased-note"
	var id uuid.UUID
	must.Get(d.Write(t.Context(), d.scope, d.collection, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
		for _, text := range []string{mark, "stays"} {
			n, err := tx.Put(ctx, memory.Note{Content: text, Tags: []string{text}, Attributes: map[string]any{"x": text}})
			if err != nil {
				return err
			}
			if text == mark {
				id = n.ID
			}
		}
		return nil
	}))(t)
	if found := d.filesWith(t, mark); len(found) == 0 {
		t.Fatal("the mark was never in a file")
	}
	must.Get(d.Write(t.Context(), d.scope, d.collection, memory.WriteOptions{Cause: memory.CauseDelete}, func(ctx context.Context, tx memory.Tx) error {
		return tx.Delete(ctx, id)
	}))(t)
	must.Get(d.EraseNotes(t.Context(), d.scope, d.collection, memory.Erasing{Notes: []uuid.UUID{id}}, memory.AuditEntry{Action: "note.erase"}))(t)
	end, look := time.After(5*time.Minute), time.NewTicker(50*time.Millisecond)
	defer look.Stop()
	for len(d.filesWith(t, mark)) > 0 {
		select {
		case <-look.C:
		case <-end:
			t.Fatalf("the mark is still in %v", d.filesWith(t, mark))
		}
	}
	if len(d.filesWith(t, "stays")) == 0 {
		t.Error("another note is gone")
	}
}

// filesWith returns the files of the store that have a text.
func (d *disk) filesWith(t *testing.T, text string) (out []string) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		data := must.Get(os.ReadFile(d.path + suffix))(t)
		if strings.Contains(string(data), text) {
			out = append(out, d.path+suffix)
		}
	}
	return out
}
