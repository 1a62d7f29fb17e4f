package eval

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// The worked example of the metric's definition.
func TestMeasureWorkedExample(t *testing.T) {
	t.Parallel()
	ranked := []string{"x", "a", "y", "z", "b"}
	for i := 6; i < 30; i++ {
		ranked = append(ranked, "filler"+string(rune('A'+i)))
	}
	ranked = append(ranked, "c")
	s := Measure(ranked, []string{"a", "b", "c"})
	for name, v := range map[string][2]float64{
		"recall@5": {s.Recall5, 2.0 / 3}, "recall@50": {s.Recall50, 1}, "all@10": {s.All10, 0},
		"any@10": {s.Any10, 1}, "MRR": {s.MRR, 0.5}, "nDCG@10": {s.NDCG10, 0.4776},
	} {
		if math.Abs(v[0]-v[1]) > 5e-5 {
			t.Errorf("%s = %.4f, want %.4f", name, v[0], v[1])
		}
	}
}

func TestMeasureNothingFound(t *testing.T) {
	t.Parallel()
	if got := Measure(nil, []string{"a"}); got != (Score{}) {
		t.Errorf("Measure of an empty list = %+v, want zeros", got)
	}
}

func TestSample(t *testing.T) {
	t.Parallel()
	c, err := Sample()
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Turns) != 48 || len(c.Questions) != 14 {
		t.Fatalf("sample has %d turns and %d questions, want 48 and 14", len(c.Turns), len(c.Questions))
	}
	for _, q := range c.Questions {
		if len(q.Gold) == 0 {
			t.Errorf("question %q has no gold turn", q.Text)
		}
	}
}

func TestGoldRepairsPublishedIDs(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"D8:6": true, "D9:17": true, "D11:26": true, "D30:5": true}
	got := gold([]string{"D8:6; D9:17", "D:11:26", "D30:05 D8:6", "D99:1"}, known)
	want := []string{"D8:6", "D9:17", "D11:26", "D30:5"}
	if len(got) != len(want) {
		t.Fatalf("gold = %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("gold = %v, want %v", got, want)
		}
	}
}

// Counts of the published data, when EVAL_DATA names its folder.
func TestPublishedCounts(t *testing.T) {
	t.Parallel()
	dir := os.Getenv("EVAL_DATA")
	if dir == "" {
		t.Skip("EVAL_DATA is not set: the published conversations are not part of this repository")
	}
	cs, err := ReadLoCoMo(filepath.Join(dir, "locomo7.json"))
	if err != nil {
		t.Fatal(err)
	}
	turns, scored := 0, map[int]int{}
	for _, c := range cs {
		turns += len(c.Turns)
		for _, q := range c.Questions {
			if len(q.Gold) > 0 {
				scored[q.Category]++
			}
		}
	}
	if turns != 3889 || scored[1] != 195 || scored[2] != 223 || scored[3] != 61 || scored[4] != 585 || scored[5] != 310 {
		t.Errorf("turns %d, scored %v; want 3889 and 195, 223, 61, 585, 310", turns, scored)
	}
	users, err := ReadMemoryBank(filepath.Join(dir, "memorybank_en.json"))
	if err != nil {
		t.Fatal(err)
	}
	exchanges := 0
	for _, u := range users {
		exchanges += len(u.Turns) / 2
	}
	if len(users) != 15 || exchanges != 566 {
		t.Errorf("%d users with %d exchanges, want 15 and 566", len(users), exchanges)
	}
}
