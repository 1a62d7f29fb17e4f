package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/oapi-codegen/nullable"

	"github.com/slipboxhq/slipbox/internal/memory/transfer"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// fact returns the digest of something that a file says besides its text.
func fact(kind, name string, value any) string {
	raw, err := json.Marshal(value)
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // the note has its numbers as they were sent
	if err == nil && d.Decode(&value) == nil {
		raw, err = json.Marshal(value)
	}
	return digest(kind, name, string(raw), fmt.Sprint(err))[:12]
}

func dateFact(at string) string { return fact("date", "", at) }
func tagFact(tag string) string { return fact("tag", tag, nil) }

func attributeFact(name string, value any) string { return fact("attribute", name, value) }

// facts returns the digests of what a part says besides its text, in order.
func (p part) facts() []string {
	out := []string{}
	if p.dated {
		out = append(out, dateFact(p.at))
	}
	for _, tag := range p.Tags {
		out = append(out, tagFact(tag))
	}
	for name, value := range p.said {
		out = append(out, attributeFact(name, value))
	}
	slices.Sort(out)
	return out
}

// origin returns what the note of a part keeps of its import.
func (p part) origin() origin {
	return origin{File: p.place, Text: digest(p.Content), Said: p.facts(), At: p.at}
}

// differs reports whether a part says anything else besides its text than when the note was imported from the same file.
func (p part) differs(n *imported) bool {
	o := n.origin()
	return o.File == p.place && o.Said != nil && !slices.Equal(o.Said, p.facts())
}

// patch returns how a note follows its part. What the file said before and says no longer is removed, what it says now is added,
// and what a person or a model has written meanwhile stays.
func (p part) patch(n *imported) (out slipbox.NotePatch, err error) {
	was, next := n.origin(), p.origin()
	said := func(f string) bool { return slices.Contains(was.Said, f) }
	early := was.Said == nil
	text := n.text() != digest(p.Content)
	if text {
		out.Content = &p.Content
	}
	if at := n.OccurredAt.UTC().Format(time.RFC3339); (early || at == was.At) && (text || p.dated || said(dateFact(was.At))) {
		if at != p.at {
			out.OccurredAt = nullable.NewNullableWithValue(p.at)
		}
	} else {
		next.At = was.At
	}
	tags := slices.DeleteFunc(slices.Clone(n.Tags), func(tag string) bool { return said(tagFact(tag)) && !slices.Contains(p.Tags, tag) })
	for _, tag := range p.Tags {
		if !said(tagFact(tag)) && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	if !slices.Equal(tags, n.Tags) {
		out.Tags = nullable.NewNullableWithValue(tags)
	}
	attributes := map[string]any{transfer.AttrImport: next}
	for name, value := range p.said {
		is, has := n.Attributes[name]
		if !said(attributeFact(name, value)) && (early || !has || said(attributeFact(name, is))) {
			attributes[name] = value
		}
	}
	for name, is := range n.Attributes {
		if _, says := p.said[name]; !says && said(attributeFact(name, is)) {
			attributes[name] = nil
		}
	}
	raw, err := json.Marshal(attributes)
	out.Attributes = nullable.NewNullableWithValue(json.RawMessage(raw))
	return out, err
}
