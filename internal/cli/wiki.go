package cli

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/slipboxhq/slipbox/internal/memory/transfer"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// place is a part of a file.
type place struct {
	file string
	n    int
}

// wiki is what an import of files knows of the links that they have to each other.
type wiki struct {
	files map[string]string  // by the names that links have for them; the first file of a name counts
	notes map[place]imported // of the parts that have links, or that links are to
	links map[place][]string // names of files
	order []place            // of links
}

func newWiki() wiki {
	return wiki{files: map[string]string{}, notes: map[place]imported{}, links: map[place][]string{}}
}

// add adds the names and the links of a file.
func (w *wiki) add(name string, d *transfer.Document) {
	for _, known := range transfer.Names(name, d.Aliases) {
		if _, taken := w.files[known]; !taken {
			w.files[known] = name
		}
	}
	for n := range d.Parts {
		if targets := d.Parts[n].Targets; len(targets) > 0 {
			at := place{name, n}
			w.links[at], w.order = targets, append(w.order, at)
		}
	}
}

// found remembers the note of a part.
func (w *wiki) found(at place, note imported) {
	if at.n == 0 || len(w.links[at]) > 0 {
		w.notes[at] = note
	}
}

// missing returns the notes that a part links to, with the name that its text has for each, but for those that its note is linked
// to already.
func (w *wiki) missing(at place) map[string]string {
	out := map[string]string{}
	from := w.notes[at]
	for _, name := range w.links[at] {
		to := w.notes[place{w.files[name], 0}].ID
		linked := slices.ContainsFunc(from.Links, func(l slipbox.NoteLink) bool { return l.Target == to && l.Relation == related })
		if w.files[name] != at.file && to != "" && to != from.ID && !linked && out[to] == "" {
			out[to] = name
		}
	}
	return out
}

// related is the relation of links between files.
const related = "related"

// link adds the links of files that their notes lack. What else a note is linked to stays.
func (i *importing) link(ctx context.Context) error {
	for n, at := range i.wiki.order {
		from, targets := i.wiki.notes[at], i.wiki.missing(at)
		if from.ID == "" || len(targets) == 0 || i.dry {
			continue
		}
		i.errs.statusf("linking: %d of %d…", n, len(i.wiki.order))
		if err := i.relink(ctx, from.ID, targets, i.wiki.links[at]); err != nil {
			return err
		}
	}
	return nil
}

// relink adds links to notes, by the names that the text has for them, and removes those that an import made by a name that the
// text no longer has. Others stay.
func (i *importing) relink(ctx context.Context, from string, targets map[string]string, names []string) error {
	path := i.path + "/notes/" + from + "/links"
	for try := 1; ; try++ {
		var is slipbox.LinkList
		_, header, err := i.to.get(ctx, request{Method: http.MethodGet, Path: path, Query: i.ids}, &is)
		if r, ok := errors.AsType[*refusal](err); ok && r.Status == http.StatusNotFound {
			return nil // deleted meanwhile
		} else if err != nil {
			return err
		}
		set := slipbox.LinksInput{Links: []slipbox.LinkInput{}}
		linked := map[string]bool{}
		for _, l := range is.Items {
			if name, ours := l.Attributes[transfer.AttrImport].(string); ours && !slices.Contains(names, name) {
				continue
			}
			linked[l.Target] = linked[l.Target] || l.Relation == related
			set.Links = append(set.Links, slipbox.LinkInput{Target: l.Target, Relation: &l.Relation, Confidence: &l.Confidence, Attributes: l.Attributes})
		}
		kept := len(set.Links)
		for _, to := range slices.Sorted(maps.Keys(targets)) {
			if !linked[to] {
				set.Links = append(set.Links, slipbox.LinkInput{Target: to, Attributes: map[string]any{transfer.AttrImport: targets[to]}})
			}
		}
		added := len(set.Links) - kept
		if added == 0 && kept == len(is.Items) {
			return nil
		}
		write := request{Method: http.MethodPut, Path: path, Query: i.ids, Body: set, Header: http.Header{"If-Match": {header.Get("ETag")}}}
		_, _, err = i.to.get(ctx, write, nil)
		r, ok := errors.AsType[*refusal](err)
		switch {
		case err == nil:
			i.report.Linked += added
			return nil
		case !ok || r.ExitCode() != ExitRefused && r.Status != http.StatusNotFound:
			return err
		case r.Status == http.StatusPreconditionFailed && try <= changeTries:
		default:
			i.refused++
			i.skip("links of note "+from, r.Error())
			return nil
		}
	}
}
