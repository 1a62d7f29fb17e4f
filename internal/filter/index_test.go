package filter

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/test/must"
)

// A long list of values matches what a search of the list matches.
func TestLongListsMatchAsShortOnes(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	value := func() Value {
		switch rng.IntN(4) {
		case 0:
			return Value{Type: Text, Text: fmt.Sprint(rng.IntN(40))}
		case 1:
			return Value{Type: Number, Number: float64(rng.IntN(40)) / 2}
		case 2:
			return Value{Type: Bool, Bool: rng.IntN(2) == 0}
		default:
			at := time.Unix(int64(rng.IntN(40)), 0)
			return Value{Type: Time, Time: at.In(time.FixedZone("x", rng.IntN(3)*3600))}
		}
	}
	matched := 0
	for range 500 {
		l := &Leaf{Op: In}
		for range longList + rng.IntN(30) {
			l.Values = append(l.Values, value())
		}
		l.index()
		if l.set == nil {
			t.Fatal("a long list has no set")
		}
		v := value()
		want := slices.ContainsFunc(l.Values, func(w Value) bool { return equal(v, w) })
		if l.has(v) != want {
			t.Fatalf("%+v in %+v: %v", v, l.Values, l.has(v))
		}
		if want {
			matched++
		}
	}
	if matched < 50 || matched > 450 {
		t.Errorf("%d of 500 matched", matched)
	}
}

// Every long list of a filter has its set, so that the largest filter does not compare each note with
// all values of all conditions.
func TestParsedListsHaveSets(t *testing.T) {
	t.Parallel()
	values := make([]string, MaxValues)
	for i := range values {
		values[i] = fmt.Sprintf("v%d", i)
	}
	raw := must.Get(json.Marshal(values))(t)
	leaf := `{"field":"category","op":"in","value":` + string(raw) + `}`
	expr := must.Get(Parse([]byte(`{"or":[` + strings.TrimSuffix(strings.Repeat(leaf+",", MaxLeaves), ",") + `]}`)))(t)
	leaves := expr.(Or)
	if len(leaves) != MaxLeaves {
		t.Fatal(len(leaves))
	}
	for _, e := range leaves {
		if l, ok := e.(*Leaf); !ok || len(l.set) != MaxValues {
			t.Fatalf("a list without a set: %+v", e)
		}
	}
	if !Match(expr, &Record{Category: "v255"}) || Match(expr, &Record{Category: "v256"}) {
		t.Error("the wrong notes match")
	}
}
