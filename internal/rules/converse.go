package rules

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
	regexp "github.com/slipboxhq/slipbox/internal/text/lazyregexp"
)

// Limits of a turn by rules, in characters.
const (
	archivedFrom = 600   // a message of this length is put into archival storage
	archivedMost = 5_000 // of it
	askedMost    = 300   // of a search's query
	quotedMost   = 300   // of each thing that a reply quotes
	quotedHits   = 3
)

// Replies without a model say so.
const (
	replyFound   = "No model is configured; this is what memory holds:"
	replyNothing = "No model is configured, and memory holds nothing about that."
	replyNoted   = "Noted. No model is configured, so this is kept and not discussed."
)

// aboutSpeaker matches what belongs into the block about the person.
var aboutSpeaker = regexp.MustCompile(`(?i)\b(my name is|call me|i am|i'm|i live|i work|i like|i love|i hate|i have|i prefer|my favou?rite|my (wife|husband|son|daughter|dog|cat|job|birthday))\b|我(叫|是|住|喜欢|爱|有)|我的`)

// Converse implements [memory.Model]: a question is looked up in recall storage, then in archival storage; a
// long text is put into archival storage; what a person says about themselves is added to the block
// "human"; all are answered with send_message. Without tools it answers with a text.
func (a *Analyst) Converse(ctx context.Context, _ tenant.Scope, d memory.Dialogue) (memory.TurnResult, error) {
	out := memory.TurnResult{Analyst: memory.AnalystHeuristic, Model: Name, Turn: memory.Turn{Role: memory.RoleAssistant}}
	if err := ctx.Err(); err != nil {
		return out, fault.Wrap(err, fault.Unavailable, "stopped while answering")
	}
	if len(d.Turns) == 0 {
		return out, fault.New(fault.Internal, "a dialogue without turns")
	}
	e := exchange{d: &d}
	for i, v := range slices.Backward(d.Turns) {
		if v.Role == memory.RoleUser {
			e.said, e.since = v.Text, d.Turns[i+1:]
			break
		}
	}
	name, arguments := e.next()
	if !e.has(name) {
		name, arguments = "send_message", map[string]any{"message": replyNoted}
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

// exchange is what a person said, and the turns since.
type exchange struct {
	d     *memory.Dialogue
	said  string
	since []memory.Turn
}

func (e *exchange) has(tool string) bool {
	return slices.ContainsFunc(e.d.Tools, func(t memory.Tool) bool { return t.Name == tool })
}

// done returns the result of the last call of a tool in the exchange; ok is false when it was not called.
func (e *exchange) done(tool string) (result string, ok bool) {
	for i := range e.since {
		for _, c := range e.since[i].Calls {
			if c.Name != tool {
				continue
			}
			ok = true
			for _, t := range e.since[i+1:] {
				if t.Answers == c.ID {
					result = t.Text
				}
			}
		}
	}
	return result, ok
}

// next returns the next call.
func (e *exchange) next() (tool string, arguments map[string]any) {
	said := strings.TrimSpace(e.said)
	switch {
	case said == "":
		return "send_message", map[string]any{"message": replyNoted}
	case e.isQuestion():
		query := text.Shorten(said, askedMost)
		found, searched := e.done("conversation_search")
		if !searched && e.has("conversation_search") {
			return "conversation_search", map[string]any{"query": query, "roles": []string{"user"}, "request_heartbeat": true}
		}
		quotes := e.quotes(found)
		if len(quotes) == 0 && e.has("archival_search") {
			if found, searched = e.done("archival_search"); !searched {
				return "archival_search", map[string]any{"query": query, "request_heartbeat": true}
			}
			quotes = e.quotes(found)
		}
		if len(quotes) == 0 {
			return "send_message", map[string]any{"message": replyNothing}
		}
		return "send_message", map[string]any{"message": replyFound + "\n" + strings.Join(quotes, "\n")}
	case utf8.RuneCountInString(said) >= archivedFrom:
		if _, ok := e.done("archival_insert"); !ok {
			return "archival_insert", map[string]any{"content": text.Shorten(said, archivedMost), "request_heartbeat": true}
		}
	case aboutSpeaker.MatchString(said):
		if _, ok := e.done("core_memory_append"); !ok {
			return "core_memory_append", map[string]any{"label": "human", "content": text.Shorten(strings.Join(strings.Fields(said), " "), quotedMost), "request_heartbeat": true}
		}
	}
	return "send_message", map[string]any{"message": replyNoted}
}

func (e *exchange) isQuestion() bool {
	said := strings.TrimRight(strings.TrimSpace(e.said), `"”)`)
	return strings.HasSuffix(said, "?") || strings.HasSuffix(said, "？")
}

// quotes returns what a page of search results holds, without questions and what was just said.
func (e *exchange) quotes(page string) (out []string) {
	for line := range strings.Lines(page) {
		var hit struct {
			Time    string `json:"time"`
			Content string `json:"content"`
		}
		if json.Unmarshal([]byte(line), &hit) != nil || hit.Content == "" || len(out) == quotedHits {
			continue
		}
		other := exchange{said: hit.Content}
		if other.isQuestion() || strings.TrimSpace(hit.Content) == strings.TrimSpace(e.said) {
			continue
		}
		day, _, _ := strings.Cut(hit.Time, " ")
		out = append(out, fmt.Sprintf("- %s: %s", day, text.Shorten(strings.Join(strings.Fields(hit.Content), " "), quotedMost)))
	}
	return out
}
