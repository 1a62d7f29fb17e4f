package search

import (
	"math/bits"
	"slices"
)

// sortedBelow is the number of elements from which on Select partitions instead of sorting.
const sortedBelow = 12

// Select moves the first n elements by an order to the front of the list, without an order among them: the
// n best of many, in a time that grows with the list alone (Hoare 1961, "Algorithm 65: FIND"). compare is a
// total order. n is at most the length of the list.
func Select[E any](list []E, n int, compare func(a, b E) int) {
	// The boundary lies in list[low:high].
	low, high := 0, len(list)
	for rounds := 2 * bits.Len(uint(high)); n > low && n < high; rounds-- {
		if high-low < sortedBelow || rounds == 0 { // an unlucky list is sorted
			slices.SortFunc(list[low:high], compare)
			return
		}
		pivot := median(list[low], list[low+(high-low)/2], list[high-1], compare)
		i, j := low, high-1
		for i <= j {
			for compare(list[i], pivot) < 0 {
				i++
			}
			for compare(list[j], pivot) > 0 {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i++
				j--
			}
		}
		// What is before i is not after the pivot, what is after j is not before it.
		switch {
		case n <= j:
			high = j + 1
		case n > i:
			low = i
		default:
			return
		}
	}
}

// median returns the middle one of three.
func median[E any](a, b, c E, compare func(a, b E) int) E {
	if compare(a, b) > 0 {
		a, b = b, a
	}
	switch {
	case compare(c, a) < 0:
		return a
	case compare(c, b) < 0:
		return c
	}
	return b
}
