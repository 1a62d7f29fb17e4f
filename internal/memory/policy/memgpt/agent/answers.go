package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memgpt/agent/tools"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// A call of a tool that the caller runs, and a call that needs approval, wait as an open review, whose id is that of
// the step. The job of the run ends; an answer closes the review and enqueues the next job. The result of the caller's own tool is
// the message of the call, in the same transaction.

// attrAnswer is the attribute of a result that a caller has posted: what tells the same answer from another one.
const attrAnswer = "answer"

// denied is what the model reads of a call that was not allowed.
const denied = "the call was denied: "

// asks returns what a call waits for: a review without a time is to be opened. Without a review the call is run, or is answered with
// why it is not.
func (st *stepper) asks(ctx context.Context, turn *turnState, c *callState) (why string, review *memory.Review, err error) {
	before := st.run.calls()
	if why := st.refusal(c, before[:slices.Index(before, c)]); why != "" {
		return why, nil, nil
	}

	call := &memory.ReviewCall{Run: st.run.event.ID, ID: c.ID, Tool: c.Tool, Arguments: c.Arguments}
	if t := own(&st.paging, c.Tool); t != nil {
		arguments, err := ownArguments(t, c.Arguments)
		if err != nil {
			return forModel(err)
		}
		call.Arguments, call.Own = string(arguments), true
	} else if !slices.Contains(st.paging.Approve, c.Tool) {
		return "", nil, nil
	}

	id := reviewID(turn.note.ID, slices.Index(turn.calls, c))
	found, err := st.a.store.Review(ctx, st.s, id)
	switch {
	case fault.Is(err, fault.NotFound):
		return "", &memory.Review{
			ID: id, Job: st.job.ID, Trigger: turn.note.ID, State: memory.ReviewOpen, Changes: []memory.ReviewChange{{Note: turn.note.ID, Call: call}},
		}, nil
	case err != nil:
		return "", nil, err
	case found.State == memory.ReviewOpen:
		return "", &found, nil
	case found.State == memory.ReviewRejected || call.Own:
		return strings.TrimSuffix(denied+found.Reason, ": "), nil, nil
	}
	return "", nil, nil
}

// ownArguments returns the arguments of a call of the caller's own tool as the caller gets them.
func ownArguments(t *memory.OwnTool, given string) (json.RawMessage, error) {
	args, err := parseArguments(json.RawMessage(given))
	if err != nil {
		return nil, err
	}
	return tools.Arguments(t, args.given)
}

// forModel returns what the model reads of a fault that it can do something about.
func forModel(err error) (why string, review *memory.Review, _ error) {
	if !isForModel(err) {
		return "", nil, err
	}
	return explain(err), nil, nil
}

// waitsFor notes until when the run waits: the time counts from the first call that waits.
func (st *stepper) waitsFor(r *memory.Review) {
	since := r.CreatedAt
	if since.IsZero() {
		since = st.a.now()
	}
	if until := since.Add(st.paging.MaxWait); st.expires.IsZero() || until.Before(st.expires) {
		st.expires = until
	}
}

// waiting returns the open reviews of the last turn of a run, in the order of the calls.
func (a *Service) waiting(ctx context.Context, s tenant.Scope, r *runState) (out []memory.Review, err error) {
	turn := r.last()
	for _, c := range r.pending() {
		review, err := a.store.Review(ctx, s, reviewID(turn.note.ID, slices.Index(turn.calls, c)))
		switch {
		case fault.Is(err, fault.NotFound):
		case err != nil:
			return nil, err
		case review.State == memory.ReviewOpen:
			out = append(out, review)
		}
	}
	return out, nil
}

// Waiting returns the calls of a collection that wait, oldest first (notes:read).
func (a *Service) Waiting(ctx context.Context, s tenant.Scope, v memory.View) ([]memory.Review, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, err
	}
	p, err := a.paging(&v.Collection)
	if err != nil {
		return nil, err
	}
	open, late, err := a.openCalls(ctx, s, v, &p)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(open, func(r memory.Review) bool { return late[r.Call().Run] }), nil
}

// openCalls returns the open reviews of calls of a collection, oldest first, and the runs among them that have expired.
func (a *Service) openCalls(ctx context.Context, s tenant.Scope, v memory.View, p *memory.Paging) (open []memory.Review, late map[uuid.UUID]bool, err error) {
	list := func(q memory.ReviewQuery) ([]memory.Review, error) { return a.store.ListReviews(ctx, s, q) }
	for r, err := range memory.EachReview(list, memory.ReviewQuery{Collection: v.Collection.ID, State: memory.ReviewOpen, Limit: memory.MaxPage}) {
		if err != nil {
			return nil, nil, err
		}
		if r.Call() != nil {
			open = append(open, *r)
		}
	}
	slices.Reverse(open)

	late = map[uuid.UUID]bool{}
	for i := range open {
		run := open[i].Call().Run
		if _, known := late[run]; known || a.now().Before(open[i].CreatedAt.Add(p.MaxWait)) {
			continue
		}
		_, shown, err := a.shownRun(ctx, s, v, run)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return nil, nil, err
		}
		late[run] = shown.State == RunExpired
	}
	return open, late, nil
}

// closeExpired closes what waited too long, before a run that begins: the calls are answered with an error, so that the agent reads
// that no answer came.
func (st *stepper) closeExpired(ctx context.Context) error {
	open, late, err := st.a.openCalls(ctx, st.s, st.view, &st.paging)
	if err != nil {
		return err
	}
	closed := false
	for run, expired := range late {
		if !expired {
			continue
		}
		if err := st.expire(ctx, run, open); err != nil {
			return err
		}
		closed = true
	}
	if !closed {
		return nil
	}
	return st.read(ctx)
}

// expire answers the open calls of a run with an error.
func (st *stepper) expire(ctx context.Context, run uuid.UUID, open []memory.Review) error {
	r, err := st.a.load(ctx, st.s, st.view, run)
	if err != nil {
		return err
	}
	why := fmt.Sprintf("no answer came within %s", st.paging.MaxWait)
	return st.write(ctx, memory.CauseReview, func(ctx context.Context, tx memory.Tx) error {
		for _, review := range open {
			if review.Call().Run != run {
				continue
			}
			review.State, review.Reason, review.Actor, review.ClosedAt = memory.ReviewRejected, why, st.s.Actor(), tx.Now()
			if err := tx.UpdateReview(ctx, review); err != nil {
				return err
			}
			turn, c := r.callOf(review.ID)
			if c == nil || c.result != nil {
				continue
			}
			n := resultNote(&st.paging, messageOf(st.s, run, memory.RoleTool, "call:"+c.ID, "Error: "+why), turn, c, false)
			n.Attributes[attrHeartbeat] = false
			if err := st.put(ctx, tx, n); err != nil {
				return err
			}
		}
		return nil
	})
}

// callOf returns the call whose step has an id, and its turn; nil when there is none.
func (r *runState) callOf(id uuid.UUID) (*turnState, *callState) {
	for _, t := range r.turns {
		for i, c := range t.calls {
			if reviewID(t.note.ID, i) == id {
				return t, c
			}
		}
	}
	return nil, nil
}

// CallAnswer answers a call of a run: a result or an error of the caller's own tool, or an approval.
type CallAnswer struct {
	Call    uuid.UUID // id of the step
	Result  *string
	Error   *string // why the tool failed, or why the call is denied
	Approve *bool
}

// key tells the same answer from another one.
func (c *CallAnswer) key() string {
	kind, text := "result", c.Result
	if text == nil {
		kind, text = "error", c.Error
	}
	return uuid.NewSHA1(c.Call, []byte(kind+" "+*text)).String()
}

// check returns what is wrong with an answer to a call.
func (c *CallAnswer) check(field string, call *memory.ReviewCall) error {
	switch {
	case call.Own && c.Approve != nil:
		return fault.InvalidField(field+".approve", "%s is a tool that the caller runs: post its result or error", call.Tool)
	case call.Own && (c.Result == nil) == (c.Error == nil):
		return fault.InvalidField(field+".result", "a call of %s is answered with either result or error", call.Tool)
	case !call.Own && (c.Approve == nil || c.Result != nil):
		return fault.InvalidField(field+".approve", "a call of %s waits for approval: answer with approve, and error as the reason of a denial", call.Tool)
	}
	return nil
}

// isGiven reports whether a call that is closed was answered so before.
func (c *CallAnswer) isGiven(review *memory.Review, call *callState) bool {
	if review.Call().Own {
		return call.result != nil && call.result.Attributes[attrAnswer] == c.key()
	}
	return *c.Approve == (review.State == memory.ReviewApproved) && (review.State == memory.ReviewApproved || review.State == memory.ReviewRejected)
}

// answer is an answer that is to be committed.
type answer struct {
	CallAnswer

	review memory.Review
	turn   *turnState
	call   *callState
}

// Submit answers calls of a run, and continues it (notes:write, notes:read). What was answered so before changes nothing.
// NotFound for a run or call that is not there; Conflict for a call that was answered in another way, or waits no more.
func (a *Service) Submit(ctx context.Context, s tenant.Scope, ref string, run uuid.UUID, answers []CallAnswer) (Run, memory.Revision, error) {
	v, p, err := a.openWritable(ctx, s, ref)
	if err != nil {
		return Run{}, 0, err
	}
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return Run{}, 0, err
	}
	err = a.submit(ctx, s, v, &p, run, answers)
	if fault.Is(err, fault.Conflict) { // the same answer may have been committed meanwhile
		if v, err = a.recall.Open(ctx, s, v.Collection.ID.String(), nil, 0); err == nil {
			err = a.submit(ctx, s, v, &p, run, answers)
		}
	}
	if err == nil {
		v, err = a.recall.Open(ctx, s, v.Collection.ID.String(), nil, 0)
	}
	if err != nil {
		return Run{}, 0, err
	}
	out, err := a.Run(ctx, s, v, run)
	return out, v.At, err
}

// submit commits those answers that were not given before.
func (a *Service) submit(ctx context.Context, s tenant.Scope, v memory.View, p *memory.Paging, run uuid.UUID, answers []CallAnswer) error {
	r, shown, err := a.shownRun(ctx, s, v, run)
	if err != nil {
		return err
	}
	list, err := a.newAnswers(ctx, s, r, answers)
	if err != nil || len(list) == 0 {
		return err
	}
	if shown.State != RunWaiting && shown.State != RunQueued && shown.State != RunRunning {
		return fault.New(fault.Conflict, "the run is %s already, and waits for no answer", shown.State)
	}
	return a.commitAnswers(ctx, s, v, p, run, list)
}

// newAnswers returns those answers that were not given before.
func (a *Service) newAnswers(ctx context.Context, s tenant.Scope, r *runState, answers []CallAnswer) (out []answer, err error) {
	seen := map[uuid.UUID]bool{}
	for i, given := range answers {
		at := memory.ElementField("results", i)
		if seen[given.Call] {
			return nil, fault.InvalidField(at+".call", "the call is answered twice")
		}
		seen[given.Call] = true
		turn, call := r.callOf(given.Call)
		if call == nil {
			return nil, fault.Missing("call")
		}
		review, err := a.store.Review(ctx, s, given.Call)
		if fault.Is(err, fault.NotFound) {
			return nil, fault.New(fault.Conflict, "the call %s waits for no answer", given.Call)
		}
		if err != nil {
			return nil, err
		}
		if err := given.check(at, review.Call()); err != nil {
			return nil, err
		}
		switch {
		case review.State == memory.ReviewOpen:
			out = append(out, answer{CallAnswer: given, review: review, turn: turn, call: call})
		case !given.isGiven(&review, call):
			return nil, fault.New(fault.Conflict, "the call %s is closed already: %s", given.Call, cmp.Or(review.Reason, "it was answered"))
		}
	}
	return out, nil
}

// commitAnswers closes the reviews, writes the results, and enqueues the job that continues the run.
func (a *Service) commitAnswers(ctx context.Context, s tenant.Scope, v memory.View, p *memory.Paging, run uuid.UUID, list []answer) error {
	o := memory.WriteOptions{Cause: memory.CauseReview, Trigger: run}
	for i := range list {
		x := &list[i]
		o.Audit = append(o.Audit, memory.AuditEntry{
			Action: x.action(), Target: x.Call.String(), Detail: map[string]any{"collection": v.Collection.ID.String(), "run": run.String(), "tool": x.call.Tool},
		})
	}
	_, err := a.store.Write(ctx, s, v.Collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
		for i := range list {
			if err := a.commitAnswer(ctx, s, tx, p, run, &list[i]); err != nil {
				return err
			}
		}
		_, err := tx.Enqueue(ctx, stepJob(run))
		return err
	})
	return err
}

// text returns what the model reads of the caller's own tool.
func (x *answer) text(p *memory.Paging) string {
	if x.Result == nil {
		return "Error: " + cut(clean(*x.Error), maxError)
	}
	return cut(clean(*x.Result), resultChars(p.Window))
}

// action names the answer in the audit log.
func (x *answer) action() string {
	switch {
	case x.Approve == nil:
		return "call.answer"
	case *x.Approve:
		return "approval.approve"
	}
	return "approval.deny"
}

func (a *Service) commitAnswer(ctx context.Context, s tenant.Scope, tx memory.Tx, p *memory.Paging, run uuid.UUID, x *answer) error {
	review := x.review
	review.State, review.Actor, review.ClosedAt = memory.ReviewApproved, s.Actor(), tx.Now()
	if x.Approve != nil && !*x.Approve {
		review.State = memory.ReviewRejected
		if x.Error != nil {
			review.Reason = *x.Error
		}
	}
	if err := tx.UpdateReview(ctx, review); err != nil || x.Approve != nil {
		return err
	}

	n := resultNote(p, messageOf(s, run, memory.RoleTool, "call:"+x.call.ID, x.text(p)), x.turn, x.call, x.Result != nil)
	// Nobody but the agent reads the result: it acts again.
	n.Attributes[attrHeartbeat], n.Attributes[attrAnswer] = true, x.key()
	n.Attributes[attrMillis] = max(0, tx.Now().Sub(review.CreatedAt).Milliseconds())
	return a.putOnce(ctx, s, tx, n)
}

// Answer approves or denies a call that waits (notes:write), and continues its run. Conflict when it was answered before.
func (a *Service) Answer(ctx context.Context, s tenant.Scope, review uuid.UUID, approve bool, reason string) (memory.Review, error) {
	r, err := a.store.Review(ctx, s, review)
	if err != nil {
		return r, err
	}
	call := r.Call()
	if call == nil {
		return r, fault.New(fault.Internal, "the review %s is about no call", review)
	}
	if r.State != memory.ReviewOpen {
		return r, fault.New(fault.Conflict, "the review is %s already", r.State)
	}
	given := CallAnswer{Call: review, Approve: &approve, Error: &reason}
	switch {
	case call.Own && approve:
		return r, fault.New(fault.Conflict, "%s is a tool that the caller runs: post its result to the run %s", call.Tool, call.Run)
	case call.Own:
		given.Approve, given.Error = nil, new(strings.TrimSuffix(denied+reason, ": "))
	}
	if _, _, err := a.Submit(ctx, s, r.Collection.String(), call.Run, []CallAnswer{given}); err != nil {
		return r, err
	}
	return a.store.Review(ctx, s, review)
}
