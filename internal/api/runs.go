package api

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// postEvent answers 202: the event is stored, and a job answers it.
func (h *core) postEvent(c *gin.Context, ref string, body wire.EventInput) error {
	ctx, s := c.Request.Context(), scope(c)
	wait := valueOr(body.Wait, "") == wire.EventInputWaitDone
	if wait {
		if err := tenant.Check(s, tenant.NotesRead); err != nil {
			return err
		}
		leave, err := h.waiting.enter(s.Tenant())
		if err != nil {
			return err
		}
		defer leave()
	}
	e := agent.NewEvent{
		Type: memory.EventType(valueOr(body.Type, "")), Role: memory.Role(valueOr(body.Role, "")), Name: valueOr(body.Name, ""),
		Content: valueOr(body.Content, ""), At: body.At, Stream: valueOr(body.Stream, false),
		Session: valueOr(body.Session, nil),
	}
	w, err := h.Agent.Post(ctx, s, ref, e, conditions(c))
	if err != nil {
		return err
	}
	countRecords(c, 1)
	setRevision(c, w.Revision)
	if wait && w.Run != uuid.Nil {
		endTurn(c)
		if run, ok := h.waitForRun(c, ref, &w); ok {
			return reply(c, http.StatusOK, wireRun(&run))
		}
	}
	return reply(c, http.StatusAccepted, wire.EventAccepted{Run: wire.Optional(w.Run), Job: wireJobRef(w.Job), Revision: int64(w.Revision)})
}

// waitForRun waits for a run, however many jobs are ahead of it, and returns it as it is then. The event is stored, so
// a failure here is not an error of the request.
func (h *core) waitForRun(c *gin.Context, ref string, w *agent.Started) (run agent.Run, ok bool) {
	ctx, s := c.Request.Context(), scope(c)
	if w.Job != nil && !w.Job.Ended() {
		if _, err := h.waitForJob(ctx, s, w.Job.ID, math.MaxInt); err != nil {
			h.log.WarnContext(ctx, "waiting for a run failed; answered without waiting", slog.String("request_id", requestID(c)), slog.Any("error", err))
			return run, false
		}
	}
	v, err := h.Recall.Open(ctx, s, ref, nil, 0)
	if err == nil {
		run, err = h.Agent.Run(ctx, s, v, w.Run)
	}
	if err != nil {
		h.log.WarnContext(ctx, "a run could not be read after it; answered without it", slog.String("request_id", requestID(c)), slog.Any("error", err))
		return run, false
	}
	setRevision(c, v.At)
	return run, true
}

func (h *core) flushContext(c *gin.Context, ref string, body wire.FlushRequest) error {
	job, err := h.Agent.Flush(c.Request.Context(), scope(c), ref, valueOr(body.Force, false))
	if err != nil {
		return err
	}
	return reply(c, http.StatusAccepted, wire.JobAccepted{Job: *wireJobRef(&job)})
}

func (h *core) pauseHeartbeats(c *gin.Context, ref string, body wire.PauseRequest) error {
	out, err := h.Agent.Pause(c.Request.Context(), scope(c), ref, body.Minutes)
	if err != nil {
		return err
	}
	return replyAt(c, http.StatusOK, out.Revision, wire.Heartbeats{EveryMinutes: int(out.Every.Minutes()), PausedUntil: wire.Time(out.Until)})
}

func (h *core) listRuns(c *gin.Context) error {
	v, after, err := h.pageAfter(c)
	if err != nil {
		return err
	}
	limit := pageLimit(c)
	page, err := h.Agent.Runs(c.Request.Context(), scope(c), v, after, limit+1)
	if err != nil {
		return err
	}
	out := wire.RunList{Items: make([]wire.Run, 0, len(page)), Revision: int64(v.At)}
	for i := range page[:min(limit, len(page))] {
		page[i].Steps = nil
		out.Items = append(out.Items, wireRun(&page[i]))
	}
	if len(page) > limit {
		if out.NextCursor, err = h.nextCursorAt(c, page[limit-1].ID.String(), v.Collection.ID, v.At); err != nil {
			return err
		}
	}
	return replyAt(c, http.StatusOK, v.At, out)
}

// run reads a run of the collection in the path, and the view in which it was read.
func (h *core) run(c *gin.Context, id uuid.UUID) (v memory.View, run agent.Run, err error) {
	if v, err = h.view(c); err == nil {
		run, err = h.Agent.Run(c.Request.Context(), scope(c), v, id)
	}
	return v, run, err
}

func (h *core) getRun(c *gin.Context, id uuid.UUID) error {
	v, run, err := h.run(c, id)
	if err != nil {
		return err
	}
	if strings.Contains(c.GetHeader("Accept"), mediaSSE) {
		return h.streamRun(c, v.Collection.ID, run)
	}
	return replyAt(c, http.StatusOK, v.At, wireRun(&run))
}

// chatsAsRun reports whether a chat is a run: the collection is the memory of an agent, and may remember.
func (h *core) chatsAsRun(c *gin.Context, ref string, body *wire.ChatRequest) (bool, error) {
	s := scope(c)
	if !valueOr(body.Remember, true) || !s.Allows(tenant.NotesWrite) || !s.Allows(tenant.NotesRead) {
		return false, nil
	}
	found, err := h.Jobs.ResolveCollection(c.Request.Context(), s, ref)
	return err == nil && h.Agent.Pages(&found), err
}

// chatRun answers a message by a run. As a stream, it sends what the agent says when it says it.
func (h *core) chatRun(ctx context.Context, c *gin.Context, ref, message string, stream bool) error {
	s := scope(c)
	w, err := h.Agent.Post(ctx, s, ref, agent.NewEvent{Content: message}, conditions(c))
	if err != nil {
		return err
	}
	endTurn(c)
	waiting, stop := h.untilDrained(ctx)
	defer stop()
	setRevision(c, w.Revision)
	out := newEventStreamIf(c, stream)
	sent := ""
	run, collection, err := h.startedRun(ctx, s, ref, &w)
	if err != nil {
		return err
	}
	run, err = h.watchRun(waiting, s, collection, run, func(r *agent.Run) error {
		said, more := strings.CutPrefix(r.Reply, sent)
		if out == nil || !more || said == "" {
			return nil
		}
		sent = r.Reply
		return out.event("delta", wire.ChatDelta{Text: said})
	})
	if err == nil && run.State == agent.RunFailed {
		err = fault.New(fault.ModelFailed, "the run failed: %s", run.Error)
	}
	if out != nil {
		defer out.end()
	}
	if err != nil {
		if err = refusal(ctx, err); out == nil {
			return err
		}
		return out.fail(err)
	}
	answer := wire.ChatAnswer{
		Reply: run.Reply, Citations: []wire.Citation{}, Tokens: int(run.Prompt), Remembered: true, Run: &run.ID,
		Usage: &wire.ChatUsage{PromptTokens: run.Prompt, CompletionTokens: run.Complete},
	}
	if run.Heuristic {
		answer.Offline = new(true)
	}
	if out != nil {
		err = out.event("done", answer)
		if out.refused != nil {
			return out.fail(out.refused)
		}
		return err
	}
	return reply(c, http.StatusOK, answer)
}

// startedRun returns a run that has just started, or that an earlier request started, and its collection.
func (h *core) startedRun(ctx context.Context, s tenant.Scope, ref string, w *agent.Started) (agent.Run, uuid.UUID, error) {
	if w.Job != nil {
		return agent.Run{ID: w.Run, Job: w.Job.ID, State: agent.RunQueued}, w.Job.Collection, nil
	}
	v, err := h.Recall.Open(ctx, s, ref, nil, 0)
	if err != nil {
		return agent.Run{}, uuid.Nil, err
	}
	run, err := h.Agent.Run(ctx, s, v, w.Run)
	return run, v.Collection.ID, err
}

// newEventStreamIf starts a stream if one is asked for; nil: none is.
func newEventStreamIf(c *gin.Context, stream bool) *eventStream {
	if !stream {
		return nil
	}
	return newEventStream(c)
}

// watchRun calls fn with a run whenever its job has changed, until it has ended or waits, and returns it then.
func (h *core) watchRun(ctx context.Context, s tenant.Scope, collection uuid.UUID, run agent.Run, fn func(*agent.Run) error) (agent.Run, error) {
	for run.State == agent.RunQueued || run.State == agent.RunRunning {
		// Watch ends with the job; the next one of the run, if any, is watched then.
		err := h.Waiter.Watch(ctx, s, run.Job, func(memory.Job) error {
			v, err := h.Recall.Open(ctx, s, collection.String(), nil, 0)
			if err != nil {
				return err
			}
			if run, err = h.Agent.Run(ctx, s, v, run.ID); err != nil {
				return err
			}
			return fn(&run)
		})
		if err != nil {
			return run, err
		}
	}
	return run, nil
}

// streamRun sends the run now and whenever its job has changed, until it has ended or waits, and between what the
// agent says.
func (h *core) streamRun(c *gin.Context, collection uuid.UUID, run agent.Run) error {
	s := scope(c)
	return h.stream(c, func(ctx context.Context, out *eventStream) error {
		heard := h.Agent.Listen(run.ID)
		defer heard.Close()
		first, err := json.Marshal(wireRun(&run))
		if err == nil {
			err = out.write("event: run\ndata: %s\n\n", first)
		}
		if err != nil {
			return err
		}
		return relay(ctx, out, func(ctx context.Context, send func(func() error) error) error {
			last := string(first)
			show := func(r *agent.Run) error {
				data, err := json.Marshal(wireRun(r))
				if err != nil || string(data) == last {
					return err
				}
				last = string(data)
				return send(func() error { return out.write("event: run\ndata: %s\n\n", data) })
			}
			_, err := h.watchRun(ctx, s, collection, run, show)
			return err
		}, func() (<-chan struct{}, error) { return out.say(heard) })
	})
}

// say sends what was said in a run since the last time.
func (e *eventStream) say(heard *agent.Listener) (changed <-chan struct{}, err error) {
	restart, piece, changed := heard.Next()
	if restart != nil {
		err = e.event("restart", wire.RunRestart{Step: restart.Step, Reason: restart.Reset})
	}
	if err == nil && piece.Text != "" {
		err = e.event("delta", wire.RunDelta{Step: piece.Step, Text: piece.Text})
	}
	return changed, err
}

func (h *core) cancelRun(c *gin.Context, ref string) error {
	id, err := pathID(c, "run")
	if err != nil {
		return err
	}
	run, err := h.Agent.Cancel(c.Request.Context(), scope(c), ref, id)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, wireRun(&run))
}

func (h *core) listSteps(c *gin.Context) error {
	id, err := route.ParseID(query(c).Get("run"))
	if err != nil {
		return fault.InvalidField("run", "must be the id of a run")
	}
	_, run, err := h.run(c, id)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, wire.StepList{Items: wireRun(&run).Steps})
}

func (h *core) listWaitingCalls(c *gin.Context, v memory.View) error {
	open, err := h.Agent.Waiting(c.Request.Context(), scope(c), v)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, wire.WaitingCallList{Items: wireWaitingCalls(open)})
}

// postResults answers calls of a run. With wait it answers when the run has ended or waits again.
func (h *core) postResults(c *gin.Context, ref string) error {
	id, err := pathID(c, "run")
	if err != nil {
		return err
	}
	body, err := bind[wire.CallResults](c)
	if err != nil {
		return err
	}
	ctx, s := c.Request.Context(), scope(c)
	wait := valueOr(body.Wait, "") == wire.CallResultsWaitDone
	leave, err := h.waiting.enterIf(wait, s.Tenant())
	if err != nil {
		return err
	}
	defer leave()

	answers := each(body.Results, func(x *wire.CallResult) agent.CallAnswer {
		return agent.CallAnswer{Call: x.Call, Result: x.Result, Error: x.Error, Approve: x.Approve}
	})
	run, revision, err := h.Agent.Submit(ctx, s, ref, id, answers)
	if err != nil {
		return err
	}
	countRecords(c, len(answers))
	setRevision(c, revision)
	if wait && (run.State == agent.RunQueued || run.State == agent.RunRunning) {
		endTurn(c)
		if now, ok := h.waitForRun(c, ref, &agent.Started{Run: id, Job: &memory.Job{ID: run.Job}}); ok {
			run = now
		}
	}
	return reply(c, http.StatusOK, wireRun(&run))
}

// answered closes a review of a tool call as an answer to it, and another one by end.
func (h *core) answered(approve bool, end closing) closing {
	return func(ctx context.Context, s tenant.Scope, id uuid.UUID, reason string) (memory.Review, error) {
		r, err := h.Engine.Review(ctx, s, id)
		if err == nil && r.Call() != nil {
			return h.Agent.Answer(ctx, s, id, approve, reason)
		}
		return end(ctx, s, id, reason)
	}
}

func wireRun(r *agent.Run) wire.Run {
	out := wire.Run{
		ID: r.ID, Type: wire.EventType(r.Type), State: wire.RunState(r.State), Reply: wire.Optional(r.Reply), Error: wire.Optional(r.Error), Heuristic: r.Heuristic,
		Steps: make([]wire.RunStep, 0, len(r.Steps)), Tokens: wire.StepTokens{Prompt: r.Prompt, Completion: r.Complete}, Job: wire.Optional(r.Job),
		CreatedAt: wire.Time(r.CreatedAt), EndedAt: wire.OptionalTime(r.EndedAt),
	}
	if r.State == agent.RunWaiting {
		out.ExpiresAt = wire.OptionalTime(r.Expires)
	}
	if len(r.Waits) > 0 {
		out.RequiredCalls = wireWaitingCalls(r.Waits)
	}
	if r.Stop != "" {
		out.StopReason = new(wire.StopReason(r.Stop))
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		step := wire.RunStep{
			ID: s.ID, Run: s.Run, Index: s.Index, Event: wire.EventType(s.Event), Tool: wire.Optional(s.Tool), Result: s.Result, Ok: s.OK, DurationMs: s.Millis,
			Tokens: wire.StepTokens{Prompt: s.Prompt, Completion: s.Complete}, At: wire.Time(s.At),
		}
		if s.Tool != "" {
			step.Arguments = &s.Arguments
		}
		out.Steps = append(out.Steps, step)
	}
	return out
}

func wireWaitingCalls(open []memory.Review) []wire.WaitingCall {
	return each(open, func(r *memory.Review) wire.WaitingCall {
		call := r.Call()
		return wire.WaitingCall{ID: r.ID, Run: call.Run, Tool: call.Tool, Arguments: argumentsOf(call), Answer: answerTo(call), CreatedAt: wire.Time(r.CreatedAt)}
	})
}

// answerTo says what a call waits for.
func answerTo(call *memory.ReviewCall) wire.CallAnswer {
	if call.Own {
		return wire.CallAnswerResult
	}
	return wire.CallAnswerApproval
}

// argumentsOf returns the arguments of a call; no arguments are the empty object.
func argumentsOf(call *memory.ReviewCall) json.RawMessage {
	if strings.TrimSpace(call.Arguments) == "" {
		return json.RawMessage("{}")
	}
	return json.RawMessage(call.Arguments)
}
