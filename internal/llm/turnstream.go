package llm

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// turnStreamer passes the text of a streamed response on to a [memory.TurnStream]. What it has sent is always the beginning
// of the text of the turn, or it is reset. A nil one sends nothing.
type turnStreamer struct {
	to     *memory.TurnStream
	asJSON bool
	tools  bool // are offered

	sent    strings.Builder // since the last reset
	content visibleText
	texts   *textsOf        // of the content, in the JSON form
	fed     int             // bytes of the visible content that were fed to it
	text    string          // outside of calls
	calls   []*streamedCall // by index
}

// streamedCall is a call as far as it has come.
type streamedCall struct {
	tool      strings.Builder
	text      strings.Builder // the argument that is streamed
	end       bool            // text is complete
	arguments *textsOf
}

// begin is called before each request.
func (ts *turnStreamer) begin(asJSON, tools bool) {
	if ts == nil {
		return
	}
	ts.reset("the model is asked again")
	ts.asJSON, ts.tools = asJSON, tools
	ts.text, ts.calls, ts.fed = "", nil, 0
	ts.content = visibleText{}
	ts.texts = &textsOf{emit: ts.addToObject}
}

// reset takes back what was sent.
func (ts *turnStreamer) reset(why string) {
	if ts == nil || ts.sent.Len() == 0 {
		return
	}
	ts.sent.Reset()
	ts.to.Reset(why)
}

// add takes the next piece of a response.
func (ts *turnStreamer) add(d *openai.ChatCompletionStreamChoiceDelta) {
	if ts == nil {
		return
	}
	ts.content.add(d.Content)
	for i := range d.ToolCalls {
		c := ts.call(*d.ToolCalls[i].Index)
		if c == nil {
			continue
		}
		c.tool.WriteString(d.ToolCalls[i].Function.Name)
		c.arguments.feed(d.ToolCalls[i].Function.Arguments)
	}
	visible := ts.content.String()
	if !ts.asJSON {
		ts.text = visible
		ts.send(ts.current())
		return
	}
	if ts.fed == 0 {
		ts.fed = max(0, strings.IndexByte(visible, '{'))
	}
	if ts.fed < len(visible) && strings.Contains(visible, "{") {
		ts.texts.feed(visible[ts.fed:])
		ts.fed = len(visible)
	}
	ts.send(ts.current())
}

// call returns a call by its index; nil when it is not one of a sensible number.
func (ts *turnStreamer) call(i int) *streamedCall {
	const most = 64
	if i < 0 || i >= most {
		return nil
	}
	for len(ts.calls) <= i {
		c := &streamedCall{}
		c.arguments = &textsOf{emit: func(path, piece string, end bool) { ts.addArgument(c, path, piece, end) }}
		ts.calls = append(ts.calls, c)
	}
	return ts.calls[i]
}

// addArgument takes a text of a call's arguments.
func (ts *turnStreamer) addArgument(c *streamedCall, path, piece string, end bool) {
	if path == ts.to.Argument {
		c.text.WriteString(piece)
		c.end = c.end || end
	}
}

// addToObject takes a text of a turn in the JSON form.
func (ts *turnStreamer) addToObject(path, piece string, end bool) {
	if path == "text" {
		ts.text += piece
		return
	}
	rest, ok := strings.CutPrefix(path, "calls.")
	if !ok {
		return
	}
	index, field, _ := strings.Cut(rest, ".")
	i, err := strconv.Atoi(index)
	if err != nil {
		return
	}
	c := ts.call(i)
	if c == nil {
		return
	}
	switch inner, open := strings.CutPrefix(field, "arguments."); {
	case open:
		ts.addArgument(c, inner, piece, end)
	case field == "arguments": // the text of an object
		c.arguments.feed(piece)
	case field == "tool":
		c.tool.WriteString(piece)
	}
}

// current returns the text of the turn as far as it has come. That of a later call comes when those before it are complete.
func (ts *turnStreamer) current() string {
	if len(ts.calls) == 0 {
		text := strings.TrimLeft(ts.text, " \t\r\n")
		if ts.tools && !ts.asJSON {
			if mayBecomeCalls(text) {
				return ""
			}
			if at := callsAt(text); at >= 0 {
				return text[:at]
			}
		}
		return text
	}
	var out []string
	for _, c := range ts.calls {
		if c.tool.String() != ts.to.Tool {
			continue
		}
		if c.text.Len() > 0 {
			out = append(out, c.text.String())
		}
		if !c.end {
			break
		}
	}
	return strings.Join(out, memory.CallSeparator)
}

// send sends what was added to the text since the last call, up to white space at the end: the turn may end before it.
func (ts *turnStreamer) send(text string) {
	text = strings.TrimRight(text, " \t\r\n")
	added, continues := strings.CutPrefix(text, ts.sent.String())
	if !continues {
		ts.reset("the model has thought, or calls tools")
		added = text
	}
	if added != "" {
		ts.sent.WriteString(added)
		ts.to.Delta(added)
	}
}

// finish brings what was sent in line with the turn; nil: there is none.
func (ts *turnStreamer) finish(turn *memory.Turn) {
	switch {
	case ts == nil:
	case turn == nil:
		ts.reset("the model has failed")
	default:
		ts.send(ts.to.Text(turn))
	}
}

// errNotStreamed is the error of an endpoint that answers the request for a stream with something else.
var errNotStreamed = errors.New("the answer is not a stream of events")

// receive reads a streamed response to its end, and passes its pieces on.
func (m *Completion) receive(ctx context.Context, client *openai.Client, req openai.ChatCompletionRequest, ts *turnStreamer) (openai.ChatCompletionResponse, error) {
	var out openai.ChatCompletionResponse
	stream, err := client.CreateChatCompletionStream(ctx, req)
	if err != nil {
		return out, err //nolint:wrapcheck // endpoint.failure reads it
	}
	defer func() { _ = stream.Close() }()
	var msg openai.ChatCompletionMessage
	var content, refusal, thought strings.Builder
	finish := openai.FinishReason("")
	calls := partialCalls{}
	chunks, finished := 0, false
	for {
		chunk, err := stream.Recv()
		if errors.Is(err, io.EOF) && finished {
			break
		}
		if err != nil {
			switch {
			case errors.Is(err, io.EOF) && chunks == 0:
				err = errNotStreamed
			case errors.Is(err, io.EOF): // without an end
				err = io.ErrUnexpectedEOF
			}
			return out, err //nolint:wrapcheck // endpoint.failure reads it
		}
		chunks++
		if chunk.Usage != nil {
			out.Usage = *chunk.Usage
		}
		for i := range chunk.Choices {
			if chunk.Choices[i].Index != 0 {
				continue
			}
			d := &chunk.Choices[i].Delta
			content.WriteString(d.Content)
			refusal.WriteString(d.Refusal)
			thought.WriteString(d.ReasoningContent)
			calls.add(d)
			ts.add(d)
			if why := chunk.Choices[i].FinishReason; why != "" {
				finished, finish = true, why
			}
		}
	}
	msg.Content, msg.Refusal, msg.ReasoningContent, msg.ToolCalls = content.String(), refusal.String(), thought.String(), calls.list()
	out.Choices = []openai.ChatCompletionChoice{{Message: msg, FinishReason: finish}}
	return out, nil
}

// partialCalls are the calls of a response that is streamed, by index.
type partialCalls struct {
	calls []openai.ToolCall
	texts []*strings.Builder
}

// add takes the calls of a piece. Where an endpoint counts nothing, a call with a name is the next one, and one
// without belongs to the last.
func (p *partialCalls) add(d *openai.ChatCompletionStreamChoiceDelta) {
	for i := range d.ToolCalls {
		c := &d.ToolCalls[i]
		if c.Index == nil {
			at := max(0, len(p.calls)-1)
			if c.Function.Name != "" {
				at = len(p.calls)
			}
			c.Index = &at
		}
		at := *c.Index
		if at < 0 || at > len(p.calls) {
			at = len(p.calls)
			c.Index = &at
		}
		if at == len(p.calls) {
			p.calls = append(p.calls, openai.ToolCall{Type: openai.ToolTypeFunction})
			p.texts = append(p.texts, &strings.Builder{})
		}
		if c.ID != "" {
			p.calls[at].ID = c.ID
		}
		p.calls[at].Function.Name += c.Function.Name
		p.texts[at].WriteString(c.Function.Arguments)
	}
}

func (p *partialCalls) list() []openai.ToolCall {
	for i := range p.calls {
		p.calls[i].Function.Arguments = p.texts[i].String()
	}
	return p.calls
}
