package contexts

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Order is the order in which a context shows its notes. The notes are chosen by relevance in either
// case.
type Order string

// The orders, each within a part: the oldest first, as a conversation is read, or the most relevant
// first. Statements about the same thing are together in either, the newest first, except in a conversation.
const (
	OrderTime      Order = "time"
	OrderRelevance Order = "relevance"
)

// Request describes the context to write.
type Request struct {
	Query    string   // words of the query; they decide which passages of a long note are shown
	Dialogue []string // turns that the prompt holds already; fixed notes do not repeat them

	Budget   int             // in tokens, above 0
	Encoding search.Encoding // counts the budget
	Order    Order
	Details  bool // show the confidence and the end of facts
	Layers   bool // show in which layer a note is
	ByDate   bool // show hits of all kinds together, under their dates
	Pages    bool // messages are pages, which are shown in place of the facts that were learned from them

	Hits   []Hit         // best first
	Pinned []memory.Note // shown first in their parts, in this order
	Recent []memory.Note // the newest messages, newest first
}

// Hit is a note that a search found.
type Hit struct {
	Note    *memory.Note
	Passage *text.Span // the best passage by words; nil: none is known
	About   uuid.UUID  // hits with the same one are about the same thing; zero: it is alone
	Beside  bool       // not found itself: it belongs to the exchange of the hit before it, or is next to it
}

// Result is a text within the budget, and what it shows.
type Result struct {
	Text   string // of all parts; "" when nothing fits
	Tokens int    // of Text, never more than the budget
	Parts  []Part
	// Citations belong to the marks in Text, in order: the first one is [1]. Notes are the cited notes.
	Citations []Citation
	Notes     []memory.Note
	Dates     []string // of the events of the dated notes in Text, oldest first, as 2006-01-02
	// Recalled are the hits that Text shows, pinned notes and recent messages that were found too
	// included.
	Recalled []uuid.UUID
}

// Part is what a context holds of one kind of memory.
type Part struct {
	Kind      PartKind
	Text      string // as in the context's text, with its marks
	Tokens    int    // of Text alone
	Citations []Citation
}

// Citation is a version of a note that a context shows.
type Citation struct {
	Note       uuid.UUID
	Revision   memory.Revision // where that version begins
	Confidence *float64        // of a statement, 0..1; nil: not known
	Sources    []uuid.UUID     // notes that a statement was derived from
	File       string          // name of the file that a passage is of; "": it is of none
	Page       int64           // of the file; 0: it has no pages
}

// Cite returns the citation of a note.
func Cite(n *memory.Note) Citation {
	c := Citation{Note: n.ID, Revision: n.From}
	if memory.IsStatement(n) {
		c.Sources = n.Provenance.Sources
	}
	if sure, ok := memory.ConfidenceOf(n); ok {
		c.Confidence = &sure
	}
	c.File, c.Page = memory.FileOf(n)
	return c
}

// Write writes a context.
//
// Hits are taken in their order. A hit that repeats what another one shows already is left out, a
// long one shows its best passage, and one that does not fit is skipped. The rest of the budget goes
// to the hits that were cut, the most relevant first, then to pinned notes and older messages. It
// returns Timeout when ctx ends.
func Write(ctx context.Context, r *Request) (Result, error) {
	return newPacker(r).pack(ctx, r)
}
