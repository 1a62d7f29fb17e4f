package main

import (
	"context"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/slipboxhq/slipbox/internal/eval"
)

// foreignPerConversation is the number of questions about the next conversation.
const foreignPerConversation = 50

// floors are the cosine thresholds to try for the first stage.
var floors = []float64{0.1, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7}

// noise measures the false-hit rate of the two-stage filter (C055): cosine above 0.7, then the
// relevance by the configured analyst. It also measures the first stage with other floors.
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
	sums, byFloor := make([]eval.Noise, len(filters)), make([]eval.Noise, len(floors))
	for i, c := range cs {
		foreign := eval.SampleForeign()
		if o.data != "" {
			foreign = foreign[:0]
			for _, q := range cs[(i+1)%len(cs)].Questions[:foreignPerConversation] {
				foreign = append(foreign, q.Text)
			}
		}
		l, err := eval.Load(ctx, client, o.prefix+c.ID, "none", &c, progress(c.ID))
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
		ns, err := eval.MeasureFloors(ctx, client, l, c.Questions, foreign, floors)
		if err != nil {
			return err
		}
		for j := range ns {
			byFloor[j].Merge(ns[j])
		}
	}
	tw := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(tw, "filter\tquestions\trecall@10\tforeign\tfalse hits\tforeign with a hit\t")
	line := func(name string, n eval.Noise) {
		_, _ = fmt.Fprintf(tw, "%s\t%d\t%.4f\t%d\t%.2f%%\t%.1f%%\t\n", name, n.Questions, n.Recall, n.Foreign, 100*n.FalseHits, 100*n.FalseAnswers)
	}
	for j, f := range filters {
		line("rerank "+f, sums[j])
	}
	for j, f := range floors {
		line(fmt.Sprintf("first stage, cosine above %.2f", f), byFloor[j])
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
