package files

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
)

// keyOpen is the key of the note of kind file that lists the views that an agent has open.
const keyOpen = "open"

// attrViews is the attribute of that note, a list of views.
const attrViews = "views"

// Bounds of what an agent reads in one call.
const (
	GrepPage   = 20              // matches on a page
	maxMatches = 10_000          // that a search for a pattern counts
	maxPattern = 1_000           // bytes
	grepTime   = 2 * time.Second // of one search for a pattern
	matchChars = 300             // of a line that matches
	maxNames   = 50              // that a refusal lists
	maxText    = 100_000         // passages of a file that are read
)

// views bounds the open views of an agent: how many, and characters of each.
func views(window int) (files, chars int) {
	switch {
	case window <= 8_192:
		return 3, 5_000
	case window <= 32_768:
		return 5, 15_000
	}
	return 10, 25_000
}

// view is a file that is open from a line on.
type view struct {
	Folder uuid.UUID `json:"folder"`
	File   uuid.UUID `json:"file"`
	Line   int       `json:"line"`
}

// located is a file with a view of its folder.
type located struct {
	File
	view memory.View
	path string // folder/name
}

// folders opens the folders that are attached to a collection.
func (f *Service) folders(ctx context.Context, s tenant.Scope, collection uuid.UUID) ([]memory.View, error) {
	ids, err := f.attached(ctx, s, collection)
	if err != nil {
		return nil, err
	}
	var out []memory.View
	for _, id := range ids {
		v, err := f.store.OpenView(ctx, s, id.String(), memory.At{})
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

// find finds the files of attached folders by names, "name" or "folder/name"; none: all files. Invalid "names" with
// those that there are.
func (f *Service) find(ctx context.Context, s tenant.Scope, collection uuid.UUID, names []string) ([]located, error) {
	folders, err := f.folders(ctx, s, collection)
	if err != nil {
		return nil, err
	}
	if len(folders) == 0 {
		return nil, fault.New(fault.Invalid, "no folder is attached, so there are no files")
	}
	var out []located
	for i, name := range names {
		found, err := f.named(ctx, s, folders, name)
		if err != nil {
			return nil, err
		}
		if len(found) != 1 {
			return nil, f.unknown(ctx, s, folders, memory.ElementField("names", i), found)
		}
		if at := found[0]; at.State != Ready {
			return nil, fault.InvalidField(memory.ElementField("names", i), "the file %s is %s and cannot be read", at.Name, cmp.Or(at.State, Failed))
		}
		out = append(out, found[0])
	}
	if len(names) > 0 {
		return out, nil
	}
	for _, v := range folders {
		list, err := f.store.ListNotes(ctx, s, v, memory.NoteQuery{Kinds: []memory.Kind{memory.KindFile}, Limit: maxFiles})
		if err != nil {
			return nil, err
		}
		for i := range list {
			if file := Of(&list[i]); file.State == Ready {
				out = append(out, located{file, v, v.Collection.Name + "/" + file.Name})
			}
		}
	}
	return out, nil
}

// named returns the files of a name, "name" or "folder/name".
func (f *Service) named(ctx context.Context, s tenant.Scope, folders []memory.View, name string) (found []located, err error) {
	folder, key, whole := strings.Cut(name, "/")
	if !whole {
		key = name
	}
	for _, v := range folders {
		if whole && v.Collection.Name != folder {
			continue
		}
		n, err := f.store.NoteByKey(ctx, s, v, memory.KindFile, key)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found = append(found, located{Of(&n), v, v.Collection.Name + "/" + n.Key})
	}
	return found, nil
}

// unknown returns the refusal for a name that no file has, or several.
func (f *Service) unknown(ctx context.Context, s tenant.Scope, folders []memory.View, field string, several []located) error {
	var names []string
	for _, l := range several {
		names = append(names, l.path)
	}
	if len(several) > 0 {
		return fault.InvalidField(field, "several files have it: %s", strings.Join(names, ", "))
	}
	for _, v := range folders {
		list, err := f.store.ListNotes(ctx, s, v, memory.NoteQuery{Kinds: []memory.Kind{memory.KindFile}, Limit: maxNames})
		if err != nil {
			return err
		}
		for i := range list {
			names = append(names, v.Collection.Name+"/"+list[i].Key)
		}
	}
	return fault.InvalidField(field, "no file has it; there are %s", strings.Join(names[:min(len(names), maxNames)], ", "))
}

// content is the text of a file by line.
type content struct {
	lines []string
	pages []int // of each line; 0: the file has no pages
}

// readText returns the text of a file, which its passages have between them.
func (f *Service) readText(ctx context.Context, s tenant.Scope, l *located) (content, error) {
	list, err := f.store.ListNotes(ctx, s, l.view, memory.NoteQuery{Filter: passagesOf(l.ID), Kinds: []memory.Kind{memory.KindPassage}, Limit: maxText})
	if err != nil {
		return content{}, err
	}
	slices.SortFunc(list, func(a, b memory.Note) int {
		return cmp.Compare(memory.NumberOf(a.Attributes, attrIndex), memory.NumberOf(b.Attributes, attrIndex))
	})
	var c content
	for i := range list {
		at, page := int(memory.NumberOf(list[i].Attributes, attrLine)), int(memory.NumberOf(list[i].Attributes, memory.AttrPage))
		for n, line := range strings.Split(list[i].Content, "\n") {
			for len(c.lines) < at+n {
				c.lines, c.pages = append(c.lines, ""), append(c.pages, page)
			}
			if to := &c.lines[at+n-1]; *to == "" {
				*to = line
			} else {
				*to += " " + line
			}
		}
	}
	return c, nil
}

// render returns the lines of a file from one on, as many as have so many characters, between marks that the text
// cannot forge.
func (c *content) render(l *located, from, chars int) string {
	var b strings.Builder
	used, at := 0, from-1
	for ; at < len(c.lines); at++ {
		line := fmt.Sprintf("%d: %s\n", at+1, text.EscapeTags(c.lines[at]))
		size := utf8.RuneCountInString(line)
		if used+size > chars && used > 0 {
			break
		}
		b.WriteString(line)
		used += size
	}
	head := fmt.Sprintf("<file name=%q lines=\"%d-%d of %d\"", text.EscapeTags(l.path), from, at, len(c.lines))
	if page := c.pages[from-1]; page > 0 {
		head += fmt.Sprintf(" page=\"%d\"", page)
	}
	return head + ">\n" + b.String() + "</file>"
}

// Open opens files from a line on, and returns what is shown (notes:write). Of the views that an agent has open, the
// ones that were opened first are closed when there are too many for its window; no names close all.
// What with returns for the text is written together with the views.
func (f *Service) Open(ctx context.Context, s tenant.Scope, v memory.View, names []string, line, window int, with func(text string) memory.With) (text string, err error) {
	const tries = 5
	for try := 1; ; try++ {
		text, err = f.open(ctx, s, v, names, line, window, with)
		if try == tries || !fault.Is(err, fault.Exists) && !fault.Is(err, fault.Precondition) {
			return text, err
		}
		// The views have changed since they were read.
		if v, err = f.recall.Open(ctx, s, v.Collection.ID.String(), nil, 0); err != nil {
			return "", err
		}
	}
}

func (f *Service) open(ctx context.Context, s tenant.Scope, v memory.View, names []string, line, window int, with func(text string) memory.With) (string, error) {
	most, chars := views(window)
	if len(names) > most {
		return "", fault.InvalidField("names", "at most %d files are open at once", most)
	}
	var found []located
	if len(names) > 0 {
		var err error
		if found, err = f.find(ctx, s, v.Collection.ID, names); err != nil {
			return "", err
		}
	}
	note, open, err := f.opened(ctx, s, v)
	if err != nil {
		return "", err
	}
	var out []string
	for i := range found {
		c, err := f.readText(ctx, s, &found[i])
		if err != nil {
			return "", err
		}
		if line < 1 || line > len(c.lines) {
			return "", fault.InvalidField("line", "the file %s has the lines 1 to %d", found[i].Name, len(c.lines))
		}
		open = slices.DeleteFunc(open, func(o view) bool { return o.File == found[i].ID })
		open = append(open, view{found[i].Collection, found[i].ID, line})
		out = append(out, c.render(&found[i], line, chars))
	}
	if len(names) == 0 {
		open, out = nil, []string{"all files are closed"}
	}
	open = open[max(0, len(open)-most):]
	text := strings.Join(out, "\n")
	if err := f.keep(ctx, s, v, note, open, with(text)); err != nil {
		return "", err
	}
	return text, nil
}

// opened returns the note with the open views, nil when there is none, and the views.
func (f *Service) opened(ctx context.Context, s tenant.Scope, v memory.View) (*memory.Note, []view, error) {
	n, err := f.store.NoteByKey(ctx, s, v, memory.KindFile, keyOpen)
	if fault.Is(err, fault.NotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	raw, err := json.Marshal(n.Attributes[attrViews])
	var out []view
	if err != nil || json.Unmarshal(raw, &out) != nil { // it was changed by a caller
		out = nil
	}
	return &n, out, nil
}

// keep stores which views are open.
func (f *Service) keep(ctx context.Context, s tenant.Scope, v memory.View, note *memory.Note, open []view, with memory.With) error {
	list := make([]any, len(open))
	for i, o := range open {
		list[i] = map[string]any{"folder": o.Folder.String(), "file": o.File.String(), "line": int64(o.Line)}
	}
	attributes, ref, no, r := map[string]any{attrViews: list}, v.Collection.ID.String(), false, memory.Request{With: with}
	var err error
	if note == nil {
		_, err = f.notes.Add(ctx, s, ref, notes.NewNote{Kind: memory.KindFile, Key: keyOpen, Content: "open files", Attributes: attributes, Infer: &no}, r)
	} else {
		read := note.Version().ETag()
		r.Guard = func(etag string) bool { return etag == read }
		_, err = f.notes.Patch(ctx, s, ref, note.ID, notes.NotePatch{Attributes: nullable.NewNullableWithValue(attributes)}, r)
	}
	return err
}

// Shown returns what an agent's context shows of its open files, read from the store (notes:read); "" when none is
// open. Files that are gone, or whose folder is detached, are left out.
func (f *Service) Shown(ctx context.Context, s tenant.Scope, v memory.View, window int) (string, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return "", err
	}
	_, open, err := f.opened(ctx, s, v)
	if err != nil || len(open) == 0 {
		return "", err
	}
	folders, err := f.folders(ctx, s, v.Collection.ID)
	if err != nil {
		return "", err
	}
	_, chars := views(window)
	var out []string
	for _, o := range open {
		at := slices.IndexFunc(folders, func(v memory.View) bool { return v.Collection.ID == o.Folder })
		if at < 0 {
			continue
		}
		file, err := f.File(ctx, s, folders[at], o.File)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		l := located{file, folders[at], folders[at].Collection.Name + "/" + file.Name}
		c, err := f.readText(ctx, s, &l)
		if err != nil {
			return "", err
		}
		if o.Line >= 1 && o.Line <= len(c.lines) {
			out = append(out, c.render(&l, o.Line, chars))
		}
	}
	return strings.Join(out, "\n"), nil
}

// Match is a line, or a passage, of a file.
type Match struct {
	File string `json:"file"` // folder/name
	Page int    `json:"page,omitempty"`
	Line int    `json:"line"`
	Text string `json:"text"`
}

// Grep returns the lines that match a regular expression (RE2), in files by names or in all, and how many there are
// (notes:read). page counts from 1.
func (f *Service) Grep(ctx context.Context, s tenant.Scope, v memory.View, pattern string, names []string, page int) ([]Match, int, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, 0, err
	}
	if len(pattern) > maxPattern {
		return nil, 0, fault.InvalidField("pattern", "at most %d bytes", maxPattern)
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		reason := err.Error()
		if e, ok := err.(*syntax.Error); ok { //nolint:errorlint // regexp returns it as it is
			reason = e.Code.String() + ": " + e.Expr
		}
		return nil, 0, fault.InvalidField("pattern", "is not a regular expression: %s", reason)
	}
	files, err := f.find(ctx, s, v.Collection.ID, names)
	if err != nil {
		return nil, 0, err
	}
	limited, cancel := context.WithTimeout(ctx, grepTime)
	defer cancel()
	var out []Match
	total := 0
	for i := range files {
		c, err := f.readText(limited, s, &files[i])
		if err != nil {
			return nil, 0, grepError(ctx, limited, err)
		}
		for at, line := range c.lines {
			if limited.Err() != nil {
				return nil, 0, grepError(ctx, limited, limited.Err())
			}
			if !re.MatchString(line) {
				continue
			}
			if total >= (page-1)*GrepPage && total < page*GrepPage {
				out = append(out, Match{files[i].path, c.pages[at], at + 1, clip.Runes(line, matchChars)})
			}
			if total++; total == maxMatches {
				return out, total, nil
			}
		}
	}
	return out, total, nil
}

// grepError explains that a search for a pattern took too long.
func grepError(ctx, limited context.Context, err error) error {
	if ctx.Err() == nil && limited.Err() != nil {
		return fault.InvalidField("pattern", "takes more than %s; name fewer files or a simpler pattern", grepTime)
	}
	return err
}

// Search returns the passages that are nearest to a query by words and meaning, best first, with file, page and line
// (notes:read).
func (f *Service) Search(ctx context.Context, s tenant.Scope, v memory.View, query string, names []string, k int) ([]Match, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, err
	}
	folders, err := f.folders(ctx, s, v.Collection.ID)
	if err != nil {
		return nil, err
	}
	only := map[uuid.UUID][]uuid.UUID{} // files, by folder
	if len(names) > 0 || len(folders) == 0 {
		found, err := f.find(ctx, s, v.Collection.ID, names)
		if err != nil {
			return nil, err
		}
		for i := range found {
			only[found[i].Collection] = append(only[found[i].Collection], found[i].ID)
		}
	}
	type hit struct {
		note   memory.Note
		score  float64
		folder string
		view   memory.View
	}
	var all []hit
	for _, folder := range folders {
		q := recall.Query{Text: query, K: k, Filter: memory.OfKinds(memory.KindPassage), Internal: true}
		if len(names) > 0 {
			if len(only[folder.Collection.ID]) == 0 {
				continue
			}
			q.Filter = passagesOf(only[folder.Collection.ID]...)
		}
		found, err := f.recall.Search(ctx, s, folder, q)
		if err != nil {
			return nil, err
		}
		for i := range found.Hits {
			all = append(all, hit{found.Hits[i].Note.Note, found.Hits[i].Score, folder.Collection.Name, folder})
		}
	}
	slices.SortStableFunc(all, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	var out []Match
	for _, h := range all[:min(k, len(all))] {
		id, err := uuid.Parse(fmt.Sprint(h.note.Attributes[memory.AttrFile]))
		if err != nil {
			continue // a passage without a file, which a caller has added
		}
		file, err := f.File(ctx, s, h.view, id)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return nil, err
		}
		f.recall.Recalled(s, h.view, []uuid.UUID{h.note.ID})
		out = append(out, Match{h.folder + "/" + file.Name, int(memory.NumberOf(h.note.Attributes, memory.AttrPage)), int(memory.NumberOf(h.note.Attributes, attrLine)), h.note.Content})
	}
	return out, nil
}

// Render renders matches as JSON objects, one on a line, so that the text of a file cannot pass for another result.
func Render(head string, list []Match) (string, error) {
	lines := []string{head}
	for _, m := range list {
		line, err := Line(m)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, ""), nil
}

// Line renders one result.
func Line(result any) (string, error) {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	err := e.Encode(result)
	return "\n" + text.EscapeTagsJSON(strings.TrimSpace(line.String())), fault.Wrap(err, fault.Internal, "encode a result")
}
