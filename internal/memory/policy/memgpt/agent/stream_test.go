package agent

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Those who listen get what is said of the present step from its beginning on, whenever they come and however slow they read, and
// are told what does not count. Pieces that are lost end the text, until the next one begins.
func TestListenersGetTheStepFromItsBeginning(t *testing.T) {
	t.Parallel()
	a := &Service{streams: newStreams()}
	run := uuid.New()
	at := map[int]int{}
	say := func(step int, text string) {
		a.Receive(memory.RunDelta{Run: run, Step: step, Offset: at[step], Text: text})
		at[step] += len(text)
	}
	again := func(step int, why string) {
		a.Receive(memory.RunDelta{Run: run, Step: step, Reset: why})
		at[step] = 0
	}
	next := func(l *Listener) string {
		restart, piece, _ := l.Next()
		out := piece.Text
		if restart != nil {
			out = "(" + restart.Reset + ")" + out
		}
		return out
	}
	expect := func(l *Listener, want string) {
		t.Helper()
		if got := next(l); got != want {
			t.Errorf("heard %q, want %q", got, want)
		}
	}
	early := a.Listen(run)
	expect(early, "")
	_, _, changed := early.Next()
	say(1, "Let ")
	select {
	case <-changed:
	default:
		t.Error("the listener is not told")
	}
	say(1, "me see.")
	expect(early, "Let me see.")
	late := a.Listen(run)
	expect(late, "Let me see.")
	again(1, "asked again")
	say(1, "One")
	expect(early, "(asked again)One")
	again(1, "not sent")
	say(2, "Two")
	expect(early, "(not sent)Two")
	expect(late, "(asked again)Two") // what it has heard of the first step does not count
	expect(late, "")
	// Another process does the step again.
	at[2] = 0
	say(2, "Two.")
	expect(late, "(the step is done again)Two.")
	// A piece is lost.
	at[2] += 10
	say(2, " of them")
	say(2, "!")
	expect(early, "(the step is done again)Two.")
	say(3, "Three")
	expect(early, "Three")
	early.Close()
	late.Close()
	if after := a.Listen(run); next(after) != "Three" {
		t.Error("a later listener gets nothing")
	}

	// Runs that nobody follows are forgotten when there are too many.
	kept := a.Listen(run)
	for range 2 * maxLiveRuns {
		a.Receive(memory.RunDelta{Run: uuid.New(), Step: 1, Text: strings.Repeat("x", 100)})
	}
	if n := len(a.streams.runs); n > maxLiveRuns {
		t.Errorf("%d runs are kept", n)
	}
	say(3, " more")
	expect(kept, "Three more")
	a.Receive(memory.RunDelta{Run: run, Step: 3, Offset: at[3], Text: strings.Repeat("x", maxLiveText)})
	expect(kept, "")
	empty := a.Listen(uuid.New())
	n := len(a.streams.runs)
	empty.Close()
	if len(a.streams.runs) != n-1 {
		t.Error("a run of which nothing was said is kept")
	}
}
