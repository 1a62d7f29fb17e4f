package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/slipboxhq/slipbox/test/must"
)

// immutable is FS_IMMUTABLE_FL of linux/fs.h.
const immutable = 0x10

// setWritable sets whether files of a gateway, by their suffixes, and the folder itself, can be written. While a process has files
// open, the kernel refuses to remount their file system read-only, unless an error of the disk forces it; files that are marked as
// immutable fail in the same way, also for those who have them open.
func setWritable(data string, writable bool, suffixes ...string) error {
	paths := []string{data}
	for _, suffix := range suffixes {
		paths = append(paths, filepath.Join(data, "slipbox.db"+suffix))
	}
	for _, path := range paths {
		f, err := os.Open(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return err
		}
		flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
		if err == nil {
			flags &^= immutable
			if !writable {
				flags |= immutable
			}
			err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags))
		}
		_ = f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// A gateway whose folder became read-only answers writes with what is wrong, and reads as before; once the folder can be written,
// it takes writes without a new start.
func TestFolderBecomesReadOnly(t *testing.T) {
	t.Parallel()
	data, err := os.MkdirTemp("/var/tmp", "slipbox-readonly-") //nolint:usetesting // a file system in memory has no such mark
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(data) })
	p := serve(t, data, []string{"SLIPBOX_EMBEDDER=hash"})
	key := p.firstKey(t)
	p.must(t, key, 201, "POST", "/v1/collections", object{"name": "c", "policy": "none"})
	p.must(t, key, 201, "POST", "/v1/collections/c/notes", object{"content": "The lighthouse keeper reads."})
	all := []string{"", "-wal", "-shm"}
	t.Cleanup(func() { _ = setWritable(data, true, all...) })
	if err := setWritable(data, false, "", "-wal"); err != nil {
		if os.Getenv("CI") != "" && os.Geteuid() == 0 {
			t.Fatalf("mark files as immutable: %v", err)
		}
		t.Skipf("needs the right to mark files as immutable, and a file system with such marks: %v", err)
	}
	for range 3 {
		status, out := p.call(t.Context(), key, "POST", "/v1/collections/c/notes", object{"content": "A second one."})
		detail, _ := out["detail"].(string)
		if status != 503 || out["code"] != "unavailable" || !strings.Contains(detail, "the database file") || strings.Contains(detail, data) {
			t.Fatalf("a write: status %d: %v\n%s", status, out, p.Stderr)
		}
		p.must(t, key, 200, "GET", "/v1/collections/c/notes", nil)
		if hits := p.must(t, key, 200, "POST", "/v1/collections/c/search", object{"query": "lighthouse"})["hits"].([]any); len(hits) != 1 {
			t.Fatalf("a search: %v", hits)
		}
	}
	within(t, "/readyz says that nothing can be written", func() bool {
		status, out := p.call(t.Context(), key, "GET", "/readyz", nil)
		checks, _ := out["checks"].(object)
		return status == 200 && checks["writes"] != nil && checks["writes"] != "ok"
	})
	// Pages of the shared memory of the log, too, once the kernel has written them back: a read that has to change one fails.
	must.Do(t, setWritable(data, false, all...))
	for range 3 {
		if status, out := p.call(t.Context(), key, "GET", "/v1/collections/c/notes", nil); status != 200 && status != 503 {
			t.Fatalf("a read: status %d: %v\n%s", status, out, p.Stderr)
		}
	}
	must.Do(t, setWritable(data, true, all...))
	p.must(t, key, 201, "POST", "/v1/collections/c/notes", object{"content": "A third one."})
	p.must(t, key, 200, "POST", "/v1/collections/c/search", object{"query": "third"})
	if notes := p.must(t, key, 200, "GET", "/v1/collections/c/notes", nil)["items"].([]any); len(notes) != 2 {
		t.Errorf("%d notes, want the two that were acknowledged", len(notes))
	}
	if code := p.Stop(t); code != 0 {
		t.Errorf("exit code %d after SIGTERM\n%s", code, p.Stderr)
	}
	if out, msg, code := run(t, nil, "check", "--data", data); code != 0 {
		t.Errorf("check: exit %d\n%s\n%s", code, out, msg)
	}
}
