package eval

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The ways to ask that a run can have.
const (
	// Lexical, Vector and Hybrid are the modes of a search, as the gateway ranks by itself.
	Lexical = "lexical"
	Vector  = "vector"
	Hybrid  = "hybrid"
	// NoAttribute is Hybrid without the boost of attribute values that the query names.
	NoAttribute = "no-attribute"
	// ProfileDefault and ProfilePeople are Hybrid with a profile of the ranking instead
	// of the one that the gateway chooses by what the collection holds.
	ProfileDefault = "default"
	ProfilePeople  = "people"
	// ProfileMem0 is Hybrid ranked as Mem0 does.
	ProfileMem0 = "mem0"
	// DefaultNoAttribute is ProfileDefault without that boost.
	DefaultNoAttribute = "default-no-attribute"
	// Context asks for prompt-ready text.
	Context = "context"
)

// attributeSignal is what the boost that NoAttribute leaves out is called in explanations.
const attributeSignal = "attribute"

// variants are the searches.
func variants() []Variant {
	return []Variant{
		{Name: Lexical, Mode: Lexical}, {Name: Vector, Mode: Vector}, {Name: Hybrid, Mode: Hybrid},
		{Name: NoAttribute, Mode: Hybrid, Weights: map[string]float64{attributeSignal: 0}},
		{Name: ProfileDefault, Mode: Hybrid, Profile: "default"},
		{Name: DefaultNoAttribute, Mode: Hybrid, Profile: "default", Weights: map[string]float64{attributeSignal: 0}},
		{Name: ProfilePeople, Mode: Hybrid, Profile: "people"},
		{Name: ProfileMem0, Mode: Hybrid, Profile: "mem0"},
	}
}

// VariantNamed gives a way to search; Context is none.
func VariantNamed(name string) (Variant, error) {
	for _, v := range variants() {
		if v.Name == name {
			return v, nil
		}
	}
	return Variant{}, fmt.Errorf("no way to search is named %q", name)
}

// Offered names the ways to ask that the gateway has, by its own contract. On derived
// notes only whole searches and contexts are told apart.
func (b *Bench) Offered(ctx context.Context) ([]string, error) {
	resp, err := b.Client.send(ctx, http.MethodGet, "/openapi.yaml", "", nil)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the contract: %w", err)
	}
	contract := string(raw)
	out := []string{Lexical, Vector, Hybrid}
	if b.derived() {
		out = []string{Hybrid}
	} else if search := schema(contract, "SearchQuery"); strings.Contains(search, " weights:") && strings.Contains(search, " profile:") {
		out = append(out, NoAttribute, ProfileDefault, DefaultNoAttribute, ProfilePeople)
	}
	if strings.Contains(schema(contract, "RankingProfile"), "mem0") {
		out = append(out, ProfileMem0)
	}
	if strings.Contains(contract, "/v1/collections/{collection}/context:") {
		out = append(out, Context)
	}
	return out, nil
}

// schema cuts one schema out of a contract in YAML: up to the next line that is indented
// as little.
func schema(contract, name string) string {
	_, after, _ := strings.Cut(contract, "\n    "+name+":\n")
	lines := strings.SplitAfter(after, "\n")
	end := slices.IndexFunc(lines, func(l string) bool { return !strings.HasPrefix(l, "      ") && strings.TrimSpace(l) != "" })
	if end < 0 {
		end = len(lines)
	}
	return strings.Join(lines[:end], "")
}

// derived says whether hits may be notes that a policy wrote, which are then scored by
// what they were made from.
func (b *Bench) derived() bool { return b.Talk || b.Policy != "none" }

// Run asks all questions in one way.
func (b *Bench) Run(ctx context.Context, name string) (*Result, error) {
	start := time.Now()
	var rows []Row
	var v Variant
	var err error
	metrics := Metrics(b.Data.Budgets)
	if name == Context {
		metrics = ContextMetrics(b.Data.Budgets)
		rows, err = b.AskContext(ctx)
	} else {
		if v, err = VariantNamed(name); err != nil {
			return nil, err
		}
		if b.derived() {
			metrics = DerivedMetrics(b.Data.Budgets)
			rows, err = b.AskDerived(ctx, v)
		} else {
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
