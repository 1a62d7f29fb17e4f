package recall_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

// countingStore counts the notes that are read by their versions.
type countingStore struct {
	memory.Reader
	notes atomic.Int64
}

func (c *countingStore) Versions(ctx context.Context, s tenant.Scope, v memory.View, keys []memory.Version) ([]memory.Note, error) {
	c.notes.Add(int64(len(keys)))
	return c.Reader.Versions(ctx, s, v, keys)
}

// addExchanges adds exchanges of a question and its answer.
func (r *fixture) addExchanges(c memory.Collection, n int, question string) {
	r.t.Helper()
	must.Get(r.store.Write(r.t.Context(), r.all, c.ID, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
		for i := range n {
			turn := uuid.NewString()
			for k, role := range []memory.Role{memory.RoleUser, memory.RoleAssistant} {
				text := fmt.Sprint(question, " ", i)
				if role == memory.RoleAssistant {
					text = fmt.Sprint("It is so since the year ", i)
				}
				_, err := tx.Put(ctx, memory.Note{
					Kind: memory.KindMessage, Content: text, State: memory.StateEvolved, OccurredAt: r.Now().Add(time.Duration(2*i+k) * time.Second),
					Attributes: map[string]any{memory.AttrTurn: turn, memory.AttrRole: string(role)},
				})
				if err != nil {
					return err
				}
			}
		}
		return nil
	}))(r.t)
}

// TestExchangesReadWhatTheyShow: a search that recalls whole exchanges reads the notes that it shows and no others, however many
// notes it ranked and however large the collection is.
func TestExchangesReadWhatTheyShow(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	counted := &countingStore{Reader: r.store}
	judge := must.Get(policy.NewJudge())(t)
	r.recall = must.Get(recall.New(recall.Deps{
		Store: counted, Embedders: r.embedder, Model: r.model, Judge: judge, Policies: memory.NewPolicySet(policy.NewNone(), configuredPolicy{}), Clock: r.Now,
	}, recall.Config{}))(t)
	for _, size := range []int{10, 300} {
		c := r.addWithReading(fmt.Sprint("talk", size), memory.Reading{Kinds: []memory.Kind{memory.KindMessage}, PieceChars: 1000})
		r.addExchanges(c, size, "Where is the ferry")
		r.search(c, recall.Query{Text: "ferry", K: 3})
		before := counted.notes.Load()
		out := r.search(c, recall.Query{Text: "ferry", K: 3})
		var shown []uuid.UUID
		for _, h := range out.Hits {
			for i := range h.Exchange {
				shown = append(shown, h.Exchange[i].ID)
			}
			if len(h.Exchange) != 2 || h.Exchange[0].Attributes[memory.AttrRole] != string(memory.RoleUser) {
				t.Errorf("of %d: the exchange of %s is %v", size, h.ID, h.Exchange)
			}
		}
		slices.SortFunc(shown, memory.CompareIDs)
		if read := counted.notes.Load() - before; len(out.Hits) != 3 || len(slices.Compact(shown)) != 6 || read != 6 {
			t.Errorf("of %d: %d hits with %d notes, and %d notes were read", size, len(out.Hits), len(shown), read)
		}
	}
}

// TestExchangeBeyondABudget: of an exchange that does not fit into a budget of tokens, the message that was found is shown alone.
func TestExchangeBeyondABudget(t *testing.T) {
	t.Parallel()
	r := open(t, recall.Config{})
	c := r.addWithReading("talk", memory.Reading{Kinds: []memory.Kind{memory.KindMessage}, PieceChars: 1000})
	r.addExchanges(c, 3, "Where is the ferry")
	for _, test := range []struct{ budget, hits, exchanges int }{{1000, 3, 3}, {20, 2, 1}, {7, 1, 0}, {1, 0, 0}} {
		exchanges := 0
		out := r.search(c, recall.Query{Text: "ferry", K: 3, TokenBudget: test.budget})
		for i := range out.Hits {
			exchanges += min(1, len(out.Hits[i].Exchange))
		}
		if len(out.Hits) != test.hits || exchanges != test.exchanges {
			t.Errorf("within %d tokens there are %d hits, %d of them with their exchange; want %d, %d", test.budget, len(out.Hits), exchanges, test.hits, test.exchanges)
		}
	}
}
