package layered

import (
	"math"
	"testing"
	"time"
)

// C256, C266, C303: the formulas that decide who leaves, and decay.
func TestFormulasDecideWhoLeaves(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for name, x := range map[string]struct{ got, want float64 }{
		"working, unused":        {workingKeep(.5, 0), .35},
		"working, used twice":    {workingKeep(.5, 2), .35 + .06},
		"working, used often":    {workingKeep(.5, 1000), .65},
		"episodic, unused":       {episodicKeep(.5, 0), .25},
		"episodic, used often":   {episodicKeep(1, 11), 1},
		"six idle days":          {decayed(.8, 6*day, 7), .8},
		"seven idle days":        {decayed(.8, 7*day, 7), .4},
		"fourteen idle days":     {decayed(.8, 14*day, 7), .2},
		"a clock that goes back": {decayed(.8, -day, 7), .8},
		"never":                  {decayed(.8, 1000*day, 0), .8},
	} {
		if math.Abs(x.got-x.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, x.got, x.want)
		}
	}
}

// What a triple says is a sentence in the language of its object.
func TestSentence(t *testing.T) {
	t.Parallel()
	for want, x := range map[string][3]string{
		"The user's name is Ada":  {"user", relationName, "Ada"},
		"The user lives in Porto": {"user", relationPlace, "Porto"},
		"用户住在上海":                  {"user", relationPlace, "上海"},
		"用户喜欢Go 和 Python":         {"user", relationLikes, "Go 和 Python"},
		"Bo is a friend of Ada":   {"Bo", "is_a_friend_of", "Ada"},
		"Bo likes tea":            {"Bo", relationLikes, "tea"},
	} {
		if got := sentence(x[0], x[1], x[2]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
