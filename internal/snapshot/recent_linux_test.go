package snapshot_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"weak"

	"github.com/slipboxhq/slipbox/internal/snapshot"
	"github.com/slipboxhq/slipbox/test/must"
)

// resident returns how many KiB of each file below a directory are in the memory of this process.
func resident(t *testing.T, dir string) map[string]int {
	t.Helper()
	raw := must.Get(os.ReadFile("/proc/self/smaps"))(t)
	out, name := map[string]int{}, ""
	for line := range strings.Lines(string(raw)) {
		switch f := strings.Fields(line); {
		case strings.Contains(f[0], "-"):
			name = f[len(f)-1]
		case f[0] == "Rss:" && strings.HasPrefix(name, dir):
			n := must.Get(strconv.Atoi(f[1]))(t)
			out[filepath.Base(name)] += n
		}
	}
	return out
}

// Of small files that are used, only the last stay in the memory of the process. All read the same, and large files stay.
func TestRecentFilesStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d := open(t, dir)
	d.RecentBytes = 4 << 20
	var list []*snapshot.File
	add := func(kind string, size int) {
		n := snapshot.Name{Tenant: one.Tenant, Collection: one.Collection, Kind: kind}
		must.Do(t, d.Write(n, always, text(strings.Repeat("x", size))))
		f := must.Get(d.Read(n))(t)
		list = append(list, f)
	}
	use := func(i int) {
		d.Use(weak.Make(list[i]))
		if n := bytes.Count(list[i].Bytes(), []byte("x")); n != len(list[i].Bytes()) {
			t.Errorf("file %d has %d of %d bytes", i, n, len(list[i].Bytes()))
		}
	}
	add("large", 8<<20)
	use(0)
	for i := 1; i <= 8; i++ {
		add("small-"+strconv.Itoa(i), 1<<20)
		use(i)
	}
	use(5) // of those that stayed, the sixth is now the one that was not used for longest
	add("small-9", 1<<20)
	use(9)
	have := resident(t, dir)
	if len(have) != len(list) {
		t.Errorf("%d files are mapped, want %d", len(have), len(list))
	}
	for name, stays := range map[string]bool{
		"large": true, "small-1": false, "small-4": false, "small-5": true, "small-6": false, "small-7": true, "small-8": true, "small-9": true,
	} {
		for file, kib := range have {
			if strings.Contains(file, "."+name+".") && (kib > 0) != stays {
				t.Errorf("%s: %d KiB are in memory", name, kib)
			}
		}
	}
	use(1)
	d.Use(weak.Pointer[snapshot.File]{})
	runtime.KeepAlive(list)
}
