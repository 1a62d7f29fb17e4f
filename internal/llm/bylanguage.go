package llm

import (
	"context"
	"errors"
	"math"
	"strings"
	"unicode"

	"github.com/slipboxhq/slipbox/internal/encoder"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
)

// ByLanguage is the embedder that reads English with the encoder for English, and every other language with the one
// for many, whose output is turned into the space of the first. So all of its vectors compare with each other, also
// those of a question and a note in two languages, and an English text costs what the smaller encoder costs. [IsEnglish]
// decides. Keywords and tags of a note say nothing of its language.
//
// The weights of the second encoder are read for the first text that needs them.
type ByLanguage struct {
	name            string
	english, others *Local
}

// NewByLanguage returns the embedder with the weights that cfg names. It shares the encoder for English, which may be
// nil.
func NewByLanguage(d Deps, cfg Config, english *Local) *ByLanguage {
	if english == nil {
		english = NewLocal(d, cfg)
	}
	return newBoth(d, cfg, ByLanguageName, english, encoder.E5AsMiniLM)
}

// newForTalk is NewByLanguage with encoders that are trained on talk: a question is nearer to the turns that answer it.
func newForTalk(d Deps, cfg Config) *ByLanguage {
	english := newLocal(d, cfg)
	english.name, english.model, english.floor = TalkName, encoder.MiniLMForTalk, 0.25
	return newBoth(d, cfg, TalkName, english, encoder.E5ForTalk)
}

func newBoth(d Deps, cfg Config, name string, english *Local, model *encoder.Model) *ByLanguage {
	others := newLocal(d, cfg)
	others.name, others.model, others.floor = name, model, english.floor
	return &ByLanguage{name: name, english: english, others: others}
}

// Name returns the recorded name.
func (b *ByLanguage) Name() string { return b.name }

// Dim returns the length of its vectors.
func (*ByLanguage) Dim() int { return encoder.Dim }

// Fast reports whether the weights for English can be read.
func (b *ByLanguage) Fast() bool { return b.english.Fast() }

// NoiseFloor returns the cosine at or below which a note does not answer a question.
func (b *ByLanguage) NoiseFloor() float64 { return b.english.NoiseFloor() }

// Scale names the encoder for English, to whose space and cosines the other one is fitted.
func (b *ByLanguage) Scale() string { return b.english.Name() }

// Close frees the weights of both encoders.
func (b *ByLanguage) Close() error { return errors.Join(b.english.Close(), b.others.Close()) }

// Embed embeds each text as [Local.Embed] of its encoder does. It fails when one of the encoders that it needs does.
func (b *ByLanguage) Embed(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error) {
	return b.split(texts, func(l *Local, texts []string) ([]memory.Embedding, error) { return l.Embed(ctx, s, texts) })
}

// EmbedQueries is Embed for texts that are searched with.
func (b *ByLanguage) EmbedQueries(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error) {
	return b.split(texts, func(l *Local, texts []string) ([]memory.Embedding, error) { return l.EmbedQueries(ctx, s, texts) })
}

// split hands each encoder its texts in one call.
func (b *ByLanguage) split(texts []string, embed func(l *Local, texts []string) ([]memory.Embedding, error)) ([]memory.Embedding, error) {
	english := make([]bool, len(texts))
	for i, t := range texts {
		prose := memory.Prose(t)
		if english[i] = maybeEnglish(prose); !english[i] {
			continue
		}
		// Without the encoder, which has the vocabulary, the call for this text says why.
		if e, err := b.english.encoder(); err == nil {
			english[i] = knowsWords(e, prose)
		}
	}
	out := make([]memory.Embedding, len(texts))
	for _, l := range []*Local{b.english, b.others} {
		var own []string
		var places []int
		for i, t := range texts {
			if english[i] == (l == b.english) {
				own, places = append(own, t), append(places, i)
			}
		}
		if len(own) == 0 {
			continue
		}
		made, err := embed(l, own)
		if err != nil {
			return nil, err
		}
		for i, at := range places {
			out[at] = made[i]
			out[at].Second = l == b.others
		}
	}
	return out, nil
}

var _ memory.QueryEmbedder = (*ByLanguage)(nil)

// maybeEnglish reports whether no other language or script shows in a text. The encoder for English knows the letters of
// no other script, which a sentence in Chinese with English words has.
func maybeEnglish(s string) bool {
	lang, sure := text.Guess(s)
	return lang == text.English && (sure || !strings.ContainsFunc(s, isForeign))
}

func isForeign(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) }

// IsEnglish reports whether the encoder for English reads a text.
func IsEnglish(e *encoder.Encoder, s string) bool { return maybeEnglish(s) && knowsWords(e, s) }

// knowsWords reports whether the encoder for English knows the words of a text. Its vocabulary has nearly all English words whole, and
// breaks those of other languages into pieces. A further piece of a word counts one against English, a function word of another
// language two, one of English three for it. The root of the number of words is for English as well, so that a name, which may be
// broken, does not decide. docs/decisions/0113 has the figures.
func knowsWords(e *encoder.Encoder, s string) bool {
	_, _, pieces := e.Pieces(s, false)
	words, further := 0, 0
	for i, p := range pieces {
		switch word := s[p.Start:p.End]; {
		case !strings.ContainsFunc(word, unicode.IsLetter):
		case strings.ContainsFunc(word, isForeign):
			further++
		case i > 0 && pieces[i-1].Start == p.Start:
			further++
		default:
			words++
		}
	}
	if words > 0 {
		s = s[:pieces[len(pieces)-1].End]
	}
	english, other := text.FunctionWords(s)
	return float64(3*english-2*other-further)+math.Sqrt(float64(words)) >= 0
}
