package layers

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy/layered"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// shortStore keeps only the newest revision of some notes.
type shortStore struct {
	Store
	notes []memory.Note
}

func (s *shortStore) OpenView(_ context.Context, _ tenant.Scope, _ string, at memory.At) (memory.View, error) {
	if at.AsOf != nil {
		return memory.View{}, fault.New(fault.RevisionGone, "revision %d is no longer kept", *at.AsOf)
	}
	return memory.View{}, nil
}

func (s *shortStore) Notes(context.Context, tenant.Scope, memory.View, []uuid.UUID, memory.ReadOptions) ([]memory.Note, error) {
	return s.notes, nil
}

// A repeated request names only layers: when its revision is gone, items that have left theirs since are not in it.
func TestReplayWithoutRevision(t *testing.T) {
	t.Parallel()
	inLayer := func(layer string) memory.Note {
		return memory.Note{ID: uuid.New(), Kind: memory.KindNote, Attributes: map[string]any{layered.AttrLayer: layer}}
	}
	notes := []memory.Note{inLayer("log"), inLayer(layered.Episodic), {ID: uuid.New(), Kind: memory.KindKnowledge}, {ID: uuid.New(), Kind: memory.KindNote}}
	l := &Service{Store: &shortStore{notes: notes}}
	got := must.Get(l.replay(t.Context(), tenant.Scope{}, memory.AnswerIDs{}))(t)
	if len(got.Stored) != 2 || got.Stored[0].Layer != layered.Episodic || got.Stored[1].Layer != layered.Semantic {
		t.Errorf("%+v", got.Stored)
	}
}
