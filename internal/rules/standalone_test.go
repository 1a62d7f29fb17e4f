package rules

import (
	"slices"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/memory/policy/mem0"
)

// said is one message of a conversation.
type said struct{ name, text string }

// learned returns the facts of the last message of a conversation.
func learned(list ...said) []string {
	at := time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC) // a Monday
	var all []memory.Utterance
	for _, m := range list {
		all = append(all, memory.Utterance{Role: memory.RoleUser, Name: m.name, Content: m.text, Time: at})
	}
	return extract(mem0.ExtractInput{Recent: all[:len(all)-1], New: all[len(all)-1:]}).Facts
}

// A fact names what it is about. What another sentence names is completed where it is certain, and what
// cannot be completed is no fact.
func TestFactsStandAlone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		before, text string
		want         []string
	}{
		// Named by the other side's question or statement.
		{"Have you ever tried pottery?", "I love it, it calms me down.", []string{"Ivo loves pottery, it calms Ivo down."}},
		{"Do you still play \"Catan\"?", "I play it every Friday with my cousins.", []string{"Ivo plays \"Catan\" every Friday with Ivo's cousins."}},
		{"How is your new bakery?", "I opened it in March with a loan from my uncle.", []string{"Ivo opened Ivo's new bakery in March with a loan from Ivo's uncle."}},
		{"Have you been to Lisbon?", "I lived there for two years.", []string{"Ivo lived in Lisbon for two years."}},
		{"How was it?", "I loved it!", nil},
		{"What do you think?", "I finally started last week.", nil},
		{"Any news?", "We had an amazing time and it was so worth it.", nil},
		{"How did it go?", "I was so nervous before the event.", nil},
		{"Tell me more.", "I enjoyed meeting them and hearing their stories.", nil},
		{"Why?", "I just want to make a difference with my voice.", nil},
		{"And now?", "I'm really proud of the progress so far.", nil},
		{"So?", "The whole experience taught me a lot.", nil},
		{"Which one?", "I bought the other one.", nil},
		{"What did you do?", "I told them about it yesterday.", nil},
		// Named by an earlier sentence of the same message.
		{"Hi!", "My sister runs a vegan bakery in Graz. I designed the logo.", []string{"Ivo's sister runs a vegan bakery in Graz."}},
		{"Hi!", "I adopted a greyhound named Pixel last month. I take him to the park every morning.",
			[]string{"Ivo adopted a greyhound named Pixel in April 2023. Ivo takes him to the park every morning."}},
		// Nothing is missing.
		{"Hi!", "I'm into jazz.", []string{"Ivo is into jazz."}},
		{"Hi!", "I swim every morning.", []string{"Ivo swims every morning."}},
		{"Hi!", "I got promoted last week!", []string{"Ivo got promoted in the week of 1 May 2023."}},
		{"Hi!", "I'm scared of spiders.", []string{"Ivo is scared of spiders."}},
		{"Hi!", "I take the tram to the office.", []string{"Ivo takes the tram to the office."}},
		{"Hi!", "My dentist appointment is on Friday.", []string{"Ivo's dentist appointment is on 12 May 2023."}},
	} {
		if got := learned(said{"Bea", c.before}, said{"Ivo", c.text}); !slices.Equal(got, nonNil(c.want)) {
			t.Errorf("%s %s\n got  %q\n want %q", c.before, c.text, got, c.want)
		}
	}
}

// Of a sentence of which one clause supposes, asks or addresses, the others are read.
func TestFactsClauseByClause(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"My husband got a job at Siemens last month, we may move to Berlin.": {"Ivo's husband got a job at Siemens in April 2023."},
		"Rui left Siemens in March and works at BMW now.":                    {"Rui left Siemens in March.", "Rui works at BMW now."},
		"Rui left Siemens, he works at BMW now.":                             {"Rui left Siemens, he works at BMW now."},
		"I left Siemens in March and work at BMW now.":                       {"Ivo left Siemens in March.", "Ivo works at BMW now."},
		"I'm a baker, so I might open my own shop one day.":                  {"Ivo is a baker."},
		"I have two kids, but I wish I had a garden.":                        {"Ivo has two kids."},
		"My mother lives in Porto, she could visit us in May.":               {"Ivo's mother lives in Porto."},
		"I moved to Graz in April, what about you?":                          {"Ivo moved to Graz in April."},
		"If it rains, I would stay home, but my wife works at the zoo.":      {"Ivo's wife works at the zoo."},
		"If I had a garden, I would plant roses.":                            nil,
		"Maybe I should call my sister in Rome.":                             nil,
		"我老公上个月在西门子找到了工作，我们可能会搬到柏林。":                                         {"Ivo的老公2023年4月在西门子找到了工作。"},
		"我妈妈住在成都，要是有空，我会去看她。":                                                {"Ivo的妈妈住在成都。"},
		"如果下雨，我就在家看书。":                                                       nil,
		"我很喜欢它。":                                                             nil,
	} {
		if got := learned(said{"Ivo", text}); !slices.Equal(got, nonNil(want)) {
			t.Errorf("%s\n got  %q\n want %q", text, got, want)
		}
	}
	if got := learned(said{"小安", "我养了一只小狗。"}, said{"小林", "真可爱！"}, said{"小安", "我每天带它去公园散步。"}); !slices.Equal(got, []string{"小安每天带小安的小狗去公园散步。"}) {
		t.Errorf("%q", got)
	}
}

// Praise, encouragement, thanks, farewell and set phrases neither relate two notes nor name what they are about.
func TestSmallTalkRelatesNothing(t *testing.T) {
	t.Parallel()
	h := New()
	describe := func(handle int, s string) memory.Described {
		a := h.analyze(amem.AnalyzeInput{Content: s})
		return memory.Described{Handle: handle, Content: s, Context: a.Context, Keywords: a.Keywords, Tags: a.Tags, Score: 0.6}
	}
	for _, c := range []struct {
		old, added string
		linked     bool
	}{
		{"Ana: Your dedication is so inspiring, keep up the great work!", "Bo: I love your dedication, your courage is inspiring!", false},
		{"Ana: Thanks Bo, your support means the world!", "Bo: Thank you for your support, Ana! You mean the world to me.", false},
		{"Ana: Bye Bo, talk to you soon! Take care!", "Bo: Bye Ana! Take care and talk soon!", false},
		{"Ana: That test was a piece of cake.", "Bo: I baked a lemon cake for the fair.", false},
		{"Ana: I'm over the moon about my new job!", "Bo: We watched the moon rise over the lake.", false},
		{"Ana: Taking my trip to Oslo was great.", "Bo: Our trip to Lima starts on Monday.", false},
		{"Ana: I'm game for anything.", "Bo: We won the game last night.", false},
		{"Ana: My mental health got better.", "Bo: My father's health worries me.", false},
		{"Ana: I started a pottery class in Graz.", "Bo: That's great! How is the pottery going?", true},
		{"Ana: My greyhound Pixel ran away.", "Bo: I saw a greyhound near the station.", true},
		{"Ana: We rehearse Verdi's Requiem with the choir.", "Bo: Our choir sings the Requiem in May.", true},
	} {
		in := amem.EvolveInput{New: describe(-1, c.added), Neighbors: []memory.Described{describe(0, "Zoe: Payments are rounded to cents."), describe(1, c.old)}}
		if got := evolve(in).SuggestedConnections; len(got) > 0 != c.linked {
			t.Errorf("%s\n%s\n links %v, keywords %q and %q", c.old, c.added, got, in.Neighbors[1].Keywords, in.New.Keywords)
		}
	}
}
