package eval

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Ablation holds the contribution of each signal of a ranking on one data set.
type Ablation struct {
	Track, Profile, Embedder string
	Questions                int // without the category Dataset.Apart
	Whole                    map[string]Interval
	Took                     Latency
	Signals                  []AblatedSignal
}

// AblatedSignal is the contribution of one signal.
type AblatedSignal struct {
	Name string
	// Off is the ranking without the signal minus the ranking with it, by question. The
	// signal helps when it is below 0.
	Off     map[string]Interval
	OffTook Latency
	// Alone is the ranking by this signal only.
	Alone     map[string]Interval
	AloneTook Latency
}

// ablationMetrics are the metrics of an ablation.
var ablationMetrics = []string{"recall@10", "nDCG@10", "recall@2000t"}

// lateSignals is the prefix of the signals that are computed only for the best notes by all other
// signals. When such a signal is measured alone, the others keep chooserShare of their weight: they
// choose those notes, and otherwise only break ties.
const (
	lateSignals  = "late"
	chooserShare = 1e-4
)

// Ablate asks with each signal switched off, and with each alone. The signals are those in the
// explanations of the gateway.
func (b *Bench) Ablate(ctx context.Context, v Variant, logf func(format string, args ...any)) (*Ablation, error) {
	signals, err := b.Signals(ctx, v)
	if err != nil {
		return nil, err
	}
	var base []Row
	for range 2 { // the first run embeds the questions, which must not count
		if base, err = b.Ask(ctx, v); err != nil {
			return nil, err
		}
	}
	whole := func(r *Row) bool { return r.Question.Category != b.Data.Apart }
	each := func(of func(metric int) Interval) map[string]Interval {
		out := map[string]Interval{}
		for _, name := range ablationMetrics {
			if i := b.metric(name); i >= 0 {
				out[name] = of(i)
			}
		}
		return out
	}
	summary := func(rows []Row) map[string]Interval {
		return each(func(m int) Interval { return bootstrap(column(rows, m, whole)) })
	}
	out := &Ablation{Track: b.Data.Name, Embedder: b.Embedder, Whole: summary(base), Took: tookOf(base)}
	for i := range base {
		out.Profile = base[i].Ranking.Profile
		if whole(&base[i]) {
			out.Questions++
		}
	}
	for i, s := range signals {
		logf("%s, %s: signal %d of %d: %s", b.Data.Name, out.Profile, i+1, len(signals), s.Name)
		off, alone := v, v
		off.Weights, alone.Weights = map[string]float64{s.Name: 0}, map[string]float64{}
		for _, other := range signals {
			switch {
			case other.Name == s.Name:
			case strings.HasPrefix(s.Name, lateSignals) && !strings.HasPrefix(other.Name, lateSignals):
				alone.Weights[other.Name] = other.Weight * chooserShare
			default:
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
		out.Signals = append(out.Signals, AblatedSignal{
			Name: s.Name,
			Off:  each(func(m int) Interval { return paired(without, base, m, whole) }), OffTook: tookOf(without),
			Alone: summary(only), AloneTook: tookOf(only),
		})
	}
	return out, nil
}

func (b *Bench) metric(name string) int { return slices.Index(metrics(b.Data.Budgets), name) }

// paired returns the mean and the interval of the difference of two runs over the same questions:
// first minus second.
func paired(first, second []Row, metric int, keep func(*Row) bool) Interval {
	a, b := column(first, metric, keep), column(second, metric, keep)
	for i := range a {
		a[i] -= b[i]
	}
	return bootstrap(a)
}

func tookOf(rows []Row) Latency {
	ms := make([]float64, len(rows))
	for i := range rows {
		ms[i] = milliseconds(rows[i].Ranking.Took)
	}
	return latency(ms)
}

// Markdown returns a table with a row for each signal.
func (a *Ablation) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, profile `%s`, embedder %s, %d questions; as it is:", a.Track, a.Profile, a.Embedder, a.Questions)
	var columns []string
	for _, m := range ablationMetrics {
		if v, ok := a.Whole[m]; ok {
			columns = append(columns, m)
			fmt.Fprintf(&b, " %s %.4f (%.3f to %.3f),", m, v.Mean, v.Low, v.High)
		}
	}
	fmt.Fprintf(&b, " p50 %.2f ms.\n\n| signal |", a.Took.P50)
	for _, m := range columns {
		fmt.Fprintf(&b, " %s, off |", m)
	}
	b.WriteString(" ms, off |")
	for _, m := range columns {
		fmt.Fprintf(&b, " %s, alone |", m)
	}
	fmt.Fprintf(&b, " ms, alone |\n|---|%s\n", strings.Repeat("---|", 2*len(columns)+2))
	for _, s := range a.Signals {
		fmt.Fprintf(&b, "| `%s` |", s.Name)
		for _, m := range columns {
			fmt.Fprintf(&b, " %+.4f (%+.3f to %+.3f) |", s.Off[m].Mean, s.Off[m].Low, s.Off[m].High)
		}
		fmt.Fprintf(&b, " %.2f |", s.OffTook.P50)
		for _, m := range columns {
			fmt.Fprintf(&b, " %.4f |", s.Alone[m].Mean)
		}
		fmt.Fprintf(&b, " %.2f |\n", s.AloneTook.P50)
	}
	return b.String()
}

// ReplaceBetween replaces the text between the lines <!-- name --> and <!-- /name --> of a document.
// A document without them is an error.
func ReplaceBetween(document []byte, name, text string) ([]byte, error) {
	begin, end := []byte("<!-- "+name+" -->\n"), []byte("<!-- /"+name+" -->")
	i := bytes.Index(document, begin)
	if i < 0 {
		return nil, fmt.Errorf("no line %q", bytes.TrimSpace(begin))
	}
	i += len(begin)
	n := bytes.Index(document[i:], end)
	if n < 0 {
		return nil, fmt.Errorf("no %q after %q", end, bytes.TrimSpace(begin))
	}
	return slices.Concat(document[:i], []byte(text), document[i+n:]), nil
}
