package archtest_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/slipboxhq/slipbox/internal/archtest"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestNothingPauses(t *testing.T) {
	t.Parallel()
	found := must.Get(archtest.FindPauses(os.DirFS(root)))(t)
	for _, r := range found {
		t.Error(r)
	}
}

func TestFindPauses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, body string
		refused          bool
	}{
		{"statement", "a/a.go", "<-time.After(d)", true},
		{"in a loop of a test", "a/a_test.go", "for !done() { <-time.After(d) }", true},
		{"assigned", "a/a.go", "_ = <-time.After(d)", true},
		{"only case", "a/a.go", "select { case <-time.After(d): }", true},
		{"limit of a wait", "a/a.go", "select { case <-done: case <-time.After(d): }", false},
		{"poll", "a/a.go", "select { case <-time.After(d): default: }", false},
		{"channel", "a/a.go", "c := time.After(d); <-c", false},
		{"bubble", "a/a_test.go", "synctest.Test(t, func(t *testing.T) { <-time.After(d) })", false},
		{"beside a bubble", "a/a_test.go", "synctest.Test(t, f); <-time.After(d)", true},
		{"faults", "test/faults/a_test.go", "<-time.After(d)", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found := must.Get(archtest.FindPauses(fstest.MapFS{test.file: {Data: []byte("package a\n\nfunc f() { " + test.body + " }\n")}}))(t)
			if refused := len(found) > 0; refused != test.refused {
				t.Errorf("refused %v, want %v: %v", refused, test.refused, found)
			}
		})
	}
}
