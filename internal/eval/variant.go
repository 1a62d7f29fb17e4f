package eval

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// The names of the variants.
const (
	// Lexical, Vector and Hybrid are the modes of a search with the default ranking.
	Lexical = "lexical"
	Vector  = "vector"
	Hybrid  = "hybrid"
	// NoAttribute is Hybrid without the boost for attribute values in the query.
	NoAttribute = "no-attribute"
	// ProfileDefault is Hybrid with fixed weights.
	ProfileDefault = "default"
	// ProfileMem0 is Hybrid with the ranking of Mem0.
	ProfileMem0 = "mem0"
	// ByDialogue is Hybrid with the dialogue as the query, for data that has dialogues.
	ByDialogue = "dialogue"
	// Auto is Hybrid with as many hits as score clearly above the rest: its recall@50 is that of all its hits, its tokens@50 are theirs.
	Auto = "auto"
	// Context asks for prompt-ready text.
	Context = "context"
)

// kAuto asks for as many hits as score clearly above the rest.
const kAuto = "auto"

// attributeSignal is the name of the boost that NoAttribute leaves out, in explanations.
const attributeSignal = "attribute"

// variants returns the variants that search.
func variants() []Variant {
	return []Variant{
		{Name: Lexical, Mode: Lexical}, {Name: Vector, Mode: Vector}, {Name: Hybrid, Mode: Hybrid},
		{Name: NoAttribute, Mode: Hybrid, Weights: map[string]float64{attributeSignal: 0}},
		{Name: ProfileDefault, Mode: Hybrid, Profile: "default"},
		{Name: ProfileMem0, Mode: Hybrid, Profile: "mem0"},
		{Name: ByDialogue, Mode: Hybrid, Dialogue: true},
		{Name: Auto, Mode: Hybrid, Auto: true},
	}
}

// variantNamed returns a variant that searches; Context is none.
func variantNamed(name string) (Variant, error) {
	for _, v := range variants() {
		if v.Name == name {
			return v, nil
		}
	}
	return Variant{}, fmt.Errorf("no way to search is named %q", name)
}

// Offered returns the variants that the data can be asked with. For derived notes these are only hybrid searches and contexts. Auto,
// whose lists are the beginnings of Hybrid's, is not among them.
func (b *Bench) Offered() []string {
	out := []string{Lexical, Vector, Hybrid, NoAttribute, ProfileDefault}
	if b.mayBeDerived() {
		out = []string{Hybrid}
	}
	out = append(out, ProfileMem0, Context)
	if b.Data.hasDialogues() && !b.mayBeDerived() {
		out = append(out, ByDialogue)
	}
	return out
}

// mayBeDerived reports whether hits may be derived notes. They are scored by the turns they were
// derived from.
func (b *Bench) mayBeDerived() bool { return b.Talk || b.Policy != "none" }

// Run asks all questions with the named variant.
func (b *Bench) Run(ctx context.Context, name string) (*Result, error) {
	start := time.Now()
	var rows []Row
	var v Variant
	var err error
	var metrics []string
	if name == Context {
		metrics = contextMetrics(b.Data.Budgets)
		rows, err = b.AskContext(ctx)
	} else {
		if v, err = variantNamed(name); err != nil {
			return nil, err
		}
		if b.mayBeDerived() {
			metrics = derivedMetrics(b.Data.Budgets)
			rows, err = b.AskDerived(ctx, v)
		} else {
			metrics = b.Data.Metrics()
			rows, err = b.Ask(ctx, v)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	wall := time.Since(start)
	r := Summarize(b.Data, rows, metrics)
	r.Variant, r.Engine, r.Embedder = name, b.Engine, b.Embedder
	r.Settings = Settings{Variant: v, K: cutOff, Rerank: "none", Policy: b.Policy, Config: b.Config}
	r.Wall, r.Loading = wall.Seconds(), b.Loading.Seconds()
	if b.Talk {
		r.Stored = new(sumStored(b.Stored))
	}
	version, commit, err := b.Client.Version(ctx)
	if err != nil {
		return nil, err
	}
	r.Revision = strings.TrimSpace(version + " " + commit)
	return r, nil
}
