package analyst

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/said"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Limits of a turn, in characters.
const (
	archivedFrom = 600   // a message of this length is put into archival storage
	archivedMost = 5_000 // of it
	askedMost    = 300   // of a search's query
	quotedMost   = 300   // of each thing that a reply quotes
	quotedHits   = 3
)

// Replies say that there is no model.
const (
	replyFound   = "No model is configured; this is what memory holds:"
	replyNothing = "No model is configured, and memory holds nothing about that."
	replyNoted   = "Noted. No model is configured, so this is kept and not discussed."
)

// The tools that the analyst calls, and the argument with which it acts again after one.
const (
	toolSend         = "send_message"
	toolRecall       = "conversation_search"
	toolArchival     = "archival_search"
	toolArchive      = "archival_insert"
	argumentAgain    = "request_heartbeat"
	failurePrefix    = "Error: "
	systemTurnPrefix = "<event type="
)

// isOwnReply reports whether a text is a reply of the analyst, which only repeats what is known.
func isOwnReply(s string) bool {
	return slices.ContainsFunc([]string{replyFound, replyNothing, replyNoted}, func(own string) bool { return strings.HasPrefix(s, own) })
}

// Converse implements [memory.Model]: a question is looked up in recall storage and in archival storage, and
// answered with what was found; a long text is put into archival storage; anything else is noted. Blocks are left
// alone, since what belongs into one is a judgment. Without tools it answers with a text.
func (a *Analyst) Converse(ctx context.Context, _ tenant.Scope, d memory.Dialogue) (memory.TurnResult, error) {
	out := memory.TurnResult{Analyst: memory.AnalystHeuristic, Model: Name, Turn: memory.Turn{Role: memory.RoleAssistant}}
	if err := ctx.Err(); err != nil {
		return out, fault.Wrap(err, fault.Unavailable, "stopped while answering")
	}
	if len(d.Turns) == 0 {
		return out, fault.New(fault.Internal, "a dialogue without turns")
	}

	e := lastExchange(&d)
	if e.answered() { // an alert came up behind the answer: there is nothing to add
		return out, nil
	}
	name, arguments := e.next()
	if !e.has(name) {
		name, arguments = send(replyNoted)
	}
	if !e.has(name) || d.Choice == memory.ChooseNone {
		out.Turn.Text = replyNoted
		return out, nil
	}

	raw, err := json.Marshal(arguments)
	if err != nil {
		return out, fault.Wrap(err, fault.Internal, "encode the arguments of %s", name)
	}
	out.Turn.Calls = []memory.ToolCall{{Name: name, Arguments: string(raw)}}
	return out, nil
}

// exchange is what a person said, and the turns since. What began the run may also be an event of the
// system; nothing was said then.
type exchange struct {
	d     *memory.Dialogue
	said  string
	since []memory.Turn
}

// lastExchange returns the last exchange of a dialogue. An alert does not begin one: it comes up in an exchange.
func lastExchange(d *memory.Dialogue) exchange {
	for i, t := range slices.Backward(d.Turns) {
		switch {
		case t.Role != memory.RoleUser || isEvent(t.Text, memory.EventAlert):
		case strings.HasPrefix(t.Text, systemTurnPrefix): // a timer, a heartbeat, the result of a lost call
			return exchange{d: d, since: d.Turns[i+1:]}
		default:
			return exchange{d: d, said: strings.TrimSpace(t.Text), since: d.Turns[i+1:]}
		}
	}
	return exchange{d: d}
}

// isEvent reports whether a turn is an event of a type. Stored text cannot pass for one: its marks are escaped.
func isEvent(turn string, kind memory.EventType) bool {
	return strings.HasPrefix(turn, fmt.Sprintf("%s%q>", systemTurnPrefix, kind))
}

func (e *exchange) has(tool string) bool {
	return slices.ContainsFunc(e.d.Tools, func(t memory.Tool) bool { return t.Name == tool })
}

// answered reports whether a message was sent in the exchange.
func (e *exchange) answered() bool {
	result, ok := e.done(toolSend)
	return ok && !strings.HasPrefix(result, failurePrefix)
}

// done returns the result of the last call of a tool in the exchange; ok is false when it was not called.
func (e *exchange) done(tool string) (result string, ok bool) {
	results := map[string]string{}
	for _, t := range e.since {
		if t.Role == memory.RoleTool {
			results[t.Answers] = t.Text
		}
	}
	for _, t := range e.since {
		for _, c := range t.Calls {
			if c.Name == tool {
				result, ok = results[c.ID], true
			}
		}
	}
	return result, ok
}

// next returns the next call.
func (e *exchange) next() (tool string, arguments map[string]any) {
	if query := questions(e.said); query != "" {
		return e.lookUp(text.Shorten(query, askedMost))
	}
	if utf8.RuneCountInString(e.said) >= archivedFrom && e.has(toolArchive) {
		if _, ok := e.done(toolArchive); !ok {
			return toolArchive, map[string]any{"content": text.Shorten(e.said, archivedMost), argumentAgain: true}
		}
	}
	return send(replyNoted)
}

// lookUp searches one storage after the other, and sends what was found. A search finds what is nearest, however far that
// is; so what shares most words with the question comes first, wherever it is stored.
func (e *exchange) lookUp(query string) (tool string, arguments map[string]any) {
	var found []string
	for _, storage := range []string{toolRecall, toolArchival} {
		if !e.has(storage) {
			continue
		}
		page, searched := e.done(storage)
		if !searched {
			arguments := map[string]any{"query": query, argumentAgain: true}
			if storage == toolRecall {
				arguments["roles"] = []string{string(memory.RoleUser)}
			}
			return storage, arguments
		}
		found = append(found, e.quotes(page)...)
	}
	if len(found) == 0 {
		return send(replyNothing)
	}

	asked := termSet(query)
	slices.SortStableFunc(found, func(a, b string) int {
		return cmp.Compare(sharedShare(asked, termSet(b)), sharedShare(asked, termSet(a)))
	})
	return send(replyFound + "\n" + strings.Join(found[:min(quotedHits, len(found))], "\n"))
}

func send(message string) (tool string, arguments map[string]any) {
	return toolSend, map[string]any{"message": message}
}

// questions returns the sentences of a text that ask.
func questions(s string) string {
	return strings.Join(slices.DeleteFunc(sentencesOf([]string{s}), func(s string) bool { return !said.Asks(s) }), " ")
}

// quotes returns what a page of search results holds, with dates, without questions and what was just said.
func (e *exchange) quotes(page string) (out []string) {
	for line := range strings.Lines(page) {
		var hit struct {
			Time    string `json:"time"`
			Content string `json:"content"`
		}
		if json.Unmarshal([]byte(line), &hit) != nil || len(out) == quotedHits {
			continue
		}
		content := strings.Join(strings.Fields(hit.Content), " ")
		if content == "" || said.Asks(content) || text.Normalize(content) == text.Normalize(e.said) {
			continue
		}
		day, _, _ := strings.Cut(hit.Time, " ")
		out = append(out, fmt.Sprintf("- %s: %s", day, text.Shorten(content, quotedMost)))
	}
	return out
}
