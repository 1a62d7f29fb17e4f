package index

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"unsafe"
)

// lexicon holds the terms of a layer, each with its postings in order of their passages. Terms are on the heap, or in
// a snapshot until they get a posting.
type lexicon struct {
	own    map[string]*[]posting // whole lists, which hide those of the snapshot
	stored *storedTerms          // nil: none
}

// termStep is how many terms of a snapshot one place leads to: a place for each would take more memory
// than most of a small layer.
const termStep = 16

// storedTerms are the terms of a snapshot, read in place.
type storedTerms struct {
	text     []byte   // each term with its length before it, and the number of its postings after it; they ascend
	at       []uint32 // where each termStep-th term begins in text
	first    []uint32 // its first posting
	postings []posting
	owner    any // of text and postings
}

// storedPlaceBytes is what a place of stored terms takes on the heap.
const storedPlaceBytes = 4 + 4

// list returns the postings of a term. Those of a snapshot are readable as long as the caller keeps v.stored.
func (v *lexicon) list(term string) []posting {
	if list := v.own[term]; list != nil {
		return *list
	}
	if v.stored == nil {
		return nil
	}
	return v.stored.list(term)
}

// add adds a posting and returns the growth of the memory. A term is a substring of a text: its first row copies it,
// otherwise each term would keep a whole text in memory.
func (v *lexicon) add(term string, p posting) (grown int64) {
	list, before := v.own[term], 0
	if list == nil {
		fresh := &struct {
			list  []posting
			first [1]posting // most terms of a small layer have no other
		}{}
		list = &fresh.list
		*list = fresh.first[:0]
		if v.stored != nil {
			*list = append(*list, v.stored.list(term)...)
		}
		v.own[strings.Clone(term)] = list
		grown = termBytes(term)
	} else {
		before = cap(*list)
	}
	*list = append(*list, p)
	return grown + postingBytes*int64(cap(*list)-before)
}

// size returns the memory of all terms.
func (v *lexicon) size() (n int64) {
	for term, list := range v.own {
		n += termBytes(term) + postingBytes*int64(cap(*list))
	}
	if v.stored != nil {
		n += storedPlaceBytes * int64(cap(v.stored.at))
	}
	return n
}

// clone returns a lexicon that further postings do not change.
func (v *lexicon) clone() lexicon {
	out := lexicon{own: make(map[string]*[]posting, len(v.own)), stored: v.stored}
	for term, list := range v.own {
		out.own[term] = new(*list)
	}
	return out
}

// without returns the lexicon with the lists of a snapshot in place of its own, where no posting has come since
// the snapshot was written from an earlier state of it.
func (v *lexicon) without(stored *storedTerms, earlier lexicon) lexicon {
	out := lexicon{own: map[string]*[]posting{}, stored: stored}
	for term, list := range v.own {
		if had := earlier.own[term]; had == nil || len(*had) != len(*list) {
			out.own[term] = list
		}
	}
	return out
}

// sorted returns all terms in ascending order.
func (v *lexicon) sorted() iter.Seq2[string, []posting] {
	return func(yield func(string, []posting) bool) {
		own := slices.Sorted(maps.Keys(v.own))
		if v.stored != nil {
			for text, list := range v.stored.from(0) {
				term := string(text)
				for ; len(own) > 0 && own[0] < term; own = own[1:] {
					if !yield(own[0], *v.own[own[0]]) {
						return
					}
				}
				if len(own) > 0 && own[0] == term {
					continue // it is the next of its own
				}
				if !yield(term, list) {
					return
				}
			}
		}
		for _, term := range own {
			if !yield(term, *v.own[term]) {
				return
			}
		}
	}
}

// all returns all terms, in no order; a term may come twice.
func (v *lexicon) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		for term := range v.own {
			if !yield(term) {
				return
			}
		}
		if v.stored == nil {
			return
		}
		for text := range v.stored.from(0) {
			if !yield(string(text)) {
				return
			}
		}
	}
}

// from returns the terms and their postings from the i-th place on, ascending.
func (t *storedTerms) from(i int) iter.Seq2[[]byte, []posting] {
	return func(yield func([]byte, []posting) bool) {
		if i >= len(t.at) {
			return
		}
		c, rest := cursor{rest: t.text[t.at[i]:]}, t.postings[t.first[i]:]
		for len(c.rest) > 0 {
			text := c.bytes(int(c.uvarint())) //nolint:gosec // it was checked when the snapshot was opened
			n := int(c.uvarint())             //nolint:gosec // as above
			if !yield(text, rest[:n:n]) {
				return
			}
			rest = rest[n:]
		}
	}
}

func (t *storedTerms) list(term string) []posting {
	i, found := slices.BinarySearchFunc(t.at, term, func(at uint32, term string) int {
		c := cursor{rest: t.text[at:]}
		return cmp.Compare(string(c.bytes(int(c.uvarint()))), term) //nolint:gosec // as in from
	})
	if !found {
		i-- // it is between two places
	}
	for text, list := range t.from(max(i, 0)) {
		if string(text) >= term {
			if string(text) == term {
				return list
			}
			break
		}
	}
	return nil
}

// terms returns the terms of a snapshot.
func (s *snapshot) terms(m *snapshotMeta, owner any) (*storedTerms, error) {
	postings, ok := asPostings(s.section[sectionPostings])
	if !ok {
		return nil, errUnaligned
	}
	for i := range postings {
		if int(postings[i].passage) >= m.passages {
			return nil, errSnapshotContent
		}
	}
	places := (m.terms + termStep - 1) / termStep
	t := &storedTerms{text: s.section[sectionTerms], at: make([]uint32, 0, places), first: make([]uint32, 0, places), postings: postings, owner: owner}
	c := &cursor{rest: t.text}
	var before []byte
	next := 0
	for i := range m.terms {
		if i%termStep == 0 {
			t.at, t.first = append(t.at, uint32(len(t.text)-len(c.rest))), append(t.first, uint32(next)) //nolint:gosec // bounded below
		}
		text := c.bytes(c.count(len(c.rest)))
		next += c.count(len(postings) - next)
		if c.bad || i > 0 && string(text) <= string(before) {
			return nil, errSnapshotContent
		}
		before = text
	}
	if next != len(postings) || len(c.rest) > 0 || int64(len(t.text)) > maxStored || int64(len(postings)) > maxStored {
		return nil, errSnapshotContent
	}
	return t, nil
}

// maxStored bounds the places in a snapshot's terms and postings.
const maxStored = 1<<32 - 1

// asPostings returns the postings in the memory of a snapshot; ok is false when the place is not aligned.
func asPostings(b []byte) (_ []posting, ok bool) {
	if len(b) == 0 {
		return nil, true
	}
	p := unsafe.Pointer(&b[0])                                   //nolint:gosec // the memory of a list, with its length
	all := unsafe.Slice((*posting)(p), len(b)/int(postingBytes)) //nolint:gosec // as above
	return all, uintptr(p)%unsafe.Alignof(posting{}) == 0
}
