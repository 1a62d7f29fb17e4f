package layered

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// writer collects the changes of one decision.
type writer struct {
	p *Policy
	d memory.Desk
	c *Config

	puts    map[uuid.UUID]*memory.Note // notes as the decision leaves them
	order   []uuid.UUID                // of the puts
	working []memory.Note              // items of the working layer, oldest first, before the decision
	loaded  bool                       // working is read
	// episodes are those of before the decision by their folded texts, if all of them were read.
	episodes map[string]*memory.Note
	facts    *facts
	deletes  []uuid.UUID
	links    []memory.Link
	unlinks  []memory.LinkID
	follow   []memory.Follow
	learned  []memory.Learned
	out      Outcome
}

func (p *Policy) newWriter(d memory.Desk, c *Config) *writer {
	w := &writer{p: p, d: d, c: c, puts: map[uuid.UUID]*memory.Note{}}
	w.facts = &facts{w: w, entities: map[string]*memory.Note{}, edges: map[memory.LinkID]*edge{}, read: map[uuid.UUID]bool{}}
	w.out = Outcome{Policy: p.Name(), Decision: policy.DecisionKeep, Stored: []Stored{}, Skipped: []Skipped{}, Conflicts: []Conflict{}}
	return w
}

// Outcome is a decision in a job's result and in the answer of remember. It has no content but that of conflicts.
type Outcome struct {
	Policy    string         `json:"policy"`
	Decision  string         `json:"decision"` // "keep", "remember", "consolidate", "retract"
	Stored    []Stored       `json:"stored,omitempty"`
	Skipped   []Skipped      `json:"skipped,omitempty"`
	Conflicts []Conflict     `json:"conflicts,omitempty"`
	Ends      []Ended        `json:"ends,omitempty"`
	Turn      int64          `json:"turn,omitempty"`
	Analyst   memory.Analyst `json:"analyst,omitempty"` // who took the triples
	Dropped   int            `json:"dropped,omitempty"` // parts of answers that could not be used
	Counts    *Counts        `json:"counts,omitempty"`  // of a consolidation
	Ended     int            `json:"ended,omitempty"`   // triples that lost their last source
	Damaged   []Damaged      `json:"damaged,omitempty"` // items that were left as they are
}

// Stored says that a layer holds an item.
type Stored struct {
	Layer      string    `json:"layer"`
	Note       uuid.UUID `json:"note"`
	Importance float64   `json:"importance"`
	Triple     *Triple   `json:"triple,omitempty"` // of the semantic layer, with its confidence now
}

// Skipped says why a layer did not store an item.
type Skipped struct {
	Layer  string     `json:"layer"`
	Reason string     `json:"reason"`
	Note   *uuid.UUID `json:"note,omitempty"` // that is there already
}

// Conflict is a contradiction that was found: the confidence of the older triple is lower now.
type Conflict struct {
	Subject  string   `json:"subject"`
	Relation string   `json:"relation"`
	Old      Position `json:"old"`
	New      Position `json:"new"`
}

// Ended is a triple of which an item says that it no longer holds.
type Ended struct {
	Note     uuid.UUID `json:"note"`
	Subject  string    `json:"subject"`
	Relation string    `json:"relation"`
	Object   string    `json:"object"`
}

// Position is one side of a conflict.
type Position struct {
	Note       uuid.UUID `json:"note"`
	Object     string    `json:"object"`
	Confidence float64   `json:"confidence"`
}

// Damaged is an item that could not be handled.
type Damaged struct {
	Note   uuid.UUID `json:"note"`
	Reason string    `json:"reason"`
}

func (w *writer) stored(layer string, n *memory.Note) {
	w.out.Stored = append(w.out.Stored, Stored{Layer: layer, Note: n.ID, Importance: n.Importance})
}

func (w *writer) skippedf(layer, format string, args ...any) {
	w.out.Skipped = append(w.out.Skipped, Skipped{Layer: layer, Reason: fmt.Sprintf(format, args...)})
}

// put returns the version of a note that the decision writes, for the caller to change.
func (w *writer) put(n *memory.Note) *memory.Note {
	if have, ok := w.puts[n.ID]; ok {
		return have
	}
	next := *n
	next.OwnAttributes()
	w.puts[n.ID] = &next
	w.order = append(w.order, n.ID)
	return &next
}

// current returns a note as the decision leaves it so far.
func (w *writer) current(n *memory.Note) *memory.Note {
	if have, ok := w.puts[n.ID]; ok {
		return have
	}
	return n
}

// decision returns the decision.
func (w *writer) decision(cause memory.Cause) (memory.Decision, error) {
	w.facts.write()
	dec := memory.Decision{Deletes: w.deletes, Links: w.links, Unlinks: w.unlinks, Follow: w.follow, Cause: cause, Learned: w.learned}
	for _, id := range w.order {
		if n := w.puts[id]; !slices.Contains(w.deletes, id) {
			dec.Puts = append(dec.Puts, *n)
		}
	}
	for i := range w.out.Stored {
		dec.Named = append(dec.Named, w.out.Stored[i].Note)
	}
	raw, err := json.Marshal(w.out)
	if err != nil {
		return memory.Decision{}, fmt.Errorf("encode the outcome: %w", err)
	}
	dec.Outcome = raw
	return dec, nil
}

// list reads all notes of a layer, oldest first. more is how they are read.
func (w *writer) list(ctx context.Context, layer string, more memory.ReadOptions) ([]memory.Note, error) {
	out, err := memory.All(policy.NotePages(ctx, w.d, memory.NoteQuery{Kinds: itemKinds(), Filter: filter.AttributeIs(AttrLayer, layer), ReadOptions: more}))
	if err != nil {
		return nil, fmt.Errorf("list the %s layer: %w", layer, err)
	}
	slices.SortStableFunc(out, func(a, b memory.Note) int { return a.OccurredAt.Compare(b.OccurredAt) })
	return out, nil
}

// loadWorking reads the working layer, once.
func (w *writer) loadWorking(ctx context.Context) (err error) {
	if !w.loaded {
		w.loaded = true
		w.working, err = w.list(ctx, Working, memory.ReadOptions{})
	}
	return err
}

// items returns the items that are in a layer after the decision, oldest first: those of before, and new ones.
func (w *writer) items(layer string, before []memory.Note) []*memory.Note {
	var out []*memory.Note
	seen := map[uuid.UUID]bool{}
	add := func(n *memory.Note) {
		if !seen[n.ID] && layerOf(n) == layer && !slices.Contains(w.deletes, n.ID) {
			seen[n.ID] = true
			out = append(out, n)
		}
	}
	for i := range before {
		add(w.current(&before[i]))
	}
	for _, id := range w.order {
		add(w.puts[id])
	}
	slices.SortStableFunc(out, func(a, b *memory.Note) int {
		return cmp.Or(a.OccurredAt.Compare(b.OccurredAt), memory.CompareIDs(a.ID, b.ID))
	})
	return out
}

// leave takes items out of their layer; they stay in the log. A copy is deleted instead, since its origin is there; it can
// be restored.
func (w *writer) leave(ctx context.Context, items []*memory.Note) error {
	var copies []uuid.UUID
	for _, n := range items {
		if textOf(n, AttrOrigin) == "" {
			w.put(n).Attributes[AttrLayer] = layerLog
			continue
		}
		w.deletes, copies = append(w.deletes, n.ID), append(copies, n.ID)
	}
	holders, err := w.holders(ctx, copies...)
	for _, n := range holders {
		delete(n.Attributes, AttrCopy)
		n.Attributes[AttrConsolidated] = true // or the next consolidation would copy it again
	}
	return err
}

// holders returns the items that name episodes as theirs, as the decision writes them.
func (w *writer) holders(ctx context.Context, episodes ...uuid.UUID) ([]*memory.Note, error) {
	if len(episodes) == 0 {
		return nil, nil
	}
	names := make([]string, len(episodes))
	for i, id := range episodes {
		names[i] = id.String()
	}
	q := memory.NoteQuery{Kinds: itemKinds(), Filter: filter.AttributeIs(AttrCopy, names...)}
	for n, err := range policy.EachNote(ctx, w.d, q) {
		if err != nil {
			return nil, fmt.Errorf("list the items of episodes: %w", err)
		}
		w.put(n)
	}
	var out []*memory.Note
	for _, id := range w.order {
		if n := w.puts[id]; slices.Contains(names, textOf(n, AttrCopy)) {
			out = append(out, n)
		}
	}
	return out, nil
}

// prune makes room in the working layer, and returns the items that left.
func (w *writer) prune(ctx context.Context) ([]uuid.UUID, error) {
	if err := w.loadWorking(ctx); err != nil {
		return nil, err
	}
	items := w.items(Working, w.working)
	over := len(items) - w.c.WorkingCapacity
	if over <= 0 {
		return nil, nil
	}
	if w.c.WorkingStrategy == strategyPrune {
		use, err := w.usage(ctx, items)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(items, func(a, b *memory.Note) int { // the older of two leaves first
			return cmp.Compare(workingKeep(a.Importance, use[a.ID].AccessCount), workingKeep(b.Importance, use[b.ID].AccessCount))
		})
	}
	left := make([]uuid.UUID, over)
	for i, n := range items[:over] {
		left[i] = n.ID
	}
	return left, w.leave(ctx, items[:over])
}

func (w *writer) usage(ctx context.Context, items []*memory.Note) (map[uuid.UUID]memory.Usage, error) {
	out := make(map[uuid.UUID]memory.Usage, len(items))
	ids := make([]uuid.UUID, len(items))
	for i, n := range items {
		ids[i] = n.ID
	}
	for page := range slices.Chunk(ids, policy.PageSize) {
		use, err := w.d.Usage(ctx, page)
		if err != nil {
			return nil, fmt.Errorf("read the use of items: %w", err)
		}
		maps.Copy(out, use)
	}
	return out, nil
}

// countTurn numbers a turn by its first item. At every n-th a consolidation follows.
func (w *writer) countTurn(ctx context.Context, first *memory.Note) error {
	last, err := w.d.List(ctx, memory.NoteQuery{
		Kinds: itemKinds(), Newest: true, Limit: 1, Filter: &filter.Leaf{Field: filter.Attributes, Path: []string{AttrTurnNumber}, Op: filter.Exists, Want: true},
	})
	if err != nil {
		return fmt.Errorf("find the last turn: %w", err)
	}
	w.out.Turn = 1
	if len(last) > 0 {
		w.out.Turn = memory.NumberOf(last[0].Attributes, AttrTurnNumber) + 1
	}
	first.Attributes[AttrTurnNumber] = float64(w.out.Turn)
	if every := int64(w.c.ConsolidateEvery); every > 0 && w.out.Turn%every == 0 {
		w.follow = append(w.follow, memory.Follow{Task: w.p.Consolidate()})
	}
	return nil
}
