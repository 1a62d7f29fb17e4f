package notes

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// CollectionsStore is what Collections requires of a store.
type CollectionsStore interface {
	memory.CollectionStore
	OpenView(ctx context.Context, s tenant.Scope, ref string, at memory.At) (memory.View, error)
	Counts(ctx context.Context, s tenant.Scope, v memory.View) (memory.Counts, error)
	Notes(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID, o memory.ReadOptions) ([]memory.Note, error)
	memory.AnswerStore
	Traces(ctx context.Context) (memory.Traces, error)
}

// CollectionsDeps are the dependencies of Collections.
type CollectionsDeps struct {
	Store     CollectionsStore
	Plans     memory.Planner // of Store; nil: Plan is an error
	Agents    memory.Agents
	Embedders memory.Embedders
	Policies  memory.PolicySet
	Clock     memory.Clock // nil: time.Now
	Quota     memory.Quota // nil: no quotas
	// EphemeralTTL is the lifetime of ephemeral collections, and of their clones, that set none; 0
	// is unlimited: the process that runs the store removes them.
	EphemeralTTL time.Duration
}

// CollectionInput describes a collection to create.
type CollectionInput struct {
	Name         string
	Agent        string // reference of the owner; "": the caller's agent, or else a shared base
	Policy       string // "": memory.PolicyAMEM
	PolicyConfig json.RawMessage
	Embedder     string // "": the default embedder
	Extend       bool   // return the existing collection of this name, if any
	Ephemeral    bool
	TTLSeconds   *int64
	DisplayName  string
	External     memory.External // Exists when another collection of the tenant has these ids
	Metadata     map[string]any
	// Blocks are stand-alone blocks that the new collection shows, for editing (base:write). A block that the
	// policy would begin with is left out when one of these has its label.
	Blocks []uuid.UUID
	// Folders are references of folders whose files the agents of the new collection read (notes:write).
	Folders []string
}

// CollectionPatch is a merge patch of a collection (RFC 7396). PolicyConfig and Metadata are merged
// by the same rule. Name and Policy cannot be changed; they are accepted if they equal the
// collection's.
type CollectionPatch struct {
	Name         *string
	Policy       *string
	DisplayName  nullable.Nullable[string]
	PolicyConfig nullable.Nullable[map[string]any]
	Metadata     nullable.Nullable[map[string]any]
	TTLSeconds   nullable.Nullable[int64] // from now; null: no expiry
}

// CollectionView is a collection as clients see it.
type CollectionView struct {
	Collection memory.Collection
	Counts     *memory.Counts // nil: not known
	Lineage    []memory.Layer // nearest first, the collection itself included
	View       memory.View    // at the head
	Opened     bool           // Extend found it
	Replayed   bool
}

// CollectionList selects a page of collections.
type CollectionList struct {
	Agent string // reference of an agent; "": all that the scope reaches
	Name  string // only this name
	// Parent lists only the forks of this collection, which is an id or a name; in no other order than that of names.
	Parent string
	// External lists only collections that have every id that is set in it.
	External memory.External
	Text     string // only those that have its words in their names, titles and ids
	Named    *bool  // only those with ids of an application, or without
	Order    memory.CollectionOrder
	After    string // cursor that the previous page returned
	Limit    int    // default 50, at most 200
}

// Collections is the use-cases over collections. Every method checks permissions first.
type Collections struct {
	store     CollectionsStore
	plans     memory.Planner
	agents    memory.Agents
	embedders memory.Embedders
	policies  memory.PolicySet
	clock     memory.Clock
	quota     memory.Quota
	ephemeral time.Duration
}

// NewCollections returns the use-cases over a store.
func NewCollections(deps CollectionsDeps) (*Collections, error) {
	if deps.Store == nil || deps.Agents == nil || deps.Embedders == nil || deps.Policies == nil {
		return nil, fault.New(fault.Internal, "collections: store, agents, embedders and policies are required")
	}
	c := &Collections{
		store: deps.Store, plans: deps.Plans, agents: deps.Agents, embedders: deps.Embedders, policies: deps.Policies,
		clock: deps.Clock, quota: deps.Quota, ephemeral: deps.EphemeralTTL,
	}
	if c.clock == nil {
		c.clock = time.Now
	}
	return c, nil
}

// Create makes a collection, or with Extend returns the one of that name (collections:write).
// Exists when the name is taken. Conflict when Extend names another policy or embedder than the
// collection has.
func (c *Collections) Create(ctx context.Context, s tenant.Scope, in CollectionInput, r memory.Request) (CollectionView, error) {
	if err := tenant.Check(s, tenant.CollectionsWrite); err != nil {
		return CollectionView{}, err
	}
	return memory.Once(ctx, c.store, s, memory.OnceKey{Key: r.Idempotency}, func() (CollectionView, *memory.Idempotency, error) {
		return c.create(ctx, s, &in, r.Idempotency)
	}, func(ids memory.AnswerIDs, _ *memory.Job) (CollectionView, error) {
		v, err := c.show(ctx, s, ids.Made.String())
		v.Replayed = true
		return v, err
	})
}

func (c *Collections) create(ctx context.Context, s tenant.Scope, in *CollectionInput, key *memory.Idempotency) (CollectionView, *memory.Idempotency, error) {
	row, err := c.check(in)
	if err != nil {
		return CollectionView{}, nil, err
	}
	owner, err := memory.FindOwner(ctx, s, c.agents, in.Agent)
	if err != nil {
		return CollectionView{}, nil, err
	}
	row.Agent = owner.ID
	if in.Extend {
		found, ok, err := c.findOwned(ctx, s, row.Agent, row.Name)
		if err != nil {
			return CollectionView{}, nil, err
		}
		if ok {
			v, err := c.openExisting(ctx, s, in, found)
			return v, nil, err
		}
	}
	ask, err := c.new(ctx, s, in, &row, key)
	if err != nil {
		return CollectionView{}, nil, err
	}
	made, err := c.store.CreateCollection(ctx, s, ask)
	if in.Extend && fault.Is(err, fault.Exists) {
		// A concurrent request made it; Extend returns that one.
		if found, ok, err := c.findOwned(ctx, s, row.Agent, row.Name); err == nil && ok {
			v, err := c.openExisting(ctx, s, in, found)
			return v, nil, err
		}
	}
	if err != nil {
		return CollectionView{}, nil, err
	}
	if made.Replay != nil {
		return CollectionView{}, made.Replay, nil
	}
	v, err := c.show(ctx, s, made.Collection.ID.String())
	return v, nil, err
}

// new returns what creates a collection, of the row that check returned and an owner.
func (c *Collections) new(ctx context.Context, s tenant.Scope, in *CollectionInput, row *memory.Collection, key *memory.Idempotency) (made memory.NewCollection, err error) {
	if c.quota != nil {
		if err := c.quota.CheckCollections(ctx, s, false); err != nil {
			return made, err
		}
	}
	shown, err := c.attach(ctx, s, in.Blocks)
	if err != nil {
		return made, err
	}
	folders, err := c.folders(ctx, s, in.Folders)
	if err != nil {
		return made, err
	}
	first, err := c.seed(ctx, s, row, shown)
	return memory.NewCollection{
		Collection: *row, Idempotency: key, Seed: first, Attach: append(shown, folders...),
		Audit: memory.AuditEntry{Action: "collection.create", Detail: map[string]any{"name": row.Name}},
	}, err
}

// attach returns the attachments of a new collection. NotFound "blocks" when one of them is not a stand-alone block.
func (c *Collections) attach(ctx context.Context, s tenant.Scope, blocks []uuid.UUID) ([]memory.Attachment, error) {
	if len(blocks) == 0 {
		return nil, nil
	}
	if err := tenant.Check(s, tenant.BaseWrite); err != nil {
		return nil, err
	}
	home, ok, err := findHome(ctx, c.store, s)
	if err != nil {
		return nil, err
	}
	var found []memory.Note
	if ok {
		v, err := c.store.OpenView(ctx, s, home.ID.String(), memory.At{})
		if err != nil {
			return nil, err
		}
		if found, err = c.store.Notes(ctx, s, v, blocks, memory.ReadOptions{}); err != nil {
			return nil, err
		}
	}
	labels := map[uuid.UUID]string{}
	for i := range found {
		if found[i].Kind == memory.KindBlock {
			labels[found[i].ID] = block.Label(&found[i])
		}
	}
	out := make([]memory.Attachment, 0, len(blocks))
	for _, id := range blocks {
		label, ok := labels[id]
		if !ok {
			return nil, fault.Missing("block")
		}
		out = append(out, memory.Attachment{Block: id, Home: home.ID, Label: label, Mode: memory.AttachRW})
	}
	return out, nil
}

// folders returns the attachments of folders to a new collection. NotFound for what is not a folder that the scope reaches.
func (c *Collections) folders(ctx context.Context, s tenant.Scope, refs []string) ([]memory.Attachment, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	if err := tenant.Check(s, tenant.NotesWrite); err != nil {
		return nil, err
	}
	out := make([]memory.Attachment, 0, len(refs))
	for _, ref := range refs {
		f, err := c.store.ResolveCollection(ctx, s, ref)
		if fault.Is(err, fault.NotFound) || err == nil && !f.IsFolder() {
			err = fault.Missing("folder")
		}
		if err != nil {
			return nil, err
		}
		out = append(out, memory.Attachment{Home: f.ID, Mode: memory.AttachFolder})
	}
	return out, nil
}

// seed returns the notes that a collection of the policy begins with, with their vectors if the embedder
// is fast, without blocks whose label an attached one has. Jobs make the vectors that are missing.
func (c *Collections) seed(ctx context.Context, s tenant.Scope, row *memory.Collection, shown []memory.Attachment) ([]memory.Note, error) {
	p, _ := c.policies.ByName(row.Policy)
	policy, ok := p.(memory.Seeder)
	if !ok {
		return nil, nil
	}
	first := slices.DeleteFunc(policy.Seed(row.PolicyConfig), func(n memory.Note) bool {
		return n.Kind == memory.KindBlock && slices.ContainsFunc(shown, func(a memory.Attachment) bool { return a.Label == n.Key })
	})
	var bytes int64
	texts := make([]string, len(first))
	for i := range first {
		var err error
		if first[i].ID, err = uuid.NewV7(); err != nil {
			return nil, fault.Wrap(err, fault.Internal, "an id could not be generated")
		}
		first[i].Provenance.Actor = s.Actor()
		bytes += first[i].Size()
		texts[i] = memory.EmbedText(&first[i])
	}
	if c.quota != nil {
		if err := c.quota.CheckNotes(ctx, s, int64(len(first)), bytes); err != nil {
			return nil, err
		}
	}
	e, ok := c.embedders.ByName(row.Embedder)
	if !ok || !e.Fast() {
		return first, nil
	}
	made, err := memory.EmbedAll(ctx, e, s, texts)
	if err != nil {
		return first, ctx.Err()
	}
	for i := range made {
		first[i].Embed(made[i], row.Embedder)
	}
	return first, nil
}

// check validates the input and returns the row to insert, without its owner.
func (c *Collections) check(in *CollectionInput) (memory.Collection, error) {
	row := memory.Collection{
		Name: in.Name, DisplayName: in.DisplayName, Policy: in.Policy, PolicyConfig: in.PolicyConfig,
		Embedder: in.Embedder, Metadata: in.Metadata, Ephemeral: in.Ephemeral, External: in.External,
	}
	if err := memory.CheckCollectionName("name", in.Name); err != nil {
		return row, err
	}
	if err := tenant.CheckDisplayName("display_name", in.DisplayName); err != nil {
		return row, err
	}
	if err := in.External.Check("external."); err != nil {
		return row, err
	}
	var r memory.Validation
	if in.Metadata != nil {
		r.Object("metadata", in.Metadata)
	}
	var life time.Duration
	if in.Ephemeral {
		life = c.ephemeral
	}
	expires, err := memory.Expiry(in.TTLSeconds, life, c.clock())
	if err != nil {
		return row, err
	}
	row.ExpiresAt = expires
	if row.Policy == "" {
		row.Policy = memory.PolicyAMEM
	}
	policy, ok := c.policies.ByName(row.Policy)
	if !ok {
		r.Addf("policy", "unknown policy %q; valid policies are %s", row.Policy, strings.Join(c.policies.Names(), ", "))
	}
	embedder := c.embedders.Default()
	if row.Embedder != "" {
		if embedder, ok = c.embedders.ByName(row.Embedder); !ok {
			r.Addf("embedder", "unknown embedder %q; valid embedders are %s", row.Embedder, strings.Join(c.embedders.Names(), ", "))
		}
	}
	if err := r.Err(); err != nil {
		return row, err
	}
	row.Embedder, row.Dim = embedder.Name(), embedder.Dim()
	if row.PolicyConfig, err = memory.CheckConfig(policy, row.PolicyConfig); err != nil {
		return row, err
	}
	return row, nil
}

// findOwned finds the collection with exactly this owner and name.
func (c *Collections) findOwned(ctx context.Context, s tenant.Scope, owner uuid.UUID, name string) (memory.Collection, bool, error) {
	page, err := c.store.ListCollections(ctx, s, memory.CollectionQuery{Agent: &owner, After: nameCursor(name), Limit: 1})
	if err != nil || len(page) == 0 || page[0].Name != name {
		return memory.Collection{}, false, err
	}
	return page[0], true, nil
}

// nameCursor returns the cursor just before all collections of a name.
func nameCursor(name string) string { return name + "\x00" + uuid.Nil.String() }

// openExisting returns an existing collection with its recorded settings.
func (c *Collections) openExisting(ctx context.Context, s tenant.Scope, in *CollectionInput, found memory.Collection) (CollectionView, error) {
	var r memory.Validation
	if in.Embedder != "" && in.Embedder != found.Embedder {
		r.Addf("embedder", "the collection uses %q; vectors of different embedders are never mixed", found.Embedder)
	}
	if !in.External.IsZero() && in.External != found.External {
		r.Addf("external", "the collection has other ids, which do not change")
	}
	if in.Policy != "" && in.Policy != found.Policy {
		r.Addf("policy", "the collection has the policy %q", found.Policy)
	}
	if len(r.Fields) > 0 {
		return CollectionView{}, &fault.Error{Code: fault.Conflict, Message: "the collection exists with other settings", Fields: r.Fields}
	}
	v, err := c.show(ctx, s, found.ID.String())
	v.Opened = true
	return v, err
}

// show reads a collection with its counts.
func (c *Collections) show(ctx context.Context, s tenant.Scope, ref string) (CollectionView, error) {
	v, err := c.store.OpenView(ctx, s, ref, memory.At{})
	if err != nil {
		return CollectionView{}, err
	}
	counts, err := c.store.Counts(ctx, s, v)
	if err != nil {
		return CollectionView{}, err
	}
	return CollectionView{Collection: v.Collection, Counts: &counts, Lineage: v.Layers, View: v}, nil
}

// Get reads a collection with its counts and lineage (notes:read).
func (c *Collections) Get(ctx context.Context, s tenant.Scope, ref string) (CollectionView, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return CollectionView{}, err
	}
	return c.show(ctx, s, ref)
}

// List returns a page of the collections that the scope reaches (notes:read). next is ""
// after the last page. A collection that is deleted meanwhile is left out.
func (c *Collections) List(ctx context.Context, s tenant.Scope, q CollectionList) (page []CollectionView, next string, err error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, "", err
	}
	if q.Limit == 0 {
		q.Limit = memory.DefaultPage
	}
	ask, err := c.query(ctx, s, &q)
	if err != nil {
		return nil, "", err
	}
	rows, err := c.store.ListCollections(ctx, s, ask)
	if err != nil {
		return nil, "", err
	}
	if q.Name != "" {
		if end := slices.IndexFunc(rows, func(c memory.Collection) bool { return c.Name != q.Name }); end >= 0 {
			rows = rows[:end]
		}
	}
	if len(rows) > q.Limit {
		rows = rows[:q.Limit]
		next = q.Order.Place(&rows[len(rows)-1])
	}
	now := c.clock()
	for i := range rows {
		r := &rows[i]
		if expires := r.NextExpiry; r.Counts != nil && (expires.IsZero() || expires.After(now)) {
			page = append(page, CollectionView{Collection: *r, Counts: r.Counts})
			continue
		}
		v, err := c.show(ctx, s, r.ID.String())
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		page = append(page, v)
	}
	return page, next, nil
}

// query checks what a list asks for, and returns what the store is asked for: one row more than a page.
func (c *Collections) query(ctx context.Context, s tenant.Scope, q *CollectionList) (ask memory.CollectionQuery, err error) {
	if q.Limit < 1 || q.Limit > memory.MaxPage {
		return ask, fault.InvalidField("limit", "must be between 1 and %d", memory.MaxPage)
	}
	if q.Name != "" && q.Order != "" {
		return ask, fault.InvalidField("order", "cannot be combined with name")
	}
	if q.Parent != "" && q.Order != "" {
		return ask, fault.InvalidField("order", "cannot be combined with parent")
	}

	ask = memory.CollectionQuery{After: q.After, Limit: q.Limit + 1, External: q.External, Text: q.Text, Named: q.Named, Order: q.Order}
	if q.Agent != "" {
		a, err := c.agents.AgentByRef(ctx, s, q.Agent)
		if err != nil {
			return ask, err
		}
		ask.Agent = &a.ID
	}
	if q.Parent != "" {
		base, err := c.store.ResolveCollection(ctx, s, q.Parent)
		if err != nil {
			return ask, err
		}
		ask.Parent = base.ID
	}
	if q.Name != "" && q.After == "" {
		ask.After = nameCursor(q.Name)
	}
	return ask, nil
}

// ByExternal returns the collection that has exactly these ids of an application; NotFound.
func (c *Collections) ByExternal(ctx context.Context, s tenant.Scope, e memory.External) (memory.Collection, error) {
	return c.store.CollectionByExternal(ctx, s, e)
}

// Having lists the collections that the scope reaches and that have all of these ids of an application, by name
// (notes:read): at most one more than a [memory.Union] has. NotFound when there is none.
func (c *Collections) Having(ctx context.Context, s tenant.Scope, e memory.External) ([]memory.Collection, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, err
	}
	found, err := c.store.ListCollections(ctx, s, memory.CollectionQuery{External: e, Limit: memory.MaxUnion + 1})
	if err == nil && len(found) == 0 {
		err = fault.Missing("collection")
	}
	return found, err
}

// HavingNote lists the collections that the scope reaches and that were written a note, by name: also those where
// it is deleted by now, and not the forks that only read it. NotFound when there is none.
func (c *Collections) HavingNote(ctx context.Context, s tenant.Scope, note uuid.UUID) ([]memory.Collection, error) {
	if note == uuid.Nil {
		return nil, fault.Missing("note")
	}
	found, err := c.store.ListCollections(ctx, s, memory.CollectionQuery{Note: note, Limit: memory.MaxPage})
	if err == nil && len(found) == 0 {
		err = fault.Missing("note")
	}
	return found, err
}

// Home is what a collection is called by: its name, or the ids of an application.
type Home struct {
	Name     string // or its id
	External memory.External
}

// Plan returns a collection. When there is none, one with the policy is planned (collections:write): it has an id and is empty, and what
// is written to it before done is called creates it, with read also a view of it. A request that is refused creates none. The policy of
// one that exists is not changed. Exists when a collection that the scope does not reach has the ids.
func (c *Collections) Plan(ctx context.Context, s tenant.Scope, h Home, policy string, read bool) (found memory.Collection, done func(), err error) {
	done = func() {}
	if err := tenant.Check(s, tenant.CollectionsWrite); err != nil {
		return found, done, err
	}
	if _, notID := uuid.Parse(h.Name); h.External.IsZero() && notID == nil {
		found, err = c.store.ResolveCollection(ctx, s, h.Name) // an id names what exists
		return found, done, err
	}
	in := CollectionInput{Name: h.Name, Policy: policy, External: h.External}
	if !h.External.IsZero() {
		id, err := uuid.NewV7()
		if err != nil {
			return found, done, fault.Wrap(err, fault.Internal, "an id could not be generated")
		}
		in.Name = "external-" + id.String()
	}
	row, err := c.check(&in)
	if err != nil {
		return found, done, err
	}
	if h.External.IsZero() {
		found, err = c.store.ResolveCollection(ctx, s, h.Name)
	} else {
		found, err = c.store.CollectionByExternal(ctx, s, h.External)
	}
	if !fault.Is(err, fault.NotFound) {
		return found, done, err
	}
	row.Agent = s.Agent()
	made, err := c.new(ctx, s, &in, &row, nil)
	if err != nil {
		return found, done, err
	}
	if c.plans == nil {
		return found, done, fault.New(fault.Internal, "collections: there is nothing that plans them")
	}
	return c.plans.PlanCollection(ctx, s, made, read)
}
