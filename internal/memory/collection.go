package memory

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// CollectionState is the life of a collection.
type CollectionState string

// The states. Copying: a job copies rows into it; it can be read, but callers cannot write to it.
// Deleting: NotFound for everyone while a job removes its rows; its name is free.
const (
	CollectionActive   CollectionState = "active"
	CollectionCopying  CollectionState = "copying"
	CollectionDeleting CollectionState = "deleting"
)

// Collection is a log of notes, or a fork of one.
type Collection struct {
	ID           uuid.UUID
	Agent        uuid.UUID // zero: a shared base of the tenant
	AgentName    string    // filled on reads; "" for a shared base
	Name         string
	DisplayName  string
	External     External // what an application calls it by; a fork or copy has its own, or none
	Policy       string   // "amem", "none", …
	PolicyConfig json.RawMessage
	Embedder     string // name of the embedder it is bound to
	Dim          int    // its dimensions
	// Reembedded is the last job that recomputed the vectors; zero when they were written with their notes. An index of
	// a shared layer that was built for another collection may lack the vectors that the job added.
	Reembedded uuid.UUID
	Metadata   map[string]any
	Ephemeral  bool
	State      CollectionState

	Parent         uuid.UUID // zero: none
	ParentRevision Revision  // the fork point
	Head           Revision  // the last changeset's revision; starts at ParentRevision
	Floor          Revision  // reads below it are RevisionGone
	EvolvedAdds    int64     // adds whose evolution changed something; drives consolidation

	ExpiresAt time.Time // zero: never
	CreatedAt time.Time
	// NextExpiry is when the first of its notes expires, or earlier; zero: none does. From then on a view of the head is opened
	// only after notes were retired.
	NextExpiry time.Time
	// UpdatedAt is when it was last written, up to a minute earlier.
	UpdatedAt time.Time
	// Counts are what is visible at Head. Lists fill them where they are known without counting.
	Counts *Counts
}

// CollectionOrder is the order of a list of collections; "": by name, then by id.
type CollectionOrder string

// The orders of collections.
const (
	NewestCollections  CollectionOrder = "newest"  // by creation
	OldestCollections  CollectionOrder = "oldest"  // by creation
	UpdatedCollections CollectionOrder = "updated" // the last written first
	CollectionsByUser  CollectionOrder = "user"    // those with ids of an application, by these
)

// placeSeparator is in no name and no id.
const placeSeparator = "\x00"

// Place returns where a list in this order continues after a collection.
func (o CollectionOrder) Place(c *Collection) string {
	id := c.ID.String()
	switch o {
	case NewestCollections, OldestCollections:
		return id
	case UpdatedCollections:
		return strconv.FormatInt(c.UpdatedAt.UnixMicro(), 10) + placeSeparator + id
	case CollectionsByUser:
		e := c.External
		return strings.Join([]string{e.User, e.Agent, e.App, e.Run, id}, placeSeparator)
	default:
		return c.Name + placeSeparator + id
	}
}

// ParsePlace returns what Place of a collection has of it; Invalid for a place of another list.
func (o CollectionOrder) ParsePlace(text string) (c Collection, err error) {
	parts := strings.Split(text, placeSeparator)
	if len(parts) != strings.Count(o.Place(&Collection{}), placeSeparator)+1 {
		return c, fault.InvalidField("cursor", "is not one of this list")
	}
	last := len(parts) - 1
	if c.ID, err = uuid.Parse(parts[last]); err != nil {
		return c, fault.InvalidField("cursor", "is not one of this list")
	}
	switch o {
	case UpdatedCollections:
		micros, err := strconv.ParseInt(parts[0], 10, 64)
		if err != nil {
			return c, fault.InvalidField("cursor", "is not one of this list")
		}
		c.UpdatedAt = time.UnixMicro(micros).UTC()
	case CollectionsByUser:
		c.External = External{User: parts[0], Agent: parts[1], App: parts[2], Run: parts[3]}
	case NewestCollections, OldestCollections: // the id alone
	default:
		c.Name = parts[0]
	}
	return c, nil
}

// Shared reports whether the collection is a shared base.
func (c *Collection) Shared() bool { return c.Agent == uuid.Nil }

// MetaFolder in the metadata of a collection makes it a folder of files.
const MetaFolder = "slipbox.folder"

// IsFolder reports whether the collection is a folder of files.
func (c *Collection) IsFolder() bool { return c.Metadata[MetaFolder] == true }

// ReachedBy reports whether a scope reaches the collection.
func (c *Collection) ReachedBy(s tenant.Scope) bool {
	return s.Reaches(c.Agent) && External(s.Limit()).Covers(c.External)
}

// Counts of what is visible at the head.
type Counts struct {
	Notes, Links, Pending, InReview int64
	Kinds                           map[Kind]int64
	Bytes                           int64
}

// Layer is one log of a lineage, read up to and including Bound.
type Layer struct {
	Collection uuid.UUID
	Bound      Revision
	EraseEpoch int64
	Flattened  []Ancestor // whose logs it holds itself, nearest first; it does not read them
}

// LayerState is what a copy of a collection's own log is checked against, such as an index, a file or a cache.
type LayerState struct {
	EraseEpoch int64
	Embedder   string
	Reembedded uuid.UUID
}

// Equal reports whether two layers show the same.
func (l Layer) Equal(o Layer) bool {
	return l.Collection == o.Collection && l.Bound == o.Bound && l.EraseEpoch == o.EraseEpoch
}

// Ancestor is a collection of a lineage, with the revision up to which its log is part of it.
type Ancestor struct {
	Collection uuid.UUID `json:"collection"`
	Bound      Revision  `json:"bound"`
}

// View is a collection read at a revision: ownership was checked, lineage and
// bounds are resolved. It is opened once per request and bound to the scope
// that opened it.
type View struct {
	Collection Collection
	At         Revision // the revision read
	Layers     []Layer  // nearest first; the first is the collection itself
	Of         []View   // of a union: the collections that it reads; nil: one

	tenant, reader uuid.UUID
	from           []layerOf // of a union: where its layers are from
}

// NewView is called by store engines when they open a view.
func NewView(s tenant.Scope, c Collection, at Revision, layers []Layer) View {
	return View{Collection: c, At: at, Layers: layers, tenant: s.Tenant(), reader: s.Reader()}
}

// Check returns an error for a scope that the view was not opened with. Engines call it first in
// every method that takes a view.
func (v *View) Check(s tenant.Scope) error {
	if err := s.Check(); err != nil {
		return err
	}
	if v.tenant != s.Tenant() || v.reader != s.Reader() {
		return fault.Missing("collection")
	}
	return nil
}

// Changeset is the row of a revision; it is never deleted.
type Changeset struct {
	Collection uuid.UUID
	Revision   Revision
	At         time.Time
	Actor      string
	Job        uuid.UUID // zero: no job
	Trigger    uuid.UUID // the note whose write caused it; zero: none
	Cause      Cause
	Undoes     Revision // the revision that it undoes; 0: none
	// MergedFrom is where its content was taken from; nil: it was written here. Only Merges reads it.
	MergedFrom *MergedFrom
}

// Cause is the reason for a changeset.
type Cause string

// The causes.
const (
	CauseAdd         Cause = "add"
	CausePatch       Cause = "patch"
	CauseDelete      Cause = "delete"
	CauseRestore     Cause = "restore"
	CauseLink        Cause = "link"
	CauseAnalyze     Cause = "analyze" // prepare: description and vector of one note
	CauseEvolve      Cause = "evolve"  // decide: links and changes to others
	CauseReview      Cause = "review"  // an approved proposal
	CauseUndo        Cause = "undo"
	CauseConsolidate Cause = "consolidate"
	CauseImport      Cause = "import"
	CauseMark        Cause = "mark"      // state only: pending, in_review
	CauseExtract     Cause = "extract"   // facts and triples of an exchange
	CauseSummarize   Cause = "summarize" // a summary or profile was rewritten
	CauseForget      Cause = "forget"    // memories below the retention threshold; restorable until purged
	CauseConfig      Cause = "config"    // the collection's policy_config; the audit row has both values
	CauseRefresh     Cause = "refresh"   // what is written again by a model is marked as stale
	CauseReembed     Cause = "reembed"   // a new embedder, or missing vectors
	CauseAdopt       Cause = "adopt"     // what a fork's base decided about an inherited note
	CauseMerge       Cause = "merge"     // what another collection of the lineage has
	CauseRollback    Cause = "rollback"  // what the collection had at an earlier revision
)

// HistoryEntry is one version of a note with the changeset that made it.
type HistoryEntry struct {
	Note      Note // Note.Deleted: a tombstone
	Changeset Changeset
}

// LogRow is a version as the index reads it: content, vector and end.
type LogRow struct {
	Note Note     // with Vector when it has one in the asked embedder
	To   Revision // 0: open
}

// Bounds of a page.
const (
	DefaultPage = 50
	MaxPage     = 200
)

// Expiry returns when a time to live ends; zero means never. life is the default
// when ttlSeconds is nil; 0 means none.
func Expiry(ttlSeconds *int64, life time.Duration, now time.Time) (time.Time, error) {
	if ttlSeconds == nil {
		if life == 0 {
			return time.Time{}, nil
		}
		return Instant(now.Add(life)), nil
	}
	if *ttlSeconds < 1 || *ttlSeconds > MaxTTLSeconds {
		return time.Time{}, fault.InvalidField("ttl_seconds", "must be between 1 and %d", int64(MaxTTLSeconds))
	}
	return Instant(now.Add(time.Duration(*ttlSeconds) * time.Second)), nil
}

// FindOwner returns the owner of a new collection: the agent named by ref (which
// is created on first use), else the scope's agent, else the zero Agent (a
// shared base). NotFound when the scope does not reach the agent.
func FindOwner(ctx context.Context, s tenant.Scope, agents Agents, ref string) (tenant.Agent, error) {
	if ref == "" {
		return tenant.Agent{ID: s.Agent()}, nil
	}
	var a tenant.Agent
	var err error
	if _, perr := uuid.Parse(ref); perr == nil {
		a, err = agents.AgentByRef(ctx, s, ref)
	} else {
		if err := tenant.CheckName("agent", ref); err != nil {
			return tenant.Agent{}, err
		}
		a, err = agents.EnsureAgent(ctx, s, ref)
	}
	if err != nil {
		return tenant.Agent{}, err
	}
	if s.HasAgent() && a.ID != s.Agent() {
		return tenant.Agent{}, fault.Missing("agent")
	}
	return a, nil
}
