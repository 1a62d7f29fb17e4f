package recall

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/index"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
)

// exchangeOf is how many of the ranked notes are read for each hit that is asked for, where hits of one exchange are one.
const exchangeOf = 4

// exchanges are the messages of the exchanges that hits belong to, oldest first, by the note of the hit.
type exchanges map[uuid.UUID][]uuid.UUID

// allOf returns hits and the other messages of their exchanges, each once.
func (e exchanges) allOf(hits []search.Hit) []search.Hit {
	out := slices.Clone(hits)
	for _, h := range hits {
		for _, id := range e[h.Note] {
			if id != h.Note {
				out = append(out, search.Hit{Candidate: search.Candidate{Note: id}})
			}
		}
	}
	return out
}

// turnOf returns the id of a message's exchange; "" if it has none.
func turnOf(n *memory.Note) string {
	turn, _ := n.Attributes[memory.AttrTurn].(string)
	if n.Kind != memory.KindMessage {
		return ""
	}
	return turn
}

// mergeExchanges leaves of the hits of one exchange the best one.
func (sr *searchRun) mergeExchanges(ctx context.Context, hits []search.Hit) ([]search.Hit, error) {
	if !sr.exchanges || len(hits) == 0 {
		return hits, nil
	}
	turns, err := sr.turnsOf(ctx, hits)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(hits, func(h search.Hit) bool {
		turn := turns[h.Note]
		if turn == "" || !seen[turn] {
			seen[turn] = true
			return false
		}
		return true
	}), nil
}

func (sr *searchRun) turnsOf(ctx context.Context, hits []search.Hit) (map[uuid.UUID]string, error) {
	notes, err := sr.readNotes(ctx, hits, false)
	if err != nil {
		return nil, err
	}
	out := make(map[uuid.UUID]string, len(notes))
	for i := range notes {
		out[notes[i].ID] = turnOf(&notes[i])
	}
	return out, nil
}

// messagesOfExchanges finds the messages of the exchanges that hits belong to, as far as they match the query's filter.
func (sr *searchRun) messagesOfExchanges(ctx context.Context, hits []search.Hit) (exchanges, error) {
	if !sr.exchanges || sr.q.Internal || sr.q.IDsOnly || len(hits) == 0 {
		return nil, nil
	}
	turns, err := sr.turnsOf(ctx, hits)
	if err != nil {
		return nil, err
	}
	if sr.index == nil {
		return sr.exchangesInStore(ctx, hits)
	}
	type message struct {
		note uuid.UUID
		r    *filter.Record
	}
	wanted := map[string][]message{}
	for _, turn := range turns {
		if turn != "" {
			wanted[turn] = nil
		}
	}
	sr.index.SelectFunc(func(id index.ID, _ int64, r *filter.Record) bool {
		turn, _ := r.Attributes[memory.AttrTurn].(string)
		if _, ok := wanted[turn]; ok && r.Kind == string(memory.KindMessage) && sr.q.matches(r) {
			wanted[turn] = append(wanted[turn], message{note: id, r: r})
		}
		return false
	})
	out := exchanges{}
	for _, h := range hits {
		said := wanted[turns[h.Note]]
		slices.SortFunc(said, func(a, b message) int {
			return cmp.Or(a.r.OccurredAt.Compare(b.r.OccurredAt), bytes.Compare(a.note[:], b.note[:]))
		})
		if len(said) < 2 {
			continue
		}
		for _, m := range said {
			out[h.Note] = append(out[h.Note], m.note)
		}
	}
	return out, nil
}

// exchangesInStore is messagesOfExchanges while the index is loading.
func (sr *searchRun) exchangesInStore(ctx context.Context, hits []search.Hit) (exchanges, error) {
	notes, err := sr.readNotes(ctx, hits, false)
	if err != nil {
		return nil, err
	}
	out := exchanges{}
	for i := range notes {
		if turnOf(&notes[i]) == "" {
			continue
		}
		around, at, err := sr.service.messagesAround(ctx, sr.scope, sr.view, sr.q.Filter, &notes[i])
		if err != nil {
			return nil, err
		}
		low, high := growPiece(around, at, 0)
		for j := low; j < high && high-low > 1; j++ {
			out[notes[i].ID] = append(out[notes[i].ID], around[j].ID)
			sr.nearest[around[j].ID] = around[j].Version()
		}
	}
	return out, nil
}
