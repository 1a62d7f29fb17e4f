package recall

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// A message is shown with its exchange, and with whole exchanges beside it as long as the piece is short and of
// one day and session.
func TestGrowPiece(t *testing.T) {
	t.Parallel()
	day := time.Date(2023, 5, 8, 9, 0, 0, 0, time.UTC)
	// Each message is its turn, the length of its content, and where it differs its session or day.
	type said struct {
		turn, chars int
		session     string
		later       time.Duration
	}
	for name, c := range map[string]struct {
		said      []said
		at        int
		low, high int
	}{
		"a turn of its own":       {[]said{{1, 150, "a", 0}, {2, 90, "a", 0}, {2, 90, "a", 0}, {3, 150, "a", 0}}, 1, 1, 3},
		"the answer was found":    {[]said{{2, 90, "a", 0}, {2, 90, "a", 0}}, 1, 0, 2},
		"a long turn stays whole": {[]said{{2, 900, "a", 0}, {2, 900, "a", 0}, {3, 5, "a", 0}}, 0, 0, 2},
		"short ones are merged":   {[]said{{1, 20, "a", 0}, {1, 20, "a", 0}, {2, 30, "a", 0}, {2, 30, "a", 0}, {3, 20, "a", 0}, {3, 20, "a", 0}}, 2, 0, 6},
		"only as far as they fit": {[]said{{1, 80, "a", 0}, {1, 80, "a", 0}, {2, 30, "a", 0}, {2, 30, "a", 0}, {3, 60, "a", 0}, {3, 60, "a", 0}}, 2, 2, 6},
		"not of another session":  {[]said{{1, 10, "b", 0}, {2, 30, "a", 0}, {3, 10, "c", 0}}, 1, 1, 2},
		"not of another day":      {[]said{{2, 30, "a", 0}, {3, 10, "a", 24 * time.Hour}}, 0, 0, 1},
		"without a turn":          {[]said{{0, 10, "a", 0}, {0, 10, "a", 0}}, 0, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			list := make([]memory.Note, len(c.said))
			for i, s := range c.said {
				list[i] = memory.Note{Kind: memory.KindMessage, Content: strings.Repeat("字", s.chars), OccurredAt: day.Add(time.Duration(i)*time.Minute + s.later), Attributes: map[string]any{memory.AttrSession: s.session}}
				if s.turn > 0 {
					list[i].Attributes[memory.AttrTurn] = fmt.Sprint(s.turn)
				}
			}
			if low, high := growPiece(list, c.at, 200); low != c.low || high != c.high {
				t.Errorf("%d to %d, want %d to %d", low, high, c.low, c.high)
			}
		})
	}
}
