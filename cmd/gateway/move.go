package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/command"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// moveSettings returns settings that name the store to move: MigrateDatabaseURL, or the data directory if --data or no URL is given.
// The URLs that only serving needs are cleared, so that their other settings are not required.
func (c *gateway) moveSettings() (app.Settings, *slog.Logger, error) {
	return c.begin(func(cfg *app.Settings) {
		cfg.MigrateDatabaseURL = cmp.Or(cfg.MigrateDatabaseURL, cfg.DatabaseURL)
		cfg.DatabaseURL, cfg.RedisURL = "", ""
	})
}

func (c *gateway) streams() app.Streams {
	return app.Streams{In: os.Stdin, Out: c.stdout, Err: c.stderr}
}

const moveStoreHelp = "The store is the embedded one in the data directory. With MIGRATE_DATABASE_URL (or else\n" +
	"DATABASE_URL) and without --data it is the servers' Postgres, with the role that owns its tables.\n\n"

func (c *gateway) export() *cobra.Command {
	return &cobra.Command{
		Use: "export FILE", Short: "Write everything to a file that any installation can import", Args: command.OneArg("the FILE to write, or - for stdout,"),
		Long: "Write the whole store, at one moment, to a new file, also while gateways serve.\n" + moveStoreHelp +
			"The file is NDJSON, compressed when its name ends with .gz; - is stdout. It holds all tenants,\n" +
			"notes with their versions and vectors, jobs, reviews, audit rows and hashes of keys: all memories\n" +
			"in clear text. Only its owner can read it; keep it so. It ends with a checksum.\n\n" +
			"Writes after the export began are not in it: to move an installation, stop its gateways first.",
		Example: "  gateway export memories.ndjson.gz\n" +
			"  MIGRATE_DATABASE_URL=postgres://owner:…@db/slipbox gateway export memories.ndjson.gz",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, log, err := c.moveSettings()
			if err != nil {
				return err
			}
			if err := app.Export(cmd.Context(), cfg, log, args[0], c.streams()); err != nil || args[0] == "-" {
				return err
			}
			_, err = fmt.Fprintln(c.stdout, args[0])
			return err
		},
	}
}

func (c *gateway) imports() *cobra.Command {
	return &cobra.Command{
		Use: "import FILE", Short: "Fill an empty store from a file of `gateway export`", Args: command.OneArg("the FILE that `gateway export` wrote, or - for stdin,"),
		Long: "Fill an empty store from a file that `gateway export` wrote with the same schema; - is stdin.\n" + moveStoreHelp +
			"The data directory must be new or empty; a database must be new, after `gateway migrate up`. The\n" +
			"whole file is imported in one transaction and then verified. A truncated, damaged or invalid\n" +
			"file leaves the store empty. An interrupted import can be repeated: a database that holds all\n" +
			"of this file already is only verified.\n\n" +
			"API keys stay valid. The keys that sign tokens are encrypted with a secret that is not in the\n" +
			"file (SLIPBOX_WRAPPING_KEY, or secret.key of a data directory): with another secret, tokens\n" +
			"become invalid and new signing keys are created. Jobs that ran at the export start again.\n" +
			"Ephemeral collections live 24 hours on servers, and in an embedded store until its next start.",
		Example: "  MIGRATE_DATABASE_URL=postgres://owner:…@db/slipbox gateway import memories.ndjson.gz\n" +
			"  gateway import memories.ndjson.gz --data ./back",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, log, err := c.moveSettings()
			if err != nil {
				return err
			}
			problems, err := app.Import(cmd.Context(), cfg, log, args[0], c.streams())
			if err != nil {
				return err
			}
			if len(problems) > 0 {
				for _, p := range problems {
					if _, err := fmt.Fprintf(c.stdout, "%s: tenant %s collection %s %s\n", p.Kind, p.Tenant, p.Collection, p.Detail); err != nil {
						return err
					}
				}
				return fmt.Errorf("everything was imported, but the check found %s; run `gateway check` on the installation that the file comes from to see if it has the same", wording.Count(len(problems), "problem", "problems"))
			}
			target := cfg.Data
			if cfg.MigrateDatabaseURL != "" {
				target = "the database"
			}
			_, err = fmt.Fprintf(c.stdout, "imported into %s\n", target)
			return err
		},
	}
}
