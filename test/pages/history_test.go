package pages_test

import (
	"archive/zip"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// imported is a command of a page that imports a file, with the name of it.
var imported = regexp.MustCompile(`(?m)^slipbox import (?:"([^"]+)"|(\S+))`)

// export puts an export of another program where the commands of the page about it find it: the fixture of the format, as the
// file, the zip or the folder that the page names.
func (r *reader) export(t *testing.T, format string, blocks []block) {
	t.Helper()
	fixture := filepath.Join(tree, "internal", "memory", "transfer", "testdata", format)
	for _, b := range of(blocks, "sh", "") {
		for _, m := range imported.FindAllStringSubmatch(b.text, -1) {
			r.layExport(t, fixture, m[1]+m[2])
		}
	}
}

// layExport copies the fixture in a folder to a name.
func (r *reader) layExport(t *testing.T, fixture, name string) {
	t.Helper()
	from, to := os.DirFS(fixture), filepath.Join(r.dir, name)
	files, err := os.ReadDir(fixture)
	if err != nil {
		t.Fatal(err)
	}
	switch ext := filepath.Ext(name); {
	case ext == "":
		err = os.CopyFS(to, from)
	case ext == ".zip":
		var out *os.File
		if out, err = os.Create(to); err != nil {
			break
		}
		packed := zip.NewWriter(out)
		if err = packed.AddFS(from); err == nil {
			err = packed.Close()
		}
		_ = out.Close()
	case len(files) == 1:
		var raw []byte
		if raw, err = os.ReadFile(filepath.Join(fixture, files[0].Name())); err == nil {
			err = os.WriteFile(to, raw, 0o600)
		}
	default:
		t.Fatalf("%s is one file, and the fixture has %d", name, len(files))
	}
	if err != nil {
		t.Fatal(err)
	}
}
