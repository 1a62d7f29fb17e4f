package llm

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"
	"unicode/utf8"

	openai "github.com/sashabaranov/go-openai"

	"github.com/slipboxhq/slipbox/test/must"
)

// textsIn returns the texts of a decoded JSON value by their paths.
func textsIn(v any, path string, out map[string]string) map[string]string {
	below := func(name string) string {
		if path == "" {
			return name
		}
		return path + "." + name
	}
	switch v := v.(type) {
	case string:
		out[path] = v
	case []any:
		for i, e := range v {
			textsIn(e, below(fmt.Sprint(i)), out)
		}
	case map[string]any:
		for name, e := range v {
			textsIn(e, below(name), out)
		}
	}
	return out
}

// What is not JSON does no harm.
func FuzzTextsOf(f *testing.F) {
	for _, seed := range []string{
		`{"text":"You live in Lisbon.","calls":[{"tool":"say","arguments":"{\"message\":\"Hi \\\"there\\\"\"}"}]}`, `["a",{"b":["c","\u00e9\ud83d\ude00\n\/"]},1.5e3,null,true]`,
		`{"a":{"b":"x","c":"y"},"d":"z"}`, `"alone"`, `{"cut`, `{"a":"\ud83d"}`, `{]"x"}}}}`, `{"a":"\u12`, `[[[[[[[[[["deep"]]]]]]]]]]`,
	} {
		f.Add(seed, 3)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		length, read := len(text), 0
		r := textsOf{emit: func(_, piece string, _ bool) { read += len(piece) }}
		for size = min(max(size, 1), 1000); text != "" && utf8.ValidString(text); {
			n := min(size, len(text))
			for n < len(text) && !utf8.RuneStart(text[n]) {
				n++
			}
			r.feed(text[:n])
			if text = text[n:]; len(r.open) > maxDepth {
				t.Errorf("%d values are open", len(r.open))
			}
		}
		if read > length {
			t.Errorf("%d bytes of texts in %d", read, length)
		}
	})
}

// The texts of a JSON value that comes in pieces are those of the whole value, wherever it is cut.
func TestTextsOf(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"text":"You live in Lisbon.","calls":[{"tool":"say","arguments":"{\"message\":\"Hi \\\"there\\\"\"}"},{"tool":"","arguments":{"message":"x","n":[1,"y"]}}]}`,
		`["a",{"b":["c","\u00e9\ud83d\ude00\n\/\\\"\t\b\f\r"]},1.5e3,null,true,"é😀字"]`, ` { "a" : { "b" : "x" , "c" : "" } , "d" : "z" } `, `"alone"`, `{"\u0061\n":"key"}`,
	} {
		var whole any
		must.Do(t, json.Unmarshal([]byte(text), &whole))
		want := textsIn(whole, "", map[string]string{})
		for size := 1; size <= len(text); size++ {
			got := map[string]string{}
			r := textsOf{emit: func(path, piece string, _ bool) { got[path] += piece }}
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				for n < len(rest) && !utf8.RuneStart(rest[n]) {
					n++
				}
				r.feed(rest[:n])
				rest = rest[n:]
			}
			if !maps.Equal(got, want) {
				t.Fatalf("in pieces of %d: %q, want %q", size, got, want)
			}
		}
	}
}

// Calls of a stream are put together by index, and where an endpoint counts nothing, by their names.
func TestPartialCalls(t *testing.T) {
	t.Parallel()
	piece := func(index int, id, name, arguments string) *openai.ChatCompletionStreamChoiceDelta {
		c := openai.ToolCall{ID: id, Function: openai.FunctionCall{Name: name, Arguments: arguments}}
		if index >= 0 {
			c.Index = &index
		}
		return &openai.ChatCompletionStreamChoiceDelta{ToolCalls: []openai.ToolCall{c}}
	}
	for name, pieces := range map[string][]*openai.ChatCompletionStreamChoiceDelta{
		"counted":     {piece(0, "a", "find", `{"q"`), piece(1, "b", "say", ""), piece(0, "", "", `:1}`), piece(1, "", "", `{}`)},
		"not counted": {piece(-1, "a", "find", `{"q"`), piece(-1, "", "", `:1}`), piece(-1, "b", "say", `{}`)},
		"far apart":   {piece(7, "a", "find", `{"q":1}`), piece(-3, "b", "say", `{}`)},
	} {
		var calls partialCalls
		for _, d := range pieces {
			calls.add(d)
			if i := d.ToolCalls[0].Index; i == nil || *i < 0 {
				t.Errorf("%s: a piece has no index", name)
			}
		}
		got := calls.list()
		if len(got) != 2 || got[0].ID != "a" || got[0].Function.Name != "find" || got[0].Function.Arguments != `{"q":1}` || got[1].ID != "b" || got[1].Function.Name != "say" || got[1].Function.Arguments != `{}` {
			t.Errorf("%s: %+v", name, got)
		}
	}
	var none partialCalls
	none.add(piece(-1, "", "", "x"))
	if got := none.list(); len(got) != 1 || got[0].Function.Arguments != "x" {
		t.Errorf("a piece of nothing: %+v", got)
	}
}
