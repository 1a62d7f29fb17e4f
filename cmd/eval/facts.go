package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/eval"
)

type factsOptions struct {
	*options
	corpus, reviews, write string
	sets, policies, files  []string
	dialogues              int
}

func factsCommand(o *options) *cobra.Command {
	f := factsOptions{options: o}
	cmd := &cobra.Command{
		Use: "facts", Short: "Tell labeled dialogues to policies, and compare what they derive with the labels", Args: cobra.NoArgs,
		Long: `Tell labeled dialogues to policies turn by turn, and compare the facts that they derive with
the labels: wanted ones kept, facts that fit a label, what ended and is retired, and what was
destroyed. A fact keeps a label if it names its turn among its sources and has most of its
words (internal/eval/facts.go). The sets are: corpus, all dialogues of --corpus; believed, those of them that nothing
was learned from; learned, the others; reviewed, the last eight written for reviews;
contradictions, pairs of statements.`,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context()) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.corpus, "corpus", cmp.Or(os.Getenv("EVAL_CORPUS"), eval.CorpusDir), "folder of the corpus")
	flags.StringSliceVar(&f.files, "files", eval.FirstFiles, "of the corpus, by the beginning of their names; \"\": all")
	flags.StringVar(&f.reviews, "reviews", eval.ReviewsDir, "folder of the dialogues written for reviews")
	flags.StringSliceVar(&f.sets, "sets", []string{"believed", "learned", "reviewed"}, "of corpus, believed, learned, reviewed, contradictions")
	flags.StringSliceVar(&f.policies, "policies", []string{"mem0"}, "policies that derive facts: mem0, mem0g, layered")
	flags.IntVar(&f.dialogues, "dialogues", 0, "only so many of each language of a set; 0: all")
	flags.StringVar(&f.write, "write", "", "file to write what was derived to, one JSON line for each dialogue")
	return cmd
}

func (f *factsOptions) run(ctx context.Context) (err error) {
	client, err := f.client()
	if err != nil {
		return err
	}
	out := io.Discard
	if f.write != "" {
		file, err := os.Create(f.write)
		if err != nil {
			return fmt.Errorf("open the file of what is derived: %w", err)
		}
		defer func() { err = cmp.Or(err, file.Close()) }()
		out = file
	}
	for _, set := range f.sets {
		dialogues, err := f.set(set)
		if err != nil {
			return err
		}
		var results []eval.FactResult
		for _, policy := range f.policies {
			r, err := eval.CountFacts(policy, dialogues,
				func(d *eval.Labeled) ([]eval.DerivedFact, error) {
					return eval.TellDialogue(ctx, client, f.prefix+policy+"-"+d.ID, policy, d)
				},
				func(d *eval.Labeled, facts []eval.DerivedFact, c eval.FactCounts) error {
					logf("%s, %s: %d of %d wanted facts kept, %d facts", policy, d.ID, c.Kept, c.Wanted, c.Live)
					if err := json.NewEncoder(out).Encode(eval.Derived{Policy: policy, Dialogue: d.ID, Facts: facts}); err != nil {
						return fmt.Errorf("write what is derived: %w", err)
					}
					return nil
				})
			if err != nil {
				return fmt.Errorf("%s, %s: %w", set, policy, err)
			}
			results = append(results, r)
		}
		if err := eval.PrintFacts(os.Stdout, set, results); err != nil {
			return err
		}
	}
	return nil
}

// set returns the dialogues of a set.
func (f *factsOptions) set(name string) (out []eval.Labeled, err error) {
	switch name {
	case "corpus", "believed", "learned":
		if out, err = eval.ReadCorpus(f.corpus); err != nil {
			return nil, err
		}
		out = slices.DeleteFunc(eval.OfFiles(out, f.files), func(d eval.Labeled) bool {
			return name == "believed" && !d.Believed() || name == "learned" && d.Believed()
		})
	case "reviewed":
		out, err = eval.ReadReviewed(f.reviews)
	case "contradictions":
		out, err = eval.ReadContradictions(f.reviews)
	default:
		err = fmt.Errorf("no set is named %q", name)
	}
	if err != nil {
		return nil, err
	}
	if f.dialogues > 0 {
		seen := map[string]int{}
		out = slices.DeleteFunc(out, func(d eval.Labeled) bool {
			seen[d.Lang]++
			return seen[d.Lang] > f.dialogues
		})
	}
	return out, nil
}
