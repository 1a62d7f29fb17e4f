package recall

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/when"
)

// ranker ranks as suits the collection's embedder and what the view holds,
// unless the caller says otherwise.
func (f *finding) ranker() (ranker *search.Ranker, _ error) {
	profile := f.profile()
	cfg := search.DefaultConfig(profile)
	if e, ok := f.r.embedders.ByName(f.view.Collection.Embedder); ok {
		if sp, ok := e.(memory.Spelling); ok && sp.Spelling() && profile != search.Mem0 {
			cfg.Weights[search.Vector] = search.SpellingVector
		}
	}
	err := cfg.Weights.Override(f.q.Weights)
	if err == nil {
		ranker, err = search.New(cfg)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the ranking is misconfigured")
	}
	return ranker, nil
}

// When a view counts as people talking to each other: nobody is an assistant or
// its user, two persons have said so many things, and these are short. The rest
// of the ranking suits every collection; what is added for people harms others
// (docs/recall.md).
const (
	talkers     = 2
	talkerNotes = 20
	talkLength  = 60 // mean, in terms
)

// profile gives the weights that were asked for, or that suit the view.
func (f *finding) profile() search.Profile {
	f.ranked = f.q.Profile
	if f.ranked == search.Auto {
		f.ranked = search.General
		if f.index != nil && peopleTalk(f.index) {
			f.ranked = search.People
		}
	}
	return f.ranked
}

func peopleTalk(v *index.View) bool {
	roles := v.Roles()
	if !v.HasSessions() || roles[index.Assistant] > 0 || v.MeanLength() > talkLength {
		return false
	}
	speaker := "speaker"
	if roles[index.User] > 0 { // messages, which say who speaks in their own attribute
		speaker = memory.AttrName
	}
	speakers := v.Facets()[speaker]
	if speakers == nil {
		return false
	}
	n := 0
	for _, notes := range speakers.Values {
		if notes >= talkerNotes {
			n++
		}
	}
	return n >= talkers
}

// toldLater is how long after a day people still tell what happened on it.
const toldLater = 7 * 24 * time.Hour

// context works out what the query says of time and of attributes.
func (f *finding) context() {
	if f.words == "" {
		return
	}
	reference := f.q.Reference
	if reference.IsZero() {
		reference = f.r.clock()
	}
	f.spans = when.Parse(f.words, reference)
	for i := range f.spans {
		if s := &f.spans[i]; !s.From.IsZero() && !s.To.IsZero() && s.To.Sub(s.From) <= 24*time.Hour {
			s.To = s.To.Add(toldLater)
		}
	}
	f.named = f.index.Named(f.words)
}

// inTime tells whether something happened when the query says.
func (f *finding) inTime(at time.Time) bool {
	return slices.ContainsFunc(f.spans, func(r when.Range) bool { return r.Contains(at) })
}

// isNamed tells whether a note has an attribute whose value the query names.
func (f *finding) isNamed(attributes map[string]any) bool {
	for key, value := range f.named {
		if attributes[key] == value {
			return true
		}
	}
	return false
}

// embedding gives the query's vector and tokens, or none where words alone answer.
func (f *finding) embedding(ctx context.Context) (memory.Embedding, error) {
	if f.q.Vector != nil {
		return memory.Embedding{Vector: f.q.Vector}, nil
	}
	if f.mode == Lexical && f.q.Rerank != RerankModel || f.index != nil && f.index.Len() == 0 {
		return memory.Embedding{}, nil
	}
	made, err := f.r.embed(ctx, f.scope, &f.view.Collection, f.words)
	if err == nil || f.mode == Vector || ctx.Err() != nil {
		return made, err
	}
	f.r.log.Warn("a query could not be embedded; words alone answer",
		slog.String("collection", f.view.Collection.ID.String()), slog.Any("error", err))
	f.degraded = "the query could not be embedded; words alone answered"
	f.mode = Lexical
	return memory.Embedding{}, nil
}

// candidates gives the notes that the signals find, with what they measure.
// The best of them are measured by late interaction, which costs most.
func (f *finding) candidates(ranker *search.Ranker, o search.Options) []search.Candidate {
	depth := search.Depth(o.K)
	if f.ranked == search.Mem0 {
		depth = search.Mem0Depth(o.K)
	}
	selected := f.selected()
	if f.mode == Vector {
		hits := f.asked.Vector(selected, depth)
		out := make([]search.Candidate, len(hits))
		for i, h := range hits {
			out[i] = search.Candidate{Note: h.Note, Values: search.Values{search.Vector: h.Score}, Dense: true, ByVector: true}
		}
		return out
	}
	found := f.asked.Signals(selected, depth)
	f.found = found
	out := f.measured(found)
	markNearest(out, depth)
	if len(f.tokens) == 0 || f.mode == Lexical || !lateWeighs(ranker) {
		return out
	}
	best := ranker.Best(out, o, search.LateDepth)
	late, places := make([]index.Signals, len(best)), make([]int, len(best))
	for i, note := range best {
		places[i], _ = placeOf(found, note)
		late[i] = found[places[i]]
	}
	for i, l := range f.asked.Late(f.tokens, late) {
		setLate(&out[places[i]], l)
	}
	return out
}

// selected is the part of the view that may be hit; nil is all of it.
func (f *finding) selected() *index.Selection {
	if f.q.now.IsZero() {
		return f.index.Select(f.q.Filter)
	}
	return f.index.SelectFunc(func(_ index.ID, _ int64, r *filter.Record) bool { return f.q.lets(r) })
}

// lateWeighs tells whether late interaction counts.
func lateWeighs(r *search.Ranker) bool {
	return r.Weighs(search.Late) || r.Weighs(search.LateLead) || r.Weighs(search.LateAround)
}

// placeOf finds a note in what the index measured, which is in order of note id.
func placeOf(found []index.Signals, note search.ID) (int, bool) {
	return slices.BinarySearchFunc(found, note, func(s index.Signals, note search.ID) int { return bytes.Compare(s.Note[:], note[:]) })
}

// measured gives candidates in the order of what the index measured.
func (f *finding) measured(found []index.Signals) []search.Candidate {
	out := make([]search.Candidate, len(found))
	for i := range found {
		s := &found[i]
		out[i] = search.Candidate{
			Note: s.Note, Dense: s.Dense, At: s.Record.OccurredAt, Assistant: s.Role == index.Assistant, Terms: s.Length,
			Values: search.Values{
				search.Lexical: s.Words, search.Window: s.Window, search.Session: s.Session, search.Vector: s.Vector,
				search.Importance: s.Record.Importance, search.Question: one(s.Asks), search.Reply: one(s.Replies),
				search.Opening: one(s.Opens), search.Names: float64(s.Names),
				search.Time: one(f.inTime(s.Record.OccurredAt)), search.Attribute: one(f.isNamed(s.Record.Attributes)),
				search.Entity: f.boosts[s.Note],
			},
		}
	}
	return out
}

// markNearest marks the depth candidates that are nearest by vector.
func markNearest(all []search.Candidate, depth int) {
	order := make([]int, 0, len(all))
	for i := range all {
		if all[i].Dense {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(all[b].Values[search.Vector], all[a].Values[search.Vector]), bytes.Compare(all[a].Note[:], all[b].Note[:]))
	})
	for _, i := range order[:min(depth, len(order))] {
		all[i].ByVector = true
	}
}

// linkedCandidates measures linked notes as hits are, of those that the filter
// lets pass.
func (f *finding) linkedCandidates(linked []search.Linked) []search.Candidate {
	ids := make([]index.ID, len(linked))
	for i, l := range linked {
		ids[i] = l.Note
	}
	found := f.asked.SignalsOf(ids)
	found = slices.DeleteFunc(found, func(s index.Signals) bool { return !f.q.lets(s.Record) })
	out := f.measured(found)
	for i, l := range f.asked.Late(f.tokens, found) {
		setLate(&out[i], l)
	}
	return out
}

func setLate(c *search.Candidate, l index.Late) {
	c.Values[search.Late], c.Values[search.LateLead], c.Values[search.LateAround] = l.Own, l.Lead, l.Around
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// lateTokens gives the tokens of an embedding as the index takes them.
func lateTokens(made *memory.Embedding) []index.Token {
	out := make([]index.Token, len(made.Tokens))
	for i, t := range made.Tokens {
		out[i] = index.Token(t)
	}
	return out
}
