package cpus

import (
	"runtime"
	"testing"
)

// Spare processors do not count, and there are none where the environment says how many there are.
func TestSpare(t *testing.T) { //nolint:paralleltest // it changes the process
	n := runtime.GOMAXPROCS(0)
	defer func() {
		runtime.GOMAXPROCS(n)
		counted.Store(0)
	}()
	const spare = 2
	t.Setenv("GOMAXPROCS", "3")
	Spare(spare)
	if Count() != n || runtime.GOMAXPROCS(0) != n {
		t.Errorf("%d of %d processors count, want %d of %d", Count(), runtime.GOMAXPROCS(0), n, n)
	}
	t.Setenv("GOMAXPROCS", "")
	Spare(spare)
	if Count() != n || runtime.GOMAXPROCS(0) != n+spare {
		t.Errorf("%d of %d processors count, want %d of %d", Count(), runtime.GOMAXPROCS(0), n, n+spare)
	}
}
