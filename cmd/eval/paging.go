package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/slipboxhq/slipbox/internal/eval"
)

// paging serves the oracle, which the gateway asks, and measures the agents of the policy memgpt.
func (o options) paging(ctx context.Context, client *eval.Client) error {
	if o.oracle == "" {
		return errors.New("no address for the oracle: pass --oracle, and start the gateway with SLIPBOX_LLM_BASE_URL=http://<address>/v1 and SLIPBOX_LLM_MODEL=oracle")
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.oracle)
	if err != nil {
		return fmt.Errorf("listen for the gateway: %w", err)
	}
	server := &http.Server{Handler: eval.Oracle{}, ReadHeaderTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	bench := eval.Paging{Client: client, Prefix: o.prefix, Pairs: 140, Questions: 8, Documents: []int{10, 50, 100, 200}, Logf: logf}
	rows, err := bench.Run(ctx)
	err = errors.Join(err, server.Close())
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	if err != nil {
		return err
	}
	return eval.PrintPaging(os.Stdout, rows)
}
