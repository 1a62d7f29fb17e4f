package eval

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// generatedQuestions is how many things a generated history is asked about.
const generatedQuestions = 40

// Generated returns a history of about so many tokens: people who talk about everyday things, always the same ones. Spread over it are
// facts, each said once, which its questions are about.
func Generated(tokens int, budgets []int) *Dataset {
	c := Conversation{ID: fmt.Sprintf("generated-%d", tokens)}
	rng := rand.New(rand.NewPCG(17, 19)) //nolint:gosec // a text that is always the same
	pick := func(list []string) string { return list[rng.IntN(len(list))] }
	things := []string{"the spare key", "the family recipe", "the insurance letter", "the old medal", "the blue notebook", "the train tickets", "the wedding film", "the sealed envelope"}
	places := []string{"inside the piano", "under the third stair", "in a biscuit tin", "behind the boiler", "in the flour jar", "beneath the chess table", "in a riding boot", "between two atlases"}
	others := newDistractors()
	have := 0
	add := func(speaker, text string) {
		n := len(c.Turns)
		t := newTurn(fmt.Sprint(n+1), speaker, "", fmt.Sprint(n/20+1), text, time.Date(2020, 1, 1, n/20, 0, n%20, 0, time.UTC), func() {})
		have += Tokens(t.Rendered)
		c.Turns = append(c.Turns, t)
	}
	for i := 0; have < tokens; {
		// The facts are in the middles of equal parts of the history.
		if i < generatedQuestions && have >= tokens*(2*i+1)/(2*generatedQuestions) {
			// No two questions are about the same thing of the same person.
			who, thing, place := otherNames[i%len(otherNames)], things[(i/len(otherNames)*3+i)%len(things)], pick(places)
			add(who, fmt.Sprintf("I have hidden %s %s, where nobody looks.", thing, place))
			c.Questions = append(c.Questions, Question{
				Text: fmt.Sprintf("Where has %s hidden %s?", who, thing), Answer: place, Category: "needle", Gold: []string{c.Turns[len(c.Turns)-1].ID}, Audited: []string{c.Turns[len(c.Turns)-1].ID},
			})
			i++
			continue
		}
		n := others.next(1)[0]
		who, text, _ := strings.Cut(n.Content, ": ")
		add(who, text)
	}
	return &Dataset{Name: "generated", Conversations: []Conversation{c}, Categories: []string{"needle"}, Budgets: budgets}
}

// Add adds the conversations of another data set.
func (d *Dataset) Add(other *Dataset) {
	d.Conversations = append(d.Conversations, other.Conversations...)
	for _, c := range other.Categories {
		if c != "" {
			d.Categories = append(d.Categories, c)
		}
	}
}
