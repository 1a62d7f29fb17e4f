// Package block says what a block is: a short text under a label that an agent sees in every prompt and
// edits with tools. It holds the rules: labels, the limit in characters, read-only blocks, the edits, and
// which version an undo and a redo restore.
//
// A block is a note of kind block. Its key and its only keyword are the label, its content is the value,
// its context is the description; limit, read_only and metadata are attributes. So history, forks,
// snapshots and searches treat it like any note. Two more attributes of each version, which answers leave
// out, form the list that undo and redo walk: "back" is the revision at which the version began that an
// undo restores, "forward" the one that a redo restores. An edit points back to the version that it
// replaces and forward to none. An undo writes the content of the version at back, points back to where
// that one points, and forward to the version that it replaces; a redo does the reverse.
//
// internal/memory/notes writes blocks in transactions, internal/memory/policy/memgpt/agent shows them to a model, and
// the policy memgpt begins its collections with two of them. The package imports internal/memory and reads
// no store.
package block
