// Package merge compares notes field by field, and merges two versions of a note from the one that both come from. Its functions
// are pure: they read no store and call no model.
//
// Package clone uses it for diff, merge and blame; lines of text are compared by diffmatchpatch, and package block says
// which attributes of a block are shown.
package merge
