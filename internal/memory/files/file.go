package files

import (
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// State is how far a file is.
type State string

// The states. Failed: File.Error says why.
const (
	Queued  State = "queued"
	Running State = "running"
	Ready   State = "ready"
	Failed  State = memory.FileFailed
)

// The attributes of the note of a file.
const (
	attrMedia  = "media_type"
	attrBytes  = "bytes"
	attrTokens = "tokens"
	attrChunks = "chunks"
	attrPages  = "pages"
	attrState  = memory.AttrFileState
	attrError  = "error"
	attrHash   = "sha256" // of the bytes that were uploaded, in hexadecimal
)

// The attributes of a passage of a file, beside memory.AttrFile, memory.AttrFileName and memory.AttrPage.
const (
	attrIndex = "index" // its position in the file, from 0
	attrLine  = "line"  // of its first line, from 1
)

// File is an uploaded file.
type File struct {
	ID, Collection uuid.UUID
	Name           string
	Media          string
	Bytes          int64
	Tokens         int64 // of its text; 0 until it is ready, like the next two
	Chunks         int64
	Pages          int64
	State          State
	Error          string // "" unless it failed
	CreatedAt      time.Time
	ExpiresAt      time.Time // zero: never
}

// Of returns the file of a note.
func Of(n *memory.Note) File {
	text := func(name string) string { s, _ := n.Attributes[name].(string); return s }
	return File{
		ID: n.ID, Collection: n.Collection, Name: n.Key, Media: text(attrMedia), Bytes: memory.NumberOf(n.Attributes, attrBytes), Tokens: memory.NumberOf(n.Attributes, attrTokens),
		Chunks: memory.NumberOf(n.Attributes, attrChunks), Pages: memory.NumberOf(n.Attributes, attrPages), State: State(text(attrState)), Error: text(attrError), CreatedAt: n.CreatedAt, ExpiresAt: n.ExpiresAt,
	}
}

// maxName is how many characters the name of a file has.
const maxName = 128

// checkName returns the name of a file without its folders, or Invalid "file".
func checkName(name string) (string, error) {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	var r memory.Validation
	switch {
	case !utf8.ValidString(name):
		r.Addf("file", "its name is not UTF-8")
	case name == "." || name == "/" || strings.TrimSpace(name) == "":
		r.Addf("file", "needs a name")
	case utf8.RuneCountInString(name) > maxName:
		r.Addf("file", "its name has more than %d characters", maxName)
	case strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) }):
		r.Addf("file", "its name must be one line of visible characters")
	}
	return name, r.Err()
}
