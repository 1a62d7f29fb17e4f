package mem0

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// TaskGraph takes facts into the graph whose entities or relations could not
// be had when they were learned.
const TaskGraph = "graph"

// graphRetries are the waits before facts are tried again; after the last the
// graph does without them.
var graphRetries = []time.Duration{30 * time.Second, 5 * time.Minute, time.Hour}

// graphPart is the part of Mem0g beside the facts (arXiv:2504.19413 §2.2): the
// entities of new facts, the relations among them, and which older relations
// these contradict. An entity is a note of that kind, an edge a link with the
// time for which it holds; see [graph.Edge].
type graphPart struct {
	entities, relations, conflicts policy.Prompt
}

func newGraphPart() (*graphPart, error) {
	g := graphPart{}
	for name, into := range map[string]*policy.Prompt{"entities": &g.entities, "relations": &g.relations, "conflicts": &g.conflicts} {
		loaded, err := policy.LoadPrompt(files, "mem0g/"+name+"@1")
		if err != nil {
			return nil, err
		}
		*into = loaded
	}
	return &g, nil
}

// retryArgs is what a task to try facts again carries.
type retryArgs struct {
	Facts []uuid.UUID `json:"facts"`
	Try   int         `json:"try"` // that failed last, from 1
}

// ingest adds to dec what changes in the graph when facts do. added are the
// new and changed facts, with ids, as they stand in dec.Puts; removed are those
// that dec deletes, as they were.
//
// An answer that cannot be used leaves the facts and puts the graph off. An
// endpoint that does not answer is the error.
func (g *graphPart) ingest(
	ctx context.Context, d memory.Desk, c *Config, added, removed []memory.Note, dec *memory.Decision, out *Outcome,
) error {
	return g.update(ctx, d, c, added, removed, 0, dec, out)
}

// task does a task of the graph; ok is false when it knows none of that name.
func (g *graphPart) runTask(ctx context.Context, d memory.Desk, c *Config, t memory.Task) (dec memory.Decision, ok bool, err error) {
	if t.Name != TaskGraph {
		return dec, false, nil
	}
	var args retryArgs
	if err := json.Unmarshal(t.Args, &args); err != nil || len(args.Facts) == 0 || len(args.Facts) > memory.MaxMessages || args.Try < 0 {
		return dec, true, fault.InvalidField("args", `must be {"facts": [ids]}`)
	}
	facts, err := d.Notes(ctx, args.Facts)
	if err != nil {
		return dec, true, fmt.Errorf("read facts: %w", err)
	}
	facts = slices.DeleteFunc(facts, func(n memory.Note) bool { return n.Kind != memory.KindFact })
	out := Outcome{Policy: "mem0g", Decision: policy.DecisionKeep}
	dec.Cause = memory.CauseExtract
	if c.Graph && len(facts) > 0 {
		if err := g.update(ctx, d, c, facts, nil, args.Try, &dec, &out); err != nil {
			return dec, true, err
		}
		if len(dec.Links) > 0 {
			out.Decision = DecisionLearned
		}
	}
	out.addFollows(dec.Follow...)
	dec.Outcome = out.encode()
	return dec, true, nil
}

// weave is one run of ingest; try is how often these facts failed before.
func (g *graphPart) update(
	ctx context.Context, d memory.Desk, c *Config, added, removed []memory.Note, try int, dec *memory.Decision, out *Outcome,
) error {
	w := &graphUpdate{
		g: g, d: d, c: c, facts: added, removed: removed, user: userNameOf(added), out: &GraphOutcome{},
		nodes: map[string]*graphNode{}, notes: map[uuid.UUID]memory.Note{}, edges: map[memory.LinkID]*graphEdge{},
	}
	out.Graph = w.out
	if err := w.retract(ctx); err != nil {
		return err
	}
	stated, err := w.readStatements(ctx)
	switch {
	case isUnusable(err):
		w.out.Skipped = err.Error()
		if f, again := w.retryTask(try); again {
			dec.Follow = append(dec.Follow, f)
		}
		stated, w.named, w.nodes = nil, nil, map[string]*graphNode{}
	case err != nil:
		return err
	}
	if err := w.applyStatements(ctx, stated); err != nil {
		return err
	}
	return w.writeTo(ctx, dec)
}

// unusable tells that a model answered, and nothing can be made of it; asking
// at once would not help.
func isUnusable(err error) bool {
	return errors.Is(err, memory.ErrBadAnswer) || fault.Is(err, fault.ModelFailed) && !errors.Is(err, memory.ErrPaused)
}

// later is the task that tries the facts again.
func (w *graphUpdate) retryTask(try int) (memory.Follow, bool) {
	if try >= len(graphRetries) {
		return memory.Follow{}, false
	}
	args := retryArgs{Try: try + 1}
	for i := range w.facts {
		args.Facts = append(args.Facts, w.facts[i].ID)
	}
	raw, err := json.Marshal(args)
	if err != nil { // ids and a number
		return memory.Follow{}, false
	}
	return memory.Follow{
		Task:  memory.Task{Name: TaskGraph, Key: args.Facts[0].String(), Args: raw},
		After: w.d.Now().Add(graphRetries[try]),
	}, true
}
