package recall

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fair"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/when"
)

// searchRun is one search in progress.
type searchRun struct {
	service *Service
	scope   tenant.Scope
	view    memory.View
	q       Query
	words   string      // of the query
	mode    Mode        // that answers, after degrading
	index   *index.View // nil: the store answers

	// The query, as the index takes it.
	indexQuery *index.Query
	embedded   embedded
	levels     []level // of late interaction with notes that the other encoder has read; nil: as measured

	// What the query says of time and attributes, and what the profile does with it.
	times           []when.Range          // that the query names
	namedAttributes map[string]string     // values that the query names, by key
	boosts          map[uuid.UUID]float64 // of notes linked to entities that the query names
	features        search.Features       // what its weights depend on
	usedProfile     search.Profile

	loadAfter bool // the index is filled in the background when the store has answered, which needs the processors

	// What was found.
	signals []index.Signals
	nearest map[uuid.UUID]memory.Version // by the store

	triplePaths map[uuid.UUID]search.Linked // to triples near entities that the query names

	exchanges  bool // hits of one exchange are one
	unmatched  bool // the query has words, and no note of the view has one
	answerable *float64
	reranked   bool   // by an endpoint, whose order stays
	degraded   string // see Result

	scratch scratch // what signals and candidates are in
}

// scratch is what a search computes in. The next search uses it again.
type scratch struct {
	signals    []index.Signals
	candidates []search.Candidate
	seen       map[int64]bool // digests
}

var scratches sync.Pool

// release leaves the scratch to another search: nothing of this one may be in it, or be used later.
func (s scratch) release() {
	clear(s.signals[:cap(s.signals)])
	clear(s.candidates[:cap(s.candidates)])
	clear(s.seen)
	scratches.Put(&s)
}

// Search answers one query over a view; a batch calls it once per query. If the embedder fails,
// words alone answer in hybrid mode, and Result.Degraded is set; in vector mode the failure is
// returned.
func (r *Service) Search(ctx context.Context, s tenant.Scope, v memory.View, q Query) (Result, error) {
	out, _, err := r.search(ctx, s, v, q)
	return out, err
}

// search is Search. It also returns the index that answered; nil if the store did.
func (r *Service) search(ctx context.Context, s tenant.Scope, v memory.View, q Query) (out Result, of *index.View, err error) {
	start := time.Now()
	if err := checkRead(s, &v); err != nil {
		return out, nil, err
	}
	q.Filter = filter.InZone(q.Filter, v.Zone())
	var rd memory.Reading
	if !q.Internal {
		rd = r.readingOf(&v.Collection)
		r.applyReading(&rd, &q)
	}
	if q.Rerank == "" && r.cfg.RerankAlways && r.reranker != nil && q.Vector == nil && q.Formula == nil && !q.Internal {
		q.Rerank = RerankEndpoint
	}
	words, err := q.check(r.judge != nil, r.reranker != nil)
	if err != nil {
		return out, nil, err
	}
	sr := &searchRun{
		service: r, scope: s, view: v, q: q, words: words, mode: q.Mode, exchanges: rd.PieceChars > 0 && !q.Halves,
	}
	if s, ok := scratches.Get().(*scratch); ok {
		sr.scratch = *s
	}
	defer func() { sr.scratch.release() }()
	hits, err := sr.run(ctx)
	if err != nil {
		return out, nil, err
	}
	if q.AutoK {
		hits = hits[:search.Leading(hits[:min(len(hits), sr.q.K)])]
	}
	beside, err := sr.findExchanges(ctx, hits)
	if err != nil {
		return out, nil, err
	}
	hits = beside.merge(hits)
	if hits, err = sr.together(ctx, hits); err != nil {
		return out, nil, err
	}
	hits = hits[:min(len(hits), sr.q.K)]
	out = Result{Revision: v.At, Mode: q.Mode, Answerable: sr.answerable}
	if sr.mode != Vector {
		out.Profile = sr.usedProfile
	}
	if out.Hits, err = sr.toHits(ctx, hits, beside); err != nil {
		return Result{}, nil, err
	}
	out.Degraded = sr.degraded
	if !q.Internal {
		r.countShown(ctx, s, &v, &rd, sr.shown(out.Hits))
	}
	out.Took = time.Since(start)
	return out, sr.index, nil
}

// shown returns the versions of the notes that hits show.
func (sr *searchRun) shown(hits []Hit) []memory.Version {
	out := make([]memory.Version, 0, len(hits))
	for i := range hits {
		ids := []uuid.UUID{hits[i].ID}
		for j := range hits[i].Exchange {
			if id := hits[i].Exchange[j].ID; id != hits[i].ID {
				ids = append(ids, id)
			}
		}
		for _, id := range ids {
			v, _ := sr.version(id)
			v.Note = id
			out = append(out, v)
		}
	}
	return out
}

// run returns the ranked hits, best first: as many as are put together, or K if that is more.
func (sr *searchRun) run(ctx context.Context) ([]search.Hit, error) {
	if err := sr.openIndex(ctx); err != nil {
		return nil, err
	}
	if sr.index == nil {
		if hits, scanned, err := sr.withoutIndex(ctx); scanned || err != nil {
			return hits, err
		}
	}
	if err := sr.q.Batch.charge(&sr.q, sr.index.Len()); err != nil {
		return nil, err
	}
	var err error
	if sr.embedded, err = sr.embedQuery(ctx); err != nil {
		return nil, err
	}
	leave, err := sr.service.turns.Enter(ctx, sr.scope.Tenant(), sr.class())
	if err != nil {
		return nil, err
	}
	leave = sync.OnceFunc(leave)
	defer leave()
	if err := sr.prepare(); err != nil {
		return nil, err
	}
	sr.readHints()
	sr.features = sr.readFeatures()
	ranker, err := sr.ranker()
	if err != nil {
		return nil, err
	}
	o := search.Options{Mode: sr.mode, K: sr.q.K, MinScore: sr.q.MinScore, Now: sr.service.clock()}
	if sr.q.Rerank != RerankNone {
		// The model judges more hits than were asked for, because its order decides which are first.
		o.K = max(sr.q.K, rerankPool)
	}
	if sr.q.Formula != nil {
		return sr.byFormula(ctx, ranker, o)
	}
	o.Terms = sr.indexQuery.Terms()
	if ranker.Weighs(search.Entity) && sr.mode == Hybrid {
		if sr.boosts, err = sr.entityBoosts(ctx); err != nil {
			return nil, err
		}
	}
	found, err := sr.find(ctx, ranker, o)
	if err != nil {
		return nil, err
	}
	_, ranked := sr.service.spans.start(ctx, spanRank)
	o.K = max(o.K, search.TogetherOf)
	if sr.exchanges {
		o.K = max(o.K, exchangeOf*sr.q.K)
	}
	result := ranker.Rank(found, o)
	ranked(nil)
	leave() // what follows reads the store, or asks a model
	hits, err := sr.followLinks(ctx, &result)
	if err != nil {
		return nil, err
	}
	if hits, err = sr.rerank(ctx, hits); err != nil {
		return nil, err
	}
	if len(hits) > 0 && sr.mode != Lexical {
		sr.answerable = sr.estimateAnswerable(hits[:min(len(hits), sr.q.K)], found)
	}
	return hits, nil
}

// prepare reads the query as the index takes it. Parts of words count by words alone, and where no note has a word of the query: the
// vector of one word says little of the compounds that it is a part of.
func (sr *searchRun) prepare() (err error) {
	words := sr.words
	if sr.mode == Vector {
		words = ""
	}
	if sr.indexQuery, err = sr.index.Query(words, sr.perLayer(func(e string) []float32 { return sr.embedded.by(e).vector })...); err != nil {
		return err
	}
	sr.unmatched = sr.indexQuery.Terms() > 0 && !sr.indexQuery.Matches()
	if sr.mode == Lexical || sr.unmatched {
		sr.indexQuery.AddParts(words)
	}
	return nil
}

// withoutIndex scans the store while the index loads, or waits for the index: scanned is false when it is open then.
func (sr *searchRun) withoutIndex(ctx context.Context) (hits []search.Hit, scanned bool, err error) {
	made, err := sr.embedQuery(ctx)
	if err == nil {
		hits, err = sr.scanStore(ctx, made.vector)
		if sr.loadAfter {
			sr.service.loadAhead(sr.scope, sr.view)
		}
		return hits, true, err
	}
	if sr.degraded != loadingDegraded || ctx.Err() != nil {
		return nil, false, err
	}
	// Words can answer when the index is filled.
	sr.mode, sr.degraded = Hybrid, ""
	return nil, false, sr.waitForIndex(ctx, sr.service.cfg.LoadTimeout)
}

// followLinks returns the hits of a ranking with the notes that links and triples lead to.
func (sr *searchRun) followLinks(ctx context.Context, result *search.Result) ([]search.Hit, error) {
	linked, err := sr.findTriples(ctx)
	if err != nil {
		return nil, err
	}
	if sr.q.ExpandLinks > 0 && len(result.Hits) > 0 {
		more, err := sr.expand(ctx, result.Best(search.LinkedFrom))
		if err != nil {
			return nil, err
		}
		linked = append(linked, slices.DeleteFunc(more, func(l search.Linked) bool { return sr.isTriple(l.Note) })...)
	}
	if len(linked) == 0 {
		return result.Hits, nil
	}
	hits := result.WithLinked(linked, sr.linkedCandidates(linked))
	sr.markTriples(hits)
	return hits, nil
}

// class returns the class of the search at the gate: a caller waits, or a job.
func (sr *searchRun) class() fair.Class {
	if sr.scope.IsJob() {
		return fair.Background
	}
	return fair.Foreground
}

// expand follows links in both directions from the best notes.
func (sr *searchRun) expand(ctx context.Context, best []search.ID) ([]search.Linked, error) {
	linked, err := search.Expand(best, sr.q.ExpandLinks, search.LinkedMost, func(notes []search.ID) ([]search.Edge, error) {
		ids := make([]uuid.UUID, len(notes))
		for i, n := range notes {
			ids[i] = n
		}
		links, err := sr.links(ctx, memory.LinkQuery{Notes: ids, Direction: memory.Both})
		if err != nil {
			return nil, err
		}
		edges := make([]search.Edge, len(links))
		for i, l := range links {
			edges[i] = search.Edge{A: l.Source, B: l.Target, Confidence: l.Confidence}
		}
		return edges, nil
	})
	return linked, err
}

const (
	rerankPool      = 40  // how many candidates are judged at most
	rerankThreshold = 0.5 // the relevance below which a judged note is not a hit
)

// rerank puts hits into the order that the query asks for.
func (sr *searchRun) rerank(ctx context.Context, hits []search.Hit) ([]search.Hit, error) {
	switch sr.q.Rerank {
	case RerankModel:
		return sr.rerankByModel(ctx, hits)
	case RerankEndpoint:
		return sr.rerankByEndpoint(ctx, hits)
	case RerankNone:
	}
	return hits, nil
}

// rerankByModel runs the two-stage filter. If the model fails, the hits keep their order.
func (sr *searchRun) rerankByModel(ctx context.Context, hits []search.Hit) ([]search.Hit, error) {
	if sr.degraded != "" {
		return hits, nil // there are no cosines
	}
	out, err := search.TwoStage(hits, sr.noiseFloor(), func(pool []search.Hit) (map[search.ID]float64, error) {
		scores, err := sr.judgeNotes(ctx, pool[:min(len(pool), rerankPool)])
		sr.service.outages.judge.Report(ctx, err, slog.Any("collection", sr.view.Collection.ID))
		return scores, err
	}, rerankThreshold)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		sr.degraded = "the model did not judge the hits; the coarse order is kept"
	}
	return out, nil
}

// rerankByEndpoint puts the best hits into the order of the endpoint. If that fails, they keep their own.
func (sr *searchRun) rerankByEndpoint(ctx context.Context, hits []search.Hit) ([]search.Hit, error) {
	pool := hits[:min(len(hits), rerankPool)]
	notes, err := sr.readNotes(ctx, pool, false)
	if err != nil || len(notes) == 0 {
		return hits, err
	}
	documents := make([]string, len(notes))
	for i := range notes {
		documents[i] = memory.EmbedText(&notes[i])
	}
	scores, err := sr.service.reranker.Rerank(ctx, sr.scope, sr.words, documents)
	sr.service.outages.rerank.Report(ctx, err, slog.Any("collection", sr.view.Collection.ID))
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		sr.degraded = "the endpoint did not rerank the hits; they keep their order"
		return hits, nil
	}
	sr.reranked = true
	judged := make(map[search.ID]float64, len(notes))
	for i := range notes {
		if !math.IsNaN(scores[i]) {
			judged[notes[i].ID] = scores[i]
		}
	}
	return search.Reorder(hits, judged, math.Inf(-1)), nil
}

// noiseFloor is the cosine of texts that have nothing to do with each other, as the collection's embedder sees them.
func (sr *searchRun) noiseFloor() float64 {
	if e, ok := sr.service.embedders.ByName(sr.view.Collection.Embedder); ok {
		if known, ok := e.(memory.Floored); ok {
			return cmp.Or(known.NoiseFloor(), search.NoiseFloor)
		}
	}
	return search.NoiseFloor
}

func (sr *searchRun) judgeNotes(ctx context.Context, pool []search.Hit) (map[search.ID]float64, error) {
	score := make(map[uuid.UUID]float64, len(pool))
	for _, h := range pool {
		score[h.Note] = h.Values[search.Vector]
	}
	notes, err := sr.readNotes(ctx, pool, false)
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
	call, err := sr.service.judge.Call(sr.view.Collection.ID, sr.words, described)
	if err != nil {
		return nil, err
	}
	answer, err := sr.service.model.Ask(ctx, sr.scope, call)
	if err != nil {
		return nil, err
	}
	scores, dropped, err := sr.service.judge.Scores(answer, len(described))
	if err != nil {
		return nil, err
	}
	if dropped > 0 {
		sr.service.log.Warn("the model judged notes that it was not shown", slog.Int("dropped", dropped))
	}
	out := make(map[search.ID]float64, len(notes))
	for i := range notes {
		if i < len(scores) && !math.IsNaN(scores[i]) {
			out[notes[i].ID] = scores[i]
		}
	}
	return out, nil
}

// readNotes returns the notes of hits in their order: the versions that were scored, which a cache
// may hold, or the notes with vectors, which only the store has.
func (sr *searchRun) readNotes(ctx context.Context, hits []search.Hit, vectors bool) ([]memory.Note, error) {
	if len(hits) == 0 {
		return nil, nil
	}
	if vectors {
		ids := make([]uuid.UUID, len(hits))
		for i, h := range hits {
			ids[i] = h.Note
		}
		notes, err := sr.notes(ctx, ids, memory.ReadOptions{Vector: true})
		return nameCollections(&sr.view, notes), err
	}
	keys := make([]memory.Version, 0, len(hits))
	for _, h := range hits {
		if key, ok := sr.version(h.Note); ok {
			keys = append(keys, key)
		}
	}
	notes, err := sr.service.store.Versions(ctx, sr.scope, sr.view, keys)
	return nameCollections(&sr.view, notes), err
}

// version returns the version of a note that was scored.
func (sr *searchRun) version(note uuid.UUID) (memory.Version, bool) {
	if sr.index == nil {
		v, ok := sr.nearest[note]
		return v, ok
	}
	return visibleVersion(sr.index, &sr.view, note)
}

// toHits reads the notes of the hits and of their exchanges, and applies the token budget.
func (sr *searchRun) toHits(ctx context.Context, hits []search.Hit, beside exchanges) ([]Hit, error) {
	views, err := sr.viewsOf(ctx, hits, beside)
	if err != nil {
		return nil, err
	}
	tokens := map[uuid.UUID]int{}
	if sr.q.TokenBudget > 0 {
		for id, v := range views {
			tokens[id] = search.EstimateTokens(memory.EmbedText(&v.Note))
		}
		hits, _ = search.Budget(hits, sr.q.TokenBudget, func(h search.Hit, left int) int {
			sum := 0
			for _, one := range beside.allOf([]search.Hit{h}) {
				sum += tokens[one.Note]
			}
			if sum > left { // what was found goes before what is around it
				delete(beside, h.Note)
				sum = tokens[h.Note]
			}
			return sum
		})
	}
	out := make([]Hit, 0, len(hits))
	for _, h := range hits {
		hit := Hit{ID: h.Note, Score: h.Score, Sources: h.Sources, IsNeighbor: h.IsNeighbor, About: h.About}
		if key, ok := sr.version(h.Note); ok && sr.view.Of != nil {
			hit.Collection = sr.view.Through(key).Collection.ID
		}
		if err := sr.show(&hit, views, beside); err != nil {
			return nil, err
		}
		if sr.q.Explain {
			hit.Explain = sr.explain(&h, tokens[hit.ID])
		}
		out = append(out, hit)
	}
	return out, nil
}

// viewsOf reads the notes of the hits and of their exchanges, if the answer or its budget needs them.
func (sr *searchRun) viewsOf(ctx context.Context, hits []search.Hit, beside exchanges) (map[uuid.UUID]*NoteView, error) {
	views := map[uuid.UUID]*NoteView{}
	if sr.q.IDsOnly && sr.q.TokenBudget <= 0 {
		return views, nil
	}
	notes, err := sr.readNotes(ctx, beside.allOf(hits), sr.q.Embedding)
	if err != nil {
		return nil, err
	}
	loaded, err := sr.views(ctx, notes)
	if err != nil {
		return nil, err
	}
	for i := range loaded {
		views[loaded[i].ID] = &loaded[i]
	}
	return views, nil
}

// show sets the note, the best passage and the exchange of a hit, unless only ids are asked for.
func (sr *searchRun) show(hit *Hit, views map[uuid.UUID]*NoteView, beside exchanges) error {
	if sr.q.IDsOnly {
		return nil
	}
	if hit.Note = views[hit.ID]; hit.Note == nil {
		return fault.New(fault.Internal, "the index knows the note %s, the store does not", hit.ID)
	}
	hit.Passage = sr.bestPassage(hit.Note)
	for _, id := range beside[hit.ID] {
		if one, ok := views[id]; ok {
			hit.Exchange = append(hit.Exchange, *one)
		}
	}
	return nil
}

// views returns notes with their links and use, unless the query leaves these out.
func (sr *searchRun) views(ctx context.Context, notes []memory.Note) ([]NoteView, error) {
	if !sr.q.Bare {
		return sr.service.Views(ctx, sr.scope, sr.view, notes)
	}
	out := make([]NoteView, len(notes))
	for i := range notes {
		out[i].Note = notes[i]
	}
	return out, nil
}

// bestPassage returns the best passage of a note that has several passages; nil otherwise.
func (sr *searchRun) bestPassage(n *NoteView) *text.Span {
	i, ok := indexOfNote(sr.signals, n.ID)
	if !ok || sr.signals[i].Words == 0 {
		return nil
	}
	best := sr.signals[i].Passage
	if best.End-best.Start >= len(strings.TrimSpace(n.Content)) {
		return nil
	}
	return &best
}

func (sr *searchRun) explain(h *search.Hit, tokens int) *Explain {
	e := &Explain{Signals: h.Explain, Tokens: tokens}
	if sr.indexQuery != nil {
		e.Query = sr.features.Named()
	}
	if v, ok := sr.version(h.Note); ok {
		e.Version = fmt.Sprintf("%s.%s.%d", v.Layer, v.Note, v.From)
	}
	if l, ok := sr.pathTo(h); ok {
		e.Via, e.Hops = new(uuid.UUID(l.Via)), l.Hops
	}
	return e
}

// pathTo returns the link that explains a hit: of a triple that of the graph, else the one that raised
// its score or led to it.
func (sr *searchRun) pathTo(h *search.Hit) (search.Linked, bool) {
	if l, ok := sr.triplePaths[h.Note]; ok {
		return l, true
	}
	if h.Via != nil {
		return *h.Via, true
	}
	return search.Linked{}, false
}
