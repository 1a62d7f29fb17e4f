package fair

import "time"

// How long a place of a flooding tenant rests.
const (
	// A step of a rest that ends later than restLate says that threads wait for a CPU, and another one follows, up to restSteps.
	restLate  = 300 * time.Microsecond
	restSteps = 10
)

// Rest returns at once, and calls free after a rest, in a goroutine of a timer: a step if the process gets a CPU when it
// wants one, up to ten if not. Turns alone share out what is done, but a tenant that floods takes each place again as
// soon as it is free, so all CPUs stay busy, and a short request of another tenant waits for one each time it is woken.
// A tenant rests only while it floods (Queue.Floods), so one that has the process to itself never does.
func Rest(step time.Duration, free func()) { rest(step, free, restSteps) }

func rest(step time.Duration, free func(), steps int) {
	due := time.Now().Add(step)
	time.AfterFunc(step, func() {
		if steps > 1 && time.Since(due) > restLate {
			rest(step, free, steps-1)
			return
		}
		free()
	})
}
