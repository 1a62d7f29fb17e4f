// Package policy holds what the memory systems share: prompts and their schemas,
// settings, checks and cleaning of answers, the policy that does nothing ([None]),
// and the call that judges candidates of a search ([Judge]). Each memory system is a
// folder below this one (amem, mem0, memorybank) with its decisions, settings,
// prompts, schemas and call payloads; policies lists them.
//
// A policy reads notes through a [memory.Desk] and returns what should change. It
// writes nothing, opens no transaction, starts no goroutine that outlives a decision
// and sees no tenant. The engine calls it and applies its decisions; recall calls the
// judge.
//
// A model's answer is never trusted. Handles are mapped back to ids, lists and texts
// are cleaned and bounded. A decision changes only notes that the policy read for it,
// within the limits of the collection's settings. Memory text is put into a prompt as
// JSON between marks; it cannot forge the marks, because "<" is escaped in that JSON.
//
// The package imports memory and leaves. It does not know the policies, and no
// policy imports another.
package policy
