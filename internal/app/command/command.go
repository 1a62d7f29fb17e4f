// Package command is what the command lines of the binaries share: flags for settings, the text of
// errors, checks of arguments, and the health command. cmd/gateway and cmd/worker use it.
package command

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
	"github.com/spf13/pflag"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/document"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/telemetry"
)

// Main runs a command line and exits. After an error it exits with 1 and prints the error to stderr
// after the name of the binary.
func Main(root func(stdout, stderr io.Writer) *cobra.Command) {
	document.ServeChild()
	// The first signal stops gracefully, the second at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	cmd := root(os.Stdout, os.Stderr)
	err := cmd.ExecuteContext(ctx)
	stop()
	if err != nil {
		if _, silent := errors.AsType[ErrSilent](err); !silent {
			fmt.Fprintf(os.Stderr, "%s: %s\n", cmd.Name(), Message(err))
		}
		os.Exit(1)
	}
}

// ErrSilent exits with 1 and prints nothing: the command has printed everything already.
type ErrSilent struct{}

func (ErrSilent) Error() string { return "failed" }

// Message returns the text of an error for a person at a terminal: the public sentence of a fault
// and its cause, which need not be hidden on the operator's own machine.
func Message(err error) string {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err.Error()
	}
	if f.Err == nil {
		return f.Message
	}
	return f.Message + ": " + app.OneLine(f.Err)
}

// Root sets up a root command: after an error it names the help instead of printing the usage.
func Root(cmd *cobra.Command, stdout, stderr io.Writer) *cobra.Command {
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.CompletionOptions = cobra.CompletionOptions{HiddenDefaultCmd: true}
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	cmd.SetFlagErrorFunc(UsageError)
	return cmd
}

// UsageError adds how to get help.
func UsageError(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())
}

// Group returns a command that only has subcommands. Alone it prints its help; an unknown
// subcommand is an error.
func Group(use, short string, subcommands ...*cobra.Command) *cobra.Command {
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
			return UsageError(cmd, fmt.Errorf("unknown command %q; there are %s", args[0], strings.Join(names, ", ")))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(subcommands...)
	return cmd
}

// NoArgs returns an error when there are arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageError(cmd, fmt.Errorf("%q is one argument too many", args[0]))
	}
	return nil
}

// OneArg requires exactly one argument. Its error names it when it is missing.
func OneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return UsageError(cmd, fmt.Errorf("%s is missing", what))
		case 1:
			return nil
		}
		return UsageError(cmd, fmt.Errorf("%q is one argument too many", args[1]))
	}
}

// Settings are the flags for the sources of settings.
type Settings struct {
	File, EnvFile, LogLevel string
}

// Flags adds the flags to a command.
func (s *Settings) Flags(f *pflag.FlagSet) {
	f.StringVar(&s.File, "config", "", "settings `file` in YAML; \"gateway config\" prints one to start from")
	f.StringVar(&s.EnvFile, "env-file", "", "`file` of KEY=VALUE lines, read like the environment")
	f.StringVar(&s.LogLevel, "log-level", "", "`level`: debug, info, warn or error (SLIPBOX_LOG_LEVEL; default info)")
}

// Load reads the settings, applies the flags of a command and validates the result. The error
// lists all problems.
func (s *Settings) Load(apply ...func(*app.Settings)) (app.Settings, error) {
	cfg, err := app.LoadSettings(app.SettingsSources{File: s.File, EnvFile: s.EnvFile, Environ: app.Environ()})
	if err != nil {
		return cfg, settingsError(err)
	}
	if s.LogLevel != "" {
		cfg.Log.Level = s.LogLevel
	}
	for _, fn := range apply {
		fn(&cfg)
	}
	if err := cfg.Validate(); err != nil {
		return cfg, settingsError(err)
	}
	return cfg, nil
}

func settingsError(err error) error {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return fmt.Errorf("the settings are not usable:\n  %s", strings.Join(lines, "\n  "))
}

// Start loads the settings and builds the logger.
func (s *Settings) Start(stderr io.Writer, apply ...func(*app.Settings)) (app.Settings, *slog.Logger, error) {
	cfg, err := s.Load(apply...)
	if err != nil {
		return cfg, nil, err
	}
	log, err := telemetry.NewLogger(stderr, telemetry.LogConfig(cfg.Log))
	if err != nil {
		return cfg, nil, fmt.Errorf("set up logs: %w", err)
	}
	return cfg, log, nil
}
