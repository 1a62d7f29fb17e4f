package recall

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/when"
)

// finding is one search under way.
type finding struct {
	r        *Service
	scope    tenant.Scope
	view     memory.View
	q        Query
	words    string
	mode     Mode        // that answers, after degrading
	index    *index.View // nil: the store answers
	asked    *index.Query
	nearest  map[uuid.UUID]memory.Version // that the store found
	degraded string
	linked   map[uuid.UUID]search.Linked
	graph    map[uuid.UUID]bool // triples near entities that the query names
	tokens   []index.Token      // of the query
	found    []index.Signals

	ranked     search.Profile // whose weights were used
	answerable *float64
	spans      []when.Range          // of time that the query names
	named      map[string]string     // values of attributes that it names, by key
	boosts     map[uuid.UUID]float64 // of notes linked to entities that it names
}

// Search answers one query over a view; a batch calls it once per query. In
// hybrid mode an embedder that fails leaves the words to answer, which Result
// says; in vector mode it is the error.
func (r *Service) Search(ctx context.Context, s tenant.Scope, v memory.View, q Query) (Result, error) {
	start := time.Now()
	if err := may(s, &v); err != nil {
		return Result{}, err
	}
	if !q.Internal {
		rd := r.reading(&v.Collection)
		r.read(&rd, &q)
	}
	words, err := q.check(r.judge != nil)
	if err != nil {
		return Result{}, err
	}
	f := &finding{r: r, scope: s, view: v, q: q, words: words, mode: q.Mode}
	hits, err := f.find(ctx)
	if err != nil {
		return Result{}, err
	}
	out := Result{Revision: v.At, Mode: q.Mode, Answerable: f.answerable}
	if f.mode != Vector {
		out.Profile = f.ranked
	}
	if out.Hits, err = f.show(ctx, hits); err != nil {
		return Result{}, err
	}
	out.Degraded = f.degraded
	if !q.Internal {
		found := make([]uuid.UUID, len(out.Hits))
		for i := range out.Hits {
			found[i] = out.Hits[i].ID
		}
		r.counter.add(s, v.Collection.ID, found, memory.Instant(r.clock()))
	}
	out.Took = time.Since(start)
	return out, nil
}

// find gives the ranked hits, at most K.
func (f *finding) find(ctx context.Context) ([]search.Hit, error) {
	if f.scans() {
		return f.scan(ctx)
	}
	var err error
	if f.index, err = f.r.opened(ctx, f.scope, f.view); err != nil {
		return nil, err
	}
	made, err := f.embedding(ctx)
	if err != nil {
		return nil, err
	}
	f.tokens = lateTokens(&made)
	words := f.words
	if f.mode == Vector {
		words = ""
	}
	if f.asked, err = f.index.Query(words, made.Vector); err != nil {
		return nil, err
	}
	ranker, err := f.ranker()
	if err != nil {
		return nil, err
	}
	o := search.Options{Mode: f.mode, K: f.q.K, MinScore: f.q.MinScore, Now: f.r.clock()}
	if f.q.Rerank == RerankModel {
		// The model sees more than is asked for; its order decides who is among the first.
		o.K = max(f.q.K, f.r.cfg.RerankPool)
	}
	f.context()
	o.Terms = f.asked.Terms()
	if ranker.Weighs(search.Entity) && f.mode == Hybrid {
		if f.boosts, err = f.entities(ctx); err != nil {
			return nil, err
		}
	}
	result := ranker.Rank(f.candidates(ranker, o), o)
	hits := result.Hits
	linked, err := f.around(ctx)
	if err != nil {
		return nil, err
	}
	if f.q.ExpandLinks > 0 && len(hits) > 0 {
		more, err := f.expand(ctx, hits)
		if err != nil {
			return nil, err
		}
		linked = append(linked, slices.DeleteFunc(more, func(l search.Linked) bool { return f.graph[l.Note] })...)
	}
	if len(linked) > 0 {
		hits = result.WithLinked(linked, f.linkedCandidates(linked))
		f.marked(hits)
	}
	if f.q.Rerank == RerankModel {
		if hits, err = f.rerank(ctx, hits); err != nil {
			return nil, err
		}
	}
	hits = hits[:min(len(hits), f.q.K)]
	if len(hits) > 0 && f.mode != Lexical {
		f.answerable = answerable(&hits[0])
	}
	return hits, nil
}

// answerable is how well the best hit itself meets the query: by the directions
// of its words, else by its own.
func answerable(best *search.Hit) *float64 {
	switch {
	case best.Values[search.Late] > 0:
		return new(best.Values[search.Late])
	case best.Dense:
		return new(max(best.Values[search.Vector], 0))
	}
	return nil
}

// expand follows links both ways from the hits, up to K more notes.
func (f *finding) expand(ctx context.Context, hits []search.Hit) ([]search.Linked, error) {
	linked, err := search.Expand(hits, f.q.ExpandLinks, f.q.K, func(notes []search.ID) ([]search.Edge, error) {
		ids := make([]uuid.UUID, len(notes))
		for i, n := range notes {
			ids[i] = n
		}
		links, err := f.r.store.Links(ctx, f.scope, f.view, memory.LinkQuery{Notes: ids, Direction: memory.Both})
		if err != nil {
			return nil, err
		}
		edges := make([]search.Edge, len(links))
		for i, l := range links {
			edges[i] = search.Edge{A: l.Source, B: l.Target, Confidence: l.Confidence}
		}
		return edges, nil
	})
	if f.linked == nil {
		f.linked = make(map[uuid.UUID]search.Linked, len(linked))
	}
	for _, l := range linked {
		if !f.graph[l.Note] {
			f.linked[l.Note] = l
		}
	}
	return linked, err
}

// rerank runs the two-stage filter. A model that fails leaves the hits of the
// first stage in their order.
func (f *finding) rerank(ctx context.Context, hits []search.Hit) ([]search.Hit, error) {
	if f.degraded != "" {
		return hits, nil // no cosine to go by
	}
	out, err := search.TwoStage(hits, f.floor(), func(pool []search.Hit) (map[search.ID]float64, error) {
		return f.judge(ctx, pool[:min(len(pool), f.r.cfg.RerankPool)])
	}, f.r.cfg.RerankThreshold)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		f.r.log.Warn("the model did not judge the hits; the coarse order stands",
			slog.String("collection", f.view.Collection.ID.String()), slog.Any("error", err))
		f.degraded = "the model did not judge the hits; the coarse order stands"
	}
	return out, nil
}

// floor is the cosine at or below which a hit is noise.
func (f *finding) floor() float64 {
	own := 0.0
	if e, ok := f.r.embedders.ByName(f.view.Collection.Embedder); ok {
		if known, ok := e.(memory.Floored); ok {
			own = known.NoiseFloor()
		}
	}
	return cmp.Or(f.r.cfg.CoarseThreshold, own, search.NoiseFloor)
}

func (f *finding) judge(ctx context.Context, pool []search.Hit) (map[search.ID]float64, error) {
	score := make(map[uuid.UUID]float64, len(pool))
	for _, h := range pool {
		score[h.Note] = h.Values[search.Vector]
	}
	notes, err := f.read(ctx, pool, false)
	if err != nil {
		return nil, err
	}
	described := make([]memory.Described, len(notes))
	for i := range notes {
		n := &notes[i]
		described[i] = memory.Described{
			Handle: i, Content: n.Content, Context: n.Context, Keywords: n.Keywords, Tags: n.Tags,
			Time: n.OccurredAt, Score: score[n.ID],
		}
	}
	call, err := f.r.judge.Call(f.view.Collection.ID, f.words, described)
	if err != nil {
		return nil, err
	}
	answer, err := f.r.model.Ask(ctx, f.scope, call)
	if err != nil {
		return nil, err
	}
	scores, dropped, err := f.r.judge.Scores(answer, len(described))
	if err != nil {
		return nil, err
	}
	if dropped > 0 {
		f.r.log.Warn("the model judged notes that it was not shown", slog.Int("dropped", dropped))
	}
	out := make(map[search.ID]float64, len(notes))
	for i := range notes {
		if i < len(scores) && !math.IsNaN(scores[i]) {
			out[notes[i].ID] = scores[i]
		}
	}
	return out, nil
}

// read gives the notes of hits in their order: the versions that were scored,
// which a cache may have, or with vectors, which only the store has.
func (f *finding) read(ctx context.Context, hits []search.Hit, vectors bool) ([]memory.Note, error) {
	if len(hits) == 0 {
		return nil, nil
	}
	if vectors {
		ids := make([]uuid.UUID, len(hits))
		for i, h := range hits {
			ids[i] = h.Note
		}
		return f.r.store.Notes(ctx, f.scope, f.view, ids, memory.ReadOptions{Vector: true})
	}
	keys := make([]memory.Version, 0, len(hits))
	for _, h := range hits {
		if key, ok := f.version(h.Note); ok {
			keys = append(keys, key)
		}
	}
	return f.r.store.Versions(ctx, f.scope, f.view, keys)
}

// version gives the version of a note that was scored.
func (f *finding) version(note uuid.UUID) (memory.Version, bool) {
	if f.index == nil {
		v, ok := f.nearest[note]
		return v, ok
	}
	return versionIn(f.index, &f.view, note)
}

// show reads what the hits say and keeps the token budget.
func (f *finding) show(ctx context.Context, hits []search.Hit) ([]Hit, error) {
	views := map[uuid.UUID]*NoteView{}
	if !f.q.IDsOnly || f.q.TokenBudget > 0 {
		notes, err := f.read(ctx, hits, f.q.Embedding)
		if err != nil {
			return nil, err
		}
		loaded, err := f.r.Views(ctx, f.scope, f.view, notes)
		if err != nil {
			return nil, err
		}
		for i := range loaded {
			views[loaded[i].ID] = &loaded[i]
		}
	}
	tokens := map[uuid.UUID]int{}
	if f.q.TokenBudget > 0 {
		for id, v := range views {
			tokens[id] = search.EstimateTokens(memory.EmbedText(&v.Note))
		}
		hits, _ = search.Budget(hits, f.q.TokenBudget, func(h search.Hit) int { return tokens[h.Note] })
	}
	out := make([]Hit, 0, len(hits))
	for _, h := range hits {
		hit := Hit{ID: h.Note, Score: h.Score, Sources: h.Sources, IsNeighbor: h.IsNeighbor}
		if !f.q.IDsOnly {
			if hit.Note = views[hit.ID]; hit.Note == nil {
				return nil, fault.New(fault.Internal, "the index knows the note %s, the store does not", hit.ID)
			}
			hit.Passage = f.passage(hit.Note)
		}
		if f.q.Explain {
			hit.Explain = f.explain(&h, tokens[hit.ID])
		}
		out = append(out, hit)
	}
	return out, nil
}

// passage gives the best passage of a note that has several.
func (f *finding) passage(n *NoteView) *text.Span {
	i, ok := placeOf(f.found, n.ID)
	if !ok || f.found[i].Words == 0 {
		return nil
	}
	best := f.found[i].Passage
	if best.End-best.Start >= len(strings.TrimSpace(n.Content)) {
		return nil
	}
	return &best
}

func (f *finding) explain(h *search.Hit, tokens int) *Explain {
	e := &Explain{Signals: h.Explain, Tokens: tokens}
	if v, ok := f.version(h.Note); ok {
		e.Version = fmt.Sprintf("%s.%s.%d", v.Layer, v.Note, v.From)
	}
	if l, ok := f.linked[h.Note]; ok && (h.IsNeighbor || f.graph[h.Note]) {
		e.Via, e.Hops = new(uuid.UUID(l.Via)), l.Hops
	}
	return e
}
