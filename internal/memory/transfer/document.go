package transfer

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/slipboxhq/slipbox/internal/clip"
)

const (
	// sectionSize is how many characters a note of a file has at most: some 500 tokens, so that a context of usual size has
	// room for several.
	sectionSize    = 2_000
	maxFrontMatter = 16 << 10 // bytes
	maxTags        = 50
	maxMembers     = 40 // of the front matter
)

// Document is a file of Markdown.
type Document struct {
	At      time.Time // when it happened: its front matter, else its name, else when it was written
	Dated   bool      // by its front matter or its name
	Aliases []string
	Parts   []Part

	members map[string]any // of the front matter, but time and tags
}

// Part is a section of a file that becomes a note.
type Part struct {
	Heading, Content string
	Tags             []string
	Targets          []string // files that it links to, by their names
}

// Attributes of the notes of files.
const (
	AttrSource  = "source"  // the name of the file
	AttrSection = "section" // the heading
	AttrImport  = "import"  // where the file is, and digests: of the command line
)

// ReadDocument reads a file of Markdown or text.
func ReadDocument(name, text string, written, now time.Time, zone *time.Location) Document {
	text = strings.TrimPrefix(strings.ReplaceAll(text, "\r\n", "\n"), "\uFEFF")
	members, text := frontMatter(text)
	d := Document{members: map[string]any{}, At: written}
	if day, ok := dateOfName(name, now, zone); ok {
		d.At, d.Dated = day, true
	} else if written.Year() < 1900 || written.After(now) {
		d.At = now
	}
	var tags []string
	for _, key := range slices.Sorted(maps.Keys(members)) {
		value := members[key]
		switch strings.ToLower(key) {
		case "tags", "tag":
			tags = words(value)
		case "aliases", "alias":
			d.Aliases = words(value)
		case "date", "created":
			if at, ok := timeOf(value, zone); ok && at.Before(now) {
				d.At, d.Dated = at, true
				continue
			}
			fallthrough
		default:
			if v, ok := simple(value); ok && len(d.members) < maxMembers && !strings.ContainsAny(key, ". ") {
				d.members[label(key)] = v
			}
		}
	}
	for _, s := range sections(text) {
		part := Part{Heading: s.heading, Content: s.content, Targets: targetsOf(s.content), Tags: slices.Clone(tags)}
		for _, m := range inlineTag.FindAllStringSubmatch(withoutCode(s.content), maxTags) {
			part.Tags = append(part.Tags, m[1])
		}
		part.Tags = distinct(part.Tags)
		d.Parts = append(d.Parts, part)
	}
	return d
}

// AttributesOf returns the attributes of a part.
func (d *Document) AttributesOf(name string, part int) map[string]any {
	out := maps.Clone(d.members)
	delete(out, AttrImport)
	out[AttrSource] = name
	delete(out, AttrSection)
	if heading := d.Parts[part].Heading; heading != "" {
		out[AttrSection] = heading
	}
	return out
}

// distinct returns tags without repeats, as many as a note may have.
func distinct(tags []string) (out []string) {
	for _, tag := range tags {
		if tag = label(strings.TrimPrefix(tag, "#")); tag != "" && !slices.Contains(out, tag) && len(out) < maxTags {
			out = append(out, tag)
		}
	}
	return out
}

var (
	// reference matches anchors and aliases of YAML, by which a short text becomes a long one.
	reference = regexp.MustCompile(`(?m)(?:^|[:,\[{-])\s*[&*][\pL\pN_]`)
	// property matches a line of Logseq's properties.
	property = regexp.MustCompile(`^(?:- )?([\pL\pM\pN_-]{1,64}):: (.+)$`)
	fenced   = regexp.MustCompile("(?ms)^(```|~~~).*?\n(```|~~~)|`[^`\n]*`")
)

func withoutCode(text string) string { return fenced.ReplaceAllString(text, " ") }

// frontMatter returns the settings between lines of three hyphens at the start of a file, or Logseq's properties, and the rest. What
// cannot be read is left out.
func frontMatter(text string) (members map[string]any, rest string) {
	members = map[string]any{}
	if after, ok := strings.CutPrefix(text, "---\n"); ok {
		head, body, closed := strings.Cut(after, "\n---\n")
		if !closed && strings.HasSuffix(after, "\n---") {
			head, body, closed = strings.TrimSuffix(after, "\n---"), "", true
		}
		if empty, ok := strings.CutPrefix(after, "---\n"); ok {
			head, body, closed = "", empty, true
		}
		if !closed {
			return members, text
		}
		if len(head) <= maxFrontMatter && !reference.MatchString(head) && yaml.Unmarshal([]byte(head), &members) != nil || members == nil {
			members = map[string]any{}
		}
		return members, body
	}
	for text != "" {
		line, after, _ := strings.Cut(text, "\n")
		m := property.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			break
		}
		members[m[1]] = m[2]
		text = after
	}
	return members, text
}

// words returns a list of words: of a list, or of a text with commas or spaces.
func words(value any) (out []string) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			out = append(out, fmt.Sprint(one))
		}
	case string:
		separator := " "
		if strings.Contains(v, ",") {
			separator = ","
		}
		for word := range strings.SplitSeq(v, separator) {
			out = append(out, strings.Trim(strings.TrimSpace(word), "[]"))
		}
	}
	return out
}

// simple returns a value that an attribute may have: a scalar, or a list of scalars.
func simple(value any) (any, bool) {
	switch v := value.(type) {
	case string:
		return clip.Head(v, 4_000), v != ""
	case bool, int64, uint64, float64, int:
		return v, true
	case time.Time:
		return v.Format(time.RFC3339), true
	case []any:
		var out []any
		for _, one := range v[:min(len(v), maxMembers)] {
			if s, ok := simple(one); ok {
				out = append(out, s)
			}
		}
		return out, len(out) > 0
	}
	return nil, false
}

// timeOf returns a time of the front matter, in the zone unless it has an offset.
func timeOf(value any, zone *time.Location) (time.Time, bool) {
	if at, ok := value.(time.Time); ok {
		return at, at.Year() >= 1900
	}
	text, _ := value.(string)
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly, "2006/01/02"} {
		if at, err := time.ParseInLocation(layout, strings.TrimSpace(text), zone); err == nil {
			return at, at.Year() >= 1900
		}
	}
	return time.Time{}, false
}

// cut is a section of a text.
type cut struct{ heading, content string }

// sections cuts a text at the headings of Markdown, and what is too long at empty lines, at line ends, or anywhere. A
// section begins with its heading, and one that has nothing else with that of the next. Headings in fenced code are none.
func sections(text string) []cut {
	var out []cut
	var heading, fence string
	var body strings.Builder
	bare := true // the body has headings alone
	end := func() {
		for _, part := range Pieces(strings.TrimSpace(body.String()), sectionSize) {
			out = append(out, cut{heading, part})
		}
		body.Reset()
		bare = true
	}
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if mark := fenceOf(trimmed); mark != "" {
			if fence == "" {
				fence = mark
			} else if mark == fence {
				fence = ""
			}
		}
		if title, ok := headingOf(line); ok && fence == "" {
			if !bare {
				end()
			}
			heading = title
		} else if trimmed != "" {
			bare = false
		}
		body.WriteString(line)
	}
	end()
	return out
}

func fenceOf(line string) string {
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(line, mark) {
			return mark
		}
	}
	return ""
}

func headingOf(line string) (string, bool) {
	level := len(line) - len(strings.TrimLeft(line, "#"))
	if level == 0 || level > 6 || level >= len(line) || line[level] != ' ' {
		return "", false
	}
	title := strings.TrimSpace(strings.TrimRight(strings.TrimSpace(line[level:]), "#"))
	return title, title != ""
}
