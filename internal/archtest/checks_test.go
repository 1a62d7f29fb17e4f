package archtest_test

import (
	"maps"
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/slipboxhq/slipbox/internal/archtest"
)

func TestFindChecks(t *testing.T) {
	t.Parallel()
	file := func(src string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(src)} }
	found, err := archtest.FindChecks(fstest.MapFS{
		"a/a_test.go":            file("// C001, C002 and C010-C012.\nfunc TestC020Nearest(){}\n// C030–C031 (C040)"),
		"b/b_test.go":            file(`t.Run("C001 again", nil)`),
		"a/a.go":                 file("// C050 is named by code, not by a test."),
		"a/hex_test.go":          file("// ABC060, C0701 and EC080 are no checks."),
		"a/testdata/x_test.go":   file("// C090"),
		"internal/archtest/x.go": file("// C091"),
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []archtest.Check{1, 2, 10, 11, 12, 20, 30, 31, 40}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	if got := found[1]; !slices.Equal(got, []string{"a/a_test.go", "b/b_test.go"}) {
		t.Errorf("C001 is named by %v", got)
	}
}

func TestRequired(t *testing.T) {
	t.Parallel()
	all := archtest.Required()
	const checks = 288
	if unique := slices.Compact(slices.Clone(all)); len(all) != checks || len(unique) != len(all) || !slices.IsSorted(all) {
		t.Fatalf("%d checks, %d unique, sorted %v, want %d in order", len(all), len(unique), slices.IsSorted(all), checks)
	}
	for c, want := range map[archtest.Check]bool{
		1: true, 80: true, 81: false, 82: true, 85: false, 91: true, 115: true, 116: true, 158: true, 187: true, 188: false, 193: true, 194: false,
		208: true, 209: false, 244: true, 300: true, 303: true, 304: false, 305: false, 309: true, 311: false, 314: true, 315: true, 325: true, 326: false, 327: true, 329: true, 330: true, 331: true,
		333: false, 334: true, 341: true,
	} {
		if got := slices.Contains(all, c); got != want {
			t.Errorf("%v is required: %v, want %v", c, got, want)
		}
	}
}

func TestRequiredChecksAreNamed(t *testing.T) {
	t.Parallel()
	found, err := archtest.FindChecks(os.DirFS(root))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range archtest.Required() {
		if len(found[c]) == 0 {
			t.Errorf("no test names %v", c)
		}
	}
}
