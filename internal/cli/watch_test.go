package cli

import (
	"testing"

	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// What waits in a collection is said in words, with the time that is left where it is known.
func TestWorkIsSaid(t *testing.T) {
	t.Parallel()
	stage := func(name slipbox.WorkStageStage, waiting, seconds int64) slipbox.WorkStage {
		s := slipbox.WorkStage{Stage: name, Waiting: waiting}
		if seconds > 0 {
			s.SecondsLeft = &seconds
		}
		return s
	}
	for want, of := range map[string]slipbox.Collection{
		"": {},
		"4,444 notes are being linked, about 6 minutes": {Policy: "amem", Work: &slipbox.Work{Stages: []slipbox.WorkStage{stage("links", 4444, 361)}}},
		"1 note is being embedded; 1,234,567 notes are being described, about 2 days; 12 notes are being learned from, less than a minute; 1 task is at work": {
			Policy: "mem0", Work: &slipbox.Work{Stages: []slipbox.WorkStage{
				stage("vectors", 1, 0), stage("description", 1234567, 170_000), stage("links", 12, 3), stage("policy", 1, 0),
			}},
		},
		"2 tasks are at work": {Work: &slipbox.Work{Stages: []slipbox.WorkStage{stage("policy", 2, 0)}}},
	} {
		if got := workOf(&of); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
