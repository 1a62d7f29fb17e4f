package recall

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/text"
)

// formulaPool is how many notes a formula scores at least: the best of them by words, and the nearest ones. A
// layer that is smaller is scored whole.
const formulaPool = MaxK

// byFormula returns the notes that the query's formula scores best, at most K. Usage and texts are read for
// the candidates only. Notes with equal scores are in the order of their cosines, then the newest first.
func (sr *searchRun) byFormula(ctx context.Context, ranker *search.Ranker, o search.Options) ([]search.Hit, error) {
	o.K = max(o.K, formulaPool)
	sr.signals = sr.candidates(sr.selection(), ranker, o, &sr.scratch).signals
	f := &formulaRun{searchRun: sr, formula: sr.q.Formula, terms: distinctTerms(sr.words)}
	if err := f.read(ctx); err != nil {
		return nil, err
	}
	hits := make([]search.Hit, 0, len(sr.signals))
	for i := range sr.signals {
		s := &sr.signals[i]
		if h, ok := f.score(s); ok && (sr.q.MinScore == nil || h.Score >= *sr.q.MinScore) {
			hits = append(hits, h)
		}
	}
	slices.SortFunc(hits, func(a, b search.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.Values[search.Vector], a.Values[search.Vector]), b.At.Compare(a.At), memory.CompareIDs(a.Note, b.Note))
	})
	return hits[:min(len(hits), sr.q.K)], nil
}

// formulaRun scores the candidates of one search.
type formulaRun struct {
	*searchRun

	formula *memory.Formula
	terms   []string // of the query, distinct
	has     map[uuid.UUID]map[string]bool
	usage   map[uuid.UUID]memory.Usage
}

// read reads what the index does not hold: the terms of the notes and their use, as far as these have a weight.
func (f *formulaRun) read(ctx context.Context) error {
	hits, ids := make([]search.Hit, len(f.signals)), make([]uuid.UUID, len(f.signals))
	for i := range f.signals {
		hits[i].Note, ids[i] = f.signals[i].Note, f.signals[i].Note
	}
	var err error
	if f.formula.Access != 0 {
		if f.usage, err = f.usageOf(ctx, ids); err != nil {
			return err
		}
	}
	if f.formula.Overlap == 0 && !f.formula.NeedsOverlap {
		return nil
	}
	notes, err := f.readNotes(ctx, hits, false)
	if err != nil {
		return err
	}
	f.has = make(map[uuid.UUID]map[string]bool, len(notes))
	for i := range notes {
		f.has[notes[i].ID] = text.TermSet(memory.EmbedText(&notes[i]))
	}
	return nil
}

// score returns a candidate as a hit; ok is false if the formula leaves it out.
func (f *formulaRun) score(s *index.Signals) (h search.Hit, ok bool) {
	w := f.formula
	h.Candidate = search.Candidate{Note: s.Note, Dense: s.Dense, At: s.OccurredAt()}
	h.Values[search.Vector], h.Values[search.Lexical] = s.Vector, s.Words
	add := func(name string, weight, value float64) {
		if weight != 0 {
			h.Score += weight * value
			h.Explain = append(h.Explain, search.Part{Name: name, Raw: value, Normalized: value, Weight: weight})
		}
	}
	overlap := f.overlap(s.Note)
	if w.NeedsOverlap && overlap == 0 {
		return h, false
	}
	attributes := s.Attributes()
	subject, _ := attributes[graph.AttrSubject].(string)
	relation, _ := attributes[graph.AttrRelation].(string)
	object, _ := attributes[graph.AttrObject].(string)
	confidence, _ := attributes[memory.AttrConfidence].(float64)
	objectNamed := f.names(object)
	if w.NeedsSubject && !objectNamed && !f.namesSubject(subject) && !(s.Dense && s.Vector >= w.Floor) {
		return h, false
	}
	add("cosine", w.Cosine, s.Vector)
	add("overlap", w.Overlap, overlap)
	add("importance", w.Importance, s.Importance())
	if w.Recency != 0 {
		age := max(f.service.clock().Sub(s.OccurredAt()), 0)
		add("recency", w.Recency, math.Exp(-age.Seconds()/w.RecencyScale.Seconds()))
	}
	if w.Access != 0 {
		u := f.usage[s.Note]
		add("access", w.Access, min(float64(u.AccessCount)/w.AccessCap, 1))
	}
	add("confidence", w.Confidence, confidence)
	add("relation", w.Relation, boolToFloat(relation != "" && slices.Contains(f.q.Aim.Relations, relation)))
	add("object", w.Object, boolToFloat(objectNamed))
	if s.Dense {
		h.Sources = append(h.Sources, search.SourceVector)
	}
	if s.Words > 0 || overlap > 0 {
		h.Sources = append(h.Sources, search.SourceLexical)
	}
	return h, true
}

// overlap returns the share of the query's distinct terms that a note has.
func (f *formulaRun) overlap(note uuid.UUID) float64 {
	if len(f.terms) == 0 || f.has == nil {
		return 0
	}
	shared := 0
	for _, t := range f.terms {
		if f.has[note][t] {
			shared++
		}
	}
	return float64(shared) / float64(len(f.terms))
}

// names reports whether the query has a name: as it is written in a text without spaces, else all its terms.
func (f *formulaRun) names(name string) bool {
	if name == "" {
		return false
	}
	if lang, _ := text.Guess(name); lang == text.Chinese {
		return strings.Contains(strings.ToLower(f.words), strings.ToLower(name))
	}
	terms := distinctTerms(name)
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(t string) bool { return !slices.Contains(f.terms, t) })
}

// namesSubject reports whether the query names the subject of a triple.
func (f *formulaRun) namesSubject(subject string) bool {
	return subject != "" && slices.Contains(f.q.Aim.Subjects, strings.ToLower(subject)) || f.names(subject)
}

// distinctTerms returns the index terms of a text, each once.
func distinctTerms(s string) []string {
	terms := text.Terms(s)
	slices.Sort(terms)
	return slices.Compact(terms)
}
