// Package chat answers from memory: what somebody says goes in, a context from
// their collection goes before it, a model answers, and then both sides are
// remembered, off the answer's path.
//
// It has two forms: [Service.Answer] for callers of ours, and [Service.Complete]
// for clients that speak OpenAI's chat completions, whose requests and answers
// pass as they are, but for one message with what is remembered.
//
// What memory holds is data: it stands between marks that nothing in it can
// close, below instructions to follow nothing of it. What a system says is never
// stored, and a reply that was written from memory is marked, so that nothing is
// learned from it again.
//
// Without a model an answer is put together from the best hits, and says so.
//
// It imports memory, recall, tenant and leaves; it knows no HTTP server.
package chat
