package eval

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Turn is one utterance of a conversation.
type Turn struct {
	ID       string // "D3:7": session 3, turn 7
	Speaker  string
	Role     string // user or assistant; "" for a person among persons
	Session  string
	At       time.Time // the session's time plus one second per turn
	Text     string    // the content of its note
	Rendered string    // the text with its date, as in a context; its tokens are counted
	// Attributes of its note; nil for none.
	Attributes map[string]any
}

// Question has gold evidence: the ids of the turns that answer it.
type Question struct {
	Text     string
	Category string
	Answer   string // "" when the data has none
	Gold     []string
	Audited  []string // gold after a later audit of the labels; Gold when the audit changed nothing
	// Before is how many turns may be used, from the first; 0 is all.
	Before       int
	Dialogue     []Message // that Text ends; nil when the data has none
	GoldSessions []string  // the sessions with the answer; nil when the data does not say
	Unknown      []string  // published evidence that is not a turn
}

// Conversation is the content of one collection.
type Conversation struct {
	ID        string
	Turns     []Turn
	Questions []Question
}

// Dataset is a set of conversations with questions, and how answers are measured.
type Dataset struct {
	Name          string
	Conversations []Conversation
	Categories    []string // in the order of tables
	// Apart is the category that averages leave out; "" for none.
	Apart   string
	Budgets []int // in tokens, for recall within a budget
	// Sessions reports whether the questions have gold sessions.
	Sessions bool
	Files    map[string]string // SHA-256 of the files read, by name
}

// readFile reads one file of a data set and records its hash.
func (d *Dataset) readFile(dir, name string) ([]byte, error) {
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", d.Name, err)
	}
	d.recordHash(name, raw)
	return raw, nil
}

// readPacked is readFile for a file that gzip has packed.
func (d *Dataset) readPacked(dir, name string) ([]byte, error) {
	packed, err := d.readFile(dir, name)
	if err != nil {
		return nil, err
	}
	raw, err := unpack(packed)
	if err != nil {
		return nil, fmt.Errorf("read %s: %s: %w", d.Name, name, err)
	}
	return raw, nil
}

// unpack returns what gzip has packed.
func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	return raw, nil
}

func (d *Dataset) recordHash(name string, raw []byte) {
	if d.Files == nil {
		d.Files = map[string]string{}
	}
	sum := sha256.Sum256(raw)
	d.Files[name] = hex.EncodeToString(sum[:])
}

// Pooled joins all conversations of a data set into one. Ids and sessions get the id of their
// conversation as a prefix.
func Pooled(d *Dataset) *Dataset {
	out := *d
	out.Name = d.Name + "-pooled"
	var all Conversation
	all.ID = "pooled"
	for _, c := range d.Conversations {
		prefix := func(ids []string) []string {
			out := make([]string, len(ids))
			for i, id := range ids {
				out[i] = c.ID + "/" + id
			}
			return out
		}
		for _, t := range c.Turns {
			t.ID, t.Session = c.ID+"/"+t.ID, c.ID+"/"+t.Session
			if t.Attributes != nil {
				t.Attributes = map[string]any{"dia_id": t.ID, "speaker": t.Speaker, "session": t.Session}
			}
			all.Turns = append(all.Turns, t)
		}
		for _, q := range c.Questions {
			q.Gold, q.Audited = prefix(q.Gold), prefix(q.Audited)
			all.Questions = append(all.Questions, q)
		}
	}
	out.Conversations = []Conversation{all}
	return &out
}

// hasDialogues reports whether the data has dialogues to ask with.
func (d *Dataset) hasDialogues() bool {
	for i := range d.Conversations {
		for j := range d.Conversations[i].Questions {
			return d.Conversations[i].Questions[j].Dialogue != nil
		}
	}
	return false
}
