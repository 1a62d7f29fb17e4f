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

// ear makes out of the pieces of a response what the one who hears it is told. What it has said is always the beginning of
// what the turn will say, or it is taken back.
type ear struct {
	hearing *memory.Hearing
	asJSON  bool

	said    strings.Builder
	content visibleText
	texts   *textsOf      // of the content, in the JSON form
	fed     int           // bytes of the visible content that were fed to it
	text    string        // what is said outside of calls
	calls   []*spokenCall // by index
}

// spokenCall is a call as far as it has come.
type spokenCall struct {
	tool      strings.Builder
	said      strings.Builder
	end       bool // what it says is complete
	arguments *textsOf
}

// begin is called before each request.
func (e *ear) begin(asJSON bool) {
	if e == nil {
		return
	}
	e.again("the model is asked again")
	e.asJSON, e.text, e.calls, e.fed = asJSON, "", nil, 0
	e.content = visibleText{}
	e.texts = &textsOf{emit: e.inObject}
}

// again takes back what was said.
func (e *ear) again(why string) {
	if e == nil || e.said.Len() == 0 {
		return
	}
	e.said.Reset()
	e.hearing.Again(why)
}

// hear takes the next piece of a response.
func (e *ear) hear(d *openai.ChatCompletionStreamChoiceDelta) {
	if e == nil {
		return
	}
	e.content.add(d.Content)
	for i := range d.ToolCalls {
		c := e.call(*d.ToolCalls[i].Index)
		if c == nil {
			continue
		}
		c.tool.WriteString(d.ToolCalls[i].Function.Name)
		c.arguments.feed(d.ToolCalls[i].Function.Arguments)
	}
	visible := e.content.String()
	if !e.asJSON {
		e.text = visible
		e.tell(e.now())
		return
	}
	if e.fed == 0 {
		e.fed = max(0, strings.IndexByte(visible, '{'))
	}
	if e.fed < len(visible) && strings.Contains(visible, "{") {
		e.texts.feed(visible[e.fed:])
		e.fed = len(visible)
	}
	e.tell(e.now())
}

// call returns a call by its index; nil when it is not one of a sensible number.
func (e *ear) call(i int) *spokenCall {
	const most = 64
	if i < 0 || i >= most {
		return nil
	}
	for len(e.calls) <= i {
		c := &spokenCall{}
		c.arguments = &textsOf{emit: func(path, piece string, end bool) { e.inArguments(c, path, piece, end) }}
		e.calls = append(e.calls, c)
	}
	return e.calls[i]
}

// inArguments takes a text of a call's arguments.
func (e *ear) inArguments(c *spokenCall, path, piece string, end bool) {
	if path == e.hearing.Argument {
		c.said.WriteString(piece)
		c.end = c.end || end
	}
}

// inObject takes a text of a turn in the JSON form.
func (e *ear) inObject(path, piece string, end bool) {
	if path == "text" {
		e.text += piece
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
	c := e.call(i)
	if c == nil {
		return
	}
	switch inner, open := strings.CutPrefix(field, "arguments."); {
	case open:
		e.inArguments(c, inner, piece, end)
	case field == "arguments": // the text of an object
		c.arguments.feed(piece)
	case field == "tool":
		c.tool.WriteString(piece)
	}
}

// now returns what the turn says as far as it has come. What a later call says comes when those before it are complete.
func (e *ear) now() string {
	if len(e.calls) == 0 {
		return strings.TrimLeft(e.text, " \t\r\n")
	}
	var out []string
	for _, c := range e.calls {
		if c.tool.String() != e.hearing.Tool {
			continue
		}
		if c.said.Len() > 0 {
			out = append(out, c.said.String())
		}
		if !c.end {
			break
		}
	}
	return strings.Join(out, memory.BetweenSaid)
}

// tell says what has come, up to white space at the end, which may turn out to be the end.
func (e *ear) tell(now string) {
	now = strings.TrimRight(now, " \t\r\n")
	more, goes := strings.CutPrefix(now, e.said.String())
	if !goes {
		e.again("the model has thought, or calls tools")
		more = now
	}
	if more != "" {
		e.said.WriteString(more)
		e.hearing.Say(more)
	}
}

// finish brings what was said in line with the turn; nil: there is none.
func (e *ear) finish(turn *memory.Turn) {
	switch {
	case e == nil:
	case turn == nil:
		e.again("the model has failed")
	default:
		e.tell(e.hearing.Said(turn))
	}
}

// errNotStreamed is the error of an endpoint that answers the request for a stream with something else.
var errNotStreamed = errors.New("the answer is no stream of events")

// receive reads a response that is streamed, and puts it together.
func (m *Completion) receive(ctx context.Context, client *openai.Client, req openai.ChatCompletionRequest, e *ear) (openai.ChatCompletionResponse, error) {
	var out openai.ChatCompletionResponse
	stream, err := client.CreateChatCompletionStream(ctx, req)
	if err != nil {
		return out, err //nolint:wrapcheck // endpoint.failure reads it
	}
	defer func() { _ = stream.Close() }()
	var msg openai.ChatCompletionMessage
	var content, refusal strings.Builder
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
			calls.add(d)
			e.hear(d)
			finished = finished || chunk.Choices[i].FinishReason != ""
		}
	}
	msg.Content, msg.Refusal, msg.ToolCalls = content.String(), refusal.String(), calls.list()
	out.Choices = []openai.ChatCompletionChoice{{Message: msg}}
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
