package recall

import (
	"context"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/recall/contexts"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// pieceReach is how many messages are read before a hit, and behind it.
const pieceReach = 4

// mergeTurns shows the messages of an exchange together: behind each of the best hits that are messages,
// as many as a search of the policy has, come the others of its exchange, and of the exchanges beside it as long
// as the piece is short enough. Pieces do not reach into another session or day.
func (r *Service) mergeTurns(ctx context.Context, s tenant.Scope, v memory.View, f filter.Expr, rd *memory.Reading, hits []contexts.Hit) ([]contexts.Hit, error) {
	out := make([]contexts.Hit, 0, len(hits)+2*rd.K)
	seen := map[uuid.UUID]bool{}
	pieces := 0
	for _, h := range hits {
		turn, _ := h.Note.Attributes[memory.AttrTurn].(string)
		if h.Note.Kind != memory.KindMessage || turn == "" || seen[h.Note.ID] || pieces == rd.K {
			out = append(out, h)
			continue
		}
		pieces++
		around, at, err := r.messagesAround(ctx, s, v, f, h.Note)
		if err != nil {
			return nil, err
		}
		out = append(out, h)
		seen[h.Note.ID] = true
		low, high := growPiece(around, at, rd.PieceChars)
		for i := low; i < high; i++ {
			if !seen[around[i].ID] {
				seen[around[i].ID] = true
				out = append(out, contexts.Hit{Note: &around[i], Beside: true})
			}
		}
	}
	return out, nil
}

// messagesAround returns the messages around one, by time, and its position among them.
func (r *Service) messagesAround(ctx context.Context, s tenant.Scope, v memory.View, f filter.Expr, n *memory.Note) (around []memory.Note, at int, err error) {
	q := memory.NoteQuery{
		Filter: f, Kinds: []memory.Kind{memory.KindMessage}, ByTime: true, After: n.ID, AfterTime: n.OccurredAt, Limit: pieceReach,
	}
	behind, err := r.listNotes(ctx, s, v, q)
	if err != nil {
		return nil, 0, err
	}
	q.Newest = true
	before, err := r.listNotes(ctx, s, v, q)
	if err != nil {
		return nil, 0, err
	}
	slices.Reverse(before)
	return slices.Concat(before, []memory.Note{*n}, behind), len(before), nil
}

// growPiece returns the range of the messages that one is shown with: its exchange, then whole exchanges
// behind it and before it up to so many characters.
func growPiece(list []memory.Note, at, chars int) (low, high int) {
	low, high = at, at+1
	for low > 0 && sameTurn(&list[low-1], &list[at]) {
		low--
	}
	for high < len(list) && sameTurn(&list[high], &list[at]) {
		high++
	}
	size := 0
	for i := low; i < high; i++ {
		size += utf8.RuneCountInString(list[i].Content)
	}
	// A turn at the edge of what was read may not be whole, so it is left out.
	for high < len(list) && besides(&list[high], &list[at]) {
		end, more := high, 0
		for end < len(list) && sameTurn(&list[end], &list[high]) {
			more += utf8.RuneCountInString(list[end].Content)
			end++
		}
		if end == high || size+more > chars || end == len(list) && end-at > pieceReach {
			break
		}
		high, size = end, size+more
	}
	for low > 0 && besides(&list[low-1], &list[at]) {
		start, more := low, 0
		for start > 0 && sameTurn(&list[start-1], &list[low-1]) {
			start--
			more += utf8.RuneCountInString(list[start].Content)
		}
		if start == low || size+more > chars || start == 0 && at == pieceReach {
			break
		}
		low, size = start, size+more
	}
	return low, high
}

// sameTurn reports whether two messages belong to one exchange.
func sameTurn(a, b *memory.Note) bool {
	turn, _ := a.Attributes[memory.AttrTurn].(string)
	return turn != "" && turn == b.Attributes[memory.AttrTurn]
}

// besides reports whether two messages are of the same session and day.
func besides(a, b *memory.Note) bool {
	return fmt.Sprint(a.Attributes[memory.AttrSession]) == fmt.Sprint(b.Attributes[memory.AttrSession]) && memory.Day(a.OccurredAt) == memory.Day(b.OccurredAt)
}
