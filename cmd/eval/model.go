package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/eval"
)

// patience is more than a job waits for its second try.
const patience = 5 * time.Second

func modelCommand(o *options) *cobra.Command {
	var upstream, listen string
	var calls int
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "model", Short: "Ask a model every call of every policy, and look at what is stored", Args: cobra.NoArgs,
		Long: `Ask a model every call of every policy, and look at what is stored. The gateway must take
the address of --listen, with /v1, for the endpoint of its model: requests are passed on to
--upstream and measured. Calls that a poor model would never reach are asked too: there,
the answers that they build on are given in its stead. It fails when something is stored
that is not as it should be, or when the gateway does not hold out.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return testModel(cmd.Context(), *o, upstream, listen, eval.ModelTest{Calls: calls, Until: time.Now().Add(timeout), Patience: patience})
		},
	}
	f := cmd.Flags()
	f.StringVar(&upstream, "upstream", "", "base URL of the OpenAI-compatible endpoint, with its /v1")
	f.StringVar(&listen, "listen", "127.0.0.1:0", "address that the gateway sends its questions to")
	f.IntVar(&calls, "calls", 4, "exchanges, or notes, that each collection is told")
	f.DurationVar(&timeout, "timeout", 30*time.Minute, "when nothing more is asked")
	_ = cmd.MarkFlagRequired("upstream")
	return cmd
}

func testModel(ctx context.Context, o options, upstream, listen string, t eval.ModelTest) error {
	var err error
	if t.Client, err = o.client(); err != nil {
		return err
	}
	if t.Proxy, err = eval.NewModelProxy(upstream); err != nil {
		return err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("listen for the gateway: %w", err)
	}
	server := &http.Server{Handler: t.Proxy, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Prefix, t.Logf = o.prefix, tellf
	report, err := t.Run(ctx)
	err = errors.Join(err, server.Close())
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	if err != nil {
		return err
	}
	if err := report.Print(os.Stdout); err != nil {
		return err
	}
	return report.Err()
}
