package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/command"
	"github.com/slipboxhq/slipbox/internal/app/daemon"
	"github.com/slipboxhq/slipbox/internal/build"
)

func (c *gateway) version() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print version, commit and date of the build", Args: command.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b := build.Current()
			if asJSON {
				return json.NewEncoder(c.stdout).Encode(b)
			}
			_, err := fmt.Fprintf(c.stdout, "slipbox %s\ncommit  %s\ndate    %s\ngo      %s\n", b.Version, b.Commit, b.Date, b.Go)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func (c *gateway) health() *cobra.Command {
	return daemon.Health("gateway", "SLIPBOX_ADDR", func() (string, error) {
		cfg, err := c.settings()
		return cfg.Addr, err
	})
}

func (c *gateway) selfTest() *cobra.Command {
	var base string
	cmd := &cobra.Command{
		Use: "selftest", Short: "Add and find a note through a running gateway", Args: command.NoArgs,
		Long: "Ask the running gateway whether it is ready, then add a note and search for it, with a tenant,\n" +
			"a key and a collection of its own that are deleted at the end. It needs the same database\n" +
			"settings or data directory as the gateway. `helm test` runs it.",
		Example: "  gateway selftest\n  gateway selftest --url http://slipbox",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, log, err := c.begin()
			if err != nil {
				return err
			}
			if base == "" {
				if base, err = app.HealthURL(cfg.Addr); err != nil {
					return err
				}
			}
			return app.SelfTest(cmd.Context(), cfg, log, base, func(passed string) {
				_, _ = fmt.Fprintln(c.stdout, "ok    "+passed)
			})
		},
	}
	cmd.Flags().StringVar(&base, "url", "", "where it listens, as a `URL` (default: the address in the settings)")
	return cmd
}

func (c *gateway) config() *cobra.Command {
	return &cobra.Command{
		Use: "config", Short: "Print the settings in force, secrets redacted", Args: command.NoArgs,
		Long: "Print the settings in force as YAML, with defaults filled in and secrets redacted. Flags win\n" +
			"over the environment, the environment over --env-file, and that over --config. An empty text\n" +
			"is not set; requests_per_minute: 0 is no limit.\n\n" +
			"The output can be used as --config once the redacted values are replaced. Delete the lines\n" +
			"that you do not want to fix: `provider: heuristic`, for one, keeps a model out that only\n" +
			"SLIPBOX_LLM_MODEL or SLIPBOX_LLM_BASE_URL names.",
		Example: "  gateway config\n" +
			"  gateway config --data ./try > slipbox.yaml",
		RunE: func(*cobra.Command, []string) error {
			cfg, err := c.settings()
			if err != nil {
				return err
			}
			out, err := cfg.InForce().Redacted()
			if err != nil {
				return err
			}
			_, err = c.stdout.Write(out)
			return err
		},
	}
}

func (c *gateway) doctor() *cobra.Command {
	return &cobra.Command{
		Use: "doctor", Short: "Check settings, store, Redis, clocks, address, model and embedder, with a fix for each problem", Args: command.NoArgs,
		Long: "Check everything that a gateway with these settings needs, and print a fix for each problem. It\n" +
			"changes nothing, works while a gateway runs, and exits with 1 when a check is \"bad\". A\n" +
			"\"note\" works, but perhaps differently from what you expect.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, log, err := c.begin()
			if err != nil {
				return err
			}
			bad := 0
			for _, f := range app.Doctor(cmd.Context(), cfg, log) {
				if f.State == app.Bad {
					bad++
				}
				if _, err := fmt.Fprintf(c.stdout, "%-5s %-14s %s\n", f.State, f.Name, f.Detail); err != nil {
					return err
				}
				if f.Fix != "" {
					if _, err := fmt.Fprintf(c.stdout, "%21sfix: %s\n", "", f.Fix); err != nil {
						return err
					}
				}
			}
			if bad > 0 {
				return command.ErrSilent{}
			}
			return nil
		},
	}
}
