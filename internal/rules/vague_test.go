package rules

import (
	"slices"
	"testing"
)

// Fragments, passing states, offers and steps are no facts, and the same words in what lasts are.
func TestWhatSaysLittleIsNoFact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		// Fragments.
		"Particularly when I missed the last ferry to Rab.": nil,
		"Especially after I broke my ankle in Tirol.":       nil,
		"Even as a boy I collected stamps.":                 {"Even as a boy Ivo collected stamps."},
		"After college I moved to Porto.":                   {"After college Ivo moved to Porto."},
		// What points at something unsaid.
		"I will surely watch that documentary someday.":                       nil,
		"I wanted the painting to have a gloomy mood.":                        nil,
		"I'm still deciding on the destination.":                              nil,
		"Pixel is sitting on the left.":                                       nil,
		"My doctor found that I have asthma.":                                 {"Ivo's doctor found that Ivo has asthma."},
		"I wanted the painting of my grandmother to hang in the kitchen.":     {"Ivo wanted the painting of Ivo's grandmother to hang in the kitchen."},
		"My bakery is on the left of the station.":                            {"Ivo's bakery is on the left of the station."},
		"I bought a cello, like Bea suggested.":                               {"Ivo bought a cello."},
		"I'm planning a street fair, so maybe we can find a sponsor.":         {"Ivo is planning a street fair."},
		"I'm planning a street fair in Graz, and my brother bakes the bread.": {"Ivo is planning a street fair in Graz, and Ivo's brother bakes the bread."},
		// Passing states.
		"I'm plugging away.":                          nil,
		"I'm on a winning streak.":                    nil,
		"My troubles simply melted.":                  nil,
		"We ended up laughing all night.":             nil,
		"I'm finding my groove again.":                nil,
		"My little shop has been a wild ride.":        nil,
		"I hit a wall in my thesis on coral reefs.":   {"Ivo hit a wall in Ivo's thesis on coral reefs."},
		"My nephew Timo found his way to the circus.": {"Ivo's nephew Timo found his way to the circus."},
		"My little shop has been in Graz since 2019.": {"Ivo's little shop has been in Graz since 2019."},
		// Offers in the chat and steps of a recipe.
		"I have plenty of funny pics.":                   nil,
		"I've got a few board game suggestions.":         nil,
		"I sprinkled some basil for a fresh taste.":      nil,
		"I have two photos of my grandmother in Lviv.":   {"Ivo has two photos of Ivo's grandmother in Lviv."},
		"I have a few rabbits.":                          {"Ivo has a few rabbits."},
		"I added a greenhouse to my garden for orchids.": {"Ivo added a greenhouse to Ivo's garden for orchids."},
	} {
		if got := learned(said{"Ivo", text}); !slices.Equal(got, nonNil(want)) {
			t.Errorf("%s\n got  %q\n want %q", text, got, want)
		}
	}
	if got := learned(said{"Bea", "Do you like reading other kinds of comics as well?"}, said{"Ivo", "Yes!"}); len(got) > 0 {
		t.Errorf("%q", got)
	}
	if got := learned(said{"Bea", "Do you like reading comics?"}, said{"Ivo", "Yes!"}); !slices.Equal(got, []string{"Ivo likes reading comics."}) {
		t.Errorf("%q", got)
	}
}
