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

// patience is longer than a job waits before its second attempt.
const patience = 5 * time.Second

func modelCommand(o *options) *cobra.Command {
	var upstream, listen string
	var calls int
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "model", Short: "Ask a model every call of every policy, and check what is stored", Args: cobra.NoArgs,
		Long: `Ask a model every call of every policy, and check what is stored. The gateway must use
the address of --listen, with /v1, as the endpoint of its model: requests are forwarded to
--upstream and measured. A weak model never reaches some of the calls. For these, the earlier
calls are answered with fixed usable answers. The command fails when the stored data has
problems, or when the gateway is no longer ready at the end.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return testModel(cmd.Context(), *o, upstream, listen, eval.ModelTest{Calls: calls, Until: time.Now().Add(timeout), Patience: patience})
		},
	}
	f := cmd.Flags()
	f.StringVar(&upstream, "upstream", "", "base URL of the OpenAI-compatible endpoint, with /v1")
	f.StringVar(&listen, "listen", "127.0.0.1:0", "address of the proxy that the gateway uses as its endpoint")
	f.IntVar(&calls, "calls", 4, "exchanges or notes per collection")
	f.DurationVar(&timeout, "timeout", 30*time.Minute, "time after which nothing is asked")
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
	t.Prefix, t.Logf = o.prefix, logf
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
