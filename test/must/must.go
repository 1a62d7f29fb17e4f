// Package must ends a test on an error of a step that only leads to what the test looks at. It depends on nothing; test
// files of all packages may use it.
package must

// TB is a test, a benchmark, or one round of a generated test.
type TB interface {
	Helper()
	Fatal(args ...any)
}

// Get returns the value of a call, and ends the test when the call failed: n := must.Get(store.Note(id))(t).
func Get[V any](v V, err error) func(TB) V {
	return func(t TB) V {
		t.Helper()
		Do(t, err)
		return v
	}
}

// Do ends the test when err is not nil.
func Do(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
