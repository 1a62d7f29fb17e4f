package app

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// startChat starts a gateway with a fake model.
func startChat(start func(set func(*Settings)) *gatewayTest, model *llmtest.Server) *gatewayTest {
	return start(func(c *Settings) {
		c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model = llm.ProviderOpenAI, model.URL(), "fake-1"
		c.LLM.EmbedProvider = llm.EmbedHash
		c.LLM.MaxTries, c.LLM.RetryWait, c.LLM.BreakerPause = 1, time.Millisecond, time.Millisecond
	})
}

// client returns OpenAI's client. Only base URL and key differ from ordinary use.
func (g *gatewayTest) client() *openai.Client {
	cfg := openai.DefaultConfig(g.key)
	cfg.BaseURL = g.url + "/v1"
	return openai.NewClientWithConfig(cfg)
}

// messages returns the messages in a collection, oldest first.
func (g *gatewayTest) messages(collection string) (out []string) {
	g.t.Helper()
	for _, m := range g.call(http.StatusOK, http.MethodGet, "/v1/collections/"+collection+"/messages", nil)["items"].([]any) {
		said := m.(object)
		line := said["role"].(string)
		if said["recalled"] == true {
			line += " from memory"
		}
		out = append(out, line+": "+said["content"].(string))
	}
	return out
}

// remembers waits until a collection has exactly these messages.
func (g *gatewayTest) remembers(collection string, want ...string) {
	g.t.Helper()
	var got []string
	g.until("it remembers "+strings.Join(want, " / "), func() bool {
		got = g.messages(collection)
		return strings.Join(got, "\n") == strings.Join(want, "\n")
	})
}

// C195: OpenAI's client gains memory by another base URL. Whole answers, streams and tool calls
// pass through, and a conversation finds what an earlier one said.
func TestOpenAIClientGainsMemory(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		model := llmtest.New(t)
		g := startChat(start, model)
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "home", "policy": "none"})
		client := g.client()
		user := func(text string) []openai.ChatCompletionMessage {
			return []openai.ChatCompletionMessage{{Role: "system", Content: "Be brief."}, {Role: "user", Content: text}}
		}

		names, err := client.ListModels(t.Context())
		if err != nil || len(names.Models) != 2 || names.Models[0].ID != "slipbox" || names.Models[1].ID != "fake-1" {
			t.Errorf("models: %+v, %v", names.Models, err)
		}

		model.Script("", llmtest.Text("Noted: Lisbon."))
		said, err := client.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{Model: "slipbox@home", Messages: user("I live in Lisbon now."), Seed: new(7)})
		if err != nil || said.Choices[0].Message.Content != "Noted: Lisbon." || said.Model != "fake-1" || said.Usage.TotalTokens == 0 {
			t.Fatalf("%+v, %v", said, err)
		}
		g.remembers("home", "user: I live in Lisbon now.", "assistant: Noted: Lisbon.")

		model.Script("", llmtest.Text("You live in Lisbon."))
		stream := must.Get(client.CreateChatCompletionStream(t.Context(), openai.ChatCompletionRequest{Model: "fake-1@home", Messages: user("Where do I live?")}))(t)
		var text strings.Builder
		for {
			part, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			text.WriteString(part.Choices[0].Delta.Content)
		}
		if text.String() != "You live in Lisbon." {
			t.Errorf("streamed %q", text.String())
		}
		g.remembers("home", "user: I live in Lisbon now.", "assistant: Noted: Lisbon.", "user: Where do I live?", "assistant from memory: You live in Lisbon.")
		last := model.RequestsOf("")[1]
		if m := last.Messages; len(m) != 2 || m[0].Content != "Be brief." || !strings.HasPrefix(m[1].Content, "Where do I live?\n\n<slipbox-memory>") || !strings.Contains(m[1].Content, "I live in Lisbon now.") {
			t.Errorf("the model saw %+v", m)
		}
		if strings.Contains(string(last.Body), "stream_options") {
			t.Errorf("something was added to the request: %s", last.Body)
		}

		tool := openai.Tool{Type: "function", Function: &openai.FunctionDefinition{Name: "weather", Parameters: object{"type": "object", "properties": object{}}}}
		model.Script(llmtest.Tool, llmtest.Tools(llmtest.ToolCall{ID: "call-1", Name: "weather", Arguments: `{"city":"Lisbon"}`}), llmtest.Text("It is sunny."))
		dialogue := user("How is the weather?")
		asks, err := client.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{Model: "slipbox@home", Messages: dialogue, Tools: []openai.Tool{tool}, ToolChoice: "auto"})
		if err != nil || len(asks.Choices[0].Message.ToolCalls) != 1 || asks.Choices[0].Message.ToolCalls[0].Function.Arguments != `{"city":"Lisbon"}` {
			t.Fatalf("%+v, %v", asks, err)
		}
		if r := model.RequestsOf(llmtest.Tool)[0]; r.Tools != 1 || !strings.Contains(string(r.Body), `"tool_choice":"auto"`) {
			t.Errorf("the model saw %s", r.Body)
		}
		dialogue = append(dialogue, asks.Choices[0].Message, openai.ChatCompletionMessage{Role: "tool", ToolCallID: "call-1", Content: "sunny, 24 degrees"})
		told, err := client.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{Model: "slipbox@home", Messages: dialogue, Tools: []openai.Tool{tool}})
		if err != nil || told.Choices[0].Message.Content != "It is sunny." {
			t.Fatalf("%+v, %v", told, err)
		}
		g.until("the exchange is remembered", func() bool { return len(g.messages("home")) >= 6 })
		if got := g.messages("home")[4:]; len(got) != 2 || got[0] != "user: How is the weather?" || got[1] != "assistant from memory: It is sunny." {
			t.Errorf("of the tools it remembers %v", got)
		}

		var refused *openai.APIError
		if _, err := client.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{Model: "gpt-99@home", Messages: user("a")}); !errors.As(err, &refused) ||
			refused.HTTPStatusCode != http.StatusNotFound || refused.Code != "model_not_found" || !strings.Contains(refused.Message, "fake-1") {
			t.Errorf("%v", err)
		}
		if _, err := client.CreateChatCompletion(t.Context(), openai.ChatCompletionRequest{Model: "slipbox@nowhere", Messages: user("a")}); !errors.As(err, &refused) || refused.HTTPStatusCode != http.StatusNotFound {
			t.Errorf("%v", err)
		}
		// C244: the cost of an answer is counted, from the usage that the endpoint reports if it does.
		g.until("four answers are accounted for", func() bool {
			return g.call(http.StatusOK, http.MethodGet, "/v1/collections/home/costs", nil)["answers"] == 4.0
		})
	})
}

// C186: the answer is sent before it is stored, and facts are extracted later: an extraction that
// hangs delays no answer.
func TestExtractionNeverDelaysAnAnswer(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	g := startChat(func(set func(*Settings)) *gatewayTest { return startGateway(t, set) }, model)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "home", "policy": "mem0"})
	for _, call := range []string{"extract", "decide", "summarize"} {
		model.Always(call, llmtest.Hang())
	}
	model.Always("", llmtest.Text("Well noted."))
	say := func(text string) {
		if a := g.call(http.StatusOK, http.MethodPost, "/v1/collections/home/chat", object{"message": text}); a["reply"] != "Well noted." || a["remembered"] != true {
			t.Errorf("%v", a)
		}
	}
	say("I live in Lisbon.")
	g.until("facts are being taken from it", func() bool { return model.Calls("extract") > 0 })
	say("I have a dog.")
	g.remembers("home", "user: I live in Lisbon.", "assistant: Well noted.", "user: I have a dog.", "assistant from memory: Well noted.")
	if n := model.Calls("extract"); n != 1 {
		t.Errorf("%d extractions, while the first hangs", n)
	}
	model.Close() // ends the call that hangs
}

// A stop waits for a running reply and until it is stored.
func TestStopWaitsForAReply(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	dir := t.TempDir()
	start := func(set func(*Settings)) *gatewayTest {
		return startGateway(t, func(c *Settings) { set(c); c.Data = dir })
	}
	g := startChat(start, model)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "home", "policy": "none"})
	model.Script("", llmtest.Paced(100*time.Millisecond, llmtest.Text("a reply of some words that takes its time")))
	stream := must.Get(g.client().CreateChatCompletionStream(t.Context(), openai.ChatCompletionRequest{
		Model: "slipbox@home", Messages: []openai.ChatCompletionMessage{{Role: "user", Content: "Tell me."}},
	}))(t)
	must.Get(stream.Recv())(t)
	stopped := make(chan struct{})
	go func() { defer close(stopped); g.stop() }()
	var said strings.Builder
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		said.WriteString(part.Choices[0].Delta.Content)
	}
	_ = stream.Close()
	<-stopped
	text := said.String()
	if text != "a reply of some words that takes its time" {
		t.Errorf("streamed %q", text)
	}
	key := g.key
	again, _ := launch(t, settings(t, nil, func(c *Settings) { c.Data = dir }))
	again.key = key
	again.remembers("home", "user: Tell me.", "assistant: "+text)
}
