package llm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slipboxhq/slipbox/internal/cpus"
	"github.com/slipboxhq/slipbox/internal/encoder"
	"github.com/slipboxhq/slipbox/internal/encoder/weights"
	"github.com/slipboxhq/slipbox/internal/fair"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
)

// The recorded names of the sentence encoders in this process.
const (
	LocalName        = "all-MiniLM-L6-v2@384"
	MultilingualName = "multilingual-e5-small-q4@384"
	// ByLanguageName is that of [ByLanguage], TalkName that of the one whose encoders are trained on talk, Talk2Name what 0.1.0 had for it.
	ByLanguageName = "minilm+e5-small-q4@384"
	TalkName       = "minilm+e5-small-q4+talk3@384"
	Talk2Name      = "minilm+e5-small-q4+talk2@384"
)

// Local is an embedder that runs one sentence encoder in this process, from weights on disk. It needs
// no network, and a few milliseconds of one CPU for a short text.
//
// Weights that are missing or damaged, also while in use, are opened again at most every localRetry,
// so that an install repairs a running process.
type Local struct {
	name     string
	model    *encoder.Model
	floor    float64 // of noise
	dir      string
	dirErr   error // the reason when dir is empty
	clock    memory.Clock
	observer *Observer // nil: none

	single, batches *fair.Gate // of texts that wait for the encoder

	mu     sync.Mutex
	opened *encoder.Encoder
	failed error // of the last attempt to open; nil: there was none, or it is open
	tried  time.Time
}

// localRetry is how long a failure to open the weights is remembered.
const localRetry = 5 * time.Second

// localBatch is how many texts are encoded before their tokens are filtered: enough to keep every
// CPU busy, and a bound on the memory meanwhile.
const localBatch = 64

// NewLocal returns the embedder for English with the weights that cfg names. They are read by Open or
// for the first text.
func NewLocal(d Deps, cfg Config) *Local {
	l := newLocal(d, cfg)
	// A low value: more than half of the notes that answer a question have a cosine below 0.5 with it
	// (internal/eval/reviews/ranking.md).
	l.name, l.model, l.floor = LocalName, encoder.MiniLM, 0.25
	return l
}

// newMultilingual returns the embedder for about a hundred languages, like NewLocal.
func newMultilingual(d Deps, cfg Config) *Local {
	l := newLocal(d, cfg)
	// The floor of the other encoder: the vectors of both spread over the whole range of cosines.
	l.name, l.model, l.floor = MultilingualName, encoder.E5, 0.25
	return l
}

func newLocal(d Deps, cfg Config) *Local {
	l := &Local{
		clock: d.Clock, observer: d.Observer,
		// As many as the encoder computes in one batch.
		single: fair.NewGate(cpus.Count(), 0), batches: fair.NewGate(max(1, runtime.NumCPU()/2), 0),
	}
	if l.clock == nil {
		l.clock = time.Now
	}
	l.dir, l.dirErr = cfg.EncoderPath()
	return l
}

// Name returns the recorded name.
func (l *Local) Name() string { return l.name }

// Dim returns the length of its vectors.
func (l *Local) Dim() int { return encoder.Dim }

// Fast reports whether the weights can be read. Without them a note waits for its vector in a job.
func (l *Local) Fast() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed == nil
}

// NoiseFloor returns the cosine at or below which a note does not answer a question.
func (l *Local) NoiseFloor() float64 { return l.floor }

// Open reads the weights, which takes part of a second; a second call does nothing. The error is
// fs.ErrNotExist where they are not installed, and encoder.ErrDamaged where they differ from the
// published ones.
func (l *Local) Open() error {
	_, err := l.encoder()
	return err
}

// present returns why the weights cannot be read, without reading them; nil for files of the right size.
func (l *Local) present() error {
	if l.dirErr != nil {
		return l.dirErr
	}
	return weights.Present(l.model, l.dir)
}

// Close frees the weights. Embed fails after it.
func (l *Local) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == nil {
		return nil
	}
	err := l.opened.Close()
	l.opened, l.failed, l.tried = nil, errors.New("the encoder is closed"), l.clock()
	return err
}

func (l *Local) encoder() (*encoder.Encoder, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened != nil {
		return l.opened, nil
	}
	if l.failed != nil && l.clock().Sub(l.tried) < localRetry {
		return nil, l.failed
	}
	l.tried = l.clock()
	if l.failed = l.dirErr; l.failed == nil {
		l.opened, l.failed = encoder.Open(l.model, l.dir)
	}
	return l.opened, l.failed
}

// drop stops using an encoder that failed: its file was damaged meanwhile, and an install writes a
// new one. It is not closed, since other callers may be encoding; the file is freed with the last.
func (l *Local) drop(e *encoder.Encoder, why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened == e {
		l.opened, l.failed, l.tried = nil, why, l.clock()
	}
}

// Embed returns for each text its vector and the tokens of its index terms: tokens of punctuation
// and of stop words of the text's language are left out. Of a long text it reads as much as the model
// can. Faults: Unavailable, with memory.ErrPaused, while the weights cannot be
// read.
func (l *Local) Embed(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error) {
	return l.observed(ctx, s, texts, (*encoder.Encoder).Encode)
}

// EmbedQueries is Embed for texts that are searched with.
func (l *Local) EmbedQueries(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error) {
	return l.observed(ctx, s, texts, (*encoder.Encoder).EncodeQueries)
}

type encodeFunc func(e *encoder.Encoder, ctx context.Context, texts []string) ([]encoder.Encoding, error)

func (l *Local) observed(ctx context.Context, s tenant.Scope, texts []string, encode encodeFunc) ([]memory.Embedding, error) {
	began := l.clock()
	out, err := l.embed(ctx, s, texts, encode)
	if l.observer != nil {
		l.observer.recordEncoding(ctx, l.clock().Sub(began), len(out), err)
	}
	return out, err
}

// encode encodes some texts when it is the tenant's turn. One text alone, such as a query, does not wait
// for batches.
func (l *Local) encode(ctx context.Context, s tenant.Scope, e *encoder.Encoder, texts []string, encode encodeFunc) ([]encoder.Encoding, error) {
	turns := l.batches
	if len(texts) == 1 {
		turns = l.single
	}
	leave, err := turns.Enter(ctx, s.Tenant(), classOf(s))
	if err != nil {
		return nil, err
	}
	defer leave()
	return encode(e, ctx, texts)
}

func (l *Local) embed(ctx context.Context, s tenant.Scope, texts []string, encode encodeFunc) ([]memory.Embedding, error) {
	e, err := l.encoder()
	if err != nil {
		return nil, &fault.Error{
			Code: fault.Unavailable, RetryAfter: localRetry, Err: errors.Join(memory.ErrPaused, err),
			Message: "the local encoder cannot serve: " + localProblem(err),
		}
	}
	out := make([]memory.Embedding, 0, len(texts))
	for batch := range slices.Chunk(texts, localBatch) {
		made, err := l.encode(ctx, s, e, batch, encode)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			l.drop(e, err)
			return nil, fault.Wrap(err, fault.ModelFailed, "the local encoder failed")
		}
		for i := range made {
			if !hasDirection(made[i].Vector) {
				l.drop(e, encoder.ErrDamaged)
				return nil, fault.New(fault.ModelFailed, "the local encoder returned a vector that is all zeros or not finite")
			}
			out = append(out, memory.Embedding{Vector: made[i].Vector, Tokens: indexTokens(batch[i], made[i].Tokens)})
		}
	}
	return out, nil
}

// indexTokens returns the tokens of words that are index terms.
func indexTokens(s string, tokens []encoder.Token) []memory.Token {
	if len(tokens) == 0 {
		return nil
	}
	// A copy of what was read: a cached embedding must not keep a long text in memory.
	s = strings.Clone(s[:tokens[len(tokens)-1].End])
	var out []memory.Token
	for i, isTerm := range IndexTerms(s, tokens) {
		if isTerm {
			out = append(out, memory.Token{Word: s[tokens[i].Start:tokens[i].End], Code: tokens[i].Code})
		}
	}
	return out
}

// IndexTerms reports for each token of a text whether its word is an index term, whose code is kept.
func IndexTerms(s string, tokens []encoder.Token) []bool {
	out := make([]bool, len(tokens))
	if len(tokens) == 0 {
		return out
	}
	lang, _ := text.Guess(s[:tokens[len(tokens)-1].End])
	start, end, isTerm := -1, -1, false
	for i, t := range tokens {
		if t.Start != start || t.End != end { // the first piece of its word
			start, end = t.Start, t.End
			isTerm = len(text.TermsIn(s[start:end], lang)) > 0
		}
		out[i] = isTerm
	}
	return out
}

// localProblem says why the weights cannot be read, in words for any caller: without a path.
func localProblem(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "its weights are not installed (`gateway encoder install` does it)"
	case errors.Is(err, encoder.ErrDamaged):
		return "its weights are damaged (`gateway encoder install` repairs them)"
	}
	return "its weights cannot be read (`gateway doctor` says why)"
}

// localNotice says which embedder is the default because the weights of a local encoder are missing, and what to do.
func localNotice(err error, instead string) string {
	if instead == LocalName {
		return "the local encoder for languages other than English cannot serve: " + localProblem(err) + "; texts in them are found by their " +
			"words, not by meaning; ask for that with SLIPBOX_EMBEDDER=english to silence this"
	}
	return "the local encoder cannot serve: " + localProblem(err) + "; hashed n-grams (" + HashName +
		") serve instead, which match words and spellings, not meanings; ask for them with SLIPBOX_EMBEDDER=hash to silence this"
}

// EncoderPath returns the directory of the local encoder's weights.
func (c Config) EncoderPath() (string, error) {
	if c.EncoderDir != "" {
		return c.EncoderDir, nil
	}
	dir, err := weights.DefaultDir()
	if err != nil {
		return "", fmt.Errorf("name a directory with SLIPBOX_ENCODER_DIR: %w", err)
	}
	return dir, nil
}

var _ memory.QueryEmbedder = (*Local)(nil)
