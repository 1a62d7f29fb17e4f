package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/eval"
)

// The tracks over published data, and those over the bundled samples.
var (
	publishedTracks = []string{"locomo", "pooled", "beam", "realmem", "madial", "madial-zh", "systems", "systems-beam"}
	sampleTracks    = []string{"sample-talk", "sample-chat", "sample-languages", "sample-systems"}
)

func recallCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "recall", Short: "Score searches against the evidence that comes with the data, by track and variant", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return recall(cmd.Context(), *o) },
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.tracks, "tracks", nil, "of "+strings.Join(slices.Concat(publishedTracks, sampleTracks), ", ")+" (default: all that there is data for)")
	f.StringSliceVar(&o.variants, "variants", nil, "of lexical, vector, hybrid, no-attribute, default, mem0, dialogue, auto, context (default: all that the data allow, but auto)")
	f.StringSliceVar(&o.systems, "systems", nil, "of messages, amem, layered, mem0, mem0g, memorybank, memoryos: what the tracks systems, systems-beam and sample-systems tell conversations to (default: all)")
	f.StringVar(&o.results, "results", "", "folder to write a JSON file for each run to")
	f.StringVar(&o.committed, "compare", "", "folder of earlier results; a metric that fell by more than 0.01 is an error")
	return cmd
}

// dataset returns the data set of a track.
func (o options) dataset(track string) (d *eval.Dataset, err error) {
	if slices.Contains(publishedTracks, track) && o.data == "" {
		return nil, fmt.Errorf("the track %s needs published data: pass --data or set EVAL_DATA", track)
	}
	switch track {
	case "locomo":
		d, err = eval.ReadLoCoMo(o.data)
	case "pooled":
		if d, err = eval.ReadLoCoMo(o.data); err == nil {
			d = eval.Pooled(d)
		}
	case "beam":
		d, err = eval.ReadBEAM(o.data)
	case "realmem":
		d, err = eval.ReadRealMem(o.data)
	case "vehicle":
		d, err = eval.ReadVehicle(o.data)
	case "corpus":
		var dialogues []eval.Labeled
		if dialogues, err = eval.ReadCorpus(eval.CorpusDir); err == nil {
			d, err = eval.AsData(dialogues)
		}
	case "madial", "madial-zh":
		d, err = eval.ReadMADial(o.data, track == "madial-zh")
	case "sample-talk":
		d, err = eval.SampleTalk()
	case "sample-chat":
		d, err = eval.SampleChat()
	case "sample-languages":
		d, err = eval.SampleLanguages()
	default:
		err = fmt.Errorf("no track is named %q; there are %s", track, strings.Join(slices.Concat(publishedTracks, sampleTracks), ", "))
	}
	return d, err
}

// benches returns functions that open the benches of a track: one for most tracks, and one per
// memory system for the systems.
func (o options) benches(track string) ([]func(context.Context, *eval.Client) (*eval.Bench, error), error) {
	var out []func(context.Context, *eval.Client) (*eval.Bench, error)
	base := map[string]string{"systems": "locomo", "systems-beam": "beam", "sample-systems": "sample-talk"}[track]
	system := map[string]string{"systems": "", "systems-beam": "beam-", "sample-systems": "sample-"}[track] + "derived-"
	if base == "" {
		d, err := o.dataset(track)
		if err != nil {
			return nil, err
		}
		return append(out, func(ctx context.Context, c *eval.Client) (*eval.Bench, error) {
			return eval.Open(ctx, c, d, o.prefix+track+"-", "none", logf)
		}), nil
	}
	for _, s := range eval.Systems(base != "beam") {
		if len(o.systems) > 0 && !slices.Contains(o.systems, s.Name) {
			continue
		}
		d, err := o.dataset(base)
		if err != nil {
			return nil, err
		}
		d.Name, d.Budgets = system+s.Name, eval.TalkBudgets
		out = append(out, func(ctx context.Context, c *eval.Client) (*eval.Bench, error) {
			return eval.OpenTalk(ctx, c, d, o.prefix+d.Name+"-", s, logf)
		})
	}
	return out, nil
}

func logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func recall(ctx context.Context, o options) error {
	client, err := o.client()
	if err != nil {
		return err
	}
	tracks := o.tracks
	if len(tracks) == 0 {
		tracks = slices.Clone(sampleTracks)
		if o.data != "" {
			tracks = slices.Concat(publishedTracks, tracks)
		}
	}
	var fell []string
	for _, track := range tracks {
		benches, err := o.benches(track)
		if err != nil {
			return err
		}
		for _, open := range benches {
			b, err := open(ctx, client)
			if err != nil {
				return fmt.Errorf("%s: %w", track, err)
			}
			b.Engine = o.engine
			worse, err := o.runs(ctx, b)
			if err != nil {
				return fmt.Errorf("%s: %w", track, err)
			}
			fell = append(fell, worse...)
		}
	}
	if len(fell) > 0 {
		return errors.New("recall is worse than before:\n" + strings.Join(fell, "\n"))
	}
	return nil
}

// runs asks in every way, prints and writes the results, and returns the regressions.
func (o options) runs(ctx context.Context, b *eval.Bench) (fell []string, err error) {
	names := b.Offered()
	if len(o.variants) > 0 {
		names = slices.DeleteFunc(append(names, eval.Auto), func(n string) bool { return !slices.Contains(o.variants, n) })
	}
	var results []*eval.Result
	for _, name := range names {
		r, err := b.Run(ctx, name)
		if err != nil {
			return nil, err
		}
		logf("%s: %s asked in %.1f s", b.Data.Name, name, r.Wall)
		results = append(results, r)
		if o.committed != "" {
			worse, err := eval.RegressionsSince(o.committed, r)
			if err != nil {
				return nil, err
			}
			fell = append(fell, worse...)
		}
		if o.results != "" {
			file, err := r.Write(o.results)
			if err != nil {
				return nil, err
			}
			logf("%s: written", file)
		}
	}
	if err := eval.PrintTables(os.Stdout, results); err != nil {
		return nil, err
	}
	return fell, eval.PrintStored(os.Stdout, results)
}

func referenceCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "reference", Short: "Measure the reference scorers over the data, without a gateway", Args: cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			for _, track := range o.rankingTracks() {
				d, err := o.dataset(track)
				if err != nil {
					return err
				}
				var results []*eval.Result
				for _, r := range eval.References() {
					rows, err := r.Ask(d)
					if err != nil {
						return err
					}
					result := eval.Summarize(d, rows, d.Metrics())
					result.Variant, result.Engine, result.Embedder = r.Name, "none", "none"
					results = append(results, result)
				}
				if err := eval.PrintTables(os.Stdout, results); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&o.tracks, "tracks", nil, "as of recall (default: conversations and chats)")
	return cmd
}
