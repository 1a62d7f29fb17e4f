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
			"use when they name none. The key is asked for without being shown, or read from a pipe, or taken\n" +
			"from SLIPBOX_API_KEY. It is tried before it is kept, in a file that only you can read\n" +
			"(slipbox/profiles.json in XDG_CONFIG_HOME or ~/.config).\n\n" +
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
			given := cmp.Or(append(args, c.url, c.getenv("SLIPBOX_URL"), p.URL, defaultURL)...)
			base, err := parseBase(given)
			if err != nil {
				return err
			}
			if p.URL != base {
				p = profile{URL: base}
			}
			if p.Key, err = c.askKey(cmd.Context(), base); err != nil {
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

// askKey returns the key of the environment, of a pipe, or that a person types.
func (c *cli) askKey(ctx context.Context, base string) (string, error) {
	key := c.envKey()
	if fd, ok := terminal(c.in); key == "" && ok {
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
		key = string(typed)
	} else if key == "" {
		line, err := reading(ctx, func() (string, error) { return bufio.NewReader(io.LimitReader(c.in, 16<<10)).ReadString('\n') })
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		key = line
	}
	if key = strings.TrimSpace(key); key == "" {
		return "", failure{"no key was given; pipe one in (`gateway key create | slipbox login`), or set SLIPBOX_API_KEY", ExitKey}
	}
	return key, checkKey(key)
}
