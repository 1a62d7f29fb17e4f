package main

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/slipboxhq/slipbox/internal/eval"
)

// foreignPerConversation is how many questions about the next conversation are asked.
const foreignPerConversation = 50

// noise measures the false-hit rate of the two-stage filter (C055): cosine
// above 0.7, then the relevance that the configured analyst states.
func noise(ctx context.Context, o options) error {
	client, err := o.client()
	if err != nil {
		return err
	}
	talks, err := o.talks()
	if err != nil {
		return err
	}
	cs := talks.Conversations
	filters := []string{"none", "model"}
	sums := make([]eval.Noise, len(filters))
	for i, c := range cs {
		foreign := eval.SampleForeign()
		if o.data != "" {
			foreign = foreign[:0]
			for _, q := range cs[(i+1)%len(cs)].Questions[:foreignPerConversation] {
				foreign = append(foreign, q.Text)
			}
		}
		l, err := eval.Load(ctx, client, o.prefix+c.ID, "none", c.Turns, progress(c.ID))
		if err != nil {
			return err
		}
		for j, f := range filters {
			n, err := eval.MeasureNoise(ctx, client, l, c.Questions, foreign, f)
			if err != nil {
				return err
			}
			sums[j].Merge(n)
		}
	}
	tw := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(tw, "rerank\tquestions\trecall@10\tforeign\tfalse hits\tforeign with a hit\t")
	for j, f := range filters {
		n := sums[j]
		_, _ = fmt.Fprintf(tw, "%s\t%d\t%.4f\t%d\t%.2f%%\t%.1f%%\t\n", f, n.Questions, n.Recall, n.Foreign, 100*n.FalseHits, 100*n.FalseAnswers)
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
