package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/files"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/text/unsaid"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// Sizes of pages. A search finds at most maxFound notes.
const (
	pageSize = 5
	maxTopK  = 20
	maxFound = memory.MaxPage
)

// conversationSearch returns a page of messages: those with a word of the query, best first, then the nearest by
// meaning until the page is full; without a query the newest. Results of tools and calls of tools are left out, so
// that a search never finds another one, and so are alerts and what was said in the run itself: the question that is
// being answered would be found before its answer.
func conversationSearch(ctx context.Context, r *run) (string, error) {
	query, _ := r.args.optionalText("query")
	roles := r.args.texts("roles")
	allowed := []string{string(memory.RoleUser), string(memory.RoleAssistant), string(memory.RoleSystem), string(memory.RoleDeveloper)}
	for i, role := range roles {
		if !slices.Contains(allowed, role) {
			r.args.problems.Addf(memory.ElementField("roles", i), "must be one of %s", wording.Or(allowed...))
		}
	}
	from, until := r.args.dates(r.view.Collection.Zone())
	page := r.args.whole("page", 1, 1, math.MaxInt32)
	if err := r.args.check(); err != nil {
		return "", err
	}
	if len(roles) == 0 {
		roles = allowed
	}
	role := filter.Or{filter.AttributeIs(memory.AttrRole, roles...)}
	if slices.Contains(roles, string(memory.RoleUser)) { // a message without a role is a user's
		role = append(role, &filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrRole}, Op: filter.Exists})
	}
	tool := filter.Or{
		&filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrTool}, Op: filter.Exists}, // Want is false: no call of a tool
		filter.AttributeIs(memory.AttrTool, toolSend),
	}
	among := append(filter.And{memory.OfKinds(memory.KindMessage), role, tool}, within(from, until)...)
	if strings.TrimSpace(query) != "" {
		found, err := r.find(ctx, query, among)
		if err != nil {
			return "", err
		}
		list, how := wordedFirst(r.saidBefore(notesOf(found)), lexical(found))
		return r.page(list, page, pageSize, "messages", how)
	}
	newest, err := r.a.store.ListNotes(ctx, r.s, r.view, memory.NoteQuery{Filter: among, Kinds: []memory.Kind{memory.KindMessage}, ByTime: true, Newest: true, Limit: maxFound})
	if err != nil {
		return "", err
	}
	return r.page(r.saidBefore(newest), page, pageSize, "messages", "newest first")
}

// saidBefore returns the messages without alerts, without calls, and without those of the run that searches.
func (r *run) saidBefore(list []memory.Note) []memory.Note {
	current := r.more[memory.AttrRun]
	return slices.DeleteFunc(list, func(n memory.Note) bool {
		return isAlert(&n) || memory.IsToolTraffic(&n) || memory.IsTranscript(&n) || current != nil && n.Attributes[memory.AttrRun] == current
	})
}

// lexical returns the ids of the hits that have a word of the query.
func lexical(found []recall.Hit) map[uuid.UUID]bool {
	out := map[uuid.UUID]bool{}
	for i := range found {
		out[found[i].Note.ID] = slices.Contains(found[i].Sources, search.SourceLexical)
	}
	return out
}

// wordedFirst returns the notes with a word of the query, then as many of the others as fill a page, and says so.
func wordedFirst(found []memory.Note, worded map[uuid.UUID]bool) (list []memory.Note, how string) {
	var near []memory.Note
	for i := range found {
		if worded[found[i].ID] {
			list = append(list, found[i])
		} else {
			near = append(near, found[i])
		}
	}
	near = near[:min(len(near), max(0, pageSize-len(list)))]
	switch how = "by their words, best first"; {
	case len(list) == 0:
		how = "that are nearest by meaning; none has a word of the query"
	case len(near) > 0:
		how = fmt.Sprintf("%d by their words, best first, then the nearest by meaning", len(list))
	}
	return append(list, near...), how
}

// archivalInsert stores a passage, and returns its id. A passage with the same content keeps its id.
func archivalInsert(ctx context.Context, r *run) (string, error) {
	content, tags := unsaid.Mark(r.args.text("content"), false), r.args.texts("tags") // before it is compared
	if err := r.args.check(); err != nil {
		return "", err
	}
	ref := r.view.Collection.ID.String()
	sum := sha256.Sum256([]byte(content))
	in := notes.NewNote{Kind: memory.KindPassage, Key: "sha256:" + hex.EncodeToString(sum[:]), Content: content, Tags: tags}
	w, err := r.a.notes.Add(ctx, r.s, ref, in, r.with(idOf))
	if fault.Is(err, fault.Exists) {
		v, err := r.a.recall.Open(ctx, r.s, ref, nil, 0)
		if err != nil {
			return "", err
		}
		same, err := r.a.store.NoteByKey(ctx, r.s, v, memory.KindPassage, in.Key)
		if err == nil && same.Content == content {
			r.at = v.At
			return same.ID.String(), nil
		}
		// The passage was changed or deleted meanwhile.
		in.Key, in.OnDuplicate = "", memory.DuplicateReturn
		if w, err = r.a.notes.Add(ctx, r.s, ref, in, r.with(idOf)); err != nil {
			return "", err
		}
		r.at = w.Revision
		return w.Note.ID.String(), nil
	}
	r.at = w.Revision
	return w.Note.ID.String(), err
}

// idOf is the result of a tool that stores a note.
func idOf(written []memory.Note) string { return written[0].ID.String() }

// archivalSearch returns a page of passages, the best first.
func archivalSearch(ctx context.Context, r *run) (string, error) {
	query, tags := r.args.text("query"), r.args.texts("tags")
	match := r.args.choice("tag_match", "any", "all")
	from, until := r.args.dates(r.view.Collection.Zone())
	size, page := r.args.whole("top_k", pageSize, 1, maxTopK), r.args.whole("page", 1, 1, math.MaxInt32)
	if err := r.args.check(); err != nil {
		return "", err
	}
	among := append(filter.And{memory.OfKinds(memory.KindPassage, memory.KindNote)}, within(from, until)...)
	var tagged []filter.Expr
	for _, tag := range tags {
		tagged = append(tagged, &filter.Leaf{Field: filter.Tags, Op: filter.Contains, Values: filter.TextValues([]string{tag})})
	}
	switch {
	case len(tagged) > 0 && match == "all":
		among = append(among, tagged...)
	case len(tagged) > 0:
		among = append(among, filter.Or(tagged))
	}
	found, err := r.find(ctx, query, among)
	if err != nil {
		return "", err
	}
	return r.page(notesOf(found), page, size, "passages", "best first")
}

// within returns the conditions for event times from one time on and before another; zero: unbounded.
func within(from, until time.Time) (out []filter.Expr) {
	if !from.IsZero() {
		out = append(out, &filter.Leaf{Field: filter.OccurredAt, Op: filter.Gte, Values: []filter.Value{{Type: filter.Time, Time: from}}})
	}
	if !until.IsZero() {
		out = append(out, &filter.Leaf{Field: filter.OccurredAt, Op: filter.Lt, Values: []filter.Value{{Type: filter.Time, Time: until}}})
	}
	return out
}

// find searches by words and meaning. Only what is shown counts as recalled.
func (r *run) find(ctx context.Context, query string, among filter.Expr) ([]recall.Hit, error) {
	found, err := r.a.recall.Search(ctx, r.s, r.view, recall.Query{Text: query, K: maxFound, Filter: among, Internal: true})
	return found.Hits, err
}

func notesOf(hits []recall.Hit) []memory.Note {
	out := make([]memory.Note, len(hits))
	for i := range hits {
		out[i] = hits[i].Note.Note
	}
	return out
}

// shown is a note on a page of results.
type shown struct {
	ID      *uuid.UUID `json:"id,omitempty"`
	Time    string     `json:"time"`
	Role    string     `json:"role,omitempty"`
	Name    string     `json:"name,omitempty"`
	Tags    []string   `json:"tags,omitempty"`
	Content string     `json:"content"`
}

// page renders a page of what was found: a line with the totals, then a JSON object on a line for each
// note, so that stored text cannot pass for another result. When they do not fit together, each content
// is cut to its share.
func (r *run) page(all []memory.Note, page, size int, what, how string) (string, error) {
	pages := max(1, (len(all)+size-1)/size)
	if page > pages {
		return "", fault.InvalidField("page", "there are only %d pages", pages)
	}
	part := all[(page-1)*size : min(page*size, len(all))]
	total := fmt.Sprint(len(all))
	if len(all) == maxFound {
		total = "the first " + total
	}
	head := fmt.Sprintf("Page %d of %d: %s %s, %s.", page, pages, total, what, how)
	if len(all) == 0 {
		head = fmt.Sprintf("Page 1 of 1: no %s found.", what)
	}
	r.a.recall.Recalled(r.s, r.view, memory.IDs(part))
	lines, err := renderNotes(part, math.MaxInt)
	if err != nil {
		return "", err
	}
	if out := head + lines; len(out) <= r.chars {
		return out, nil
	}
	const around = 200 // characters of a line beside its content, about
	lines, err = renderNotes(part, max(100, (r.chars-len(head))/max(1, len(part))-around))
	return head + lines, err
}

// renderNotes renders notes, each with at most so many characters of its content.
func renderNotes(list []memory.Note, chars int) (string, error) {
	var b strings.Builder
	for i := range list {
		n := &list[i]
		s := shown{Time: memory.Minute(n.OccurredAt), Content: cut(n.Content, chars)}
		if n.Kind == memory.KindMessage {
			said := memory.UtteranceOf(n)
			s.Role, s.Name = string(said.Role), said.Name
		} else {
			s.ID, s.Tags = &n.ID, n.Tags
		}
		line, err := files.Line(s)
		if err != nil {
			return "", err
		}
		b.WriteString(line)
	}
	return b.String(), nil
}
