// Command gateway serves the slipbox API and administers its store.
//
// A command prints only its result on stdout; logs and errors go to stderr. Flags win over the
// environment, the environment over the files.
package main

import (
	"errors"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/command"
	"github.com/slipboxhq/slipbox/internal/app/daemon"
)

func main() { daemon.Main(newRoot) }

// gateway holds what all subcommands share: streams and global flags.
type gateway struct {
	stdout, stderr io.Writer
	from           daemon.Settings
	data           string
	unused         []string // variables of servers that --data overrules
}

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	c := &gateway{stdout: stdout, stderr: stderr}
	root := command.Root(&cobra.Command{
		Use:   "gateway",
		Short: "slipbox: a memory platform for LLM agents",
		Long: "slipbox gives LLM agents a memory that grows: notes are analyzed, linked and evolved\n" +
			"in versioned collections that any agent can fork.\n\n" +
			"`gateway serve` runs it with nothing else installed. The other commands use the same data\n" +
			"directory, also while the gateway runs: pass them the same --data.\n\n" +
			"With DATABASE_URL the store is a Postgres, for several gateways at once, and all commands\n" +
			"without --data use that. `gateway migrate up` creates its schema.",
		Example: "  gateway serve --demo                  serve, with a small conversation to try\n" +
			"  gateway key create --agent scout      create a key for an agent\n" +
			"  gateway doctor                        find problems and their fixes",
	}, stdout, stderr)
	f := root.PersistentFlags()
	c.from.Flags(f)
	f.StringVar(&c.data, "data", "", "`directory` of the embedded store, used also when DATABASE_URL is set (SLIPBOX_DATA; default ./data)")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		if c.data == "" && cmd.Flags().Changed("data") { // such as "$DIR" with DIR unset, which must not select the Postgres
			return command.UsageError(cmd, errors.New("--data names no directory"))
		}
		return nil
	}
	root.AddCommand(
		c.serve(), c.mcp(), c.health(), c.selfTest(), c.tenant(), c.key(), c.migrate(), c.check(), c.backup(), c.restore(), c.vacuum(), c.export(), c.imports(), c.doctor(), c.config(), c.version(), c.encoder(),
	)
	return root
}

// withData puts the flag --data before the other changes of the settings. The flag selects the embedded store: it wins over
// settings that name servers.
func (c *gateway) withData(apply []func(*app.Settings)) []func(*app.Settings) {
	return append([]func(*app.Settings){func(cfg *app.Settings) {
		if c.data != "" {
			cfg.Data = c.data
			c.unused = nil
			for _, x := range []struct{ name, url string }{
				{"DATABASE_URL", cfg.DatabaseURL}, {"DATABASE_REPLICA_URL", cfg.ReplicaURL}, {"MIGRATE_DATABASE_URL", cfg.MigrateDatabaseURL}, {"REDIS_URL", cfg.RedisURL},
			} {
				if x.url != "" {
					c.unused = append(c.unused, x.name)
				}
			}
			cfg.DatabaseURL, cfg.ReplicaURL, cfg.MigrateDatabaseURL, cfg.RedisURL = "", "", "", ""
		}
	}}, apply...)
}

func (c *gateway) settings(apply ...func(*app.Settings)) (app.Settings, error) {
	return c.from.Load(c.withData(apply)...)
}

func (c *gateway) begin(apply ...func(*app.Settings)) (app.Settings, *slog.Logger, error) {
	cfg, log, err := c.from.Start(c.stderr, c.withData(apply)...)
	if err == nil && len(c.unused) > 0 {
		log.Warn("--data selects the embedded store, so the settings of servers are not used; omit it to use them", "data", cfg.Data, "unused", strings.Join(c.unused, ", "))
	}
	return cfg, log, err
}
