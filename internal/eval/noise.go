package eval

import (
	"context"
	"fmt"
)

// noiseK is the number of hits per query.
const noiseK = 10

// Noise measures how many hits of searches are noise, with or without the two-stage filter. The
// labels come with the data: for a question about the conversation its evidence is right; for a
// question about another conversation every hit is false.
type Noise struct {
	Questions    int     // questions with evidence
	Foreign      int     // questions about another conversation
	Recall       float64 // of the evidence in the first ten hits, over Questions
	FalseHits    float64 // hits of foreign questions as a share of the possible ten each
	FalseAnswers float64 // share of foreign questions with a hit
}

// MeasureNoise asks a loaded conversation its own questions and foreign ones.
func MeasureNoise(ctx context.Context, c *Client, loaded Loaded, own []Question, foreign []string, rerank string) (Noise, error) {
	var n Noise
	for _, q := range own {
		if len(q.Gold) == 0 {
			continue
		}
		ranked, err := searchTurns(ctx, c, loaded, q.Text, rerank)
		if err != nil {
			return n, err
		}
		n.countOwn(ranked, q.Gold)
	}
	for _, text := range foreign {
		ranked, err := searchTurns(ctx, c, loaded, text, rerank)
		if err != nil {
			return n, err
		}
		n.countForeign(len(ranked))
	}
	n.finish()
	return n, nil
}

// vectorSignal is the name of the cosine in explanations.
const vectorSignal = "vector"

// MeasureFloors asks without the filter, and measures for each floor what its first stage would
// keep: the first ten hits with a cosine above the floor.
func MeasureFloors(ctx context.Context, c *Client, loaded Loaded, own []Question, foreign []string, floors []float64) ([]Noise, error) {
	out := make([]Noise, len(floors))
	above := func(hits []Hit, floor float64) []Hit {
		var kept []Hit
		for _, h := range hits {
			for _, s := range h.Explain.Signals {
				if s.Name == vectorSignal && s.Raw > floor && len(kept) < noiseK {
					kept = append(kept, h)
				}
			}
		}
		return kept
	}
	for i := range len(own) + len(foreign) {
		var q Question
		if i < len(own) {
			if q = own[i]; len(q.Gold) == 0 {
				continue
			}
		} else {
			q.Text = foreign[i-len(own)]
		}
		found, err := c.Search(ctx, loaded.Collection, Query{Text: q.Text, Mode: Hybrid, K: cutOff, Explain: true, Fields: idsOnly})
		if err != nil {
			return nil, fmt.Errorf("search %q: %w", q.Text, err)
		}
		for j, floor := range floors {
			kept := above(found.Hits, floor)
			if i >= len(own) {
				out[j].countForeign(len(kept))
				continue
			}
			ranked, err := loaded.Turns(kept)
			if err != nil {
				return nil, err
			}
			out[j].countOwn(ranked, q.Gold)
		}
	}
	for j := range out {
		out[j].finish()
	}
	return out, nil
}

// countOwn counts one question about the conversation.
func (n *Noise) countOwn(ranked, gold []string) {
	n.Questions++
	n.Recall += recallAt(rankByTurn(ranked), gold, noiseK)
}

// countForeign counts one question about another conversation.
func (n *Noise) countForeign(hits int) {
	n.Foreign++
	n.FalseHits += float64(hits) / noiseK
	if hits > 0 {
		n.FalseAnswers++
	}
}

// finish turns the counts into shares.
func (n *Noise) finish() {
	n.Recall /= float64(max(n.Questions, 1))
	n.FalseHits /= float64(max(n.Foreign, 1))
	n.FalseAnswers /= float64(max(n.Foreign, 1))
}

// Merge averages over conversations, weighted by their questions.
func (n *Noise) Merge(m Noise) {
	weigh := func(a *float64, x int, b float64, y int) { *a = (*a*float64(x) + b*float64(y)) / float64(max(x+y, 1)) }
	weigh(&n.Recall, n.Questions, m.Recall, m.Questions)
	weigh(&n.FalseHits, n.Foreign, m.FalseHits, m.Foreign)
	weigh(&n.FalseAnswers, n.Foreign, m.FalseAnswers, m.Foreign)
	n.Questions += m.Questions
	n.Foreign += m.Foreign
}

func searchTurns(ctx context.Context, c *Client, loaded Loaded, text, rerank string) ([]string, error) {
	found, err := c.Search(ctx, loaded.Collection, Query{Text: text, Mode: "hybrid", K: noiseK, Rerank: rerank, Fields: []string{"id"}})
	if err != nil {
		return nil, fmt.Errorf("search %q: %w", text, err)
	}
	return loaded.Turns(found.Hits)
}

// SampleForeign returns questions that the bundled conversation does not answer.
func SampleForeign() []string {
	return []string{
		"Which university did Priya graduate from?",
		"How long is the marathon that Lukas trains for?",
		"What breed is the dog that Hannah adopted?",
		"When does the mortgage of the Petersons end?",
		"Which instrument does Mateo play in the orchestra?",
		"What was the diagnosis of Mr Okafor?",
		"How many moons did the telescope show?",
		"Which programming language does the backend use?",
		"Where was the wedding of Aiko and Ben?",
		"What did the inspector write about the elevator?",
	}
}
