package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/clip"
)

// values are what a field was and is, as texts.
type values struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

// noteChange is a note that differs between two memories.
type noteChange struct {
	Note    string             `json:"note"`
	Change  string             `json:"change"`
	Content string             `json:"content,omitempty"`
	Fields  map[string]*values `json:"fields,omitempty"`
	Cut     bool               `json:"cut,omitempty"`
}

// texts returns all texts of a change that can be cut.
func (n *noteChange) texts() []*string {
	out := []*string{&n.Content}
	for _, name := range slices.Sorted(maps.Keys(n.Fields)) {
		out = append(out, &n.Fields[name].Before, &n.Fields[name].After)
	}
	return out
}

type linkChange struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	Relation string `json:"relation"`
	Change   string `json:"change"`
}

type diffAnswer struct {
	Changes    []noteChange `json:"changes"`
	Links      []linkChange `json:"links"`
	NextCursor string       `json:"next_cursor,omitempty"`
	LeftOut    int          `json:"left_out,omitempty"`
}

func (a *diffAnswer) shorten() bool {
	cut := false
	for i := range a.Changes {
		n := &a.Changes[i]
		for _, s := range n.texts() {
			cut = clipLong(s, &n.Cut) || cut
		}
	}
	if cut || dropAny(&a.Links, &a.LeftOut) || dropLast(&a.Changes, &a.LeftOut) {
		return true
	}
	for i := range a.Changes {
		for _, s := range a.Changes[i].texts() {
			cut = halve(s) || cut
		}
		a.Changes[i].Cut = a.Changes[i].Cut || cut
	}
	return cut
}

// marks are what a change is shown by.
var marks = map[string]string{"added": "+", "removed": "-", "changed": "~"}

func (a *diffAnswer) text() string {
	if len(a.Changes)+len(a.Links)+a.LeftOut == 0 {
		return "Nothing differs."
	}
	var b strings.Builder
	for i := range a.Changes {
		n := &a.Changes[i]
		fmt.Fprintf(&b, "%s note %s", marks[n.Change], n.Note)
		if n.Content != "" {
			b.WriteString(": " + asData(n.Content))
		}
		for _, name := range slices.Sorted(maps.Keys(n.Fields)) {
			v := n.Fields[name]
			fmt.Fprintf(&b, "\n   %s: %s\n   -> %s", asData(name), asData(v.Before), asData(v.After))
		}
		b.WriteByte('\n')
	}
	for _, l := range a.Links {
		fmt.Fprintf(&b, "%s link %s %s %s\n", marks[l.Change], l.Source, asData(l.Relation), l.Target)
	}
	var end strings.Builder
	endPage(&end, a.LeftOut, a.NextCursor)
	return strings.TrimSuffix(b.String(), "\n") + end.String()
}

func diff(c *call, path string, query url.Values) (answer, error) {
	c.addQuery(query)
	var got struct {
		Items []struct {
			Note   string                     `json:"note"`
			Change string                     `json:"change"`
			Fields []string                   `json:"fields"`
			Before map[string]json.RawMessage `json:"before"`
			After  map[string]json.RawMessage `json:"after"`
		} `json:"items"`
		Links      []linkChange `json:"links"`
		NextCursor string       `json:"next_cursor"`
	}
	if _, err := c.send(Request{Method: http.MethodGet, Path: path + "/diff"}, query, &got); err != nil {
		return nil, err
	}
	out := &diffAnswer{Changes: []noteChange{}, Links: got.Links, NextCursor: got.NextCursor}
	for _, n := range got.Items {
		shown := noteChange{Note: n.Note, Change: n.Change}
		if len(n.Fields) == 0 {
			shown.Content = fieldOf(n.Before, "content") + fieldOf(n.After, "content") // one of them is there
		}
		for _, name := range n.Fields {
			if shown.Fields == nil {
				shown.Fields = map[string]*values{}
			}
			shown.Fields[name] = &values{Before: fieldOf(n.Before, name), After: fieldOf(n.After, name)}
		}
		out.Changes = append(out.Changes, shown)
	}
	return out, nil
}

// fieldOf returns a field of a note as text, by the name that a diff has for it; "" if the note has none.
func fieldOf(note map[string]json.RawMessage, field string) string {
	in, name := "", field
	if key, ok := strings.CutPrefix(field, "attributes."); ok {
		in, name = "attributes", key
	} else if field == "sources" {
		in = "provenance"
	}
	if in != "" {
		var inner map[string]json.RawMessage
		if json.Unmarshal(note[in], &inner) != nil {
			return ""
		}
		note = inner
	}
	return plain(note[name])
}

// conflict is a field that both sides of a merge changed.
type conflict struct {
	Note   string `json:"note"`
	Field  string `json:"field"`
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
}

// UnmarshalJSON reads values of any kind as texts.
func (x *conflict) UnmarshalJSON(raw []byte) error {
	var got struct {
		Note   string          `json:"note"`
		Field  string          `json:"field"`
		Ours   json.RawMessage `json:"ours"`
		Theirs json.RawMessage `json:"theirs"`
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		return err
	}
	*x = conflict{Note: got.Note, Field: got.Field, Ours: plain(got.Ours), Theirs: plain(got.Theirs)}
	return nil
}

const (
	// shownConflicts is how many conflicts a refusal lists.
	shownConflicts = 5
	// maxValue is the length of a value in a list of conflicts, in characters.
	maxValue = 150
)

func writeConflicts(b *strings.Builder, list []conflict) {
	for _, x := range list {
		fmt.Fprintf(b, "\n- note %s, %s: ours %s; theirs %s", x.Note, asData(x.Field), asData(clip.Runes(x.Ours, maxValue)), asData(clip.Runes(x.Theirs, maxValue)))
	}
}

type mergeAnswer struct {
	Notes     int        `json:"notes"`
	Links     int        `json:"links"`
	Revision  int64      `json:"revision"`
	Conflicts []conflict `json:"conflicts,omitempty"`
	Review    string     `json:"review,omitempty"`
	InReview  int        `json:"in_review,omitempty"`
	Job       string     `json:"job,omitempty"`
	LeftOut   int        `json:"left_out,omitempty"`
}

func (a *mergeAnswer) shorten() bool {
	cut := false
	for i := range a.Conflicts {
		for _, s := range []*string{&a.Conflicts[i].Ours, &a.Conflicts[i].Theirs} {
			cut = halve(s) || cut
		}
	}
	return cut || dropAny(&a.Conflicts, &a.LeftOut)
}

func (a *mergeAnswer) text() string {
	var b strings.Builder
	switch {
	case a.Review != "":
		fmt.Fprintf(&b, "Merged notes: %d, links: %d. Notes that wait for the approval of a person: %d, in the review %s.", a.Notes, a.Links, a.InReview, a.Review)
	case a.Job != "":
		fmt.Fprintf(&b, "It is merged in the background, by the job %s.", a.Job)
	case a.Notes+a.Links == 0:
		b.WriteString("There is nothing to merge.")
	default:
		fmt.Fprintf(&b, "Notes: %d, links: %d.", a.Notes, a.Links)
	}
	if len(a.Conflicts) > 0 {
		b.WriteString(" Both sides changed these fields:")
	}
	writeConflicts(&b, a.Conflicts)
	omitted(&b, a.LeftOut, "merge some notes at a time")
	return b.String()
}

func merge(c *call, path string, query url.Values) (answer, error) {
	body, err := c.body()
	if err != nil {
		return nil, err
	}
	var got struct {
		Revision  int64
		Merged    struct{ Notes, Links int }
		Conflicts []conflict
		Review    struct {
			ID      string
			Changes []json.RawMessage
		}
		Job struct{ ID string }
	}
	_, err = c.send(Request{Method: http.MethodPost, Path: path + "/merge", Body: body}, query, &got)
	return &mergeAnswer{
		Notes: got.Merged.Notes, Links: got.Merged.Links, Revision: got.Revision, Conflicts: got.Conflicts, Review: got.Review.ID, InReview: len(got.Review.Changes),
		Job: got.Job.ID,
	}, err
}
