package encoder

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// findModel returns the folder of the weights for tests.
func findModel() (string, error) {
	if dir := os.Getenv("SLIPBOX_ENCODER_DIR"); dir != "" {
		return dir, nil
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "slipbox", "encoder"), err
}

// modelDir is findModel for a test that requires the weights.
func modelDir(tb testing.TB, m *Model) string {
	tb.Helper()
	dir, err := findModel()
	if err != nil {
		tb.Fatal(err)
	}
	for _, f := range m.Files {
		if _, err = os.Stat(filepath.Join(dir, f.Name)); err != nil {
			break
		}
	}
	switch {
	case !errors.Is(err, fs.ErrNotExist):
	case os.Getenv("SLIPBOX_REQUIRE_SERVICES") == "1":
		tb.Fatalf("the encoder's weights are not in %s: run gateway encoder install", dir)
	default:
		tb.Skipf("the encoder's weights are not in %s: run gateway encoder install", dir)
	}
	return dir
}

// published reads the weights of each model once for all tests.
var published = map[*Model]func() (*Encoder, error){
	MiniLM: readOnce(MiniLM), E5: readOnce(E5), MiniLMForTalk: readOnce(MiniLMForTalk), E5ForTalk: readOnce(E5ForTalk), E5ForTalk2: readOnce(E5ForTalk2),
}

func readOnce(m *Model) func() (*Encoder, error) {
	return sync.OnceValues(func() (*Encoder, error) {
		dir, err := findModel()
		if err != nil {
			return nil, err
		}
		return Open(m, dir)
	})
}

// open returns an encoder on the published weights of MiniLM that the test does not share.
func open(tb testing.TB) *Encoder {
	tb.Helper()
	return openModel(tb, MiniLM)
}

func openModel(tb testing.TB, m *Model) *Encoder {
	tb.Helper()
	modelDir(tb, m)
	e := must.Get(published[m]())(tb)
	return assemble(e.vocab, e.weights, Config{})
}

// The result for a text has the same bits in every batch.
func TestBatch(t *testing.T) {
	t.Parallel()
	e := open(t)
	e.batches = make(chan struct{}, 3)
	texts := goldenTexts(t)
	texts = append(texts, texts...)
	slices.Reverse(texts)
	together := must.Get(e.Encode(t.Context(), texts))(t)
	if len(together) != len(texts) {
		t.Fatalf("%d encodings of %d texts", len(together), len(texts))
	}
	for i, text := range texts {
		alone := must.Get(e.Encode(t.Context(), []string{text}))(t)
		if !reflect.DeepEqual(alone[0], together[i]) {
			t.Errorf("%q: alone and in a batch differ", excerpt(text))
		}
	}
}

// Concurrent calls do not affect one another.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	e := open(t)
	texts := goldenTexts(t)[:24]
	want := must.Get(e.Encode(t.Context(), texts))(t)
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			some := texts[i*6 : (i+1)*6]
			if i == 0 {
				some = texts[:1]
			}
			got, err := e.Encode(t.Context(), some)
			if err != nil {
				t.Error(err)
				return
			}
			if !reflect.DeepEqual(got, want[i*6:i*6+len(some)]) {
				t.Error("encodings differ from those made alone")
			}
		})
	}
	wait.Wait()
}

func TestKernel(t *testing.T) {
	t.Parallel()
	if got := Kernel(); got != available()[0].name {
		t.Errorf("kernel %q, want the best of those available, %q", got, available()[0].name)
	}
}

// For any text, the vector has unit length and the tokens are inside the text.
func TestAnyText(t *testing.T) {
	t.Parallel()
	e := open(t)
	texts := []string{
		"", " ", "\x00\x01\x02", "\xff\xfe", "😀", strings.Repeat("😀🎉", 500), "\u0301\u0301",
		strings.Repeat("lorem ipsum dolor ", 64<<10/18), strings.Repeat("a", 64<<10), strings.Repeat("漢", 64<<10/3),
		strings.Repeat("[SEP]", 1000), "\u202eمرحبا\u202c", "ﷺ",
	}
	got := must.Get(e.Encode(t.Context(), texts))(t)
	for i, g := range got {
		if norm := dot(g.Vector, g.Vector); len(g.Vector) != Dim || !(math.Abs(norm-1) < 1e-5) {
			t.Errorf("%q: %d numbers of square length %v", excerpt(texts[i]), len(g.Vector), norm)
		}
		for _, token := range g.Tokens {
			if token.Start < 0 || token.Start >= token.End || token.End > len(texts[i]) {
				t.Errorf("%q: token at %d to %d", excerpt(texts[i]), token.Start, token.End)
			}
			var square float64
			for _, c := range token.Code {
				square += float64(c) * float64(c)
			}
			if length := math.Sqrt(square); math.Abs(length-127) > 3 {
				t.Errorf("%q: a code of length %v", excerpt(texts[i]), length)
			}
		}
	}
	none, err := e.Encode(t.Context(), nil)
	if err != nil || len(none) != 0 {
		t.Errorf("no text: %v, %v", none, err)
	}
}

func TestCanceled(t *testing.T) {
	t.Parallel()
	e := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, texts := range [][]string{{"one"}, {"one", "two"}} {
		if _, err := e.Encode(ctx, texts); !errors.Is(err, context.Canceled) {
			t.Errorf("%d texts: %v, want %v", len(texts), err, context.Canceled)
		}
	}
	// When all slots are taken, a call waits no longer than its context.
	e.batches = make(chan struct{}, 1)
	e.batches <- struct{}{}
	ctx, cancel = context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := e.Encode(ctx, []string{"one", "two"})
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("waiting: %v, want %v", err, context.Canceled)
	}
}

// A search does not wait for batches.
func TestSearchPassesBatches(t *testing.T) {
	t.Parallel()
	e := open(t)
	for range cap(e.batches) {
		e.batches <- struct{}{} // like running batches
	}
	if _, err := e.Encode(t.Context(), []string{"where are the keys?"}); err != nil {
		t.Error(err)
	}
}

// A small batch is shared by all workers; of a large one no pass has more pieces than fit the cache.
func TestGroup(t *testing.T) {
	t.Parallel()
	of := func(rows ...int) []input {
		var out []input
		for _, n := range rows {
			out = append(out, input{ids: make([]int32, n)})
		}
		return out
	}
	many := make([]int, 40)
	for i := range many {
		many[i] = 30
	}
	for name, c := range map[string]struct {
		in      []input
		workers int
		want    []span
	}{
		"four texts, two workers":   {of(40, 40, 40, 40), 2, []span{{0, 2}, {2, 4}}},
		"four texts, one worker":    {of(20, 40, 20, 40), 1, []span{{0, 4}}},
		"too short to share":        {of(5, 5, 5), 4, []span{{0, 3}}},
		"a text longer than a pass": {of(300, 10, 10), 2, []span{{0, 1}, {1, 3}}},
		"none":                      {nil, 2, nil},
		"many":                      {of(many...), 2, []span{{0, 4}, {4, 8}, {8, 12}, {12, 16}, {16, 20}, {20, 24}, {24, 28}, {28, 32}, {32, 36}, {36, 40}}},
	} {
		if got := group(c.in, c.workers); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// While a single text is computed, half of the workers of a batch begin no pass, and the others encode all of it.
func TestBatchLeavesCPUs(t *testing.T) {
	t.Parallel()
	e := open(t)
	e.batches = make(chan struct{}, 4)
	if !e.mayPass(3) {
		t.Error("a batch alone does not use all workers")
	}
	e.searches <- struct{}{}
	if !e.mayPass(1) || e.mayPass(2) {
		t.Error("workers beside a single text: want two of four")
	}
	texts := goldenTexts(t)
	out, err := e.Encode(t.Context(), texts)
	if err != nil || slices.ContainsFunc(out, func(enc Encoding) bool { return enc.Vector == nil }) {
		t.Errorf("a batch beside a single text: %v", err)
	}
}

func dot(a, b []float32) float64 {
	var s float64
	for i, v := range a {
		s += float64(v) * float64(b[i])
	}
	return s
}

func cosine(a, b []float32) float64 { return dot(a, b) / math.Sqrt(dot(a, a)*dot(b, b)) }
