package agent

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// NewEvent is what makes an agent act.
type NewEvent struct {
	Type    memory.EventType // "": memory.EventMessage
	Role    memory.Role      // of a message; "": memory.RoleUser
	Name    string           // of the speaker
	Content string           // required of messages and alerts; others have a default
	Session any
	At      *time.Time // when a timer fires; nil: now
	Stream  bool       // those who follow the run hear the model while it speaks
}

// Started is the result of Post.
type Started struct {
	Run      uuid.UUID // zero: the event is scheduled
	Job      *memory.Job
	Revision memory.Revision
}

// maxTimer is how far ahead a timer may be.
const maxTimer = 366 * 24 * time.Hour

// defaultContent is what an event says that has no text of its own.
func defaultContent(t memory.EventType) string {
	switch t {
	case memory.EventTimer:
		return "The time that was set has come."
	case memory.EventHeartbeat:
		return memory.HeartbeatText
	case memory.EventMessage, memory.EventAlert:
	}
	return ""
}

// Post stores an event and starts the run that answers it (notes:write). Runs of a collection are done in the order
// of their events. A timer with a time is kept until then.
func (a *Service) Post(ctx context.Context, s tenant.Scope, ref string, e NewEvent, r memory.Request) (Started, error) {
	return memory.Again(func() (Started, error) { return a.post(ctx, s, ref, e, r) }, r.Idempotency)
}

func (a *Service) post(ctx context.Context, s tenant.Scope, ref string, e NewEvent, r memory.Request) (Started, error) {
	v, p, err := a.openWritable(ctx, s, ref)
	if err != nil {
		return Started{}, err
	}
	if e.Type == "" {
		e.Type = memory.EventMessage
	}
	if strings.TrimSpace(e.Content) == "" {
		e.Content = defaultContent(e.Type)
	}
	if err := a.checkEvent(&e); err != nil {
		return Started{}, err
	}
	in := notes.NewMessage{Role: e.Role, Name: e.Name, Content: e.Content, Session: e.Session, Attributes: map[string]any{
		memory.AttrEvent: string(e.Type), memory.AttrRun: uuid.Nil.String(), // a placeholder, for its size
	}}
	if e.Stream {
		in.Attributes[attrStream] = true
	}
	return memory.Once(ctx, a.store, s, memory.OnceKey{Key: r.Idempotency, Collection: v.Collection.ID}, func() (Started, *memory.Idempotency, error) {
		if e.At != nil {
			return a.schedule(ctx, s, &v.Collection, e, r.Idempotency)
		}
		prepared, err := a.notes.Prepare(ctx, s, &v.Collection, []notes.NewMessage{in}, 1)
		if err != nil {
			return Started{}, nil, err
		}
		event := prepared.Notes()[0]
		event.Attributes[memory.AttrRun] = event.ID.String()
		out := Started{Run: event.ID}
		o := memory.WriteOptions{Cause: memory.CauseAdd, Trigger: event.ID, Idempotency: r.Idempotency, Audit: []memory.AuditEntry{
			{Action: "run.create", Target: event.ID.String(), Detail: map[string]any{"collection": v.Collection.ID.String(), "event": string(e.Type)}},
		}}
		w, err := a.store.Write(ctx, s, v.Collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
			if _, err := prepared.Put(ctx, tx); err != nil {
				return err
			}
			j, err := tx.Enqueue(ctx, stepJob(event.ID))
			if err != nil {
				return err
			}
			out.Job = &j
			if p.Heartbeat > 0 {
				if err := nextHeartbeat(ctx, tx, tx.Now().Add(p.Heartbeat)); err != nil {
					return err
				}
			}
			tx.Answer(memory.AnswerIDs{Collection: v.Collection.ID, Notes: []uuid.UUID{event.ID}, Revision: tx.Revision(), Job: &j.ID}.Raw())
			return nil
		})
		out.Revision = w.Revision
		return out, w.Replay, err
	}, func(ids memory.AnswerIDs, job *memory.Job) (Started, error) {
		out := Started{Job: job, Revision: ids.Revision}
		if len(ids.Notes) > 0 {
			out.Run = ids.Notes[0]
		}
		return out, nil
	})
}

// stepJob is the job of a run.
func stepJob(run uuid.UUID) memory.Job {
	return memory.Job{Note: run, Kind: memory.JobStep, Stage: memory.StageDecide}
}

func (a *Service) checkEvent(e *NewEvent) error {
	var r memory.Validation
	if !slices.Contains([]memory.EventType{memory.EventMessage, memory.EventAlert, memory.EventTimer, memory.EventHeartbeat}, e.Type) {
		r.Addf("type", "must be one of message, alert, timer or heartbeat")
	}
	if e.Role == memory.RoleTool || e.Role == memory.RoleAssistant {
		r.Addf("role", "must be user, system or developer")
	}
	if e.At != nil {
		switch now := a.now(); {
		case e.Type != memory.EventTimer && e.Type != memory.EventHeartbeat:
			r.Addf("at", "only a timer or a heartbeat has a time")
		case !e.At.After(now):
			r.Addf("at", "must be in the future")
		case e.At.Sub(now) > maxTimer:
			r.Addf("at", "must be within a year")
		}
	}
	if strings.TrimSpace(e.Content) == "" {
		r.Addf("content", "is required")
	}
	if e.Stream && e.At != nil {
		r.Addf("stream", "nobody follows a run that begins later")
	}
	return r.Err()
}

// schedule enqueues an event for later, as a task of the policy.
func (a *Service) schedule(ctx context.Context, s tenant.Scope, c *memory.Collection, e NewEvent, key *memory.Idempotency) (Started, *memory.Idempotency, error) {
	args, err := json.Marshal(memory.TimedEvent{Type: e.Type, Content: e.Content})
	if err != nil {
		return Started{}, nil, fault.Wrap(err, fault.Internal, "encode a timer")
	}
	if len(e.Content) > memory.MaxContextBytes {
		return Started{}, nil, fault.InvalidField("content", "of a timer: at most %d bytes", memory.MaxContextBytes)
	}
	follow := memory.Follow{Task: memory.Task{Name: memory.TaskTimer, Key: uuid.NewString(), Args: args}, After: memory.Instant(*e.At)}
	o := memory.WriteOptions{Cause: memory.CauseAdd, Idempotency: key, Audit: []memory.AuditEntry{
		{Action: "timer.create", Target: c.ID.String(), Detail: map[string]any{"at": follow.After.Format(time.RFC3339)}},
	}}
	w, err := a.store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		waiting, err := tx.Unended(ctx, memory.JobPolicy)
		if err != nil {
			return err
		}
		if len(waiting) >= maxTimers {
			return fault.New(fault.Conflict, "the collection has %d timers; cancel one of its scheduled jobs first", len(waiting))
		}
		tx.Answer(memory.AnswerIDs{Collection: c.ID, Revision: tx.View().At}.Raw())
		return memory.EnqueueFollows(ctx, tx, c.ID, []memory.Follow{follow})
	})
	return Started{Revision: w.Revision}, w.Replay, err
}

// maxTimers is how many timers may wait in a collection.
const maxTimers = 1_000

// openWritable opens a collection whose agent the scope may use, and returns what the agent works with, without the
// tools of the tenant's own.
func (a *Service) openWritable(ctx context.Context, s tenant.Scope, ref string) (v memory.View, p memory.Paging, err error) {
	if err := tenant.Check(s, tenant.NotesWrite); err != nil {
		return v, p, err
	}
	if v, err = a.recall.Open(ctx, s, ref, nil, 0); err != nil {
		return v, p, err
	}
	if v.Collection.Shared() {
		if err := tenant.Check(s, tenant.BaseWrite); err != nil {
			return v, p, err
		}
	}
	p, err = a.paging(&v.Collection)
	return v, p, err
}

// Run is a run as callers see it.
type Run struct {
	ID               uuid.UUID
	Type             memory.EventType
	State            RunState
	Stop             StopReason // "" while it goes
	Reply            string
	Error            string
	Heuristic        bool // rules answered, not a model
	Steps            []Step
	Prompt, Complete int64     // tokens
	Job              uuid.UUID // the newest one; zero: none in this collection
	CreatedAt        time.Time
	EndedAt          time.Time       // zero: not yet
	Waits            []memory.Review // the calls that it waits for, in the state RunWaiting
	Expires          time.Time       // of a run that waits; zero: never
}

// Step is a call of a run, or a turn that calls nothing.
type Step struct {
	ID               uuid.UUID
	Run              uuid.UUID
	Index            int // of the turn, from 1
	Event            memory.EventType
	Tool             string
	Arguments        json.RawMessage
	Result           *string // nil: not yet
	OK               bool
	Millis           int64
	Prompt, Complete int64 // tokens of the turn, in its first step
	At               time.Time
}

// Run returns a run (notes:read). NotFound when the collection has none with that id.
func (a *Service) Run(ctx context.Context, s tenant.Scope, v memory.View, id uuid.UUID) (Run, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return Run{}, err
	}
	r, out, err := a.shownRun(ctx, s, v, id)
	if err != nil || out.State != RunWaiting {
		return out, err
	}
	out.Waits, err = a.waiting(ctx, s, r)
	return out, err
}

// shownRun reads a run, and how callers see it, without the calls that it waits for.
func (a *Service) shownRun(ctx context.Context, s tenant.Scope, v memory.View, id uuid.UUID) (*runState, Run, error) {
	r, err := a.load(ctx, s, v, id)
	if err != nil {
		return nil, Run{}, err
	}
	job, err := a.newestJob(ctx, s, &v.Collection, id)
	if err != nil {
		return nil, Run{}, err
	}
	if r.isBehind(job) {
		if v, err = a.recall.Open(ctx, s, v.Collection.ID.String(), nil, 0); err != nil {
			return nil, Run{}, err
		}
		if r, err = a.load(ctx, s, v, id); err != nil {
			return nil, Run{}, err
		}
	}
	out := r.shown(job, a.now())
	return r, out, nil
}

// isBehind reports whether the job has ended after the messages were read, and has said more than they do.
func (r *runState) isBehind(job *memory.Job) bool {
	if job == nil || job.State != memory.JobDone {
		return false
	}
	var end ended
	return json.Unmarshal(job.Result, &end) == nil && (end.Steps > len(r.turns) || end.Reply != clip.Bytes(r.reply(), maxReply))
}

// newestJob returns the newest job of a run; nil: there is none in this collection, as in a fork.
func (a *Service) newestJob(ctx context.Context, s tenant.Scope, c *memory.Collection, run uuid.UUID) (*memory.Job, error) {
	for j, err := range memory.EachJob(ctx, a.store, s, memory.JobQuery{Collection: c.ID, Notes: []uuid.UUID{run}, Limit: memory.DefaultPage}) {
		if err != nil || j.Kind == memory.JobStep {
			return j, err
		}
	}
	return nil, nil //nolint:nilnil // a fork has the messages of the run, and no job
}

// shown returns a run with the state that its newest job is in.
func (r *runState) shown(job *memory.Job, now time.Time) Run {
	event, _ := r.event.Attributes[memory.AttrEvent].(string)
	out := Run{ID: r.event.ID, Type: memory.EventType(event), State: RunCanceled, Reply: r.reply(), Steps: r.steps(memory.EventType(event)), CreatedAt: r.event.CreatedAt}
	out.Prompt, out.Complete = r.tokens()
	for _, t := range r.turns {
		out.Heuristic = out.Heuristic || t.note.Analyst == memory.AnalystHeuristic
	}
	if job == nil {
		out.Stop = StopCanceled
		return out
	}
	out.Job, out.EndedAt = job.ID, job.FinishedAt
	var end ended
	if len(job.Result) > 0 && json.Unmarshal(job.Result, &end) != nil {
		end = ended{}
	}
	switch job.State {
	case memory.JobDone:
		out.State, out.Stop = end.State, end.Stop
		if end.State == RunWaiting {
			out.EndedAt, out.Expires = time.Time{}, end.Expires
		}
		if end.State == RunWaiting && !end.Expires.IsZero() && !now.Before(end.Expires) {
			out.State, out.Stop, out.EndedAt, out.Expires = RunExpired, StopExpired, end.Expires, time.Time{}
		}
	case memory.JobFailed, memory.JobDead:
		out.State, out.Stop, out.Error = RunFailed, StopError, job.Error
	case memory.JobCanceled:
		out.Stop = StopCanceled
	case memory.JobQueued, memory.JobRunning, memory.JobScheduled:
		out.State, out.Error = RunQueued, job.Error
		if job.State == memory.JobRunning || len(r.turns) > 0 {
			out.State = RunRunning
		}
	}
	return out
}

func (r *runState) steps(event memory.EventType) []Step {
	out := []Step{}
	for _, t := range r.turns {
		base := Step{ID: t.note.ID, Run: r.event.ID, Index: t.step, Event: event, OK: true, At: t.note.CreatedAt, Millis: memory.NumberOf(t.note.Attributes, attrMillis)}
		base.Prompt, base.Complete = memory.NumberOf(t.note.Attributes, attrPrompt), memory.NumberOf(t.note.Attributes, attrCompletion)
		if len(t.calls) == 0 {
			text := t.text
			base.Result = &text
			out = append(out, base)
			continue
		}
		for i, c := range t.calls {
			s := base
			if i > 0 {
				s.Prompt, s.Complete = 0, 0
			}
			s.ID, s.Tool, s.Arguments, s.OK, s.Millis = reviewID(t.note.ID, i), c.Tool, json.RawMessage(c.Arguments), false, 0
			if strings.TrimSpace(c.Arguments) == "" {
				s.Arguments = json.RawMessage("{}")
			}
			if c.result != nil {
				s.Result, s.OK, s.Millis, s.At = &c.result.Content, c.ok(), memory.NumberOf(c.result.Attributes, attrMillis), c.result.CreatedAt
			}
			out = append(out, s)
		}
	}
	return out
}

// Runs returns runs, newest first, after one (zero: from the newest on), at most limit (notes:read). Their steps are left out.
func (a *Service) Runs(ctx context.Context, s tenant.Scope, v memory.View, after uuid.UUID, limit int) ([]Run, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, err
	}
	if _, err := a.paging(&v.Collection); err != nil {
		return nil, err
	}
	events, err := a.store.ListNotes(ctx, s, v, memory.NoteQuery{
		Kinds: []memory.Kind{memory.KindMessage}, Newest: true, After: after, Limit: limit,
		Filter: filter.And{
			&filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrEvent}, Op: filter.Exists, Want: true},
			&filter.Leaf{Field: filter.Attributes, Path: []string{attrKind}, Op: filter.Exists}, // Want is false: no alert within a run
		},
	})
	if err != nil {
		return nil, err
	}
	out := make([]Run, 0, len(events))
	for i := range events {
		_, r, err := a.shownRun(ctx, s, v, events[i].ID)
		if fault.Is(err, fault.NotFound) {
			continue // a message with such an attribute, not an event
		}
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// Cancel ends a run (notes:write). What is committed stays; nothing is written after it. Conflict when the run has
// ended.
func (a *Service) Cancel(ctx context.Context, s tenant.Scope, ref string, run uuid.UUID) (Run, error) {
	v, _, err := a.openWritable(ctx, s, ref)
	if err != nil {
		return Run{}, err
	}
	now, err := a.Run(ctx, s, v, run)
	if err != nil {
		return Run{}, err
	}
	entry := memory.AuditEntry{Action: "run.cancel", Target: run.String(), Detail: map[string]any{"collection": v.Collection.ID.String()}}
	switch now.State {
	case RunQueued, RunRunning:
		if _, err := a.store.CancelJob(ctx, s, now.Job, entry); err != nil {
			return Run{}, err
		}
	case RunWaiting:
		if err := a.cancelWaiting(ctx, s, v, run, entry); err != nil {
			return Run{}, err
		}
	case RunDone, RunFailed, RunExpired, RunCanceled:
		return Run{}, fault.New(fault.Conflict, "the run is %s already", now.State)
	}
	return a.Run(ctx, s, v, run)
}

// cancelWaiting closes what a run waits for.
func (a *Service) cancelWaiting(ctx context.Context, s tenant.Scope, v memory.View, run uuid.UUID, entry memory.AuditEntry) error {
	r, err := a.load(ctx, s, v, run)
	if err != nil {
		return err
	}
	open, err := a.waiting(ctx, s, r)
	if err != nil {
		return err
	}
	_, err = a.store.Write(ctx, s, v.Collection.ID, memory.WriteOptions{Cause: memory.CauseReview, Trigger: run, Audit: []memory.AuditEntry{entry}}, func(ctx context.Context, tx memory.Tx) error {
		for _, r := range open {
			r.State, r.Reason, r.Actor, r.ClosedAt = memory.ReviewRejected, "the run was canceled", s.Actor(), tx.Now()
			if err := tx.UpdateReview(ctx, r); err != nil {
				return err
			}
		}
		j := stepJob(run)
		j.State = memory.JobCanceled
		_, err := tx.Enqueue(ctx, j)
		return err
	})
	return err
}
