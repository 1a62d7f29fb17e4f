package llm_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// tokened returns as many tokens as a text has words.
type tokened struct{ llm.Hash }

func (tokened) Embed(_ context.Context, _ tenant.Scope, texts []string) ([]memory.Embedding, error) {
	out := make([]memory.Embedding, len(texts))
	for i, t := range texts {
		out[i].Vector = []float32{1}
		for w := range strings.FieldsSeq(t) {
			out[i].Tokens = append(out[i].Tokens, memory.Token{Word: w})
		}
	}
	return out, nil
}

// An embedding with as many tokens as a long note is not cached.
func TestCacheKeepsShortTexts(t *testing.T) {
	t.Parallel()
	c := llm.NewCached(tokened{}, 10)
	if c.NoiseFloor() != 0 || llm.NewCached(&llm.Local{}, 1).NoiseFloor() != (&llm.Local{}).NoiseFloor() {
		t.Error("a cache has a floor that is not its embedder's")
	}
	short, long := strings.Repeat("word ", 64), strings.Repeat("word ", 65)
	scope := setup(t).scope
	for range 2 {
		if out, err := c.Embed(t.Context(), scope, []string{short, long}); err != nil || len(out[0].Tokens) != 64 || len(out[1].Tokens) != 65 {
			t.Fatalf("%v, %v", out, err)
		}
	}
	if s := c.Stats(); s.Entries != 1 || s.Misses != 3 || s.Hits != 1 {
		t.Errorf("%+v", s)
	}
}

// meeting is an embedder whose calls end together.
type meeting struct {
	tokened
	arrived *sync.WaitGroup
}

func (m meeting) Embed(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error) {
	m.arrived.Done()
	m.arrived.Wait()
	return m.tokened.Embed(ctx, s, texts)
}

// Several calls add to one cache at the same time. The race detector runs this.
func TestCacheIsConcurrent(t *testing.T) {
	t.Parallel()
	const callers = 4
	var arrived, calls sync.WaitGroup
	arrived.Add(callers)
	c := llm.NewCached(meeting{arrived: &arrived}, callers)
	scope := setup(t).scope
	for i := range callers {
		calls.Go(func() {
			if out, err := c.Embed(t.Context(), scope, []string{fmt.Sprint("text ", i)}); err != nil || len(out) != 1 || len(out[0].Tokens) != 2 {
				t.Errorf("%v, %v", out, err)
			}
		})
	}
	calls.Wait()
	if s := c.Stats(); s.Entries != callers || s.Misses != callers {
		t.Errorf("%+v", s)
	}
}
