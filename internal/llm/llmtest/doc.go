// Package llmtest is the one fake of model endpoints: a real HTTP server that
// speaks OpenAI's chat completions, embeddings and model list, and enough of
// Ollama to look like one. Tests of all packages use it; it is not a mode of the product.
//
// A server answers every call with a plausible default (see Server). A test scripts the answers that
// matter to it, by the name of the call's schema:
//
//	srv := llmtest.New(t)
//	srv.Script("analyze", llmtest.Status(429, time.Second), llmtest.JSON(analysis))
//	srv.Always("evolve", llmtest.Text(`{"should_evolve": false}`))
//	srv.Handle("relevance", func(r llmtest.Request) llmtest.Reply { … })
//	srv.Script(llmtest.Embed, llmtest.Reset())
//
// and inspects Requests, Calls and Tokens. Every misbehavior of real endpoints has a Reply:
// Status, Hang, Reset, Slow, CutBody, NotJSON, Truncated, Fenced, Think, Refusal, NoChoices,
// WrongSchema. Down breaks every connection until it is called with false.
//
// It imports only internal/text from this module.
package llmtest
