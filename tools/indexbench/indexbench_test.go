package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// byLetters embeds by counting letters. It replaces the encoder, whose weights a test may lack.
type byLetters struct{ asked int }

func (*byLetters) Name() string { return "letters" }
func (*byLetters) Dim() int     { return 64 }
func (*byLetters) Fast() bool   { return true }

func (e *byLetters) Embed(_ context.Context, _ tenant.Scope, texts []string) ([]memory.Embedding, error) {
	e.asked += len(texts)
	out := make([]memory.Embedding, len(texts))
	for i, t := range texts {
		out[i].Vector = make([]float32, e.Dim())
		for j := range len(t) - 1 {
			out[i].Vector[(int(t[j])*31+int(t[j+1]))%e.Dim()]++
		}
		for _, word := range strings.Fields(t)[:3] {
			token := memory.Token{Word: word}
			token.Code[int(word[0])%memory.TokenDim] = 127
			out[i].Tokens = append(out[i].Tokens, token)
		}
	}
	return out, nil
}

func quiet(string, ...any) {}

func testCorpus(t *testing.T, n, encode int) *corpus {
	t.Helper()
	c, err := newCorpus(t.Context(), []memory.Embedder{&byLetters{}}, t.TempDir(), n, encode, 20, quiet)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// C080, C300: recall and time are compared with exact search at any size. docs/benchmarks.md has the
// figures at 100,000 notes and more.
func TestEverybodyAnswers(t *testing.T) {
	t.Parallel()
	const n = 600
	r := &run{
		corpus: testCorpus(t, n, 400), graphs: n, length: 20 * time.Millisecond, logf: quiet,
		libraries: []library{vectors, hybrid, brute, chromemGo, sqliteVec, coderHNSW},
	}
	for _, size := range []int{300, n} {
		if err := r.size(t.Context(), size); err != nil {
			t.Fatal(err)
		}
	}
	exact := map[string]bool{bruteName: true, chromemName: true, sqliteName: true}
	for _, f := range r.result.Figures {
		if f.Calls == 0 || f.P50 <= 0 || f.Build <= 0 {
			t.Errorf("%s at %d: %+v", f.name(), f.Notes, f)
		}
		switch {
		case f.Library == oursHybrid:
			if f.Recall != nil {
				t.Errorf("%s has a recall, but ranks by more than vectors", f.Library)
			}
		case f.Library == oursVector && *f.Recall < 0.99, exact[f.Library] && *f.Recall < 0.999, *f.Recall <= 0 || *f.Recall > 1:
			t.Errorf("%s at %d: recall %v", f.name(), f.Notes, *f.Recall)
		}
	}
	if s := r.result.Sizes; len(s) != 2 || s[1].Encoded != 400 || s[1].Scan.Bytes != n*64 || s[1].Scan.Share() <= 0 {
		t.Errorf("sizes %+v", s)
	}
	dir := t.TempDir()
	if err := r.result.write(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"index-latency.svg", "index-recall.svg"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		wellFormed(t, name, text)
	}
}

func wellFormed(t *testing.T, name string, text []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if e, ok := token.(xml.StartElement); ok {
			for _, a := range e.Attr {
				if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") || strings.Contains(a.Value, "%!") {
					t.Errorf("%s: <%s %s=%q>", name, e.Name.Local, a.Name.Local, a.Value)
				}
			}
		}
	}
}

func TestRecallIsThatOfSorting(t *testing.T) {
	t.Parallel()
	c := testCorpus(t, 300, 300)
	c.vectors[7] = slices.Clone(c.vectors[3]) // of equal vectors, either is right
	truth := newTruth(c, len(c.vectors))
	for i := range c.queries {
		all := make([]int, len(c.vectors))
		for j := range all {
			all[j] = j
		}
		score := func(j int) float64 { return dot(c.queries[i].Vector, c.vectors[j]) }
		slices.SortFunc(all, func(a, b int) int { return cmp.Compare(score(b), score(a)) })
		if got := truth.recall(i, slices.Clone(all[:k])); got != 1 {
			t.Errorf("query %d: recall of the nearest is %v", i, got)
		}
		if got := truth.recall(i, append(slices.Clone(all[:4]), all[200:206]...)); math.Abs(got-0.4) > 1e-9 {
			t.Errorf("query %d: recall of four of them is %v", i, got)
		}
		if got := truth.recall(i, []int{all[0], all[0], all[0]}); math.Abs(got-0.1) > 1e-9 {
			t.Errorf("query %d: recall of one of them, thrice, is %v", i, got)
		}
	}
}

func TestEncodedNotesAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	get := func(n int) (*corpus, int) {
		e := &byLetters{}
		c, err := newCorpus(t.Context(), []memory.Embedder{e}, dir, n, n, 1, quiet)
		if err != nil {
			t.Fatal(err)
		}
		return c, e.asked - 1
	}
	first, asked := get(50)
	if asked != 50 {
		t.Fatalf("%d notes encoded", asked)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.bin"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	info, err := os.Stat(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(files[0], info.Size()-10); err != nil { // as after a killed run
		t.Fatal(err)
	}
	again, asked := get(50)
	if asked != 1 || !reflect.DeepEqual(first.vectors, again.vectors) || !reflect.DeepEqual(first.tokens, again.tokens) {
		t.Errorf("%d notes encoded again, or they differ", asked)
	}
	if _, asked = get(20); asked != 0 {
		t.Errorf("a shorter run encodes %d", asked)
	}
	if _, asked = get(60); asked != 10 {
		t.Errorf("a longer run encodes %d", asked)
	}
}

func TestTheTableReplacesTheFormer(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "benchmarks.md")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("above\n" + tableBegin + "\nold\n" + tableEnd + "\nbelow\n")
	for range 2 {
		if err := replace(path, "new\n"); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if want := "above\n" + tableBegin + "\n\nnew\n\n" + tableEnd + "\nbelow\n"; err != nil || string(text) != want {
		t.Errorf("%q, %v", text, err)
	}
	write("no marks")
	if err := replace(path, "new\n"); err == nil {
		t.Error("a file without marks is no error")
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var took []time.Duration
	for i := range 200 {
		took = append(took, time.Duration((i*37)%200))
	}
	if p50, p99 := percentile(took, .5), percentile(took, .99); p50 != 100 || p99 != 198 {
		t.Errorf("%d, %d", p50, p99)
	}
}
