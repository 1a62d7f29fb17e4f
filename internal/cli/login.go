package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/slipboxhq/slipbox/internal/app/command"
)

func (c *cli) login() *cobra.Command {
	return &cobra.Command{
		Use: "login [URL]", Short: "Keep the address of a gateway and a key for it",
		Long: "Keep the address of a gateway, a key for it and, with --collection, the collection that commands\n" +
			"use when they name none. The key is read from a pipe, or taken from SLIPBOX_API_KEY, or asked for\n" +
			"without being shown. That of the environment is used only for the address that is used when none\n" +
			"is given. It is tried before it is kept, in a file that only you can read (slipbox/profiles.json\n" +
			"in XDG_CONFIG_HOME or ~/.config).\n\n" +
			"--profile keeps several gateways apart. The last one that was logged in to is used by default.",
		Example: "  slipbox login http://127.0.0.1:8080 --collection demo\n" +
			"  gateway key create | slipbox login --profile work https://memory.example.com",
		Args: command.AtMostOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := c.readProfiles()
			if err != nil {
				return err
			}
			name := cmp.Or(c.profile, list.Default, "default")
			p := list.Profiles[name]
			own := cmp.Or(c.getenv("SLIPBOX_URL"), p.URL, defaultURL)
			base, err := parseBase(cmp.Or(append(args, c.url, own)...))
			if err != nil {
				return err
			}
			if p.URL != base {
				p = profile{URL: base}
			}
			if p.Key, err = c.askKey(cmd.Context(), base, own); err != nil {
				return explain(cmd.Context(), nil, err)
			}
			p.Collection = cmp.Or(c.collection, p.Collection)
			to := &client{base: base, key: p.Key, http: c.http}
			if err := c.tryKey(cmd, to, p.Collection); err != nil {
				return err
			}
			list.Default, list.Profiles[name] = name, p
			file, err := c.writeProfiles(list)
			if err != nil {
				return err
			}
			return c.errs.line("%s is kept as profile %q in %s", base, name, file)
		},
	}
}

// tryKey returns an error when the gateway does not accept the key, or has no such collection.
func (c *cli) tryKey(cmd *cobra.Command, to *client, collection string) error {
	r := request{Method: http.MethodGet, Path: collections, Query: url.Values{"limit": {"1"}}}
	if collection != "" {
		r.Path, r.Query = collections+"/"+url.PathEscape(collection), nil
	}
	_, _, err := to.get(cmd.Context(), r, nil)
	return explain(cmd.Context(), to, err)
}

// askKey returns the key of a pipe, of the environment if it is for this address, or that a person types.
func (c *cli) askKey(ctx context.Context, base, own string) (key string, err error) {
	fd, asks := terminal(c.in)
	if !asks {
		key, err = reading(ctx, func() (string, error) { return bufio.NewReader(io.LimitReader(c.in, 16<<10)).ReadString('\n') })
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
	}
	key = cmp.Or(strings.TrimSpace(key), c.envKeyFor(base, own))
	if key == "" && asks {
		if key, err = c.typedKey(ctx, base, fd); err != nil {
			return "", err
		}
	}
	switch {
	case key != "":
		return key, checkKey(key)
	case c.envKey() != "":
		return "", failure{"no key was piped in, and the one in the environment is for " + own + ": it is not sent to " + base + "; pipe one in (`gateway key create | slipbox login`), or set SLIPBOX_URL too", ExitKey}
	}
	return "", failure{"no key was given; pipe one in (`gateway key create | slipbox login`), or set SLIPBOX_API_KEY", ExitKey}
}

// typedKey returns the key that a person types at a terminal, which does not show it.
func (c *cli) typedKey(ctx context.Context, base string, fd int) (string, error) {
	if _, err := fmt.Fprintf(c.errs.w, "Key for %s (it is not shown): ", base); err != nil {
		return "", err
	}
	shown, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	typed, err := reading(ctx, func() ([]byte, error) { return term.ReadPassword(fd) })
	_, _ = fmt.Fprintln(c.errs.w)
	if err != nil {
		_ = term.Restore(fd, shown) // when it was interrupted
		return "", err
	}
	return strings.TrimSpace(string(typed)), nil
}
