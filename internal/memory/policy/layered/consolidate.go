package layered

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Counts is what a consolidation did.
type Counts struct {
	Working   int `json:"working"`   // items in the layers afterwards
	Episodic  int `json:"episodic"`  //
	Taken     int `json:"taken"`     // imported items that are in a layer now
	Copied    int `json:"copied"`    // working items that became episodes
	Decayed   int `json:"decayed"`   // items whose importance is lower than before
	Restored  int `json:"restored"`  // items that were used again, and have their importance back
	Shrunk    int `json:"shrunk"`    // episodes that left
	Pruned    int `json:"pruned"`    // working items that left
	Abstracts int `json:"abstracts"` // that were written
	Merged    int `json:"merged"`    // episodes that are sources of these
}

// Bounds of a consolidation.
const (
	minTopic     = 3     // episodes that an abstract is made of, at least
	maxTopic     = 12    // and at most
	maxAbstracts = 3     // of one consolidation
	maxCompared  = 1_000 // episodes, the newest, that are compared with each other
	maxTaken     = 50    // imported items of one consolidation, each of which a model may read
	decayStep    = 0.001 // a smaller change of importance is not written
)

// consolidate runs the whole cycle. Running it again at the same time changes nothing.
func (w *writer) consolidate(ctx context.Context) (memory.Decision, error) {
	w.out.Decision, w.out.Counts = "consolidate", &Counts{}
	if err := w.loadWorking(ctx); err != nil {
		return memory.Decision{}, err
	}
	episodes, err := w.list(ctx, Episodic, memory.ReadOptions{Vector: true})
	if err != nil {
		return memory.Decision{}, err
	}
	w.episodes = make(map[string]*memory.Note, len(episodes))
	for i := range episodes {
		w.episodes[text.Normalize(episodes[i].Content)] = &episodes[i]
	}
	if err := w.takeImported(ctx); err != nil {
		return memory.Decision{}, err
	}
	all := w.items(Working, w.working)
	all = append(all, w.items(Episodic, episodes)...)
	use, err := w.useOf(ctx, all)
	if err != nil {
		return memory.Decision{}, err
	}
	all = w.withoutDamaged(all)
	w.decay(all, use)
	if err := w.copyImportant(ctx); err != nil {
		return memory.Decision{}, err
	}
	if err := w.shrink(ctx, w.items(Episodic, episodes), use); err != nil {
		return memory.Decision{}, err
	}
	left, err := w.prune(ctx)
	if err != nil {
		return memory.Decision{}, err
	}
	w.out.Counts.Pruned = len(left)
	if w.c.Abstract {
		if err := w.abstract(ctx, w.items(Episodic, episodes)); err != nil {
			return memory.Decision{}, err
		}
	}
	w.out.Counts.Working, w.out.Counts.Episodic = len(w.items(Working, w.working)), len(w.items(Episodic, episodes))
	w.out.Stored, w.out.Skipped = nil, nil // the counts say it
	return w.decision("")
}

// takeImported stores items that are in no layer, since an import does not ask the policy. If one of them has a job
// of its own that waits, that finds it stored.
func (w *writer) takeImported(ctx context.Context) error {
	var raw []memory.Note
	for n, err := range policy.EachNote(ctx, w.d, memory.NoteQuery{Kinds: itemKinds(), States: []memory.State{memory.StateRaw}}) {
		if err != nil {
			return fmt.Errorf("list imported items: %w", err)
		}
		if layerOf(n) == "" {
			raw = append(raw, *n)
		}
		if len(raw) == maxTaken {
			break
		}
	}
	for i := range raw {
		it := &item{note: w.put(&raw[i])}
		if err := w.rateUnset(ctx, it); err != nil {
			return err
		}
		if err := w.place(ctx, it); err != nil {
			return err
		}
	}
	w.out.Counts.Taken = len(raw)
	return nil
}

// useOf returns the use of items. That of an episode is its own and that of the item that it is a copy of, which
// contexts show in its place.
func (w *writer) useOf(ctx context.Context, items []*memory.Note) (map[uuid.UUID]memory.Usage, error) {
	origins := map[uuid.UUID]uuid.UUID{} // by episode
	both := slices.Clone(items)
	for _, n := range items {
		if id, err := uuid.Parse(textOf(n, AttrOrigin)); err == nil {
			origins[n.ID] = id
			both = append(both, &memory.Note{ID: id})
		}
	}
	use, err := w.usage(ctx, both)
	if err != nil {
		return nil, err
	}
	out := maps.Clone(use)
	for id, origin := range origins {
		u, of := use[id], use[origin]
		u.AccessCount += of.AccessCount
		if of.LastAccess.After(u.LastAccess) {
			u.LastAccess = of.LastAccess
		}
		out[id] = u
	}
	return out, nil
}

// withoutDamaged leaves out items whose importance is not a number between 0 and 1, and reports them.
func (w *writer) withoutDamaged(all []*memory.Note) []*memory.Note {
	return slices.DeleteFunc(all, func(n *memory.Note) bool {
		base, decayed := n.Attributes[attrBase] != nil, n.Attributes[attrDecayed] != nil
		_, baseOK := n.Attributes[attrBase].(float64)
		_, decayedOK := n.Attributes[attrDecayed].(float64)
		var reason string
		switch {
		case math.IsNaN(n.Importance) || n.Importance < 0 || n.Importance > 1:
			reason = "its importance is not a number between 0 and 1"
		case base != decayed || base && (!baseOK || !decayedOK):
			reason = "the importance that it had before it decayed cannot be read"
		default:
			return false
		}
		w.out.Damaged = append(w.out.Damaged, Damaged{Note: n.ID, Reason: reason})
		return true
	})
}

// decay sets the importance of items that were idle. It is computed from the base, which the item keeps: a caller who
// sets the importance sets the base.
func (w *writer) decay(all []*memory.Note, use map[uuid.UUID]memory.Usage) {
	now := w.d.Now()
	for _, n := range all {
		base := n.Importance
		if before, ok := n.Attributes[attrBase].(float64); ok && n.Attributes[attrDecayed] == n.Importance {
			base = before
		}
		last := n.CreatedAt
		if u := use[n.ID]; !u.LastAccess.IsZero() {
			last = u.LastAccess
		}
		is := decayed(base, now.Sub(last), w.c.DecayDays)
		if math.Abs(is-n.Importance) < decayStep {
			continue
		}
		next := w.put(n)
		if is < n.Importance {
			w.out.Counts.Decayed++
		} else {
			w.out.Counts.Restored++
		}
		next.Importance = is
		next.Attributes[attrBase], next.Attributes[attrDecayed] = base, is
		if is == base {
			delete(next.Attributes, attrBase)
			delete(next.Attributes, attrDecayed)
		}
	}
}

// copyImportant copies the important items of the working layer to the episodic one, each once. They stay in the
// working layer until they are pruned.
func (w *writer) copyImportant(ctx context.Context) error {
	items := w.items(Working, w.working)
	if len(items) < w.c.ConsolidateFrom {
		return nil
	}
	for _, n := range items {
		if n.Importance <= copyAbove || !memory.Learnable(n) || n.Attributes[AttrConsolidated] == true || textOf(n, AttrCopy) != "" {
			continue
		}
		stored := len(w.out.Stored)
		n = w.put(n)
		n.Attributes[AttrConsolidated] = true
		if err := w.copyEpisode(ctx, n, n.Importance*copiedImportance); err != nil {
			return err
		}
		w.out.Counts.Copied += len(w.out.Stored) - stored
	}
	return nil
}

// shrink makes the episodic layer smaller when it holds more than its capacity.
func (w *writer) shrink(ctx context.Context, items []*memory.Note, use map[uuid.UUID]memory.Usage) error {
	if len(items) <= w.c.EpisodicCapacity {
		return nil
	}
	accesses := func(n *memory.Note) int64 {
		u, ok := use[n.ID]
		if origin, err := uuid.Parse(textOf(n, AttrOrigin)); !ok && err == nil { // it was copied just now
			u = use[origin]
		}
		return u.AccessCount
	}
	var leaving []*memory.Note
	if w.c.EpisodicStrategy == shrinkGentle {
		for _, n := range items {
			if n.Importance < gentleImportance && accesses(n) < gentleAccesses {
				leaving = append(leaving, n)
			}
		}
	} else {
		slices.SortStableFunc(items, func(a, b *memory.Note) int { // the older of two leaves first
			return cmp.Compare(episodicKeep(a.Importance, accesses(a)), episodicKeep(b.Importance, accesses(b)))
		})
		leaving = items[:len(items)-int(math.Round(shrunk*float64(w.c.EpisodicCapacity)))]
	}
	w.out.Counts.Shrunk = len(leaving)
	return w.leave(ctx, leaving)
}

// abstract merges episodes of one topic into a text in the semantic layer. The episodes stay: a text may lose what is
// asked for later. Each goes into one abstract.
func (w *writer) abstract(ctx context.Context, items []*memory.Note) error {
	for _, topic := range topics(items, w.c.AbstractCosine) {
		in := AbstractInput{}
		for _, n := range topic {
			said := memory.UtteranceOf(n)
			in.Items = append(in.Items, AbstractItem{Content: n.Content, Role: said.Role, Name: said.Name, Time: n.OccurredAt, Importance: n.Importance})
		}
		call, err := w.p.calls.Abstract(in)
		if err != nil {
			return err
		}
		call.Temperature, call.MaxTokens = policy.CallTemperature(w.c.Temperature), w.c.MaxTokens
		answer, err := w.d.Ask(ctx, call)
		if errors.Is(err, memory.ErrBadAnswer) || errors.Is(err, memory.ErrBudget) {
			continue // the items stay as they are
		}
		if err != nil {
			return fmt.Errorf("%s: %w", CallAbstract, err)
		}
		read, dropped, err := readAbstract(answer.JSON, &in)
		if err != nil {
			return err
		}
		w.out.Dropped += dropped
		w.addAbstract(&read, topic, answer.Analyst)
	}
	return nil
}

// addAbstract writes an abstract and marks its sources.
func (w *writer) addAbstract(a *Abstract, topic []*memory.Note, by memory.Analyst) {
	confidence := modelConfidence
	if by == memory.AnalystHeuristic {
		confidence = ruleConfidence
	}
	n := w.put(&memory.Note{
		ID: w.d.NewID(), Kind: memory.KindKnowledge, Category: categoryAbstract, Content: a.Summary, Context: memory.DefaultContext,
		Importance: memory.DefaultImportance, State: memory.StateEvolved, Analyst: by,
		Attributes: map[string]any{memory.AttrConfidence: confidence, graph.AttrMentions: float64(len(a.Sources))},
	})
	for _, handle := range a.Sources {
		source := w.put(topic[handle])
		source.Attributes[AttrAbstract] = n.ID.String()
		n.Importance = max(n.Importance, source.Importance)
		if n.OccurredAt.Before(source.OccurredAt) {
			n.OccurredAt = source.OccurredAt
		}
		n.Provenance.Sources = append(n.Provenance.Sources, source.ID)
		w.links = append(w.links, memory.Link{LinkID: memory.LinkID{Source: n.ID, Target: source.ID, Relation: graph.DerivedFrom}, Confidence: 1})
	}
	w.out.Counts.Abstracts++
	w.out.Counts.Merged += len(a.Sources)
}

// dropAbstracts deletes the abstracts that have one of the items as a source, since a part of what they say has changed
// or is gone. The next consolidation may merge their other sources again.
func (w *writer) dropAbstracts(ctx context.Context, items []uuid.UUID) error {
	var abstracts []memory.Note
	q := memory.NoteQuery{Kinds: []memory.Kind{memory.KindKnowledge}, Filter: filter.TextIs(filter.Category, categoryAbstract)}
	for n, err := range policy.EachNote(ctx, w.d, q) {
		if err != nil {
			return fmt.Errorf("list abstracts: %w", err)
		}
		if slices.ContainsFunc(items, func(id uuid.UUID) bool { return slices.Contains(n.Provenance.Sources, id) }) {
			abstracts = append(abstracts, *n)
		}
	}
	for i := range abstracts {
		a := &abstracts[i]
		w.deletes = append(w.deletes, a.ID)
		sources, err := w.d.Notes(ctx, a.Provenance.Sources)
		if err != nil {
			return fmt.Errorf("read the sources of an abstract: %w", err)
		}
		for j := range sources {
			if textOf(&sources[j], AttrAbstract) == a.ID.String() {
				delete(w.put(&sources[j]).Attributes, AttrAbstract)
			}
		}
	}
	return nil
}

// topics returns groups of episodes that are in no abstract and state no triple: each with those near to its first one,
// oldest first. At most maxAbstracts groups are returned, the largest first.
func topics(items []*memory.Note, least float64) [][]*memory.Note {
	var free []*memory.Note
	for _, n := range items {
		if textOf(n, AttrAbstract) == "" && n.Attributes[AttrStates] == nil && len(n.Vector) > 0 {
			free = append(free, n)
		}
	}
	free = free[max(0, len(free)-maxCompared):]
	var out [][]*memory.Note
	taken := map[uuid.UUID]bool{}
	for i, first := range free {
		if taken[first.ID] {
			continue
		}
		topic := []*memory.Note{first}
		for _, n := range free[i+1:] {
			if !taken[n.ID] && len(topic) < maxTopic && cosine(first.Vector, n.Vector) >= least {
				topic = append(topic, n)
			}
		}
		if len(topic) < minTopic {
			continue
		}
		for _, n := range topic {
			taken[n.ID] = true
		}
		out = append(out, topic)
	}
	slices.SortStableFunc(out, func(a, b []*memory.Note) int { return len(b) - len(a) })
	return out[:min(len(out), maxAbstracts)]
}

// cosine returns the cosine of two vectors; 0 if their sizes differ.
func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, x, y float64
	for i := range a {
		p, q := float64(a[i]), float64(b[i])
		dot, x, y = dot+p*q, x+p*p, y+q*q
	}
	if x == 0 || y == 0 {
		return 0
	}
	return dot / math.Sqrt(x*y)
}
