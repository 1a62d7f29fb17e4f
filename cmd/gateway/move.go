package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/command"
)

// moved gives settings whose MigrateDatabaseURL is the store, or that name a
// data directory. What only serving needs is not asked for.
func (c *gateway) moved() (app.Settings, *slog.Logger, error) {
	cfg, log, err := c.begin(func(cfg *app.Settings) {
		cfg.MigrateDatabaseURL = cmp.Or(cfg.MigrateDatabaseURL, cfg.DatabaseURL)
		cfg.DatabaseURL, cfg.RedisURL = "", ""
	})
	if err == nil && cfg.MigrateDatabaseURL != "" && c.data != "" {
		err = fmt.Errorf("--data %s and a database (MIGRATE_DATABASE_URL or DATABASE_URL) are both named; leave out the flag or unset the variables", c.data)
	}
	return cfg, log, err
}

func (c *gateway) streams() app.Streams {
	return app.Streams{In: os.Stdin, Out: c.stdout, Err: c.stderr}
}

const movedStore = "The store is the embedded one in the data directory, or with MIGRATE_DATABASE_URL (or else\n" +
	"DATABASE_URL) the servers' Postgres, as the owner of its tables.\n\n"

func (c *gateway) export() *cobra.Command {
	return &cobra.Command{
		Use: "export FILE", Short: "Write everything to a file that any installation can import", Args: command.OneArg("the FILE to write, or - for stdout,"),
		Long: "Write the whole store, as it is at one moment, to a new file, while gateways serve.\n" + movedStore +
			"The file is NDJSON, compressed when its name ends with .gz; - is stdout. It holds all tenants,\n" +
			"notes with their versions and vectors, jobs, reviews, audit rows and hashes of keys: all memories\n" +
			"in clear text. It is made for its owner alone; keep it so. It ends with a checksum.\n\n" +
			"What is written after the export began is not in it: stop gateways first when they are to move.",
		Example: "  gateway export memories.ndjson.gz\n" +
			"  MIGRATE_DATABASE_URL=postgres://owner:…@db/slipbox gateway export memories.ndjson.gz",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, log, err := c.moved()
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
		Long: "Fill an empty store from a file that `gateway export` wrote with the same schema; - is stdin.\n" + movedStore +
			"A data directory has to be new or empty, a database new, after `gateway migrate up`. All of the\n" +
			"file is taken, in one transaction, and then verified; of a file that is cut off, damaged or not\n" +
			"right nothing is kept, nor of an import that is interrupted.\n\n" +
			"API keys go on. The keys that sign tokens are wrapped by a secret that is not in the file\n" +
			"(SLIPBOX_WRAPPING_KEY, or secret.key of a data directory): with another one tokens end and\n" +
			"new signing keys are made. Jobs that ran at the export start again. Ephemeral collections\n" +
			"live 24 hours on servers, and in an embedded store until its next start.",
		Example: "  MIGRATE_DATABASE_URL=postgres://owner:…@db/slipbox gateway import memories.ndjson.gz\n" +
			"  gateway import memories.ndjson.gz --data ./back",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, log, err := c.moved()
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
				return fmt.Errorf("all was imported, but %d problems were found; `gateway check` on the installation that the file comes from tells whether they were there before", len(problems))
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
