package fair

import "time"

// How long a slot of a flooding tenant stays empty.
const (
	// A step of a rest that ends later than restLate shows that threads wait for a CPU, and another one follows, up to restSteps.
	restLate  = 300 * time.Microsecond
	restSteps = 10
)

// Rest is the cooldown of a slot. It returns immediately, and calls free later, in a goroutine of a timer: after a step if the process
// gets a CPU when it wants one, after up to ten if not. The order alone shares out what is done, but a tenant that floods takes each
// slot again as soon as it is free, so all CPUs stay busy, and a short request of another tenant waits for one each time it is woken.
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
