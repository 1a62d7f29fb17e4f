package transfer

import (
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// markdown reads files of Markdown and text, each section as a note: a file, a folder, a vault of Obsidian, a graph of Logseq.
type markdown struct {
	files []string
	parts []int          // of each file
	names map[string]int // files by the names that wiki links have for them
	first []int          // the position of the first note of each file; -1: it has none
}

// endings are those of files that are text.
var endings = []string{".md", ".markdown", ".txt", ".text"}

// IsDocument reports whether a file is a text that a person wrote. Logseq keeps copies of its pages.
func IsDocument(name string) bool {
	return slices.Contains(endings, strings.ToLower(path.Ext(name))) && !strings.HasPrefix(name, "logseq/bak/") && !strings.Contains(name, "/logseq/bak/")
}

// IsTalk reports whether a text is of a format that has messages. As notes, who said what and when would be lost.
func IsTalk(head string) bool { return isChat(head) || isTalk(head) || isMailText(head) }

func isMarkdown(s *Source) bool { return slices.ContainsFunc(s.files, IsDocument) }

func (t *markdown) index(r *reading) (pieces []piece, err error) {
	t.names = map[string]int{}
	for _, name := range r.source.files {
		if !IsDocument(name) {
			r.left("files of other kinds", 1)
			continue
		}
		if r.Format == "" && IsTalk(r.source.head(name)) {
			r.left("talks and mails among the notes: import each by itself", 1)
			continue
		}
		d, err := t.document(r, name)
		if err != nil {
			return nil, err
		}
		switch {
		case len(d.Parts) == 0:
			r.left("files without text", 1)
			continue
		case !r.Since.IsZero() && d.At.Before(r.Since):
			r.left("files from before the date that was asked for", 1)
			continue
		}
		at := len(t.files)
		for _, known := range Names(name, d.Aliases) {
			if _, taken := t.names[known]; !taken {
				t.names[known] = at
			}
		}
		t.files, t.parts = append(t.files, name), append(t.parts, len(d.Parts))
		pieces = append(pieces, piece{at: unix(d.At), file: at})
	}
	r.sort(pieces)
	t.first = make([]int, len(t.files))
	n := 0
	for _, p := range pieces {
		t.first[p.file] = n
		n += t.parts[p.file]
	}
	return pieces, nil
}

func (t *markdown) document(r *reading, name string) (Document, error) {
	raw, err := r.source.text(name, maxText)
	switch {
	case err != nil:
		return Document{}, err
	case slices.Contains(raw, 0):
		return Document{}, fault.New(fault.Invalid, "%s is not text", name)
	}
	return ReadDocument(name, string(raw), r.source.modified(name), r.Now, r.Zone), nil
}

func (t *markdown) read(r *reading, p piece) error {
	name := t.files[p.file]
	d, err := t.document(r, name)
	if err != nil {
		return err
	}
	for i := range d.Parts {
		part := &d.Parts[i]
		l := Line{Content: part.Content, Tags: part.Tags, Attributes: d.AttributesOf(name, i)}
		for _, target := range part.Targets {
			if to, ok := t.names[target]; ok && to != p.file && !slices.Contains(l.Links, t.first[to]) && len(l.Links) < maxLinks {
				l.Links = append(l.Links, t.first[to])
			}
		}
		if err := r.note(l, d.At); err != nil {
			return err
		}
	}
	return nil
}

// maxLinks bounds the links of a note.
const maxLinks = 500

var (
	pageLink  = regexp.MustCompile(`\]\((?:<([^<>\n]{1,500})>|([^()\s]{1,500}))(?:\s+"[^"\n]*")?\)`)
	wikiLink  = regexp.MustCompile(`\[\[([^\[\]|#^\n]{1,200})(?:[#^|][^\[\]\n]*)?\]\]`)
	inlineTag = regexp.MustCompile(`(?:^|[\s(])#([\pL\pN_/-]*[\pL_][\pL\pM\pN_/-]*)`)
	fileDate  = regexp.MustCompile(`^(\d{4})[-_.]?(\d{2})[-_.]?(\d{2})(?:\D|$)`)
)

// Names returns the names by which wiki links know a file: its path, each end of it, its name and its aliases.
func Names(file string, aliases []string) (out []string) {
	file = folded(strings.TrimSuffix(file, path.Ext(file)))
	for at := file; ; {
		out = append(out, strings.ReplaceAll(at, "___", "/")) // Logseq writes the slash of a page's name so
		_, rest, more := strings.Cut(at, "/")
		if !more {
			break
		}
		at = rest
	}
	for _, a := range aliases {
		out = append(out, folded(a))
	}
	return out
}

// targetsOf returns the names of the files that a text links to.
func targetsOf(text string) (out []string) {
	add := func(target string) {
		target = strings.TrimSuffix(folded(strings.TrimSpace(target)), ".md")
		if target != "" && !slices.Contains(out, target) {
			out = append(out, target)
		}
	}
	for _, m := range wikiLink.FindAllStringSubmatch(text, maxLinks) {
		add(m[1])
	}
	for _, m := range pageLink.FindAllStringSubmatch(text, maxLinks) {
		target, _, _ := strings.Cut(m[1]+m[2], "#")
		if decoded, err := url.PathUnescape(target); err == nil {
			target = decoded
		}
		if IsDocument(target) && !strings.Contains(target, "://") {
			for target = strings.TrimPrefix(target, "./"); strings.HasPrefix(target, "../"); {
				target = target[3:]
			}
			add(target)
		}
	}
	return out
}

// dateOfName returns the date at the start of a file's name.
func dateOfName(name string, now time.Time, zone *time.Location) (time.Time, bool) {
	m := fileDate.FindStringSubmatch(path.Base(name))
	if m == nil {
		return time.Time{}, false
	}
	day, err := time.ParseInLocation(time.DateOnly, m[1]+"-"+m[2]+"-"+m[3], zone)
	return day, err == nil && day.Year() >= 1900 && day.Before(now)
}
