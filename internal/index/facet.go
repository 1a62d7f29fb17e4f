package index

import (
	"maps"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/text"
)

// Bounds on the attribute values that are counted. They are far above what a query can name, and
// keep hostile attributes from costing more than their notes. Only above them may a fork count
// differently from a copy, whose layer held less.
const (
	maxFacetKeys   = 64  // counted keys of a layer; later ones are not counted
	maxFacetWide   = 256 // keys of a layer with too many values; when there are more, no new key is counted
	maxFacetValues = 128 // values of a key; a key that had more in a layer is no longer counted
	maxFacetBytes  = 64  // of a value; longer ones are texts
)

// facet is a value of an attribute.
type facet struct{ key, value string }

// facets numbers the string values of attributes in a layer, for keys that have few values.
type facets struct {
	number map[facet]int
	list   []facet
	values map[string]int // by key: the number of values; above maxFacetValues the key is not counted
	wide   int            // the number of keys with more than maxFacetValues
}

// eachFacet calls yield with the attributes of a row that may be counted.
func (e *entry) eachFacet(yield func(f facet)) {
	for key, v := range e.attributes() {
		if value, ok := v.(string); ok && value != "" && len(value) <= maxFacetBytes {
			yield(facet{key, value})
		}
	}
}

// add numbers the new values of a row and returns the memory that takes, in bytes.
func (f *facets) add(e *entry) (bytes int64) {
	var added []facet
	e.eachFacet(func(x facet) {
		if _, known := f.number[x]; !known && f.values[x.key] <= maxFacetValues {
			added = append(added, x)
		}
	})
	// Sorted, so that the values counted do not depend on the order of a map.
	slices.SortFunc(added, func(a, b facet) int { return strings.Compare(a.key, b.key) })
	for _, x := range added {
		had, keyed := f.values[x.key]
		if !keyed && (len(f.values)-f.wide >= maxFacetKeys || f.wide >= maxFacetWide) {
			continue
		}
		f.values[x.key] = had + 1
		if had == maxFacetValues {
			f.wide++ // from now on no value of it counts
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

// Facet is how many notes of a view have an attribute, in total and by value.
type Facet struct {
	Notes  int
	Values map[string]int
}

// Facets returns the attributes of a view by key: those with string values of which no layer has
// held more than 128. The map is shared and must not be changed.
func (v *View) Facets() map[string]*Facet {
	v.stack.facetsOnce.Do(func() { v.stack.facets = v.countFacets(v.stack.visibilities) })
	return v.stack.facets
}

// countFacets adds up the counts of the layers.
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

// maxNamedValues is the most values an attribute may have for a query to name one.
const maxNamedValues = 20

// maxNamedBytes is the length of the longest value that a query can name. A value is compared with
// the query wherever its first word is.
const maxNamedBytes = 256

// Named returns, by attribute key, the value that a query names. A key is left out when the query
// names none or several of its values. A query names a value when the words of the value are
// adjacent in the query. Only attributes count that at least half of the notes have, with 2 to 20
// values.
func (v *View) Named(query string) map[string]string {
	words := text.Words(query)
	at := map[string][]int{} // where a word occurs in the query
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
			if len(value) > maxNamedBytes {
				continue
			}
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

// Roles returns how many visible notes have each role, by [Role].
func (v *View) Roles() [OtherRole + 1]int { return v.roles }

// MeanLength returns the mean length of the visible notes, in terms; 0 without any.
func (v *View) MeanLength() float64 {
	if v.notes == 0 {
		return 0
	}
	return float64(v.length) / float64(v.notes)
}
