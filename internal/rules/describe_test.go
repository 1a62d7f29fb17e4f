package rules

import (
	"slices"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
)

// Keywords are whole words that name something; a verb, a month or a date is none where there are
// nouns (C006).
func TestKeywordsAreNouns(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][]string{
		"四月十五号搬到上海，住在徐汇区。":                                                {"上海", "徐汇区"},
		"我打算明年三月去德国看你。":                                                   {"德国"},
		"每次出差都住酒店，真累。":                                                    {"酒店", "出差"},
		"我对花生过敏。":                                                         {"花生", "过敏"},
		"下周五有个会议，主题是新产品的价格。":                                              {"会议", "主题", "产品", "价格"},
		"On 15 April I moved to a flat in Lyon with my sister Clara.":     {"sister Clara", "flat", "Lyon"},
		"They helped and encouraged me to learn the violin in the garden": {"violin", "garden", "learn"},
	} {
		got := New().analyze(amem.AnalyzeInput{Content: s}).Keywords
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", s, got, want)
		}
	}
}

// A word of two senses tags a note only in the sense of the domain.
func TestTagsOfHomonyms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, not, tag string }{
		{"Nurses run the hospital at night.", "sports", "health"},
		{"I ran a marathon in the rain.", "", "sports"},
		{"We should meet in the park.", "work", "nature"},
		{"The meeting with the client is in the office.", "", "work"},
		{"I booked a table near the church.", "books", "community"},
		{"I read a book by the lake.", "", "books"},
		{"Her curtains match the sofa.", "sports", "home"},
		{"My professor of engineering is ill.", "transport", "education"},
		{"我对花生过敏。", "nature", "health"},
		{"花园里的花开了。", "", "nature"},
	} {
		tags := New().analyze(amem.AnalyzeInput{Content: c.said}).Tags
		if c.not != "" && slices.Contains(tags, c.not) || !slices.Contains(tags, c.tag) {
			t.Errorf("%s: %q", c.said, tags)
		}
	}
}

// linkCase is whether one of two notes is linked to the other.
type linkCase struct {
	a, b string
	want bool
}

func checkLinks(t *testing.T, cases []linkCase) {
	t.Helper()
	h := New()
	described := func(handle int, s string) memory.Described {
		a := h.analyze(amem.AnalyzeInput{Content: s})
		return memory.Described{Handle: handle, Content: s, Context: a.Context, Keywords: a.Keywords, Tags: a.Tags, Score: 0.5}
	}
	for _, c := range cases {
		got := len(evolve(amem.EvolveInput{New: described(-1, c.a), Neighbors: []memory.Described{described(0, c.b)}}).SuggestedConnections) > 0
		if got != c.want {
			t.Errorf("%s | %s: linked %t (%q, %q)", c.a, c.b, got, described(0, c.a).Keywords, described(0, c.b).Keywords)
		}
	}
}

// Notes are linked by a subject that both have, not by a verb, a number or a word of two senses.
func TestLinksOfHomonyms(t *testing.T) {
	t.Parallel()
	checkLinks(t, []linkCase{
		{"I want to run the Berlin marathon.", "Nurses run the hospital in Berlin at night.", true},
		{"I run a marathon every autumn.", "Nurses run the hospital at night.", false},
		{"I moved to a new flat in Xuhui.", "The exam was moved to June.", false},
		{"Dinner for six people at our place.", "I get up at six in the morning.", false},
		{"You can stay at my place in Hamburg.", "I want to stay calm at work.", false},
		{"I booked a table for dinner.", "I read a book about Rome.", false},
		{"My dog Luna ate my shoes.", "Luna is a beagle and a very good dog.", true},
		{"The exam in biology is hard.", "I passed the biology exam.", true},
		{"I gave up coffee.", "Five cups of coffee a day are too many.", true},
		{"We painted the kitchen green.", "The new kitchen has green tiles.", true},
		{"我对花生过敏。", "奶奶做的菜里有花生。", true},
		{"我打算去德国。", "我打算买房子。", false},
	})
}
