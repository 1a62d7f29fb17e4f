// Package command is what all command lines share: how they end, the text of errors, checks of arguments. It contains
// nothing of the server; what the processes of servers share is internal/app/daemon.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Main runs a command line and exits. After an error it prints the error to stderr after the name of the binary, and
// exits with the ExitCode() of the error if it has one, or else with 1.
func Main(root func(stdout, stderr io.Writer) *cobra.Command) {
	// The first signal stops gracefully, the second immediately.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	cmd := root(os.Stdout, os.Stderr)
	err := cmd.ExecuteContext(ctx)
	stop()
	if err != nil {
		if _, silent := errors.AsType[ErrSilent](err); !silent {
			fmt.Fprintf(os.Stderr, "%s: %s\n", cmd.Name(), printable(Message(err)))
		}
		code := 1
		if own, ok := errors.AsType[interface {
			error
			ExitCode() int
		}](err); ok {
			code = own.ExitCode()
		}
		os.Exit(code)
	}
}

// printable returns a text that cannot control a terminal: an error may name a file, and anyone may name those.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
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
	return f.Message + ": " + fault.OneLine(f.Err)
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
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(subcommands...)
	return AsGroup(cmd)
}

// AsGroup makes a command that has subcommands answer as those of Group do.
func AsGroup(cmd *cobra.Command) *cobra.Command {
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		var names []string
		for _, s := range cmd.Commands() {
			names = append(names, s.Name())
		}
		return UsageError(cmd, fmt.Errorf("unknown command %q; there are %s", args[0], strings.Join(names, ", ")))
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	return cmd
}

// NoArgs returns an error when there are arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UsageError(cmd, fmt.Errorf("%q is one argument too many", args[0]))
	}
	return nil
}

// AtMostOneArg returns an error when there are two arguments or more.
func AtMostOneArg(cmd *cobra.Command, args []string) error {
	return NoArgs(cmd, args[min(1, len(args)):])
}

// Exclude returns an error when a flag is set beside one of others.
func Exclude(cmd *cobra.Command, flag string, others ...string) error {
	for _, other := range others {
		if cmd.Flags().Changed(flag) && cmd.Flags().Changed(other) {
			return UsageError(cmd, fmt.Errorf("--%s and --%s exclude each other", flag, other))
		}
	}
	return nil
}

// OneArg requires exactly one argument. Its error names it when it is missing.
func OneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return UsageError(cmd, fmt.Errorf("%s is missing", what))
		}
		return AtMostOneArg(cmd, args)
	}
}
