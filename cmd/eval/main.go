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
	"strings"
	"syscall"
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
	url, key, data, prefix string

	tracks, variants, systems  []string
	engine, results, committed string
	sizes                      []int
	mode, profile, document    string
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
	f.StringVar(&o.data, "data", os.Getenv("EVAL_DATA"), "folder with locomo7.json and beam100k_14.json.gz (default: EVAL_DATA; without it, the bundled sample)")
	f.StringVar(&o.prefix, "prefix", time.Now().UTC().Format("eval-20060102-150405-"), "prefix of the names of the new collections")
	cmd.AddCommand(
		recallCommand(&o), factsCommand(&o), modelCommand(&o), growthCommand(&o), ablationCommand(&o), measureCommand(&o), fitCommand(), referenceCommand(&o), compareCommand(&o),
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
