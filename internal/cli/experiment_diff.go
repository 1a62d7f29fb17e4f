package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// mostDifferences bounds what is read of the diff of two variants.
const mostDifferences = 20_000

// difference is what one variant knows otherwise than the first.
type difference struct {
	Variant string               `json:"variant"`
	Against string               `json:"against"`
	Same    int                  `json:"same"` // notes that say the same in both
	Notes   []noteChange         `json:"notes"`
	Links   []slipbox.LinkChange `json:"links"`
	More    bool                 `json:"more"` // there is more than was read
}

// compare reads the diff of two forks. Both have learned the same turns, each under ids of its own, so a note that says the same in
// both is one note, and a link between such notes is one link.
func (x *experiment) compare(ctx context.Context, first, other *learned) (difference, error) {
	d := difference{Variant: other.Name, Against: first.Name, Notes: []noteChange{}, Links: []slipbox.LinkChange{}}
	query := url.Values{"against": {first.id}, "limit": {"200"}}
	var notes []noteChange
	var links []slipbox.LinkChange
	for {
		var page struct {
			Items  []noteChange         `json:"items"`
			Links  []slipbox.LinkChange `json:"links"`
			Cursor string               `json:"next_cursor"`
		}
		if _, _, err := x.to.get(ctx, request{Method: http.MethodGet, Path: collections + "/" + other.id + "/diff", Query: query}, &page); err != nil {
			return d, err
		}
		notes, links = append(notes, page.Items...), append(links, page.Links...)
		if d.More = page.Cursor != "" && len(notes)+len(links) >= mostDifferences; page.Cursor == "" || d.More {
			break
		}
		query.Set("cursor", page.Cursor)
	}
	pairs := d.pairNotes(notes)
	d.pairLinks(links, pairs)
	return d, nil
}

// pairNotes keeps the notes that differ, and returns the ids in the first variant of those that say the same, by their ids in the other.
func (d *difference) pairNotes(notes []noteChange) map[string]string {
	removed, pairs := map[string][]*noteChange{}, map[string]string{}
	for i := range notes {
		if n := &notes[i]; n.Change == "removed" {
			removed[textOf(n.Before)] = append(removed[textOf(n.Before)], n)
		}
	}
	for i := range notes {
		n := &notes[i]
		if n.Change == "removed" {
			continue
		}
		if n.Change == "added" && len(removed[textOf(n.After)]) > 0 {
			was := removed[textOf(n.After)][0]
			removed[textOf(n.After)] = removed[textOf(n.After)][1:]
			pairs[n.Note] = was.Note
			n.Before, n.Change, n.Fields = was.Before, "changed", fieldsThatDiffer(was.Before, n.After)
			if len(n.Fields) == 0 {
				d.Same++
				continue
			}
		}
		d.Notes = append(d.Notes, *n)
	}
	for _, key := range slices.Sorted(maps.Keys(removed)) {
		for _, n := range removed[key] {
			d.Notes = append(d.Notes, *n)
		}
	}
	slices.SortStableFunc(d.Notes, func(a, b noteChange) int { return cmp.Compare(a.Note, b.Note) })
	return pairs
}

// textOf is what makes two notes one: their kind and content.
func textOf(note map[string]any) string { return fmt.Sprint(note["kind"], "\x00", note["content"]) }

// described are the fields that may differ in notes that say the same. The others name ids and times of one fork.
var described = []string{"context", "keywords", "tags", "category", "importance", "attributes.confidence"}

func fieldsThatDiffer(a, b map[string]any) (out []string) {
	for _, field := range described {
		if valueOf(a, field) != valueOf(b, field) {
			out = append(out, field)
		}
	}
	return out
}

// pairLinks keeps the links that only one of the variants has.
func (d *difference) pairLinks(links []slipbox.LinkChange, pairs map[string]string) {
	type key struct{ source, target, relation string }
	end := func(id string) string { return cmp.Or(pairs[id], id) }
	of := func(l *slipbox.LinkChange) key { return key{end(l.Source), end(l.Target), l.Relation} }
	removed := map[key]int{}
	for i := range links {
		if l := &links[i]; l.Change == slipbox.ChangeKindRemoved {
			removed[of(l)]++
		}
	}
	both := map[key]int{}
	for i := range links {
		l := &links[i]
		if l.Change == slipbox.ChangeKindRemoved {
			continue
		}
		if l.Change == slipbox.ChangeKindAdded && removed[of(l)] > 0 {
			removed[of(l)]--
			both[of(l)]++
			continue
		}
		d.Links = append(d.Links, *l)
	}
	for i := range links {
		l := &links[i]
		if l.Change != slipbox.ChangeKindRemoved {
			continue
		}
		if both[of(l)] > 0 {
			both[of(l)]--
			continue
		}
		d.Links = append(d.Links, *l)
	}
}

// differs prints what one variant knows otherwise than the first.
func (x *experiment) differs(d *difference) {
	n := len(d.Notes) + len(d.Links)
	head := fmt.Sprintf("%s against %s: %s, %s", d.Variant, d.Against,
		cmp.Or(count(n, "difference", "differences"), "no differences"), cmp.Or(count(d.Same, "note says", "notes say"), "no note says")+" the same")
	x.out.line("\n%s", x.out.bold(clean(head)))
	notes := d.Notes[:min(len(d.Notes), x.limit)]
	links := d.Links[:min(len(d.Links), x.limit-len(notes))]
	x.out.differences(notes, links)
	if n > len(notes)+len(links) || d.More {
		x.errs.line("there are more: --limit %d shows them", 4*x.limit)
	}
}
