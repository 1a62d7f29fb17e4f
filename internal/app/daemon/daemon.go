// Package daemon is what the command lines of the processes of servers share: flags for settings, the health command.
// cmd/gateway and cmd/worker use it.
package daemon

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/command"
	"github.com/slipboxhq/slipbox/internal/document"
	"github.com/slipboxhq/slipbox/internal/telemetry"
)

// Main is [command.Main] for a process that reads files, which it does in children of its own binary.
func Main(root func(stdout, stderr io.Writer) *cobra.Command) {
	document.ServeChild()
	command.Main(root)
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

// Read reads the settings, for a command that uses few of them. What they mean is not validated.
func (s *Settings) Read() (app.Settings, error) {
	cfg, err := app.LoadSettings(s.sources())
	if err != nil {
		return cfg, settingsError(err)
	}
	return cfg, nil
}

func (s *Settings) sources() app.SettingsSources {
	return app.SettingsSources{File: s.File, EnvFile: s.EnvFile, Environ: app.Environ()}
}

// Load reads the settings, applies the flags of a command and validates the result. The error
// lists all problems.
func (s *Settings) Load(apply ...func(*app.Settings)) (app.Settings, error) {
	flags := func(cfg *app.Settings) {
		if s.LogLevel != "" {
			cfg.Log.Level = s.LogLevel
		}
	}
	cfg, err := app.LoadValidSettings(s.sources(), append([]func(*app.Settings){flags}, apply...)...)
	if err != nil {
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
