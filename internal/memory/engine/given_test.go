package engine_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
)

// A fork shows a note that was stored without the policy as it was given, also when the base has let the policy take up a later
// version of it before the fork's job looks.
func TestForkLeavesWhatWasGiven(t *testing.T) {
	t.Parallel()
	for _, policy := range []string{"amem", "mem0"} {
		t.Run(policy, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, options{policy: policy})
			given := w.addUninferred(w.c.ID, "Alpha lives in Porto.")[0].ID
			said := w.add("Beta lives in Lyon.").ID
			f := w.fork("f")
			w.patch(given, notes.NotePatch{Content: new("Alpha lives in Oslo.")})
			w.settle()
			jobs := map[uuid.UUID]bool{}
			for _, j := range w.jobsOf(f, memory.JobNote) {
				jobs[j.Note] = true
			}
			if got := w.getIn(f, given); got.State != memory.StateRaw || jobs[given] {
				t.Errorf("the note that was given is %q in the fork, with a job: %t", got.State, jobs[given])
			}
			if got := w.getIn(f, said); got.State != memory.StateEvolved {
				t.Errorf("the other note is %q in the fork", got.State)
			}
		})
	}
}
