package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/eval"
)

func growthCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "growth", Short: "Ask the same questions while a collection grows with notes about other topics", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return growth(cmd.Context(), *o) },
	}
	f := cmd.Flags()
	f.IntSliceVar(&o.sizes, "sizes", []int{1000, 3000, 10_000, 30_000, 100_000}, "notes")
	f.StringVar(&o.mode, "mode", eval.Hybrid, "mode of the searches")
	f.StringVar(&o.results, "results", "", "folder to write growth.json to")
	return cmd
}

// growth measures C312.
func growth(ctx context.Context, o options) error {
	client, err := o.client()
	if err != nil {
		return err
	}
	talks, err := o.talks()
	if err != nil {
		return err
	}
	if !slices.IsSorted(o.sizes) {
		return errors.New("the sizes must ascend")
	}
	points, err := eval.Grow(ctx, client, talks, o.prefix, eval.Variant{Mode: o.mode}, o.sizes, logf)
	if err != nil {
		return err
	}
	if o.results != "" {
		raw, err := json.MarshalIndent(points, "", "  ")
		if err != nil {
			return fmt.Errorf("encode: %w", err)
		}
		if err := os.MkdirAll(o.results, 0o750); err != nil {
			return fmt.Errorf("make the folder of results: %w", err)
		}
		//nolint:gosec // results are public
		if err := os.WriteFile(filepath.Join(o.results, "growth.json"), append(raw, '\n'), 0o644); err != nil {
			return fmt.Errorf("write: %w", err)
		}
	}
	return eval.PrintGrowth(os.Stdout, points)
}

// rankingTracks are the default tracks for measuring the ranking: conversations between people, and
// long answers of an assistant.
func (o options) rankingTracks() []string {
	switch {
	case len(o.tracks) > 0:
		return o.tracks
	case o.data != "":
		return []string{"locomo", "beam"}
	}
	return []string{"sample-talk", "sample-chat"}
}

func ablationCommand(o *options) *cobra.Command {
	cmd := &cobra.Command{
		Use: "ablation", Short: "Ask without each signal of the ranking, and with each alone", Args: cobra.NoArgs,
		Long: `Ask without each signal of the ranking, and with each alone, in the profile that the
gateway chooses by the content of a collection, and in its default one.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.eachTrack(cmd.Context(), func(ctx context.Context, b *eval.Bench) error { return o.ablate(ctx, b) })
		},
	}
	rankingFlags(o, cmd)
	cmd.Flags().StringVar(&o.document, "write", "", "Markdown file to write the tables to, each between the lines <!-- ablation TRACK PROFILE --> and <!-- /ablation TRACK PROFILE -->")
	return cmd
}

func (o options) ablate(ctx context.Context, b *eval.Bench) error {
	profiles := []string{"", eval.ProfileDefault}
	if o.profile != "" {
		profiles = []string{o.profile}
	}
	seen := ""
	for _, profile := range profiles {
		if profile != "" && profile == seen {
			continue // the gateway chose this profile itself
		}
		a, err := b.Ablate(ctx, eval.Variant{Mode: o.mode, Profile: profile}, logf)
		if err != nil {
			return err
		}
		seen = a.Profile
		if _, err := os.Stdout.WriteString(a.Markdown() + "\n"); err != nil {
			return fmt.Errorf("print: %w", err)
		}
		if o.document == "" {
			continue
		}
		text, err := os.ReadFile(o.document)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if text, err = eval.ReplaceBetween(text, "ablation "+a.Track+" "+a.Profile, "\n"+a.Markdown()+"\n"); err != nil {
			return fmt.Errorf("%s: %w", o.document, err)
		}
		if err := os.WriteFile(o.document, text, 0o644); err != nil { //nolint:gosec // documentation
			return fmt.Errorf("write: %w", err)
		}
	}
	return nil
}

func rankingFlags(o *options, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringSliceVar(&o.tracks, "tracks", nil, "as of recall (default: conversations and chats)")
	f.StringVar(&o.mode, "mode", eval.Hybrid, "mode of the searches")
	f.StringVar(&o.profile, "profile", "", "profile of the ranking (default: the gateway's choice)")
}

func (o options) eachTrack(ctx context.Context, do func(ctx context.Context, b *eval.Bench) error) error {
	client, err := o.client()
	if err != nil {
		return err
	}
	for _, track := range o.rankingTracks() {
		data, talk := strings.CutPrefix(track, "talk-")
		d, err := o.dataset(data)
		if err != nil {
			return err
		}
		var b *eval.Bench
		if talk {
			d.Name = track
			b, err = eval.OpenTalk(ctx, client, d, o.prefix+track+"-", eval.Systems(true)[0], logf)
		} else {
			b, err = eval.Open(ctx, client, d, o.prefix+track+"-", "none", logf)
		}
		if err != nil {
			return err
		}
		if err := do(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", track, err)
		}
	}
	return nil
}

func fitCommand() *cobra.Command {
	var file string
	var signals []string
	cmd := &cobra.Command{
		Use: "fit FILE…", Short: "Learn the weights of the ranking from what measure wrote, and measure them on data that they were not learned from", Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, files []string) error {
			var all []eval.Measured
			for _, name := range files {
				f, err := os.Open(name)
				if err != nil {
					return fmt.Errorf("read: %w", err)
				}
				part, err := eval.ReadMeasures(f)
				if err = errors.Join(err, f.Close()); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				all = append(all, part...)
			}
			f, err := eval.NewFitting(all, eval.BelievedMeasure, signals)
			if err != nil {
				return err
			}
			fitted := f.Table()
			if file != "" {
				if err := os.WriteFile(file, []byte(fitted.String()), 0o644); err != nil { //nolint:gosec // a part of the source
					return fmt.Errorf("write: %w", err)
				}
			}
			return f.LeftOut(os.Stdout, &fitted)
		},
	}
	cmd.Flags().StringSliceVar(&signals, "signals", strings.Split(fitSignals, ","), "names of the signals that get weights")
	cmd.Flags().StringVar(&file, "write", "", "file to write the weights to, such as internal/search/weights.tsv")
	return cmd
}

// fitSignals are the signals that the ranking weighs.
const fitSignals = "lexical,window,session,vector,late,late_lead,late_around,attribute,time,question,reply,opening,names,verbatim,covered,spoken,length"

func measureCommand(o *options) *cobra.Command {
	var file string
	var signals []string
	cmd := &cobra.Command{
		Use: "measure", Short: "Write what the gateway measures for every question, to try weights without it", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			f, err := os.Create(file)
			if err != nil {
				return fmt.Errorf("write: %w", err)
			}
			defer func() { err = errors.Join(err, f.Close()) }()
			return o.eachTrack(cmd.Context(), func(ctx context.Context, b *eval.Bench) error {
				return b.WriteMeasures(ctx, f, signals)
			})
		},
	}
	rankingFlags(o, cmd)
	cmd.Flags().StringSliceVar(&signals, "signals", strings.Split("late,late_lead,late_around,attribute,time,question,reply,opening,names,verbatim,covered,spoken,length", ","), "names of the signals, as in explanations; none: the first 30 hits as the gateway ranks them")
	cmd.Flags().StringVar(&file, "write", "measures.jsonl", "file to write, a line of JSON for each question")
	return cmd
}
