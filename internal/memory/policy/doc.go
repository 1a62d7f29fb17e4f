// Package policy holds the memory systems: what each decides about a note, the
// prompts and schemas of its model calls, and its constants.
//
// A policy looks at a note through a [memory.Desk] and says what should change.
// It writes nothing, opens no transaction, leaves no goroutine behind and sees
// no tenant; the engine applies what it decides. One file group, one table of
// decisions and one golden set for each system.
//
// What a model answers is never trusted: handles are mapped back to ids, lists
// and texts are cleaned and bounded, and whatever the answer says, a decision
// touches the new note and its nearest neighbours only, within the limits of
// the collection. Memory text stands in a prompt as JSON between marks that it
// cannot forge, because JSON written here holds no "<".
//
// The package imports memory and leaves.
package policy
