package daemon

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/command"
)

// Health returns the command that asks a running process of the same binary whether it is ready.
// addr returns the address in the settings; it is called only without --url.
func Health(binary, setting string, addr func() (string, error)) *cobra.Command {
	var base string
	cmd := &cobra.Command{
		Use: "health", Short: "Ask a running " + binary + " whether it is ready", Args: command.NoArgs,
		Long: "Ask the running " + binary + " whether it is ready (GET /readyz) at the address that the settings\n" +
			"name (" + setting + "), print its answer, and exit with 1 when it is not, or does not answer\n" +
			"within seconds. It needs no shell, so that containers can use it as their health check.",
		Example: "  " + binary + " health\n  " + binary + " health --url http://127.0.0.1:9090",
		RunE: func(cmd *cobra.Command, _ []string) error {
			at := base
			if at == "" {
				listens, err := addr()
				if err != nil {
					return err
				}
				if at, err = app.HealthURL(listens); err != nil {
					return err
				}
			}
			ready, state, err := app.Health(cmd.Context(), at)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), state); err != nil {
				return err
			}
			if !ready {
				return command.ErrSilent{}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&base, "url", "", "where it listens, as a `URL` (default: the address in the settings)")
	return cmd
}
