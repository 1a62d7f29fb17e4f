package agent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// runState is what is committed of a run. What comes next follows from it alone, so a run continues from
// it wherever it was cut off.
type runState struct {
	event  memory.Note
	turns  []*turnState  // by step
	alerts []memory.Note // that came up in the run
}

// turnState is a turn of the model.
type turnState struct {
	note  memory.Note
	step  int
	text  string
	calls []*callState
}

// callState is a call, and its result when there is one.
type callState struct {
	storedCall

	result *memory.Note
}

func (c *callState) ok() bool { return c.result != nil && c.result.Attributes[attrOK] == true }

// wantsMore reports whether the agent acts again after the call.
func (c *callState) wantsMore() bool {
	return c.result != nil && (c.result.Attributes[attrHeartbeat] == true || c.result.Attributes[attrOK] != true)
}

// load reads a run. NotFound when its event is not there.
func (a *Service) load(ctx context.Context, s tenant.Scope, v memory.View, run uuid.UUID) (*runState, error) {
	found, err := a.store.Notes(ctx, s, v, []uuid.UUID{run}, memory.ReadOptions{})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 || !beginsRun(&found[0]) {
		return nil, fault.Missing("run")
	}
	r := &runState{event: found[0]}
	results := map[string]*memory.Note{}
	q := memory.NoteQuery{
		Kinds: []memory.Kind{memory.KindMessage}, After: run, Limit: memory.MaxPage,
		Filter: filter.AttributeIs(memory.AttrRun, run.String()),
	}
	for n, err := range memory.EachNote(ctx, a.store, s, v, q) {
		switch {
		case err != nil:
			return nil, err
		case roleOf(n) == memory.RoleTool:
			results[callOf(n)] = n
		case roleOf(n) == memory.RoleAssistant && !isWritten(n):
			r.turns = append(r.turns, turnOf(n))
		case n.Attributes[attrKind] != nil:
			r.alerts = append(r.alerts, *n)
		}
	}
	slices.SortStableFunc(r.turns, func(x, y *turnState) int { return x.step - y.step })
	for _, t := range r.turns {
		for _, c := range t.calls {
			c.result = results[c.ID]
		}
	}
	return r, nil
}

// turnOf reads a turn, whose calls have no results yet.
func turnOf(n *memory.Note) *turnState {
	t := &turnState{note: *n, step: int(memory.NumberOf(n.Attributes, memory.AttrStep)), text: n.Content}
	if stored, ok := readTurn(n); ok {
		t.text = stored.Text
		for _, c := range stored.Calls {
			t.calls = append(t.calls, &callState{storedCall: c})
		}
	}
	return t
}

// last returns the newest turn; nil before the first.
func (r *runState) last() *turnState {
	if len(r.turns) == 0 {
		return nil
	}
	return r.turns[len(r.turns)-1]
}

// calls returns all calls of the run, in order.
func (r *runState) calls() (out []*callState) {
	for _, t := range r.turns {
		out = append(out, t.calls...)
	}
	return out
}

// pending returns the calls of the last turn without a result.
func (r *runState) pending() (out []*callState) {
	if t := r.last(); t != nil {
		for _, c := range t.calls {
			if c.result == nil {
				out = append(out, c)
			}
		}
	}
	return out
}

// reply returns what the run has said.
func (r *runState) reply() string {
	var said []string
	for _, t := range r.turns {
		for _, c := range t.calls {
			if c.Tool != toolSend || !c.ok() {
				continue
			}
			if args, err := parseArguments(json.RawMessage(c.Arguments)); err == nil {
				said = append(said, args.text("message"))
			}
		}
		if len(t.calls) == 0 && t.text != "" {
			said = append(said, t.text)
		}
	}
	return strings.Join(said, memory.CallSeparator)
}

// tokens returns what the run has cost.
func (r *runState) tokens() (prompt, completion int64) {
	for _, t := range r.turns {
		prompt += memory.NumberOf(t.note.Attributes, attrPrompt)
		completion += memory.NumberOf(t.note.Attributes, attrCompletion)
	}
	return prompt, completion
}

// StopReason says why a run has ended, or waits.
type StopReason string

// The reasons.
const (
	StopTerminal    StopReason = "terminal_tool" // the agent has spoken
	StopText        StopReason = "text"          // the model answered without a tool
	StopNoHeartbeat StopReason = "no_heartbeat"  // the last tool asked for no further step
	StopMaxSteps    StopReason = "max_steps"
	StopBudget      StopReason = "budget" // of calls or tokens
	StopDeadline    StopReason = "deadline"
	StopLoop        StopReason = "loop"            // the same call again and again
	StopAction      StopReason = "requires_action" // it waits for the caller
	StopExpired     StopReason = "expired"         // no answer came
	StopError       StopReason = "error"
	StopCanceled    StopReason = "cancelled"
)

// sameCalls is how often in a row the same call may be made: the next one ends the run.
const sameCalls = 4

// verdict returns why a run stops after its last turn, whose calls all have results; "": it continues. An alert is
// the next input, and a failure or a heartbeat asks for another step. Bounds come last. The time counts from the first
// turn, or from the job that continues the run after an answer.
func (r *runState) verdict(p *memory.Paging, job *memory.Job, now time.Time) StopReason {
	t := r.last()
	if t == nil {
		return ""
	}
	if !r.continues(t) {
		switch {
		case len(t.calls) == 0:
			return StopText
		case slices.ContainsFunc(t.calls, func(c *callState) bool { return c.Tool == toolSend }):
			return StopTerminal
		}
		return StopNoHeartbeat
	}
	prompt, completion := r.tokens()
	calls := r.calls()
	began := r.turns[0].note.CreatedAt
	if job.CreatedAt.After(began) {
		began = job.CreatedAt
	}
	switch {
	case r.loops(calls):
		return StopLoop
	case len(r.turns) >= p.MaxSteps:
		return StopMaxSteps
	case len(calls) >= p.MaxCalls || prompt+completion >= p.MaxTokens:
		return StopBudget
	case now.Sub(began) >= p.MaxTime:
		return StopDeadline
	}
	return ""
}

// continues reports whether the agent acts again after a turn.
func (r *runState) continues(t *turnState) bool {
	if slices.ContainsFunc(r.alerts, func(n memory.Note) bool { return memory.CompareIDs(n.ID, t.note.ID) > 0 }) {
		return true
	}
	if slices.ContainsFunc(t.calls, func(c *callState) bool { return c.result.Attributes[attrEnds] == true }) {
		return false
	}
	return slices.ContainsFunc(t.calls, (*callState).wantsMore)
}

// attrEnds marks the result of a tool with the rule last: the run ends.
const attrEnds = "ends"

// loops reports whether the last calls are all the same.
func (*runState) loops(calls []*callState) bool {
	if len(calls) < sameCalls {
		return false
	}
	tail := calls[len(calls)-sameCalls:]
	return !slices.ContainsFunc(tail, func(c *callState) bool { return c.Tool != tail[0].Tool || c.Arguments != tail[0].Arguments })
}
