package chat

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

const (
	sameMoment  = 2 * time.Second // a person does not ask, and quote it elsewhere, in less
	leastQuoted = 12              // bytes of a question that is looked for
	whoSpeaks   = 64              // bytes that a line of a transcript has at most before what is said
)

// asked is a question, from when it came.
type asked struct {
	collection uuid.UUID
	text       string
	at         time.Time
	transcript atomic.Bool
}

// questions are those of the last moment. A program that wants a title asks for it while the conversation's first question is being
// answered, with that question in a transcript: the store has no turn yet by which to tell.
type questions struct {
	mu     sync.Mutex
	newest []*asked
}

// begin notes a question, and marks the one of two of the same moment that is a transcript of the other.
func (q *questions) begin(a *asked) {
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
	if len(other.text) < leastQuoted || len(a.text) <= len(other.text) {
		return
	}
	text := a.text
	for {
		before, behind, ok := strings.Cut(text, other.text)
		if !ok {
			return
		}
		if labels(before) && (strings.HasPrefix(behind, "\n") || strings.HasPrefix(behind, "\r\n")) {
			a.transcript.Store(true)
			return
		}
		text = behind
	}
}

// labels reports whether the last line of a text says who speaks: it is short, and ends in a mark or in space behind one.
func labels(before string) bool {
	label := strings.TrimRightFunc(before[strings.LastIndexByte(before, '\n')+1:], unicode.IsSpace)
	last, _ := utf8.DecodeLastRuneInString(label)
	return label != "" && len(label) <= whoSpeaks && (unicode.IsPunct(last) || unicode.IsSymbol(last))
}
