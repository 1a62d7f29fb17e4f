package notes

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text/quote"
)

const (
	quotable     = 12 // newest messages that are looked for in a new one
	betweenTurns = 64 // bytes that a transcript has at most between two turns: who speaks
	leastQuoted  = 12 // letters and digits of a turn and its answer together
	leastCut     = 40 // characters with which a turn begins that a program cut off
	leastTail    = 12 // characters with which one ends whose middle it left out
)

// soon is how long behind an answer a program asks about the conversation. A person does not read it, copy both sides into another
// conversation and write about them in less.
const soon = 10 * time.Second

// markQuoted marks exchanges in which the user's message has a turn and its answer that the collection holds, word for word and
// one after the other: a transcript. Programs send it to ask for a title, tags or the next questions: nothing in it is
// new. The message is kept, and nothing is learned from it.
//
// People quote too, and add words of their own. So it is found as any other message, unless the request shows that a program made
// it: see [isProgramsWork]. alone is when a request came that had no other turn; zero: it had, or nobody knows.
func (n *Service) markQuoted(ctx context.Context, s tenant.Scope, c *memory.Collection, list []*message, alone time.Time) error {
	texts := map[*message]string{} // of users, with several lines, as a transcript has
	for _, m := range list {
		if m.role != memory.RoleUser {
			continue
		}
		if text := quote.Unpacked(m.note.Content); strings.Contains(text, "\n") {
			texts[m] = text
		}
	}
	if len(texts) == 0 {
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
	for m, content := range texts {
		programs := !alone.IsZero() && isProgramsWork(content, newest, alone)
		if !programs && !quotesTurn(content, newest) {
			continue
		}
		for _, of := range list {
			if of.exchange == m.exchange {
				of.note.Attributes[memory.AttrRecall] = true
				if programs {
					of.note.Attributes[memory.AttrTranscript] = true
				}
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

// isProgramsWork reports whether a request of its own has only a transcript that a program made: a turn of the collection and its
// answer, or enough of their beginnings, are lines of it, each behind the name of who speaks, the person says nothing later in it, and
// it came so soon behind the answer, or behind another request of the kind, that nobody can have written it.
func isProgramsWork(content string, newest []memory.Note, came time.Time) bool {
	var last time.Time // when the newest of the turn's answer and the programs' requests behind it was stored
	for i := range newest {
		if memory.IsTranscript(&newest[i]) {
			last = memory.Later(last, newest[i].CreatedAt)
			continue
		}
		if i+1 == len(newest) {
			break
		}
		asked, answered := memory.UtteranceOf(&newest[i+1]), memory.UtteranceOf(&newest[i])
		if asked.Role != memory.RoleUser || answered.Role != memory.RoleAssistant || came.Sub(memory.Later(last, newest[i].CreatedAt)) > soon {
			continue
		}
		before, rest, ok := cutTurn(content, asked.Content)
		if !ok {
			continue
		}
		between, behind, ok := cutTurn(rest, answered.Content)
		if ok && strings.Contains(between, "\n") && len(between) <= betweenTurns && quote.Speaker(between) != "" && quote.Closes(before, behind) {
			return true
		}
	}
	return false
}

// cutTurn returns what is before and behind a turn in a text. The program may have left out the turn's end or middle.
func cutTurn(text, turn string) (before, behind string, ok bool) {
	turn = oneSpaced(turn)
	first, _ := utf8.DecodeRuneInString(turn)
	for at, r := range text {
		if r != first {
			continue
		}
		behind, unsaid := behindTurn(text[at:], turn)
		if unsaid == "" {
			return text[:at], behind, turn != ""
		}
		if utf8.RuneCountInString(text[at:len(text)-len(behind)]) < leastCut {
			continue
		}
		if left := []rune(unsaid); len(left) >= leastTail {
			end := string(left[len(left)-leastTail:])
			if i := strings.Index(behind, end); i >= 0 && i <= len(unsaid) {
				behind = behind[i+len(end):]
			}
		}
		return text[:at], behind, true
	}
	return "", "", false
}

// behindTurn returns what is behind a turn with which a text begins, and what the text leaves out at the turn's end. Spaces and ends of
// lines are the same.
func behindTurn(text, turn string) (behind, unsaid string) {
	for turn != "" {
		want, n := utf8.DecodeRuneInString(turn)
		got, m := utf8.DecodeRuneInString(text)
		if want == ' ' && unicode.IsSpace(got) {
			text, turn = strings.TrimLeftFunc(text, unicode.IsSpace), turn[n:]
			continue
		}
		if m == 0 || got != want {
			break
		}
		text, turn = text[m:], turn[n:]
	}
	return text, turn
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
