// Command gateway serves the slipbox API and administers its store.
//
// On stdout stands only the result of a command; logs and errors go to
// stderr. Flags win over the environment, the environment over the file.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/telemetry"
)

func main() {
	// The first signal asks for a graceful end; a second one ends at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := newRoot(os.Stdout, os.Stderr).ExecuteContext(ctx)
	stop()
	if err != nil {
		if _, silent := errors.AsType[errSilent](err); !silent {
			fmt.Fprintln(os.Stderr, "gateway:", message(err))
		}
		os.Exit(1)
	}
}

// errSilent ends with exit code 1 and no further words: all was said.
type errSilent struct{}

func (errSilent) Error() string { return "failed" }

// message words an error for a person at a terminal: the public sentence of a
// fault, and its cause, which on the operator's own machine is no secret.
func message(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err.Error()
	}
	s := f.Message
	if f.Err != nil {
		s += ": " + f.Err.Error()
	}
	return s
}

// command is what every subcommand shares: global flags and streams.
type command struct {
	stdout, stderr io.Writer
	file, envFile  string
	data           string
	logLevel       string
}

func newRoot(stdout, stderr io.Writer) *cobra.Command {
	c := &command{stdout: stdout, stderr: stderr}
	root := &cobra.Command{
		Use:   "gateway",
		Short: "slipbox: a memory platform for LLM agents",
		Long: "slipbox gives LLM agents a memory that grows: notes that are analyzed, linked and\n" +
			"evolved, in versioned collections that any agent can fork.\n\n" +
			"`gateway serve` runs it with nothing else installed. The other commands work on the\n" +
			"same data directory, beside the running server: give them the same --data.",
		Example: "  gateway serve --demo                  serve, with a small conversation to try\n" +
			"  gateway key create --agent scout      make a key for an agent\n" +
			"  gateway doctor                        look for what is wrong, and how to mend it",
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(usageError)
	f := root.PersistentFlags()
	f.StringVar(&c.file, "config", "", "settings `file` in YAML; \"gateway config\" prints one to start from")
	f.StringVar(&c.envFile, "env-file", "", "`file` of KEY=VALUE lines, read like the environment")
	f.StringVar(&c.data, "data", "", "`directory` of the store (SLIPBOX_DATA; default ./data)")
	f.StringVar(&c.logLevel, "log-level", "", "`level`: debug, info, warn or error (SLIPBOX_LOG_LEVEL; default info)")
	root.AddCommand(
		c.serve(), c.tenant(), c.key(), c.check(), c.backup(), c.restore(), c.doctor(), c.config(), c.version(), c.encoder(),
	)
	return root
}

// usageError adds where the right use is written.
func usageError(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())
}

// group is a command that only holds others: alone it shows them, and a
// subcommand that it does not have is an error, not a page of help.
func group(use, short string, subcommands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			names := make([]string, 0, len(subcommands))
			for _, s := range subcommands {
				names = append(names, s.Name())
			}
			return usageError(cmd, fmt.Errorf("unknown command %q; there are %s", args[0], strings.Join(names, ", ")))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(subcommands...)
	return cmd
}

// none refuses arguments.
func none(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError(cmd, fmt.Errorf("%q is one argument too many", args[0]))
	}
	return nil
}

// one wants exactly one argument and says which when it is missing.
func one(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return usageError(cmd, fmt.Errorf("%s is missing", what))
		case 1:
			return nil
		}
		return usageError(cmd, fmt.Errorf("%q is one argument too many", args[1]))
	}
}

// settings loads the configuration with the command's flags applied. All
// problems are reported together.
func (c *command) settings(apply ...func(*app.Settings)) (app.Settings, error) {
	cfg, err := app.LoadSettings(app.SettingsSources{File: c.file, EnvFile: c.envFile, Environ: app.Environ()})
	if err != nil {
		return cfg, settingsProblem(err)
	}
	if c.data != "" {
		cfg.Data = c.data
	}
	if c.logLevel != "" {
		cfg.Log.Level = c.logLevel
	}
	for _, fn := range apply {
		fn(&cfg)
	}
	if err := cfg.Validate(); err != nil {
		return cfg, settingsProblem(err)
	}
	return cfg, nil
}

func settingsProblem(err error) error {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return fmt.Errorf("the settings are not usable:\n  %s", strings.Join(lines, "\n  "))
}

// begin loads the settings and makes the logger that they ask for.
func (c *command) begin(apply ...func(*app.Settings)) (app.Settings, *slog.Logger, error) {
	cfg, err := c.settings(apply...)
	if err != nil {
		return cfg, nil, err
	}
	log, err := telemetry.NewLogger(c.stderr, telemetry.LogConfig(cfg.Log))
	if err != nil {
		return cfg, nil, fmt.Errorf("set up logs: %w", err)
	}
	return cfg, log, nil
}
