package memory

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

var errUnfinished = fault.New(fault.Internal, "being written")

// Match is an If-Match header value (RFC 9110 §13.1.1).
type Match string

// MaxBulkLines is how many lines a bulk may have.
const MaxBulkLines = 10_000

// ParseTime reads RFC 3339 with any offset, or YYYYMMDDHHmm in UTC, as UTC in
// microseconds. field names the input in the fault.
func ParseTime(field, s string) (time.Time, error) { return time.Time{}, errUnfinished }

// DecodeNewNote reads a note as the API takes it: unknown members are refused
// (Invalid, naming the member), wrong syntax is Malformed. key is read as the
// natural key when allowKey is set.
func DecodeNewNote(raw []byte, allowKey bool) (NewNote, error) { return NewNote{}, errUnfinished }

// DecodeNotePatch reads a merge patch of a note. Read-only and unknown members are Invalid.
func DecodeNotePatch(raw []byte) (NotePatch, error) { return NotePatch{}, errUnfinished }

// DecodeLinks reads {"links":[{target, relation, confidence}]}.
func DecodeLinks(raw []byte) ([]LinkInput, error) { return nil, errUnfinished }

// DecodeCollectionPatch reads a merge patch of a collection.
func DecodeCollectionPatch(raw []byte) (CollectionPatch, error) {
	return CollectionPatch{}, errUnfinished
}

// Add stores a note, with its vector when the collection's embedder is fast, and enqueues its job.
func (n *Notes) Add(ctx context.Context, s tenant.Scope, ref string, in NewNote, r Request) (NoteWritten, error) {
	return NoteWritten{}, errUnfinished
}

// AddMany stores up to 10,000 lines in changesets of at most 500, with a result per line in
// order. A bad line fails alone. A line whose key is there already with the same content
// answers that note; with other content it is Exists.
func (n *Notes) AddMany(ctx context.Context, s tenant.Scope, ref string, lines []BulkLine) ([]BulkResult, error) {
	return nil, errUnfinished
}

// Patch merges the named fields into a note.
func (n *Notes) Patch(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, p NotePatch, r Request) (NoteWritten, error) {
	return NoteWritten{}, errUnfinished
}

// Delete writes a tombstone.
func (n *Notes) Delete(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, r Request) (Revision, error) {
	return 0, errUnfinished
}

// Restore makes the version that began at the revision the current one. Analysis does not run.
func (n *Notes) Restore(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, to Revision, r Request) (NoteWritten, error) {
	return NoteWritten{}, errUnfinished
}

// Links lists the links of a note (notes:read).
func (n *Notes) Links(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, d Direction, at At) (LinkSet, error) {
	return LinkSet{}, errUnfinished
}

// PutLinks replaces the outgoing links of a note.
func (n *Notes) PutLinks(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, links []LinkInput, r Request) (LinkSet, error) {
	return LinkSet{}, errUnfinished
}

// DeleteLinks ends the links from a note to a target: those of one relation, or of all when
// relation is "". NotFound when there are none.
func (n *Notes) DeleteLinks(ctx context.Context, s tenant.Scope, ref string, id, target uuid.UUID, relation string, r Request) (Revision, error) {
	return 0, errUnfinished
}

// CollectionsStore is what Collections asks of a store.
type CollectionsStore interface {
	CollectionStore
	OpenView(ctx context.Context, s tenant.Scope, ref string, at At) (View, error)
	Counts(ctx context.Context, s tenant.Scope, v View) (Counts, error)
	Replayed(ctx context.Context, s tenant.Scope, k Idempotency) (Idempotency, bool, error)
}

// CollectionsDeps are the parts that Collections works with.
type CollectionsDeps struct {
	Store     CollectionsStore
	Agents    Agents
	Embedders Embedders
	Policies  Policies
	Clock     Clock  // default time.Now
	Quota     Quota  // nil: no quotas
	Wake      func() // called after a commit that enqueued jobs
}

// CollectionInput asks for a collection.
type CollectionInput struct {
	Name         string
	Agent        string // ref of the owner; "": the caller's agent, else shared
	Policy       string // "": amem
	PolicyConfig json.RawMessage
	Embedder     string // "": the default one
	Extend       bool   // open the collection when the name exists
	Ephemeral    bool
	TTLSeconds   *int64
	DisplayName  string
	Metadata     map[string]any
}

// CollectionPatch names what to change of a collection. Metadata and
// PolicyConfig merge (RFC 7396). Name and Policy are accepted when they are what they are.
type CollectionPatch struct {
	Name         Opt[string]
	Policy       Opt[string]
	DisplayName  Opt[string]
	PolicyConfig Opt[map[string]any]
	Metadata     Opt[map[string]any]
	TTLSeconds   Opt[int64] // from now; null: for ever
}

// CollectionView is a collection as it is shown.
type CollectionView struct {
	Collection Collection
	Counts     *Counts // nil: not known
	Lineage    []Layer // nearest first, the collection itself included; only from Get
	View       View    // at the head; only from Get
	Opened     bool    // extend found it
	Replayed   bool
}

// CollectionList asks for a page of collections.
type CollectionList struct {
	Agent string // ref of an agent; "": all within reach
	Name  string // only this name
	After string // Next of the page before
	Limit int    // default 50, at most 200
}

// Collections are the use-cases over collections.
type Collections struct{}

// NewCollections makes the service.
func NewCollections(deps CollectionsDeps) (*Collections, error) { return nil, errUnfinished }

// Create makes a collection, or with Extend opens the one of that name
// (collections:write, base:write for a shared one).
func (c *Collections) Create(ctx context.Context, s tenant.Scope, in CollectionInput, r Request) (CollectionView, error) {
	return CollectionView{}, errUnfinished
}

// Get reads a collection with counts and lineage (notes:read).
func (c *Collections) Get(ctx context.Context, s tenant.Scope, ref string) (CollectionView, error) {
	return CollectionView{}, errUnfinished
}

// List pages through the collections within reach, by name; next is "" at the end (notes:read).
func (c *Collections) List(ctx context.Context, s tenant.Scope, q CollectionList) (page []CollectionView, next string, err error) {
	return nil, "", errUnfinished
}

// Patch changes settings.
func (c *Collections) Patch(ctx context.Context, s tenant.Scope, ref string, p CollectionPatch) (CollectionView, error) {
	return CollectionView{}, errUnfinished
}

// Delete makes the collection 404 from now on; a job removes its rows. HasForks unless materialise.
func (c *Collections) Delete(ctx context.Context, s tenant.Scope, ref string, materialise bool) error {
	return errUnfinished
}

// ImportLine is one line of an import.
type ImportLine struct {
	Line int // counted from 1
	Raw  []byte
}

// ImportResult is the outcome of one line.
type ImportResult struct {
	Line     int
	ID       uuid.UUID
	Revision Revision
	Created  bool
	Warnings []string // what could not be kept, such as a link to nowhere
	Err      error
}

// Importer brings in notes as they were elsewhere.
type Importer struct{}

// Importer makes an importer into a collection (collections:write and notes:write). It is for
// one stream of lines and one goroutine.
func (n *Notes) Importer(ctx context.Context, s tenant.Scope, ref string, job uuid.UUID) (*Importer, error) {
	return nil, errUnfinished
}

// Lines imports a batch of at most 500 lines. Importing a line again changes nothing.
func (im *Importer) Lines(ctx context.Context, lines []ImportLine) ([]ImportResult, error) {
	return nil, errUnfinished
}

// Finish puts the links that waited for notes further down; its results name lines whose
// links point nowhere.
func (im *Importer) Finish(ctx context.Context) ([]ImportResult, error) { return nil, errUnfinished }
