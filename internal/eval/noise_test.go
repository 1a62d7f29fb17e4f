package eval

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// The first stage keeps the hits whose vectors are near enough, in their order.
func TestMeasureFloors(t *testing.T) {
	t.Parallel()
	gateway := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q Query
		_ = json.NewDecoder(r.Body).Decode(&q)
		cosines := map[string]float64{"gold": 0.6, "far": 0.3}
		if q.Text == "something else" {
			cosines = map[string]float64{"near": 0.5, "far": 0.3}
		}
		var found Found
		for _, n := range []string{"far", "near", "gold"} {
			if cosine, ok := cosines[n]; ok {
				h := Hit{Note: FoundNote{ID: n}}
				h.Explain.Signals = []Signal{{Name: "lexical", Raw: 9}, {Name: "vector", Raw: cosine}}
				found.Hits = append(found.Hits, h)
			}
		}
		_ = json.NewEncoder(w).Encode(found)
	})
	s := httptest.NewServer(gateway)
	defer s.Close()
	loaded := Loaded{Collection: "c", IDs: map[string]string{"gold": "D1:1", "near": "D1:2", "far": "D1:3"}}
	own := []Question{{Text: "what is asked", Gold: []string{"D1:1"}}, {Text: "without evidence"}}
	got := must.Get(MeasureFloors(t.Context(), &Client{BaseURL: s.URL, Key: "k"}, loaded, own, []string{"something else"}, []float64{0.1, 0.4, 0.6}))(t)
	for i, want := range []Noise{
		{Questions: 1, Foreign: 1, Recall: 1, FalseHits: 0.2, FalseAnswers: 1},
		{Questions: 1, Foreign: 1, Recall: 1, FalseHits: 0.1, FalseAnswers: 1},
		{Questions: 1, Foreign: 1}, // 0.6 is not above 0.6
	} {
		if got[i] != want {
			t.Errorf("floor %d: %+v, want %+v", i, got[i], want)
		}
	}
}
