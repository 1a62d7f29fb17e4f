package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/test/must"
)

// within waits until a condition holds, for at most five minutes.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	end, look := time.After(5*time.Minute), time.NewTicker(100*time.Millisecond)
	defer look.Stop()
	for !holds() {
		select {
		case <-look.C:
		case <-end:
			t.Fatalf("%s: not within five minutes", what)
		}
	}
}

// filesWith returns the files below a folder that have a text.
func filesWith(t *testing.T, folder, text string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // removed meanwhile
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if bytes.Contains(data, []byte(text)) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// indexFiles returns the snapshots of indexes in the folder of a gateway.
func indexFiles(t *testing.T, data string) []string {
	t.Helper()
	found := must.Get(filepath.Glob(filepath.Join(data, "index", "*", "*")))(t)
	return found
}

// A deleted collection and a deleted tenant are in no file of a gateway that keeps running and has nothing else to do: not in the
// database, its write-ahead log or the files of indexes.
func TestDeletedIsInNoFile(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, data, []string{"SLIPBOX_EMBEDDER=hash"})
	ok := func(args ...string) string { return succeeds(t, data, args...) }
	ok("tenant", "create", "acme")
	key := keyText.FindString(ok("key", "create", "--tenant", "acme"))
	marks := []string{"quokkaone", "quokkatwo"}
	fill := func(key, name, mark string) {
		p.must(t, key, 201, "POST", "/v1/collections", object{"name": name, "policy": "none"})
		for i := range 70 { // fewer have no file of an index
			p.must(t, key, 201, "POST", "/v1/collections/"+name+"/notes", object{"content": mark + " " + sentence(i), "tags": []string{mark}, "on_duplicate": "keep"})
		}
		waitIdle(t, p, key)
		p.must(t, key, 200, "POST", "/v1/collections/"+name+"/search", object{"query": mark})
	}
	for _, mark := range marks {
		fill(key, mark[6:], mark)
	}
	fill(newKey(t, data), "kept", "quokkakept")
	within(t, "each collection has a file of its index", func() bool { return len(indexFiles(t, data)) >= 3 })
	gone := func(mark string, left int) {
		t.Helper()
		var found []string
		t.Cleanup(func() {
			if t.Failed() {
				t.Logf("%s is in %v; files of indexes: %v", mark, found, indexFiles(t, data))
			}
		})
		within(t, mark+" is in no file", func() bool {
			found = filesWith(t, data, mark)
			return len(found) == 0 && len(indexFiles(t, data)) <= left
		})
	}
	p.must(t, key, 204, "DELETE", "/v1/collections/one", nil)
	gone(marks[0], 2)
	if len(filesWith(t, data, marks[1])) == 0 {
		t.Fatal("the other collection is in no file")
	}
	p.must(t, platformKey(t, data), 204, "DELETE", "/v1/tenants/acme", nil)
	gone(marks[1], 1)
	if len(filesWith(t, data, "quokkakept")) == 0 {
		t.Error("another tenant is in no file")
	}
}
