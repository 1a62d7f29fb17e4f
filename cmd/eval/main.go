// Command eval loads conversations into a running gateway through its public
// API and measures what comes back: notes, links, evolutions, time, and recall
// against the evidence that comes with the data.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
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
	url, key, data, policy, prefix string
}

func root() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:           "eval",
		Short:         "Load conversations into a gateway and measure what it makes of them",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	f := cmd.PersistentFlags()
	f.StringVar(&o.url, "url", "http://127.0.0.1:8080", "the gateway")
	f.StringVar(&o.key, "key", os.Getenv("SLIPBOX_KEY"), "API key (default: the environment variable SLIPBOX_KEY)")
	f.StringVar(&o.data, "data", os.Getenv("EVAL_DATA"), "folder with locomo7.json and memorybank_en.json (default: EVAL_DATA; without it, the bundled sample)")
	f.StringVar(&o.policy, "policy", "amem", "policy of the collections made")
	f.StringVar(&o.prefix, "prefix", time.Now().UTC().Format("eval-20060102-150405-"), "beginning of the names of the collections made")
	cmd.AddCommand(
		&cobra.Command{
			Use: "load", Short: "Load LoCoMo conversations and MemoryBank users; print notes, links, evolutions and time", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return load(cmd.Context(), o) },
		},
		&cobra.Command{
			Use: "recall", Short: "Load conversations without analysis and score searches against the evidence", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return recall(cmd.Context(), o) },
		},
		&cobra.Command{
			Use: "noise", Short: "Ask questions about other conversations too, and count false hits with and without the two-stage filter", Args: cobra.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error { return noise(cmd.Context(), o) },
		},
	)
	return cmd
}

func (o options) client() (*eval.Client, error) {
	if o.key == "" {
		return nil, errors.New("no key: pass --key or set SLIPBOX_KEY (`gateway key create --tenant default` makes one)")
	}
	return &eval.Client{BaseURL: o.url, Key: o.key}, nil
}

func (o options) conversations() ([]eval.Conversation, error) {
	if o.data == "" {
		c, err := eval.Sample()
		return []eval.Conversation{c}, err
	}
	return eval.ReadLoCoMo(filepath.Join(o.data, "locomo7.json"))
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
	cs, err := o.conversations()
	if err != nil {
		return err
	}
	for _, c := range cs {
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
		l, err := eval.Load(ctx, client, o.prefix+it.name, o.policy, it.turns, progress(it.name))
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

func recall(ctx context.Context, o options) error {
	client, err := o.client()
	if err != nil {
		return err
	}
	cs, err := o.conversations()
	if err != nil {
		return err
	}
	modes := []string{"lexical", "vector", "hybrid"}
	scores := map[string]map[int][]eval.Score{}
	for _, m := range modes {
		scores[m] = map[int][]eval.Score{}
	}
	for _, c := range cs {
		l, err := eval.Load(ctx, client, o.prefix+c.ID, "none", c.Turns, progress(c.ID))
		if err != nil {
			return err
		}
		for _, m := range modes {
			by, err := eval.Recall(ctx, client, l, c.Questions, m)
			if err != nil {
				return err
			}
			for cat, s := range by {
				scores[m][cat] = append(scores[m][cat], s...)
			}
		}
	}
	tw := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(tw, "mode\tcategory\tn\tr@5\tr@10\tr@20\tr@50\tall@10\tMRR\tnDCG@10\t")
	for _, m := range modes {
		cats := make([]int, 0, len(scores[m]))
		for cat := range scores[m] {
			cats = append(cats, cat)
		}
		slices.Sort(cats)
		for _, cat := range cats {
			label := fmt.Sprint(cat)
			if cat == 0 {
				label = "1-4"
			}
			s := eval.Mean(scores[m][cat])
			_, _ = fmt.Fprintf(tw, "%s\t%s\t%d\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t\n", m, label, len(scores[m][cat]),
				s.Recall5, s.Recall10, s.Recall20, s.Recall50, s.All10, s.MRR, s.NDCG10)
		}
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
