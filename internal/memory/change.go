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
	Text   string // how the note begins; "": it was not asked for, or there is none
}

// LinkChange is what became of a link.
type LinkChange struct {
	LinkID
	Change                 ChangeKind
	SourceText, TargetText string // how the notes begin, as in NoteChange
}

// IDs returns the notes that a change names.
func (c *Change) IDs() (out []uuid.UUID) {
	for i := range c.Notes {
		out = append(out, c.Notes[i].Note)
	}
	for i := range c.Links {
		out = append(out, c.Links[i].Source, c.Links[i].Target)
	}
	return out
}
