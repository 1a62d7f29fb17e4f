// Package memgpt is MemGPT (Packer et al., "MemGPT: Towards LLMs as Operating Systems", 2023,
// arXiv:2310.08560; its successor is Letta): the window of a model is main memory, and an agent pages
// the rest in and out with tools.
//
// Messages are recall storage, passages are archival storage, blocks are the working context. The policy
// decides nothing about them: they stay as they are written. The package owns the instructions of the
// agent, the tools as a model sees them, and the settings. It depends on memory, on package policy above
// it, on block for the two blocks that a collection begins with, and on leaves. internal/memory/policy/memgpt/agent runs
// the tools and builds the context; it gets what the policy says through [memory.Pager]. Package policies
// lists the policy.
package memgpt
