package memgpt

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// CallSummary is the name of the call that sums up what leaves the window.
const CallSummary = "queue_summary"

// summaryWords is how many words a summary may have. What is longer is cut.
const summaryWords = 100

// SummaryInput is the payload of CallSummary.
type SummaryInput struct {
	Old      string           `json:"old_summary"`
	Messages []SummaryMessage `json:"messages"`
}

// SummaryMessage is a message that leaves the window.
type SummaryMessage struct {
	Time string `json:"time"`
	Role string `json:"role"`
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
}

// Summary is the answer of CallSummary.
type Summary struct {
	Summary string `json:"summary"`
}

// Refresh returns the task that sums up again what has left the window, when the summary of it is stale.
func (*Policy) Refresh(_, _ *memory.Note, stale []memory.Note) []memory.Follow {
	if !slices.ContainsFunc(stale, func(n memory.Note) bool { return n.Key == memory.KeyQueue }) {
		return nil
	}
	return []memory.Follow{{Task: memory.Task{Name: memory.TaskFlush}}}
}

// SummaryCall implements [memory.Pager].
func (p *Policy) SummaryCall(old string, evicted []memory.Utterance) memory.Call {
	in := SummaryInput{Old: old, Messages: make([]SummaryMessage, len(evicted))}
	for i, m := range evicted {
		in.Messages[i] = SummaryMessage{Time: policy.FormatMinute(m.Time), Role: string(m.Role), Name: m.Name, Text: m.Content}
	}
	call, err := p.summary.Call(memory.Call{Name: CallSummary, Input: in}, in, len(in.Messages))
	call.Check = func(raw json.RawMessage) error {
		if err != nil {
			return err
		}
		said, err := policy.DecodeAnswer[Summary](raw, CallSummary)
		if err == nil && policy.IsBlank(said.Summary) {
			err = errors.New("the summary is empty")
		}
		if err == nil && len(strings.Fields(said.Summary)) > 2*summaryWords {
			err = errors.New("the summary must have at most 100 words")
		}
		return err
	}
	return call
}
