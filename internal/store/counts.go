package store

import "github.com/slipboxhq/slipbox/internal/memory"

// Tally is a number of visible notes that are counted alike.
type Tally struct {
	Kind            memory.Kind
	Waits, InReview bool // a note waits when its state says so or when it has no vector yet
	Notes, Bytes    int64
}

// AddTo adds the notes to counts; negative numbers subtract.
func (t Tally) AddTo(c *memory.Counts) {
	c.Notes += t.Notes
	c.Bytes += t.Bytes
	if t.Waits {
		c.Pending += t.Notes
	}
	if t.InReview {
		c.InReview += t.Notes
	}
	if c.Kinds == nil {
		c.Kinds = map[memory.Kind]int64{}
	}
	if c.Kinds[t.Kind] += t.Notes; c.Kinds[t.Kind] == 0 {
		delete(c.Kinds, t.Kind)
	}
}

// countNote adds (by 1) or subtracts (by -1) a note of so many bytes.
func countNote(c *memory.Counts, n *memory.Note, bytes, by int64) {
	Tally{n.Kind, n.State == memory.StatePending || n.Embedder == "", n.State == memory.StateInReview, by, by * bytes}.AddTo(c)
}
