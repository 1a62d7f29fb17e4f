package index

import (
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/text"
)

// ID is a note id. It is an alias, so that any named 16-byte id converts by
// assignment.
type ID = [16]byte

// Row is one version of a note as the log tells it. Note and From identify it
// within a layer.
type Row struct {
	Note      ID
	From      int64 // the revision where it begins, at least 1
	To        int64 // the revision where it ends; 0 while it is open
	Tombstone bool  // hides the note and is never a hit

	// What is searched by words, besides Record.Keywords and Record.Tags.
	// Leave Context empty where it is a default that nobody wrote.
	Content string
	Context string

	Vector []float32 // of the layer's embedder; nil while it is pending
	Record filter.Record
}

// analyzed is a Row after its text is analyzed and its vector checked, which
// happens outside of any lock.
type analyzed struct {
	Row
	unit []float32
	tf   map[string]uint32
	len  uint32
	lang text.Language
}

// analyze takes the terms of content, context, keywords and tags, all in the
// language of content and context: a list of keywords seldom shows its own.
func analyze(r Row, dimensions int) (analyzed, error) {
	a := analyzed{Row: r}
	if r.Vector != nil && !r.Tombstone {
		v, err := unit(r.Vector)
		if err != nil {
			return a, err
		}
		if len(v) != dimensions {
			return a, wrongDimensions(len(v), dimensions)
		}
		a.unit = v
	}
	if r.Tombstone {
		return a, nil
	}
	a.lang, _ = text.Guess(r.Content + "\n" + r.Context)
	a.tf = map[string]uint32{}
	count := func(s string) {
		for _, t := range text.TermsIn(s, a.lang) {
			a.tf[t]++
			a.len++
		}
	}
	count(r.Content)
	count(r.Context)
	for _, k := range r.Record.Keywords {
		count(k)
	}
	for _, t := range r.Record.Tags {
		count(t)
	}
	return a, nil
}
