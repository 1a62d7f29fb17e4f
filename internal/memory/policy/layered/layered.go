package layered

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// The layers. An item of the working or the episodic layer is a message or a note with AttrLayer. The semantic
// layer holds triples, the edges of package graph with their sentences, and abstracts: notes of kind knowledge.
const (
	Working  = "working"
	Episodic = "episodic"
	Semantic = "semantic"

	// layerLog is the AttrLayer of an item that has left its layer. It stays in the log, and contexts find it.
	layerLog = "log"
)

// Attributes of items.
const (
	AttrLayer        = "layer"
	AttrType         = "type"         // of the item, as its writer named it
	AttrTurnNumber   = "turn_number"  // of the first item of a turn: turns of the collection so far
	AttrOrigin       = "copy_of"      // of an episode: the id of the item that it is a copy of
	AttrCopy         = "episode_id"   // of an item: the id of the episode with its text, which is its copy or was there before
	AttrStates       = "states"       // of an item: how many triples it states; absent: none
	AttrConsolidated = "consolidated" // true: a consolidation has looked at the item
	AttrAbstract     = "abstract"     // of an episode: the id of the abstract that it is a source of
	// attrBase and attrDecayed are the importance before and after decay; absent: it has not decayed.
	attrBase    = "base_importance"
	attrDecayed = "decayed_importance"
)

// categoryAbstract is the category of abstracts.
const categoryAbstract = "abstract"

// The tasks.
const (
	TaskRemember    = "remember"    // args: RememberArgs
	TaskConsolidate = "consolidate" // no args
	TaskRetract     = "retract"     // args: retractArgs; what a deleted item leaves behind
	TaskReread      = "reread"      // its key is the id of a restored item
	TaskChanged     = "changed"     // its key is the id of an item that has an older text again
)

// recalled is how many items a search, and the prompt of a chat, has.
const recalled = 8

// Policy is the memory in three layers. Its name is "layered".
type Policy struct {
	policy.Described

	calls  *Calls
	models []string // names that policy_config.model may have
}

// New returns the policy with its prompts and schemas. models are the names of further models that a collection
// may choose.
func New(models ...string) (*Policy, error) {
	calls, err := LoadCalls()
	if err != nil {
		return nil, err
	}
	p := Policy{calls: calls, models: models}
	p.Described, err = policy.Describe(memory.PolicyDescription{
		Name: "layered", Title: "Layers: working, episodic and semantic memory",
		Description: "What is said is held in a small working layer. What matters of it becomes an episode, and what it states about the user or " +
			"others becomes knowledge with a confidence. Unused episodes fade. Contradictions are reported, and repeats settle them.",
		Exchanges: true,
	}, DefaultConfig(), settings())
	return &p, err
}

// CheckConfig refuses overrides with unknown names, wrong types or values out of range.
func (p *Policy) CheckConfig(config json.RawMessage) error {
	c, err := parseConfig(config)
	return cmp.Or(err, policy.CheckModel(c.Model, p.models))
}

// itemKinds are the kinds of items of the working and the episodic layer.
func itemKinds() []memory.Kind { return []memory.Kind{memory.KindMessage, memory.KindNote} }

// Reading returns that a search looks at items and knowledge, that a context shows what is known of the user first,
// and how each layer is recalled alone.
func (*Policy) Reading(config json.RawMessage) memory.Reading {
	c, err := parseConfig(config)
	if err != nil { // it was checked when it was set
		c = DefaultConfig()
	}
	return memory.Reading{
		Kinds:  []memory.Kind{memory.KindNote, memory.KindMessage, memory.KindKnowledge},
		Pinned: []memory.Pin{{Kind: memory.KindKnowledge, Filter: filter.AttributeIs(graph.AttrSubject, SubjectUser)}},
		// What an episode is a copy of says the same, and says who said it.
		Filter: filter.Not{Term: &filter.Leaf{Field: filter.Attributes, Path: []string{AttrOrigin}, Op: filter.Exists, Want: true}},
		Recent: c.RecentMessages, K: recalled, ChatK: recalled, OnePerson: c.Persons == personsOne,
		Layers: []memory.LayerReading{
			{Name: Semantic, Kinds: []memory.Kind{memory.KindKnowledge}, Formula: semanticFormula(c.RelevanceFloor), Share: 3, Least: 3},
			{Name: Episodic, Kinds: itemKinds(), Filter: filter.AttributeIs(AttrLayer, Episodic), Formula: episodicFormula(), Capacity: c.EpisodicCapacity},
			{Name: Working, Kinds: itemKinds(), Filter: filter.AttributeIs(AttrLayer, Working), Formula: workingFormula(), Capacity: c.WorkingCapacity, Share: 3, Least: 3},
		},
	}
}

// Aim returns which layer answers a query best, and what it names.
func (*Policy) Aim(query string) memory.Aim {
	r := routeQuery(query)
	aim := memory.Aim{Relations: r.Relations}
	if r.Intent != IntentCombined {
		aim.Layer = string(r.Intent)
	}
	if r.Subject != "" {
		aim.Subjects = []string{strings.ToLower(r.Subject)}
	}
	return aim
}

// Consolidate returns the task of the consolidation.
func (*Policy) Consolidate() memory.Task { return memory.Task{Name: TaskConsolidate} }

// Prepare returns the note unchanged: its importance follows from the decision.
func (*Policy) Prepare(_ context.Context, _ memory.Desk, n memory.Note) (memory.Note, error) {
	return n, nil
}

// Decide remembers an exchange or a note, and runs the tasks.
func (p *Policy) Decide(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
	c, err := parseConfig(d.Config())
	if err != nil {
		return memory.Decision{}, err
	}
	w := p.newWriter(d, &c)
	switch e.Kind {
	case memory.EventExchange:
		return w.exchange(ctx, e.Messages)
	case memory.EventNote:
		return w.note(ctx, e.Note)
	case memory.EventTask:
		switch e.Task.Name {
		case TaskRemember:
			return w.remember(ctx, e.Task.Args)
		case TaskConsolidate:
			return w.consolidate(ctx)
		case TaskRetract:
			return w.retract(ctx, e.Task.Args)
		case TaskReread:
			return w.reread(ctx, e.Task, w.restored)
		case TaskChanged:
			return w.reread(ctx, e.Task, w.changed)
		}
	}
	return memory.Decision{}, policy.UnknownEvent(p.Name(), &e)
}

// retractArgs are the arguments of TaskRetract.
type retractArgs struct {
	Note string `json:"note"`           // id of the deleted item
	Twin string `json:"twin,omitempty"` // id of what it named as its copy, or as what it was a copy of
}

// Refresh asks for the removal of what a deleted item or triple leaves behind, and for a restored item to be read again.
func (*Policy) Refresh(was, is *memory.Note, _ []memory.Note) []memory.Follow {
	switch {
	case was != nil && is == nil && (isItemKind(was.Kind) || was.Kind == memory.KindKnowledge):
		args := retractArgs{Note: was.ID.String(), Twin: cmp.Or(textOf(was, AttrOrigin), textOf(was, AttrCopy))}
		raw, err := json.Marshal(args)
		if err != nil { // impossible: a list of texts
			return nil
		}
		return []memory.Follow{{Task: memory.Task{Name: TaskRetract, Key: was.ID.String(), Args: raw}}}
	case was == nil && is != nil && isItemKind(is.Kind) && layerOf(is) != "":
		return []memory.Follow{{Task: memory.Task{Name: TaskReread, Key: is.ID.String()}}}
	// An older text that is restored over a newer one has no job of its own, unlike a text that is new.
	case was != nil && is != nil && isItemKind(is.Kind) && layerOf(is) != "" && is.State == memory.StateEvolved && was.Content != is.Content:
		return []memory.Follow{{Task: memory.Task{Name: TaskChanged, Key: is.ID.String()}}}
	}
	return nil
}

func isItemKind(k memory.Kind) bool { return slices.Contains(itemKinds(), k) }

// layerOf returns the layer of an item, layerLog included; "" for a note that is none.
func layerOf(n *memory.Note) string {
	if l := textOf(n, AttrLayer); l == Working || l == Episodic || l == layerLog {
		return l
	}
	return ""
}

// LayerOf returns the layer that holds a note; "": none.
func LayerOf(n *memory.Note) string {
	if n.Kind == memory.KindKnowledge {
		return Semantic
	}
	if l := layerOf(n); l != layerLog {
		return l
	}
	return ""
}

// textOf returns an attribute that is a text; "" for anything else.
func textOf(n *memory.Note, name string) string {
	s, _ := n.Attributes[name].(string)
	return s
}

// badArgs returns the fault for arguments of a task that cannot be decoded.
func badArgs(name string) error {
	return fault.New(fault.Invalid, "the arguments of the task %q cannot be read", name)
}

var (
	_ memory.Policy       = (*Policy)(nil)
	_ memory.Refresher    = (*Policy)(nil)
	_ memory.Aimer        = (*Policy)(nil)
	_ memory.Consolidator = (*Policy)(nil)
)
