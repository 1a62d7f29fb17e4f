package fair

import "time"

// How long a place of a flooding tenant rests.
const (
	// restStep is one step of a rest. A step that ends later than restLate says that threads wait for a CPU, and
	// another one follows, up to restSteps.
	restStep  = 4 * time.Millisecond
	restLate  = 300 * time.Microsecond
	restSteps = 10
)

// Rest returns at once, and calls free after a rest, in a goroutine of a timer: 4 ms if the process gets a CPU when it
// wants one, up to 40 ms if not. Turns alone share out what is done, but a tenant that floods takes each place again as
// soon as it is free, so all CPUs stay busy, and a short request of another tenant waits for one each time it is woken.
// A tenant rests only while it floods (Queue.Floods), so one that has the process to itself never does.
func Rest(free func()) { rest(free, restSteps) }

func rest(free func(), steps int) {
	due := time.Now().Add(restStep)
	time.AfterFunc(restStep, func() {
		if steps > 1 && time.Since(due) > restLate {
			rest(free, steps-1)
			return
		}
		free()
	})
}
