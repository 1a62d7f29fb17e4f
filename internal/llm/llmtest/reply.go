package llmtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Reply is one scripted answer. The zero Reply is the default answer.
type Reply struct {
	kind    kind
	content string // of the message
	thought string // in place of the content, or beside it
	field   string // that has it
	refusal string
	finish  string
	status  int
	code    string        // of an error
	wait    time.Duration // Retry-After, or how long a slow answer takes
	then    *Reply        // of a slow answer
	pace    time.Duration // between the pieces of a streamed answer
	tools   []ToolCall
	vectors [][]float32
	dim     int
}

type kind int

const (
	kindDefault kind = iota
	kindMessage
	kindStatus
	kindHang
	kindReset
	kindSlow
	kindCutBody
	kindNotJSON
	kindNoChoices
	kindVectors
	kindDim
	kindInside
	kindEndless
	kindBody
)

// Default answers as without a script.
func Default() Reply { return Reply{} }

// Text answers with a message of exactly this content.
func Text(content string) Reply { return Reply{kind: kindMessage, content: content, finish: "stop"} }

// ToolCall is a tool call in an answer.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string // JSON
}

// Tools answers with tool calls.
func Tools(calls ...ToolCall) Reply {
	return Reply{kind: kindMessage, tools: calls, finish: "tool_calls"}
}

// Also answers with a text and tool calls.
func Also(content string, calls ...ToolCall) Reply {
	r := Tools(calls...)
	r.content = content
	return r
}

// Calling answers with one tool call whose arguments are v as JSON.
func Calling(tool string, v any) Reply {
	return Tools(ToolCall{ID: "call_" + tool, Name: tool, Arguments: JSON(v).content})
}

// HugeCall answers with a call whose arguments have 1 MB.
func HugeCall(tool, argument string) Reply {
	return Calling(tool, map[string]string{argument: strings.Repeat("x", 1<<20)})
}

// BrokenCall answers with a call whose arguments are cut off.
func BrokenCall(tool string) Reply {
	return Tools(ToolCall{ID: "call_" + tool, Name: tool, Arguments: `{"message": "cut o`})
}

// Paced waits before each piece of a streamed answer.
func Paced(d time.Duration, then Reply) Reply {
	then.pace = d
	return then
}

// JSON answers with v as JSON.
func JSON(v any) Reply {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("llmtest.JSON: %v", err))
	}
	return Text(string(b))
}

// Fenced answers with v inside a code fence, with prose around it.
func Fenced(v any) Reply {
	r := JSON(v)
	r.content = "Sure! Here is the JSON:\n\n```json\n" + r.content + "\n```\n\nLet me know if you need anything else."
	return r
}

// Think answers with v after a block of reasoning that contains braces.
func Think(v any) Reply {
	r := JSON(v)
	r.content = "<think>\nThe user wants JSON. Perhaps {\"keywords\": [\"wrong\"]}? No.\n</think>\n\n" + r.content
	return r
}

// Body answers 200 with exactly this JSON; of a stream it is the only event, unless it is made of events.
func Body(content string) Reply { return Reply{kind: kindBody, content: content} }

// Cut answers with a text that ends at the token limit.
func Cut(content string) Reply { return Reply{kind: kindMessage, content: content, finish: "length"} }

// Truncated answers with v cut off in the middle, as at a token limit.
func Truncated(v any) Reply {
	r := JSON(v)
	r.content = r.content[:len(r.content)*2/3]
	r.finish = "length"
	return r
}

// WrongSchema answers with an object that fits no schema of the product.
func WrongSchema() Reply { return Text(`{"answer": "I would say so", "score": "high"}`) }

// Refusal refuses the way OpenAI's structured outputs do.
func Refusal(text string) Reply { return Reply{kind: kindMessage, refusal: text, finish: "stop"} }

// NoChoices answers with an empty list of choices.
func NoChoices() Reply { return Reply{kind: kindNoChoices} }

// Status fails with an HTTP status and an error body. A retryAfter above zero
// is sent as the header, in seconds rounded up.
func Status(code int, retryAfter time.Duration) Reply {
	return Reply{kind: kindStatus, status: code, wait: retryAfter}
}

// StatusText is Status with the error's message.
func StatusText(code int, message string) Reply {
	return Reply{kind: kindStatus, status: code, content: message}
}

// StatusCode is StatusText with the error's code, as endpoints name it.
func StatusCode(status int, code, message string) Reply {
	return Reply{kind: kindStatus, status: status, code: code, content: message}
}

// Hang reads the request and never answers.
func Hang() Reply { return Reply{kind: kindHang} }

// Reset closes the connection without an answer (RST).
func Reset() Reply { return Reply{kind: kindReset} }

// Slow answers after a while.
func Slow(d time.Duration, then Reply) Reply { return Reply{kind: kindSlow, wait: d, then: &then} }

// CutBody sends half of an HTTP body, or of a stream, and closes the connection.
func CutBody() Reply { return Reply{kind: kindCutBody} }

// NotJSON answers 200 with a web page, as a wrong address does.
func NotJSON() Reply { return Reply{kind: kindNotJSON} }

// Vectors answers an embedding request with exactly these vectors.
func Vectors(v ...[]float32) Reply { return Reply{kind: kindVectors, vectors: v} }

// Dim answers an embedding request with vectors of another length.
func Dim(n int) Reply { return Reply{kind: kindDim, dim: n} }
