// Package contexts writes the text of a context: of notes that were found, pinned notes and recent
// messages, it shows as much as fits into a token budget, grouped into parts, dated, and with a mark
// on each note that cites it.
//
// It depends on its arguments alone: it reads no store, searches nothing and keeps no state.
// internal/memory/recall finds the notes, and is the only caller.
package contexts
