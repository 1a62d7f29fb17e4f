package index

import (
	"hash/maphash"

	"github.com/slipboxhq/slipbox/internal/filter"
)

// turns finds the rows of an exchange, which share attributes.turn: by its hash the last row, from which entry.turn leads to those
// before it. Rows of exchanges whose hashes are equal are in one list.
type turns map[uint64]int32

var turnSeed = maphash.MakeSeed()

// turnOf returns attributes.turn; "" if there is none.
func turnOf(e *entry) string {
	turn, _ := e.attributes()["turn"].(string)
	return turn
}

// add appends a row to the list of its exchange, and returns the memory that takes, in bytes. The caller holds the lock of the data.
func (t *turns) add(row uint32, e *entry) (bytes int64) {
	e.turn = none
	turn := turnOf(e)
	if turn == "" {
		return 0
	}
	if *t == nil {
		*t = turns{}
	}
	key := maphash.String(turnSeed, turn)
	last, known := (*t)[key]
	if (*t)[key] = int32(row); known { //nolint:gosec // rows fit
		e.turn = last
		return 0
	}
	return slotBytes(8 + 4)
}

// Exchange returns the visible versions whose attributes.turn is the given one, in no order. Its cost does not grow with the view.
func (v *View) Exchange(turn string) (out []filter.Record) {
	if turn == "" {
		return nil
	}
	key := maphash.String(turnSeed, turn)
	for i := range v.layers {
		l := &v.layers[i]
		l.data.mu.RLock()
		row, ok := l.data.turns[key]
		rows := l.data.rows
		l.data.mu.RUnlock()
		for ; ok && row != none; row = rows[row].turn {
			if e := &rows[row]; l.visible.has(uint32(row)) && turnOf(e) == turn { //nolint:gosec // not none
				out = append(out, e.record())
			}
		}
	}
	return out
}
