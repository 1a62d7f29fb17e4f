package notes

import (
	"context"
	"slices"
	"strings"
	"unicode"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

const (
	quotable     = 12 // newest messages that are looked for in a new one
	betweenTurns = 64 // bytes that a transcript has at most between two turns: who speaks
	leastQuoted  = 12 // letters and digits of a turn and its answer together
)

// markQuoted marks exchanges in which the user's message has a turn and its answer that the collection holds, word for word and
// one after the other: a transcript. Programs send it to ask for a title, tags or the next questions: nothing in it is
// new. The message is kept, and nothing is learned from it.
func (n *Service) markQuoted(ctx context.Context, s tenant.Scope, c *memory.Collection, list []*message) error {
	// A transcript has several lines.
	mayQuote := func(m *message) bool { return m.role == memory.RoleUser && strings.Contains(m.note.Content, "\n") }
	if !slices.ContainsFunc(list, mayQuote) {
		return nil
	}
	v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return err
	}
	newest, err := n.store.ListNotes(ctx, s, v, memory.NoteQuery{
		Kinds: []memory.Kind{memory.KindMessage}, Newest: true, Limit: quotable,
		Filter: filter.AttributeIs(memory.AttrRole, string(memory.RoleUser), string(memory.RoleAssistant)),
	})
	if err != nil {
		return err
	}
	for _, m := range list {
		if !mayQuote(m) || !quotesTurn(m.note.Content, newest) {
			continue
		}
		for _, of := range list {
			if of.exchange == m.exchange {
				of.note.Attributes[memory.AttrRecall] = true
			}
		}
	}
	return nil
}

// quotesTurn reports whether a text has a message of a user and the answer behind it. newest are messages, the newest first.
func quotesTurn(content string, newest []memory.Note) bool {
	content = oneSpaced(content)
	for i := 1; i < len(newest); i++ {
		asked, answered := memory.UtteranceOf(&newest[i]), memory.UtteranceOf(&newest[i-1])
		if asked.Role != memory.RoleUser || answered.Role != memory.RoleAssistant {
			continue
		}
		turn, answer := oneSpaced(asked.Content), oneSpaced(answered.Content)
		if lettersIn(turn+answer) >= leastQuoted && follows(content, turn, answer) {
			return true
		}
	}
	return false
}

// follows reports whether a text has a turn and, close behind it, its answer.
func follows(s, turn, answer string) bool {
	for {
		_, rest, ok := strings.Cut(s, turn)
		if !ok {
			return false
		}
		if at := strings.Index(rest, answer); at > 0 && at <= betweenTurns {
			return true
		}
		s = rest
	}
}

func oneSpaced(s string) string { return strings.Join(strings.Fields(s), " ") }

func lettersIn(s string) (n int) {
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			n++
		}
	}
	return n
}
