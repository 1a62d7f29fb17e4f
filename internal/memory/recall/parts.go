package recall

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
)

// searchParts searches the parts of the policy's reading at the same time, and returns the candidates of all, of
// which the ranking is one. A part that fails is left out, and degraded says so; the error is returned when all
// fail, or ctx has ended.
func (sr *searchRun) searchParts(ctx context.Context, ranker *search.Ranker, o search.Options) ([]search.Candidate, error) {
	parts := sr.q.parts
	found, errs := make([]foundNotes, len(parts)), make([]error, len(parts))
	var running sync.WaitGroup
	for i := range parts {
		running.Go(func() { found[i], errs[i] = sr.searchPart(ctx, &parts[i], ranker, o) })
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var all foundNotes
	var failed []string
	for i := range parts {
		if errs[i] != nil {
			failed = append(failed, parts[i].Name)
			sr.service.log.WarnContext(ctx, "a part of a search failed; the others answer", slog.String("part", parts[i].Name),
				slog.Any("collection", sr.view.Collection.ID), slog.Any("error", errs[i]))
			continue
		}
		all.candidates = append(all.candidates, found[i].candidates...)
		all.signals = append(all.signals, found[i].signals...)
	}
	if len(failed) == len(parts) {
		return nil, errs[0]
	}
	if len(failed) > 0 && sr.degraded == "" {
		sr.degraded = fmt.Sprintf("not everything was searched: %s failed; the others answered", strings.Join(failed, ", "))
	}
	sr.mergeFound(&all)
	sr.signals = all.signals
	return all.candidates, nil
}

// mergeFound sorts candidates of several parts and their signals by note, and keeps one of each note and of
// notes that say the same.
func (sr *searchRun) mergeFound(all *foundNotes) {
	slices.SortStableFunc(all.signals, func(a, b index.Signals) int { return memory.CompareIDs(a.Note, b.Note) })
	all.signals = slices.CompactFunc(all.signals, func(a, b index.Signals) bool { return a.Note == b.Note })
	all.signals = distinct(all.signals, digestOf, &scratch{})
	slices.SortStableFunc(all.candidates, func(a, b search.Candidate) int { return memory.CompareIDs(a.Note, b.Note) })
	all.candidates = slices.CompactFunc(all.candidates, func(a, b search.Candidate) bool { return a.Note == b.Note })
	if sr.mode != Vector {
		all.candidates = slices.DeleteFunc(all.candidates, func(c search.Candidate) bool {
			_, ok := indexOfNote(all.signals, c.Note)
			return !ok
		})
	}
}

// searchPart returns the best candidates of one part.
func (sr *searchRun) searchPart(ctx context.Context, p *memory.Part, ranker *search.Ranker, o search.Options) (foundNotes, error) {
	var kinds filter.Expr
	if len(p.Kinds) > 0 {
		kinds = memory.OfKinds(p.Kinds...)
	}
	var selected *index.Selection
	if p.Stage == nil {
		selected = sr.selection(kinds, p.Filter)
	} else {
		staged, err := sr.searchStage(ctx, p.Stage, ranker, o)
		if err != nil {
			return foundNotes{}, err
		}
		selected = sr.service.counted(sr.index.SelectNotes(staged, func(r *filter.Record) bool {
			return sr.q.matches(r) && filter.Match(kinds, r) && filter.Match(p.Filter, r)
		}))
	}
	return bestOf(sr.candidates(selected, ranker, o, &scratch{}), p.Floor, p.K, ranker, o), nil
}

// searchStage returns the notes that are linked from the best ones of a stage. The query's own filter selects among
// them, not among the notes of the stage.
func (sr *searchRun) searchStage(ctx context.Context, st *memory.PartStage, ranker *search.Ranker, o search.Options) ([]index.ID, error) {
	wanted := memory.OfKinds(st.Kinds...)
	if st.Filter != nil {
		wanted = filter.And{wanted, st.Filter}
	}
	selected := sr.service.counted(sr.index.Select(wanted))
	found := bestOf(sr.candidates(selected, ranker, o, &scratch{}), st.Floor, st.K, ranker, o)
	if len(found.candidates) == 0 {
		return nil, nil
	}
	ids := make([]uuid.UUID, len(found.candidates))
	for i := range found.candidates {
		ids[i] = found.candidates[i].Note
	}
	links, err := sr.links(ctx, memory.LinkQuery{Notes: ids, Direction: memory.Outgoing, Limit: math.MaxInt32, Hidden: true})
	if err != nil {
		return nil, err
	}
	var out []index.ID
	for i := range links {
		if st.Relation == "" || links[i].Relation == st.Relation {
			out = append(out, links[i].Target)
		}
	}
	return out, nil
}

// bestOf returns the k best candidates that reach the floor; 0: all of these.
func bestOf(found foundNotes, floor float64, k int, ranker *search.Ranker, o search.Options) foundNotes {
	if floor > 0 {
		found.candidates = slices.DeleteFunc(found.candidates, func(c search.Candidate) bool {
			return c.Dense && c.Values[search.Vector] < floor && c.Values[search.Lexical] == 0
		})
	}
	kept := make(map[search.ID]bool, len(found.candidates))
	if k > 0 {
		for _, note := range ranker.Best(found.candidates, o, k) {
			kept[note] = true
		}
		found.candidates = slices.DeleteFunc(found.candidates, func(c search.Candidate) bool { return !kept[c.Note] })
	} else {
		for i := range found.candidates {
			kept[found.candidates[i].Note] = true
		}
	}
	found.signals = slices.DeleteFunc(found.signals, func(s index.Signals) bool { return !kept[s.Note] })
	return found
}
