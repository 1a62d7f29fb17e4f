package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// storedNote is the part of a note that is checked.
type storedNote struct {
	ID         string   `json:"id"`
	Kind       string   `json:"kind"`
	Content    string   `json:"content"`
	Context    string   `json:"context"`
	Keywords   []string `json:"keywords"`
	Tags       []string `json:"tags"`
	Category   string   `json:"category"`
	State      string   `json:"state"`
	Analyst    string   `json:"analyst"`
	Importance float64  `json:"importance"`
	Provenance struct {
		Sources []string `json:"sources"`
		Stale   bool     `json:"stale"`
	} `json:"provenance"`
	Attributes struct {
		Layer string `json:"layer"` // of an item of a layered memory
	} `json:"attributes"`
	Links []struct {
		Target     string  `json:"target"`
		Relation   string  `json:"relation"`
		Confidence float64 `json:"confidence"`
	} `json:"links"`
}

// writtenKinds are the kinds that clients write; all others are derived.
var writtenKinds = []string{"note", kindMessage}

// derivedKinds are the kinds that the policies for conversations write.
var derivedKinds = []string{"fact", "entity", "summary", "profile", "knowledge", "session"}

// rawAnswer matches text that looks like a model's answer stored as it came: a code fence, thinking,
// or JSON.
var rawAnswer = regexp.MustCompile("(?s)```|</?think>|^\\s*[\\[{].*[\\]}]\\s*$")

// nothingKnown is the fixed text of a summary without content. It has no author and no sources.
const nothingKnown = "No key facts are known yet."

// checkStored checks all notes of a collection. A derived note must have content that is not a raw
// answer, an analyst, and existing notes as sources; links must have both ends. It returns the
// number of derived notes and the problems. Where jobs were cut off, notes may be raw.
func checkStored(ctx context.Context, c *Client, collection string, cutOff bool) (derived int, problems []string, err error) {
	notes := map[string]storedNote{}
	var order []string
	err = c.CountNotes(ctx, collection, func(raw json.RawMessage) error {
		var n storedNote
		if err := json.Unmarshal(raw, &n); err != nil {
			return fmt.Errorf("decode note: %w", err)
		}
		notes[n.ID] = n
		order = append(order, n.ID)
		return nil
	})
	if err != nil {
		return 0, nil, err
	}
	facts := map[string]string{}
	for _, id := range order {
		n := notes[id]
		if cutOff && n.State == "raw" {
			continue
		}
		found := n.problems()
		for _, l := range n.Links {
			if _, ok := notes[l.Target]; !ok {
				found = append(found, "is linked to "+l.Target+", which does not exist")
			}
		}
		if n.isDerived() {
			derived++
			if !slices.ContainsFunc(n.Provenance.Sources, func(s string) bool { _, ok := notes[s]; return ok }) && !n.Provenance.Stale {
				found = append(found, "has no existing source")
			}
		}
		if n.Kind == "fact" {
			if other, ok := facts[n.Content]; ok {
				found = append(found, "says the same as "+other)
			}
			facts[n.Content] = id
		}
		for _, f := range found {
			problems = append(problems, fmt.Sprintf("the %s %s %s", n.Kind, id, f))
		}
	}
	return derived, problems, nil
}

// isDerived reports whether a policy made the note, also by splitting another note.
func (n *storedNote) isDerived() bool {
	return n.Content != nothingKnown && (!slices.Contains(writtenKinds, n.Kind) || len(n.Provenance.Sources) > 0)
}

// hasNoAuthor reports whether nobody wrote the note: an item of a layered memory is what was said, word for word, and where
// no answer was usable, a session and an entity have the names that the policy gives them.
func (n *storedNote) hasNoAuthor() bool {
	return n.Analyst == "" && (n.Attributes.Layer != "" || n.Kind == "session" || n.Kind == "entity")
}

// problems returns the problems of a single note.
func (n *storedNote) problems() (out []string) {
	if !slices.Contains(writtenKinds, n.Kind) && !slices.Contains(derivedKinds, n.Kind) {
		out = append(out, "is of a kind that no policy makes")
	}
	if !(n.Importance >= 0 && n.Importance <= 1) {
		out = append(out, fmt.Sprintf("has the importance %v", n.Importance))
	}
	described := append([]string{n.Context, n.Category}, append(slices.Clone(n.Keywords), n.Tags...)...)
	if n.isDerived() {
		described = append(described, n.Content)
		if strings.TrimSpace(n.Content) == "" {
			out = append(out, "is empty")
		}
		if n.Analyst != "model" && n.Analyst != "heuristic" && !n.hasNoAuthor() {
			out = append(out, fmt.Sprintf("has the analyst %q", n.Analyst))
		}
		if n.State == "raw" {
			out = append(out, "is raw")
		}
	}
	for _, d := range described {
		if rawAnswer.MatchString(d) {
			out = append(out, fmt.Sprintf("holds a raw answer: %.60q", d))
		}
	}
	for _, l := range n.Links {
		if strings.TrimSpace(l.Relation) == "" || !(l.Confidence >= 0 && l.Confidence <= 1) {
			out = append(out, fmt.Sprintf("has a link %q with the confidence %v", l.Relation, l.Confidence))
		}
	}
	return out
}
