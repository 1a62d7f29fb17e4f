package covered_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/slipboxhq/slipbox/internal/covered"
)

func TestTurns(t *testing.T) {
	t.Parallel()
	derived := map[string][]string{"summary": {"fact", "turn 3", "gone"}, "fact": {"turn 1", "turn 3", "summary"}}
	for i := range covered.MaxTurns + 1 {
		derived["everything"] = append(derived["everything"], fmt.Sprint("turn ", i))
	}
	turn := func(note string) (n int, ok bool) {
		_, err := fmt.Sscanf(note, "turn %d", &n)
		return n, err == nil
	}
	sources := func(note string) ([]string, error) { return derived[note], nil }
	for note, want := range map[string][]int{"turn 7": {7}, "fact": {1, 3}, "summary": {3, 1}, "gone": nil, "everything": nil} {
		if got, err := covered.Turns(note, turn, sources); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s covers %v, %v, want %v", note, got, err, want)
		}
	}
	failed := errors.New("failed")
	if _, err := covered.Turns("fact", turn, func(string) ([]string, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Errorf("an error of a source: %v", err)
	}
}
