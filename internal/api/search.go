package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
)

// search answers one query, or a batch. The queries of a batch read the same revision, and all are
// validated before the first one runs.
func (h *core) search(c *gin.Context) error {
	body, err := bindAsked[wire.SearchRequest](h, c)
	if err != nil {
		return err
	}
	queries, err := h.queries(&body)
	if err != nil {
		return err
	}
	shown := make([]noteFields, len(queries))
	for i := range queries {
		fields := body.Fields
		if len(body.Queries) > 0 && body.Queries[i].Fields != nil {
			fields = body.Queries[i].Fields
		}
		shown[i] = searchFields(fields, queries[i].Embedding)
		queries[i].IDsOnly, queries[i].Bare = shown[i].idsOnly(), !shown[i].hasUse()
	}
	batch, err := recall.NewBatch(queries)
	if err != nil {
		return err
	}
	if body.MinRevision != nil || slices.ContainsFunc(queries, func(q recall.Query) bool { return q.Rerank == recall.RerankModel }) {
		endTurn(c)
	}
	ctx, s := c.Request.Context(), scope(c)
	v, err := h.viewOf(c, &asked{body.Collections, body.External, body.AsOf, body.MinRevision})
	if err != nil {
		return err
	}
	results, hits := make([]wire.SearchResult, 0, len(queries)), 0
	for i, q := range queries {
		q.Batch, q.Hidden = batch, includesEvicted(c)
		found, err := h.Recall.Search(ctx, s, v, q)
		if errors.Is(err, recall.ErrBatch) {
			return err
		}
		if err != nil {
			return prefixQuery(&body, i, err)
		}
		if err := batch.Found(&found); err != nil {
			return err
		}
		result, err := wireResult(&found, &q, shown[i])
		if err != nil {
			return err
		}
		result.Revision, result.Revisions = wireRevisions(&v)
		results = append(results, result)
		hits += len(result.Hits)
	}
	countRecords(c, hits)
	setRevisionOf(c, &v)
	if len(body.Queries) > 0 {
		return reply(c, http.StatusOK, wire.SearchResults{Results: results})
	}
	return reply(c, http.StatusOK, results[0])
}

// asked is what a body says of what is to be read.
type asked struct {
	collections []string
	external    *wire.External
	asOf        *wire.AsOf
	minRevision *int64
}

// viewOf opens the view that a request selects: the collection of the path at a revision, or at the head once it has
// reached min_revision; or, where the path has none, several collections.
func (h *core) viewOf(c *gin.Context, a *asked) (memory.View, error) {
	if c.Param("collection") == "" {
		return h.viewOfAll(c, a)
	}
	for field, given := range map[string]bool{"collections": a.collections != nil, "external": a.external != nil} {
		if given {
			return memory.View{}, fault.InvalidField(field, "the path names the collection; POST /v1/search and POST /v1/context read several")
		}
	}
	ref, err := pathRef(c, "collection")
	if err != nil {
		return memory.View{}, err
	}
	at, err := h.revisionOf(c, ref, "as_of", valueOr(a.asOf, nil))
	if err != nil {
		return memory.View{}, err
	}
	open := func() (memory.View, error) {
		return h.Recall.Open(c.Request.Context(), scope(c), ref, at, memory.Revision(valueOr(a.minRevision, 0)))
	}
	if at != nil {
		return open()
	}
	return h.Chat.Current(c.Request.Context(), func() { endTurn(c) }, open)
}

// viewOfAll opens several collections as one view.
func (h *core) viewOfAll(c *gin.Context, a *asked) (memory.View, error) {
	if a.minRevision != nil {
		return memory.View{}, fault.InvalidField("min_revision", "a revision belongs to one collection; several are read at their heads")
	}
	if (a.collections == nil) == (a.external == nil) {
		return memory.View{}, fault.InvalidField("collections", "give exactly one of collections and external")
	}
	ctx, s := c.Request.Context(), scope(c)
	refs := a.collections
	if a.external != nil {
		found, err := h.Collections.Having(ctx, s, external(a.external))
		if err != nil {
			return memory.View{}, err
		}
		if len(found) > memory.MaxUnion {
			return memory.View{}, fault.InvalidField("external", "more than %d collections have these ids; give more of them", memory.MaxUnion)
		}
		for i := range found {
			refs = append(refs, found[i].ID.String())
		}
	}
	if a.asOf == nil {
		return h.Chat.Current(ctx, func() { endTurn(c) }, func() (memory.View, error) { return h.Recall.OpenAll(ctx, s, refs, nil) })
	}
	text := revisionText(*a.asOf)
	if _, err := strconv.ParseInt(text, 10, 64); err == nil {
		return memory.View{}, fault.InvalidField("as_of", "a revision belongs to one collection; read several at a time (2026-01-31T12:00:00Z)")
	}
	return h.Recall.OpenAll(ctx, s, refs, func(ref string) (*memory.Revision, error) {
		return h.Clone.RevisionOf(ctx, s, ref, "as_of", text)
	})
}

// wireRevisions returns what was read: a revision, or those of several collections.
func wireRevisions(v *memory.View) (revision *int64, revisions []wire.Layer) {
	if v.Of == nil {
		return new(int64(v.At)), nil
	}
	for i := range v.Of {
		revisions = append(revisions, wire.Layer{Collection: v.Of[i].Collection.ID, Revision: int64(v.Of[i].At)})
	}
	return nil, revisions
}

// setRevisionOf sets the header with the revision, unless several collections were read.
func setRevisionOf(c *gin.Context, v *memory.View) {
	if v.Of == nil {
		setRevision(c, v.At)
	}
}

// queries returns the queries of a request. A query of a batch inherits absent fields from the
// request.
func (h *core) queries(body *wire.SearchRequest) ([]recall.Query, error) {
	if len(body.Queries) == 0 {
		q, err := h.query(inherit(&wire.SearchQuery{Query: body.Query, Vector: body.Vector, Messages: body.Messages}, body))
		return []recall.Query{q}, err
	}
	if err := oneOf(body.Query, body.Vector, body.Messages, body.Queries); err != nil {
		return nil, err
	}
	out := make([]recall.Query, 0, len(body.Queries))
	for i := range body.Queries {
		q, err := h.query(inherit(&body.Queries[i], body))
		if err != nil {
			return nil, prefixQuery(body, i, err)
		}
		out = append(out, q)
	}
	return out, nil
}

// inherit returns a query whose absent fields are the request's. The question itself is not
// inherited.
func inherit(q *wire.SearchQuery, from *wire.SearchRequest) *wire.SearchQuery {
	out := *q
	fill(&out.Mode, from.Mode)
	fill(&out.K, from.K)
	fill(&out.Filter, from.Filter)
	fill(&out.ExpandLinks, from.ExpandLinks)
	fill(&out.Rerank, from.Rerank)
	fill(&out.MinScore, from.MinScore)
	fill(&out.TokenBudget, from.TokenBudget)
	fill(&out.Explain, from.Explain)
	fill(&out.Profile, from.Profile)
	fill(&out.Weights, from.Weights)
	fill(&out.ReferenceTime, from.ReferenceTime)
	if out.Fields == nil {
		out.Fields = from.Fields
	}
	if out.Include == nil {
		out.Include = from.Include
	}
	return &out
}

func fill[T any](field **T, from *T) {
	if *field == nil {
		*field = from
	}
}

func oneOf(text *string, vector []float32, messages []wire.Message, queries []wire.SearchQuery) error {
	given := make([]string, 0, 4)
	for _, f := range []struct {
		name string
		here bool
	}{{"query", text != nil}, {"vector", len(vector) > 0}, {"messages", len(messages) > 0}, {"queries", len(queries) > 0}} {
		if f.here {
			given = append(given, f.name)
		}
	}
	switch len(given) {
	case 0:
		return fault.InvalidField("query", "one of query, vector, messages and queries is required")
	case 1:
		return nil
	}
	return fault.InvalidField(given[1], "cannot be combined with %s", given[0])
}

// query validates one query and converts it.
func (h *core) query(in *wire.SearchQuery) (recall.Query, error) {
	if err := oneOf(in.Query, in.Vector, in.Messages, nil); err != nil {
		return recall.Query{}, err
	}
	q := recall.Query{
		Text: valueOr(in.Query, ""), Vector: in.Vector, Mode: recall.Mode(valueOr(in.Mode, "")),
		ExpandLinks: valueOr(in.ExpandLinks, 0), Rerank: recall.Rerank(valueOr(in.Rerank, "")), MinScore: in.MinScore,
		TokenBudget: valueOr(in.TokenBudget, 0), Explain: valueOr(in.Explain, false),
		Embedding: len(in.Include) > 0,
		Profile:   recall.Profile(valueOr(in.Profile, "")), Weights: valueOr(in.Weights, nil),
	}
	switch k := valueOr(in.K, any(nil)).(type) {
	case string: // the contract has one
		q.AutoK = true
	case json.Number:
		n, err := k.Float64() // a whole number, which may be written as 1e1
		if err != nil {
			return q, fault.InvalidField("k", "cannot be read as a number")
		}
		q.K = int(n)
	}
	if in.ReferenceTime != nil {
		var err error
		if q.Reference, err = memory.ParseEventTime("reference_time", *in.ReferenceTime, h.now()); err != nil {
			return q, err
		}
	}
	if in.Query != nil && strings.TrimSpace(q.Text) == "" {
		return q, fault.InvalidField("query", "must not be blank")
	}
	for i, m := range in.Messages {
		turn, err := h.message(&m)
		if err != nil {
			return q, prefixFields("messages."+strconv.Itoa(i), err)
		}
		q.Messages = append(q.Messages, turn)
	}
	if in.Filter != nil {
		var err error
		if q.Filter, err = parseFilter(*in.Filter, ""); err != nil {
			return q, err
		}
	}
	return q, nil
}

// message converts one message: role and content, or user and assistant.
func (h *core) message(m *wire.Message) (recall.Message, error) {
	pair := m.User != nil || m.Assistant != nil
	switch {
	case pair && (m.Content != nil || m.Role != nil):
		return recall.Message{}, fault.InvalidField("content", "a message has role and content, or user and assistant")
	case !pair && m.Content == nil:
		return recall.Message{}, fault.InvalidField("content", "is required, or user and assistant")
	}
	if m.OccurredAt != nil {
		if _, err := memory.ParseEventTime("occurred_at", *m.OccurredAt, h.now()); err != nil {
			return recall.Message{}, err
		}
	}
	return recall.Message{
		Role: string(valueOr(m.Role, "")), Name: valueOr(m.Name, ""), Content: valueOr(m.Content, ""),
		User: valueOr(m.User, ""), Assistant: valueOr(m.Assistant, ""),
	}, nil
}

// parseFilter decodes a filter. Refusals name dotted paths below prefix.
func parseFilter(raw []byte, prefix string) (filter.Expr, error) {
	expr, err := memory.ParseFilter(raw)
	if err != nil {
		return nil, prefixFields(prefix, err)
	}
	return expr, nil
}

// prefixFields puts the fields of a refusal below a prefix, and writes list indexes as all paths here do. A refusal without a
// field is one of the prefix.
func prefixFields(prefix string, err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok && len(f.Fields) == 0 && prefix != "" {
		out := *f
		out.Fields = []fault.Field{{Reason: f.Message}}
		err = &out
	}
	return fault.Rename(err, func(field string) string {
		return strings.Trim(prefix+"."+strings.NewReplacer("[", ".", "]", "").Replace(field), ".")
	})
}

// prefixQuery adds the query of a batch to the fields of an error.
func prefixQuery(body *wire.SearchRequest, i int, err error) error {
	if len(body.Queries) == 0 {
		return err
	}
	var f *fault.Error
	if errors.As(err, &f) && f.Code == fault.Invalid {
		return prefixFields("queries."+strconv.Itoa(i), err)
	}
	return err
}

func wireResult(r *recall.Result, q *recall.Query, fields noteFields) (wire.SearchResult, error) {
	out := wire.SearchResult{
		Hits: make([]wire.Hit, 0, len(r.Hits)), Mode: wire.SearchMode(r.Mode),
		TookMs: float64(r.Took.Microseconds()) / 1000, Degraded: wire.Optional(r.Degraded), Answerable: r.Answerable,
	}
	if r.Profile != "" {
		out.Profile = new(wire.RankingProfile(r.Profile))
	}
	for i := range r.Hits {
		hit, err := wireHit(&r.Hits[i], q, fields)
		if err != nil {
			return out, err
		}
		out.Hits = append(out.Hits, hit)
	}
	return out, nil
}

func wireHit(hit *recall.Hit, q *recall.Query, fields noteFields) (wire.Hit, error) {
	w := wire.Hit{Note: wire.NoteRef{ID: hit.ID}, Score: hit.Score}
	if hit.Collection != uuid.Nil {
		w.Collection = &hit.Collection
	}
	if hit.Passage != nil {
		w.Passage = &wire.Passage{Start: hit.Passage.Start, End: hit.Passage.End}
	}
	if hit.Explain != nil {
		raw, err := json.Marshal(hit.Explain)
		if err != nil {
			return w, fmt.Errorf("render an explanation: %w", err)
		}
		w.Explain = decodeObject(raw)
	}
	if hit.Note == nil { // only ids and scores were asked for
		return w, nil
	}

	if brief, ok := fields.brief(&hit.Note.Note); ok {
		w.Note = brief
	} else {
		w.Note = fields.render(new(wireNoteView(hit.Note, q.Embedding)))
	}
	for i := range hit.Exchange {
		w.Exchange = append(w.Exchange, fields.render(new(wireNoteView(&hit.Exchange[i], q.Embedding))))
	}
	w.IsNeighbor = &hit.IsNeighbor
	w.Sources = named[wire.HitSources](hit.Sources)
	return w, nil
}

// includesEvicted reports whether a search or a context also finds what its policy evicted.
func includesEvicted(c *gin.Context) bool { return query(c).Get("include") == "evicted" }
