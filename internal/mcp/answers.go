package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// answer is what a tool answers: as text for a model, and as JSON with the same content.
type answer interface {
	text() string
	// shorten makes the answer smaller. It returns false if nothing can be left out.
	shorten() bool
}

// result shows an answer, shortened until each of its forms has at most MaxTokens tokens.
func result(a answer) *sdk.CallToolResult {
	for {
		plain := a.text()
		raw, err := json.Marshal(a)
		if err != nil {
			return refuse(err)
		}
		if max(estimateTokens(plain), estimateTokens(string(raw))) <= MaxTokens-estimateSlack || !a.shorten() {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: plain}}, StructuredContent: json.RawMessage(raw)}
		}
	}
}

// estimateSlack is by how many tokens an estimate of MaxTokens may be too low.
const estimateSlack = MaxTokens / 10

// estimateTokens returns a number of tokens that is seldom below the one of a common model: words of letters have one
// token for each 6 characters, ids and numbers two for each 3, and every other character is one.
func estimateTokens(s string) int {
	n, letters, digit := 0, 0, false
	flush := func() {
		switch {
		case digit:
			n += (2*letters + 2) / 3
		case letters > 0:
			n += (letters + 5) / 6
		}
		letters, digit = 0, false
	}
	for _, r := range s {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
			letters++
		case r >= '0' && r <= '9':
			letters++
			digit = true
		case r == ' ':
			flush()
		case r > 0xffff:
			flush()
			n += 3
		default:
			flush()
			n++
		}
	}
	flush()
	return n
}

// clipLong cuts a text to the length of one of several, unless it is short. It reports whether it did, and marks it.
func clipLong(s *string, cut *bool) bool {
	if utf8.RuneCountInString(*s) <= maxHit+1 {
		return false
	}
	*s, *cut = clip.Runes(*s, maxHit), true
	return true
}

// minClip is the length to which a text is cut before other parts are left out, in characters.
const minClip = 200

// halve cuts a text to half its length, unless it is short. It reports whether it did.
func halve(s *string) bool {
	n := utf8.RuneCountInString(*s)
	if n <= minClip {
		return false
	}
	*s = clip.Runes(*s, n/2)
	return true
}

// dropLast removes the last item of a list, or the last half of a long one, and counts it. The first stays.
func dropLast[T any](list *[]T, leftOut *int) bool {
	n := len(*list)
	if n < 2 {
		return false
	}
	keep := n - 1
	if n > 16 {
		keep = n / 2
	}
	*list = (*list)[:keep]
	*leftOut += n - keep
	return true
}

// dropAny removes the last item of a list whose items do not matter one by one.
func dropAny[T any](list *[]T, leftOut *int) bool {
	if len(*list) == 1 {
		*list = (*list)[:0]
		*leftOut++
		return true
	}
	return dropLast(list, leftOut)
}

func omitted(b *strings.Builder, n int, how string) {
	if n > 0 {
		fmt.Fprintf(b, "\n(%d more did not fit; %s.)", n, how)
	}
}

// endPage writes what a page leaves out, and how to get the next one.
func endPage(b *strings.Builder, leftOut int, cursor string) {
	omitted(b, leftOut, "pass a smaller limit")
	if cursor != "" {
		b.WriteString("\nnext_cursor: " + cursor)
	}
}

// asData returns stored text as the text of an answer shows it: it cannot be read as a line of the answer's own, since
// its further lines are indented, nor as a tag of a prompt.
func asData(s string) string { return lineBreaks.Replace(text.EscapeTags(s)) }

// lineBreaks indents the lines after each break of Unicode (UAX 14).
var lineBreaks = func() *strings.Replacer {
	pairs := []string{"\r\n", "\n    "}
	for _, r := range "\n\r\v\f\u0085\u2028\u2029" {
		pairs = append(pairs, string(r), "\n    ")
	}
	return strings.NewReplacer(pairs...)
}()

type link struct {
	Target     string  `json:"target"`
	Relation   string  `json:"relation"`
	Confidence float64 `json:"confidence"`
}

// note is a note of the API.
type note struct {
	Content    string          `json:"content"`
	ID         string          `json:"id"`
	Collection string          `json:"collection,omitempty"`
	Kind       string          `json:"kind,omitempty"`
	Context    string          `json:"context,omitempty"`
	Keywords   []string        `json:"keywords,omitempty"`
	Tags       []string        `json:"tags,omitempty"`
	Category   string          `json:"category,omitempty"`
	Attributes json.RawMessage `json:"attributes,omitempty"`
	Importance *float64        `json:"importance,omitempty"`
	OccurredAt string          `json:"occurred_at,omitempty"`
	CreatedAt  string          `json:"created_at,omitempty"`
	State      string          `json:"state,omitempty"`
	Revision   int64           `json:"revision,omitempty"`
	Links      []link          `json:"links,omitempty"`
	Cut        bool            `json:"cut,omitempty"`
}

func (n *note) shorten() bool {
	if len(n.Attributes) > len(n.Content) {
		n.Attributes, n.Cut = nil, true
		return true
	}
	ignored := 0
	for _, smaller := range []func() bool{
		func() bool { return len(n.Links) > 8 && dropLast(&n.Links, &ignored) },
		func() bool { return len(n.Keywords) > 8 && dropLast(&n.Keywords, &ignored) },
		func() bool { return len(n.Tags) > 8 && dropLast(&n.Tags, &ignored) },
		func() bool { return len(n.Context) > len(n.Content) && halve(&n.Context) },
		func() bool { return halve(&n.Content) },
		func() bool { return halve(&n.Context) },
		func() bool { return dropAny(&n.Links, &ignored) },
		func() bool { return dropAny(&n.Keywords, &ignored) },
		func() bool { return dropAny(&n.Tags, &ignored) },
	} {
		if smaller() {
			n.Cut = true
			return true
		}
	}
	if len(n.Attributes) > 0 {
		n.Attributes, n.Cut = nil, true
		return true
	}
	return false
}

func (n *note) text() string {
	var b strings.Builder
	b.WriteString(asData(n.Content))
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "\n%s: %s", name, asData(value))
		}
	}
	line("note", n.ID)
	line("occurred_at", n.OccurredAt)
	line("context", n.Context)
	line("tags", strings.Join(n.Tags, ", "))
	line("keywords", strings.Join(n.Keywords, ", "))
	if string(n.Attributes) != "{}" {
		line("attributes", string(n.Attributes))
	}
	for _, l := range n.Links {
		line("link", l.Relation+" "+l.Target)
	}
	if n.Cut {
		b.WriteString("\n(Parts are left out; the resource " + noteURI(n.Collection, n.ID) + " has all.)")
	}
	return b.String()
}

type noteAnswer struct {
	Note     note   `json:"note"`
	Revision int64  `json:"revision,omitempty"`
	Job      string `json:"job,omitempty"`
	Redacted string `json:"redacted,omitempty"`
	did      string // "": it was read
}

func (a *noteAnswer) shorten() bool { return a.Note.shorten() }

func (a *noteAnswer) text() string {
	out := a.Note.text()
	if a.did != "" {
		out = a.did + ": " + out
	}
	return out + redaction(a.Redacted)
}

func redaction(kinds string) string {
	if kinds == "" {
		return ""
	}
	return "\nSecrets were taken out before it was stored: " + kinds + "."
}

type hit struct {
	Content    string  `json:"content"`
	Note       string  `json:"note"`
	Score      float64 `json:"score"`
	OccurredAt string  `json:"occurred_at,omitempty"`
	Collection string  `json:"collection,omitempty"`
	Cut        bool    `json:"cut,omitempty"`
	Exchange   []said  `json:"exchange,omitempty"` // the other messages of its exchange
}

// said is a message beside a hit.
type said struct {
	Content string `json:"content"`
	Note    string `json:"note"`
	Cut     bool   `json:"cut,omitempty"`
}

// maxHit is the length of one of several hits, in characters.
const maxHit = 1200

// shortenHits leaves out the last hits; the first is cut when it is alone.
func shortenHits(hits *[]hit, leftOut *int) bool {
	cut := false
	for i := range *hits {
		h := &(*hits)[i]
		cut = len(*hits) > 1 && clipLong(&h.Content, &h.Cut) || cut
		for j := range h.Exchange {
			cut = clipLong(&h.Exchange[j].Content, &h.Exchange[j].Cut) || cut
		}
	}
	if cut || dropLast(hits, leftOut) {
		return true
	}
	if len(*hits) == 1 && len((*hits)[0].Exchange) > 0 {
		(*hits)[0].Exchange = nil
		return true
	}
	if len(*hits) == 1 && halve(&(*hits)[0].Content) {
		(*hits)[0].Cut = true
		return true
	}
	return false
}

func writeHits(b *strings.Builder, hits []hit) {
	for i, h := range hits {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(b, "%d. %s\n   note: %s", i+1, asData(h.Content), h.Note)
		if h.OccurredAt != "" {
			b.WriteString(", occurred_at: " + h.OccurredAt)
		}
		if h.Collection != "" {
			b.WriteString(", collection: " + h.Collection)
		}
		for _, m := range h.Exchange {
			fmt.Fprintf(b, "\n   in the same exchange: %s\n   note: %s", asData(m.Content), m.Note)
		}
	}
}

type searchAnswer struct {
	Hits       []hit    `json:"hits"`
	Answerable *float64 `json:"answerable,omitempty"`
	LeftOut    int      `json:"left_out,omitempty"`
}

func (a *searchAnswer) shorten() bool { return shortenHits(&a.Hits, &a.LeftOut) }

func (a *searchAnswer) text() string {
	if len(a.Hits) == 0 {
		return "Nothing was found."
	}
	var b strings.Builder
	writeHits(&b, a.Hits)
	omitted(&b, a.LeftOut, "ask more exactly, or with a filter")
	return b.String()
}

type contextAnswer struct {
	Text       string   `json:"text"`
	Notes      []string `json:"notes"`
	Answerable *float64 `json:"answerable,omitempty"`
	LeftOut    int      `json:"left_out,omitempty"` // ids of notes
}

func (a *contextAnswer) shorten() bool { return dropAny(&a.Notes, &a.LeftOut) || halve(&a.Text) }

func (a *contextAnswer) text() string {
	if a.Text == "" {
		return "Nothing is known about it."
	}
	return a.Text
}

// choiceAnswer is the answer of tools that change a note, or offer notes to choose from.
type choiceAnswer struct {
	Note       *note    `json:"note,omitempty"`
	Deleted    []string `json:"deleted,omitzero"`
	Missing    []string `json:"missing,omitempty"`
	Sources    []string `json:"sources,omitempty"` // notes that may still say what was deleted
	Candidates []hit    `json:"candidates,omitzero"`
	LeftOut    int      `json:"left_out,omitempty"`
	// Of an erasure.
	Kept       []string      `json:"kept,omitempty"` // names of collections where something is left
	Traces     memory.Traces `json:"traces,omitempty"`
	Waiting    []string      `json:"waiting,omitempty"` // jobs that erase earlier summaries
	what, next string        // what the tool does; how to call it to do so
}

// erased adds the report of an erasure; of a deletion it is empty.
func (a *choiceAnswer) erased(report []byte) error {
	if len(report) == 0 {
		return nil
	}
	var got struct {
		Kept []struct {
			Name string `json:"name"`
		} `json:"kept"`
		Traces  memory.Traces `json:"traces"`
		Waiting []string      `json:"waiting"`
	}
	if err := json.Unmarshal(report, &got); err != nil {
		return fmt.Errorf("decode the report of an erasure: %w", err)
	}
	for _, k := range got.Kept {
		if !slices.Contains(a.Kept, k.Name) {
			a.Kept = append(a.Kept, k.Name)
		}
	}
	a.Traces, a.Waiting = got.Traces, append(a.Waiting, got.Waiting...)
	return nil
}

func (a *choiceAnswer) shorten() bool {
	if a.Note != nil && a.Note.shorten() {
		return true
	}
	return shortenHits(&a.Candidates, &a.LeftOut)
}

func (a *choiceAnswer) text() string {
	var b strings.Builder
	switch {
	case a.Note != nil:
		b.WriteString("Corrected: " + a.Note.text())
	case len(a.Candidates) > 0:
		writeHits(&b, a.Candidates)
		fmt.Fprintf(&b, "\nNothing was %s yet. Call %s of those that are meant.", a.what, a.next)
	case a.next != "":
		fmt.Fprintf(&b, "Nothing was found, so nothing was %s.", a.what)
	default:
		fmt.Fprintf(&b, "Deleted: %d.", len(a.Deleted))
		if len(a.Missing) > 0 {
			fmt.Fprintf(&b, " Not found: %s.", strings.Join(a.Missing, ", "))
		}
		if len(a.Sources) > 0 {
			fmt.Fprintf(&b, " These notes may still say it: %s.", strings.Join(a.Sources, ", "))
		}
		if len(a.Waiting) > 0 {
			b.WriteString(" Summaries are made again first.")
		}
		if s := a.Traces.Sentence(); s != "" {
			b.WriteString(" " + s)
		}
		if len(a.Kept) > 0 {
			fmt.Fprintf(&b, " Something is left in %s: erase it there.", asData(strings.Join(a.Kept, ", ")))
		}
	}
	return b.String()
}

type linksAnswer struct {
	Links   []link `json:"links"`
	LeftOut int    `json:"left_out,omitempty"`
}

func (a *linksAnswer) shorten() bool { return dropAny(&a.Links, &a.LeftOut) }

func (a *linksAnswer) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "The note has %d links:", len(a.Links)+a.LeftOut)
	for _, l := range a.Links {
		fmt.Fprintf(&b, "\n%s %s", asData(l.Relation), l.Target)
	}
	return b.String()
}

type learned struct {
	Memory string `json:"memory"`
	Event  string `json:"event"`
	Note   string `json:"note"`
}

type messagesAnswer struct {
	Messages []string  `json:"messages"`
	Learned  []learned `json:"learned,omitempty"`
	Revision int64     `json:"revision,omitempty"`
	Job      string    `json:"job,omitempty"`
	Redacted string    `json:"redacted,omitempty"`
	Unread   int       `json:"unread,omitempty"` // parts without a text
	LeftOut  int       `json:"left_out,omitempty"`
}

func (a *messagesAnswer) shorten() bool {
	return dropAny(&a.Messages, &a.LeftOut) || dropAny(&a.Learned, &a.LeftOut)
}

func (a *messagesAnswer) text() string {
	var b strings.Builder
	b.WriteString("The messages are stored.")
	for _, l := range a.Learned {
		fmt.Fprintf(&b, "\n%s: %s (note %s)", l.Event, asData(l.Memory), l.Note)
	}
	b.WriteString(redaction(a.Redacted))
	return b.String()
}

type rememberAnswer struct {
	Note       string   `json:"note,omitempty"`
	Messages   []string `json:"messages,omitempty"`
	Collection string   `json:"collection"`
	Created    bool     `json:"created,omitempty"` // the collection
	Job        string   `json:"job,omitempty"`
	Redacted   string   `json:"redacted,omitempty"`
	Unread     int      `json:"unread,omitempty"` // parts without a text
	LeftOut    int      `json:"left_out,omitempty"`
}

func (a *rememberAnswer) shorten() bool { return dropAny(&a.Messages, &a.LeftOut) }

func (a *rememberAnswer) text() string {
	out := "Remembered in the collection " + asData(a.Collection)
	if a.Created {
		out = "Remembered in the new collection " + asData(a.Collection)
	}
	if a.Note != "" {
		out += " as note " + a.Note
	}
	return out + "." + redaction(a.Redacted)
}

// collection is a collection of the API, and what is shown of it.
type collection struct {
	Name        string            `json:"name"`
	ID          string            `json:"id"`
	DisplayName string            `json:"display_name,omitempty"`
	Agent       string            `json:"agent,omitempty"`
	External    map[string]string `json:"external,omitempty"`
	Policy      string            `json:"policy,omitempty"`
	Notes       *int64            `json:"notes,omitempty"`
	CreatedAt   string            `json:"created_at,omitempty"`
	Counts      *struct {
		Notes int64 `json:"notes"`
	} `json:"counts,omitempty"`
}

// flat returns a collection with the number of its notes in place of all counts.
func flat(c collection) collection {
	if c.Counts != nil {
		c.Notes, c.Counts = &c.Counts.Notes, nil
	}
	return c
}

func flatten(list []collection) []collection {
	out := make([]collection, len(list))
	for i := range list {
		out[i] = flat(list[i])
	}
	return out
}

func (c *collection) line() string {
	var b strings.Builder
	b.WriteString(c.Name)
	if c.DisplayName != "" {
		b.WriteString(" (" + c.DisplayName + ")")
	}
	fmt.Fprintf(&b, ", id %s, policy %s", c.ID, c.Policy)
	if c.Notes != nil {
		fmt.Fprintf(&b, ", %d notes", *c.Notes)
	}
	if c.Agent != "" {
		b.WriteString(", agent " + c.Agent)
	}
	for _, name := range externalNames {
		if id := c.External[name]; id != "" {
			fmt.Fprintf(&b, ", %s %s", name, id)
		}
	}
	return asData(b.String())
}

type collectionAnswer struct{ collection }

func (*collectionAnswer) shorten() bool  { return false }
func (a *collectionAnswer) text() string { return "Cloned: " + a.line() }

type collectionsAnswer struct {
	Collections []collection `json:"collections"`
	NextCursor  string       `json:"next_cursor,omitempty"`
	LeftOut     int          `json:"left_out,omitempty"`
}

func (a *collectionsAnswer) shorten() bool { return dropLast(&a.Collections, &a.LeftOut) }

func (a *collectionsAnswer) text() string {
	if len(a.Collections) == 0 {
		return "There is no collection yet; remember creates one."
	}
	var b strings.Builder
	for i := range a.Collections {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(a.Collections[i].line())
	}
	endPage(&b, a.LeftOut, a.NextCursor)
	return b.String()
}

type version struct {
	Content   string `json:"content,omitempty"`
	Deleted   bool   `json:"deleted,omitempty"`
	Cause     string `json:"cause"`
	Actor     string `json:"actor"`
	ChangedAt string `json:"changed_at"`
	Revision  int64  `json:"revision"`
	Cut       bool   `json:"cut,omitempty"`
}

type historyAnswer struct {
	Versions   []version `json:"versions"`
	NextCursor string    `json:"next_cursor,omitempty"`
	LeftOut    int       `json:"left_out,omitempty"`
}

func (a *historyAnswer) shorten() bool {
	cut := false
	for i := range a.Versions {
		v := &a.Versions[i]
		cut = len(a.Versions) > 1 && clipLong(&v.Content, &v.Cut) || cut
	}
	if cut || dropLast(&a.Versions, &a.LeftOut) {
		return true
	}
	if len(a.Versions) == 1 && halve(&a.Versions[0].Content) {
		a.Versions[0].Cut = true
		return true
	}
	return false
}

func (a *historyAnswer) text() string {
	var b strings.Builder
	for i, v := range a.Versions {
		if i > 0 {
			b.WriteByte('\n')
		}
		what := asData(v.Content)
		if v.Deleted {
			what = "(deleted)"
		}
		fmt.Fprintf(&b, "%s\n   revision %d, %s, %s by %s", what, v.Revision, v.ChangedAt, v.Cause, asData(v.Actor))
	}
	endPage(&b, a.LeftOut, a.NextCursor)
	return b.String()
}
