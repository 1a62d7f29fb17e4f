package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

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

	window atomic.Int64 // how many characters of one text the endpoint takes; 0: not known
	atOnce atomic.Int64 // how many texts of one request it takes; 0: as many as are sent
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
	e.window.Store(knownWindow(cfg.EmbedModel))
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

// Embed requests the vectors in bounded batches. A text that is longer than the model reads in one piece is embedded in parts,
// whose vectors are averaged by length; EmbedMaxRunes bounds it. Blank ones are embedded as a fixed word. Faults: those of
// the transport as for Completion.Ask; ModelFailed for vectors that are missing, have another length than the embedder's
// name says, are all zeros or not finite.
func (e *Embedding) Embed(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	var parts []string
	counts := make([]int, len(texts)) // of the parts of each text
	for i, t := range texts {
		if t = strings.TrimSpace(t); t == "" {
			t = blank
		}
		if r := []rune(t); len(r) > e.cfg.EmbedMaxRunes {
			t = string(r[:e.cfg.EmbedMaxRunes])
		}
		of := splitText(t, int(e.window.Load()))
		parts, counts[i] = append(parts, of...), len(of)
	}
	made := make([]memory.Embedding, 0, len(parts))
	for rest := parts; len(rest) > 0; {
		n := min(len(rest), e.cfg.EmbedBatch)
		if most := int(e.atOnce.Load()); most > 0 {
			n = min(n, most)
		}
		batch, err := e.batch(ctx, s, rest[:n])
		if err != nil {
			return nil, err
		}
		made, rest = append(made, batch...), rest[n:]
	}
	out := make([]memory.Embedding, len(texts))
	for i, n := range counts {
		out[i] = average(parts[:n], made[:n])
		parts, made = parts[n:], made[n:]
	}
	return out, nil
}

// blank replaces a text without content, which endpoints refuse.
const blank = "empty"

// batch requests the vectors of texts. What the endpoint refuses is asked for in halves, as long as it takes a short text:
// fewer texts in one request, then shorter ones. What it takes is kept for the next requests. So is what it fails on, twice,
// while it takes a short text: some endpoints answer 500 to a text that is too long, or take too long for it.
func (e *Embedding) batch(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error) {
	made, err := e.ask(ctx, s, texts)
	if err == nil || !isOfInput(err) || ctx.Err() != nil {
		return made, err
	}
	if isRefusal(err) && len(texts) == 1 && utf8.RuneCountInString(texts[0]) <= shortText {
		return nil, err
	}
	_, probe := e.request(ctx, s, []string{blank}, 1, estimateTokens(blank), false)
	switch {
	case probe == nil:
	case isRefusal(err):
		return nil, err // it is not the length
	default:
		return nil, probe
	}
	if !isRefusal(err) { // it may have been a passing failure
		if made, err = e.ask(ctx, s, texts); err == nil || !isOfInput(err) {
			return made, err
		}
	}
	return e.halves(ctx, s, texts, err)
}

// ask requests the vectors of texts. A failure that the texts may have caused is not tried again, and says nothing about the
// endpoint.
func (e *Embedding) ask(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error) {
	var estimate int64
	for _, t := range texts {
		estimate += estimateTokens(t)
	}
	return e.request(ctx, s, texts, len(texts), estimate, true)
}

// isOfInput reports whether the input may be why a request failed: it was refused, or the endpoint failed on it.
func isOfInput(err error) bool {
	f, ok := errors.AsType[*failure](err)
	return ok && (f.doubtful || isRefusal(err))
}

// shortText is a length, in characters, that every embedder takes: a shorter text is not refused for its length.
const shortText = 64

// halves embeds texts that were refused together, or one that was refused alone.
func (e *Embedding) halves(ctx context.Context, s tenant.Scope, texts []string, refused error) ([]memory.Embedding, error) {
	if len(texts) == 1 {
		one, err := e.shorter(ctx, s, texts[0], refused)
		return []memory.Embedding{one}, err
	}
	half := len(texts) / 2
	var out []memory.Embedding
	whole := true // each half was taken at the first attempt
	for _, part := range [][]string{texts[:half], texts[half:]} {
		made, err := e.ask(ctx, s, part)
		if isOfInput(err) {
			whole = false
			made, err = e.halves(ctx, s, part, err)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, made...)
	}
	if whole && e.learn(&e.atOnce, int64(len(texts)-half)) {
		e.deps.log().Warn("the embedder takes fewer texts at once", "endpoint", e.endpoint.name, "model", e.cfg.EmbedModel, "texts", len(texts)-half)
	}
	return out, nil
}

// shorter embeds a text that was refused alone, in parts.
func (e *Embedding) shorter(ctx context.Context, s tenant.Scope, text string, refused error) (memory.Embedding, error) {
	length := utf8.RuneCountInString(text)
	if length <= shortText {
		return memory.Embedding{}, refused
	}
	window := (length + 1) / 2
	if known := int(e.window.Load()); known > 0 && known < length {
		window = known
	}
	parts := splitText(text, window)
	made, err := e.ask(ctx, s, parts)
	switch {
	case isOfInput(err):
		made = make([]memory.Embedding, len(parts))
		for i, part := range parts {
			if made[i], err = e.part(ctx, s, part); err != nil {
				return memory.Embedding{}, err
			}
		}
	case err != nil:
		return memory.Embedding{}, err
	case !fault.Is(refused, fault.Timeout) && e.learn(&e.window, int64(window)): // it may be slow for now
		e.deps.log().Warn("long texts are embedded in parts: the embedder reads no more at once",
			"endpoint", e.endpoint.name, "model", e.cfg.EmbedModel, "characters", window)
	}
	return average(parts, made), nil
}

// part embeds a part of a text, in shorter ones if the part before it was too long.
func (e *Embedding) part(ctx context.Context, s tenant.Scope, text string) (memory.Embedding, error) {
	pieces := splitText(text, int(e.window.Load()))
	made, err := e.ask(ctx, s, pieces)
	if isOfInput(err) {
		made, err = e.halves(ctx, s, pieces, err)
	}
	if err != nil {
		return memory.Embedding{}, err
	}
	return average(pieces, made), nil
}

// learn keeps a bound if it is lower than the one that is kept, and reports whether it is.
func (e *Embedding) learn(bound *atomic.Int64, n int64) bool {
	for {
		former := bound.Load()
		if former > 0 && former <= n {
			return false
		}
		if bound.CompareAndSwap(former, n) {
			return true
		}
	}
}

// splitText splits a text into parts of about the same length, at white space where there is some; window is the most
// characters of one, 0: all.
func splitText(s string, window int) []string {
	r := []rune(s)
	if window <= 0 || len(r) <= window {
		return []string{s}
	}
	var out []string
	for len(r) > window {
		count := (len(r) + window - 1) / window
		at := (len(r) + count - 1) / count
		for back := at; back > at*3/4; back-- {
			if unicode.IsSpace(r[back]) {
				at = back
				break
			}
		}
		if part := strings.TrimSpace(string(r[:at])); part != "" {
			out = append(out, part)
		}
		r = r[at:]
	}
	if part := strings.TrimSpace(string(r)); part != "" {
		out = append(out, part)
	}
	return out
}

// average returns the vector of a text from those of its parts, each by the length of its part.
func average(parts []string, made []memory.Embedding) memory.Embedding {
	if len(made) == 1 {
		return made[0]
	}
	sum := make([]float64, len(made[0].Vector))
	for i := range made {
		length := 0.0
		for _, x := range made[i].Vector {
			length += float64(x) * float64(x)
		}
		weight := float64(len(parts[i])) / math.Sqrt(length) // vectors of an endpoint have a direction
		for at, x := range made[i].Vector {
			sum[at] += weight * float64(x)
		}
	}
	out := make([]float32, len(sum))
	for i, x := range sum {
		out[i] = float32(x / float64(len(strings.Join(parts, ""))))
	}
	if !hasDirection(out) { // the parts cancel each other out
		return made[0]
	}
	return memory.Embedding{Vector: scaledForHalves(out)}
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
		made, err := e.request(ctx, s, input, len(input), 0, false)
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
// endpoint that does not count them; doubted: see doubtedError.
func (e *Embedding) request(ctx context.Context, s tenant.Scope, input any, n int, estimate int64, doubted bool) ([]memory.Embedding, error) {
	var resp openai.EmbeddingResponse
	reached, err := e.endpoint.do(ctx, s, func(ctx context.Context, c *openai.Client) error {
		var err error
		resp, err = c.CreateEmbeddings(ctx, openai.EmbeddingRequest{
			Input: input, Model: openai.EmbeddingModel(e.cfg.EmbedModel), Dimensions: e.askDim,
		})
		if err != nil && doubted {
			err = &doubtedError{err}
		}
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
		return fault.Wrap(errors.New(e.endpoint.name), fault.ModelFailed, "%s: "+format, append([]any{e.endpoint.label}, args...)...)
	}
	if len(data) != n {
		return nil, bad("%d vectors for %d texts", len(data), n)
	}
	out := make([]memory.Embedding, n)
	if !slices.ContainsFunc(data, func(d openai.Embedding) bool { return d.Index != 0 }) {
		for i := range data { // absent, or not counted: they are in order
			data[i].Index = i
		}
	}
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

// The range of lengths in which a vector is stored unchanged. Stores round its numbers to 12
// bits, of a largest one from 6e-5 to 65,248.
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
