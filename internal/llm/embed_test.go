package llm_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

func (f *fixture) embedder(t *testing.T) *llm.Embedding {
	t.Helper()
	f.cfg.EmbedProvider = llm.ProviderOpenAI
	if f.cfg.EmbedModel == "" {
		f.cfg.EmbedModel, f.cfg.EmbedDim = "fake-embed", 8
	}
	f.srv.EmbedDim(max(f.cfg.EmbedDim, 8))
	e := must.Get(llm.NewEmbedding(f.deps, f.cfg))(t)
	return e
}

func TestEmbed(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.cfg.EmbedBatch, f.cfg.EmbedMaxRunes = 2, 10
	e := f.embedder(t)
	if e.Name() != "fake-embed@8" || e.Dim() != 8 || e.Fast() {
		t.Errorf("%s %d %v", e.Name(), e.Dim(), e.Fast())
	}
	texts := []string{"bees", "  ", "frost", strings.Repeat("ж", 40), "straw"}
	got := must.Get(e.Embed(t.Context(), f.scope, texts))(t)
	if len(got) != 5 || f.srv.Calls(llmtest.Embed) != 3 {
		t.Fatalf("%d vectors from %d requests", len(got), f.srv.Calls(llmtest.Embed))
	}
	for i, word := range []string{"bees", "empty", "frost"} {
		one, err := e.Embed(t.Context(), f.scope, []string{word})
		if err != nil || !slices.Equal(one[0].Vector, got[i].Vector) {
			t.Errorf("%q is not in its place: %v", word, err)
		}
	}
	r := f.srv.RequestsOf(llmtest.Embed)
	if in := r[1].Inputs[1]; in != strings.Repeat("ж", 10) {
		t.Errorf("a long text is sent as %q", in)
	}
	if r[0].Dimensions != 0 || r[0].Key != secret || r[0].Model != "fake-embed" {
		t.Errorf("request %s", r[0].Body)
	}
	uses := f.meter.all()
	if len(uses) != 6 || uses[0].Purpose != "embed" || uses[0].Calls != 1 || uses[0].PromptTokens == 0 {
		t.Errorf("uses %+v", uses)
	}
}

// A known model with another length requests that length, and is another embedder.
func TestEmbedDimensions(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.cfg.EmbedModel, f.cfg.EmbedDim = "text-embedding-3-small", 256
	e := f.embedder(t)
	must.Get(e.Embed(t.Context(), f.scope, []string{"a"}))(t)
	if d := f.srv.RequestsOf(llmtest.Embed)[0].Dimensions; d != 256 || e.Name() != "text-embedding-3-small@256" {
		t.Errorf("asked for %d as %s", d, e.Name())
	}
}

// C075: vectors of another length, of zeros or not finite, are refused.
func TestBadVectors_C075(t *testing.T) {
	t.Parallel()
	one := []float32{1, 0, 0, 0, 0, 0, 0, 0}
	for name, tc := range map[string]struct {
		reply llmtest.Reply
		says  string
	}{
		"length":  {llmtest.Dim(16), "a vector of 16 numbers from fake-embed, which is recorded with 8"},
		"zeros":   {llmtest.Vectors(one, make([]float32, 8)), "all zeros"},
		"huge":    {llmtest.Vectors(one, []float32{math.MaxFloat32, 0, 0, 0, 0, 0, 0, 1}), ""},
		"too few": {llmtest.Vectors(one), "1 vectors for 2 texts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := setup(t)
			f.srv.Script(llmtest.Embed, tc.reply)
			_, err := f.embedder(t).Embed(t.Context(), f.scope, []string{"a", "b"})
			if tc.says == "" {
				if err != nil {
					t.Errorf("finite vectors are fine: %v", err)
				}
				return
			}
			if !fault.Is(err, fault.ModelFailed) || !strings.Contains(err.Error(), tc.says) || !strings.Contains(err.Error(), f.srv.URL()) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestEmbedTransport(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.cfg.BreakerFailures, f.cfg.MaxTries = 4, 2
	e := f.embedder(t)
	f.srv.Script(llmtest.Embed, llmtest.Status(503, 0))
	if _, err := e.Embed(t.Context(), f.scope, []string{"a"}); err != nil {
		t.Fatalf("a passing failure: %v", err)
	}
	f.srv.Down(true)
	for range 2 {
		if _, err := e.Embed(t.Context(), f.scope, []string{"a"}); !fault.Is(err, fault.Unavailable) {
			t.Errorf("down: %v", err)
		}
	}
	if _, err := e.Embed(t.Context(), f.scope, []string{"a"}); !errors.Is(err, memory.ErrPaused) {
		t.Errorf("open breaker: %v", err)
	}
	if _, err := e.Embed(t.Context(), tenant.Scope{}, []string{"a"}); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("zero scope: %v", err)
	}
}

// C302: a repeated text causes no second call; size and hits are visible; keys include model and
// tenant.
func TestCache_C302(t *testing.T) {
	t.Parallel()
	f := setup(t)
	e := f.embedder(t)
	c := llm.NewCached(e, 3)
	embed := func(s tenant.Scope, texts ...string) []memory.Embedding {
		t.Helper()
		v := must.Get(c.Embed(t.Context(), s, texts))(t)
		return v
	}
	first := embed(f.scope, "a", "b", "a")
	if got := f.srv.RequestsOf(llmtest.Embed)[0].Inputs; !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("sent %q", got)
	}
	again := embed(f.scope, "b", "a")
	if f.srv.Calls(llmtest.Embed) != 1 || !slices.Equal(again[1].Vector, first[2].Vector) {
		t.Error("a known text was sent again")
	}
	if s := c.Stats(); s != (llm.CacheStats{Hits: 3, Misses: 2, Entries: 2, Capacity: 3}) {
		t.Errorf("%+v", s)
	}
	embed(f.scope, "c")
	embed(f.scope, "b") // now "a" is the least recently used
	embed(f.scope, "d")
	before := f.srv.Calls(llmtest.Embed)
	embed(f.scope, "b", "c", "d")
	if f.srv.Calls(llmtest.Embed) != before || c.Stats().Entries != 3 {
		t.Error("the wrong one was dropped")
	}
	embed(f.scope, "a")
	if f.srv.Calls(llmtest.Embed) != before+1 {
		t.Error("what was dropped is still known")
	}
	other := grant.Scope(uuid.New(), uuid.Nil, "test")
	embed(other, "a")
	if f.srv.Calls(llmtest.Embed) != before+2 {
		t.Error("one tenant is served from another's texts")
	}
	c.Forget(other.Tenant())
	if c.Stats().Entries != 2 {
		t.Errorf("%+v", c.Stats())
	}
	f.srv.Script(llmtest.Embed, llmtest.StatusText(400, "no"), llmtest.Default())
	if _, err := c.Embed(t.Context(), f.scope, []string{"new"}); err == nil {
		t.Error("a failure was hidden")
	}
	embed(f.scope, "new")
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	f := setup(t)
	hashed, err := llm.NewRegistry(llm.Deps{}, llm.Config{EmbedProvider: llm.EmbedHash})
	if err != nil || len(hashed.Notices()) != 0 {
		t.Errorf("%v %q", err, hashed.Notices())
	}

	f.cfg.EmbedProvider, f.cfg.EmbedModel, f.cfg.EmbedDim = llm.ProviderOllama, "", 0
	f.cfg.EmbedBaseURL = f.srv.OllamaURL()
	f.srv.EmbedDim(384)
	r := must.Get(llm.NewRegistry(f.deps, f.cfg))(t)
	if want := []string{llm.LocalName, "all-minilm@384", llm.HashName, llm.Talk2Name, llm.TalkName, llm.ByLanguageName, llm.MultilingualName}; !slices.Equal(r.Names(), want) || r.Default().Name() != want[1] {
		t.Errorf("%q, default %s", r.Names(), r.Default().Name())
	}
	for _, name := range []string{"all-minilm@384", llm.HashName} {
		e, ok := r.ByName(name)
		if !ok || e.Name() != name {
			t.Fatalf("%s: %v", name, ok)
		}
		for range 2 {
			if v, err := e.Embed(t.Context(), f.scope, []string{"x"}); err != nil || len(v[0].Vector) != e.Dim() {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if n := f.srv.Calls(llmtest.Embed); n != 1 {
		t.Errorf("the endpoint was asked %d times for one text", n)
	}
	if _, ok := r.ByName("unheard-of"); ok {
		t.Error("an unknown name is found")
	}
}

// TestHashGolden compares digests and parts of recorded vectors. Vectors are the same on every
// platform. A change here, or of the terms of package text, that changes one of them needs a new HashName.
func TestHashGolden(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"The bees survived the frost in straw.":        "50e95fc51d3bd722 20:-0.184837 26:0.184837 33:0.184837",
		"Anna mag Apfelkuchen.\nkeywords: Apfelkuchen": "60da6668760c7554 0:-0.238422 10:-0.238422 28:0.476844",
		"我昨天和妈妈一起去公园爬山":                                "18dd71655b9975cf 0:0.289855 15:0.289855 51:0.289855",
		"":  "9932fad2f86e8125 0:1.000000",
		"👍": "1e23d3174f6e8125 25:-1.000000",
		// Irregular forms, a language detected by its letters, two scripts in one sentence, and only stop words.
		"I went to see the mice, and the children lost their feet.": "5ec9e0ffb33d7148 38:0.184271 48:-0.184271 54:0.368542",
		"hän ei ole täällä ja me olemme kotona":                     "4b6ffdffda38e9b2 14:-0.266406 43:-0.266406 101:-0.532813",
		"我昨天和 Anna 一起去 München 公园":                                  "30009a63c2ff5069 3:0.045418 38:0.151394 71:-0.302787",
		"what is it": "83737fda92bbf155 22:-0.256664 142:-0.513327 167:-0.513327",
	} {
		v := must.Get(llm.Hash{}.Embed(t.Context(), tenant.Scope{}, []string{text}))(t)
		if got := sparse(v[0].Vector); got != want {
			t.Errorf("%q:\n got %s\nwant %s", text, got, want)
		}
	}
}

// sparse writes a digest of all bits and the first numbers that are not zero.
func sparse(v []float32) string {
	sum := uint64(14695981039346656037)
	var b strings.Builder
	n := 0
	for i, x := range v {
		sum = (sum ^ uint64(math.Float32bits(x))) * 1099511628211
		if x != 0 && n < 3 {
			fmt.Fprintf(&b, " %d:%.6f", i, x)
			n++
		}
	}
	return fmt.Sprintf("%016x%s", sum, b.String())
}

func TestHashSimilarity(t *testing.T) {
	t.Parallel()
	texts := []string{
		"Two bee colonies survived the frost, wrapped in straw.",
		"How did the bees survive the frosty winter?",
		"The payment tests failed because of currency rounding.",
		"Two bee colonies survived the frost, wrapped in straw.\ncontext: Two bee colonies survived the frost\nkeywords: bee colonies, frost\ntags: nature",
		"Two bee colonies survived the frost, wrapped in straw.\ncontext: Two bee colonies survived the frost\nkeywords: bee colonies, frost\ntags: animals",
	}
	v := must.Get(llm.Hash{}.Embed(t.Context(), tenant.Scope{}, texts))(t)
	cos := func(i, j int) float64 {
		s := 0.0
		for k := range v[i].Vector {
			s += float64(v[i].Vector[k]) * float64(v[j].Vector[k])
		}
		return s
	}
	for i := range v {
		if n := cos(i, i); math.Abs(n-1) > 1e-6 {
			t.Errorf("length of %d is %g", i, n)
		}
	}
	if near, far := cos(0, 1), cos(0, 2); near < 0.2 || far > 0.1 {
		t.Errorf("near %.3f, far %.3f", near, far)
	}
	if labeled := cos(0, 3); labeled < 0.85 {
		t.Errorf("a described note is %.3f like its content", labeled)
	}
	if slices.Equal(v[3].Vector, v[4].Vector) { // C010
		t.Error("tags do not move the vector")
	}
}

func FuzzHash(f *testing.F) {
	f.Add("bees\nkeywords: frost")
	f.Add("\x00\xff")
	f.Fuzz(func(t *testing.T, s string) {
		v, err := llm.Hash{}.Embed(t.Context(), tenant.Scope{}, []string{s, s})
		if err != nil || !slices.Equal(v[0].Vector, v[1].Vector) {
			t.Fatalf("%v", err)
		}
		n := 0.0
		for _, x := range v[0].Vector {
			n += float64(x) * float64(x)
		}
		if len(v[0].Vector) != llm.HashDim || math.Abs(n-1) > 1e-5 {
			t.Fatalf("length %g", n)
		}
	})
}

// Vectors that 16 bits cannot represent are scaled.
func TestVectorsOfAnyLength(t *testing.T) {
	t.Parallel()
	for _, length := range []float32{1e-9, 1, 70000, 1e9} {
		f := setup(t)
		f.srv.Script(llmtest.Embed, llmtest.Vectors([]float32{0.6 * length, 0.8 * length, 0, 0, 0, 0, 0, 0}))
		got, err := f.embedder(t).Embed(t.Context(), f.scope, []string{"x"})
		if err != nil || math.Abs(float64(got[0].Vector[0])-0.6) > 1e-6 || math.Abs(float64(got[0].Vector[1])-0.8) > 1e-6 {
			t.Errorf("length %v: %v, %v", length, got, err)
		}
	}
}

// C305: the embedder takes images when it is set to, behind the cache too: a data: URL as its base64, and
// another URL as it is. What the endpoint refuses is told from an outage.
func TestEmbedImages(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.cfg.EmbedProvider, f.cfg.EmbedModel, f.cfg.EmbedDim, f.cfg.EmbedBatch = llm.ProviderOpenAI, "clip", 64, 2
	f.cfg.MaxTries, f.cfg.BreakerFailures = 1, 100
	f.srv.EmbedDim(64)
	open := func(images bool) (memory.ImageEmbedder, bool) {
		f.cfg.EmbedImages = images
		r := must.Get(llm.NewRegistry(f.deps, f.cfg))(t)
		return memory.TakesImages(r.Default())
	}
	if _, ok := open(false); ok {
		t.Error("it takes images without the setting")
	}
	e, ok := open(true)
	if !ok {
		t.Fatal("it takes no images")
	}
	f.srv.Shows("AAAA", "a red boat")
	f.srv.Shows("https://example.org/hill.png", "a green hill")
	made, err := e.EmbedImages(t.Context(), f.scope, []string{"data:image/png;base64,AAAA", "https://example.org/hill.png", "data:image/png;base64,AAAA"})
	if err != nil || len(made) != 3 || f.srv.Calls(llmtest.Embed) != 2 {
		t.Fatalf("%d vectors: %v", len(made), err)
	}
	text, err := e.Embed(t.Context(), f.scope, []string{"a red boat"})
	if err != nil || !slices.Equal(text[0].Vector, made[0].Vector) || !slices.Equal(made[0].Vector, made[2].Vector) || slices.Equal(made[0].Vector, made[1].Vector) {
		t.Errorf("the vectors are not those of what is shown: %v", err)
	}
	if _, err := e.EmbedImages(t.Context(), f.scope, []string{"https://example.org/none.png"}); !errors.Is(err, memory.ErrImageRefused) {
		t.Errorf("an unknown image: %v", err)
	}
	for _, reply := range []llmtest.Reply{llmtest.Status(503, 0), llmtest.Status(401, 0), llmtest.Status(429, 0), llmtest.Reset()} {
		f.srv.Script(llmtest.Embed, reply)
		if _, err := e.EmbedImages(t.Context(), f.scope, []string{"https://example.org/hill.png"}); err == nil || errors.Is(err, memory.ErrImageRefused) {
			t.Errorf("an outage: %v", err)
		}
	}
	if uses := f.meter.all(); len(uses) < 3 || uses[0].Calls != 1 {
		t.Errorf("counted: %v", uses)
	}
	f.cfg.EmbedProvider = llm.EmbedHash
	if err := f.cfg.Validate(); err == nil || !strings.Contains(err.Error(), "llm.embed_images") {
		t.Errorf("images without an endpoint: %v", err)
	}
}
