package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// The alerts that come up in a run.
const (
	alertPressure = "pressure" // the window is nearly full
	alertRule     = "rule"     // a rule forbids to end here
	alertPause    = "pause"    // regular heartbeats pause
)

// alert adds what the agent has to be told: once until the next flush that its window is nearly full, and that a
// rule forbids to end. Either makes the run continue.
func (st *stepper) alert(ctx context.Context, m *Main) (bool, error) {
	if float64(m.Used) >= m.Paging.Warn*float64(m.Window) && m.Paging.Warn < m.Paging.Flush {
		period := "0"
		if m.summary != nil {
			period = fmt.Sprint(m.summary.From)
		}
		done, err := st.tell(ctx, alertPressure, "warning:"+period, m.Paging.Warning)
		if done || err != nil {
			return done, err
		}
	}
	why := st.run.verdict(&st.paging, st.job, st.a.clock())
	if why != StopTerminal && why != StopText && why != StopNoHeartbeat {
		return false, nil
	}
	if missing := lastMissing(&st.paging, st.run.calls()); len(missing) > 0 {
		text := "You may not end here: end with " + strings.Join(missing, " or ") + "."
		return st.tell(ctx, alertRule, fmt.Sprintf("rule:%s/%d", st.run.event.ID, len(st.run.turns)), text)
	}
	return false, nil
}

// tell writes an alert unless it was written before.
func (st *stepper) tell(ctx context.Context, kind, key, text string) (told bool, err error) {
	if _, err := st.a.store.NoteByKey(ctx, st.s, st.view, memory.KindMessage, key); err == nil || !fault.Is(err, fault.NotFound) {
		return false, err
	}
	n := st.message(memory.RoleUser, key, text)
	n.Attributes[memory.AttrEvent], n.Attributes[attrKind] = string(memory.EventAlert), kind
	n.Attributes[memory.AttrRecall] = true // nobody said it
	return true, st.write(ctx, memory.CauseAdd, func(ctx context.Context, tx memory.Tx) error { return st.put(ctx, tx, n) })
}

// makeRoom flushes when the window is as full as it may be, and returns the context after it.
func (st *stepper) makeRoom(ctx context.Context, m Main) (Main, error) {
	if !m.full() {
		return m, nil
	}
	hold := func(ctx context.Context, tx memory.Tx, _ int) error { return st.hold(ctx, tx) }
	evicted, err := st.a.flush(ctx, st.s, st.view, &m, flushing{job: st.job.ID, retry: st.job.Attempts == 0, with: hold})
	if err != nil || evicted == 0 {
		return m, err
	}
	if err := st.read(ctx); err != nil {
		return m, err
	}
	return st.build(ctx)
}

// full reports whether the window is as full as it may be.
func (m *Main) full() bool {
	return m.Overflow || float64(m.Used) >= m.Paging.Flush*float64(m.Window)
}

// flushing says under what a flush is done.
type flushing struct {
	job   uuid.UUID
	retry bool // a model that cannot be reached is an error; else the messages leave without a summary
	// with runs first in the transaction of the flush; evicted is how many messages leave.
	with func(ctx context.Context, tx memory.Tx, evicted int) error
}

// flush evicts the oldest messages and sums them up together with the summary of those before. What stays are at most
// the share 1 - evict of the tokens that there are, or that fit. It returns how many have left.
func (a *Service) flush(ctx context.Context, s tenant.Scope, v memory.View, m *Main, f flushing) (int, error) {
	if a.models == nil {
		return 0, fault.New(fault.Internal, "agent: no models; nothing can be summed up")
	}
	list, err := a.after(ctx, s, v, m.through)
	if err != nil {
		return 0, err
	}
	total, fixed := 0, m.Used
	for i := range list {
		total += list[i].size
	}
	for _, p := range m.Parts {
		if p.Name == PartMessages {
			fixed -= p.Tokens
		}
	}
	room := max(0, int(m.Paging.Flush*float64(m.Window))-fixed)
	at := cutAt(list, int((1-m.Paging.Evict)*float64(min(total, room))))
	if at == 0 {
		return 0, nil
	}
	evicted := list[:at]
	old, again, err := a.summaryBefore(ctx, s, v, m, f.retry)
	if err != nil {
		return 0, err
	}
	said, err := a.sumUp(ctx, s, v, m, old, evicted, f.retry)
	if err != nil {
		return 0, err
	}
	n := a.summaryNote(m, f, said, evicted)
	if again {
		n.Attributes[attrMade] = true
	}
	if err := a.putSummary(ctx, s, v, m, f, n, at); err != nil {
		return 0, err
	}
	return at, nil
}

// maxSummarySources is how many of the messages that a summary adds it names as its sources, the newest ones.
const maxSummarySources = 200

// summaryNote returns the note of a summary of messages and of those before them.
func (a *Service) summaryNote(m *Main, f flushing, said summed, of []queued) memory.Note {
	n := memory.Note{Kind: memory.KindSummary, Key: memory.KeyQueue, Category: memory.DefaultCategory, Importance: memory.DefaultImportance}
	if m.summary != nil {
		n = *m.summary
		n.Vector, n.Tokens = nil, nil
	}
	n.Content, n.Analyst, n.State = said.text, said.analyst, memory.StateRaw
	n.Attributes = map[string]any{memory.AttrThrough: of[len(of)-1].note.ID.String(), "messages": len(of)}
	n.Provenance = memory.Provenance{Job: &f.job}
	for _, q := range of[max(0, len(of)-maxSummarySources):] {
		n.Provenance.Sources = append(n.Provenance.Sources, q.note.ID)
	}
	return n
}

// putSummary writes a summary, with what f does beside it.
func (a *Service) putSummary(ctx context.Context, s tenant.Scope, v memory.View, m *Main, f flushing, n memory.Note, evicted int) error {
	n.Provenance.Actor = s.Actor()
	n = a.notes.Embedded(ctx, s, &v.Collection, n)
	return a.changeSummary(ctx, s, v, m, f, evicted, func(ctx context.Context, tx memory.Tx) error {
		put := n
		put.OccurredAt = tx.Now()
		_, err := a.notes.PutDerived(ctx, s, tx, put)
		return err
	})
}

// changeSummary writes unless the summary has changed since it was read.
func (a *Service) changeSummary(
	ctx context.Context, s tenant.Scope, v memory.View, m *Main, f flushing, evicted int, do func(ctx context.Context, tx memory.Tx) error,
) error {
	o := memory.WriteOptions{Cause: memory.CauseSummarize, Job: f.job}
	_, err := a.store.Write(ctx, s, v.Collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
		if err := f.with(ctx, tx, evicted); err != nil {
			return err
		}
		switch now, err := tx.NoteByKey(ctx, memory.KindSummary, memory.KeyQueue); {
		case err == nil && (m.summary == nil || now.From != m.summary.From), fault.Is(err, fault.NotFound) && m.summary != nil:
			return errStale // another flush was faster
		case err != nil && !fault.Is(err, fault.NotFound):
			return err
		}
		return do(ctx, tx)
	})
	return err
}

// Flush enqueues a job that evicts the oldest messages from the window and sums them up (notes:write); without force
// only when the window is as full as it may be. It is done between the steps of runs.
func (a *Service) Flush(ctx context.Context, s tenant.Scope, ref string, force bool) (memory.Job, error) {
	var job memory.Job
	v, _, err := a.openWritable(ctx, s, ref)
	if err != nil {
		return job, err
	}
	o := memory.WriteOptions{Cause: memory.CauseSummarize, Audit: []memory.AuditEntry{
		{Action: "collection.flush", Target: v.Collection.ID.String(), Detail: map[string]any{"force": force}},
	}}
	_, err = a.store.Write(ctx, s, v.Collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
		job, err = memory.EnqueueFlush(ctx, tx, force)
		return err
	})
	return job, err
}

// runFlush does the job that Flush enqueued. It ends in the transaction of the flush, so it is done once.
func (a *Service) runFlush(ctx context.Context, s tenant.Scope, job *memory.Job) error {
	var want memory.FlushJob
	if err := json.Unmarshal(job.Payload, &want); err != nil {
		return fault.Wrap(err, fault.Internal, "decode a flush")
	}
	v, err := a.recall.Open(ctx, s, job.Collection.String(), nil, 0)
	if err != nil {
		return err
	}
	m, err := a.Main(ctx, s, v)
	if err != nil {
		return err
	}
	end := func(evicted int) memory.JobEnd {
		return memory.JobEnd{State: memory.JobDone, Stage: job.Stage, Attempts: job.Attempts, Result: fmt.Appendf(nil, `{"evicted":%d}`, evicted)}
	}
	if want.Force || m.full() {
		with := func(ctx context.Context, tx memory.Tx, evicted int) error {
			return tx.EndJob(ctx, job.ID, job.Lease, end(evicted))
		}
		evicted, err := a.flush(ctx, s, v, &m, flushing{job: job.ID, retry: job.Attempts == 0, with: with})
		if err != nil || evicted > 0 {
			return err
		}
	}
	if m.summary != nil && m.summary.Provenance.Stale {
		with := func(ctx context.Context, tx memory.Tx, _ int) error { return tx.EndJob(ctx, job.ID, job.Lease, end(0)) }
		return a.sumUpAgain(ctx, s, v, &m, flushing{job: job.ID, retry: job.Attempts == 0, with: with})
	}
	return a.store.ReleaseJob(ctx, s, job.ID, job.Lease, end(0))
}

// after returns all messages after one, oldest first, as the model sees them.
func (a *Service) after(ctx context.Context, s tenant.Scope, v memory.View, through uuid.UUID) (out []queued, err error) {
	q := memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage}, After: through, Limit: memory.MaxPage}
	for n, err := range memory.EachNote(ctx, a.store, s, v, q) {
		if err != nil {
			return nil, err
		}
		e := queued{note: *n, turn: turnFor(n)}
		if !isWritten(n) {
			e.size = a.sizeOfTurn(&e.turn)
		}
		out = append(out, e)
	}
	return out, nil
}

// cutAt returns how many of the oldest messages are evicted so that those behind have at most keep tokens. The first
// that stays is a turn of the assistant if there is one at the right position or else before it, and never the result
// of a call that leaves. 0: nothing can be evicted.
func cutAt(list []queued, keep int) int {
	want, behind := len(list), 0
	for want > 0 && behind+list[want-1].size <= keep {
		want--
		behind += list[want].size
	}
	if want == 0 {
		return 0
	}
	want = min(want, len(list)-1)
	within := insideCalls(list)
	assistant := func(i int) bool {
		return !within[i] && list[i].turn.Role == memory.RoleAssistant && !isWritten(&list[i].note)
	}
	for _, fits := range []func(int) bool{assistant, func(i int) bool { return !within[i] }} {
		for i := max(1, want); i < len(list); i++ {
			if fits(i) {
				return i
			}
		}
		for i := want - 1; i > 0; i-- {
			if fits(i) {
				return i
			}
		}
	}
	return 0
}

// insideCalls marks the positions between a call and its last result, at which no cut is possible.
func insideCalls(list []queued) []bool {
	within := make([]bool, len(list))
	called := map[string]int{} // position of the turn
	for i := range list {
		for _, c := range list[i].turn.Calls {
			called[c.ID] = i
		}
		from, ok := called[callOf(&list[i].note)]
		if !ok || callOf(&list[i].note) == "" {
			continue
		}
		for k := from + 1; k <= i; k++ {
			within[k] = true
		}
	}
	return within
}

// summed is a summary and who wrote it.
type summed struct {
	text    string
	analyst memory.Analyst
}

// Bounds of the material of a summary.
const (
	maxSummaryWords  = 100
	clampedResult    = 5_000 // characters of a tool's result when the material is too long
	headShare        = 0.3   // of the messages that stay when it still is, and the same of the tail
	summaryOfWindow  = 0.8   // of the window that the material may fill; the rest is for prompt and answer
	summaryMaxTokens = 400
)

// sumUp returns the summary of messages and of the summary before them. When the material does not fit into the
// model's window, or the model fails, it is shortened: results of tools to 5,000 characters, then to the first and last
// 30% of the messages. When that fails too, a line says that messages have left without a summary.
func (a *Service) sumUp(ctx context.Context, s tenant.Scope, v memory.View, m *Main, old string, evicted []queued, retry bool) (summed, error) {
	p, _ := a.policies.ByName(v.Collection.Policy)
	pager, ok := p.(memory.Pager)
	if !ok {
		return summed{}, fault.New(fault.Internal, "the policy %s sums nothing up", v.Collection.Policy)
	}
	model, window := a.summaryModel(v, m)
	said := make([]memory.Utterance, 0, len(evicted))
	for i := range evicted {
		if u, ok := saidIn(&evicted[i]); ok {
			said = append(said, u)
		}
	}
	for _, shorter := range []func([]memory.Utterance) []memory.Utterance{slices.Clone[[]memory.Utterance], clampResults, func(list []memory.Utterance) []memory.Utterance { return headAndTail(clampResults(list), a, window) }} {
		call := pager.SummaryCall(old, shorter(said))
		call.Collection, call.MaxTokens = v.Collection.ID, summaryMaxTokens
		if model.Analyst() == memory.AnalystModel && float64(a.count(call.System+call.Prompt)) > summaryOfWindow*float64(window) {
			continue
		}
		answer, err := model.Ask(ctx, s, call)
		if err == nil {
			if text := summaryIn(&answer); text != "" {
				return summed{text, answer.Analyst}, nil
			}
			continue
		}
		if ctx.Err() != nil || errors.Is(err, memory.ErrPaused) {
			return summed{}, err
		}
		if !errors.Is(err, memory.ErrBadAnswer) && !fault.Is(err, fault.ModelFailed) { // it cannot be reached
			if retry {
				return summed{}, err
			}
			break
		}
	}
	last := memory.Minute(evicted[len(evicted)-1].note.OccurredAt)
	marker := fmt.Sprintf("[%d messages until %s have left the window without a summary; conversation_search finds them]", len(said), last)
	return summed{text: strings.TrimSpace(cut(old, maxKeptSummary) + "\n" + marker)}, nil
}

// summaryModel returns the model that sums up, and its window in tokens.
func (a *Service) summaryModel(v memory.View, m *Main) (model memory.Model, window int) {
	model, window = a.models.ModelFor(&v.Collection), m.Window
	if m.Paging.SummaryWindow > 0 {
		window = m.Paging.SummaryWindow
	}
	if named, ok := a.models.ModelNamed(m.Paging.SummaryModel); ok && model.Analyst() == memory.AnalystModel {
		model = named
	}
	return model, window
}

// summaryIn returns the summary in an answer; "" for none.
func summaryIn(answer *memory.Answer) string {
	var out struct {
		Summary string `json:"summary"`
	}
	if err := json.Unmarshal(answer.JSON, &out); err != nil || strings.TrimSpace(out.Summary) == "" {
		return ""
	}
	return firstWords(clean(out.Summary), maxSummaryWords)
}

// saidIn returns what a message adds to a summary: a text, and never calls with their ids. Of a turn it is the
// turn's own text and what it sends. ok is false for what says nothing: alerts, that a message was delivered, and
// turns that only call other tools.
func saidIn(q *queued) (u memory.Utterance, ok bool) {
	n := &q.note
	u = memory.UtteranceOf(n)
	if isWritten(n) || isAlert(n) || u.Role == memory.RoleTool && n.Attributes[memory.AttrTool] == toolSend {
		return u, false
	}
	if turn, calls := CallsOf(n); calls {
		sent := memory.TurnStream{Tool: toolSend, Argument: "message"}
		u.Content = strings.TrimSpace(turn.Text + "\n" + sent.Text(&turn))
	}
	return u, u.Content != ""
}

// isAlert reports whether a message is an alert: nobody said it.
func isAlert(n *memory.Note) bool { return n.Attributes[memory.AttrEvent] == string(memory.EventAlert) }

// maxKeptSummary bounds the old summary before a marker, in characters.
const maxKeptSummary = 2_000

// clampResults cuts the results of tools.
func clampResults(list []memory.Utterance) []memory.Utterance {
	out := slices.Clone(list)
	for i := range out {
		if out[i].Role == memory.RoleTool {
			out[i].Content = cut(out[i].Content, clampedResult)
		}
	}
	return out
}

// headAndTail returns the first and last messages, about a share of each, cut so that they fit into a window.
func headAndTail(list []memory.Utterance, a *Service, window int) []memory.Utterance {
	n := max(1, int(headShare*float64(len(list))))
	if 2*n < len(list) {
		gap := memory.Utterance{Role: memory.RoleSystem, Time: list[n].Time, Content: fmt.Sprintf("[%d messages are left out here]", len(list)-2*n)}
		list = slices.Concat(list[:n], []memory.Utterance{gap}, list[len(list)-n:])
	}
	share := int(summaryOfWindow*float64(window)/2) / max(1, len(list))
	out := slices.Clone(list)
	for i := range out {
		if a.count(out[i].Content) > share {
			out[i].Content = cut(out[i].Content, max(20, 2*share))
		}
	}
	return out
}

// firstWords returns the first n words of a text; in scripts without spaces, about as many characters as so many
// words have.
func firstWords(s string, n int) string {
	words := strings.Fields(s)
	if len(words) > n {
		s = strings.Join(words[:n], " ") + " …"
	}
	const charsOfWord = 10
	return cut(strings.TrimSpace(s), n*charsOfWord)
}
