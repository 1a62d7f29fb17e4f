package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/command"
)

// keyVariable holds the key for a gateway that runs elsewhere.
const keyVariable = "SLIPBOX_API_KEY"

func (c *gateway) mcp() *cobra.Command {
	var base string
	cmd := &cobra.Command{
		Use: "mcp", Short: "Serve the Model Context Protocol on standard input and output", Args: command.NoArgs,
		Long: "Serve the tools of /mcp to a desktop agent that starts this command and writes messages to its\n" +
			"standard input. It ends when the input is closed; logs go to stderr.\n\n" +
			"With --url it relays to a gateway that runs already, with the key in SLIPBOX_API_KEY. Without,\n" +
			"it runs a gateway of its own over the data directory, which only one process can hold. It makes\n" +
			"no key for people: `gateway key create` does, and so does the first `gateway serve`.",
		Example: "  gateway mcp --data ~/.slipbox\n" +
			"  SLIPBOX_API_KEY=sb_live_… gateway mcp --url http://127.0.0.1:8080",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, log, err := c.begin()
			if err != nil {
				return err
			}
			if base != "" {
				return app.RelayMCP(cmd.Context(), strings.TrimSpace(base), strings.TrimSpace(os.Getenv(keyVariable)), log, cmd.InOrStdin(), c.stdout)
			}
			return app.ServeMCP(cmd.Context(), cfg, log, cmd.InOrStdin(), c.stdout)
		},
	}
	cmd.Flags().StringVar(&base, "url", "", "`URL` of a gateway that runs already")
	return cmd
}
