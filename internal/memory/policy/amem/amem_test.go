package amem

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest"
	"github.com/slipboxhq/slipbox/test/must"
)

// want is what a row of the table expects of a decision.
type want struct {
	links    []byte            // targets
	tags     []string          // of the new note
	puts     map[byte][]string // context, tags joined, keywords joined
	proposed []byte            // notes that wait for review
	applied  []byte
	evolved  bool
	pending  bool
	decision string
	dropped  Dropped
	noCall   bool
}

// TestDecisions is the table of A-MEM's decisions: C017, C020, C021, C022, C023,
// C024, C025, C026, C027, C028, C029, C030, C031, C032, C034, C035, C076, C078, C317.
func TestDecisions(t *testing.T) {
	t.Parallel()
	five := policytest.Neighbors(5)
	rows := []struct {
		name   string
		config string
		near   []memory.Neighbor
		new    func(*memory.Note)
		answer string
		want   want
	}{
		{
			name: "C028 the first note asks no model", near: nil,
			want: want{tags: []string{"tag9"}, decision: decisionAlone, noCall: true},
		},
		{
			name: "C027 should_evolve false changes nothing, with anything else in the answer", near: five,
			answer: `{"should_evolve":false,"actions":["strengthen","update_neighbor"],"suggested_connections":[0],"tags_to_update":["x"],"new_context_neighborhood":["x"],"confidence":1}`,
			want:   want{tags: []string{"tag9"}, decision: policy.DecisionKeep},
		},
		{
			name: "C020 C021 strengthen links real notes and sets the tags", near: five,
			answer: `{"should_evolve":true,"actions":["strengthen"],"suggested_connections":[2,0],"tags_to_update":["physics"," physics ","#optics"],"confidence":0.95}`,
			want:   want{links: []byte{3, 1}, tags: []string{"physics", "optics"}, evolved: true, decision: decisionEvolve},
		},
		{
			name: "C021 an empty list of tags keeps them", near: five,
			answer: `{"should_evolve":true,"actions":["strengthen"],"suggested_connections":[0],"tags_to_update":[],"confidence":0.95}`,
			want:   want{links: []byte{1}, tags: []string{"tag9"}, evolved: true, decision: decisionEvolve},
		},
		{
			name: "the caller's tags win", near: five, new: func(n *memory.Note) { n.Supplied = []string{"tags"} },
			answer: `{"should_evolve":true,"actions":["strengthen"],"suggested_connections":[0],"tags_to_update":["other"],"confidence":0.95}`,
			want:   want{links: []byte{1}, tags: []string{"tag9"}, evolved: true, decision: decisionEvolve},
		},
		{
			name: "unknown handles and repeats are dropped and counted", near: policytest.Neighbors(2),
			answer: `{"should_evolve":true,"actions":["strengthen"],"suggested_connections":[7,-1,1,1,99999],"confidence":0.95}`,
			want:   want{links: []byte{2}, tags: []string{"tag9"}, evolved: true, decision: decisionEvolve, dropped: Dropped{Handles: 3, Repeats: 1}},
		},
		{
			name: "C032 no more than max_links links", near: five, config: `{"max_links":2}`,
			answer: `{"should_evolve":true,"actions":["strengthen"],"suggested_connections":[4,3,2,1],"confidence":0.95}`,
			want:   want{links: []byte{5, 4}, tags: []string{"tag9"}, evolved: true, decision: decisionEvolve, dropped: Dropped{OverLimit: 2}},
		},
		{
			name: "C031 strengthen works on a note without tags, keywords and context", near: five,
			new:    func(n *memory.Note) { n.Tags, n.Keywords, n.Context = nil, nil, memory.DefaultContext },
			answer: `{"should_evolve":true,"actions":["strengthen"],"suggested_connections":[0],"tags_to_update":["new"],"confidence":0.95}`,
			want:   want{links: []byte{1}, tags: []string{"new"}, evolved: true, decision: decisionEvolve},
		},
		{
			name: "C022 C023 C024 update_neighbor changes context, tags and keywords of the i-th neighbour by id", near: policytest.Neighbors(2),
			answer: `{"should_evolve":true,"actions":["update_neighbor"],"new_context_neighborhood":["Context 1.","Changed."],"new_tags_neighborhood":[["tag1"],["t"]],"new_keywords_neighborhood":[["kw1","shared"],["k"]],"confidence":0.95}`,
			want:   want{tags: []string{"tag9"}, puts: map[byte][]string{2: {"Changed.", "t", "k"}}, applied: []byte{2}, evolved: true, decision: decisionEvolve},
		},
		{
			name: "C034 an answer that joins keywords and appends to the context does so", near: policytest.Neighbors(1),
			answer: `{"should_evolve":true,"actions":["update_neighbor"],"new_context_neighborhood":["Context 1. Context 9."],"new_keywords_neighborhood":[["kw1","shared","kw9"]],"confidence":0.95}`,
			want:   want{tags: []string{"tag9"}, puts: map[byte][]string{1: {"Context 1. Context 9.", "tag1", "kw1,shared,kw9"}}, applied: []byte{1}, evolved: true, decision: decisionEvolve},
		},
		{
			name: "C025 a short list keeps that neighbour's own context", near: policytest.Neighbors(2),
			answer: `{"should_evolve":true,"actions":["update_neighbor"],"new_context_neighborhood":["Changed."],"new_tags_neighborhood":[["tag1"],["t"]],"confidence":0.95}`,
			want: want{
				tags: []string{"tag9"}, puts: map[byte][]string{1: {"Changed.", "tag1", "kw1,shared"}, 2: {"Context 2.", "t", "kw2,shared"}},
				applied: []byte{1, 2}, evolved: true, decision: decisionEvolve,
			},
		},
		{
			name: "C026 surplus entries are ignored and counted", near: policytest.Neighbors(1),
			answer: `{"should_evolve":true,"actions":["update_neighbor"],"new_context_neighborhood":["Changed.","x","y"],"confidence":0.95}`,
			want:   want{tags: []string{"tag9"}, puts: map[byte][]string{1: {"Changed.", "tag1", "kw1,shared"}}, applied: []byte{1}, evolved: true, decision: decisionEvolve, dropped: Dropped{Surplus: 2}},
		},
		{
			name: "C317 an answer equal to what a neighbour has is not a change; order and letter case of terms do not count", near: policytest.Neighbors(2),
			answer: `{"should_evolve":true,"actions":["update_neighbor"],"new_context_neighborhood":[" Context  1. ","Context 2."],"new_tags_neighborhood":[["TAG1"],["tag2"]],"new_keywords_neighborhood":[["shared","kw1"],["kw2","shared"]],"confidence":1}`,
			want:   want{tags: []string{"tag9"}, decision: policy.DecisionKeep},
		},
		{
			name: "empty texts and lists are not a change", near: policytest.Neighbors(2),
			answer: `{"should_evolve":true,"actions":["update_neighbor"],"new_context_neighborhood":["","  "],"new_tags_neighborhood":[[],[""]],"new_keywords_neighborhood":[[]],"confidence":1}`,
			want:   want{tags: []string{"tag9"}, decision: policy.DecisionKeep},
		},
		{
			name: "C076 C317 of more than three real changes the three nearest are applied", near: five,
			answer: `{"should_evolve":true,"actions":["update_neighbor"],"new_context_neighborhood":["Context 1.","b","c","d","e"],"confidence":0.95}`,
			want: want{
				tags: []string{"tag9"}, puts: map[byte][]string{2: {"b", "tag2", "kw2,shared"}, 3: {"c", "tag3", "kw3,shared"}, 4: {"d", "tag4", "kw4,shared"}},
				applied: []byte{2, 3, 4}, evolved: true, decision: decisionEvolve, dropped: Dropped{OverLimit: 1},
			},
		},
		{
			name: "C078 at the gate changes of old notes wait, links do not", near: policytest.Neighbors(2),
			answer: `{"should_evolve":true,"actions":["strengthen","update_neighbor"],"suggested_connections":[1],"new_context_neighborhood":["Changed."],"confidence":0.9}`,
			want:   want{links: []byte{2}, tags: []string{"tag9"}, proposed: []byte{1}, evolved: true, decision: decisionEvolve},
		},
		{
			name: "C078 far below the gates nothing is applied", near: policytest.Neighbors(2),
			answer: `{"should_evolve":true,"actions":["strengthen","update_neighbor"],"suggested_connections":[1],"new_context_neighborhood":["Changed."],"confidence":0.2}`,
			want:   want{tags: []string{"tag9"}, proposed: []byte{9, 1}, decision: decisionReview},
		},
		{
			name: "C078 without a confidence everything waits", near: policytest.Neighbors(2),
			answer: `{"should_evolve":true,"actions":["update_neighbor"],"new_context_neighborhood":["Changed."]}`,
			want:   want{tags: []string{"tag9"}, proposed: []byte{1}, decision: decisionReview},
		},
		{
			name: "a confidence out of range is none", near: policytest.Neighbors(2),
			answer: `{"should_evolve":true,"actions":["update_neighbor"],"new_context_neighborhood":["Changed."],"confidence":95}`,
			want:   want{tags: []string{"tag9"}, proposed: []byte{1}, decision: decisionReview},
		},
		{
			name: "C078 the gate is a setting", near: policytest.Neighbors(2), config: `{"confidence_gate":0.1}`,
			answer: `{"should_evolve":true,"actions":["update_neighbor"],"new_context_neighborhood":["Changed."],"confidence":0.2}`,
			want:   want{tags: []string{"tag9"}, puts: map[byte][]string{1: {"Changed.", "tag1", "kw1,shared"}}, applied: []byte{1}, evolved: true, decision: decisionEvolve},
		},
		{
			name: "C029 absent arrays and unknown actions change nothing", near: five,
			answer: `{"should_evolve":true,"actions":["delete_everything","strengthen","update_neighbor"],"extra":1,"confidence":1}`,
			want:   want{tags: []string{"tag9"}, decision: policy.DecisionKeep},
		},
		{
			name: "C030 an answer of wrong types leaves the note unevolved and pending", near: five,
			answer: `{"should_evolve":"yes","actions":7}`,
			want:   want{tags: []string{"tag9"}, pending: true, decision: decisionUnevolved},
		},
		{
			name: "C017 no more than k neighbors, never the note itself", config: `{"k_neighbours":2}`,
			near:   append([]memory.Neighbor{{Note: policytest.Note(9, "itself"), Score: 1}}, five...),
			answer: `{"should_evolve":true,"actions":["strengthen"],"suggested_connections":[0,1],"confidence":0.95}`,
			want:   want{links: []byte{1}, tags: []string{"tag9"}, evolved: true, decision: decisionEvolve, dropped: Dropped{Handles: 1}},
		},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			p := newAMem(t)
			d := &policytest.Desk{Overrides: r.config, Near: r.near, Answers: map[string]string{"evolve": r.answer}}
			n := policytest.Note(9, "New content.")
			if r.new != nil {
				r.new(&n)
			}
			dec := must.Get(p.Decide(t.Context(), d, policytest.Added(n)))(t)
			if diff := cmp.Diff(r.want, seen(t, dec, len(d.Asked)), cmp.AllowUnexported(want{})); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
			if dec.Note.Category != "Work" || dec.Note.Content != n.Content {
				t.Errorf("category or content of the new note changed")
			}
			for _, put := range dec.Puts {
				if put.Category != "Work" || !strings.HasPrefix(put.Content, "Old content") {
					t.Errorf("category or content of note %s changed", put.ID)
				}
			}
		})
	}
}

func seen(t *testing.T, dec memory.Decision, calls int) want {
	t.Helper()
	var o Outcome
	must.Do(t, json.Unmarshal(dec.Outcome, &o))
	w := want{
		tags: dec.Note.Tags, evolved: dec.Evolved, pending: dec.Pending != "", decision: o.Decision, dropped: o.Dropped, noCall: calls == 0,
	}
	for _, l := range dec.Links {
		if l.Source != policytest.ID(9) || l.Relation != memory.RelatedTo {
			t.Errorf("a link from %s by %q", l.Source, l.Relation)
		}
		w.links = append(w.links, l.Target[15])
	}
	for _, p := range dec.Puts {
		if w.puts == nil {
			w.puts = map[byte][]string{}
		}
		w.puts[p.ID[15]] = []string{p.Context, strings.Join(p.Tags, ","), strings.Join(p.Keywords, ",")}
	}
	if dec.Review != nil {
		for _, c := range dec.Review.Changes {
			w.proposed = append(w.proposed, c.Note[15])
		}
	}
	if dec.Applied != nil {
		for _, c := range dec.Applied.Changes {
			w.applied = append(w.applied, c.Note[15])
		}
	}
	return w
}

// C035: a decision about a contradicting note names the old one and what was done about it.
func TestOutcomeNamesTheOldNote_C035(t *testing.T) {
	t.Parallel()
	d := &policytest.Desk{Near: policytest.Neighbors(2), Answers: map[string]string{
		"evolve": `{"should_evolve":true,"actions":["strengthen","update_neighbor"],"suggested_connections":[1],
			"new_context_neighborhood":["Context 1.","Drank coffee until March."],"confidence":0.95}`,
	}}
	dec := must.Get(newAMem(t).Decide(t.Context(), d, policytest.Added(policytest.Note(9, "I do not drink coffee any more."))))(t)
	var o Outcome
	must.Do(t, json.Unmarshal(dec.Outcome, &o))
	c := o.Considered[1]
	if c.Note != policytest.ID(2) || !slices.Equal(c.Effects, []string{"linked", "changed"}) || !slices.Equal(c.Fields, []string{"context"}) {
		t.Errorf("considered %+v", c)
	}
}

func TestTransportErrorsAreErrors_C030(t *testing.T) {
	t.Parallel()
	down := fault.New(fault.Unavailable, "http://model is down")
	d := &policytest.Desk{Near: policytest.Neighbors(1), Err: down}
	if _, err := newAMem(t).Decide(t.Context(), d, policytest.Added(policytest.Note(9, "x"))); !errors.Is(err, down) {
		t.Errorf("decide gave %v", err)
	}
	if _, err := newAMem(t).Prepare(t.Context(), d, memory.Note{Content: "x"}); !errors.Is(err, down) {
		t.Errorf("prepare gave %v", err)
	}
}

// C005, C006, C007, C016, C316: missing fields are filled and cleaned; supplied fields stay.
func TestPrepare(t *testing.T) {
	t.Parallel()
	const answer = `{"keywords":["Caroline","adoption agency","Yesterday","8 May 2023","agency","Adoption Agency","family plans\nignore","caroline's plan"],
		"context":"Caroline tells of her visit to an agency. She also did more.","tags":["family","#family","Family","planning","dialogue","  "]}`
	base := memory.Note{ID: policytest.ID(9), Content: "Caroline: I went to an adoption agency yesterday.", Context: memory.DefaultContext, OccurredAt: policytest.Noon}
	described := []string{"adoption agency", "family plans ignore", "went"}
	sentence := "Caroline tells of her visit to an agency."
	tags := []string{"family", "planning", "dialogue"}
	rows := []struct {
		name    string
		change  func(*memory.Note)
		want    memory.Note
		wantAsk []string
	}{
		{"everything", func(*memory.Note) {}, memory.Note{Keywords: described, Context: sentence, Tags: tags}, []string{"keywords", "context", "tags"}},
		{"a supplied field wins", func(n *memory.Note) { n.Supplied, n.Tags = []string{"tags"}, []string{"mine"} },
			memory.Note{Keywords: described, Context: sentence, Tags: []string{"mine"}}, []string{"keywords", "context"}},
		{"defaults do not count as supplied", func(n *memory.Note) { n.Supplied = []string{"tags", "context", "keywords"} },
			memory.Note{Keywords: described, Context: sentence, Tags: tags}, []string{"keywords", "context", "tags"}},
		{"all supplied: no model is asked", func(n *memory.Note) {
			n.Supplied, n.Tags, n.Keywords, n.Context = []string{"tags", "context", "keywords"}, []string{"a"}, []string{"b"}, "C."
		}, memory.Note{Keywords: []string{"b"}, Context: "C.", Tags: []string{"a"}}, nil},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			n := base
			r.change(&n)
			d := &policytest.Desk{Answers: map[string]string{"analyze": answer}}
			got := must.Get(newAMem(t).Prepare(t.Context(), d, n))(t)
			if diff := cmp.Diff([]any{r.want.Keywords, r.want.Context, r.want.Tags}, []any{got.Keywords, got.Context, got.Tags}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(r.wantAsk) == 0 {
				if len(d.Asked) != 0 || got.Analyst != "" {
					t.Errorf("asked %d times, analyst %q", len(d.Asked), got.Analyst)
				}
				return
			}
			in, ok := d.Asked[0].Input.(AnalyzeInput)
			if !ok || !slices.Equal(in.Want, r.wantAsk) || in.Speaker != "Caroline" || got.Analyst != memory.AnalystModel {
				t.Errorf("asked with %+v, analyst %q", d.Asked[0].Input, got.Analyst)
			}
		})
	}
	t.Run("C005 a model that names one keyword is completed from the content", func(t *testing.T) {
		t.Parallel()
		n := base
		n.Content = "Bees in the orchard survive the frost because the straw keeps their hives dry."
		d := &policytest.Desk{Answers: map[string]string{"analyze": `{"keywords":["winter"],"context":"How bees survive.","tags":["nature","fact","note"]}`}}
		got, err := newAMem(t).Prepare(t.Context(), d, n)
		if err != nil || len(got.Keywords) != 3 || got.Keywords[0] != "winter" {
			t.Errorf("%q, %v", got.Keywords, err)
		}
	})
	t.Run("C009 an unusable answer is an error that says so", func(t *testing.T) {
		t.Parallel()
		d := &policytest.Desk{Answers: map[string]string{"analyze": `{"keywords":"none"}`}}
		if _, err := newAMem(t).Prepare(t.Context(), d, base); !errors.Is(err, memory.ErrBadAnswer) {
			t.Errorf("got %v", err)
		}
	})
}

// C327: with the setting, an input with two unrelated concepts becomes two notes with
// one provenance, with a model and without.
func TestSplit_C327(t *testing.T) {
	t.Parallel()
	const two = "The vegetable garden needs water in summer. Tomatoes in the garden want water twice a day. " +
		"Our database server crashed on deployment. The crashed server lost its replication log."
	first, rest, _ := strings.Cut(two, " Our")
	second := "Our" + rest
	parts := must.Get(json.Marshal(map[string]any{"parts": []string{first, second}}))(t)
	for name, d := range map[string]*policytest.Desk{
		"model": {Overrides: `{"split":true}`, Answers: map[string]string{"split": string(parts)}},
		"none":  {Overrides: `{"split":true}`, By: memory.AnalystHeuristic},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dec := must.Get(newAMem(t).Decide(t.Context(), d, policytest.Added(policytest.Note(9, two))))(t)
			if len(dec.Puts) != 1 || dec.Note.Content != first || dec.Puts[0].Content != second {
				t.Fatalf("got %q and %+v", dec.Note.Content, dec.Puts)
			}
			from := []uuid.UUID{policytest.ID(9)}
			if !slices.Equal(dec.Note.Provenance.Sources, from) || !slices.Equal(dec.Puts[0].Provenance.Sources, from) {
				t.Errorf("sources %v and %v", dec.Note.Provenance.Sources, dec.Puts[0].Provenance.Sources)
			}
			if dec.Note.ID != policytest.ID(9) || dec.Puts[0].ID != uuid.Nil || dec.Note.State != memory.StateRaw || dec.Puts[0].State != memory.StateRaw {
				t.Error("ids or states are wrong")
			}
			again, err := newAMem(t).Decide(t.Context(), d, policytest.Added(dec.Note))
			if err != nil || len(again.Puts) != 0 {
				t.Errorf("a part is split again: %v, %v", again.Puts, err)
			}
		})
	}
	t.Run("off by default", func(t *testing.T) {
		t.Parallel()
		dec, err := newAMem(t).Decide(t.Context(), &policytest.Desk{By: memory.AnalystHeuristic}, policytest.Added(policytest.Note(9, two)))
		if err != nil || dec.Note.Content != two || len(dec.Puts) != 0 {
			t.Errorf("got %+v, %v", dec, err)
		}
	})
	t.Run("an answer that rewrites is not followed", func(t *testing.T) {
		t.Parallel()
		d := &policytest.Desk{Overrides: `{"split":true}`, Answers: map[string]string{"split": `{"parts":["Obey me.","And me."]}`}}
		dec, err := newAMem(t).Decide(t.Context(), d, policytest.Added(policytest.Note(9, two)))
		if err != nil || dec.Note.Content != two || len(dec.Puts) != 0 {
			t.Errorf("got %+v, %v", dec, err)
		}
	})
}

func newAMem(t *testing.T) *Policy {
	t.Helper()
	p := must.Get(New())(t)
	return p
}

// Models write numbers, truth values and an action in other forms.
func TestLenientEvolution(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		`{"should_evolve":"True","actions":"strengthen","suggested_connections":["0",1],"confidence":"0.95"}`: `{"actions":["strengthen"],"confidence":0.95,"should_evolve":true,"suggested_connections":[0,1]}`,
		"Evet:\n```json\n{\"should_evolve\":false,\"suggested_connections\":[\"yok\"]}\n```":                  `{"should_evolve":false,"suggested_connections":["yok"]}`,
		`{"should_evolve":"belki"}`: ``,
		`{"x":1}`:                   ``,
		`evet`:                      ``,
	} {
		if got := string(lenientEvolution(said)); got != want {
			t.Errorf("%s is %s", said, got)
		}
	}
}
