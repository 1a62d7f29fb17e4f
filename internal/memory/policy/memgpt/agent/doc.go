// Package agent serves agents whose memory is a collection of a policy that pages ([memory.Pager]), such
// as memgpt: it builds the context of the next step from the store, runs the tools that a model calls, and does
// the runs that answer events.
//
// Main is what a request to the model holds: the instructions, counts of what is stored, the memory
// blocks, the summary, and the newest messages that fit into the window. It is built for each step
// and kept nowhere. Step runs one tool for an agent with a loop of its own. Post stores an event and enqueues a job,
// and RunStep, called by the worker, does one step of the run. The state of a run is its messages: what is
// committed decides what comes next. What a model sends is checked before anything runs, and a tool
// that fails returns its error as a result, so that the model can correct the call.
//
// It writes through internal/memory/notes and searches through internal/memory/recall. Models come from the
// engine, through [Models]. It starts no goroutine. internal/api and internal/worker call it.
package agent
