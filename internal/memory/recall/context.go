package recall

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Order says in which order a context shows what it holds. What it holds is
// chosen by relevance in either case.
type Order string

// The orders, each within a part: the oldest first, as a conversation is read,
// or the most relevant first.
const (
	OrderTime      Order = "time"
	OrderRelevance Order = "relevance"
)

// Bounds of a context.
const (
	DefaultTokenBudget = 2000
	MaxTokenBudget     = 100_000
	DefaultCandidates  = 50
)

// ContextQuery asks for a text to put into a prompt. Exactly one of Text and
// Messages is given.
type ContextQuery struct {
	Text     string
	Messages []Message

	TokenBudget int             // 1..100,000; 0 is 2,000
	Encoding    search.Encoding // that counts the budget; "" is Config.Encoding
	Order       Order           // default time
	Mode        Mode            // default hybrid
	K           int             // candidates, 1..200; 0 is the policy's, else 50
	Filter      filter.Expr     // as in [Query]
	MinScore    *float64
	Profile     Profile // as in [Query], as are the next two
	Weights     map[string]float64
	Reference   time.Time
}

// Context is a text within a token budget, and what it rests on.
type Context struct {
	Text   string // of all parts; "" when nothing was found or nothing fits
	Tokens int    // of Text, never more than the budget
	Parts  []Part
	// Citations are what the marks in Text stand for: [1] is the first.
	Citations []Citation
	Dates     []string        // of the events that Text tells of, oldest first, as 2006-01-02
	Encoding  search.Encoding // that counted
	Revision  memory.Revision
	Degraded  string // as [Result.Degraded]
}

// Part is what a context holds of one kind of memory.
type Part struct {
	Kind      PartKind
	Text      string // as it stands in the context's text, with its marks
	Tokens    int    // of Text by itself
	Citations []Citation
}

// Citation is a version of a note that a context shows.
type Citation struct {
	Note     uuid.UUID
	Revision memory.Revision // where that version begins
}

// check refuses what cannot be asked and fills in defaults; read fills in what
// is left to the collection's policy. It gives the search for candidates and
// its words.
func (q *ContextQuery) check(encoding search.Encoding, read func(*Query)) (Query, string, error) {
	candidates := Query{
		Text: q.Text, Messages: q.Messages, Mode: q.Mode, K: q.K, Filter: q.Filter, MinScore: q.MinScore,
		Profile: q.Profile, Weights: q.Weights, Reference: q.Reference,
		Internal: true, // what it finds and the context does not show is no recall
	}
	// A context is bounded by its tokens, not by the number of hits that a policy's searches give.
	candidates.K = cmp.Or(candidates.K, DefaultCandidates)
	read(&candidates)
	words, err := candidates.check(false)
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
	if q.Encoding == "" {
		q.Encoding = encoding
	}
	if !slices.Contains(search.Encodings(), q.Encoding) {
		return candidates, "", fault.InvalidField("encoding", "must be one of %v", search.Encodings())
	}
	return candidates, words, nil
}

// Context answers a query with a text to put into a prompt: what the
// collection's policy pins, the notes that a search finds, grouped by kind under
// the dates of their events, and the newest messages if the policy wants them,
// each with a mark that cites it, and never more than the budget. A filter of
// the caller holds for all of it.
//
// Notes are taken in the order of their scores. One that says what another one
// shows already is left out, a long one shows its best passage, and one that
// does not fit makes room for the next. What is left of the budget then goes
// to the notes that were cut, the most relevant first.
//
// Each note that is cited and was found counts as recalled once, and no other
// does: what stands in every context was not recalled by the question.
func (r *Service) Context(ctx context.Context, s tenant.Scope, v memory.View, q ContextQuery) (Context, error) {
	if err := may(s, &v); err != nil {
		return Context{}, err
	}
	rd := r.reading(&v.Collection)
	candidates, words, err := q.check(r.cfg.Encoding, func(c *Query) { r.read(&rd, c) })
	if err != nil {
		return Context{}, err
	}
	found, err := r.Search(ctx, s, v, candidates)
	if err != nil {
		return Context{}, err
	}
	st, err := r.standing(ctx, s, v, &rd, &q)
	if err != nil {
		return Context{}, err
	}
	p := newPacker(&q, words, &rd)
	out, err := p.pack(ctx, st, found.Hits)
	if err != nil {
		return Context{}, err
	}
	out.Encoding, out.Revision, out.Degraded = q.Encoding, v.At, found.Degraded
	r.counter.add(s, v.Collection.ID, p.recalled(), memory.Instant(r.clock()))
	return out, nil
}

// PartKind names a part of a context.
type PartKind string

// partOf is the part that shows a kind of note.
type partOf struct {
	kind  PartKind
	title string
}

// parts gives the parts in the order in which a context shows them: what is
// always true first, what happened last, where it is next to the question.
func parts() []partOf {
	return []partOf{
		{"blocks", "Blocks"},
		{"profile", "Profile"},
		{"knowledge", "Knowledge"},
		{"summaries", "Summaries"},
		{"entities", "Entities"},
		{"facts", "Facts"},
		{"notes", "Notes"},
		{"passages", "Passages"},
		{partEpisodes, "Episodes"},
		{partMessages, "Recent messages"},
	}
}

const (
	partEpisodes PartKind = "episodes"
	partMessages PartKind = "messages" // said last, whether or not it was found
)

// partKind gives the part of a note by its kind. What is new is a note.
func partKind(n *memory.Note) PartKind {
	switch n.Kind {
	case memory.KindBlock:
		return "blocks"
	case memory.KindProfile:
		return "profile"
	case memory.KindKnowledge:
		return "knowledge"
	case memory.KindSummary, memory.KindSession:
		return "summaries"
	case memory.KindEntity:
		return "entities"
	case memory.KindFact:
		return "facts"
	case memory.KindPassage:
		return "passages"
	case memory.KindMessage:
		return partEpisodes
	case memory.KindNote:
	}
	return "notes"
}

// titleOf gives the heading of a part.
func titleOf(k PartKind) string {
	all := parts()
	return all[slices.IndexFunc(all, func(p partOf) bool { return p.kind == k })].title
}
