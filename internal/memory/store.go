package memory

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// This file declares what the core needs of a store, as roles of a few
// methods. internal/store composes them, internal/store/storetest says in
// tests what they mean, and both engines pass the same suite.
//
// Rules for every method: the zero Scope is refused (Unauthenticated); what
// another tenant or another agent owns is NotFound, told by the same sentence
// as an absent thing; errors are faults; a returned error means that nothing
// was written. Permissions are checked by the callers above the store, reach
// (tenant and agent) by the store.

// Visibility, one predicate everywhere: a row is live at bound b when
// From <= b and (To == 0 or To > b). A nearer layer hides a note of a farther
// one if it holds any version of it with From <= b, tombstones included,
// before any filter is applied. The same holds for links by their identity.

// CollectionStore keeps collections.
type CollectionStore interface {
	// CreateCollection inserts one row (and, for a fork, one adopt job when the
	// parent's view holds raw or pending notes). ID, Head, State and CreatedAt are set by the
	// store. Exists when the name is taken for that owner; with Parent set: the
	// parent is checked for reach, floor and depth (LineageTooDeep).
	CreateCollection(ctx context.Context, s tenant.Scope, c NewCollection) (CollectionCreated, error)
	// ResolveCollection finds by id or name: an agent's own first, then the
	// shared base. Without an agent in the scope a name that several owners use
	// is Ambiguous. Deleting and expired ones are NotFound.
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (Collection, error)
	ListCollections(ctx context.Context, s tenant.Scope, q CollectionQuery) ([]Collection, error) // by name, then id
	// UpdateCollection changes DisplayName, PolicyConfig, Metadata, ExpiresAt, State, EvolvedAdds. Another PolicyConfig
	// gets a changeset of cause config. audit.Detail may be filled in by fn.
	UpdateCollection(ctx context.Context, s tenant.Scope, collection uuid.UUID, audit AuditEntry, fn func(*Collection) error) (Collection, error)
	// DeleteCollection marks it deleting, frees its name, cancels its jobs and enqueues one remove job. HasForks when
	// live forks read it, unless materialise makes each of them independent first.
	DeleteCollection(ctx context.Context, s tenant.Scope, collection uuid.UUID, materialise bool, audit AuditEntry) error
	// RemoveRows deletes up to limit rows of a deleting collection and tells
	// whether it is gone.
	RemoveRows(ctx context.Context, s tenant.Scope, collection uuid.UUID, limit int) (gone bool, err error)
	// CopyRows copies the next rows of what the view shows (notes with their vectors, links, usage), keeping ids and
	// From, into target (State copying), at most limit notes in one transaction. cursor "" starts; next "" means that all is
	// there, target is active, its head and floor are the view's revision and its counts are right. An adopt job is enqueued then where raw or
	// pending notes were copied. Running a step twice changes nothing.
	CopyRows(ctx context.Context, s tenant.Scope, v View, target uuid.UUID, cursor string, limit int) (n int, next string, err error)
	// ExpiredCollections lists collections past ExpiresAt, ids only; it crosses tenants.
	ExpiredCollections(ctx context.Context, now time.Time, limit int) ([]Due, error)
	// EphemeralCollections lists the ephemeral ones, ids only; it crosses tenants.
	EphemeralCollections(ctx context.Context, limit int) ([]Due, error)
}

// NewCollection asks for a collection.
type NewCollection struct {
	Collection
	Source      uuid.UUID // that it is cloned from; kept with the idempotency key
	Idempotency *Idempotency
	Audit       AuditEntry
	CopyJob     *Job // for mode copy: enqueued in the same transaction
}

// CollectionCreated is the answer of CreateCollection. Replay is set when an
// idempotency key was seen before with the same body: nothing was written.
type CollectionCreated struct {
	Collection Collection
	Job        *Job // the copy job, when asked for
	Replay     *Idempotency
}

// CollectionQuery pages through collections.
type CollectionQuery struct {
	Agent  *uuid.UUID // only this owner; a pointer to zero: only shared bases
	After  string     // cursor: "name\x00id" of the last one
	Limit  int
	Parent uuid.UUID // only forks of this one
}

// At says which revision to read; nil AsOf is the head when the request arrived.
type At struct {
	AsOf *Revision // above the head: Invalid "as_of"; below the floor: RevisionGone
}

// Reader reads through views.
type Reader interface {
	// OpenView resolves ref as ResolveCollection does, and the lineage with its bounds,
	// in one read transaction.
	OpenView(ctx context.Context, s tenant.Scope, ref string, at At) (View, error)
	// Notes gives the visible ones of ids, in the order of ids; absent ones are left out.
	Notes(ctx context.Context, s tenant.Scope, v View, ids []uuid.UUID, o ReadOptions) ([]Note, error)
	// NoteByKey finds the visible note with that kind and key, NotFound when none.
	NoteByKey(ctx context.Context, s tenant.Scope, v View, kind Kind, key string) (Note, error)
	// Versions reads versions by their identity, in the order of keys, without vectors; past ones too, and those that a
	// nearer layer hides. Tombstones are left out, and those of other layers than the view's, above their bounds, or
	// gone. The index of a search knows them, and what a version says never changes, so a cache may answer.
	Versions(ctx context.Context, s tenant.Scope, v View, keys []Version) ([]Note, error)
	// Nearest ranks the visible notes by the cosine of their vectors in the collection's embedder, best first, ties by id, by
	// an exact scan; notes without a vector, or with one of zeros, are not among them. It serves while no index is loaded,
	// and as its oracle.
	Nearest(ctx context.Context, s tenant.Scope, v View, q NearestQuery) ([]Nearest, error)
	// ListNotes pages through the visible notes matching the filter, oldest id first
	// unless Newest or ByTime.
	ListNotes(ctx context.Context, s tenant.Scope, v View, q NoteQuery) ([]Note, error)
	// History gives the versions of a note that the view's lineage holds at or
	// below its bounds, newest first, tombstones included. NotFound when there
	// are none.
	History(ctx context.Context, s tenant.Scope, v View, note uuid.UUID, before Revision, limit int) ([]HistoryEntry, error)
	// Links gives the visible links touching the notes, ordered by source,
	// relation, target.
	Links(ctx context.Context, s tenant.Scope, v View, q LinkQuery) ([]Link, error)
	// Counts at the view's revision.
	Counts(ctx context.Context, s tenant.Scope, v View) (Counts, error)
	// Log streams the versions of layer i of the view that began or ended after the
	// given revision and at or below the layer's own head, in order of From; with the
	// vectors of the embedder. It returns the revision up to which it read.
	Log(ctx context.Context, s tenant.Scope, v View, layer int, after Revision, embedder string, fn func(LogRow) error) (Revision, error)
	// CountVectors tells how many visible notes have a vector of an embedder: of so many dimensions, and of another number.
	CountVectors(ctx context.Context, s tenant.Scope, v View, embedder string, dim int) (n, other int64, err error)
	// Changesets lists those of the collection's own log after a revision.
	Changesets(ctx context.Context, s tenant.Scope, v View, after Revision, limit int) ([]Changeset, error)
	// CountChangesets counts those of the collection's own log of a cause, written from a time on and before another.
	CountChangesets(ctx context.Context, s tenant.Scope, v View, cause Cause, from, to time.Time) (int64, error)
	// Usage of visible notes through the lineage; notes without any are absent.
	Usage(ctx context.Context, s tenant.Scope, v View, ids []uuid.UUID) (map[uuid.UUID]Usage, error)
	// Hot lists the visible notes that were used most lately, by HotScore and then by id; none that was never used.
	// Limit 0: all.
	Hot(ctx context.Context, s tenant.Scope, v View, limit int) ([]HotNote, error)
	// AddUsage counts recalls in the view's own collection, copying an
	// ancestor's usage up on first change.
	AddUsage(ctx context.Context, s tenant.Scope, v View, deltas []UsageDelta) error
}

// ReadOptions of notes.
type ReadOptions struct {
	Vector bool // fill Note.Vector, Note.Tokens and Note.Embedder from the collection's embedder
}

// NoteQuery pages through notes.
type NoteQuery struct {
	Filter filter.Expr // nil: all
	Kinds  []Kind      // empty: all
	States []State     // empty: all
	After  uuid.UUID   // exclusive; zero: from the start
	// ByTime orders by event time, then by id. The place to go on from is After together with AfterTime.
	ByTime    bool
	AfterTime time.Time
	Lacks     string // only notes whose visible version has no vector of this embedder; "": all
	Newest    bool   // newest id, or time, first
	Limit     int
	ReadOptions
}

// NearestQuery asks for the nearest notes.
type NearestQuery struct {
	Vector []float32   // of the collection's dimensions, finite, not all zeros; else Invalid "vector"
	Filter filter.Expr // nil: all
	Limit  int         // 0: all
}

// Nearest is a note found by similarity alone.
type Nearest struct {
	Version
	Score float64 // cosine, within 1e-5 on every engine
}

// HotNote is a note with what its use is worth now.
type HotNote struct {
	Note  uuid.UUID
	Usage Usage
	Score float64
}

// HotHalfLife is how long a use counts for a half.
const HotHalfLife = 24 * time.Hour

// HotScore is the number of uses, halved for every HotHalfLife since the last one.
func HotScore(u Usage, now time.Time) float64 {
	return float64(u.AccessCount) * math.Exp2(-float64(max(0, now.Sub(u.LastAccess)))/float64(HotHalfLife))
}

// LinkQuery asks for links by endpoint.
type LinkQuery struct {
	Notes     []uuid.UUID
	Direction Direction
	Limit     int // 0: 10,000
}

// Direction of links as seen from the asked notes.
type Direction int

// The directions.
const (
	Outgoing Direction = 1 << iota
	Incoming
	Both = Outgoing | Incoming
)

// Writer writes changesets.
type Writer interface {
	// Write runs fn in one transaction that holds the collection's writing lock.
	// All puts, deletes and links of one call become one changeset at one new
	// revision, the head plus one; when fn logs nothing the head stays. fn may
	// run more than once and must touch nothing outside Tx. A fault from fn
	// rolls back and is returned as it is. Writing to a shared base or another agent's
	// collection with a scope that does not reach it is NotFound.
	Write(ctx context.Context, s tenant.Scope, collection uuid.UUID, o WriteOptions, fn func(ctx context.Context, tx Tx) error) (Written, error)
	// AddVectors stores further vectors of versions that the view's layers hold, of another embedder than the one that
	// their collections have; who reads them switches to it with SetEmbedder. It is no changeset and changes no version: those that are gone,
	// tombstones and versions that have a vector of that embedder are passed over. Conflict when the lineage has changed.
	AddVectors(ctx context.Context, s tenant.Scope, v View, embedder string, vectors []VersionVector) error
}

// VersionVector is what an embedder made of a version, as Note has it.
type VersionVector struct {
	Version
	Vector []float32
	Tokens []byte
}

// WriteOptions describe a changeset.
type WriteOptions struct {
	Cause       Cause
	Job         uuid.UUID
	Trigger     uuid.UUID
	Undoes      Revision // Conflict when another changeset undoes it already
	Idempotency *Idempotency
	Audit       []AuditEntry // written with it; Actor and At are set by the store
	System      bool         // jobs: may write while the collection is copying
}

// Written is the outcome of a write.
type Written struct {
	Revision Revision // of the changeset, or the head when nothing was logged
	Logged   bool
	Replay   *Idempotency // the key was seen before with the same body; fn did not run
}

// Tx is what a writing closure may do. Reads see the head under the lock,
// with what the closure itself has written.
type Tx interface {
	View() View         // at the head before this changeset
	Revision() Revision // that this changeset gets when something is logged
	Now() time.Time     // of the transaction, UTC, microseconds; the same at every call

	Notes(ctx context.Context, ids []uuid.UUID, o ReadOptions) ([]Note, error)
	NoteByKey(ctx context.Context, kind Kind, key string) (Note, error)
	Links(ctx context.Context, q LinkQuery) ([]Link, error)

	// Put writes a version of a note into the collection's own layer (copy-up
	// when it was inherited). ID zero makes a new UUIDv7; a given ID that is not visible makes a note with that id. CreatedAt zero
	// is Now for a new note and kept for an old one. Vector and Tokens, when set, are stored with it; else a vector of the previous
	// version is not carried over. One of another embedder than the collection's, from a writer that began before it was
	// switched, is left out, and a job that embeds the note is enqueued. Exists when another live note of that kind has the key. The note is returned as stored.
	Put(ctx context.Context, n Note) (Note, error)
	// Delete writes a tombstone. NotFound when the note is not visible.
	Delete(ctx context.Context, note uuid.UUID) error
	// Link puts a link; an equal one (confidence and attributes) is no change. NotFound when an endpoint is not
	// visible, Invalid for a self-link.
	Link(ctx context.Context, l Link) (changed bool, err error)
	// Unlink ends a link; ok is false when there is none.
	Unlink(ctx context.Context, id LinkID) (ok bool, err error)

	// SetEmbedder binds the collection to another embedder from this changeset on; job is the one that has added the vectors.
	SetEmbedder(ctx context.Context, name string, dim int, job uuid.UUID) error
	SetUsage(ctx context.Context, note uuid.UUID, u Usage) error // import only
	Enqueue(ctx context.Context, j Job) (Job, error)             // ID zero makes one
	Unended(ctx context.Context, kind JobKind) ([]Job, error)    // the collection's jobs of a kind that wait or run, oldest first
	// EndJob ends a leased job with this transaction; Conflict when the lease is not the current one.
	EndJob(ctx context.Context, job, lease uuid.UUID, end JobEnd) error
	OpenReview(ctx context.Context, r Review) (Review, error)
	// UpdateReview closes a review: state, reason, actor, revision. An open one is approved or rejected, one that was
	// applied or approved is undone; Conflict when its state has moved on since it was read.
	UpdateReview(ctx context.Context, r Review) error
	CountEvolved(ctx context.Context) (int64, error) // adds one to the collection's EvolvedAdds and returns it
	// Answer is kept with the idempotency key: ids, never bodies or secrets.
	Answer(ids json.RawMessage)
	// Answered finds what was kept under a key, by this transaction too; another body is IdempotencyReuse. Remember
	// keeps an answer under a key of its own, for a transaction that answers more than one.
	Answered(ctx context.Context, k Idempotency) (Idempotency, bool, error)
	Remember(ctx context.Context, k Idempotency) error
}

// JobEnd says how a leased job leaves this transaction.
type JobEnd struct {
	State     JobState // done, failed, cancelled; or queued with the next Stage
	Stage     Stage
	Payload   json.RawMessage // nil: unchanged
	Result    json.RawMessage
	Error     string
	NotBefore time.Time
	Attempts  int
}

// Idempotency is a key and what was answered under it. Kept 24 hours per
// (tenant, agent of the credential, method, path, key).
type Idempotency struct {
	Method, Path, Key string
	BodyHash          [32]byte
	IDs               json.RawMessage
	At                time.Time
}

// IdempotencyTTL is how long keys are kept.
const IdempotencyTTL = 24 * time.Hour

// Queue hands out jobs. A lease is held by token until it expires; a heartbeat prolongs it.
type Queue interface {
	// DueCollections lists collections with a job that could be claimed now; it crosses tenants with ids only.
	DueCollections(ctx context.Context, now time.Time, limit int) ([]Due, error)
	// ClaimJobs leases due jobs of one collection. Prepare and task: up to limit,
	// oldest first. Decide: the oldest one, once it is due, only when no other decide of the collection is leased and
	// no older job of it is queued or running in prepare with no failed try. A decide that waits after a failed try is passed
	// over; one that waits without any (a pause) keeps its place. Each claim counts in Job.Claims until the job is given back.
	ClaimJobs(ctx context.Context, s tenant.Scope, collection uuid.UUID, stage Stage, lease uuid.UUID, until time.Time, limit int) ([]Job, error)
	// Heartbeat prolongs a lease; Conflict when it was lost.
	Heartbeat(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, until time.Time) error
	// ReleaseJob gives a leased job back (a failed try, a pause, a shutdown) or ends it without a changeset; Conflict when the lease was lost.
	ReleaseJob(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, end JobEnd) error
	SetProgress(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, p Progress) error
	// VoidLeases frees every lease; only for the sole process of an embedded store, at start.
	VoidLeases(ctx context.Context) (int, error)
	NextDue(ctx context.Context) (time.Time, error) // earliest NotBefore or lease end of waiting jobs; zero: none
	// Backlog tells of each stage how many jobs wait; it crosses tenants with numbers and a time only.
	Backlog(ctx context.Context) ([]Backlog, error)

	Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (Job, error)
	ListJobs(ctx context.Context, s tenant.Scope, q JobQuery) ([]Job, error)                    // newest first
	JobsAhead(ctx context.Context, s tenant.Scope, job uuid.UUID) (int, error)                  // unended jobs of the collection that prepare or decide, with a lower Seq
	RetryJob(ctx context.Context, s tenant.Scope, id uuid.UUID, audit AuditEntry) (Job, error)  // dead, failed or cancelled: to the end of the queue; else Conflict
	CancelJob(ctx context.Context, s tenant.Scope, id uuid.UUID, audit AuditEntry) (Job, error) // queued or running (its lease is void); else Conflict
}

// JobQuery pages through jobs.
type JobQuery struct {
	Collection uuid.UUID // zero: all that the scope reaches
	State      JobState  // "": all
	Note       uuid.UUID
	Before     uuid.UUID // cursor: id of the last one
	Limit      int
}

// Spool keeps what an import received and what it answered, in parts, so that any process can go on with the
// job. Parts stand beside the log and may come before their job: the tenant alone decides who reaches them, so
// callers look the job up first. They go with SweepParts, and with the job when its collection is removed.
type Spool interface {
	// PutPart keeps part n (from 0) of a job's spool; one that is there is replaced. At most MaxPart bytes.
	PutPart(ctx context.Context, s tenant.Scope, job uuid.UUID, spool SpoolName, n int, data []byte) error
	// Parts calls fn for each part in order; no connection is held while fn works.
	Parts(ctx context.Context, s tenant.Scope, job uuid.UUID, spool SpoolName, fn func(data []byte) error) error
	// DropParts removes the parts from number n on and tells how many there were.
	DropParts(ctx context.Context, s tenant.Scope, job uuid.UUID, spool SpoolName, n int) (int, error)
	// SweepParts removes the tenant's parts written before a time, but for bodies of jobs that have not ended.
	SweepParts(ctx context.Context, s tenant.Scope, before time.Time) error
	// StaleParts lists tenants with parts that SweepParts would remove, ids only; it crosses tenants.
	StaleParts(ctx context.Context, before time.Time, limit int) ([]uuid.UUID, error)
}

// SpoolName tells the spools of a job apart.
type SpoolName string

// The spools, and the most that one part holds.
const (
	SpoolBody    SpoolName = "body"
	SpoolResults SpoolName = "results"
	MaxPart                = 1 << 20
)

// ReviewStore reads reviews; they are written in transactions.
type ReviewStore interface {
	Review(ctx context.Context, s tenant.Scope, id uuid.UUID) (Review, error)
	ListReviews(ctx context.Context, s tenant.Scope, q ReviewQuery) ([]Review, error)
}

// ReviewQuery pages through reviews, newest first, or by risk (lowest confidence first, then newest).
type ReviewQuery struct {
	Collection uuid.UUID
	State      ReviewState
	Proposals  bool // only those that somebody was asked about: open, approved, rejected
	ByRisk     bool
	Offset     int
	Limit      int
}

// Ledger keeps idempotency answers, audit rows and model use.
type Ledger interface {
	// Replayed finds an answer; ok is false when the key is unknown or expired. Another body is IdempotencyReuse.
	Replayed(ctx context.Context, s tenant.Scope, k Idempotency) (Idempotency, bool, error)
	Audit(ctx context.Context, s tenant.Scope, e AuditEntry) error
	ListAudit(ctx context.Context, s tenant.Scope, q AuditQuery) ([]AuditEntry, error) // newest first
	AddModelUse(ctx context.Context, s tenant.Scope, u []ModelUse) error
	ModelUse(ctx context.Context, s tenant.Scope, fromDay, toDay string) ([]ModelUse, error)
	// Usage of the tenant: totals over what the scope reaches.
	TenantUsage(ctx context.Context, s tenant.Scope) (TenantUsage, error)
}

// AuditQuery pages through audit rows.
type AuditQuery struct {
	Before int64 // cursor; 0: newest
	Action string
	Target string
	Limit  int
}

// TenantUsage is what a tenant holds.
type TenantUsage struct {
	Notes, Links, Collections, Forks, StoredBytes int64
}

// Store is everything the core asks for.
type Store interface {
	CollectionStore
	Reader
	Writer
	Queue
	Spool
	ReviewStore
	Ledger
}

// Clock tells the time; tests and simulations inject their own.
type Clock func() time.Time
