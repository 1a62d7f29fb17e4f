package memory_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// TestPages: a listing ends with the first page that is not full, or with an error, after which comes nothing.
func TestPages(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	for name, tc := range map[string]struct {
		pages [][]int
		want  []int
		reads int
		err   error
	}{
		"nothing":     {pages: [][]int{{}}, reads: 1},
		"last short":  {pages: [][]int{{1, 2}, {3}}, want: []int{1, 2, 3}, reads: 2},
		"last full":   {pages: [][]int{{1, 2}, {3, 4}, {}}, want: []int{1, 2, 3, 4}, reads: 3},
		"then failed": {pages: [][]int{{1, 2}}, want: []int{1, 2}, reads: 2, err: failed},
	} {
		var after []int
		reads := 0
		got, err := memory.All(memory.Pages(2, func(last *int) ([]int, error) {
			if reads++; last != nil {
				after = append(after, *last)
			}
			if reads > len(tc.pages) {
				return nil, failed
			}
			return tc.pages[reads-1], nil
		}))
		if !slices.Equal(got, tc.want) || !errors.Is(err, tc.err) || reads != tc.reads || len(after) != reads-1 {
			t.Errorf("%s: %v after %v in %d reads: %v", name, got, after, reads, err)
		}
	}
	read := 0
	for n, err := range memory.Entries(memory.Pages(2, func(*int) ([]int, error) { read++; return []int{1, 2}, nil })) {
		if err != nil || *n == 2 {
			break
		}
	}
	if read != 1 {
		t.Errorf("%d pages were read of a listing that was left in the first", read)
	}
}
