package eval

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
)

// HeldOut is the result of a choice on conversations that did not take part in it.
type HeldOut struct {
	Rows   []Row // of each conversation, with the choice of all others
	Chosen []int // index of the choice, by conversation
}

// leaveOneOut takes runs over the same questions, one for each choice of constants. For each
// conversation it chooses the run with the best mean over the questions of all other conversations
// (the first of equal ones), and keeps that run's answers. The category Apart does not count.
func leaveOneOut(d *Dataset, runs [][]Row, metric int) HeldOut {
	var out HeldOut
	for c := range d.Conversations {
		best, chosen := -1.0, 0
		for i, rows := range runs {
			m := mean(column(rows, metric, func(r *Row) bool { return r.Conversation != c && r.Question.Category != d.Apart }))
			if m > best {
				best, chosen = m, i
			}
		}
		out.Chosen = append(out.Chosen, chosen)
		for _, r := range runs[chosen] {
			if r.Conversation == c {
				out.Rows = append(out.Rows, r)
			}
		}
	}
	return out
}

// Tune asks with each weight of one signal. For each conversation it uses the weight that all other
// conversations choose by nDCG@10, and compares with the unchanged ranking.
func Tune(ctx context.Context, w io.Writer, b *Bench, v Variant, signal string, weights []float64, logf func(format string, args ...any)) error {
	recall, ndcg := b.metric("recall@10"), b.metric("nDCG@10")
	whole := func(r *Row) bool { return r.Question.Category != b.Data.Apart }
	base, err := b.Ask(ctx, v)
	if err != nil {
		return err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\n%s, embedder %s\n\n| weight of %s | recall@10 | nDCG@10 |\n|---|---|---|\n", b.Data.Name, b.Embedder, signal)
	row := func(name string, rows []Row) {
		fmt.Fprintf(&out, "| %s | %.4f | %.4f |\n", name, mean(column(rows, recall, whole)), mean(column(rows, ndcg, whole)))
	}
	row("as it is", base)
	runs := make([][]Row, len(weights))
	for i, weight := range weights {
		logf("%s: weight %d of %d: %g", b.Data.Name, i+1, len(weights), weight)
		u := v
		u.Weights = maps.Clone(v.Weights)
		if u.Weights == nil {
			u.Weights = map[string]float64{}
		}
		u.Weights[signal] = weight
		if runs[i], err = b.Ask(ctx, u); err != nil {
			return err
		}
		row(fmt.Sprint(weight), runs[i])
	}
	held := leaveOneOut(b.Data, runs, ndcg)
	row("chosen by the others", held.Rows)
	for i, c := range held.Chosen {
		fmt.Fprintf(&out, "\nchosen for %s: %g", b.Data.Conversations[i].ID, weights[c])
	}
	for _, name := range []string{"recall@10", "nDCG@10"} {
		d := paired(held.Rows, base, b.metric(name), whole)
		fmt.Fprintf(&out, "\n%s, chosen by the others less as it is: %+.4f (%+.4f to %+.4f)", name, d.Mean, d.Low, d.High)
	}
	out.WriteByte('\n')
	if _, err := io.WriteString(w, out.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
