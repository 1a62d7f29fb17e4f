package store

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
)

// CollectionRow is a collection with what its rows hold besides.
type CollectionRow struct {
	memory.Collection
	Tenant     uuid.UUID
	Reads      memory.Ancestor // whose layer comes after its own; Parent may be one that it has flattened
	Flattened  []memory.Ancestor
	Origin     memory.Revision // the changesets of its own log begin after it
	Counted    bool            // Visible is right at Head
	Visible    memory.Counts
	EraseEpoch int64
}

// CollectionColumns returns the columns of collections c, their heads h and their agents a that [CollectionRow.Dest] reads. zero is the
// zero id in SQL.
func CollectionColumns(zero string) string {
	return `c.tenant, c.id, c.agent, COALESCE(a.name, ''), c.name, c.display_name, c.policy, c.policy_config, c.embedder, c.dim, c.reembedded, c.metadata, c.ephemeral, c.state,
 CASE WHEN c.fork_of = ` + zero + ` THEN c.parent ELSE c.fork_of END, CASE WHEN c.fork_of = ` + zero + ` THEN c.parent_revision ELSE c.fork_revision END,
 c.expires_at, c.created_at, c.external_user, c.external_agent, c.external_app, c.external_run,
 h.head, h.floor, h.evolved_adds, h.origin, h.erase_epoch, h.next_expiry, c.parent, c.parent_revision, c.lineage, h.written_at`
}

// Dest returns the destinations of CollectionColumns.
func (r *CollectionRow) Dest() []any {
	return []any{
		&r.Tenant, &r.ID, &r.Agent, &r.AgentName, &r.Name, &r.DisplayName, &r.Policy, JSON(&r.PolicyConfig), &r.Embedder, &r.Dim, &r.Reembedded, ObjectColumn(&r.Metadata),
		&r.Ephemeral, &r.State, &r.Parent, &r.ParentRevision, Time(&r.ExpiresAt), Time(&r.CreatedAt), &r.External.User, &r.External.Agent, &r.External.App, &r.External.Run,
		&r.Head, &r.Floor, &r.EvolvedAdds, &r.Origin, &r.EraseEpoch, Time(&r.NextExpiry), &r.Reads.Collection, &r.Reads.Bound, JSON(&r.Flattened), Time(&r.UpdatedAt),
	}
}

// ScanCollection reads CollectionColumns.
func ScanCollection(row Scanner) (r CollectionRow, err error) {
	err = row.Scan(r.Dest()...)
	return r, err
}

// CountColumns are what lists read of a head h besides.
const CountColumns = "h.counted, h.v_notes, h.v_links, h.v_pending, h.v_in_review, h.v_bytes, h.v_kinds"

// ScanCounted reads CollectionColumns and CountColumns.
func ScanCounted(row Scanner) (r CollectionRow, err error) {
	c := &r.Visible
	err = row.Scan(append(r.Dest(), &r.Counted, &c.Notes, &c.Links, &c.Pending, &c.InReview, &c.Bytes, JSON(&c.Kinds))...)
	return r, err
}

// Head is the narrow row of a collection that every write changes.
type Head struct {
	Revision      memory.Revision
	Counted       bool // Counts are right at Revision
	memory.Counts      // what is visible at Revision
	Stored        Stored
	NextExpiry    time.Time // of memory.Collection
	Written       time.Time // UpdatedAt of memory.Collection
	Told          bool      // there are webhooks that are told of its changes; read with the others, and not written
}

// Stored counts the rows of a collection's own layer: open notes and links, those links of which the collection has deleted an end,
// and the bytes of all versions.
type Stored struct{ Notes, Links, Hidden, Bytes int64 }

// CollectionRows are the rows of collections and of their heads.
type CollectionRows interface {
	// Collection returns a collection in any state.
	Collection(ctx context.Context, tenantID, id uuid.UUID) (r CollectionRow, ok bool, err error)
	// CollectionsByRef lists up to two visible collections that the scope reaches and that have the
	// reference as their id or name, the scope's own agent's first.
	CollectionsByRef(ctx context.Context, s tenant.Scope, ref string, now time.Time) ([]CollectionRow, error)
	// CollectionsByName lists collections of an owner that have the name and are not being deleted.
	CollectionsByName(ctx context.Context, tenantID, agent uuid.UUID, name string) ([]CollectionRow, error)
	// CollectionsByExternal lists the collections of a tenant with exactly these ids of an application that are not
	// being deleted: at most one.
	CollectionsByExternal(ctx context.Context, tenantID uuid.UUID, e memory.External) ([]CollectionRow, error)
	// ListCollections lists the visible collections that the scope reaches, in the order of the query, after the place
	// of a collection; nil: from the start. Where the words of a collection are not known, it is listed with any q.Text.
	ListCollections(ctx context.Context, s tenant.Scope, q memory.CollectionQuery, after *memory.Collection, now time.Time) ([]CollectionRow, error)
	// Layers returns the lineage of a collection read at a revision: the collection bounded by it,
	// every ancestor by the least of it and of the fork points on the way.
	Layers(ctx context.Context, r CollectionRow, at memory.Revision) ([]memory.Layer, error)
	CollectionHeads
	CollectionWrites
	CollectionRemoval
	NoteErasure
}

// CollectionHeads are the heads of collections, and what they count.
type CollectionHeads interface {
	// Head returns NotFound when there is no such collection.
	Head(ctx context.Context, tenantID, collection uuid.UUID) (Head, error)
	// SaveHead writes a head that was read in the same transaction.
	SaveHead(ctx context.Context, tenantID, collection uuid.UUID, h Head) error
	// CountVisible counts what layers show. A note waits when its state says so or when it has no
	// vector yet.
	CountVisible(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer) (memory.Counts, error)
	CountStored(ctx context.Context, tenantID, layer uuid.UUID) (Stored, error)
	// HasUnfinished reports whether a note that layers show is raw or pending.
	HasUnfinished(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer) (bool, error)
}

// CollectionWrites add and change collections.
type CollectionWrites interface {
	// InsertCollection inserts a collection with its head. Exists when the name or the External is taken.
	InsertCollection(ctx context.Context, tenantID uuid.UUID, c memory.Collection, h Head) error
}

// CollectionRemoval deletes collections.
type CollectionRemoval interface {
	// Forks lists the collections that read c through their lineage and are not being deleted: its
	// children. An expired one counts only while a child of its own still reads through it.
	Forks(ctx context.Context, c CollectionRow, now time.Time) ([]CollectionRow, error)
	// Holders lists the collections that hold what they read of c before they were flattened, and are not being deleted.
	Holders(ctx context.Context, c CollectionRow) ([]CollectionRow, error)
	// Flatten makes a fork independent of the nearest layers of its lineage, those before layers[keep]: what they ever showed it
	// is copied into its own layer, at the revisions where it was visible, and the changesets with it. What is
	// read at any revision stays the same. The layers are those at its head, which is locked.
	Flatten(ctx context.Context, r CollectionRow, layers []memory.Layer, keep int) error
	// MarkCollectionDeleted marks a collection as deleting and cancels its jobs.
	MarkCollectionDeleted(ctx context.Context, r CollectionRow, now time.Time) error
	// DeleteCollectionRows deletes up to limit rows of a collection, and the collection after its last
	// row; then gone is true. The job that removes the collection is kept, and the use of
	// models is kept as the tenant's.
	DeleteCollectionRows(ctx context.Context, r CollectionRow, limit int) (gone bool, err error)
}

// NoteErasure removes notes from one layer.
type NoteErasure interface {
	// EraseVersions deletes all versions of notes, of which only tombstones in StateErased are left, and the ended ones of
	// the notes in past that are not kept, with their vectors; of notes also their links and use, of past the ended links with
	// attributes. It returns how many versions were deleted, and what the layer holds less.
	EraseVersions(ctx context.Context, tenantID, layer uuid.UUID, notes, past []uuid.UUID, kept []memory.Version) (versions int64, less Stored, err error)
	// EraseJobs deletes the jobs of notes, and clears what other jobs of the collection that ended since hold about them: moves of others
	// stay, those of past too.
	EraseJobs(ctx context.Context, tenantID, collection uuid.UUID, notes, past []uuid.UUID, since time.Time) (int64, error)
	// ClearJobs deletes the results of jobs of the collection that ended since and have one of these texts, but for their moves.
	ClearJobs(ctx context.Context, tenantID, collection uuid.UUID, texts []string, since time.Time) error
	// EraseReviews deletes the reviews that are about notes.
	EraseReviews(ctx context.Context, tenantID, collection uuid.UUID, notes []uuid.UUID) (int64, error)
	// EraseProposals deletes the reviews of merges from one of the collections that are about notes, in whichever collection.
	EraseProposals(ctx context.Context, tenantID uuid.UUID, from, notes []uuid.UUID) (int64, error)
	// RaiseEpoch makes what was read of a layer before unusable: indexes, files, caches.
	RaiseEpoch(ctx context.Context, tenantID, layer uuid.UUID) error
}

// visible reports whether callers that reach a collection can see it: it is neither being removed
// nor expired.
func visible(c *memory.Collection, now time.Time) bool {
	return c.State != memory.CollectionDeleting && (c.ExpiresAt.IsZero() || c.ExpiresAt.After(now))
}

// PickCollection returns the collection that a reference means out of those found: that of the scope's own
// agent first.
func PickCollection[R any](s tenant.Scope, ref string, found []R) (r R, err error) {
	switch {
	case len(found) == 0:
		return r, fault.Missing("collection")
	case len(found) > 1 && !s.HasAgent():
		return r, fault.New(fault.Ambiguous, "several collections have the name %q; use an id", ref)
	}
	return found[0], nil
}

// CheckRevision returns an error for a revision that cannot be read: Invalid with the field when it
// was never written, RevisionGone when it is no longer kept.
func CheckRevision(field string, c *memory.Collection, r memory.Revision) error {
	switch {
	case r > c.Head || r < 0:
		return fault.InvalidField(field, "revision %d is not in the log, which ends at %d", r, c.Head)
	case r < c.Floor:
		return fault.New(fault.RevisionGone, "revision %d is no longer kept; the oldest is %d", r, c.Floor)
	}
	return nil
}

// Reach finds a collection that the scope reaches, in any state; NotFound.
func Reach(ctx context.Context, q CollectionRows, s tenant.Scope, id uuid.UUID) (CollectionRow, error) {
	r, ok, err := q.Collection(ctx, s.Tenant(), id)
	if err == nil && (!ok || !r.ReachedBy(s)) {
		err = fault.Missing("collection")
	}
	if err != nil {
		return CollectionRow{}, err
	}
	return r, nil
}

// ReachVisible finds a collection that the scope reaches and that is neither being deleted nor
// expired; NotFound.
func ReachVisible(ctx context.Context, q CollectionRows, s tenant.Scope, id uuid.UUID, now time.Time) (CollectionRow, error) {
	r, err := Reach(ctx, q, s, id)
	if err == nil && !visible(&r.Collection, now) {
		err = fault.Missing("collection")
	}
	if err != nil {
		return CollectionRow{}, err
	}
	return r, nil
}

// ResolveCollection implements memory.CollectionStore.
func (b *Base) ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) (c memory.Collection, err error) {
		found, err := q.CollectionsByRef(ctx, s, ref, b.now())
		if err != nil {
			return c, err
		}
		r, err := PickCollection(s, ref, found)
		return r.Collection, err
	})
}

// CollectionByExternal implements memory.CollectionStore.
func (b *Base) CollectionByExternal(ctx context.Context, s tenant.Scope, e memory.External) (memory.Collection, error) {
	return read(ctx, b, s, func(ctx context.Context, q Session) (c memory.Collection, err error) {
		if e.IsZero() || !e.IsValid() {
			return c, fault.Missing("collection") // no collection has such ids
		}
		found, err := q.CollectionsByExternal(ctx, s.Tenant(), e)
		if err != nil {
			return c, err
		}
		if len(found) == 0 || !found[0].ReachedBy(s) || !visible(&found[0].Collection, b.now()) {
			return c, fault.Missing("collection")
		}
		return found[0].Collection, nil
	})
}

// ListCollections implements memory.CollectionStore.
func (b *Base) ListCollections(ctx context.Context, s tenant.Scope, cq memory.CollectionQuery) ([]memory.Collection, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if cq.Agent != nil && !s.Reaches(*cq.Agent) {
		return nil, fault.Missing("agent")
	}
	if !cq.External.IsValid() || Text("", cq.Text) != nil {
		return nil, nil //nolint:nilerr // no collection has such ids, or such words
	}
	var after *memory.Collection
	if cq.After != "" {
		place, err := cq.Order.ParsePlace(cq.After)
		if err != nil || Text("", place.Name) != nil {
			return nil, fault.InvalidField("cursor", "is not one of this list")
		}
		after = &place
	}
	return readTenant(ctx, b, s.Tenant(), func(ctx context.Context, q Session) ([]memory.Collection, error) {
		if cq.Parent != uuid.Nil {
			if _, err := Reach(ctx, q, s, cq.Parent); err != nil {
				return nil, err
			}
		}
		return listCollections(ctx, q, s, cq, after, b.now())
	})
}

func listCollections(ctx context.Context, q CollectionRows, s tenant.Scope, cq memory.CollectionQuery, after *memory.Collection, now time.Time) ([]memory.Collection, error) {
	words := SearchedWords(cq.Text)
	out := []memory.Collection{}
	for {
		rows, err := q.ListCollections(ctx, s, cq, after, now)
		if err != nil {
			return nil, err
		}
		for i := range rows {
			c := &rows[i].Collection
			if rows[i].Counted {
				c.Counts = &rows[i].Visible
			}
			after = c
			if !hasWords(c, words) {
				continue
			}
			if out = append(out, *c); cq.Limit > 0 && len(out) == cq.Limit {
				return out, nil
			}
		}
		if cq.Limit <= 0 || len(rows) < cq.Limit {
			return out, nil
		}
	}
}

// WordsOf is what a collection is searched by: its name, its title and its ids of an application, folded.
func WordsOf(c *memory.Collection) string {
	e := c.External
	return text.Fold(strings.Join([]string{c.Name, c.DisplayName, e.User, e.Agent, e.App, e.Run}, "\n"))
}

// SearchedWords are the words that a collection must have for a text.
func SearchedWords(asked string) []string { return strings.Fields(text.Fold(asked)) }

func hasWords(c *memory.Collection, words []string) bool {
	if len(words) == 0 {
		return true
	}
	all := WordsOf(c)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all, w) })
}

// equalConfig reports whether two settings of a policy are equal; no settings are an empty object.
func equalConfig(a, b json.RawMessage) bool {
	plain := func(raw json.RawMessage) string {
		var b bytes.Buffer
		if len(raw) == 0 || string(raw) == "null" || json.Compact(&b, raw) != nil || b.Len() == 0 {
			return "{}"
		}
		return b.String()
	}
	return plain(a) == plain(b)
}

// updateCollection writes DisplayName, the words, PolicyConfig, Metadata, ExpiresAt, State and EvolvedAdds.
func updateCollection(ctx context.Context, q Conn, tenantID uuid.UUID, c *memory.Collection) error {
	metadata, err := Object("metadata", c.Metadata)
	if err != nil {
		return err
	}
	err = q.Later(ctx, "UPDATE collections SET display_name = $3, policy_config = $4, metadata = $5, expires_at = $6, state = $7, words = $8 WHERE tenant = $1 AND id = $2",
		tenantID, c.ID, c.DisplayName, c.PolicyConfig, json.RawMessage(metadata), c.ExpiresAt, string(c.State), WordsOf(c))
	if err != nil {
		return err
	}
	return q.Later(ctx, "UPDATE collection_heads SET evolved_adds = $3 WHERE tenant = $1 AND collection = $2", tenantID, c.ID, c.EvolvedAdds)
}

// UpdateCollection implements memory.CollectionStore.
func (b *Base) UpdateCollection(ctx context.Context, s tenant.Scope, id uuid.UUID, audit memory.AuditEntry, fn func(*memory.Collection) error) (c memory.Collection, err error) {
	err = b.write(ctx, s, func(ctx context.Context, q Session) error {
		now := b.now()
		q.LockHead(s.Tenant(), id)
		r, err := ReachVisible(ctx, q, s, id, now)
		if err != nil {
			return err
		}
		n := r.Collection
		if err := fn(&n); err != nil {
			return err
		}
		n.ID = id
		if n.State == memory.CollectionDeleting {
			return fault.New(fault.Conflict, "a collection is deleted by deleting it")
		}
		if err := Text("display_name", n.DisplayName); err != nil {
			return err
		}
		if !equalConfig(r.PolicyConfig, n.PolicyConfig) {
			if err := q.Later(ctx, "UPDATE collection_heads SET head = head + 1 WHERE tenant = $1 AND collection = $2", s.Tenant(), id); err != nil {
				return err
			}
			err := insertChangeset(ctx, q, s.Tenant(), &memory.Changeset{Collection: id, Revision: r.Head + 1, At: now, Actor: s.Actor(), Cause: memory.CauseConfig})
			if err != nil {
				return err
			}
		}
		if err := updateCollection(ctx, q, s.Tenant(), &n); err != nil {
			return err
		}
		if err := writeAudit(ctx, q, s, now, audit); err != nil {
			return err
		}
		r, _, err = q.Collection(ctx, s.Tenant(), id)
		c = r.Collection
		return err
	})
	return c, err
}

// Counts implements memory.Reader. At the head they are stored; at another revision, or in a fork
// of the past, they are counted now.
func (b *Base) Counts(ctx context.Context, s tenant.Scope, v memory.View) (memory.Counts, error) {
	return readView(ctx, b, s, &v, func(ctx context.Context, q Session) (memory.Counts, error) {
		h, err := q.Head(ctx, s.Tenant(), v.Collection.ID)
		c := h.Counts
		if err == nil && (!h.Counted || h.Revision != v.At) {
			c, err = q.CountVisible(ctx, s.Tenant(), v.Layers)
		}
		if c.Kinds == nil {
			c.Kinds = map[memory.Kind]int64{}
		}
		return c, err
	})
}

// ScanLayerState reads the columns id, erase_epoch, embedder and reembedded of a collection into a map.
func ScanLayerState(row Scanner, to map[uuid.UUID]memory.LayerState) error {
	var id uuid.UUID
	var l memory.LayerState
	err := row.Scan(&id, &l.EraseEpoch, &l.Embedder, &l.Reembedded)
	to[id] = l
	return err
}

// PlaceOf returns the columns of an order, their values for a place in it, and whether the order descends. Names are sorted by the
// expression of the column name. The id is zero for the place just before a name.
func PlaceOf(o memory.CollectionOrder, name string, c *memory.Collection) (columns []string, values []any, descending bool) {
	if c == nil {
		c = &memory.Collection{}
	}
	switch o {
	case memory.NewestCollections, memory.OldestCollections:
		return []string{"c.id"}, []any{c.ID}, o == memory.NewestCollections
	case memory.UpdatedCollections:
		return []string{"h.written_at", "h.collection"}, []any{c.UpdatedAt, c.ID}, true
	case memory.CollectionsByUser:
		e := c.External
		return []string{"c.external_user", "c.external_agent", "c.external_app", "c.external_run"}, []any{e.User, e.Agent, e.App, e.Run}, false
	default:
		return []string{name, "c.id"}, []any{c.Name, c.ID}, false
	}
}
