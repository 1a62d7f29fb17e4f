package recall

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
)

// exchangeOf is how many of the ranked notes are read for each hit that is asked for, where hits of one exchange are one.
const exchangeOf = 4

// longestExchange is how many messages an exchange has at most that is recalled as one. Talk of several persons without an
// assistant, and what a group said before one spoke, are recalled message by message.
const longestExchange = 8

// exchanges are the messages of the exchanges that hits belong to, oldest first, by the note of the hit. Only those of a
// person and an assistant are there.
type exchanges map[uuid.UUID][]uuid.UUID

// allOf returns hits and the other messages of their exchanges.
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

// merge leaves of the hits of one exchange the best one.
func (e exchanges) merge(hits []search.Hit) []search.Hit {
	seen := map[uuid.UUID]bool{} // first messages of exchanges
	return slices.DeleteFunc(hits, func(h search.Hit) bool {
		all := e[h.Note]
		if len(all) == 0 || !seen[all[0]] {
			if len(all) > 0 {
				seen[all[0]] = true
			}
			return false
		}
		return true
	})
}

// said is a message of an exchange.
type said struct {
	note uuid.UUID
	role memory.Role
	at   time.Time
}

// inOne returns the messages of an exchange in their order; nil if it is not recalled as one.
func inOne(list []said) []uuid.UUID {
	of := func(role memory.Role) bool {
		return slices.ContainsFunc(list, func(m said) bool { return m.role == role })
	}
	if len(list) > longestExchange || !of(memory.RoleUser) || !of(memory.RoleAssistant) {
		return nil
	}
	slices.SortFunc(list, func(a, b said) int { return cmp.Or(a.at.Compare(b.at), memory.CompareIDs(a.note, b.note)) })
	out := make([]uuid.UUID, len(list))
	for i := range list {
		out[i] = list[i].note
	}
	return out
}

// findExchanges finds the messages of the exchanges that hits belong to, as far as they match the query's filter.
func (sr *searchRun) findExchanges(ctx context.Context, hits []search.Hit) (exchanges, error) {
	if !sr.exchanges || len(hits) == 0 {
		return exchanges{}, nil
	}
	if sr.index == nil {
		return sr.exchangesInStore(ctx, hits)
	}
	out, known := exchanges{}, map[string][]uuid.UUID{}
	for _, h := range hits {
		_, r, ok := sr.index.Record(h.Note)
		if !ok || r.Kind != string(memory.KindMessage) {
			continue
		}
		turn := turnOf(r.Attributes)
		all, read := known[turn]
		if !read {
			all = sr.exchangeInIndex(turn)
			known[turn] = all
		}
		if len(all) > 0 {
			out[h.Note] = all
		}
	}
	return out, nil
}

func (sr *searchRun) exchangeInIndex(turn string) []uuid.UUID {
	var list []said
	for _, r := range sr.index.Exchange(turn) {
		if r.Kind == string(memory.KindMessage) && sr.q.matches(&r) {
			role, _ := r.Attributes[memory.AttrRole].(string)
			list = append(list, said{note: r.ID, role: memory.Role(role), at: r.OccurredAt})
		}
	}
	return inOne(list)
}

// turnOf returns the id of an exchange; "" if there is none.
func turnOf(attributes map[string]any) string {
	turn, _ := attributes[memory.AttrTurn].(string)
	return turn
}

// exchangesInStore reads the messages of exchanges from the store while the index is loading.
func (sr *searchRun) exchangesInStore(ctx context.Context, hits []search.Hit) (exchanges, error) {
	notes, err := sr.readNotes(ctx, hits, false)
	if err != nil {
		return nil, err
	}
	out, known := exchanges{}, map[string][]uuid.UUID{}
	for i := range notes {
		turn := turnOf(notes[i].Attributes)
		if turn == "" || notes[i].Kind != memory.KindMessage {
			continue
		}
		all, read := known[turn]
		if !read {
			if all, err = sr.exchangeInStore(ctx, &notes[i]); err != nil {
				return nil, err
			}
			known[turn] = all
		}
		if len(all) > 0 {
			out[notes[i].ID] = all
		}
	}
	return out, nil
}

func (sr *searchRun) exchangeInStore(ctx context.Context, n *memory.Note) ([]uuid.UUID, error) {
	around, at, err := sr.service.messagesAround(ctx, sr.scope, sr.view, sr.q.Filter, n)
	if err != nil {
		return nil, err
	}
	var list []said
	low, high := growPiece(around, at, 0)
	for j := low; j < high; j++ {
		m := &around[j]
		list = append(list, said{note: m.ID, role: memory.UtteranceOf(m).Role, at: m.OccurredAt})
		sr.nearest[m.ID] = m.Version()
	}
	return inOne(list), nil
}
