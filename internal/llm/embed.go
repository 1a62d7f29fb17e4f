package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	openai "github.com/sashabaranov/go-openai"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Embedding is an embedder behind an OpenAI-compatible endpoint.
type Embedding struct {
	deps     Deps
	cfg      Config
	endpoint *endpoint
	name     string
	dim      int
	askDim   int // vector length to request; 0: the model's own
}

// NewEmbedding returns an Embedding for a valid Config whose embedder is an endpoint.
func NewEmbedding(d Deps, cfg Config) (*Embedding, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if p := cfg.embedProvider(); p != ProviderOpenAI && p != ProviderOllama {
		return nil, fmt.Errorf("llm.embedder: %q is not an endpoint", p)
	}
	if d.Clock == nil {
		return nil, errors.New("llm: a clock is required")
	}
	cfg = cfg.withDefaults()
	e := &Embedding{deps: d, cfg: cfg, endpoint: newEndpoint(d, cfg, labelEmbedder, cfg.EmbedBaseURL, cfg.EmbedAPIKey, cfg.EmbedKeyHeader), dim: cfg.EmbedDim}
	native := knownDim(cfg.EmbedModel)
	switch {
	case e.dim == 0:
		e.dim = native
	case native != 0 && e.dim != native:
		e.askDim = e.dim
	}
	// Vectors of one model in another length are not comparable.
	e.name = fmt.Sprintf("%s@%d", cfg.EmbedModel, e.dim)
	return e, nil
}

// Name returns the model and the vector length, such as "text-embedding-3-small@1536". The address
// is not part of it: a model returns the same vectors everywhere.
func (e *Embedding) Name() string { return e.name }

// Dim returns the length of the vectors.
func (e *Embedding) Dim() int { return e.dim }

// Fast returns false: every text crosses a network.
func (e *Embedding) Fast() bool { return false }

// Endpoint returns the address of the endpoint, without secrets.
func (e *Embedding) Endpoint() string { return e.endpoint.name }

// Embed requests the vectors in bounded batches. Long texts are truncated, blank ones are embedded
// as a fixed word. Faults: those of the transport as for Completion.Ask; ModelFailed for vectors
// that are missing, have another length than the embedder's name says, are all zeros or not finite.
func (e *Embedding) Embed(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	out := make([]memory.Embedding, 0, len(texts))
	for len(texts) > 0 {
		n := min(len(texts), e.cfg.EmbedBatch)
		batch, err := e.batch(ctx, s, texts[:n])
		if err != nil {
			return nil, err
		}
		out = append(out, batch...)
		texts = texts[n:]
	}
	return out, nil
}

// blank replaces a text without content, which endpoints refuse.
const blank = "empty"

func (e *Embedding) batch(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error) {
	input := make([]string, len(texts))
	var estimate int64
	for i, t := range texts {
		if t = strings.TrimSpace(t); t == "" {
			t = blank
		}
		if r := []rune(t); len(r) > e.cfg.EmbedMaxRunes {
			t = string(r[:e.cfg.EmbedMaxRunes])
		}
		input[i] = t
		estimate += estimateTokens(t)
	}
	return e.request(ctx, s, input, len(input), estimate)
}

// TakesImages reports whether the operator says that the model takes images.
func (e *Embedding) TakesImages() bool { return e.cfg.EmbedImages }

// EmbedImages requests the vectors of images: of a data: URL with its base64, of another URL with the URL, which the
// endpoint then reads. Faults are those of Embed, with memory.ErrImageRefused in the chain for an answer which says that
// the request is wrong.
func (e *Embedding) EmbedImages(ctx context.Context, s tenant.Scope, images []string) ([]memory.Embedding, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	type image struct {
		Image string `json:"image"`
	}
	out := make([]memory.Embedding, 0, len(images))
	for batch := range slices.Chunk(images, e.cfg.EmbedBatch) {
		input := make([]image, len(batch))
		for i, at := range batch {
			if media, data, ok := strings.Cut(at, ","); ok && strings.HasPrefix(media, "data:") && strings.HasSuffix(media, ";base64") {
				at = data
			}
			input[i].Image = at
		}
		made, err := e.request(ctx, s, input, len(input), 0)
		var f *failure
		if errors.As(err, &f) && f.status >= 400 && !isOutage(f) {
			err = fmt.Errorf("%w: %w", memory.ErrImageRefused, err)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, made...)
	}
	return out, nil
}

// request requests the vectors of n inputs in the form of the endpoint. estimate is how many tokens they have, for an
// endpoint that does not count them.
func (e *Embedding) request(ctx context.Context, s tenant.Scope, input any, n int, estimate int64) ([]memory.Embedding, error) {
	var resp openai.EmbeddingResponse
	reached, err := e.endpoint.do(ctx, s, func(ctx context.Context, c *openai.Client) error {
		var err error
		resp, err = c.CreateEmbeddings(ctx, openai.EmbeddingRequest{
			Input: input, Model: openai.EmbeddingModel(e.cfg.EmbedModel), Dimensions: e.askDim,
		})
		return err
	})
	use := memory.ModelUse{Purpose: purposeEmbed, Calls: int64(reached)}
	if err == nil {
		use.PromptTokens = int64(resp.Usage.PromptTokens)
		use.PromptTokens = cmp.Or(use.PromptTokens, estimate)
	}
	e.deps.record(ctx, s, use)
	if err != nil {
		return nil, err
	}
	return e.vectors(resp.Data, n)
}

// vectors checks a response and puts it into the order of the texts.
func (e *Embedding) vectors(data []openai.Embedding, n int) ([]memory.Embedding, error) {
	bad := func(format string, args ...any) error {
		return fault.New(fault.ModelFailed, "%s: "+format, append([]any{e.endpoint.label}, args...)...)
	}
	if len(data) != n {
		return nil, bad("%d vectors for %d texts", len(data), n)
	}
	out := make([]memory.Embedding, n)
	for _, d := range data {
		if d.Index < 0 || d.Index >= n || out[d.Index].Vector != nil {
			return nil, bad("the vectors cannot be told apart by their index")
		}
		if len(d.Embedding) != e.dim {
			return nil, bad("a vector of %d numbers from %s, which is recorded with %d; vectors of different lengths are never mixed: set embed_dim or the former model",
				len(d.Embedding), e.cfg.EmbedModel, e.dim)
		}
		if !hasDirection(d.Embedding) {
			return nil, bad("a vector that is all zeros or not finite")
		}
		out[d.Index].Vector = scaledForHalves(d.Embedding)
	}
	return out, nil
}

// The range of lengths in which a vector is stored unchanged. Stores round its numbers to 16 bits,
// which represent 6e-5 to 65504 well.
const (
	shortest = 0.5
	longest  = 1000
)

// scaledForHalves scales a vector that is too short or too long for 16 bits to length one: only its
// direction matters.
func scaledForHalves(v []float32) []float32 {
	squares := 0.0
	for _, x := range v {
		squares += float64(x) * float64(x)
	}
	length := math.Sqrt(squares)
	if length >= shortest && length <= longest {
		return v
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float32(float64(x) / length)
	}
	return out
}

// hasDirection reports whether a vector is finite and not all zeros.
func hasDirection(v []float32) bool {
	squares := 0.0
	for _, x := range v {
		squares += float64(x) * float64(x)
	}
	return squares > 0 && !math.IsInf(squares, 0) && !math.IsNaN(squares)
}

var _ memory.ImageEmbedder = (*Embedding)(nil)
