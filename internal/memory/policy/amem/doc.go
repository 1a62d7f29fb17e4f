// Package amem is A-MEM (Xu et al., "A-MEM: Agentic Memory for LLM Agents",
// arXiv:2502.12110): every note is described with keywords, a context and tags, is
// linked to its nearest notes, and may change how those are described.
//
// The package owns what A-MEM decides, its settings, its prompts and schemas
// ("analyze", "evolve", "split"), the payloads of these calls and the form of its
// outcomes. It depends on memory, on package policy above it, which holds what all
// policies share, and on leaves; it imports no other policy. The engine calls it
// through [memory.Policy]. Package policies lists it, and internal/analyst answers its
// calls when there is no model.
package amem
