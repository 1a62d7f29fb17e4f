package memory

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"
)

// JobKind names what a job does.
type JobKind string

// The kinds. Note runs a policy over one note, Exchange over the messages of one
// exchange (stages prepare, then decide). Policy runs a task of a policy (stage task).
const (
	JobNote        JobKind = "note"
	JobExchange    JobKind = "exchange"    // payload ExchangeJob; Note is the last message
	JobPolicy      JobKind = "policy"      // payload Task
	JobAdopt       JobKind = "adopt"       // a fork processes inherited notes that are raw or pending
	JobCopy        JobKind = "copy"        // copy a view into a collection of its own
	JobConsolidate JobKind = "consolidate" // rebuild the index and stale vectors
	JobRefresh     JobKind = "refresh"     // a model takes up what was answered without one; payload RefreshJob
	JobImport      JobKind = "import"
	JobFlatten     JobKind = "flatten"  // copy what a deep lineage shows into fewer layers
	JobMerge       JobKind = "merge"    // bring what another collection of the lineage has changed
	JobRollback    JobKind = "rollback" // return to an earlier revision
	JobRemove      JobKind = "remove"   // rows of a deleted collection
	JobReembed     JobKind = "reembed"  // vectors of another embedder
	JobErase       JobKind = "erase"    // earlier versions of summaries that had to be made again; payload EraseJob
	JobFile        JobKind = "file"     // the text of an uploaded file; Note is the file
	JobStep        JobKind = "step"     // a run of an agent, a step at each lease; Note is its event. Stage decide, in order
	JobWebhook     JobKind = "webhook"  // tell a webhook of the changes of a collection; payload WebhookJob
	JobFlush       JobKind = "flush"    // evict the oldest messages from an agent's window; payload FlushJob. Stage decide
)

// JobKinds lists every kind.
func JobKinds() []JobKind {
	return []JobKind{
		JobNote, JobExchange, JobPolicy, JobAdopt, JobCopy, JobConsolidate, JobRefresh, JobImport, JobFlatten, JobMerge, JobRollback,
		JobRemove, JobReembed, JobErase, JobFile, JobStep, JobWebhook, JobFlush,
	}
}

// ExchangeJob is the payload of a job of kind exchange.
type ExchangeJob struct {
	Messages []uuid.UUID `json:"messages"`       // oldest first
	After    uuid.UUID   `json:"after,omitzero"` // the job of the exchange before, if one request wrote both
	Guidance *Guidance   `json:"guidance,omitempty"`
}

// EraseJob is the payload of a job of kind erase.
type EraseJob struct {
	Notes []uuid.UUID `json:"notes"` // whose earlier versions go when they are made again
	// Before is the revision of the erasure: forks show what is left of the versions from before it, and what was made again instead of the
	// others.
	Before Revision `json:"before,omitempty"`
}

// FlushJob is the payload of a job of kind flush.
type FlushJob struct {
	Force bool `json:"force"` // also while the window is not full
}

// Stage is the current step of a job. Prepare reads only its own note: parallel,
// unordered. Decide reads other notes: one at a time per collection, in order.
// Task is anything else: parallel. Send is a task that waits for a service of a tenant, which may hang: it has slots of its own.
type Stage string

// The stages.
const (
	StagePrepare Stage = "prepare"
	StageDecide  Stage = "decide"
	StageTask    Stage = "task"
	StageSend    Stage = "send"
)

// StageUpkeep names the tasks of upkeep in claims, which have slots of their own; StageTask names the others there. It
// is never the stage of a job: those of upkeep have StageTask.
const StageUpkeep Stage = "upkeep"

// UpkeepKinds are the kinds of tasks that no caller waits for: what a collection does for itself, however often.
func UpkeepKinds() []JobKind {
	return []JobKind{JobAdopt, JobPolicy, JobConsolidate, JobRefresh, JobFlatten}
}

// Lane returns the stage that claims of the job name.
func (j *Job) Lane() Stage {
	if j.Stage == StageTask && slices.Contains(UpkeepKinds(), j.Kind) {
		return StageUpkeep
	}
	return j.Stage
}

// Lanes returns the stages that claims name for a stage.
func (s Stage) Lanes() []Stage {
	if s == StageTask {
		return []Stage{StageTask, StageUpkeep}
	}
	return []Stage{s}
}

// JobState is the state that callers see.
type JobState string

// The states. Failed: ended with an error that a retry cannot fix, such as a
// deleted collection. Dead: all tries are used up. Scheduled is how a queued job is
// shown whose first try is set for later; no row has it.
const (
	JobScheduled JobState = "scheduled"
	JobQueued    JobState = "queued"
	JobRunning   JobState = "running"
	JobDone      JobState = "done"
	JobFailed    JobState = "failed"
	JobDead      JobState = "dead"
	JobCanceled  JobState = "cancelled"
)

// Progress of long work, in the unit of the job (notes, lines).
type Progress struct {
	Done  int64 `json:"done"`
	Total int64 `json:"total"`
}

// ReportProgress records the progress of a job. An error from it ends the current try.
type ReportProgress func(ctx context.Context, p Progress) error

// Job is an outbox row, inserted by the transaction that causes the work.
type Job struct {
	ID         uuid.UUID
	Tenant     uuid.UUID
	Collection uuid.UUID
	Note       uuid.UUID // zero: none
	Kind       JobKind
	Stage      Stage
	State      JobState
	Seq        int64 // order within the collection; allocated by the store
	Attempts   int   // failed tries so far
	Claims     int   // leases since it was last released; above 1, holders were lost
	Losses     int   // leases lost in a row, before these claims
	Alone      int   // how many of the last of them ran with no other job in their process
	Payload    json.RawMessage
	Result     json.RawMessage
	Progress   *Progress
	Error      string
	NotBefore  time.Time
	Lease      uuid.UUID // token of the holder; zero: free
	LeaseUntil time.Time
	Trace      string // W3C traceparent of the request that enqueued it; "" none
	CreatedAt  time.Time
	FinishedAt time.Time
	Worked     time.Duration // how long it was held, in all leases that were given back
}

// Ended reports whether the job is in a final state.
func (j *Job) Ended() bool {
	switch j.State {
	case JobDone, JobFailed, JobDead, JobCanceled:
		return true
	case JobQueued, JobRunning, JobScheduled:
	}
	return false
}

// WaitsForRetry reports whether the job waits for the end of a pause after a failed
// try, a lost lease, or for an endpoint that is down.
func (j *Job) WaitsForRetry(now time.Time) bool {
	return j.State == JobQueued && j.NotBefore.After(now) && (j.Attempts > 0 || j.Losses > 0 || j.Error != "")
}

// Shown returns the state as callers see it: a job whose lease has ended waits for a process that takes it up.
func (j *Job) Shown(now time.Time) JobState {
	if j.State == JobRunning && !j.LeaseUntil.After(now) {
		return JobQueued
	}
	if j.State == JobQueued && j.NotBefore.After(now) && !j.WaitsForRetry(now) {
		return JobScheduled
	}
	return j.State
}

// Stages returns all stages, in the order in which a note passes them.
func Stages() []Stage { return []Stage{StagePrepare, StageDecide, StageTask, StageSend} }

// Backlog is the jobs of a stage that wait although they could be done.
type Backlog struct {
	Stage   Stage
	Waiting int64
	Oldest  time.Time // since when the first waits: since it was made or, if that is later, due; zero: none waits
}

// Work is what waits in a collection, and how fast it went lately.
type Work struct {
	Vectors     int64 // jobs that only embed a note
	Description int64 // other jobs in prepare
	Links       int64 // jobs in decide
	Policy      int64 // tasks that are due
	Dead        int64 // jobs whose tries are used up

	Ended       int64     // how many of the last jobs before those that wait were done
	First, Last time.Time // when these ended; zero: none
}

// Limits of an estimate: from how few ends, and how long after the last one, nothing can be said.
const (
	minEnded = 5
	maxStall = 2 * time.Minute
)

// Left estimates how long so many jobs take, at the rate of the last ones. ok is false when that is not known: few have ended, or
// none lately.
func (w *Work) Left(jobs int64, now time.Time) (left time.Duration, ok bool) {
	if w.Ended < minEnded || now.Sub(w.Last) > maxStall || !now.After(w.First) {
		return 0, false
	}
	seconds := now.Sub(w.First).Seconds() / float64(w.Ended) * float64(jobs)
	return time.Duration(seconds * float64(time.Second)), true
}

// Due names a collection with work; ids only, so that it may cross tenants.
type Due struct {
	Tenant     uuid.UUID
	Collection uuid.UUID
}

// Includes reports whether a collection is the one that is named. A zero id means all.
func (d Due) Includes(tenantID, collection uuid.UUID) bool {
	return (d.Tenant == uuid.Nil || d.Tenant == tenantID) && (d.Collection == uuid.Nil || d.Collection == collection)
}

// ReviewState of a proposal.
type ReviewState string

// The states. Applied: a risky change that was applied and is listed for
// periodic review; it can be undone.
const (
	ReviewOpen     ReviewState = "open"
	ReviewApproved ReviewState = "approved"
	ReviewRejected ReviewState = "rejected"
	ReviewApplied  ReviewState = "applied"
	ReviewUndone   ReviewState = "undone"
)

// Review is a proposal that waits for approval, or a risky change that was
// applied and can be undone.
type Review struct {
	ID         uuid.UUID
	Collection uuid.UUID
	Job        uuid.UUID
	Trigger    uuid.UUID // the note whose add proposed it
	State      ReviewState
	Confidence float64
	Changes    []ReviewChange
	Read       []Version // the decision's read set
	Revision   Revision  // of the applying changeset; 0 while open or rejected
	Reason     string
	Actor      string // who closed it
	CreatedAt  time.Time
	ClosedAt   time.Time
}

// ReviewChange is one proposed change of a note: from version Before to the
// content of After, with Links to add from Note.
type ReviewChange struct {
	Note   uuid.UUID `json:"note"`
	Before *Note     `json:"before,omitempty"`
	After  *Note     `json:"after,omitempty"`
	Links  []Link    `json:"links,omitempty"`
	// Call is the tool call that waits, in a review of a tool call; Note is then the turn that it is part of.
	Call *ReviewCall `json:"call,omitempty"`
	// Merge is set in the first change of a review of a merge. Without Before the note is new, without After it is deleted.
	Merge *ReviewMerge `json:"merge,omitempty"`
}

// ReviewMerge is the other side of a merge that waits for approval.
type ReviewMerge struct {
	Collection uuid.UUID `json:"collection"`
	Revision   Revision  `json:"revision"`
	Strategy   string    `json:"strategy"`
}

// Merge returns the merge that a review is about; nil for another review.
func (r *Review) Merge() *ReviewMerge {
	if len(r.Changes) == 0 {
		return nil
	}
	return r.Changes[0].Merge
}

// ReviewCall is a tool call of an agent that waits for its caller.
type ReviewCall struct {
	Run       uuid.UUID `json:"run"`
	ID        string    `json:"id"`
	Tool      string    `json:"tool"`
	Arguments string    `json:"arguments"`
	// Own is a tool that the caller runs: a result is the answer, not an approval.
	Own bool `json:"own,omitempty"`
}

// Call returns the tool call that a review is about; nil for a review of changes.
func (r *Review) Call() *ReviewCall {
	if len(r.Changes) == 0 {
		return nil
	}
	return r.Changes[0].Call
}

// AuditEntry records an action. Detail never holds memory content or secrets.
type AuditEntry struct {
	ID     int64 // grows; per tenant
	At     time.Time
	Actor  string
	Action string // "note.create", "key.revoke", …
	Target string // an id
	Detail map[string]any
}

// ModelUse counts calls of a model or embedder.
type ModelUse struct {
	Collection       uuid.UUID // zero: none
	Purpose          string    // call name, or "embed"
	Day              string    // UTC, 2006-01-02
	Calls            int64
	PromptTokens     int64
	CompletionTokens int64
}

// ReembedJob is the payload of a job of kind reembed.
type ReembedJob struct {
	Embedder string `json:"embedder"` // the new embedder; the collection's own: only missing vectors are computed
}

// RefreshJob is the payload of a job of kind refresh, once its work is enqueued.
type RefreshJob struct {
	Last  uuid.UUID `json:"last"`  // the last job of that work; the first ones come after the refresh job itself
	Total int64     `json:"total"` // how many jobs that are
}

// NoteJob is the payload of a job of kind note.
type NoteJob struct {
	EmbedOnly bool `json:"embed_only,omitempty"` // only the vector is missing: the job ends after prepare
}

// EmbedOnly returns the payload of a note job that only embeds.
func EmbedOnly() json.RawMessage { return json.RawMessage(`{"embed_only":true}`) }
