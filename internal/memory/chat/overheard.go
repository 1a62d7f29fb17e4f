package chat

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/text/quote"
)

const (
	sameMoment  = 2 * time.Second // a person does not ask, and quote it elsewhere, in less
	leastQuoted = 12              // bytes of a question that is looked for
)

// asked is a question, from when it came.
type asked struct {
	collection uuid.UUID
	text       string
	lines      string // the text, with its lists of messages as lines
	at         time.Time
	alone      bool // the request has no other turn
	transcript atomic.Bool
	programs   atomic.Bool // it is a transcript and nothing else, which a program made
}

// questions are those of the last moment. A program that wants a title asks for it while the conversation's first question is being
// answered, with that question in a transcript: the store has no turn yet by which to tell.
type questions struct {
	mu     sync.Mutex
	newest []*asked
}

// begin notes a question, and marks the one of two of the same moment that is a transcript of the other.
func (q *questions) begin(a *asked) {
	a.lines = quote.Unpacked(a.text)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.newest = slices.DeleteFunc(q.newest, func(old *asked) bool { return a.at.Sub(old.at) > sameMoment })
	for _, other := range q.newest {
		if other.collection == a.collection {
			a.mark(other)
			other.mark(a)
		}
	}
	q.newest = append(q.newest, a)
}

// mark marks a as a transcript if it has the other question behind the name of a speaker, as the rest of a line.
func (a *asked) mark(other *asked) {
	if len(other.text) < leastQuoted || len(a.lines) <= len(other.text) {
		return
	}
	text := a.lines
	for {
		before, behind, ok := strings.Cut(text, other.text)
		if !ok {
			return
		}
		if quote.Speaker(before) != "" && (strings.HasPrefix(behind, "\n") || strings.HasPrefix(behind, "\r\n")) {
			a.transcript.Store(true)
			if a.alone && quote.Closes(before, behind) {
				a.programs.Store(true)
			}
			return
		}
		text = behind
	}
}
