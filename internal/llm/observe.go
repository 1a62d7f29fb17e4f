package llm

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// The operations of models, as OpenTelemetry's conventions name them.
const (
	operationChat  = "chat"
	operationEmbed = "embeddings"
)

// Observer traces and measures the calls of endpoints, with the names of OpenTelemetry's conventions
// for generative AI. It records provider, model and purpose, and no text of calls or answers. Of the
// local encoder it measures time and texts. Rules, hashed n-grams and cache hits are not observed.
type Observer struct {
	tracer   trace.Tracer
	duration metric.Float64Histogram
	tokens   metric.Int64Histogram
	answers  metric.Int64Counter
	encoding metric.Float64Histogram
	texts    metric.Int64Counter
}

// NewObserver returns an observer and makes its instruments.
func NewObserver(t trace.Tracer, m metric.Meter) (*Observer, error) {
	o := &Observer{tracer: t}
	var errs [5]error
	o.duration, errs[0] = m.Float64Histogram("gen_ai.client.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("Time from a question to its checked answer, with retries."),
		metric.WithExplicitBucketBoundaries(.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92))
	o.tokens, errs[1] = m.Int64Histogram("gen_ai.client.token.usage", metric.WithUnit("{token}"),
		metric.WithDescription("Tokens of a question or an answer."),
		metric.WithExplicitBucketBoundaries(1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576))
	o.encoding, errs[2] = m.Float64Histogram("slipbox.encoder.duration", metric.WithUnit("s"),
		metric.WithDescription("Time in which the local encoder embedded the texts of one call, from waiting for a CPU to the last text."),
		metric.WithExplicitBucketBoundaries(.0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10))
	o.texts, errs[3] = m.Int64Counter("slipbox.encoder.texts", metric.WithUnit("{text}"),
		metric.WithDescription("Texts that the local encoder embedded."))
	o.answers, errs[4] = m.Int64Counter("slipbox.model.answers", metric.WithUnit("{answer}"),
		metric.WithDescription("Calls of a model, by how they ended: good at the first try, repaired at the second, unusable both times, or failed before that."))
	return o, errors.Join(errs[:]...)
}

// How a call of a model ends.
const (
	answerGood     = "good"     // at the first try
	answerRepaired = "repaired" // at the second, with its error shown
	answerUnusable = "unusable" // neither time
	answerFailed   = "failed"   // the endpoint did not answer
)

// countAnswer counts how a call ended.
func (o *Observer) countAnswer(ctx context.Context, c call, a *memory.Answer, err error) {
	how := answerGood
	switch {
	case errors.Is(err, memory.ErrBadAnswer):
		how = answerUnusable
	case err != nil:
		how = answerFailed
	case a.Repaired:
		how = answerRepaired
	}
	o.answers.Add(ctx, 1, metric.WithAttributeSet(attribute.NewSet(c.attributes(telemetry.ModelAnswer.String(how))...)))
}

// recordEncoding measures a call of the local encoder.
func (o *Observer) recordEncoding(ctx context.Context, took time.Duration, texts int, err error) {
	var attrs []attribute.KeyValue
	if err != nil {
		attrs = append(attrs, telemetry.ErrorType.String(string(fault.CodeOf(err))))
	}
	o.encoding.Record(ctx, took.Seconds(), metric.WithAttributes(attrs...))
	o.texts.Add(ctx, int64(texts))
}

// call is what is recorded about one call.
type call struct {
	operation, provider, model, purpose string
}

func (c call) attributes(more ...attribute.KeyValue) []attribute.KeyValue {
	return append([]attribute.KeyValue{
		telemetry.ModelOperation.String(c.operation), telemetry.ModelProvider.String(c.provider),
		telemetry.ModelName.String(c.model), telemetry.ModelPurpose.String(c.purpose),
	}, more...)
}

// observe runs a call in a span, which the caller ends. The attributes that do returns are added to the span.
func (o *Observer) observe(ctx context.Context, s tenant.Scope, c call, do func(context.Context) ([]attribute.KeyValue, error)) trace.Span {
	began := time.Now()
	ctx, span := o.tracer.Start(ctx, c.operation+" "+c.model, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(c.attributes(telemetry.Tenant.String(s.Tenant().String()))...))
	more, err := do(ctx)
	span.SetAttributes(more...)
	attrs := c.attributes()
	if err != nil {
		code := string(fault.CodeOf(err))
		attrs = append(attrs, telemetry.ErrorType.String(code))
		span.SetAttributes(telemetry.ErrorType.String(code))
		span.SetStatus(codes.Error, code)
	}
	o.duration.Record(ctx, time.Since(began).Seconds(), metric.WithAttributeSet(attribute.NewSet(attrs...)))
	return span
}

// meter returns a Meter that records tokens and calls next.
func (o *Observer) meter(next Meter, c call) Meter { return tokenMeter{o, next, c} }

type tokenMeter struct {
	observer *Observer
	next     Meter // nil: none
	call     call  // without its purpose
}

// Record implements Meter.
func (m tokenMeter) Record(ctx context.Context, s tenant.Scope, use memory.ModelUse) {
	c := m.call
	c.purpose = use.Purpose
	for kind, n := range map[string]int64{"input": use.PromptTokens, "output": use.CompletionTokens} {
		if n > 0 {
			m.observer.tokens.Record(ctx, n, metric.WithAttributeSet(attribute.NewSet(c.attributes(telemetry.ModelTokenType.String(kind))...)))
		}
	}
	if m.next != nil {
		m.next.Record(ctx, s, use)
	}
}

// observedModel is a model whose calls are observed.
type observedModel struct {
	memory.Model
	observer *Observer
	call     call // without its purpose
}

// Ask implements memory.Model.
func (m observedModel) Ask(ctx context.Context, s tenant.Scope, c memory.Call) (a memory.Answer, err error) {
	what := m.call
	what.purpose = c.Name
	m.observer.observe(ctx, s, what, func(ctx context.Context) ([]attribute.KeyValue, error) {
		a, err = m.Model.Ask(ctx, s, c)
		m.observer.countAnswer(ctx, what, &a, err)
		return []attribute.KeyValue{
			telemetry.ModelInput.Int64(a.PromptTokens), telemetry.ModelOutput.Int64(a.CompletionTokens),
			telemetry.Collection.String(c.Collection.String()),
		}, err
	}).End()
	return a, err
}

// Converse implements memory.Model.
func (m observedModel) Converse(ctx context.Context, s tenant.Scope, d memory.Dialogue) (out memory.TurnResult, err error) {
	what := m.call
	what.purpose = d.Purpose
	m.observer.observe(ctx, s, what, func(ctx context.Context) ([]attribute.KeyValue, error) {
		out, err = m.Model.Converse(ctx, s, d)
		m.observer.countAnswer(ctx, what, &memory.Answer{}, err)
		return []attribute.KeyValue{
			telemetry.ModelInput.Int64(out.PromptTokens), telemetry.ModelOutput.Int64(out.CompletionTokens),
			telemetry.Collection.String(d.Collection.String()),
		}, err
	}).End()
	return out, err
}

// observedEmbedder is an embedder whose calls are observed.
type observedEmbedder struct {
	memory.ImageEmbedder

	observer *Observer
	call     call
}

// Embed implements memory.Embedder.
func (e observedEmbedder) Embed(ctx context.Context, s tenant.Scope, texts []string) (out []memory.Embedding, err error) {
	e.observer.observe(ctx, s, e.call, func(ctx context.Context) ([]attribute.KeyValue, error) {
		out, err = e.ImageEmbedder.Embed(ctx, s, texts)
		return nil, err
	}).End()
	return out, err
}

// EmbedImages implements memory.ImageEmbedder.
func (e observedEmbedder) EmbedImages(ctx context.Context, s tenant.Scope, images []string) (out []memory.Embedding, err error) {
	e.observer.observe(ctx, s, e.call, func(ctx context.Context) ([]attribute.KeyValue, error) {
		out, err = e.ImageEmbedder.EmbedImages(ctx, s, images)
		return nil, err
	}).End()
	return out, err
}
