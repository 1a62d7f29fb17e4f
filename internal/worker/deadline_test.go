package worker

import (
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// What asks a slow model has as long as a request to it may take, and what asks none has not.
func TestDeadlinesGrowWithTheModelsTimeout(t *testing.T) {
	t.Parallel()
	of := func(timeout time.Duration, j memory.Job) time.Duration {
		cfg := Config{ModelTimeout: timeout}
		cfg.setDefaults()
		return (&handler{cfg: cfg}).Deadline(j)
	}
	for _, asks := range []memory.Job{
		{Kind: memory.JobNote}, {Kind: memory.JobExchange, Stage: memory.StageDecide}, {Kind: memory.JobPolicy}, {Kind: memory.JobStep}, {Kind: memory.JobRefresh},
	} {
		usual := of(0, asks)
		if of(30*time.Second, asks) != usual || of(4*time.Minute, asks) != 4*usual {
			t.Errorf("%s: %v, with a timeout of 30 s %v, of 4 min %v", asks.Kind, usual, of(30*time.Second, asks), of(4*time.Minute, asks))
		}
	}
	if copied := (memory.Job{Kind: memory.JobCopy}); of(4*time.Minute, copied) != of(0, copied) {
		t.Errorf("a copy has %v", of(4*time.Minute, copied))
	}
}
