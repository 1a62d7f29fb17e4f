package archtest_test

import (
	"maps"
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/slipboxhq/slipbox/internal/archtest"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestFindChecks(t *testing.T) {
	t.Parallel()
	file := func(src string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(src)} }
	found := must.Get(archtest.FindChecks(fstest.MapFS{
		"a/a_test.go":            file("// C001, C002 and C010-C012.\nfunc TestC020Nearest(){}\n// C030–C031 (C040)"),
		"b/b_test.go":            file(`t.Run("C001 again", nil)`),
		"a/a.go":                 file("// C050 is named by code, not by a test."),
		"a/hex_test.go":          file("// ABC060, C0701 and EC080 are no checks."),
		"a/testdata/x_test.go":   file("// C090"),
		"internal/archtest/x.go": file("// C091"),
	}))(t)
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
	if unique := slices.Compact(slices.Clone(all)); len(unique) != len(all) || !slices.IsSorted(all) || all[0] != 1 || all[len(all)-1] > 341 {
		t.Fatalf("%d checks, %d unique, from %v to %v, sorted %v", len(all), len(unique), all[0], all[len(all)-1], slices.IsSorted(all))
	}
}

func TestRequiredChecksAreNamed(t *testing.T) {
	t.Parallel()
	found := must.Get(archtest.FindChecks(os.DirFS(root)))(t)
	for _, c := range archtest.Required() {
		if len(found[c]) == 0 {
			t.Errorf("no test names %v", c)
		}
	}
}
