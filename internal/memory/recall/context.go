package recall

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall/contexts"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// Order is the order in which a context shows its notes.
type Order = contexts.Order

// The orders.
const (
	OrderTime      = contexts.OrderTime
	OrderRelevance = contexts.OrderRelevance
)

// Bounds of a context.
const (
	DefaultTokenBudget = 2000
	MaxTokenBudget     = 100_000
	DefaultCandidates  = 50
)

// ContextQuery asks for a text to put into a prompt. Exactly one of Text and Messages is set.
type ContextQuery struct {
	Text     string
	Messages []Message

	TokenBudget int             // 1..100,000; 0 is 2,000
	Encoding    search.Encoding // counts the budget; "" is Config.Encoding
	Order       Order           // default time
	Mode        Mode            // default hybrid
	K           int             // candidates, 1..200; 0 is the policy's, else 50
	ExpandLinks *int            // 0..2, as in [Query]; nil is the policy's
	Filter      filter.Expr     // as in [Query]
	MinScore    *float64
	Hidden      bool // as in [Query]
	// MinAnswerable empties the context when nothing was found, or when Answerable is lower; nil: never.
	MinAnswerable *float64
	Profile       Profile            // as in [Query]
	Weights       map[string]float64 // as in [Query]
	Reference     time.Time          // as in [Query]
	// Chat builds the context of a chat: with the candidates that the policy shows in one, and as many of the newest
	// messages as it shows besides those of the dialogue.
	Chat bool
}

// Context is a text within a token budget, and the notes that it shows.
type Context struct {
	Text   string // of all parts; "" when nothing was found or nothing fits
	Tokens int    // of Text, never more than the budget
	Parts  []Part
	// Citations belong to the marks in Text, in order: the first one is [1].
	Citations []Citation
	Notes     []memory.Note   // the cited ones, in the order of Citations
	Dates     []string        // of the events of the dated notes in Text, oldest first, as 2006-01-02
	Encoding  search.Encoding // that counted the tokens
	Revision  memory.Revision
	Degraded  string // as [Result.Degraded]
	// Answerable is as in [Result]. Withheld says why MinAnswerable emptied the context; "" if it did not.
	Answerable *float64
	Withheld   string
	// Turns is how many turns of the dialogue the prompt of a chat holds at most, as the policy says; 0: no bound.
	Turns int
}

// Part is what a context holds of one kind of memory.
type Part = contexts.Part

// PartKind names a part of a context.
type PartKind = contexts.PartKind

// Citation is a version of a note that a context shows.
type Citation = contexts.Citation

// Cite returns the citation of a note.
func Cite(n *memory.Note) Citation { return contexts.Cite(n) }

// check returns Invalid for a query that cannot be answered, and sets defaults; applyReading sets
// what the reading of the collection's policy decides. It returns the search for candidates and its words.
func (q *ContextQuery) check(encoding search.Encoding, rd *memory.Reading, applyReading func(*memory.Reading, *Query)) (Query, string, error) {
	candidates := Query{
		Text: q.Text, Messages: q.Messages, Mode: q.Mode, K: q.K, Filter: q.Filter, MinScore: q.MinScore, Hidden: q.Hidden,
		Profile: q.Profile, Weights: q.Weights, Reference: q.Reference,
		Bare:     true,
		Internal: true, // a candidate that the context does not show is not recalled
	}
	// Tokens bound a context. The number of hits of a policy's searches does not.
	if q.Chat {
		candidates.K = cmp.Or(candidates.K, rd.ChatK)
	}
	candidates.K = cmp.Or(candidates.K, DefaultCandidates)
	if q.ExpandLinks != nil {
		candidates.ExpandLinks = *q.ExpandLinks
	} else {
		candidates.ExpandLinks = rd.ExpandLinks
	}
	if rd.Messages {
		with := *rd
		with.Kinds = append(slices.Clone(rd.Kinds), memory.KindMessage)
		if len(rd.Parts) > 0 {
			with.Parts = append(slices.Clone(rd.Parts), memory.Part{Name: "messages", Kinds: []memory.Kind{memory.KindMessage}})
		}
		rd = &with
	}
	applyReading(rd, &candidates)
	words, err := candidates.check(false, false)
	if err != nil {
		return candidates, "", err
	}
	switch q.TokenBudget {
	case 0:
		q.TokenBudget = DefaultTokenBudget
	default:
		if q.TokenBudget < 1 || q.TokenBudget > MaxTokenBudget {
			return candidates, "", fault.InvalidField("token_budget", "must be between 1 and %d", MaxTokenBudget)
		}
	}
	switch q.Order {
	case "":
		q.Order = OrderTime
	case OrderTime, OrderRelevance:
	default:
		return candidates, "", fault.InvalidField("order", "must be time or relevance")
	}
	if m := q.MinAnswerable; m != nil && (*m < 0 || *m > 1) {
		return candidates, "", fault.InvalidField("min_answerable", "must be between 0 and 1")
	}
	if q.Encoding == "" {
		q.Encoding = encoding
	}
	if !slices.Contains(search.Encodings(), q.Encoding) {
		return candidates, "", fault.InvalidField("encoding", "must be one of %s", wording.Or(search.Encodings()...))
	}
	return candidates, words, nil
}

// Context answers a query with a text to put into a prompt, within a token budget. The text holds the
// notes that the collection's policy pins, the notes that a search finds, grouped by kind under the
// dates of their events, and the newest messages if the policy includes them. Each note has a mark
// that cites it. The caller's filter applies to all of them. [contexts.Write] describes what is
// shown when not everything fits.
//
// Each cited note that was found counts as recalled once. A note that every context shows was not
// recalled by the question, and does not count.
func (r *Service) Context(ctx context.Context, s tenant.Scope, v memory.View, q ContextQuery) (Context, error) {
	if err := checkRead(s, &v); err != nil {
		return Context{}, err
	}
	q.Filter = filter.InZone(q.Filter, v.Zone())
	rd := r.readingOf(&v.Collection)
	candidates, words, err := q.check(r.cfg.Encoding, &rd, r.applyReading)
	if err != nil {
		return Context{}, err
	}
	found, searched, err := r.search(ctx, s, v, candidates)
	if err != nil {
		return Context{}, err
	}
	turns := 0
	if q.Chat && rd.ChatK > 0 {
		turns = rd.Recent
		rd.Recent = max(0, rd.Recent-len(q.Messages))
	}
	if why := withheld(&found, q.MinAnswerable); why != "" {
		return Context{
			Parts: []Part{}, Citations: []Citation{}, Encoding: q.Encoding, Revision: v.At, Degraded: found.Degraded, Answerable: found.Answerable, Withheld: why, Turns: turns,
		}, nil
	}
	request := contexts.Request{
		Query: words, Budget: q.TokenBudget, Encoding: q.Encoding, Order: q.Order,
		Details: len(rd.Kinds) > 0, Layers: q.Chat && len(rd.Layers) > 0, ByDate: rd.ByDate, Pages: rd.CountLinked != "", Hits: make([]contexts.Hit, len(found.Hits)),
	}
	for i := range found.Hits {
		request.Hits[i] = contexts.Hit{Note: &found.Hits[i].Note.Note, Passage: found.Hits[i].Passage, About: found.Hits[i].About}
	}
	all := findsTranscripts(q.Hidden, q.Filter)
	if hides(&rd, q.Hidden, q.Filter) {
		q.Filter = and(filter.Not{Term: rd.Hidden}, q.Filter) // of what is shown beside the hits
	}
	if !all {
		q.Filter = and(noTranscripts, q.Filter)
	}
	if rd.PieceChars > 0 {
		if request.Hits, err = r.mergeTurns(ctx, s, v, q.Filter, &rd, request.Hits); err != nil {
			return Context{}, err
		}
	}
	if err := r.addFixed(ctx, s, v, searched, &rd, &q, &request); err != nil {
		return Context{}, err
	}
	building, built := r.spans.start(ctx, spanContext)
	written, err := contexts.Write(building, &request)
	built(&err)
	if err != nil {
		return Context{}, err
	}
	written.Notes = nameCollections(&v, written.Notes)
	shown := make([]memory.Version, 0, len(written.Recalled))
	for i := range written.Notes {
		if slices.Contains(written.Recalled, written.Notes[i].ID) {
			shown = append(shown, written.Notes[i].Version())
		}
	}
	r.countShown(ctx, s, &v, &rd, shown)
	return Context{
		Text: written.Text, Tokens: written.Tokens, Parts: written.Parts, Citations: written.Citations, Notes: written.Notes, Dates: written.Dates,
		Encoding: q.Encoding, Revision: v.At, Degraded: found.Degraded, Answerable: found.Answerable, Turns: turns,
	}, nil
}

// withheld returns why a context is empty; "" if it is not.
func withheld(found *Result, least *float64) string {
	switch {
	case least == nil:
		return ""
	case len(found.Hits) == 0:
		return "nothing was found"
	case found.Answerable != nil && *found.Answerable < *least:
		return "what was found hardly belongs to the question: answerable is below min_answerable"
	}
	return ""
}

// addFixed adds what a context shows whether or not it matches the query: the notes that the policy
// pins and the newest messages, as far as they match the caller's filter. A policy without a reading
// of its own has none. searched is the index of the view; nil: there is none.
func (r *Service) addFixed(ctx context.Context, s tenant.Scope, v memory.View, searched *index.View, rd *memory.Reading, q *ContextQuery, to *contexts.Request) error {
	if len(rd.Kinds) == 0 {
		return nil
	}
	for _, m := range q.Messages {
		for _, turn := range []string{m.User, m.Assistant, m.Content} {
			if turn != "" {
				to.Dialogue = append(to.Dialogue, turn)
			}
		}
	}
	for _, pin := range rd.Pinned {
		notes, err := r.pinned(ctx, s, v, searched, pin)
		if err != nil {
			return err
		}
		for i := range notes {
			if n := &notes[i]; strings.TrimSpace(n.Content) != "" && filter.Match(q.Filter, n.FilterRecord()) {
				to.Pinned = append(to.Pinned, *n)
			}
		}
	}
	if rd.Recent <= 0 {
		return nil
	}
	var err error
	to.Recent, err = r.newestMessages(ctx, s, v, searched, q.Filter, rd.Recent)
	return err
}

// newestMessages returns the messages that occurred last, the last one first. The index knows which they are: the store passes all
// versions of those that a filter hides.
func (r *Service) newestMessages(
	ctx context.Context, s tenant.Scope, v memory.View, searched *index.View, e filter.Expr, n int,
) ([]memory.Note, error) {
	if searched == nil || v.Of != nil {
		return r.listNotes(ctx, s, v, memory.NoteQuery{
			Filter: e, Kinds: []memory.Kind{memory.KindMessage}, ByTime: true, Newest: true, Limit: n,
		})
	}
	return readFound(ctx, r, s, v, searched, searched.Newest(r.counted(searched.Select(and(memory.OfKinds(memory.KindMessage), e))), n))
}

// readFound reads notes that an index has found, which a cache may hold.
func readFound[ID ~[16]byte](ctx context.Context, r *Service, s tenant.Scope, v memory.View, ix *index.View, ids []ID) ([]memory.Note, error) {
	keys := make([]memory.Version, 0, len(ids))
	for _, id := range ids {
		if key, ok := visibleVersion(ix, &v, uuid.UUID(id)); ok {
			keys = append(keys, key)
		}
	}
	return r.store.Versions(ctx, s, v, keys)
}

// Known returns the knowledge that each context of a collection shows: what its policy knows of the person. It is empty where the
// policy shows none (notes:read).
func (r *Service) Known(ctx context.Context, s tenant.Scope, v memory.View) (out []memory.Note, err error) {
	if err := checkRead(s, &v); err != nil {
		return nil, err
	}
	rd := r.readingOf(&v.Collection)
	for _, pin := range rd.Pinned {
		if pin.Kind != memory.KindKnowledge {
			continue
		}
		notes, err := r.pinned(ctx, s, v, nil, pin)
		if err != nil {
			return nil, err
		}
		out = append(out, notes...)
	}
	return nameCollections(&v, out), nil
}

// maxPinned is how many notes one pin shows at most.
const maxPinned = 200

// pinned returns the notes that a pin names. searched is the index of the view; nil: there is none.
func (r *Service) pinned(ctx context.Context, s tenant.Scope, v memory.View, searched *index.View, pin memory.Pin) ([]memory.Note, error) {
	if pin.Key == "" && pin.Filter != nil && searched != nil && v.Of == nil {
		ids := ascending(searched, r.counted(searched.Select(and(memory.OfKinds(pin.Kind), pin.Filter))))
		return readFound(ctx, r, s, v, searched, ids[:min(len(ids), maxPinned)])
	}
	if pin.Key == "" {
		own, err := r.listNotes(ctx, s, v, memory.NoteQuery{Kinds: []memory.Kind{pin.Kind}, Filter: pin.Filter, Limit: maxPinned})
		if err != nil || pin.Kind != memory.KindBlock {
			return own, err
		}
		for _, one := range v.Each() {
			attached, err := memory.AttachedBlocks(ctx, r.store, s, one.Collection.ID, memory.ReadOptions{})
			if err != nil {
				return nil, err
			}
			for i := range attached {
				own = append(own, attached[i].Note)
			}
		}
		return own[:min(len(own), maxPinned)], nil
	}
	var out []memory.Note
	for _, one := range v.Each() {
		n, err := r.store.NoteByKey(ctx, s, one, pin.Kind, pin.Key)
		switch {
		case err == nil:
			out = append(out, n)
		case !fault.Is(err, fault.NotFound):
			return nil, err
		}
	}
	return out, nil
}
