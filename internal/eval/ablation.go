package eval

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Ablation is what one signal of the ranking is worth on one data set.
type Ablation struct {
	Signal string // "" is the ranking as it is
	Weight float64
	// Off is the ranking without the signal less the ranking with it, by question: below
	// 0 the signal helps.
	OffRecall, OffNDCG Interval
	OffTook            Latency
	// Alone is the ranking by the signal alone.
	AloneRecall, AloneNDCG Interval
	AloneTook              Latency
}

// Ablate asks with each signal switched off, and with each alone. The first entry is the
// ranking as it is, in its Alone fields. The signals are those that the gateway explains.
func (b *Bench) Ablate(ctx context.Context, v Variant, tellf func(format string, args ...any)) ([]Ablation, error) {
	signals, err := b.Signals(ctx, v)
	if err != nil {
		return nil, err
	}
	base, err := b.Ask(ctx, v)
	if err != nil {
		return nil, err
	}
	recall, ndcg := b.metric("recall@10"), b.metric("nDCG@10")
	whole := func(r *Row) bool { return r.Question.Category != b.Data.Apart }
	out := []Ablation{{AloneRecall: Bootstrap(column(base, recall, whole)), AloneNDCG: Bootstrap(column(base, ndcg, whole)), AloneTook: tookOf(base)}}
	for i, s := range signals {
		tellf("%s: signal %d of %d: %s", b.Data.Name, i+1, len(signals), s.Name)
		off, alone := v, v
		off.Weights, alone.Weights = map[string]float64{s.Name: 0}, map[string]float64{}
		for _, other := range signals {
			if other.Name != s.Name {
				alone.Weights[other.Name] = 0
			}
		}
		without, err := b.Ask(ctx, off)
		if err != nil {
			return nil, fmt.Errorf("without %s: %w", s.Name, err)
		}
		only, err := b.Ask(ctx, alone)
		if err != nil {
			return nil, fmt.Errorf("%s alone: %w", s.Name, err)
		}
		out = append(out, Ablation{
			Signal: s.Name, Weight: s.Weight,
			OffRecall: Paired(without, base, recall, whole), OffNDCG: Paired(without, base, ndcg, whole), OffTook: tookOf(without),
			AloneRecall: Bootstrap(column(only, recall, whole)), AloneNDCG: Bootstrap(column(only, ndcg, whole)), AloneTook: tookOf(only),
		})
	}
	return out, nil
}

func (b *Bench) metric(name string) int { return slices.Index(Metrics(b.Data.Budgets), name) }

// Paired gives the mean and the interval of the difference of two runs over the same
// questions: first less second.
func Paired(first, second []Row, metric int, keep func(*Row) bool) Interval {
	a, b := column(first, metric, keep), column(second, metric, keep)
	for i := range a {
		a[i] -= b[i]
	}
	return Bootstrap(a)
}

func tookOf(rows []Row) Latency {
	ms := make([]float64, len(rows))
	for i := range rows {
		ms[i] = milliseconds(rows[i].Ranking.Took)
	}
	return latency(ms)
}

// PrintAblation writes a Markdown table: a row for each signal.
func PrintAblation(w io.Writer, d *Dataset, embedder string, entries []Ablation) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s, embedder %s: all signals together recall@10 %.4f (%.3f to %.3f), nDCG@10 %.4f, p50 %.2f ms\n\n",
		d.Name, embedder, entries[0].AloneRecall.Mean, entries[0].AloneRecall.Low, entries[0].AloneRecall.High, entries[0].AloneNDCG.Mean, entries[0].AloneTook.P50)
	b.WriteString("| signal | weight | recall@10 when off | 95% | nDCG@10 when off | 95% | p50 ms when off | recall@10 alone | nDCG@10 alone | p50 ms alone |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, e := range entries[1:] {
		fmt.Fprintf(&b, "| %s | %.3g | %+.4f | %+.4f to %+.4f | %+.4f | %+.4f to %+.4f | %.2f | %.4f | %.4f | %.2f |\n", e.Signal, e.Weight,
			e.OffRecall.Mean, e.OffRecall.Low, e.OffRecall.High, e.OffNDCG.Mean, e.OffNDCG.Low, e.OffNDCG.High, e.OffTook.P50,
			e.AloneRecall.Mean, e.AloneNDCG.Mean, e.AloneTook.P50)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
