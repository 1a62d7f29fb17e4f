// Command eval loads conversations into a running gateway through its public API and measures the
// results: notes, links, evolutions, time, and recall against the evidence that comes with the data.
// The work is done by internal/eval.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/eval"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "eval:", err)
		os.Exit(1)
	}
}

type options struct {
	url, key, data, policy, prefix, keep string

	tracks, variants, systems  []string
	engine, results, committed string
	sizes                      []int
	mode, profile, document    string
	oracle                     string
}

func root() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:           "eval",
		Short:         "Load conversations into a gateway and measure the results",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	f := cmd.PersistentFlags()
	f.StringVar(&o.url, "url", "http://127.0.0.1:8080", "base URL of the gateway")
	f.StringVar(&o.key, "key", strings.TrimSpace(os.Getenv("SLIPBOX_KEY")), "API key (default: the environment variable SLIPBOX_KEY)")
	f.StringVar(&o.engine, "engine", "embedded", "store of the gateway, named in the results: embedded or postgres")
	f.StringVar(&o.data, "data", os.Getenv("EVAL_DATA"), "folder with locomo7.json, beam100k_14.json.gz and memorybank_en.json (default: EVAL_DATA; without it, the bundled sample)")
	f.StringVar(&o.policy, "policy", "amem", "policy of the new collections")
	f.StringVar(&o.prefix, "prefix", time.Now().UTC().Format("eval-20060102-150405-"), "prefix of the names of the new collections")
	f.StringVar(&o.keep, "keep", "", "folder that notes which collections are loaded; a later run with the same folder and gateway loads nothing again")
	cmd.AddCommand(
		&cobra.Command{
			Use: "load", Short: "Load LoCoMo conversations and MemoryBank users; print notes, links, evolutions and time", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return load(cmd.Context(), o) },
		},
		recallCommand(&o), factsCommand(&o), corpusCommand(), modelCommand(&o), growthCommand(&o), ablationCommand(&o), measureCommand(&o), fitCommand(), referenceCommand(&o), compareCommand(&o),
		&cobra.Command{
			Use: "noise", Short: "Count false hits of questions about other conversations, with and without the two-stage filter", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return noise(cmd.Context(), o) },
		},
	)
	return cmd
}

func (o options) client() (*eval.Client, error) {
	if o.key == "" {
		return nil, errors.New("no key: pass --key or set SLIPBOX_KEY (`gateway key create --tenant default` creates one)")
	}
	return &eval.Client{BaseURL: o.url, Key: o.key}, nil
}

// talks returns the conversations between people.
func (o options) talks() (*eval.Dataset, error) {
	if o.data == "" {
		return eval.SampleTalk()
	}
	return eval.ReadLoCoMo(o.data)
}

func progress(name string) func(written, jobs int) {
	return func(written, jobs int) {
		switch {
		case jobs < 0:
			fmt.Fprintf(os.Stderr, "%s: %d notes written\n", name, written)
		case jobs >= 200:
			fmt.Fprintf(os.Stderr, "\r%s: more than %d jobs left ", name, jobs-1)
		default:
			fmt.Fprintf(os.Stderr, "\r%s: %d jobs left          ", name, jobs)
			if jobs == 0 {
				fmt.Fprintln(os.Stderr)
			}
		}
	}
}

func load(ctx context.Context, o options) error {
	client, err := o.client()
	if err != nil {
		return err
	}
	type item struct {
		name  string
		turns []eval.Turn
	}
	var items []item
	talks, err := o.talks()
	if err != nil {
		return err
	}
	for _, c := range talks.Conversations {
		items = append(items, item{c.ID, c.Turns})
	}
	if o.data != "" {
		users, err := eval.ReadMemoryBank(filepath.Join(o.data, "memorybank_en.json"))
		if err != nil {
			return err
		}
		for _, u := range users {
			items = append(items, item{"bank-" + strings.ToLower(strings.ReplaceAll(u.Name, " ", "-")), u.Turns})
		}
	}
	tw := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(tw, "conversation\tnotes\tlinks\tlinks/note\tevolved\tevolved/note\t≥3 keywords\tpending\trefused\tseconds\t")
	var sum eval.Loaded
	var described, total int
	for _, it := range items {
		l, err := eval.Load(ctx, client, o.prefix+it.name, o.policy, &eval.Conversation{Turns: it.turns}, progress(it.name))
		if err != nil {
			return err
		}
		if err := eval.Evolutions(ctx, client, &l); err != nil {
			return err
		}
		d, n, err := eval.Described(ctx, client, l.Collection)
		if err != nil {
			return err
		}
		row(tw, it.name, l, d, n)
		sum.Notes += l.Notes
		sum.Links += l.Links
		sum.Evolved += l.Evolved
		sum.Pending += l.Pending
		sum.Failed += l.Failed
		sum.Took += l.Took
		described += d
		total += n
	}
	row(tw, "all", sum, described, total)
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if sum.Failed > 0 {
		return fmt.Errorf("%d notes were refused", sum.Failed)
	}
	return nil
}

func row(tw *tabwriter.Writer, name string, l eval.Loaded, described, total int) {
	n := float64(max(l.Notes, 1))
	_, _ = fmt.Fprintf(tw, "%s\t%d\t%d\t%.2f\t%d\t%.2f\t%.1f%%\t%d\t%d\t%.1f\t\n", name, l.Notes, l.Links, float64(l.Links)/n,
		l.Evolved, float64(l.Evolved)/n, 100*float64(described)/float64(max(total, 1)), l.Pending, l.Failed, l.Took.Seconds())
}
