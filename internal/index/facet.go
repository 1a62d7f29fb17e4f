package index

import (
	"maps"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/text"
)

// Bounds of what is counted of attributes. They are far above what a query can
// name, and keep hostile attributes from costing more than their notes. Only
// past them may a fork count otherwise than a copy, whose layer held less.
const (
	maxFacetKeys   = 64  // of a layer that are counted; later ones are not
	maxFacetWide   = 256 // of a layer that had too many values; when there are more, no new key is counted
	maxFacetValues = 128 // of a key; one that had more in a layer is not counted any more
	maxFacetBytes  = 64  // of a value; longer ones are texts
)

// facet is a value that notes have of an attribute.
type facet struct{ key, value string }

// facets numbers the string values of attributes in a layer, as far as there
// are few of a key.
type facets struct {
	number map[facet]int
	list   []facet
	values map[string]int // by key: how many, or more than maxFacetValues
	wide   int            // keys that have more
}

// eachFacet calls yield with the attributes of a row that may be counted.
func (e *entry) eachFacet(yield func(f facet)) {
	if e.record == nil {
		return
	}
	for key, v := range e.record.Attributes {
		if value, ok := v.(string); ok && value != "" && len(value) <= maxFacetBytes {
			yield(facet{key, value})
		}
	}
}

// add gives numbers to what is new in a row, and says what that takes, in bytes.
func (f *facets) add(e *entry) (bytes int64) {
	var added []facet
	e.eachFacet(func(x facet) {
		if _, known := f.number[x]; !known && f.values[x.key] <= maxFacetValues {
			added = append(added, x)
		}
	})
	slices.SortFunc(added, func(a, b facet) int { return strings.Compare(a.key, b.key) }) // which are counted is no chance
	for _, x := range added {
		had, keyed := f.values[x.key]
		if !keyed && (len(f.values)-f.wide >= maxFacetKeys || f.wide >= maxFacetWide) {
			continue
		}
		f.values[x.key] = had + 1
		if had == maxFacetValues {
			f.wide++ // and no value of it counts any more
			continue
		}
		f.number[x] = len(f.list)
		f.list = append(f.list, x)
		bytes += slotBytes(2*stringBytes+8) + 2*stringBytes
	}
	return bytes
}

// eachCounted calls yield with the number of each attribute of a row that is counted.
func (f *facets) eachCounted(e *entry, yield func(n int)) {
	e.eachFacet(func(x facet) {
		if n, ok := f.number[x]; ok {
			yield(n)
		}
	})
}

// Facet is an attribute that notes of a view have, by value how many.
type Facet struct {
	Notes  int
	Values map[string]int
}

// Facets gives the attributes of a view by key: those with string values, of
// which no layer has held more than 128. It is shared: not to be changed.
func (v *View) Facets() map[string]*Facet {
	v.stack.facetsOnce.Do(func() { v.stack.facets = v.countFacets(v.stack.layers) })
	return v.stack.facets
}

// countFacets adds up what the layers count.
func (v *View) countFacets(layers []*visibility) map[string]*Facet {
	out := map[string]*Facet{}
	wide := map[string]bool{}
	for i, vis := range layers {
		d := v.layers[i].data
		d.mu.RLock()
		for key, n := range d.facets.values {
			wide[key] = wide[key] || n > maxFacetValues
		}
		for n, count := range vis.facets {
			if count == 0 {
				continue
			}
			f := d.facets.list[n]
			if out[f.key] == nil {
				out[f.key] = &Facet{Values: map[string]int{}}
			}
			out[f.key].Notes += int(count)
			out[f.key].Values[f.value] += int(count)
		}
		d.mu.RUnlock()
	}
	maps.DeleteFunc(out, func(key string, _ *Facet) bool { return wide[key] })
	return out
}

// The attributes that a query may name: at least half of the notes have one,
// and there are few values of it.
const maxNamedValues = 20

// Named gives, by key, the value of an attribute that a query names, where it
// names exactly one: the words of the value stand together in the query.
// Attributes count that at least half of the notes have and of which there are
// 2 to 20 values.
func (v *View) Named(query string) map[string]string {
	words := text.Words(query)
	at := map[string][]int{} // where a word stands
	for i, w := range words {
		at[w] = append(at[w], i)
	}
	var out map[string]string
	for key, f := range v.Facets() {
		if 2*f.Notes < v.notes || len(f.Values) < 2 || len(f.Values) > maxNamedValues {
			continue
		}
		named, n := "", 0
		for value := range f.Values {
			if part := text.Words(value); len(part) > 0 && slices.ContainsFunc(at[part[0]], func(i int) bool {
				return i+len(part) <= len(words) && slices.Equal(words[i:i+len(part)], part)
			}) {
				named = value
				n++
			}
		}
		if n == 1 {
			if out == nil {
				out = map[string]string{}
			}
			out[key] = named
		}
	}
	return out
}

// Roles is how many visible notes have each role, by [Role].
func (v *View) Roles() [OtherRole + 1]int { return v.roles }

// MeanLength is the mean length of the visible notes, in terms; 0 without any.
func (v *View) MeanLength() float64 {
	if v.notes == 0 {
		return 0
	}
	return float64(v.length) / float64(v.notes)
}
