package memory

import "github.com/google/uuid"

// Change is what one changeset did, as a reader of the collection sees it.
type Change struct {
	Changeset
	Notes []NoteChange // by id
	Links []LinkChange // by source, relation and target
}

// ChangeKind says what became of a note or a link.
type ChangeKind string

// The kinds of changes.
const (
	ChangeAdded   ChangeKind = "added"
	ChangeChanged ChangeKind = "changed"
	ChangeRemoved ChangeKind = "removed"
)

// NoteChange is what became of a note.
type NoteChange struct {
	Note   uuid.UUID
	Change ChangeKind
}

// LinkChange is what became of a link.
type LinkChange struct {
	LinkID
	Change ChangeKind
}
