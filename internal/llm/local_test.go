package llm_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/encoder"
	"github.com/slipboxhq/slipbox/internal/encoder/weights"
	"github.com/slipboxhq/slipbox/internal/encoder/weights/weightstest"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func local(t *testing.T) *llm.Local {
	t.Helper()
	l := llm.NewLocal(llm.Deps{}, llm.Config{EncoderDir: weightstest.Dir(t)})
	t.Cleanup(func() { l.Close() })
	return l
}

func TestLocalStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := local(t).Embed(ctx, tenant.Scope{}, []string{"a", "b"}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// englishWeights returns a folder with the weights of the encoder for English alone.
func englishWeights(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := weights.Install(t.Context(), weights.Options{Dir: dir, From: weightstest.Dir(t)}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestRegistryByWeights(t *testing.T) {
	t.Parallel()
	good := weightstest.Dir(t)
	cut, half := t.TempDir(), englishWeights(t)
	for _, name := range []string{encoder.MiniLM.Files[1].Name, encoder.MiniLM.Files[0].Name} {
		if err := os.WriteFile(filepath.Join(cut, name), []byte("cut"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		cfg      llm.Config
		first    string
		notice   string // "": none
		fails    error  // nil: the registry is made
		expected bool
	}{
		"weights":                  {cfg: llm.Config{EncoderDir: good}, first: llm.ByLanguageName, expected: true},
		"weights, asked for":       {cfg: llm.Config{EncoderDir: good, EmbedProvider: llm.EmbedLocal}, first: llm.ByLanguageName, expected: true},
		"English asked for":        {cfg: llm.Config{EncoderDir: half, EmbedProvider: llm.EmbedEnglish}, first: llm.LocalName, expected: true},
		"English alone":            {cfg: llm.Config{EncoderDir: half}, first: llm.LocalName, notice: "languages other than English", expected: true},
		"half, both asked for":     {cfg: llm.Config{EncoderDir: half, EmbedProvider: llm.EmbedLocal}, fails: fs.ErrNotExist},
		"talk asked for":           {cfg: llm.Config{EncoderDir: good, EmbedProvider: llm.EmbedTalk}, first: llm.TalkName, expected: true},
		"half, talk asked for":     {cfg: llm.Config{EncoderDir: half, EmbedProvider: llm.EmbedTalk}, fails: fs.ErrNotExist},
		"weights, hash asked for":  {cfg: llm.Config{EncoderDir: good, EmbedProvider: llm.EmbedHash}, first: llm.HashName},
		"no weights":               {cfg: llm.Config{EncoderDir: t.TempDir()}, first: llm.HashName, notice: "not installed", expected: true},
		"no weights, asked for":    {cfg: llm.Config{EncoderDir: t.TempDir(), EmbedProvider: llm.EmbedLocal}, fails: fs.ErrNotExist},
		"no weights, not asked":    {cfg: llm.Config{EncoderDir: t.TempDir(), EmbedProvider: llm.EmbedHash}, first: llm.HashName},
		"damaged":                  {cfg: llm.Config{EncoderDir: cut}, first: llm.HashName, notice: "damaged", expected: true},
		"damaged, asked for":       {cfg: llm.Config{EncoderDir: cut, EmbedProvider: llm.EmbedLocal}, fails: encoder.ErrDamaged},
		"weights, without a cache": {cfg: llm.Config{EncoderDir: good, EmbedCache: -1}, first: llm.ByLanguageName, expected: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := llm.NewRegistry(llm.Deps{}, c.cfg)
			if c.fails != nil {
				if !errors.Is(err, c.fails) || !strings.Contains(err.Error(), "SLIPBOX_EMBEDDER="+c.cfg.EmbedProvider) {
					t.Errorf("%v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			if got := r.Default().Name(); got != c.first {
				t.Errorf("the default is %s", got)
			}
			n := r.Notices()
			if (c.notice == "") != (len(n) == 0) || c.notice != "" && !strings.Contains(n[0], c.notice) {
				t.Errorf("%q", n)
			}
			if (r.Check(t.Context()) == nil) != (c.notice == "") || r.Expected() != c.expected {
				t.Errorf("check %v, expected %v", r.Check(t.Context()), r.Expected())
			}
			for _, name := range []string{llm.LocalName, llm.MultilingualName, llm.ByLanguageName, llm.TalkName} {
				if _, ok := r.ByName(name); !ok {
					t.Errorf("collections of %s are not served", name)
				}
			}
		})
	}
}

// The encoders that are trained on talk have vectors of their own, which compare across languages.
func TestTalkReadsBothLanguages(t *testing.T) {
	t.Parallel()
	r, err := llm.NewRegistry(llm.Deps{}, llm.Config{EncoderDir: weightstest.Dir(t), EmbedProvider: llm.EmbedTalk})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	texts := []string{"Li Wei: I am allergic to peanuts.", "Li Wei: 我明天去杭州出差。", "Li Wei: 我对花生过敏。"}
	got, err := r.Default().Embed(t.Context(), tenant.Scope{}, texts)
	if err != nil {
		t.Fatal(err)
	}
	plain, _ := r.ByName(llm.ByLanguageName)
	before, err := plain.Embed(t.Context(), tenant.Scope{}, texts)
	if err != nil {
		t.Fatal(err)
	}
	dot := func(a, b []float32) (s float64) {
		for i := range a {
			s += float64(a[i]) * float64(b[i])
		}
		return s
	}
	if same, other := dot(got[0].Vector, got[2].Vector), dot(got[0].Vector, got[1].Vector); same < other+.1 {
		t.Errorf("cosine %.3f with the same in Chinese, %.3f with something else", same, other)
	}
	for i := range texts {
		if c := dot(got[i].Vector, before[i].Vector); c > .999 || len(got[i].Tokens) != len(before[i].Tokens) {
			t.Errorf("%q: cosine %.4f with the vector of %s; %d tokens, %d", texts[i], c, plain.Name(), len(got[i].Tokens), len(before[i].Tokens))
		}
	}
}

func BenchmarkLocal(b *testing.B) {
	l := llm.NewLocal(llm.Deps{}, llm.Config{EncoderDir: weightstest.Dir(b)})
	defer l.Close()
	text := []string{strings.Repeat("Two bee colonies survived the frost, wrapped in straw. ", 2)}
	for b.Loop() {
		if _, err := l.Embed(b.Context(), tenant.Scope{}, text); err != nil {
			b.Fatal(err)
		}
	}
}

// An endpoint cannot replace the local encoder under its name.
func TestEndpointOfTheLocalModel(t *testing.T) {
	t.Parallel()
	_, err := llm.NewRegistry(setup(t).deps, llm.Config{
		EmbedProvider: llm.ProviderOpenAI, EmbedBaseURL: "http://127.0.0.1:1", EmbedModel: "all-MiniLM-L6-v2", EmbedDim: 384,
	})
	if err == nil || !strings.Contains(err.Error(), "SLIPBOX_EMBED_MODEL") {
		t.Errorf("%v", err)
	}
}

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

// Sentences are read by the encoder for many languages, English ones too, where an encoder of many languages is the default.
func TestSentences(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]bool{"": true, llm.EmbedMultilingual: true, llm.EmbedEnglish: false, llm.EmbedHash: false} {
		r, err := llm.NewRegistry(llm.Deps{}, llm.Config{EncoderDir: weightstest.Dir(t), EmbedProvider: provider})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
		if got := r.Sentences(); (got != nil) != want || want && got.Name() != llm.ByLanguageName {
			t.Errorf("%q: %v", provider, got)
		}
	}
}
