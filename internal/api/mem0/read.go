package mem0

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// The defaults and limits of reads.
const (
	defaultTopK      = 10
	maxTopK          = 200
	defaultThreshold = 0.1
	defaultPageSize  = 100
	maxPageSize      = 200
	// maxListed is how many memories a list counts at most.
	maxListed = 10_000
)

// shape is the form of a list of memories.
type shape int

const (
	shapeResults  shape = iota // {"results": […]}
	shapeByFormat              // an array, or as shapeResults where output_format is v1.1, or a page where one is asked for
	shapePage                  // a page with count, next and previous
)

// kinds are the kinds of notes that are memories.
var kinds = []memory.Kind{memory.KindFact, memory.KindNote}

// Memory is a memory as mem0's clients see it.
type Memory struct {
	ID             uuid.UUID `json:"id"`
	Memory         string    `json:"memory"`
	UserID         *string   `json:"user_id"`
	AgentID        *string   `json:"agent_id"`
	AppID          *string   `json:"app_id"`
	RunID          *string   `json:"run_id"`
	Metadata       any       `json:"metadata"`
	Categories     []string  `json:"categories"`
	CreatedAt      string    `json:"created_at"`
	UpdatedAt      string    `json:"updated_at"`
	ExpirationDate *string   `json:"expiration_date"`
	Score          *float64  `json:"score,omitempty"` // of a search
}

// render returns a note as a memory.
func render(c memory.External, n *memory.Note) Memory {
	ids := idsOf(c, n.Attributes)
	out := Memory{
		ID: n.ID, Memory: n.Content, UserID: ids[0], AgentID: ids[1], AppID: ids[2], RunID: ids[3], Metadata: n.Attributes[attrMetadata],
		Categories: append([]string{}, n.Tags...), CreatedAt: formatTime(createdAt(n)), UpdatedAt: formatTime(updatedAt(n)),
	}
	if end, ok := memory.ExpiryOf(n.Attributes); ok {
		out.ExpirationDate = new(lastDay(end))
	}
	return out
}

func formatTime(t time.Time) string {
	return t.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
}

// group is collections that are read together, with the same condition on their memories.
type group struct {
	expr filter.Expr // nil: none
	refs []string
}

// selection is what a request reads.
type selection struct {
	groups []*group
	// of are the ids of the collections, by their own id.
	of map[uuid.UUID]memory.External
}

// homesOf returns the homes of what a condition selects, of which something is done together.
func homesOf(c condition, done string) ([]memory.External, error) {
	homes := c.homes()
	if slices.ContainsFunc(homes, memory.External.IsZero) {
		return nil, errNoEntity()
	}
	if len(homes) > memory.MaxUnion {
		return nil, malformed("filters: name %d entities; at most %d are %s together", len(homes), memory.MaxUnion, done)
	}
	return homes, nil
}

// find returns what a condition selects. What does not exist, or is not reached, has no memories. Malformed when the
// condition names nobody, or too many.
func (s *Service) find(ctx context.Context, scope tenant.Scope, c condition) (*selection, error) {
	homes, err := homesOf(c, "read")
	if err != nil {
		return nil, err
	}
	out := &selection{of: map[uuid.UUID]memory.External{}}
	groups := map[string]*group{}
	for _, home := range homes {
		found, err := s.Collections.ByExternal(ctx, scope, home)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := s.lookUp(ctx, scope, &found, c); err != nil {
			return nil, err
		}
		e, t := c.in(found.External)
		if t == never {
			continue
		}
		if e, err = checkExpr(e); err != nil {
			return nil, err
		}
		out.of[found.ID] = found.External
		key := found.Policy + "\x00" + found.Embedder
		if e != nil {
			raw, err := json.Marshal(e)
			if err != nil {
				return nil, fault.Wrap(err, fault.Internal, "a filter cannot be encoded")
			}
			key += "\x00" + string(raw)
		}
		if groups[key] == nil {
			groups[key] = &group{expr: e}
			out.groups = append(out.groups, groups[key])
		}
		groups[key].refs = append(groups[key].refs, found.ID.String())
	}
	return out, nil
}

// lookUp finds the memories of a collection that satisfy the conditions which the filter language does not know.
func (s *Service) lookUp(ctx context.Context, scope tenant.Scope, of *memory.Collection, c condition) error {
	list := unknown(c)
	if len(list) == 0 {
		return nil
	}
	v, err := s.Recall.Open(ctx, scope, of.ID.String(), nil, 0)
	if err != nil {
		return err
	}
	for _, one := range list {
		if one.ids == nil {
			one.ids = map[memory.External][]uuid.UUID{}
		}
		one.ids[of.External] = nil
	}
	seen := 0
	return s.eachNote(ctx, scope, v, memory.OfKinds(append(slices.Clone(kinds), memory.KindMessage)...), func(n *memory.Note) error {
		if seen++; seen == maxListed { // what was not looked at must not be deleted because it is not in a list
			return malformed("filters: keywords and updated_at can be compared in a collection of fewer than %d memories and messages", maxListed)
		}
		for _, one := range list {
			if one.match(n) {
				one.ids[of.External] = append(one.ids[of.External], n.ID)
			}
		}
		return nil
	})
}

// open opens the collections of a group as one view.
func (s *Service) open(ctx context.Context, scope tenant.Scope, g *group) (memory.View, error) {
	if len(g.refs) == 1 {
		return s.Recall.Open(ctx, scope, g.refs[0], nil, 0)
	}
	return s.Recall.OpenAll(ctx, scope, g.refs, nil)
}

// memories returns the condition of a group, on memories.
func (g *group) memories() filter.Expr {
	all := filter.And{memory.OfKinds(kinds...)}
	if g.expr != nil {
		all = append(all, g.expr)
	}
	return all
}

// externalOf returns the ids of the collection that a note was read in.
func (sel *selection) externalOf(v *memory.View, n *memory.Note) memory.External {
	if v.Of == nil {
		return v.Collection.External
	}
	return sel.of[n.Collection]
}

type readBody struct {
	entity
	Query         string         `json:"query"`
	Filters       map[string]any `json:"filters"`
	TopK          any            `json:"top_k"`
	Limit         any            `json:"limit"`
	Threshold     *float64       `json:"threshold"`
	Fields        []string       `json:"fields"`
	Categories    []string       `json:"categories"`
	Metadata      map[string]any `json:"metadata"`
	ReferenceDate any            `json:"reference_date"`
	OutputFormat  *string        `json:"output_format"`
	ShowExpired   *bool          `json:"show_expired"`
	Page          any            `json:"page"`
	PageSize      any            `json:"page_size"`
}

// condition returns all that a body asks for, as one condition.
func (b *readBody) condition() (condition, error) {
	ids, err := b.external()
	if err != nil {
		return nil, err
	}
	all := exactly(ids)
	if b.Filters != nil {
		c, err := parseFilters(b.Filters)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if len(b.Metadata) > 0 {
		c, err := parseMetadata(b.Metadata, attrMetadata)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if len(b.Categories) > 0 {
		all = append(all, leafOf{filter.TextIs(filter.Tags, b.Categories...)})
	}
	return all, nil
}

// search answers a search.
func (s *Service) search(as shape) route.Handler {
	return withBody(func(ctx context.Context, r *route.Request, body *readBody) (route.Reply, error) {
		if strings.TrimSpace(body.Query) == "" {
			return route.Reply{}, malformed("query: must not be blank")
		}
		c, err := body.condition()
		if err != nil {
			return route.Reply{}, err
		}
		q := recall.Query{Text: body.Query, K: number(cmp.Or(body.TopK, body.Limit), defaultTopK, maxTopK), MinScore: new(defaultThreshold)}
		if body.Threshold != nil {
			q.MinScore = body.Threshold
		}
		if body.ReferenceDate != nil {
			if q.Reference, err = memory.TimeOf(body.ReferenceDate); err != nil {
				return route.Reply{}, malformed("reference_date: %s", err)
			}
		}
		found, err := s.searchGroups(ctx, r.Scope, c, q)
		if err != nil {
			return route.Reply{}, err
		}
		return reply(as, body.OutputFormat, found, body.Fields)
	})
}

// searchGroups searches each collection that a condition selects, and returns the best of all.
func (s *Service) searchGroups(ctx context.Context, scope tenant.Scope, c condition, q recall.Query) ([]Memory, error) {
	sel, err := s.find(ctx, scope, c)
	if err != nil {
		return nil, err
	}
	found := []Memory{}
	for _, g := range sel.groups {
		v, err := s.open(ctx, scope, g)
		if err != nil {
			return nil, err
		}
		q.Filter = g.memories()
		hits, err := s.Recall.Search(ctx, scope, v, q)
		if err != nil {
			return nil, err
		}
		for i := range hits.Hits {
			hit := &hits.Hits[i]
			one := render(sel.externalOf(&v, &hit.Note.Note), &hit.Note.Note)
			one.Score = &hit.Score
			found = append(found, one)
		}
	}
	if len(sel.groups) > 1 {
		slices.SortStableFunc(found, func(a, b Memory) int { return cmp.Compare(*b.Score, *a.Score) })
	}
	return found[:min(len(found), q.K)], nil
}

// reply answers memories in a shape, with only some of their fields if they are given.
func reply(as shape, format *string, found []Memory, names []string) (route.Reply, error) {
	list, err := project(found, names)
	if as == shapeByFormat && (format == nil || *format != "v1.1") {
		return answer(list, err)
	}
	return answer(map[string]any{"results": list}, err)
}

// project returns memories with only some of their fields, and always the id.
func project(found []Memory, names []string) (any, error) {
	if len(names) == 0 {
		return found, nil
	}
	out := make([]map[string]json.RawMessage, 0, len(found))
	for i := range found {
		raw, err := json.Marshal(found[i])
		if err != nil {
			return nil, fault.Wrap(err, fault.Internal, "a memory cannot be encoded")
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(raw, &all); err != nil {
			return nil, fault.Wrap(err, fault.Internal, "a memory cannot be encoded")
		}
		for name := range all {
			if name != "id" && !slices.Contains(names, name) {
				delete(all, name)
			}
		}
		out = append(out, all)
	}
	return out, nil
}

// listed is a page of memories.
type listed struct {
	Count    int     `json:"count"`
	Next     *string `json:"next"`
	Previous *string `json:"previous"`
	Results  any     `json:"results"`
}

// listedOf returns a page of a list of so many, with the addresses of the pages beside it. Pages are counted from 1.
func listedOf(r *route.Request, results any, count, page, size int) listed {
	out := listed{Count: count, Results: results}
	if page*size < count {
		out.Next = pageAddress(r, page+1, size)
	}
	if page > 1 {
		out.Previous = pageAddress(r, page-1, size)
	}
	return out
}

// pageOf returns the part of a list that is on a page.
func pageOf[T any](all []T, page, size int) []T {
	from := min(len(all), (page-1)*size)
	return all[from:min(len(all), from+size)]
}

// list answers the memories that a body selects, newest first.
func (s *Service) list(as shape) route.Handler {
	return withBody(func(ctx context.Context, r *route.Request, body *readBody) (route.Reply, error) {
		fromQuery(r, map[string]*any{"page": &body.Page, "page_size": &body.PageSize})
		c, err := body.condition()
		if err != nil {
			return route.Reply{}, err
		}
		return s.replyList(ctx, r, as, body, c)
	})
}

// fromQuery sets the numbers that a query has.
func fromQuery(r *route.Request, numbers map[string]*any) {
	for name, to := range numbers {
		if r.Query.Has(name) {
			*to = json.Number(r.Query.Get(name))
		}
	}
}

// listByQuery is list with the ids in the query.
func (s *Service) listByQuery(as shape) route.Handler {
	return func(ctx context.Context, r *route.Request) (route.Reply, error) {
		c, err := queryCondition(r.Query)
		if err != nil {
			return route.Reply{}, err
		}
		body := readBody{OutputFormat: new(r.Query.Get("output_format"))}
		fromQuery(r, map[string]*any{"page": &body.Page, "page_size": &body.PageSize, "top_k": &body.TopK, "limit": &body.Limit})
		return s.replyList(ctx, r, as, &body, c)
	}
}

// queryCondition returns what the ids and the filters of a query select.
func queryCondition(query url.Values) (condition, error) {
	var ids memory.External
	for kind, name := range idNames {
		if query.Has(name) {
			if err := setID(&ids, kind, query.Get(name)); err != nil {
				return nil, err
			}
		}
	}
	all := exactly(ids)
	if query.Has("filters") {
		v, err := parseParameter("filters", query.Get("filters"))
		if err != nil {
			return nil, err
		}
		c, err := parseFilters(v)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func (s *Service) replyList(ctx context.Context, r *route.Request, as shape, body *readBody, c condition) (route.Reply, error) {
	page := number(body.Page, 1, maxListed)
	size := number(cmp.Or(body.PageSize, body.TopK, body.Limit), defaultPageSize, maxPageSize)
	sel, err := s.find(ctx, r.Scope, c)
	if err != nil {
		return route.Reply{}, err
	}
	var all []recallNote
	now := s.Clock()
	err = s.eachOf(ctx, r.Scope, sel, func(v *memory.View, n *memory.Note) error {
		if end, ok := memory.ExpiryOf(n.Attributes); (!ok || end.After(now)) && len(all) < maxListed {
			all = append(all, recallNote{n, v.Collection.External})
		}
		return nil
	})
	if err != nil {
		return route.Reply{}, err
	}
	slices.SortStableFunc(all, func(a, b recallNote) int {
		return cmp.Or(createdAt(b.note).Compare(createdAt(a.note)), bytes.Compare(b.note.ID[:], a.note.ID[:]))
	})
	found := []Memory{}
	for _, n := range pageOf(all, page, size) {
		found = append(found, render(n.of, n.note))
	}
	paged := as == shapePage || as == shapeByFormat && (body.Page != nil || body.PageSize != nil)
	if !paged {
		return reply(as, body.OutputFormat, found, body.Fields)
	}
	list, err := project(found, body.Fields)
	return answer(listedOf(r, list, len(all), page, size), err)
}

// recallNote is a note with the ids of its collection.
type recallNote struct {
	note *memory.Note
	of   memory.External
}

// pageAddress returns the address of a page, below the gateway's own.
func pageAddress(r *route.Request, page, size int) *string {
	query := url.Values{}
	maps.Copy(query, r.Query)
	query.Set("page", strconv.Itoa(page))
	query.Set("page_size", strconv.Itoa(size))
	return new(r.Path + "?" + query.Encode())
}

// eachOf calls fn for the memories of a selection, collection by collection, newest first.
func (s *Service) eachOf(ctx context.Context, scope tenant.Scope, sel *selection, fn func(v *memory.View, n *memory.Note) error) error {
	for _, g := range sel.groups {
		for _, ref := range g.refs {
			v, err := s.Recall.Open(ctx, scope, ref, nil, 0)
			if err != nil {
				return err
			}
			if err := s.eachNote(ctx, scope, v, g.memories(), func(n *memory.Note) error { return fn(&v, n) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachNote calls fn for the notes of a view that match, newest first, at most for maxListed.
func (s *Service) eachNote(ctx context.Context, scope tenant.Scope, v memory.View, e filter.Expr, fn func(n *memory.Note) error) error {
	for after, n := uuid.Nil, 0; n < maxListed; {
		page, err := s.Recall.List(ctx, scope, v, recall.ListQuery{Filter: e, After: after, Newest: true, Limit: memory.MaxPage, Bare: true})
		if err != nil {
			return err
		}
		for i := range page.Items {
			if err := fn(&page.Items[i].Note); err != nil {
				return err
			}
		}
		if page.Next == uuid.Nil {
			return nil
		}
		after, n = page.Next, n+len(page.Items)
	}
	return nil
}
