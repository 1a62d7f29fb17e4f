package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory/transfer"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// origin is what tells a note of an older version of a file from one that was changed by hand, or that is of another file with
// the same name.
type origin struct {
	File string `json:"file"` // digest of where the file is
	Text string `json:"text"` // digest of the text that was sent; the gateway may have taken secrets out of it
	// Said are digests of what the file said besides the text: its date, tags and attributes. They tell what has left the file from
	// what a person or a model has written. nil: earlier imports did not keep them.
	Said []string `json:"said"`
	At   string   `json:"at"` // the time that the import set
}

// changeTries is how often a change is tried that meets another one.
const changeTries = 3

// imported is a note that an import made.
type imported struct {
	slipbox.NoteRef

	Content    string                     `json:"content"`
	Links      []slipbox.NoteLink         `json:"links"`
	Tags       []string                   `json:"tags"`
	OccurredAt time.Time                  `json:"occurred_at"`
	Attributes map[string]json.RawMessage `json:"attributes"`
}

// origin returns what an import wrote about the note.
func (n *imported) origin() (o origin) {
	_ = json.Unmarshal(n.Attributes[transfer.AttrImport], &o) // another program may write anything there
	return o
}

// section returns the heading that the note was imported with.
func (n *imported) section() (heading string) {
	_ = json.Unmarshal(n.Attributes[transfer.AttrSection], &heading) // the same
	return heading
}

// text returns the digest of the text that the note was made of.
func (n *imported) text() string {
	return cmp.Or(n.origin().Text, digest(n.Content))
}

// versions are the notes that imports made of the files of one name.
type versions struct {
	file  string
	notes []imported
	taken []bool
	by    map[string][]int // by digest of a text
}

// before returns the notes that were imported from a file of this name.
func (i *importing) before(ctx context.Context, name string) (*versions, error) {
	v := &versions{file: name, by: map[string][]int{}}
	filter, err := json.Marshal(map[string]string{"field": "attributes." + transfer.AttrSource, "op": "eq", "value": name})
	if err != nil {
		return nil, err
	}
	query := url.Values{"filter": {string(filter)}}
	for id := range i.ids {
		query[id] = i.ids[id]
	}
	_, err = pages(ctx, i.to, i.path+"/notes", query, 1<<20, func(n imported) error {
		for _, text := range slices.Compact([]string{n.text(), digest(n.Content)}) {
			v.by[text] = append(v.by[text], len(v.notes))
		}
		v.notes, v.taken = append(v.notes, n), append(v.taken, false)
		return nil
	})
	if r, ok := errors.AsType[*refusal](err); ok && r.missesCollection() {
		if i.policy != "" {
			return v, nil // the first notes create it
		}
		i.suggest(ctx, i.to, r)
	}
	return v, err
}

// take returns a note of a text that was not taken before, and takes it; nil: there is none.
func (v *versions) take(text string) *imported {
	for _, at := range v.by[text] {
		if !v.taken[at] {
			v.taken[at] = true
			return &v.notes[at]
		}
	}
	return nil
}

// change is a note of an older version of a file, and what takes its place; nil: nothing.
type change struct {
	file string
	note imported
	now  *part
}

// changes returns what becomes of the notes that no part took: those that were imported from this place and are as they were
// imported get the text of a part with the same heading, or are deleted. Others are kept. It returns the parts that are new, and
// how many notes are kept of a file that changed.
func (v *versions) changes(place string, fresh []part) (list []change, rest []part, kept int) {
	changed := len(fresh) > 0
	for at := range v.notes {
		n := &v.notes[at]
		switch {
		case v.taken[at]:
		case n.origin().File != place || n.text() != digest(n.Content):
			kept++
		default:
			c := change{file: v.file, note: *n}
			if same := slices.IndexFunc(fresh, func(p part) bool { return p.Heading == n.section() }); same >= 0 {
				now := fresh[same]
				c.now = &now
				fresh = slices.Delete(fresh, same, same+1)
			}
			list = append(list, c)
		}
	}
	if !changed {
		kept = 0 // said when it happened, or of another file with the same name
	}
	return list, fresh, kept
}

// sameText reports whether only the date, the tags or the attributes of the file have changed.
func (c *change) sameText() bool { return c.now != nil && c.note.text() == digest(c.now.Content) }

// change corrects and deletes the notes of older versions, once all that is new is there.
func (i *importing) change(ctx context.Context) error {
	for n := range i.changes {
		if c := &i.changes[n]; c.now != nil {
			i.wiki.found(place{c.now.file, c.now.n}, c.note) // links may be to notes that are corrected later
		}
	}
	for n := range i.changes {
		c := &i.changes[n]
		i.errs.statusf("%d of %d notes of files that changed…", n, len(i.changes))
		stays := i.sent[c.note.text()] && !c.sameText() // a file that says the same was answered this note
		if !stays {
			var err error
			if stays, err = i.apply(ctx, c); err != nil {
				return err
			}
		}
		if stays && c.now != nil {
			if err := i.send(ctx, *c.now); err != nil {
				return err
			}
		}
	}
	return i.flush(ctx)
}

// apply corrects or deletes a note. One that was changed meanwhile stays, and what is gone cannot be corrected.
func (i *importing) apply(ctx context.Context, c *change) (stays bool, err error) {
	count := &i.report.Deleted
	if c.now != nil {
		count = &i.report.Replaced
	}
	if i.dry {
		*count++
		return false, nil
	}
	if c.now != nil && !c.sameText() && len(c.note.Links) > 0 {
		if err := i.relink(ctx, c.note.ID, nil, c.now.Targets); err != nil {
			return false, err
		}
	}
	for try := 1; ; try++ {
		write, stays, err := i.edit(ctx, c)
		if stays || err != nil {
			return stays, err
		}
		if write == nil {
			break
		}
		if try > changeTries {
			i.report.Kept++
			return true, nil
		}
		_, _, err = i.to.get(ctx, *write, nil)
		if err == nil {
			break
		}
		r, ok := errors.AsType[*refusal](err)
		switch {
		case !ok || r.ExitCode() != ExitRefused && r.Status != http.StatusNotFound:
			return false, err
		case r.Status == http.StatusPreconditionFailed, r.Status == http.StatusNotFound:
		default:
			i.refused++
			i.skip(c.file, r.Error())
			return false, nil
		}
	}
	*count++
	return false, nil
}

// edit returns the request that corrects or deletes a note as it is now; nil: nothing is left to do.
func (i *importing) edit(ctx context.Context, c *change) (write *request, stays bool, err error) {
	var is imported
	path := i.path + "/notes/" + c.note.ID
	_, header, err := i.to.get(ctx, request{Method: http.MethodGet, Path: path, Query: i.ids}, &is)
	if r, ok := errors.AsType[*refusal](err); ok && r.Status == http.StatusNotFound {
		return nil, c.now != nil, nil
	} else if err != nil {
		return nil, false, err
	}
	if c.now != nil && is.text() == digest(c.now.Content) && slices.Equal(is.origin().Said, c.now.facts()) {
		return nil, false, nil // the answer to an earlier try was lost
	}
	if !c.sameText() && digest(is.Content) != c.note.text() {
		i.report.Kept++
		return nil, true, nil
	}
	write = &request{Method: http.MethodDelete, Path: path, Query: i.ids, Header: http.Header{"If-Match": {header.Get("ETag")}}}
	if c.now != nil {
		write.Method = http.MethodPatch
		write.Body, err = c.now.patch(&is)
	}
	return write, false, err
}
