package main

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/command"
	"github.com/slipboxhq/slipbox/internal/wording"
)

func (c *gateway) check() *cobra.Command {
	return &cobra.Command{
		Use: "check", Short: "Verify the whole store and name each problem", Args: command.NoArgs,
		Long: "Verify the whole store: orphans, gaps in revisions, overlapping versions, links, vectors,\n" +
			"jobs, counts and the file itself; with REDIS_URL also that every cached version is in the\n" +
			"store. It changes nothing, works while a gateway runs, prints one problem per line, and\n" +
			"exits with 1 if there is one.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, log, err := c.begin()
			if err != nil {
				return err
			}
			found, err := app.Check(cmd.Context(), cfg, log)
			if err != nil {
				return err
			}
			for _, n := range found.Notes {
				if _, err := fmt.Fprintln(c.stdout, n); err != nil {
					return err
				}
			}
			if len(found.Problems) == 0 {
				_, err := fmt.Fprintln(c.stdout, "the store is sound")
				return err
			}
			for _, p := range found.Problems {
				where := ""
				if p.Tenant != uuid.Nil {
					where += " tenant " + p.Tenant.String()
				}
				if p.Collection != uuid.Nil {
					where += " collection " + p.Collection.String()
				}
				if _, err := fmt.Fprintf(c.stdout, "%s:%s %s\n", p.Kind, where, p.Detail); err != nil {
					return err
				}
			}
			return fmt.Errorf("%s found; %s", wording.Count(len(found.Problems), "problem", "problems"), found.Remedy(cfg))
		},
	}
}

func (c *gateway) backup() *cobra.Command {
	return &cobra.Command{
		Use: "backup FILE", Short: "Copy the store into a new file, also while the gateway runs", Args: command.OneArg("the FILE to write"),
		Long: "Copy the store, at one moment, into a new file, also while the gateway runs. The file holds\n" +
			"all tenants, notes, versions, jobs, audit rows, hashes of keys, and the bodies of running\n" +
			"imports. It does not hold secret.key: after a restore tokens are invalid, and API keys stay\n" +
			"valid. Back up a Postgres store with pg_dump, or with the means of its server.",
		Example: "  gateway backup memories-2026-11-21.db",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, log, err := c.begin()
			if err != nil {
				return err
			}
			if err := app.Backup(cmd.Context(), cfg, log, args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.stdout, args[0])
			return err
		},
	}
}

func (c *gateway) restore() *cobra.Command {
	return &cobra.Command{
		Use: "restore FILE", Short: "Restore a backup into an empty data directory", Args: command.OneArg("the FILE that `gateway backup` wrote"),
		Long: "Restore a backup into an empty or missing data directory, upgrade it to the schema of this\n" +
			"build, and verify it. The backup itself is only read. An interrupted restore can be repeated.",
		Example: "  gateway restore memories-2026-11-21.db --data ./restored\n  gateway serve --data ./restored",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, log, err := c.begin()
			if err != nil {
				return err
			}
			if err := app.Restore(cmd.Context(), cfg, log, args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.stdout, "restored into %s\n", cfg.Data)
			return err
		},
	}
}

func (c *gateway) vacuum() *cobra.Command {
	return &cobra.Command{
		Use: "vacuum", Short: "Write the store's file again, without pieces of what was erased", Args: command.NoArgs,
		Long: "Write the file of the embedded store again. SQLite may keep pieces of erased text in gaps of the\n" +
			"file's pages, and does not shrink it. The gateway does so by itself after erasures while the file\n" +
			"is smaller than SLIPBOX_VACUUM_BELOW; this command does it for a file of any size. It needs twice\n" +
			"the size of the file free on the disk. Writes of a running gateway wait, and those that wait for\n" +
			"ten seconds are refused. An interrupted vacuum changes nothing.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, log, err := c.begin()
			if err != nil {
				return err
			}
			before, after, err := app.Vacuum(cmd.Context(), cfg, log)
			if err != nil {
				return err
			}
			const mib = 1 << 20
			_, err = fmt.Fprintf(c.stdout, "vacuumed: %.1f MiB, before %.1f MiB\n", float64(after)/mib, float64(before)/mib)
			return err
		},
	}
}
