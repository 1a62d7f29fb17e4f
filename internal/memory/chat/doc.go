// Package chat answers from memory. It finds a context for a dialogue in a collection, has a model
// answer, and stores the exchange after the answer was sent.
//
// It has two forms: [Service.Answer] for our own API, and [Service.Complete] for clients of
// OpenAI's chat completions, whose requests and answers pass unchanged except for the context
// behind what the user said last.
//
// Content of memory is data. It is placed between marks that its text cannot close, below the
// instruction not to follow any instructions in it, and marked text is never stored. System messages are never stored. A reply that
// was written from memory is marked, so that nothing is learned from it again.
//
// Without a model, the answer quotes the best hits and says so.
//
// internal/api calls it. It imports memory, notes, recall, tenant and leaves. It does not depend on
// HTTP; internal/llm implements Model.
package chat
