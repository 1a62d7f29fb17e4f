// Package toy is a memory system of its own, for the test of the recipe in CONTRIBUTING.md: only this folder and two
// lines, in the list of the policies and of the routes, adds it. It counts the notes of each tag, in a summary that contexts show
// first.
package toy

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// Name of the policy.
const Name = "toy"

// keyTally is the key of the summary; attrCounts is its attribute with the notes of each tag.
const (
	keyTally   = "tally"
	attrCounts = "counts"
	taskCount  = "count"
)

// Config holds the constants.
type Config struct {
	Most int `json:"most"` // tags that the summary names
}

var settings = []policy.Setting[Config]{
	policy.NumberSetting("most", "tags that the summary names", 1, 100, func(c *Config) any { return &c.Most }),
}

func defaults() Config { return Config{Most: 10} }

// Policy counts the notes of each tag.
type Policy struct{ policy.Described }

// New returns the policy.
func New() (*Policy, error) {
	d, err := policy.Describe(memory.PolicyDescription{
		Name: Name, Title: "Tally", Description: "Counts the notes of each tag.",
	}, defaults(), settings)
	return &Policy{d}, err
}

// CheckConfig implements memory.Policy.
func (*Policy) CheckConfig(raw json.RawMessage) error {
	_, err := policy.ParseSettings(raw, defaults(), settings)
	return err
}

// Reading shows the summary first.
func (*Policy) Reading(json.RawMessage) memory.Reading {
	return memory.Reading{Kinds: []memory.Kind{memory.KindNote}, Pinned: []memory.Pin{{Kind: memory.KindSummary, Key: keyTally}}}
}

// Prepare returns the note as it is.
func (*Policy) Prepare(_ context.Context, _ memory.Desk, n memory.Note) (memory.Note, error) {
	return n, nil
}

// Consolidate counts all notes again.
func (*Policy) Consolidate() memory.Task { return memory.Task{Name: taskCount} }

// Refresh counts all notes again after one was deleted or restored, or has other tags.
func (*Policy) Refresh(_, _ *memory.Note, _ []memory.Note) []memory.Follow {
	return []memory.Follow{{Task: memory.Task{Name: taskCount}}}
}

// Decide keeps the note and counts.
func (p *Policy) Decide(ctx context.Context, d memory.Desk, e memory.Event) (memory.Decision, error) {
	c, err := policy.ParseSettings(d.Config(), defaults(), settings)
	if err != nil {
		return memory.Decision{}, err
	}
	switch {
	case e.Kind == memory.EventNote:
		return memory.Decision{
			Note: e.Note, Follow: []memory.Follow{{Task: memory.Task{Name: taskCount}}}, Outcome: json.RawMessage(`{"policy":"toy","decision":"keep"}`),
		}, nil
	case e.Kind == memory.EventTask && e.Task.Name == taskCount:
		return count(ctx, d, &c)
	}
	return memory.Decision{}, policy.UnknownEvent(p.Name(), &e)
}

// count writes the summary of all notes.
func count(ctx context.Context, d memory.Desk, c *Config) (memory.Decision, error) {
	counts := map[string]any{}
	for n, err := range policy.EachNote(ctx, d, memory.NoteQuery{Kinds: []memory.Kind{memory.KindNote}}) {
		if err != nil {
			return memory.Decision{}, err
		}
		for _, tag := range n.Tags {
			counts[tag] = number(counts[tag]) + 1
		}
	}
	tally, exists, err := d.ByKey(ctx, memory.KindSummary, keyTally)
	if err != nil {
		return memory.Decision{}, err
	}
	if !exists {
		d.Absent(memory.KindSummary, keyTally)
	}
	tally = policy.DerivedNote(d, tally, memory.KindSummary, keyTally, describe(counts, c.Most), memory.AnalystHeuristic, nil)
	tally.OccurredAt, tally.Attributes[attrCounts] = d.Now(), counts
	return memory.Decision{
		Puts: []memory.Note{tally}, Cause: memory.CauseSummarize,
		Outcome: json.RawMessage(fmt.Sprintf(`{"policy":"toy","decision":"count","tags":%d}`, len(counts))),
	}, nil
}

// describe names the most frequent tags.
func describe(counts map[string]any, most int) string {
	tags := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(number(counts[b]), number(counts[a])), cmp.Compare(a, b))
	})
	parts := make([]string, 0, most)
	for _, tag := range tags[:min(len(tags), most)] {
		parts = append(parts, fmt.Sprintf("%s (%v)", tag, counts[tag]))
	}
	return "Tags: " + cmp.Or(strings.Join(parts, ", "), "none") + "."
}

// number returns a count; one that was stored and read is a json.Number or a float64.
func number(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case float64:
		return int64(v)
	case json.Number:
		n, _ := v.Int64()
		return n
	}
	return 0
}

// contract describes the routes.
//
//go:embed contract.yaml
var contract []byte

// Routes returns the operation that answers the counts.
func Routes(store memory.Reader) route.Set {
	get := func(ctx context.Context, r *route.Request) (route.Reply, error) {
		v, err := r.Collection.View()
		if err != nil {
			return route.Reply{}, err
		}
		if v.Collection.Policy != Name {
			return route.Reply{}, fault.InvalidField("collection", "the policy %q has no tally; use a collection with the policy %q", v.Collection.Policy, Name)
		}
		found, err := store.ListNotes(ctx, r.Scope, v, memory.NoteQuery{Kinds: []memory.Kind{memory.KindSummary}, Keyed: true, Limit: 1})
		if err != nil || len(found) == 0 {
			return route.Reply{Body: map[string]any{attrCounts: map[string]any{}}, Revision: new(v.At)}, err
		}
		return route.Reply{Body: map[string]any{attrCounts: found[0].Attributes[attrCounts]}, Revision: new(v.At)}, nil
	}
	return route.Set{Contract: contract, Handlers: map[string]route.Handler{"getTally": get}}
}

var (
	_ memory.Policy       = (*Policy)(nil)
	_ memory.Refresher    = (*Policy)(nil)
	_ memory.Consolidator = (*Policy)(nil)
)
