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
	cmd := command.Group("migrate", "Bring the schema of the servers' Postgres up to this build, back, or show it",
		c.migrateUp(), c.migrateDown(), c.migrateStatus())
	cmd.Long = "Bring the schema of the servers' Postgres up to this build, back, or show where it stands.\n\n" +
		"It connects as the owner of the tables: to MIGRATE_DATABASE_URL, or else to DATABASE_URL.\n" +
		"Gateways and workers serve with another role, SLIPBOX_DATABASE_ROLE (default slipbox_app),\n" +
		"which has to exist; `migrate up` grants it what it needs and no more.\n\n" +
		"The embedded store needs none of this: `gateway serve` migrates it."
	return cmd
}

// owner runs fn with settings in which MigrateDatabaseURL is the database to
// migrate. What only serving needs is not asked for.
func (c *gateway) owner(fn func(cfg app.Settings) error) error {
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
		Use: "up", Short: "Apply what is missing and grant the serving role its rights", Args: command.NoArgs,
		Long: "Apply the steps that are missing and grant the serving role its rights. It may run twice,\n" +
			"or in several places at once. A step is a transaction: one that fails leaves nothing behind.",
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
		Use: "down", Short: "Go back to an older schema; what only newer ones hold is lost", Args: command.NoArgs,
		Long: "Go back to the schema of a version, newest step first. Tables and columns that later\n" +
			"versions brought are dropped with what is in them; 0 removes everything. Stop gateways and\n" +
			"workers, and make a backup (pg_dump) first.",
		Example: "  gateway migrate down --to 0 --yes",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("to") {
				return command.UsageError(cmd, errors.New("--to VERSION is missing; `gateway migrate status` lists versions"))
			}
			if !yes {
				return command.UsageError(cmd, fmt.Errorf("going down to version %d drops what later versions hold; add --yes to do so", to))
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
	cmd.Flags().BoolVar(&yes, "yes", false, "drop the data that only later versions hold")
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
	steps, err := app.Migrations(ctx, cfg)
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
	return c.table("VERSION\tSTATE\tNAME", rows)
}
