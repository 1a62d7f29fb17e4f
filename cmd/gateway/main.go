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
		Long: "slipbox gives LLM agents a memory that grows: notes that are analysed, linked and\n" +
			"evolved, in versioned collections that any agent can fork.\n\n" +
			"`gateway serve` runs it with nothing else installed.",
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	f := root.PersistentFlags()
	f.StringVar(&c.file, "config", "", "settings file (YAML)")
	f.StringVar(&c.envFile, "env-file", "", "file of KEY=VALUE lines, read like the environment")
	f.StringVar(&c.data, "data", "", "data directory of the embedded store (SLIPBOX_DATA; default ./data)")
	f.StringVar(&c.logLevel, "log-level", "", "debug, info, warn or error (SLIPBOX_LOG_LEVEL; default info)")
	root.AddCommand(
		c.serve(), c.tenant(), c.key(), c.check(), c.backup(), c.restore(), c.doctor(), c.config(), c.version(), c.encoder(),
	)
	return root
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

func (c *command) logger(cfg app.Settings) (*slog.Logger, error) {
	log, err := telemetry.NewLogger(c.stderr, telemetry.LogConfig(cfg.Log))
	if err != nil {
		return nil, fmt.Errorf("set up logs: %w", err)
	}
	return log, nil
}
