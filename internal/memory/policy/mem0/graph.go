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

// taskGraph updates the graph from facts for which that failed when they were learned.
const taskGraph = "graph"

// graphRetries are the waits before the retries. After the last one the graph stays
// without these facts.
var graphRetries = []time.Duration{30 * time.Second, 5 * time.Minute, time.Hour}

// graphPart is the part of Mem0g beside the facts (arXiv:2504.19413 §2.2). Calls extract
// the entities of new facts and the relations among them, and find the older relations
// that these contradict. Package graph is how entities and relations are stored.
type graphPart struct {
	entities, relations, conflicts policy.Prompt
}

func newGraphPart() (*graphPart, error) {
	g := graphPart{}
	for name, into := range map[string]*policy.Prompt{"entities": &g.entities, "relations": &g.relations, "conflicts": &g.conflicts} {
		loaded, err := policy.LoadPrompt(files, "mem0g/"+name+"@2")
		if err != nil {
			return nil, err
		}
		*into = loaded
	}
	return &g, nil
}

// retryArgs are the arguments of taskGraph.
type retryArgs struct {
	Facts []uuid.UUID `json:"facts"`
	Try   int         `json:"try"` // how often it failed so far
}

// runTask runs a task of the graph; ok is false when there is none of that name.
func (g *graphPart) runTask(ctx context.Context, d memory.Desk, c *Config, t memory.Task) (dec memory.Decision, ok bool, err error) {
	if t.Name != taskGraph {
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
		if err := g.update(ctx, d, c, factChange{added: facts, failed: args.Try}, &dec, &out); err != nil {
			return dec, true, err
		}
		if len(dec.Links) > 0 {
			out.Decision = decisionLearned
		}
	}
	out.addFollows(dec.Follow...)
	dec.Outcome = policy.Encode(&out)
	return dec, true, nil
}

// factChange is what an update of the graph is about.
type factChange struct {
	added   []memory.Note // new and changed facts, with ids, as the decision puts them
	removed []memory.Note // facts that the decision deletes, as they were
	failed  int           // how often an update from these facts failed before
	// deletedBy holds, by id, the fact that contradicted a removed one; none if it expired.
	deletedBy map[uuid.UUID]string
}

// update adds to dec what changes in the graph when facts do.
//
// When an answer cannot be used the facts stay and their update is deferred as a task.
// When an endpoint is down the error is returned.
func (g *graphPart) update(
	ctx context.Context, d memory.Desk, c *Config, change factChange, dec *memory.Decision, out *Outcome,
) error {
	u := &graphUpdate{
		g: g, d: d, c: c, facts: change.added, removed: change.removed, deletedBy: change.deletedBy, user: userNameOf(change.added), out: &GraphOutcome{},
		nodes: map[string]*graphNode{}, notes: map[uuid.UUID]memory.Note{}, edges: map[memory.LinkID]*graphEdge{},
	}
	out.Graph = u.out
	if err := u.retract(ctx); err != nil {
		return err
	}
	stated, err := u.readStatements(ctx)
	switch {
	case isUnusable(err):
		u.out.Skipped = err.Error()
		if f, ok := u.retryTask(change.failed); ok {
			dec.Follow = append(dec.Follow, f)
		}
		stated, u.named, u.nodes = nil, nil, map[string]*graphNode{}
	case err != nil:
		return err
	}
	if err := u.applyStatements(ctx, stated); err != nil {
		return err
	}
	return u.writeTo(ctx, dec)
}

// isUnusable reports whether an error is about an answer that cannot be used, so that
// asking again immediately would not help.
func isUnusable(err error) bool {
	return errors.Is(err, memory.ErrBadAnswer) || fault.Is(err, fault.ModelFailed) && !errors.Is(err, memory.ErrPaused)
}

// retryTask returns the task that retries the facts; ok is false after the last retry.
func (u *graphUpdate) retryTask(failed int) (memory.Follow, bool) {
	if failed >= len(graphRetries) {
		return memory.Follow{}, false
	}
	args := retryArgs{Try: failed + 1}
	for i := range u.facts {
		args.Facts = append(args.Facts, u.facts[i].ID)
	}
	raw, err := json.Marshal(args)
	if err != nil { // impossible: ids and a number
		return memory.Follow{}, false
	}
	return memory.Follow{
		Task:  memory.Task{Name: taskGraph, Key: args.Facts[0].String(), Args: raw},
		After: u.d.Now().Add(graphRetries[failed]),
	}, true
}
