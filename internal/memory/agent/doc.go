// Package agent serves agents whose memory is a collection of a policy that pages ([memory.Pager]), such
// as memgpt: it builds the context of the next step from the store, and runs the tools that a model calls.
//
// Main is what a request to the model holds: the instructions, counts of what is stored, the memory
// blocks, the summary, and the newest messages that fit into the window. It is built for each step
// and kept nowhere. Step runs one tool. What a model sends is checked before anything runs, and a tool
// that fails returns its error as a result, so that the model can correct the call.
//
// It writes through internal/memory/notes and searches through internal/memory/recall. It knows no model
// and starts no goroutine. internal/api calls it.
package agent
