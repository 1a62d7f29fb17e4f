package analyst

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// TestSummary: a summary is made of sentences as they were said, in their order, within the bound; what says
// nothing new is left out first.
func TestSummary(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		texts []string
		chars int
		want  string
	}{
		"all fits":        {[]string{"I live in Aarhus. My dog is called Rex.", "Rex is diabetic"}, 200, "I live in Aarhus. My dog is called Rex. Rex is diabetic."},
		"repeats":         {[]string{"I live in Aarhus.", "i live in Aarhus!", "I play the cello."}, 200, "I live in Aarhus. I play the cello."},
		"the weighty one": {[]string{"Oh well.", "The ferry to Bornholm sinks on Tuesday.", "And so it is."}, 45, "The ferry to Bornholm sinks on Tuesday."},
		"Chinese":         {[]string{"我养了一只猫。", "我住在北京"}, 200, "我养了一只猫。我住在北京。"},
		"Hindi":           {[]string{"मेरी बेटी बीमार थी", "मेरा बेटा बीमार था"}, 200, "मेरी बेटी बीमार थी. मेरा बेटा बीमार था."},
		"Finnish":         {[]string{"Asun Turussa.", "Koirani nimi on Musti."}, 200, "Asun Turussa. Koirani nimi on Musti."},
		"too long":        {[]string{strings.Repeat("word ", 50)}, 30, ""},
		"nothing":         {nil, 30, ""},
	} {
		got := summary(c.texts, c.chars)
		if c.want != "" && got != c.want || utf8.RuneCountInString(got) > c.chars {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
