package sqlite

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
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
		info, err := os.Stat(d.path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for range 12 {
		_, err := d.Write(t.Context(), d.scope, d.collection, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
			for range notes {
				if _, err := tx.Put(ctx, memory.Note{Content: strings.Repeat("x", memory.MaxContentBytes)}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		d.checkpoints.running.Wait()
	}
	wal, file := size("-wal"), size("")
	if most := int64(2 * restartPages * page); wal > most || file < most {
		t.Errorf("the WAL has %d bytes and the file %d, want at most and at least %d", wal, file, most)
	}
}
