package recall

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/when"
)

// ranker returns the ranking that suits the query, the collection's embedder and the contents of the view, with
// the caller's profile and weights. The hints must have been read.
func (sr *searchRun) ranker() (ranker *search.Ranker, _ error) {
	cfg := sr.rankerConfig()
	err := cfg.Weights.Override(sr.q.Weights)
	if err == nil {
		ranker, err = search.New(cfg)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the ranking is misconfigured")
	}
	return ranker, nil
}

func (sr *searchRun) rankerConfig() search.Config {
	if sr.usedProfile = sr.q.Profile; sr.usedProfile == search.Auto {
		if sr.mode == Hybrid && len(sr.embedded.tokens) > 0 {
			return search.FittedConfig(&sr.features)
		}
		sr.usedProfile = search.General
	}
	cfg := search.DefaultConfig(sr.usedProfile)
	if e, ok := sr.service.embedders.ByName(sr.view.Collection.Embedder); ok {
		if sp, ok := e.(memory.Spelling); ok && sp.Spelling() && sr.usedProfile != search.Mem0 {
			cfg.Weights[search.Vector] = search.SpellingVector
			// Without meaning, words are most of a score, and this would be much of it.
			cfg.Weights[search.Opening] = 0
		}
	}
	return cfg
}

// readFeatures returns what the weights of the ranking depend on. The hints must have been read.
func (sr *searchRun) readFeatures() (f search.Features) {
	last := sr.words
	if sr.q.Messages != nil {
		last = lastUtterance(sr.q.Messages)
	}
	f[search.Always] = 1
	f[search.Asks] = boolToFloat(strings.ContainsAny(lastRune(last), "?？؟;՞፧"))
	f[search.NamesOne] = boolToFloat(len(sr.namedAttributes) > 0)
	f[search.QueryLength] = search.LogLength(float64(sr.indexQuery.Terms()))
	notes := max(float64(sr.index.Len()), 1)
	f[search.AssistantPart] = float64(sr.index.Roles()[index.Assistant]) / notes
	f[search.NoteLength] = search.LogLength(sr.index.MeanLength())
	if n, _ := sr.index.Sessions(); n > 0 && sr.index.HasSessions() {
		f[search.SessionLength] = search.LogLength(notes / float64(n))
	}
	return f
}

// lastRune returns the last character of a text that is not a space.
func lastRune(s string) string {
	s = strings.TrimRightFunc(s, unicode.IsSpace)
	_, size := utf8.DecodeLastRuneInString(s)
	return s[len(s)-size:]
}

// retellingPeriod is how long after a day people still tell what happened on it.
const retellingPeriod = 7 * 24 * time.Hour

// readHints finds the times and the values of attributes that the query names.
func (sr *searchRun) readHints() {
	if sr.words == "" {
		return
	}
	reference := sr.q.Reference
	if reference.IsZero() {
		reference = sr.service.clock().UTC()
	}
	reference = memory.Localize(reference, sr.view.Zone())
	sr.times = when.Parse(sr.words, reference)
	sr.times = sr.times[:min(len(sr.times), maxTimes)]
	for i := range sr.times {
		if s := &sr.times[i]; !s.From.IsZero() && !s.To.IsZero() && s.To.Sub(s.From) <= 24*time.Hour {
			s.To = s.To.Add(retellingPeriod)
		}
	}
	sr.namedAttributes = sr.index.Named(sr.words)
}

// maxTimes is how many times of a query count, the first ones. Every note is compared with them.
const maxTimes = 32

// matchesTime reports whether something happened at a time that the query names.
func (sr *searchRun) matchesTime(at time.Time) bool {
	return slices.ContainsFunc(sr.times, func(r when.Range) bool { return r.Contains(at) })
}

// matchesAttributes reports whether a note has an attribute whose value the query names.
func (sr *searchRun) matchesAttributes(attributes map[string]any) bool {
	for key, value := range sr.namedAttributes {
		if attributes[key] == value {
			return true
		}
	}
	return false
}

// askerShare is the share of [search.Attribute] that a note has for the name of who asks. It was chosen on labeled dialogues that may
// be learned from; docs/decisions/0137 has the figures.
const askerShare = 0.3

// markAsker raises candidates that have the name of who asks among their words: in a memory of several persons, what is about this one.
// In a message with a role it mostly addresses the person. Only a dialogue says who asks.
func (sr *searchRun) markAsker(out []search.Candidate) {
	name := asker(sr.q.Messages)
	if name == "" {
		return
	}
	named, err := sr.index.Query(name)
	if err != nil || !named.Matches() {
		return // words alone cannot be refused
	}
	ids := make([]index.ID, len(out))
	for i := range out {
		ids[i] = out[i].Note
	}
	for i, s := range named.SignalsOf(ids) { // as candidates are: visible, so none is left out
		if s.Words > 0 && s.Role == index.NoRole {
			out[i].Values[search.Attribute] = max(out[i].Values[search.Attribute], askerShare)
		}
	}
}

// embedded is a query as the encoder reads it.
type embedded struct {
	vector []float32
	tokens [][]index.Token     // of its texts: one, or of a dialogue its end and its last utterance
	second bool                // the second of two encoders has read all texts
	others map[string]embedded // as the other embedders of a union read it, by name
}

// by returns the query as an embedder of the view reads it.
func (e *embedded) by(embedder string) *embedded {
	if other, ok := e.others[embedder]; ok {
		return &other
	}
	return e
}

// embedQuery embeds the query. It returns nothing if words alone answer.
func (sr *searchRun) embedQuery(ctx context.Context) (embedded, error) {
	embedders := sr.embeddersOf()
	if sr.q.Vector != nil {
		if len(embedders) > 1 {
			return embedded{}, fault.New(fault.Conflict, "a vector is of one embedder, and the collections have %s: send a query", strings.Join(embedders, ", "))
		}
		return embedded{vector: sr.q.Vector}, nil
	}
	if sr.mode == Lexical && sr.q.Rerank != RerankModel || sr.index != nil && sr.index.Len() == 0 {
		return embedded{}, nil
	}
	made, err := sr.embedWords(ctx, embedders[0])
	for _, name := range embedders[1:] {
		if err != nil {
			break
		}
		if made.others == nil {
			made.others = map[string]embedded{}
		}
		made.others[name], err = sr.embedWords(ctx, name)
	}
	sr.service.outages.embed.Report(ctx, err, slog.Any("collection", sr.view.Collection.ID))
	if err == nil || sr.mode == Vector || ctx.Err() != nil {
		return made, err
	}
	sr.degraded = "the query could not be embedded; words alone answered"
	sr.mode = Lexical
	return embedded{}, nil
}

// embedWords embeds the words of the query. A dialogue has the mean of two vectors: that of its end, which says
// what it is about, and that of its last utterance, which says what is asked. It has the tokens of both.
func (sr *searchRun) embedWords(ctx context.Context, embedder string) (embedded, error) {
	out := embedded{second: true}
	add := func(s string) error {
		made, err := sr.service.embedText(ctx, sr.scope, embedder, sr.view.Collection.Dim, s)
		if err != nil {
			return err
		}
		if out.vector == nil {
			out.vector = make([]float32, len(made.Vector)) // the embedding may be cached
		}
		for i, x := range made.Vector {
			out.vector[i] += x
		}
		out.second = out.second && made.Second
		if len(made.Tokens) > 0 {
			out.tokens = append(out.tokens, lateTokens(&made))
		}
		return nil
	}
	if sr.q.Messages == nil {
		err := add(sr.words)
		return out, err
	}
	end, last := tail(sr.words, maxEmbeddedDialogue), tail(strings.TrimSpace(lastUtterance(sr.q.Messages)), maxEmbeddedDialogue)
	err := add(end)
	if err == nil && last != end {
		err = add(last)
	}
	return out, err
}

// late returns the late interaction of the query with notes: of a dialogue, the mean of its texts'.
func (sr *searchRun) late(notes []index.Signals) []index.Late {
	if len(sr.embedded.others) == 0 {
		return sr.lateBy(&sr.embedded, notes)
	}
	places, out := map[string][]int{}, make([]index.Late, len(notes))
	for i := range notes {
		hit, _, _ := sr.index.Record(notes[i].Note)
		name := sr.embedderOf(hit.Layer)
		places[name] = append(places[name], i)
	}
	for name, at := range places {
		some := make([]index.Signals, len(at))
		for j, i := range at {
			some[j] = notes[i]
		}
		for j, l := range sr.lateBy(sr.embedded.by(name), some) {
			out[at[j]] = l
		}
	}
	return out
}

// lateBy is late of notes that one embedder has read.
func (sr *searchRun) lateBy(query *embedded, notes []index.Signals) []index.Late {
	out := make([]index.Late, len(notes))
	for _, tokens := range query.tokens {
		n := float64(len(query.tokens))
		for i, l := range sr.indexQuery.Late(tokens, notes) {
			out[i].Own += l.Own / n
			out[i].Lead += l.Lead / n
			out[i].Around += l.Around / n
			out[i].Alike = l.Alike
		}
	}
	return out
}

// find returns the candidates of the search: those of its parts, or of all that may be hit.
func (sr *searchRun) find(ctx context.Context, ranker *search.Ranker, o search.Options) ([]search.Candidate, error) {
	ctx, end := sr.service.spans.search(ctx, sr.mode)
	defer end(nil)
	if len(sr.q.parts) > 0 {
		return sr.searchParts(ctx, ranker, o)
	}
	found := sr.candidates(sr.selection(), ranker, o, &sr.scratch)
	sr.signals = found.signals
	return found.candidates, nil
}

// foundNotes are candidates with the signals of the index, in order of note id; a search by meaning alone has none.
type foundNotes struct {
	candidates []search.Candidate
	signals    []index.Signals
}

// candidates returns the notes that the signals find, with their measures. Only the best of them are
// measured by late interaction, the most expensive signal. They are in the scratch.
func (sr *searchRun) candidates(selected *index.Selection, ranker *search.Ranker, o search.Options, s *scratch) foundNotes {
	depth := search.Depth(o.K)
	if sr.usedProfile == search.Mem0 {
		depth = search.Mem0Depth(o.K)
	}
	if sr.mode == Vector {
		hits := distinct(sr.indexQuery.Vector(selected, depth), func(h *index.Hit) int64 { return h.Digest }, s)
		out := make([]search.Candidate, len(hits))
		for i, h := range hits {
			out[i] = search.Candidate{Note: h.Note, Values: search.Values{search.Vector: h.Score}, Dense: true, ByVector: true}
		}
		return foundNotes{candidates: out}
	}
	found := distinct(sr.indexQuery.AppendSignals(s.signals[:0], selected, depth), digestOf, s)
	out := sr.toCandidates(s.candidates[:0], found)
	s.signals, s.candidates = found, out
	markNearest(out, depth)
	if len(sr.embedded.tokens) == 0 || sr.mode == Lexical || !usesLate(ranker) {
		return foundNotes{out, found}
	}
	best := ranker.Best(out, o, search.LateDepth)
	late, places := make([]index.Signals, len(best)), make([]int, len(best))
	for i, note := range best {
		places[i], _ = indexOfNote(found, note)
		late[i] = found[places[i]]
	}
	measured := make([]*search.Candidate, len(best))
	for i, at := range places {
		measured[i] = &out[at]
	}
	sr.setLate(measured, sr.late(late))
	return foundNotes{out, found}
}

// distinct returns a list without the items that have the digest of one before them: of notes that say the same,
// one is a hit. It changes the list.
func distinct[T any](list []T, digest func(*T) int64, s *scratch) []T {
	if s.seen == nil {
		s.seen = make(map[int64]bool, len(list))
	}
	clear(s.seen)
	kept := 0
	for i := range list { // each is too large to be copied
		d := digest(&list[i])
		if d != 0 && s.seen[d] {
			continue
		}
		s.seen[d] = true
		if kept != i {
			list[kept] = list[i]
		}
		kept++
	}
	clear(list[kept:])
	return list[:kept]
}

func digestOf(s *index.Signals) int64 { return s.Digest }

// selection returns the part of the view that may be hit and satisfies further conditions, each of which may be nil; nil is
// all of the view.
func (sr *searchRun) selection(further ...filter.Expr) *index.Selection {
	wanted := sr.q.Filter
	if len(sr.q.leftOut) > 0 {
		further = append(further, filter.Not{Term: sr.q.leftOut})
	}
	for _, e := range further {
		switch {
		case wanted == nil:
			wanted = e
		case e != nil:
			wanted = filter.And{wanted, e}
		}
	}
	selected := sr.index.Select(wanted)
	if !sr.q.expiredBy.IsZero() {
		selected = sr.index.Narrow(selected, hasExpiry, func(r *filter.Record) bool { return !isExpired(r.Attributes, sr.q.expiredBy) })
	}
	return sr.service.counted(selected)
}

// hasExpiry matches the few notes that may have expired.
var hasExpiry = &filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrExpires}, Op: filter.Exists, Want: true}

// usesLate reports whether late interaction has a weight.
func usesLate(r *search.Ranker) bool {
	return r.Weighs(search.Late) || r.Weighs(search.LateLead) || r.Weighs(search.LateAround)
}

// indexOfNote finds a note in the signals of the index, which are in order of note id.
func indexOfNote(found []index.Signals, note search.ID) (int, bool) {
	return slices.BinarySearchFunc(found, note, func(s index.Signals, note search.ID) int { return memory.CompareIDs(s.Note, note) })
}

// toCandidates appends signals of the index as candidates, in the same order.
func (sr *searchRun) toCandidates(out []search.Candidate, found []index.Signals) []search.Candidate {
	out = slices.Grow(out, len(found))[:len(found)]
	for i := range found {
		s := &found[i]
		at := s.OccurredAt()
		out[i] = search.Candidate{
			Note: s.Note, Dense: s.Dense, At: at, Session: s.InSession,
			Values: search.Values{
				search.Lexical: s.Words, search.Window: s.Window, search.Session: s.Session, search.Vector: s.Vector,
				search.Importance: s.Importance(), search.Question: boolToFloat(s.Asks), search.Reply: boolToFloat(s.Replies),
				search.Opening: boolToFloat(s.Opens), search.Names: float64(s.Names),
				search.Time: boolToFloat(sr.matchesTime(at)), search.Attribute: boolToFloat(sr.matchesAttributes(s.Attributes())),
				search.Verbatim: search.Wording(s.Covered), search.Covered: s.Covered,
				search.Spoken: boolToFloat(s.Role == index.Assistant), search.Length: search.LogLength(float64(s.Length)), search.Entity: sr.boosts[s.Note],
			},
		}
	}
	sr.markAsker(out)
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
	depth = min(depth, len(order))
	search.Select(order, depth, func(a, b int) int {
		return cmp.Or(cmp.Compare(all[b].Values[search.Vector], all[a].Values[search.Vector]), bytes.Compare(all[a].Note[:], all[b].Note[:]))
	})
	for _, i := range order[:depth] {
		all[i].ByVector = true
	}
}

// linkedCandidates measures linked notes as hits are measured. It leaves out those that the filter
// does not match.
func (sr *searchRun) linkedCandidates(linked []search.Linked) []search.Candidate {
	ids := make([]index.ID, len(linked))
	for i, l := range linked {
		ids[i] = l.Note
	}
	found := sr.indexQuery.SignalsOf(ids)
	known := make(map[int64]index.ID, len(sr.signals))
	for i := range sr.signals {
		known[sr.signals[i].Digest] = sr.signals[i].Note
	}
	found = slices.DeleteFunc(found, func(s index.Signals) bool {
		same, ok := known[s.Digest]
		r := s.Record()
		return !sr.q.matches(&r) || ok && s.Digest != 0 && same != s.Note
	})
	found = distinct(found, digestOf, &scratch{})
	out := sr.toCandidates(nil, found)
	measured := make([]*search.Candidate, len(out))
	for i := range out {
		measured[i] = &out[i]
	}
	sr.setLate(measured, sr.late(found))
	return out
}

func boolToFloat(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// lateTokens converts the tokens of an embedding for the index.
func lateTokens(made *memory.Embedding) []index.Token {
	out := make([]index.Token, len(made.Tokens))
	for i, t := range made.Tokens {
		out[i] = index.Token(t)
	}
	return out
}
