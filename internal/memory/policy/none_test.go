package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipboxhq/slipbox/internal/memory/policy/policytest"
)

func TestNoneLeavesNotesAsTheyAre(t *testing.T) {
	t.Parallel()
	n := policytest.Note(9, "As given.")
	got, err := NewNone().Prepare(t.Context(), nil, n)
	if err != nil || !cmp.Equal(got, n) {
		t.Errorf("prepare gave %+v, %v", got, err)
	}
	dec, err := NewNone().Decide(t.Context(), nil, policytest.Added(n))
	if err != nil || !cmp.Equal(dec.Note, n) || len(dec.Links)+len(dec.Puts) != 0 {
		t.Errorf("decide gave %+v, %v", dec, err)
	}
}
