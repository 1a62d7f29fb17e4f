package search

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSelect: the first n are those of a sorted list, for lists in every shape.
func TestSelect(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 2000 {
		list := make([]int, r.IntN(120))
		for i := range list {
			switch round % 4 {
			case 0:
				list[i] = r.Int()
			case 1:
				list[i] = r.IntN(3)
			case 2:
				list[i] = i
			case 3:
				list[i] = -i
			}
		}
		want := slices.Sorted(slices.Values(list))
		n := r.IntN(len(list) + 1)
		Select(list, n, cmp.Compare[int])
		slices.Sort(list[:n])
		slices.Sort(list[n:])
		if !slices.Equal(list, want) {
			t.Fatalf("round %d: the first %d are %d, want %d", round, n, list[:n], want[:n])
		}
	}
	list := make([]int, 500) // the middle is the least each time
	for i := range list {
		list[i] = min(i, len(list)-i)
	}
	Select(list, 250, cmp.Compare[int])
	if slices.Max(list[:250]) > slices.Min(list[250:]) {
		t.Error("an unlucky list is not divided")
	}
}
