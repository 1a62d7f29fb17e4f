// Package command is what the binaries have in common on the command line:
// flags for settings, wording of errors, checks of arguments. It knows no
// command of its own.
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
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/telemetry"
)

// Main runs a command line and ends the process: with 1 after an error, which
// goes to stderr behind the name of the binary.
func Main(root func(stdout, stderr io.Writer) *cobra.Command) {
	// The first signal asks for a graceful end; a second one ends at once.
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

// ErrSilent ends with exit code 1 and no further words: all was said.
type ErrSilent struct{}

func (ErrSilent) Error() string { return "failed" }

// Message words an error for a person at a terminal: the public sentence of a
// fault and its cause, which on the operator's own machine is no secret.
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

// Root gives a command the manners of all: it prints no usage after an error,
// and names the help instead.
func Root(cmd *cobra.Command, stdout, stderr io.Writer) *cobra.Command {
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.CompletionOptions = cobra.CompletionOptions{HiddenDefaultCmd: true}
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	cmd.SetFlagErrorFunc(UsageError)
	return cmd
}

// UsageError adds where the right use is written.
func UsageError(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())
}

// Group is a command that only holds others: alone it shows them, and a
// subcommand that it does not have is an error, not a page of help.
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

// None refuses arguments.
func None(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageError(cmd, fmt.Errorf("%q is one argument too many", args[0]))
	}
	return nil
}

// One wants exactly one argument and says which when it is missing.
func One(what string) cobra.PositionalArgs {
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

// Settings are the flags that say where settings come from.
type Settings struct {
	File, EnvFile, LogLevel string
}

// Flags adds them to a command's.
func (s *Settings) Flags(f *pflag.FlagSet) {
	f.StringVar(&s.File, "config", "", "settings `file` in YAML; \"gateway config\" prints one to start from")
	f.StringVar(&s.EnvFile, "env-file", "", "`file` of KEY=VALUE lines, read like the environment")
	f.StringVar(&s.LogLevel, "log-level", "", "`level`: debug, info, warn or error (SLIPBOX_LOG_LEVEL; default info)")
}

// Load reads the settings with the flags of a command applied. All problems
// are reported together.
func (s *Settings) Load(apply ...func(*app.Settings)) (app.Settings, error) {
	cfg, err := app.LoadSettings(app.SettingsSources{File: s.File, EnvFile: s.EnvFile, Environ: app.Environ()})
	if err != nil {
		return cfg, problem(err)
	}
	if s.LogLevel != "" {
		cfg.Log.Level = s.LogLevel
	}
	for _, fn := range apply {
		fn(&cfg)
	}
	if err := cfg.Validate(); err != nil {
		return cfg, problem(err)
	}
	return cfg, nil
}

func problem(err error) error {
	lines := strings.Split(strings.TrimSpace(err.Error()), "\n")
	return fmt.Errorf("the settings are not usable:\n  %s", strings.Join(lines, "\n  "))
}

// Begin loads the settings and makes the logger that they ask for.
func (s *Settings) Begin(stderr io.Writer, apply ...func(*app.Settings)) (app.Settings, *slog.Logger, error) {
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
