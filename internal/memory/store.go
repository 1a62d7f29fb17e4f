package memory

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// This file declares what the core needs of a store, as roles of at most five methods. internal/store
// composes them, internal/store/storetest says in tests what they mean, and both engines pass the
// same suite.
//
// Rules for every method: the zero Scope is refused (Unauthenticated). What belongs to another tenant
// or to another agent is NotFound, with the sentence for what does not exist. Errors are faults. A
// returned error means that nothing was written. The callers above the store check permissions; the
// store checks reach (tenant and agent).
//
// Visibility is one predicate everywhere: a row is live at bound b when From <= b and (To == 0 or
// To > b). A nearer layer hides a note of a farther layer if it holds any version of it with From <= b,
// tombstones included, before any filter is applied. The same holds for links by their identity.

// CollectionStore keeps collections.
type CollectionStore interface {
	CollectionReader
	CollectionWriter
	CollectionUpkeep
}

// CollectionReader finds collections.
type CollectionReader interface {
	// ResolveCollection finds a collection by id or name: an agent's own first, then the shared base.
	// Without an agent in the scope, a name that several owners use is Ambiguous. Deleting and expired
	// collections are NotFound.
	ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (Collection, error)
	// CollectionByExternal finds the collection that has exactly these ids of an application; NotFound.
	// Deleting and expired collections are NotFound.
	CollectionByExternal(ctx context.Context, s tenant.Scope, e External) (Collection, error)
	// ListCollections lists collections by name, then id.
	ListCollections(ctx context.Context, s tenant.Scope, q CollectionQuery) ([]Collection, error)
}

// CollectionWriter adds, changes and deletes collections.
type CollectionWriter interface {
	// CreateCollection inserts one row and, for a fork, one adopt job when the parent's view holds raw or
	// pending notes. The store sets Head, State and CreatedAt, and ID unless it is set. Exists when the owner has another
	// collection of that name, or the tenant another one with the same External. With Parent set, the parent is
	// checked for reach and floor. A fork of more than MaxLineage layers gets one flatten job.
	CreateCollection(ctx context.Context, s tenant.Scope, c NewCollection) (CollectionCreated, error)
	// UpdateCollection changes DisplayName, PolicyConfig, Metadata, ExpiresAt, State and EvolvedAdds.
	// Another PolicyConfig gets a changeset of cause config. fn may fill in audit.Detail.
	UpdateCollection(ctx context.Context, s tenant.Scope, collection uuid.UUID, audit AuditEntry, fn func(*Collection) error) (Collection, error)
	// DeleteCollection marks a collection as deleting, frees its name, cancels its jobs and enqueues the one that
	// removes its rows, which is returned; it is gone itself when they are. HasForks when live forks read it, unless
	// materialise makes each of them independent first. Conflict when other collections show its blocks, unless
	// materialise ends these attachments. What is attached to it is detached.
	DeleteCollection(ctx context.Context, s tenant.Scope, collection uuid.UUID, materialise bool, audit AuditEntry) (Job, error)
}

// CollectionUpkeep does the long work on collections, in steps.
type CollectionUpkeep interface {
	// RemoveRows deletes up to limit rows of a deleting collection, and reports whether it is gone.
	RemoveRows(ctx context.Context, s tenant.Scope, collection uuid.UUID, limit int) (gone bool, err error)
	// CopyRows copies the next rows that the view shows (notes with their vectors, links, usage) into
	// target, a collection in state copying, and keeps ids and From: at most limit notes in one
	// transaction. cursor "" starts. next "" means that everything is copied: target is active, its head
	// and floor are the view's revision, and its counts are right; if raw or pending notes were copied,
	// an adopt job is enqueued. Repeating a step changes nothing.
	CopyRows(ctx context.Context, s tenant.Scope, v View, target uuid.UUID, cursor string, limit int) (n int, next string, err error)
	// FlattenLineage copies what a lineage of more than MaxLineage layers shows into fewer layers. What is read at any revision stays
	// the same, and Logs do: the collection stays related to all that it was related to.
	FlattenLineage(ctx context.Context, s tenant.Scope, collection uuid.UUID) error
	// ExpiredCollections lists collections past ExpiresAt, ids only; it crosses tenants.
	ExpiredCollections(ctx context.Context, now time.Time, limit int) ([]Due, error)
	// EphemeralCollections lists the ephemeral collections, ids only; it crosses tenants.
	EphemeralCollections(ctx context.Context, limit int) ([]Due, error)
}

// Planner keeps collections that do not exist until something is written to them.
type Planner interface {
	// PlanCollection makes a collection readable by its id, as an empty one, until done is called. It returns the errors of CreateCollection,
	// and writes nothing. The first write to the collection creates it, with read also the first view of it. If another request has created
	// one of its name or External by then, nothing is written: the error is a Planned, and from then on the id means that one.
	PlanCollection(ctx context.Context, s tenant.Scope, c NewCollection, read bool) (planned Collection, done func(), err error)
}

// Planned is the error of a write to a planned collection in whose place there is another one by now.
type Planned struct{ ID, Instead uuid.UUID }

func (p *Planned) Error() string { return p.Unwrap().Error() }

// Unwrap returns the fault that a caller reads where the write is not made again.
func (p *Planned) Unwrap() error {
	return fault.New(fault.Conflict, "another request has created the collection; send this one again")
}

// Again calls write, and once more if it wrote to a planned collection in whose place there is another one. The keys of the request,
// which name the collection by its id, become those of a request about that one; nil: none.
func Again[A any](write func() (A, error), keys ...*Idempotency) (A, error) {
	out, err := write()
	p, ok := errors.AsType[*Planned](err)
	if !ok {
		return out, err
	}
	for _, key := range keys {
		if key != nil {
			key.Path = strings.Replace(key.Path, p.ID.String(), p.Instead.String(), 1)
		}
	}
	return write()
}

// NewCollection asks for a collection.
type NewCollection struct {
	Collection
	Source      uuid.UUID // the collection that it is cloned from; stored with the idempotency key
	Idempotency *Idempotency
	Audit       AuditEntry
	CopyJob     *Job   // for mode copy: enqueued in the same transaction
	Seed        []Note // written as the first changeset, of a fork too; not for a copy. One without a vector gets a job that embeds it
	// Attach are blocks of shared collections that the new one shows; Collection is set. NotFound when one is
	// not visible, Exists when two of them, or one and a block of its own, have one label.
	Attach []Attachment
	Limits *StorageLimits // QuotaExceeded when the tenant would have more collections; nil: not checked
	First  *FirstWrite    // in the same transaction, after Seed: when it is refused, there is no collection; nil: none
}

// FirstWrite is a write to the collection that it creates, as of Writer. Options.Limits are those of the collection.
type FirstWrite struct {
	Options WriteOptions
	Do      func(ctx context.Context, tx Tx) error // may run more than once
}

// CollectionCreated is the answer of CreateCollection. Replay is set when the idempotency key was
// used before with the same body: then nothing was written.
type CollectionCreated struct {
	Collection Collection
	Job        *Job // the copy job, if there is one
	Replay     *Idempotency
	Written    Written // by First
}

// CollectionQuery pages through collections.
type CollectionQuery struct {
	Agent  *uuid.UUID // only this owner; a pointer to zero: only shared bases
	Order  CollectionOrder
	After  string // Order.Place of the last one
	Limit  int
	Parent uuid.UUID // only forks of this collection
	// Text lists only collections whose name, title and ids of an application have each of its words, folded, somewhere.
	Text string
	// Named lists only collections that have ids of an application (true), or none (false); nil: all.
	Named *bool
	// External lists only collections that have every id that is set in it.
	External External
	// Note lists only collections whose own layer has a version of this note, also a past one.
	Note uuid.UUID
}

// At is the revision to read; nil AsOf is the head at the time of the request.
type At struct {
	AsOf *Revision // above the head: Invalid "as_of"; below the floor: RevisionGone
}

// Reader reads through views.
type Reader interface {
	ViewReader
	NoteReader
	VectorReader
	LogReader
	UsageStore
	AttachmentStore
	ExpiryReader
}

// ViewReader opens views and reads what is not a note.
type ViewReader interface {
	// OpenView resolves ref as ResolveCollection does, and the lineage with its bounds, in one read
	// transaction.
	OpenView(ctx context.Context, s tenant.Scope, ref string, at At) (View, error)
	// LayerStates returns the states of these collections, also of expired ones. Left out are those that are gone or being
	// deleted, and those that the scope does not reach.
	LayerStates(ctx context.Context, s tenant.Scope, collections []uuid.UUID) (map[uuid.UUID]LayerState, error)
	// Links returns the visible links of the notes, ordered by source, relation, target.
	Links(ctx context.Context, s tenant.Scope, v View, q LinkQuery) ([]Link, error)
	// Counts returns the counts at the view's revision.
	Counts(ctx context.Context, s tenant.Scope, v View) (Counts, error)
}

// NoteReader reads notes.
type NoteReader interface {
	// Notes returns the visible notes of ids, in the order of ids; the others are left out.
	Notes(ctx context.Context, s tenant.Scope, v View, ids []uuid.UUID, o ReadOptions) ([]Note, error)
	// NoteByKey returns the visible note with that kind and key; NotFound.
	NoteByKey(ctx context.Context, s tenant.Scope, v View, kind Kind, key string) (Note, error)
	// Versions returns versions by their identity, in the order of keys, without vectors: also past ones
	// and those that a nearer layer hides. Left out are tombstones, versions of layers that the view does
	// not have, versions above their layer's bound, and deleted ones. The index of a search knows the
	// identities, and a version never changes, so a cache may answer.
	Versions(ctx context.Context, s tenant.Scope, v View, keys []Version) ([]Note, error)
	// ListNotes pages through the visible notes that match the filter, oldest id first unless Newest or
	// ByTime.
	ListNotes(ctx context.Context, s tenant.Scope, v View, q NoteQuery) ([]Note, error)
	// History returns the versions of a note that the view's lineage holds at or below its bounds, newest
	// first, tombstones included. NotFound when there are none.
	History(ctx context.Context, s tenant.Scope, v View, note uuid.UUID, before Revision, limit int) ([]HistoryEntry, error)
}

// VectorReader reads vectors.
type VectorReader interface {
	// Nearest ranks the visible notes by the cosine of their vectors in the collection's embedder, best
	// first, ties by id, by an exact scan. Notes without a vector, or with a vector of zeros, are left
	// out. It serves while no index is loaded, and as the oracle of the index.
	Nearest(ctx context.Context, s tenant.Scope, v View, q NearestQuery) ([]Nearest, error)
	// CountVectors counts the visible notes that have a vector of an embedder: those of dim dimensions,
	// and the others.
	CountVectors(ctx context.Context, s tenant.Scope, v View, embedder string, dim int) (n, other int64, err error)
}

// LogReader reads logs.
type LogReader interface {
	// Log streams the versions of layer i of the view that began or ended after a revision and at or
	// below the layer's own head, in the order of From, with the vectors of the embedder. It returns the
	// revision up to which it has read.
	Log(ctx context.Context, s tenant.Scope, v View, layer int, after Revision, embedder string, fn func(LogRow) error) (Revision, error)
	// LogBegun streams the versions of some kinds in the nearest layer that began after a revision and up to that of the view, as Log
	// does, without those that only ended.
	LogBegun(ctx context.Context, s tenant.Scope, v View, after Revision, kinds []Kind, embedder string, fn func(LogRow) error) error
	// Changesets lists those of the collection's own log after a revision.
	Changesets(ctx context.Context, s tenant.Scope, v View, after Revision, limit int) ([]Changeset, error)
	// Changes lists what the changesets of the lineage after a revision and up to that of the view did, in order: those of
	// the ancestors up to the fork point, then the own ones. Limit 0: all. A page is shorter than the limit when its
	// changesets are large, but not empty while there are more. A link that goes or comes with an end of it is not a change of
	// its own. RevisionGone when the revision is below the floor, Invalid "after" above the view's.
	Changes(ctx context.Context, s tenant.Scope, v View, after Revision, limit int) ([]Change, error)
	// CountChangesets counts those of the collection's own log of a cause, from one time on and before
	// another, by day (UTC, 2006-01-02).
	CountChangesets(ctx context.Context, s tenant.Scope, v View, cause Cause, from, to time.Time) (map[string]int64, error)
	// Touched returns what may differ between two views of one lineage. It reads only what their logs do not share.
	Touched(ctx context.Context, s tenant.Scope, a, b View) (Touched, error)
	// Merges lists the changesets that took their content from elsewhere, in all layers of the view, nearest layer first and
	// newest first within it. Those that were undone since are left out.
	Merges(ctx context.Context, s tenant.Scope, v View) ([]Changeset, error)
}

// UsageStore counts the use of notes.
type UsageStore interface {
	// Usage returns the use of visible notes through the lineage; notes without any are left out.
	Usage(ctx context.Context, s tenant.Scope, v View, ids []uuid.UUID) (map[uuid.UUID]Usage, error)
	// Hot lists the visible notes with the highest HotScore, then by id; notes that were never used are
	// left out. Limit 0: all.
	Hot(ctx context.Context, s tenant.Scope, v View, limit int) ([]HotNote, error)
	// AddUsage counts recalls in the view's own collection. The use that an ancestor counted is copied
	// up with the first change.
	AddUsage(ctx context.Context, s tenant.Scope, v View, deltas []UsageDelta) error
}

// ExpiryReader finds notes that have expired and that were not deleted yet. Other reads show them.
type ExpiryReader interface {
	// ExpiredNotes lists visible notes of the view with an ExpiresAt that is not after a time, the earliest first.
	ExpiredNotes(ctx context.Context, s tenant.Scope, v View, by time.Time, limit int) ([]uuid.UUID, error)
	// ExpiringCollections lists collections with a NextExpiry that is not after a time, ids only; it crosses tenants.
	ExpiringCollections(ctx context.Context, by time.Time, limit int) ([]Due, error)
}

// ReadOptions say what to read with notes.
type ReadOptions struct {
	Vector bool // fill Note.Vector, Note.Tokens and Note.Embedder from the collection's embedder
}

// NoteQuery pages through notes.
type NoteQuery struct {
	Filter filter.Expr // nil: all
	Kinds  []Kind      // empty: all
	States []State     // empty: all
	Keyed  bool        // only notes with a key; of kinds whose notes are few, they are read without looking at the others
	After  uuid.UUID   // exclusive; zero: from the start
	// Sources selects the notes that were derived from one of these notes; nil: all. It reads all notes of the kinds.
	Sources []uuid.UUID
	Digests []int64 // only notes with one of these (DigestOf); not with Keyed, States or another order; nil: all
	// ByTime orders by event time, then by id. After and AfterTime are the position to continue from.
	ByTime    bool
	AfterTime time.Time
	// ByRevision orders by the revision at which a note was last written, then by id. After and AfterRevision are the position to
	// continue from.
	ByRevision    bool
	AfterRevision Revision
	// Lacks selects the notes whose visible version has no vector of this embedder; "": all.
	Lacks  string
	Newest bool // newest id, or time, first
	Limit  int
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

// HotNote is a note with the score of its use now.
type HotNote struct {
	Note  uuid.UUID
	Usage Usage
	Score float64
}

// HotHalfLife is the time after which a use counts half.
const HotHalfLife = 24 * time.Hour

// HotScore returns the number of uses, halved for every HotHalfLife since the last use.
func HotScore(u Usage, now time.Time) float64 {
	return float64(u.AccessCount) * math.Exp2(-float64(max(0, now.Sub(u.LastAccess)))/float64(HotHalfLife))
}

// DefaultLinks is how many links one query returns when it has no limit.
const DefaultLinks = 10_000

// LinkQuery asks for links by endpoint.
type LinkQuery struct {
	Notes     []uuid.UUID
	Direction Direction
	Limit     int // 0: DefaultLinks
	// Hidden also returns links of which an end is not visible: the caller finds out, or does not need to know.
	Hidden bool
}

// Direction of links as seen from the notes of a query.
type Direction int

// The directions.
const (
	Outgoing Direction = 1 << iota
	Incoming
	Both = Outgoing | Incoming
)

// Writer writes changesets.
type Writer interface {
	// Write runs fn in one transaction that holds the collection's write lock. All puts, deletes and
	// links of one call become one changeset at one new revision, the head plus one; when fn logs
	// nothing, the head does not move. fn may run more than once and must touch nothing outside Tx. A
	// fault from fn rolls back and is returned as it is. Writing to a shared base, or to another agent's
	// collection, with a scope that does not reach it is NotFound.
	Write(ctx context.Context, s tenant.Scope, collection uuid.UUID, o WriteOptions, fn func(ctx context.Context, tx Tx) error) (Written, error)
	// EraseNotes removes versions of notes, with their vectors, links, use, jobs and reviews: from the collection's own layer and
	// from all forks below it, whose ever they are, and from what holds a copy of its log. Other jobs lose the result that names
	// one of the notes. The collection's log keeps its revisions, without what was in them. Conflict when a note of
	// Erasing.Notes is visible.
	EraseNotes(ctx context.Context, s tenant.Scope, collection uuid.UUID, e Erasing, audit AuditEntry) (Erased, error)
	// Traces returns what the files of the store keep of all that was erased.
	Traces(ctx context.Context) (Traces, error)
	// AddVectors stores further vectors of versions that the view's layers hold, of another embedder
	// than that of their collections; SetEmbedder switches a collection to them. It writes no changeset
	// and changes no version. Skipped are deleted versions, tombstones, and versions that have a vector of that
	// embedder. Conflict when the lineage has changed.
	AddVectors(ctx context.Context, s tenant.Scope, v View, embedder string, vectors []VersionVector) error
}

// VersionVector is what an embedder made of a version, as Note has it.
type VersionVector struct {
	Version
	Vector []float32
	Tokens []byte
}

// Erasing is what EraseNotes removes.
type Erasing struct {
	Notes []uuid.UUID // of which every version goes
	// Past are notes of which the current version stays, with those that forks show, and links without attributes. Of the collection's own
	// versions, forks show those of Kept, as they are there; the others go.
	Past []uuid.UUID
	Kept []Note
}

// Erased is what EraseNotes removed.
type Erased struct {
	Layers   []uuid.UUID // the collections whose logs lost a version, the one that was asked for first
	Versions int64
	Jobs     int64 // jobs that are gone, or lost their result
	Reviews  int64
}

// Traces is what files of a store keep of what was erased.
type Traces string

// The states.
const (
	TracesCleared      Traces = "cleared"       // nothing
	TracesPending      Traces = "pending"       // pieces, until the store vacuums the file, when it is quiet
	TracesVacuumNeeded Traces = "vacuum_needed" // pieces, until an operator vacuums the file
	TracesAutovacuum   Traces = "autovacuum"    // dead rows, until the database server vacuums them
)

// Sentence says what is left, for people; "": nothing, or what the database server clears.
func (t Traces) Sentence() string {
	switch t {
	case TracesPending:
		return "Gaps of the database's file may keep pieces until the gateway vacuums it, in some minutes."
	case TracesVacuumNeeded:
		return "Gaps of the database's file may keep pieces until an operator runs `gateway vacuum`."
	case TracesCleared, TracesAutovacuum:
	}
	return ""
}

// WriteOptions describe a changeset.
type WriteOptions struct {
	Cause   Cause
	Job     uuid.UUID
	Trigger uuid.UUID
	Undoes  Revision // Conflict when another changeset undoes it
	// MergedFrom is stored with the changeset.
	MergedFrom *MergedFrom
	// Reads are the views that the content was taken from, first that of the collection itself: NotFound when one's collection is
	// gone, and Conflict, of cause ErrMoved, when something was erased from it since. With MergedFrom also when the collection
	// has a later merge.
	Reads       []View
	Idempotency *Idempotency
	Audit       []AuditEntry   // written with it; the store sets Actor and At
	Long        bool           // it writes many rows: others do not wait for its commit in the same transaction
	System      bool           // jobs: may write while the collection is copying
	Limits      *StorageLimits // QuotaExceeded when the tenant would store more; nil: not checked
}

// StorageLimits are how much a tenant may store; 0 means no limit. The store checks it in the transaction that adds
// something, one such transaction of a tenant after the other.
type StorageLimits struct {
	Notes, Collections, Forks, StoredBytes int64
}

// Written is the outcome of a write.
type Written struct {
	Revision Revision // of the changeset, or the head when nothing was logged
	Logged   bool
	Told     bool         // a job was enqueued that tells webhooks of it
	Replay   *Idempotency // the key was used before with the same body; fn did not run
}

// Tx is what a writing closure may do. Reads see the head under the lock, with what the closure
// itself has written.
type Tx interface {
	TxState
	TxReader
	NoteWriter
	JobWriter
	ReviewWriter
	AnswerWriter
	AttachmentWriter
	// SetEmbedder binds the collection to another embedder from this changeset on; job is the one that
	// has added the vectors.
	SetEmbedder(ctx context.Context, name string, dim int, job uuid.UUID) error
	// CountEvolved adds one to the collection's EvolvedAdds and returns it.
	CountEvolved(ctx context.Context) (int64, error)
	// EndChangeset ends the changeset here, with a cause of its own. What follows in the transaction is the
	// next changeset, at the next revision. It does nothing when nothing was logged.
	EndChangeset(ctx context.Context, cause Cause, job, trigger uuid.UUID) error
}

// TxState describes the transaction.
type TxState interface {
	View() View         // at the head before this changeset
	Revision() Revision // of this changeset, if something is logged
	Now() time.Time     // of the transaction, in the zone of the collection, in microseconds; the same at every call
	// OthersWait reports whether another tenant waits for the transaction to end. A long one may then end before all
	// is done, and be continued by another one.
	OthersWait() bool
}

// TxReader reads within the transaction.
type TxReader interface {
	Notes(ctx context.Context, ids []uuid.UUID, o ReadOptions) ([]Note, error)
	NoteByKey(ctx context.Context, kind Kind, key string) (Note, error)
	ListNotes(ctx context.Context, q NoteQuery) ([]Note, error)
	// Duplicates returns, for each of the notes, the oldest visible one that IsDuplicate, or the zero Note. The
	// notes need not be stored; their OccurredAt must be set. Versions that a build older than the digests wrote
	// are not found.
	Duplicates(ctx context.Context, notes []Note) ([]Note, error)
	Links(ctx context.Context, q LinkQuery) ([]Link, error)
}

// NoteWriter writes notes and links.
type NoteWriter interface {
	// Foresee reads, in one go, the versions that the next Put or Delete of each of these notes replaces. It only saves
	// time.
	Foresee(ctx context.Context, ids []uuid.UUID) error
	// Fresh says that the caller has just made these ids, so that no note has them: their first Put looks for none.
	Fresh(ids ...uuid.UUID)
	// Put writes a version of a note into the collection's own layer (copy-up when it was inherited), and
	// returns the note as stored. ID zero makes a new UUIDv7; a given ID that is not visible makes a note
	// with that id. CreatedAt zero is Now for a new note, and kept for an old one. Vector and Tokens, when
	// set, are stored with it; else it has no vector, even if the previous version had one. A vector of
	// another embedder than the collection's, from a writer that began before the embedder was switched,
	// is left out, and a job that embeds the note is enqueued. NextExpiry of the collection is then at most
	// its ExpiresAt. Exists when another live note of that kind has the key, or when a block is attached to
	// the collection under the key of a new block.
	Put(ctx context.Context, n Note) (Note, error)
	// Delete writes a tombstone. NotFound when the note is not visible.
	Delete(ctx context.Context, note uuid.UUID) error
	// Link puts a link; one with equal confidence and attributes is not a change. NotFound when an endpoint
	// is not visible, Invalid for a link from a note to itself.
	Link(ctx context.Context, l Link) (changed bool, err error)
	// Unlink ends a link; ok is false when there is none.
	Unlink(ctx context.Context, id LinkID) (ok bool, err error)
	// SetUsage sets the use of a note; for imports only.
	SetUsage(ctx context.Context, note uuid.UUID, u Usage) error
}

// JobWriter enqueues and ends jobs of the collection.
type JobWriter interface {
	// Enqueue adds a job; ID zero makes one.
	Enqueue(ctx context.Context, j Job) (Job, error)
	// Unended lists the collection's jobs of a kind that wait or run, oldest first. It does not list those of notes and exchanges.
	Unended(ctx context.Context, kind JobKind) ([]Job, error)
	// HasTask reports whether a task of the collection's policy with this name and key is queued.
	HasTask(ctx context.Context, name, key string) (bool, error)
	// HoldJob returns Conflict unless a job is leased under this lease, and keeps it so until the
	// transaction ends.
	HoldJob(ctx context.Context, job, lease uuid.UUID) error
	// EndJob ends a leased job with this transaction; Conflict when the lease is not the current one.
	EndJob(ctx context.Context, job, lease uuid.UUID, end JobEnd) error
	// ClearJobs deletes the results of jobs that ended since the notes began and have one of these texts, as JSON writes them.
	ClearJobs(ctx context.Context, texts []string, since time.Time) error
}

// ReviewWriter opens and closes reviews of the collection.
type ReviewWriter interface {
	// Reviews lists reviews of the collection, also those that the transaction has opened.
	Reviews(ctx context.Context, q ReviewQuery) ([]Review, error)
	OpenReview(ctx context.Context, r Review) (Review, error)
	// UpdateReview closes a review: state, reason, actor, revision. An open one is approved or rejected;
	// one that was applied or approved is undone. Conflict when its state has changed since it was read.
	UpdateReview(ctx context.Context, r Review) error
}

// AnswerWriter stores answers under idempotency keys: ids, never bodies or secrets.
type AnswerWriter interface {
	// Answer sets what is stored under the key of WriteOptions.
	Answer(ids json.RawMessage)
	// Answered returns what is stored under a key, by this transaction too; a key that was used with
	// another body is IdempotencyReuse.
	Answered(ctx context.Context, k Idempotency) (Idempotency, bool, error)
	// Remember stores an answer under a key, for a transaction that answers more than one.
	Remember(ctx context.Context, k Idempotency) error
}

// JobEnd is the state in which a transaction leaves a leased job.
type JobEnd struct {
	State     JobState // done, failed, canceled; or queued with the next Stage
	Stage     Stage
	Payload   json.RawMessage // nil: unchanged
	Result    json.RawMessage
	Error     string
	NotBefore time.Time
	// Awaits is, for a job that is queued again, the job whose end makes it due, before NotBefore; zero: none. If that has
	// ended already, the job is due immediately.
	Awaits   uuid.UUID
	Attempts int
	Losses   int // kept only for a job that waits after a lost lease; 0 else
	Alone    int // like Losses
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
	JobClaims
	JobLeases
	JobControl
}

// JobClaims finds and leases jobs.
type JobClaims interface {
	// DueCollections lists collections with a job that can be claimed now, ids only; it crosses tenants.
	DueCollections(ctx context.Context, now time.Time, limit int) ([]Due, error)
	// NextDue returns the earliest NotBefore or lease end of the jobs that have not ended; zero: none.
	NextDue(ctx context.Context) (time.Time, error)
	// Backlog counts, for each stage, the jobs that wait and could be done at a time. It crosses tenants with
	// numbers and a time only.
	Backlog(ctx context.Context, now time.Time) ([]Backlog, error)
	// ClaimJobs leases due jobs of one collection. Stages prepare, task and upkeep: up to limit jobs, oldest
	// first. Stage decide: the oldest job, once it is due, and only when no other decide of the collection
	// is leased and no older job of it is queued or running in prepare without a failed try. A decide that
	// waits after a failed try or a lost lease is skipped; one that waits without any (a pause) keeps its
	// place. Each claim counts in Job.Claims until the job is given back.
	ClaimJobs(ctx context.Context, s tenant.Scope, collection uuid.UUID, stage Stage, lease uuid.UUID, until time.Time, limit int) ([]Job, error)
}

// JobLeases works on leased jobs.
type JobLeases interface {
	// Heartbeat prolongs a lease; Conflict when it was lost.
	Heartbeat(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, until time.Time) error
	// ReleaseJob returns a leased job to the queue (a failed try, a pause, a shutdown) or ends it without a
	// changeset; Conflict when the lease was lost.
	ReleaseJob(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, end JobEnd) error
	SetProgress(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, p Progress) error
	// SetAlone records in how many of its last tries, the current one included, a job was the only one of
	// its process; Conflict when the lease was lost.
	SetAlone(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, n int) error
	// VoidLeases frees every lease; only for the sole process of an embedded store, at start.
	VoidLeases(ctx context.Context) (int, error)
}

// JobControl reads, retries and cancels jobs.
type JobControl interface {
	Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (Job, error)
	// ListJobs lists jobs, newest first.
	ListJobs(ctx context.Context, s tenant.Scope, q JobQuery) ([]Job, error)
	// JobsAhead returns a job and, unless it has ended, how many jobs of the same collection in prepare or
	// decide have not ended and have a lower Seq.
	JobsAhead(ctx context.Context, s tenant.Scope, job uuid.UUID) (j Job, ahead int, err error)
	// Work counts what waits in the collection of a view, by an index.
	Work(ctx context.Context, s tenant.Scope, v View) (Work, error)
	// RetryJob puts a dead, failed or canceled job, or one that waits for its next try, at the end of the
	// queue; else Conflict.
	RetryJob(ctx context.Context, s tenant.Scope, id uuid.UUID, audit AuditEntry) (Job, error)
	// CancelJob cancels a queued or running job and voids its lease; else Conflict.
	CancelJob(ctx context.Context, s tenant.Scope, id uuid.UUID, audit AuditEntry) (Job, error)
}

// JobQuery pages through jobs.
type JobQuery struct {
	Collection uuid.UUID   // zero: all that the scope reaches
	State      JobState    // "": all; as Job.Shown
	Notes      []uuid.UUID // jobs of any of these; nil: of all
	Unended    bool        // only those that wait or run
	Before     uuid.UUID   // cursor: id of the last one
	Limit      int
}

// OnlyOpen reports whether the query lists no job that is done, and is not limited to few jobs otherwise.
func (q JobQuery) OnlyOpen() bool {
	return q.Notes == nil && (q.Unended || q.State != "" && q.State != JobDone)
}

// Spool keeps what an import has received and answered, in parts, so that any process can continue the
// job. Parts are not in the log and may be stored before their job: only the tenant decides who
// reaches them, so callers look the job up first. SweepParts deletes them, and so does the removal of
// the job's collection.
type Spool interface {
	// PutPart stores part n (from 0) of a job's spool; an existing one is replaced. At most MaxPart bytes.
	PutPart(ctx context.Context, s tenant.Scope, job uuid.UUID, spool SpoolName, n int, data []byte) error
	// Parts calls fn for each part in order; no connection is held while fn works.
	Parts(ctx context.Context, s tenant.Scope, job uuid.UUID, spool SpoolName, fn func(data []byte) error) error
	// DropParts deletes the parts from number n on and returns how many there were.
	DropParts(ctx context.Context, s tenant.Scope, job uuid.UUID, spool SpoolName, n int) (int, error)
	// SweepParts deletes the tenant's parts written before a time, except bodies of jobs that have not
	// ended.
	SweepParts(ctx context.Context, s tenant.Scope, before time.Time) error
	// StaleParts lists tenants with parts that SweepParts would delete, ids only; it crosses tenants.
	StaleParts(ctx context.Context, before time.Time, limit int) ([]uuid.UUID, error)
}

// SpoolName names one of the spools of a job.
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
	Proposals  bool // only those that ask for a decision: open, approved, rejected
	ByRisk     bool
	Offset     int
	Limit      int
}

// Ledger keeps idempotency answers, audit entries and the use of models.
type Ledger interface {
	AuditLog
	UsageLedger
	// Replayed returns the answer stored under a key; ok is false when the key is unknown or expired. A
	// key that was used with another body is IdempotencyReuse.
	Replayed(ctx context.Context, s tenant.Scope, k Idempotency) (Idempotency, bool, error)
}

// AuditLog keeps audit entries.
type AuditLog interface {
	Audit(ctx context.Context, s tenant.Scope, e AuditEntry) error
	// ListAudit lists entries, newest first.
	ListAudit(ctx context.Context, s tenant.Scope, q AuditQuery) ([]AuditEntry, error)
}

// UsageLedger counts what a tenant uses.
type UsageLedger interface {
	AddModelUse(ctx context.Context, s tenant.Scope, u []ModelUse) error
	ModelUse(ctx context.Context, s tenant.Scope, fromDay, toDay string) ([]ModelUse, error)
	// TenantUsage returns the totals over what the scope reaches.
	TenantUsage(ctx context.Context, s tenant.Scope) (TenantUsage, error)
}

// AuditQuery pages through audit entries.
type AuditQuery struct {
	Before int64 // cursor; 0: newest
	Action string
	Target string
	Limit  int
}

// TenantUsage is what a tenant stores.
type TenantUsage struct {
	Notes, Links, Collections, Forks, StoredBytes int64
	QueuedJobs                                    int64 // of notes and messages, that wait or run
}

// Store is everything the core asks for.
type Store interface {
	CollectionStore
	Reader
	Writer
	Queue
	Spool
	OwnToolStore
	WebhookStore
	ReviewStore
	SnapshotStore
	Ledger
}

// Clock tells the time; tests and simulations inject their own.
type Clock func() time.Time
