// Package cpus returns the number of CPUs for computation, which can be fewer than the processors of Go's scheduler.
package cpus

import (
	"os"
	"runtime"
	"sync/atomic"
)

// spare is how many processors the scheduler has besides one for each CPU: one that waits for the network while another
// one answers.
const spare = 2

var counted atomic.Int64 // by Spare; 0: it was not called

// Count returns how many goroutines can compute in parallel: the CPUs that the process may use, or GOMAXPROCS if the
// environment sets it.
func Count() int {
	if n := counted.Load(); n > 0 {
		return int(n)
	}
	return runtime.GOMAXPROCS(0)
}

// Spare adds processors to the scheduler that computations leave free, unless the environment sets GOMAXPROCS. Go looks for
// data on the network when a processor has nothing to do, and otherwise every 10 ms. So with one for each CPU, and as many
// long requests at work, a short request waits up to 10 ms before it is seen. A thread of a spare processor is woken by the
// operating system, which gives it a CPU immediately.
//
// It is called once, before anything else asks for Count. A limit of CPUs that is changed later is seen after a restart.
func Spare() {
	if os.Getenv("GOMAXPROCS") != "" {
		return
	}
	n := runtime.GOMAXPROCS(0)
	counted.Store(int64(n))
	runtime.GOMAXPROCS(n + spare)
}
