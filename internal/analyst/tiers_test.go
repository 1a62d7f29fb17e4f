package analyst

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memoryos"
)

var tierNoon = time.Date(2026, 8, 3, 12, 0, 0, 0, time.UTC)

func page(after time.Duration, said, answered string) memoryos.CallPage {
	u, a := user(said), assistant(answered)
	u.Time, a.Time = tierNoon.Add(after), tierNoon.Add(after)
	return memoryos.CallPage{Messages: []memory.Utterance{u, a}}
}

// TestAlikePagesBelongTogether: pages that are alike belong together, the more alike the longer the time between them; a page that
// says next to nothing belongs to the one just before it.
func TestAlikePagesBelongTogether(t *testing.T) {
	t.Parallel()
	cello := page(0, "I practice Bach on my cello before the concert.", "Lovely.")
	for name, c := range map[string]struct {
		next memoryos.CallPage
		like float64
		want bool
	}{
		"the same topic":  {page(time.Minute, "The concert has Bach on the cello, too.", "Yes."), 0, true},
		"another":         {page(time.Minute, "The ferry to Bornholm was cancelled by a storm.", "Oh."), .1, false},
		"small talk":      {page(time.Minute, "haha ok", "Yes."), 0, true},
		"by its vector":   {page(time.Minute, "Rehearsals exhaust everybody in our orchestra.", "Rest well."), .5, true},
		"hours later":     {page(2*time.Hour, "Rehearsals exhaust everybody in our orchestra.", "Rest well."), .4, false},
		"small talk late": {page(8*time.Hour, "haha ok", "Yes."), 0, false},
	} {
		if got := continues(&reader{}, memoryos.ContinuityInput{Previous: cello, Next: c.next, Similarity: c.like}); got.Continuous != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if continues(&reader{}, memoryos.ContinuityInput{Next: cello}).Continuous {
		t.Error("it continues nothing")
	}
}

// TestThemes: pages are grouped by the rare terms that they share. Names and roles are not words of a theme, also when a
// summary is made again from the one before it.
func TestThemes(t *testing.T) {
	t.Parallel()
	pages := []memoryos.CallPage{
		page(0, "My cello teacher Greta wants Bach suites at the spring concert in Aarhus.", "Great taste."),
		page(1, "Our houseboat leaks below the kitchen window and the harbor master complains.", "Noted."),
		page(2, "Greta says the Bach suites need slower bowing before the concert.", "Noted."),
		page(3, "The harbor master wants the leaking houseboat repaired by Friday.", "Great."),
	}
	for i := range pages {
		pages[i].Messages[0].Name = "Priya"
	}
	got := findThemes(memoryos.ThemesInput{Pages: pages}).Themes
	if len(got) != 2 || !slices.Equal(got[0].Pages, []int{0, 2}) || !slices.Equal(got[1].Pages, []int{1, 3}) {
		t.Fatalf("%+v", got)
	}
	for range 3 {
		earlier := memoryos.CallPage{Messages: []memory.Utterance{{Role: memory.RoleSystem, Content: got[0].Content}}}
		got = findThemes(memoryos.ThemesInput{Pages: []memoryos.CallPage{earlier, pages[2]}}).Themes
		words := strings.ToLower(strings.Join(got[0].Keywords, " ") + " " + got[0].Theme)
		if len(got) != 1 || strings.Contains(words, "priya") || strings.Contains(words, "user") || strings.Contains(words, "assistant") || strings.Contains(words, "noted") || strings.Contains(words, "great") {
			t.Fatalf("%+v", got)
		}
		if !strings.Contains(got[0].Content, "spring concert in Aarhus") || !strings.Contains(got[0].Content, "slower bowing") {
			t.Errorf("%q", got[0].Content)
		}
	}
}

// TestChainKeepsWhatItSaid: the summary of a chain keeps what it said and takes in what the next page says.
func TestChainKeepsWhatItSaid(t *testing.T) {
	t.Parallel()
	next := page(0, "Plum died last night.", "I am so sorry.")
	got := summarizeChain(memoryos.MetaInput{Old: "I have two cats, Biscuit and Plum.", Page: next}).Meta
	if got != "I have two cats, Biscuit and Plum. Plum died last night. → I am so sorry." {
		t.Errorf("%q", got)
	}
}

// TestProfile: a profile quotes what was said with its date. Nothing is counted, what a model found stays, and what has
// no room leaves from the oldest on.
func TestProfile(t *testing.T) {
	t.Parallel()
	in := memoryos.ProfileInput{Pages: []memoryos.CallPage{page(0, "I run three times a week. Is that much?", "No.")}}
	got := profile(&reader{}, in)
	if got.Text != "2026-08-03: I run three times a week." || len(got.Dimensions) != 0 || got.Dimensions == nil {
		t.Errorf("%+v", got)
	}
	in.Old = got
	in.Old.Dimensions = []memoryos.Dimension{{Name: "sports", Level: memoryos.LevelHigh, Evidence: "runs"}}
	if again := profile(&reader{}, in); again.Text != got.Text || len(again.Dimensions) != 1 {
		t.Errorf("again: %+v", again)
	}
	in.Old.Text = strings.Repeat("2026-08-01: "+strings.Repeat("word ", 20)+"end. ", 18)
	if long := profile(&reader{}, in).Text; len(long) > memoryos.MaxProfileChars || !strings.Contains(long, "three times a week") {
		t.Errorf("%d characters: %q", len(long), long)
	}
}
