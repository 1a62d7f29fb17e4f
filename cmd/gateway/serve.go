package main

import (
	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/command"
	"github.com/slipboxhq/slipbox/internal/cpus"
)

func (c *gateway) serve() *cobra.Command {
	var addr string
	var demo bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the API",
		Long: "Serve the API from the embedded store in the data directory, with jobs in this process.\n" +
			"The first start creates the tenant \"default\" and prints one key for it, once.\n\n" +
			"With DATABASE_URL it serves from Postgres, as one of any number of gateways that share it and\n" +
			"SLIPBOX_WRAPPING_KEY. Run `gateway migrate up` first, then `gateway tenant create` and\n" +
			"`gateway key create`. Jobs run in the gateways, or with REDIS_URL in `worker` processes.\n\n" +
			"An interrupt (Ctrl-C) or SIGTERM stops it gracefully: requests finish, and jobs return to the\n" +
			"queue and continue at the next start. A second one stops it at once; no data is lost.",
		Example: "  gateway serve\n" +
			"  gateway serve --demo --data ./try\n" +
			"  gateway serve --addr 127.0.0.1:9000 --env-file slipbox.env",
		Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, log, err := c.begin(func(cfg *app.Settings) {
				if addr != "" {
					cfg.Addr = addr
				}
			})
			if err != nil {
				return err
			}
			cpus.Spare(cfg.SpareProcessors)
			return app.Serve(cmd.Context(), cfg, log, c.stdout, demo)
		},
	}
	cmd.Flags().StringVar(&addr, "addr", "", "`host:port` to listen on (SLIPBOX_ADDR; default 127.0.0.1:8080)")
	cmd.Flags().BoolVar(&demo, "demo", false, "add a small conversation once, and print a key that is valid for 24 h and commands to try")
	return cmd
}
