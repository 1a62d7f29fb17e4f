package analyst

import "github.com/slipboxhq/slipbox/internal/memory/policy/layered"

// layerCalls are the calls of the three layers.
func layerCalls() map[string]answerer {
	return map[string]answerer{
		layered.CallTriples:  answer(findTriples),
		layered.CallAbstract: answer(abstract),
	}
}

func findTriples(layered.TriplesInput) layered.TriplesAnswer {
	return layered.TriplesAnswer{Triples: []layered.Triple{}}
}

func abstract(layered.AbstractInput) layered.Abstract { return layered.Abstract{} }
