package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/command"
)

func (c *gateway) migrate() *cobra.Command {
	cmd := command.Group("migrate", "Upgrade, downgrade or show the schema of the servers' Postgres",
		c.migrateUp(), c.migrateDown(), c.migrateStatus())
	cmd.Long = "Upgrade the schema of the servers' Postgres to this build, downgrade it, or show its version.\n\n" +
		"It connects as the owner of the tables: to MIGRATE_DATABASE_URL, or else to DATABASE_URL.\n" +
		"Gateways and workers use another role, SLIPBOX_DATABASE_ROLE (default slipbox_app), which\n" +
		"must exist; `migrate up` grants it exactly the rights it needs.\n\n" +
		"The embedded store needs none of this: `gateway serve` migrates it."
	return cmd
}

// owner runs fn with settings whose MigrateDatabaseURL is the database to migrate. The URLs that only
// serving needs are cleared, so that their other settings are not required.
func (c *gateway) owner(fn func(cfg app.Settings) error) error {
	if c.data != "" {
		return fmt.Errorf("--data %s names an embedded store, which `gateway serve` migrates; omit it to migrate the Postgres of MIGRATE_DATABASE_URL", c.data)
	}
	cfg, err := c.settings(func(cfg *app.Settings) {
		if cfg.MigrateDatabaseURL == "" {
			cfg.MigrateDatabaseURL = cfg.DatabaseURL
		}
		cfg.DatabaseURL, cfg.RedisURL = "", ""
	})
	if err != nil {
		return err
	}
	return fn(cfg)
}

func (c *gateway) migrateUp() *cobra.Command {
	return &cobra.Command{
		Use: "up", Short: "Apply missing steps and grant the serving role its rights", Args: command.NoArgs,
		Long: "Apply the missing steps and grant the serving role its rights. It may run twice, or in several\n" +
			"places at once. A step is one transaction: if it fails, it changes nothing.\n\n" +
			"With SLIPBOX_DATABASE_DISTRIBUTED it also distributes the tables by tenant, by the extension Citus.",
		Example: "  MIGRATE_DATABASE_URL=postgres://owner:…@db/slipbox gateway migrate up",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.owner(func(cfg app.Settings) error {
				if err := app.MigrateUp(cmd.Context(), cfg); err != nil {
					return err
				}
				return c.printMigrations(cmd.Context(), cfg)
			})
		},
	}
}

func (c *gateway) migrateDown() *cobra.Command {
	var to int64
	var yes bool
	cmd := &cobra.Command{
		Use: "down", Short: "Go back to an older schema; data of newer versions is lost", Args: command.NoArgs,
		Long: "Go back to the schema of a version, newest step first. Tables and columns of later versions\n" +
			"are dropped with their data; 0 drops everything. Stop gateways and workers, and make a backup\n" +
			"(pg_dump) first.",
		Example: "  gateway migrate down --to 0 --yes",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("to") {
				return command.UsageError(cmd, errors.New("--to VERSION is missing; `gateway migrate status` lists versions"))
			}
			if !yes {
				return command.UsageError(cmd, fmt.Errorf("going down to version %d drops the data of later versions; add --yes to do so", to))
			}
			return c.owner(func(cfg app.Settings) error {
				if err := app.MigrateDown(cmd.Context(), cfg, to); err != nil {
					return err
				}
				return c.printMigrations(cmd.Context(), cfg)
			})
		},
	}
	cmd.Flags().Int64Var(&to, "to", 0, "`version` to go back to")
	cmd.Flags().BoolVar(&yes, "yes", false, "drop the data of later versions")
	return cmd
}

func (c *gateway) migrateStatus() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "List the steps and which of them the database has", Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.owner(func(cfg app.Settings) error { return c.printMigrations(cmd.Context(), cfg) })
		},
	}
}

func (c *gateway) printMigrations(ctx context.Context, cfg app.Settings) error {
	steps, schema, err := app.Migrations(ctx, cfg)
	if err != nil {
		return err
	}
	rows := make([][]string, len(steps))
	for i, s := range steps {
		state := "pending"
		if s.Applied {
			state = "applied"
		}
		rows[i] = []string{strconv.FormatInt(s.Version, 10), state, s.Name}
	}
	if err := c.table("VERSION\tSTATE\tNAME", rows); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.stdout, "\nThe database has %s.\n", schema)
	return err
}
