package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// errStale ends a step whose job is held by another process now, or was canceled. What it wanted to write is not
// written.
var errStale = fault.New(fault.Conflict, "the run is continued elsewhere, or was canceled")

// runTries is how often a step of a run fails before the run does. Between the tries are the pauses of jobs.
const runTries = 5

// purposeStep is the recorded purpose of the turns of a run.
const purposeStep = "step"

// stepper works on one step of a run.
type stepper struct {
	a      *Service
	s      tenant.Scope
	job    *memory.Job
	view   memory.View
	paging memory.Paging
	run    *runState
	// publisher sends the text of this step while it is generated; nil: nobody asked for it.
	publisher *publisher
	expires   time.Time // of a run that waits
}

// RunStep does one step of a run, the job's: what is left of the last turn's calls, then one turn of the model and
// its calls. It gives the job back, or ends it. Everything is committed as it happens: a turn before its
// calls are run, a result together with the effect of its tool. So a step that was cut off anywhere
// continues from what is committed.
//
// A fault of the model is returned, so that the job is tried again; the run fails with the fifth one. A job of the
// kind flush is a step, too.
func (a *Service) RunStep(ctx context.Context, s tenant.Scope, job memory.Job) error {
	if a.models == nil {
		return fault.New(fault.Internal, "agent: no models; runs cannot be continued")
	}
	if job.Kind == memory.JobFlush {
		return a.runFlush(ctx, s, &job)
	}
	st := &stepper{a: a, s: s, job: &job}
	err := st.step(ctx)
	if err == nil || errors.Is(err, errStale) || errors.Is(err, memory.ErrPaused) || fault.Is(err, fault.NotFound) || ctx.Err() != nil || job.Attempts+1 < runTries {
		return err
	}
	return st.end(ctx, RunFailed, StopError, explain(err))
}

func (st *stepper) step(ctx context.Context) error {
	if err := st.read(ctx); err != nil {
		return err
	}
	if st.run.last() == nil {
		if err := st.closeExpired(ctx); err != nil {
			return err
		}
	}
	for asked := false; ; asked = true {
		m, waits, err := st.ready(ctx)
		if err != nil || waits {
			return err
		}
		if why := st.run.verdict(&st.paging, st.job, st.a.clock()); why != "" {
			return st.end(ctx, RunDone, why, "")
		}
		if asked {
			return st.yield(ctx)
		}
		if m, err = st.makeRoom(ctx, m); err != nil {
			return err
		}
		if err := st.ask(ctx, &m); err != nil {
			return err
		}
		if err := st.read(ctx); err != nil {
			return err
		}
	}
}

// ready runs what is left of the last turn's calls, and builds the context that follows. waits: some calls wait for the caller.
func (st *stepper) ready(ctx context.Context) (m Main, waits bool, err error) {
	if len(st.run.pending()) > 0 {
		if waits, err := st.runCalls(ctx); err != nil || waits {
			return m, waits, err
		}
		if err := st.read(ctx); err != nil {
			return m, false, err
		}
	}
	if m, err = st.build(ctx); err != nil {
		return m, false, err
	}

	alerted, err := st.alert(ctx, &m)
	if err != nil || !alerted {
		return m, false, err
	}
	if err := st.read(ctx); err != nil {
		return m, false, err
	}
	m, err = st.build(ctx)
	return m, false, err
}

// read reads the run as it is committed.
func (st *stepper) read(ctx context.Context) (err error) {
	if st.view, err = st.a.recall.Open(ctx, st.s, st.job.Collection.String(), nil, 0); err != nil {
		return err
	}
	if st.paging, err = st.a.equipped(ctx, st.s, &st.view.Collection); err != nil {
		return err
	}
	st.run, err = st.a.load(ctx, st.s, st.view, st.job.Note)
	return err
}

// build builds the context of the run as it was read.
func (st *stepper) build(ctx context.Context) (Main, error) {
	return st.a.build(ctx, st.s, st.view, st.paging, &st.run.event)
}

// ask gets the next turn of the model and commits it.
func (st *stepper) ask(ctx context.Context, m *Main) error {
	began := st.a.clock()
	d := memory.Dialogue{Purpose: purposeStep, Turns: m.Request(), Tools: m.Tools, Collection: st.view.Collection.ID}
	if len(st.run.calls()) == 0 && slices.ContainsFunc(st.paging.Rules, func(r memory.ToolRule) bool { return r.Rule == memory.RuleFirst }) {
		d.Choice = memory.ChooseRequired
	}
	d.Stream = st.stream()
	result, err := st.a.models.ModelFor(&st.view.Collection).Converse(ctx, st.s, d)
	if err != nil {
		return err
	}
	step := len(st.run.turns) + 1
	turn := storeTurn(result.Turn, st.run.event.ID, step, resultChars(st.paging.Window))
	n := st.message(memory.RoleAssistant, fmt.Sprintf("turn:%s/%d", st.run.event.ID, step), turn.Text)
	n.Analyst = result.Analyst
	n.Attributes[memory.AttrStep] = step
	n.Attributes[memory.AttrRecall] = true
	n.Attributes[attrPrompt], n.Attributes[attrCompletion] = result.PromptTokens, result.CompletionTokens
	n.Attributes[attrMillis] = st.a.clock().Sub(began).Milliseconds()
	if len(turn.Calls) > 0 {
		raw, err := json.Marshal(turn)
		if err != nil {
			return fault.Wrap(err, fault.Internal, "encode a turn")
		}
		n.Content = string(raw)
		n.Attributes[memory.AttrTool] = turn.Calls[0].Tool
	}
	if strings.TrimSpace(n.Content) == "" {
		n.Content = "…"
	}
	return st.write(ctx, memory.CauseAdd, func(ctx context.Context, tx memory.Tx) error { return st.put(ctx, tx, n) })
}

// stream sends the turn to those who follow the run, if its event asks for it. A message that waits for an approval is not
// sent before.
func (st *stepper) stream() *memory.TurnStream {
	if st.run.event.Attributes[attrStream] != true {
		return nil
	}
	st.publisher = &publisher{a: st.a, run: st.run.event.ID, step: len(st.run.turns) + 1}
	h := &memory.TurnStream{Tool: toolSend, Argument: "message", Delta: st.publisher.delta, Reset: st.publisher.reset}
	if slices.Contains(st.paging.Approve, toolSend) {
		h.Tool = ""
	}
	return h
}

// message returns a message of the run, to be completed.
func (st *stepper) message(role memory.Role, key, content string) memory.Note {
	n := messageOf(st.s, st.run.event.ID, role, key, content)
	n.Provenance.Job = &st.job.ID
	return n
}

// messageOf returns a message of a run.
func messageOf(s tenant.Scope, run uuid.UUID, role memory.Role, key, content string) memory.Note {
	return memory.Note{
		Kind: memory.KindMessage, Key: key, Content: content, Category: memory.DefaultCategory, Importance: memory.DefaultImportance, State: memory.StateRaw,
		Attributes: map[string]any{memory.AttrRole: string(role), memory.AttrRun: run.String()},
		Provenance: memory.Provenance{Actor: s.Actor()},
	}
}

// write runs a changeset of the run under the job's lease.
func (st *stepper) write(ctx context.Context, cause memory.Cause, fn func(ctx context.Context, tx memory.Tx) error) error {
	o := memory.WriteOptions{Cause: cause, Job: st.job.ID, Trigger: st.run.event.ID}
	_, err := st.a.store.Write(ctx, st.s, st.view.Collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
		if err := st.hold(ctx, tx); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
	return err
}

func (st *stepper) hold(ctx context.Context, tx memory.Tx) error {
	err := tx.HoldJob(ctx, st.job.ID, st.job.Lease)
	if fault.Is(err, fault.Conflict) {
		return errStale
	}
	return err
}

// put writes a message once: its key says what it is.
func (st *stepper) put(ctx context.Context, tx memory.Tx, n memory.Note) error {
	return st.a.putOnce(ctx, st.s, tx, n)
}

// putOnce writes a message whose key says what it is; errStale when it is there.
func (a *Service) putOnce(ctx context.Context, s tenant.Scope, tx memory.Tx, n memory.Note) error {
	switch _, err := tx.NoteByKey(ctx, memory.KindMessage, n.Key); {
	case err == nil:
		return errStale
	case !fault.Is(err, fault.NotFound):
		return err
	}
	n.OccurredAt = tx.Now()
	_, err := a.notes.PutDerived(ctx, s, tx, n)
	return err
}

// runCalls runs the calls of the last turn that have no result. waits reports that some wait for the caller; the
// job has ended then.
func (st *stepper) runCalls(ctx context.Context) (waits bool, err error) {
	turn := st.run.last()
	var open []memory.Review
	for i, c := range st.run.pending() {
		if i > 0 { // a call sees what those before it have changed
			if st.view, err = st.a.recall.Open(ctx, st.s, st.job.Collection.String(), nil, 0); err != nil {
				return false, err
			}
		}
		why, review, err := st.asks(ctx, turn, c)
		if err != nil {
			return false, err
		}
		if review != nil {
			waits = true
			if review.CreatedAt.IsZero() {
				open = append(open, *review)
			}
			st.waitsFor(review)
			continue
		}
		if err := st.runCall(ctx, turn, c, why); err != nil {
			return false, err
		}
	}
	if !waits {
		return false, nil
	}
	end, err := st.ending(RunWaiting, StopAction, "")
	if err != nil {
		return false, err
	}
	return true, st.write(ctx, memory.CauseReview, func(ctx context.Context, tx memory.Tx) error {
		for _, r := range open {
			if _, err := tx.OpenReview(ctx, r); err != nil {
				return err
			}
		}
		return tx.EndJob(ctx, st.job.ID, st.job.Lease, end)
	})
}

// refusal returns why a call is not run; "": it may be.
func (st *stepper) refusal(c *callState, before []*callState) string {
	if c.Problem != "" {
		return c.Problem
	}
	if executorOf(&st.paging, c.Tool) == nil && own(&st.paging, c.Tool) == nil {
		return fmt.Sprintf("there is no tool %q; there are %s", c.Tool, strings.Join(allowed(&st.paging, before), ", "))
	}
	return violation(&st.paging, c.Tool, before)
}

// runCall runs a call, or answers it with why it is not run. Its result is committed with the effect of the
// tool, or alone when there is none.
func (st *stepper) runCall(ctx context.Context, turn *turnState, c *callState, why string) error {
	began := st.a.clock()
	result := func(text string, ok, heartbeat bool) memory.Note {
		n := resultNote(&st.paging, st.message(memory.RoleTool, "call:"+c.ID, text), turn, c, ok)
		n.Attributes[attrHeartbeat] = heartbeat
		n.Attributes[attrMillis] = st.a.clock().Sub(began).Milliseconds()
		return n
	}
	var stored memory.Note
	if why == "" {
		r := &run{a: st.a, s: st.s, view: st.view, chars: resultChars(st.paging.Window), at: st.view.At, call: c.ID}
		r.more = map[string]any{memory.AttrRun: st.run.event.ID.String(), memory.AttrStep: turn.step, memory.AttrCall: c.ID}
		r.commit = func(ctx context.Context, tx memory.Tx, text string) error {
			if err := st.hold(ctx, tx); err != nil {
				return err
			}
			stored = result(text, true, r.args.given[argHeartbeat] == true)
			return st.put(ctx, tx, stored)
		}
		out, err := executorOf(&st.paging, c.Tool).run(ctx, r, json.RawMessage(c.Arguments))
		switch {
		case err != nil:
			return err
		case out.OK && r.committed:
			c.result = &stored
			return nil
		case out.OK:
			stored = result(out.Text, true, out.Heartbeat)
		default:
			why = out.Error
		}
	}
	if why != "" {
		if c.Tool == toolSend && st.publisher != nil {
			st.publisher.reset("it was not sent: " + cut(why, maxError))
		}
		stored = result("Error: "+cut(why, maxError), false, true)
	}
	c.result = &stored
	return st.write(ctx, memory.CauseAdd, func(ctx context.Context, tx memory.Tx) error { return st.put(ctx, tx, stored) })
}

// resultNote completes the message of the result of a call.
func resultNote(p *memory.Paging, n memory.Note, turn *turnState, c *callState, ok bool) memory.Note {
	if strings.TrimSpace(n.Content) == "" {
		n.Content = "(empty)"
	}
	n.Attributes[memory.AttrStep], n.Attributes[memory.AttrCall], n.Attributes[memory.AttrTool] = turn.step, c.ID, c.Tool
	n.Attributes[attrOK] = ok
	if ok && isLast(p, c.Tool) {
		n.Attributes[attrEnds] = true
	}
	return n
}

// RunState is how far a run is.
type RunState string

// The states.
const (
	RunQueued   RunState = "queued"
	RunRunning  RunState = "running"
	RunWaiting  RunState = "requires_action" // the caller has to answer calls
	RunDone     RunState = "done"
	RunFailed   RunState = "failed"
	RunExpired  RunState = "expired" // no answer came
	RunCanceled RunState = "cancelled"
)

// ended is the result of a run's job.
type ended struct {
	State RunState   `json:"state"`
	Stop  StopReason `json:"stop_reason"`
	Reply string     `json:"reply,omitempty"`
	Steps int        `json:"steps"`
	// Expires is when a run that waits has waited too long; zero: never.
	Expires time.Time `json:"expires_at,omitzero"`
}

// maxReply bounds a reply in the result of a job, in bytes. The whole of it is in recall storage.
const maxReply = 16 << 10

func (st *stepper) ending(state RunState, why StopReason, message string) (memory.JobEnd, error) {
	out := ended{State: state, Stop: why, Expires: st.expires}
	if st.run != nil {
		out.Reply, out.Steps = clip.Bytes(st.run.reply(), maxReply), len(st.run.turns)
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return memory.JobEnd{}, fault.Wrap(err, fault.Internal, "encode the end of a run")
	}
	end := memory.JobEnd{State: memory.JobDone, Stage: st.job.Stage, Attempts: st.job.Attempts, Result: raw, Error: message}
	if state == RunFailed {
		end.State = memory.JobFailed
	}
	return end, nil
}

// end ends the job of a run.
func (st *stepper) end(ctx context.Context, state RunState, why StopReason, message string) error {
	end, err := st.ending(state, why, message)
	if err != nil {
		return err
	}
	return st.release(ctx, end)
}

// yield returns the job to the queue: other collections have their turn before the next step.
func (st *stepper) yield(ctx context.Context) error {
	steps := memory.Progress{Done: int64(len(st.run.turns)), Total: int64(st.paging.MaxSteps)}
	if err := st.a.store.SetProgress(ctx, st.s, st.job.ID, st.job.Lease, steps); err != nil && !fault.Is(err, fault.Conflict) {
		return err
	}
	return st.release(ctx, memory.JobEnd{State: memory.JobQueued, Stage: st.job.Stage})
}

func (st *stepper) release(ctx context.Context, end memory.JobEnd) error {
	err := st.a.store.ReleaseJob(ctx, st.s, st.job.ID, st.job.Lease, end)
	if fault.Is(err, fault.Conflict) {
		return errStale
	}
	return err
}

// reviewID returns the id of the review of a call, which is that of its step: the id of the turn with the place of
// the call at its end, so that ids grow with time and place.
func reviewID(turn uuid.UUID, place int) uuid.UUID {
	turn[14], turn[15] = 0, byte(place) //nolint:gosec // at most maxCalls
	return turn
}

// now returns the time in microseconds.
func (a *Service) now() time.Time { return memory.Instant(a.clock()) }
