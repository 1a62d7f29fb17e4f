//go:build !race

package llm_test

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/encoder"
	"github.com/slipboxhq/slipbox/internal/encoder/weights"
	"github.com/slipboxhq/slipbox/internal/encoder/weights/weightstest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	heads "github.com/slipboxhq/slipbox/internal/said"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/test/must"
)

func TestLocal(t *testing.T) {
	t.Parallel()
	l := local(t)
	if l.Name() != llm.LocalName || l.Dim() != 384 || !l.Fast() {
		t.Errorf("%s %d %v", l.Name(), l.Dim(), l.Fast())
	}
	texts := []string{
		"Two bee colonies survived the frost.",
		"The insects lived through the cold winter.", // no word in common
		"The payment tests failed because of currency rounding.",
		"", "   ", "👍", "?!",
		"what is it",
		strings.Repeat("frost and bees ", 5000),
	}
	// More than one batch, in an order that reveals mistakes.
	var many []string
	for range 8 {
		many = append(many, texts...)
	}
	got, err := l.Embed(t.Context(), tenant.Scope{}, many)
	if err != nil || len(got) != len(many) {
		t.Fatalf("%d %v", len(got), err)
	}
	cos := func(a, b []float32) (s float64) {
		for i := range a {
			s += float64(a[i]) * float64(b[i])
		}
		return s
	}
	for i := range got {
		if v := got[i].Vector; len(v) != l.Dim() || math.Abs(cos(v, v)-1) > 1e-5 || !slices.Equal(v, got[i%len(texts)].Vector) {
			t.Errorf("%.20q: %d numbers of length %g", many[i], len(v), cos(v, v))
		}
	}
	if near, far := cos(got[0].Vector, got[1].Vector), cos(got[0].Vector, got[2].Vector); near < far+0.2 {
		t.Errorf("meaning: near %.3f, far %.3f", near, far)
	}
	words := func(i int) (out []string) {
		for _, w := range got[i].Tokens {
			if len(out) == 0 || out[len(out)-1] != w.Word {
				out = append(out, w.Word)
			}
		}
		return out
	}
	if w := words(0); !slices.Equal(w, []string{"Two", "bee", "colonies", "survived", "frost"}) {
		t.Errorf("words that tell: %q", w)
	}
	for _, i := range []int{3, 4, 6, 7} {
		if got[i].Tokens != nil {
			t.Errorf("%q has tokens of %q", texts[i], words(i))
		}
	}
	if n := len(got[8].Tokens); n < 100 || n > encoder.MiniLM.MaxTokens {
		t.Errorf("a long text has %d tokens", n)
	}
	if n := len(got[0].Codes()); n != memory.TokenDim*len(got[0].Tokens) {
		t.Errorf("%d bytes of codes for %d tokens", n, len(got[0].Tokens))
	}
}

// Weights that are damaged while in use make calls fail, and are opened again after an install.
func TestLocalDamagedInUse(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	must.Do(t, os.CopyFS(dir, os.DirFS(weightstest.Dir(t))))
	l := llm.NewLocal(llm.Deps{Clock: func() time.Time { return now }}, llm.Config{EncoderDir: dir})
	defer l.Close()
	embed := func() error {
		_, err := l.Embed(t.Context(), tenant.Scope{}, []string{"zebra", "quartz"})
		return err
	}
	must.Do(t, embed())
	must.Do(t, os.Truncate(filepath.Join(dir, encoder.MiniLM.Files[1].Name), 1000))
	if err := embed(); !fault.Is(err, fault.ModelFailed) || l.Fast() {
		t.Errorf("fast %v: %v", l.Fast(), err)
	}
	now = now.Add(time.Minute)
	if err := embed(); !fault.Is(err, fault.Unavailable) || !errors.Is(err, encoder.ErrDamaged) || !errors.Is(err, memory.ErrPaused) {
		t.Errorf("damaged on disk: %v", err)
	}
	if fresh, err := weights.Install(t.Context(), weights.Options{Dir: dir, From: weightstest.Dir(t)}); !fresh || err != nil {
		t.Fatal(fresh, err)
	}
	now = now.Add(time.Minute)
	if err := embed(); err != nil || !l.Fast() {
		t.Errorf("mended: %v", err)
	}
}

// Without weights the embedder is like an endpoint that is down: no job is lost, and it works as soon
// as they are installed.
func TestLocalWithoutWeights(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Now()
	l := llm.NewLocal(llm.Deps{Clock: func() time.Time { return now }}, llm.Config{EncoderDir: dir})
	defer l.Close()
	for range 2 {
		_, err := l.Embed(t.Context(), tenant.Scope{}, []string{"x"})
		if !fault.Is(err, fault.Unavailable) || !errors.Is(err, memory.ErrPaused) || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), dir) {
			t.Errorf("%v", err)
		}
		var f *fault.Error
		if !errors.As(err, &f) || strings.Contains(f.Message, dir) || !strings.Contains(f.Message, "gateway encoder install") {
			t.Errorf("%v", err)
		}
	}
	if l.Fast() {
		t.Error("it is fast without weights")
	}
	must.Get(weights.Install(t.Context(), weights.Options{Dir: dir, From: weightstest.Dir(t)}))(t)
	if err := l.Open(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it looked again at once: %v", err)
	}
	now = now.Add(11 * time.Second)
	if out, err := l.Embed(t.Context(), tenant.Scope{}, []string{"x"}); err != nil || len(out) != 1 || !l.Fast() {
		t.Errorf("after an install: %v", err)
	}
}

// Each text is read by the encoder for its language, in any order, and English as the encoder for English alone reads
// it. English words and tags make no Chinese note English. What needs weights that are missing fails by itself.
func TestByLanguage(t *testing.T) {
	t.Parallel()
	alone := local(t)
	b := llm.NewByLanguage(llm.Deps{}, llm.Config{EncoderDir: weightstest.Dir(t)}, alone)
	t.Cleanup(func() { _ = b.Close() })
	if b.Name() != llm.ByLanguageName || b.Dim() != alone.Dim() || b.NoiseFloor() != alone.NoiseFloor() {
		t.Errorf("%s %d %g", b.Name(), b.Dim(), b.NoiseFloor())
	}
	tagged := memory.EmbedText(&memory.Note{Content: "我对花生过敏。", Keywords: []string{"Lao Gan Ma"}, Tags: []string{"health", "food", "preference", "statement"}})
	texts := []string{"我对花生过敏。", "I am allergic to peanuts.", "办公室的暖气坏了。", "The heating in the office is broken.", "", tagged, "Carmen 2025年6月22日考完 CAMS，八成穩"}
	got, err := b.Embed(t.Context(), tenant.Scope{}, texts)
	if err != nil || len(got) != len(texts) {
		t.Fatal(len(got), err)
	}
	want := must.Get(alone.Embed(t.Context(), tenant.Scope{}, texts))(t)
	for i := range texts {
		if same := slices.Equal(got[i].Vector, want[i].Vector); same != (i == 1 || i == 3 || i == 4) {
			t.Errorf("%q: the vector of the encoder for English is %v", texts[i], same)
		}
	}
	near, _ := memory.Cosine(got[0].Vector, got[1].Vector)
	if far, _ := memory.Cosine(got[0].Vector, got[3].Vector); near < far+0.1 {
		t.Errorf("a sentence and its translation have a cosine of %.2f, another one %.2f", near, far)
	}
	asked, err := b.EmbedQueries(t.Context(), tenant.Scope{}, texts[:2])
	if err != nil || slices.Equal(asked[0].Vector, got[0].Vector) || !slices.Equal(asked[1].Vector, got[1].Vector) {
		t.Errorf("questions: %v", err)
	}

	half := llm.NewByLanguage(llm.Deps{}, llm.Config{EncoderDir: englishWeights(t)}, nil)
	t.Cleanup(func() { _ = half.Close() })
	if _, err := half.Embed(t.Context(), tenant.Scope{}, texts[:1]); !errors.Is(err, memory.ErrPaused) {
		t.Errorf("%v", err)
	}
	if _, err := half.Embed(t.Context(), tenant.Scope{}, texts[1:2]); err != nil || !half.Fast() {
		t.Errorf("fast %v: %v", half.Fast(), err)
	}
}

// Short texts in a language that is written as English is are all read by the encoder for other languages, so that they compare, also
// in languages whose stop words are not known. English stays English with foreign names, and when it is short.
func TestShortTextsByLanguage(t *testing.T) {
	t.Parallel()
	alone := local(t)
	b := llm.NewByLanguage(llm.Deps{}, llm.Config{EncoderDir: weightstest.Dir(t)}, alone)
	t.Cleanup(func() { _ = b.Close() })
	english := []string{"Siobhán moved to Łódź in May with Krzysztof", "Nora's kiln", "ok", "Thanks, see you on Friday!", "Where does Wanjiru live?", "4711", "Lunch at noon"}
	others := []string{
		"Ana vive en Bergen.", "Ana se mudó a Oslo.", "Lena zog nach Oslo.", "Gdzie mieszka Basia?", "Basia mieszka w Gdyni od maja",
		"Bà Hoa sống ở Huế từ năm ngoái", "Budi tinggal di Bandung sejak Mei", "Kde bydlí Jana?",
	}
	texts := slices.Concat(english, others)
	got := must.Get(b.Embed(t.Context(), tenant.Scope{}, texts))(t)
	want := must.Get(alone.Embed(t.Context(), tenant.Scope{}, texts))(t)
	for i, s := range texts {
		if same := slices.Equal(got[i].Vector, want[i].Vector); same != (i < len(english)) || got[i].Second == same {
			t.Errorf("%q: the vector of the encoder for English is %v, it says %v", s, same, got[i].Second)
		}
	}
	if near, _ := memory.Cosine(got[len(english)].Vector, got[len(english)+1].Vector); near < 0.4 {
		t.Errorf("%q and %q have a cosine of %.2f", others[0], others[1], near)
	}
}

// A repeated text is not encoded again; sizes and hits are visible (C302).
func TestLocalIsCached(t *testing.T) {
	t.Parallel()
	r := must.Get(llm.NewRegistry(llm.Deps{}, llm.Config{EncoderDir: weightstest.Dir(t), EmbedCache: 2}))(t)
	defer r.Close()
	for _, text := range []string{"bees", "bees", "frost", "straw", "bees"} {
		must.Get(r.Default().Embed(t.Context(), tenant.Scope{}, []string{text}))(t)
	}
	if got, want := r.Caches()[llm.TalkName], (llm.CacheStats{Hits: 1, Misses: 4, Entries: 2, Capacity: 2}); got != want {
		t.Errorf("%+v", got)
	}
}

// The multilingual encoder is the default when it is selected, and always there for the collections that
// name it. It reads a question otherwise than what answers it, also behind the cache.
func TestMultilingual(t *testing.T) {
	t.Parallel()
	r := must.Get(llm.NewRegistry(llm.Deps{}, llm.Config{EncoderDir: weightstest.Dir(t), EmbedProvider: llm.EmbedMultilingual}))(t)
	t.Cleanup(func() { _ = r.Close() })
	if name := r.Default().Name(); name != llm.MultilingualName || !r.Expected() || len(r.Notices()) > 0 {
		t.Errorf("default %q, notices %v", name, r.Notices())
	}
	e, ok := r.Default().(memory.QueryEmbedder)
	if !ok {
		t.Fatal("it reads questions as notes")
	}
	const text = "花生"
	for range 2 { // the second time from the cache
		note := must.Get(e.Embed(t.Context(), tenant.Scope{}, []string{text}))(t)
		query := must.Get(e.EmbedQueries(t.Context(), tenant.Scope{}, []string{text}))(t)
		if slices.Equal(note[0].Vector, query[0].Vector) {
			t.Error("a question has the vector of a note")
		}
		if len(note[0].Tokens) == 0 {
			t.Error("no tokens")
		}
	}
	long := must.Get(e.Embed(t.Context(), tenant.Scope{}, []string{strings.Repeat("花生 und Erdnüsse. ", 100)}))(t)
	if n := len(long[0].Codes()); n != memory.MaxTokens*memory.TokenDim || len(long[0].Tokens) <= memory.MaxTokens {
		t.Errorf("of %d tokens of a long text, %d bytes are stored", len(long[0].Tokens), n)
	}
	english, ok := r.ByName(llm.LocalName)
	if !ok {
		t.Fatal("no encoder for English")
	}
	if _, err := english.Embed(t.Context(), tenant.Scope{}, []string{text}); err != nil {
		t.Error(err)
	}
}

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
	must.Get(weights.Install(t.Context(), weights.Options{Dir: dir, From: weightstest.Dir(t)}))(t)
	return dir
}

func TestRegistryByWeights(t *testing.T) {
	t.Parallel()
	good := weightstest.Dir(t)
	cut, half := t.TempDir(), englishWeights(t)
	for _, name := range []string{encoder.MiniLM.Files[1].Name, encoder.MiniLM.Files[0].Name} {
		must.Do(t, os.WriteFile(filepath.Join(cut, name), []byte("cut"), 0o600))
	}
	for name, c := range map[string]struct {
		cfg      llm.Config
		first    string
		notice   string // "": none
		fails    error  // nil: the registry is made
		expected bool
	}{
		"weights":                  {cfg: llm.Config{EncoderDir: good}, first: llm.TalkName, expected: true},
		"weights, asked for":       {cfg: llm.Config{EncoderDir: good, EmbedProvider: llm.EmbedLocal}, first: llm.TalkName, expected: true},
		"English asked for":        {cfg: llm.Config{EncoderDir: half, EmbedProvider: llm.EmbedEnglish}, first: llm.LocalName, expected: true},
		"English alone":            {cfg: llm.Config{EncoderDir: half}, first: llm.LocalName, notice: "languages other than English", expected: true},
		"half, both asked for":     {cfg: llm.Config{EncoderDir: half, EmbedProvider: llm.EmbedLocal}, fails: fs.ErrNotExist},
		"published asked for":      {cfg: llm.Config{EncoderDir: good, EmbedProvider: llm.EmbedPublished}, first: llm.ByLanguageName, expected: true},
		"half, published":          {cfg: llm.Config{EncoderDir: half, EmbedProvider: llm.EmbedPublished}, fails: fs.ErrNotExist},
		"weights, hash asked for":  {cfg: llm.Config{EncoderDir: good, EmbedProvider: llm.EmbedHash}, first: llm.HashName},
		"no weights":               {cfg: llm.Config{EncoderDir: t.TempDir()}, first: llm.HashName, notice: "not installed", expected: true},
		"no weights, asked for":    {cfg: llm.Config{EncoderDir: t.TempDir(), EmbedProvider: llm.EmbedLocal}, fails: fs.ErrNotExist},
		"no weights, not asked":    {cfg: llm.Config{EncoderDir: t.TempDir(), EmbedProvider: llm.EmbedHash}, first: llm.HashName},
		"damaged":                  {cfg: llm.Config{EncoderDir: cut}, first: llm.HashName, notice: "damaged", expected: true},
		"damaged, asked for":       {cfg: llm.Config{EncoderDir: cut, EmbedProvider: llm.EmbedLocal}, fails: encoder.ErrDamaged},
		"weights, without a cache": {cfg: llm.Config{EncoderDir: good, EmbedCache: -1}, first: llm.TalkName, expected: true},
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
			for _, name := range []string{llm.LocalName, llm.MultilingualName, llm.ByLanguageName, llm.TalkName, llm.Talk2Name} {
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
	r := must.Get(llm.NewRegistry(llm.Deps{}, llm.Config{EncoderDir: weightstest.Dir(t), EmbedProvider: llm.EmbedLocal}))(t)
	defer r.Close()
	texts := []string{"Li Wei: I am allergic to peanuts.", "Li Wei: 我明天去杭州出差。", "Li Wei: 我对花生过敏。"}
	got := must.Get(r.Default().Embed(t.Context(), tenant.Scope{}, texts))(t)
	plain, _ := r.ByName(llm.ByLanguageName)
	before := must.Get(plain.Embed(t.Context(), tenant.Scope{}, texts))(t)
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

// Collections of 0.1.0 keep its encoders: that for English is the one of today, that for other languages has the adapter of then.
func TestTalkOfOlderCollections(t *testing.T) {
	t.Parallel()
	r := must.Get(llm.NewRegistry(llm.Deps{}, llm.Config{EncoderDir: weightstest.Dir(t)}))(t)
	defer r.Close()
	older, _ := r.ByName(llm.Talk2Name)
	texts := []string{"Li Wei: I am allergic to peanuts.", "Li Wei: 我对花生过敏。"}
	then := must.Get(older.Embed(t.Context(), tenant.Scope{}, texts))(t)
	now := must.Get(r.Default().Embed(t.Context(), tenant.Scope{}, texts))(t)
	if !slices.Equal(then[0].Vector, now[0].Vector) {
		t.Error("the encoder for English has changed")
	}
	if near, _ := memory.Cosine(then[1].Vector, now[1].Vector); near > .999 || near < .5 || !then[1].Second {
		t.Errorf("%q: cosine %.4f with the vector of %s", texts[1], near, r.Default().Name())
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

// Sentences are read by the encoder for many languages, English ones too, where an encoder of many languages is the default.
func TestSentences(t *testing.T) {
	t.Parallel()
	for provider, want := range map[string]bool{"": true, llm.EmbedPublished: true, llm.EmbedMultilingual: true, llm.EmbedEnglish: false, llm.EmbedHash: false} {
		r := must.Get(llm.NewRegistry(llm.Deps{}, llm.Config{EncoderDir: weightstest.Dir(t), EmbedProvider: provider}))(t)
		t.Cleanup(func() { _ = r.Close() })
		if got := r.Sentences(); (got != nil) != want || want && got.Name() != heads.Embedder {
			t.Errorf("%q: %v", provider, got)
		}
	}
}

// Sentences are read by the encoder that the heads have learned from, which is one that collections may have.
func TestSentencesHaveTheVectorsOfTheHeads(t *testing.T) {
	t.Parallel()
	r := must.Get(llm.NewRegistry(llm.Deps{}, llm.Config{EncoderDir: weightstest.Dir(t)}))(t)
	t.Cleanup(func() { _ = r.Close() })
	of, ok := r.ByName(heads.Embedder)
	if !ok {
		t.Fatalf("no embedder is named %s", heads.Embedder)
	}
	var made [2][]memory.Embedding
	for i, e := range []memory.Embedder{r.Sentences(), of} {
		made[i] = must.Get(e.Embed(t.Context(), tenant.Scope{}, []string{"Meine Schwester heißt Birgit."}))(t)
	}
	if !slices.Equal(made[0][0].Vector, made[1][0].Vector) {
		t.Errorf("%s has another vector", heads.Embedder)
	}
}
