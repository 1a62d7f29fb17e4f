package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/command"
)

// withAdmin runs fn on the store that the settings name.
func (c *gateway) withAdmin(ctx context.Context, fn func(a *app.Admin) error) error {
	cfg, log, err := c.begin()
	if err != nil {
		return err
	}
	a, err := app.OpenAdmin(ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }()
	return fn(a)
}

// table prints a heading and rows in columns on stdout.
func (c *gateway) table(heading string, rows [][]string) error {
	tw := tabwriter.NewWriter(c.stdout, 0, 4, 2, ' ', 0)
	_, _ = fmt.Fprintln(tw, heading)
	for _, r := range rows {
		_, _ = fmt.Fprintln(tw, strings.Join(r, "\t"))
	}
	return tw.Flush()
}

func (c *gateway) tenant() *cobra.Command {
	named := func(use, short, done string, do func(ctx context.Context, a *app.Admin, name string) error) *cobra.Command {
		return &cobra.Command{
			Use: use + " NAME", Short: short, Args: command.OneArg("the NAME of the tenant"),
			RunE: func(cmd *cobra.Command, args []string) error {
				return c.withAdmin(cmd.Context(), func(a *app.Admin) error {
					if err := do(cmd.Context(), a, args[0]); err != nil {
						return err
					}
					_, err := fmt.Fprintf(c.stdout, "tenant %s %s\n", args[0], done)
					return err
				})
			},
		}
	}
	return command.Group("tenant", "Create, list, suspend, resume and delete tenants",
		named("create", "Create a tenant", "created", func(ctx context.Context, a *app.Admin, name string) error {
			_, err := a.CreateTenant(ctx, name)
			return err
		}),
		named("suspend", "Refuse all keys and tokens of a tenant until it is resumed", "suspended", func(ctx context.Context, a *app.Admin, name string) error {
			return a.SuspendTenant(ctx, name)
		}),
		named("resume", "End the suspension of a tenant", "resumed", func(ctx context.Context, a *app.Admin, name string) error {
			return a.ResumeTenant(ctx, name)
		}),
		tenantDelete(named("delete", "Delete a tenant and all its data, for good", "deleted", func(ctx context.Context, a *app.Admin, name string) error {
			return a.DeleteTenant(ctx, name)
		})),
		&cobra.Command{
			Use: "list", Short: "List tenants", Args: command.NoArgs,
			RunE: func(cmd *cobra.Command, _ []string) error {
				return c.withAdmin(cmd.Context(), func(a *app.Admin) error {
					list, err := a.Tenants(cmd.Context())
					if err != nil {
						return err
					}
					rows := make([][]string, len(list))
					for i, t := range list {
						rows[i] = []string{t.Name, string(t.State), t.CreatedAt.Format(time.RFC3339), t.ID.String()}
					}
					return c.table("NAME\tSTATE\tCREATED\tID", rows)
				})
			},
		},
	)
}

// tenantDelete adds to the command the flag without which it deletes nothing.
func tenantDelete(cmd *cobra.Command) *cobra.Command {
	var yes bool
	do := cmd.RunE
	cmd.Long = "Delete a tenant with its collections, notes, files, keys and audit rows. This is final: only a backup\n" +
		"has them afterwards. `gateway tenant suspend` refuses its keys and keeps its data."
	cmd.Example = "  gateway tenant delete acme --yes"
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !yes {
			return command.UsageError(cmd, fmt.Errorf("deleting the tenant %s deletes all its data, and is final; add --yes to do so", args[0]))
		}
		return do(cmd, args)
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "delete the tenant and all its data")
	return cmd
}

// keyID describes the argument that names a key: its id, or the part of its text before the secret.
const keyID = "the ID of the key, or its prefix (`gateway key list` shows both),"

func (c *gateway) key() *cobra.Command {
	return command.Group("key", "Create, list, rotate and revoke API keys", c.keyCreate(), c.keyList(), c.keyRotate(), &cobra.Command{
		Use: "revoke ID", Short: "Revoke a key and all tokens created with it", Args: command.OneArg(keyID),
		Long: "Revoke a key and all tokens created with it, within 10 seconds. `gateway key list` shows the ID;\nthe prefix works too.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withAdmin(cmd.Context(), func(a *app.Admin) error {
				if err := a.RevokeKey(cmd.Context(), args[0]); err != nil {
					return err
				}
				_, err := fmt.Fprintf(c.stdout, "key %s revoked\n", args[0])
				return err
			})
		},
	})
}

func (c *gateway) keyCreate() *cobra.Command {
	var tenantName string
	var asJSON, operator bool
	var n app.NewKey
	var external map[string]string
	cmd := &cobra.Command{
		Use: "create", Short: "Create a key and print it, once", Args: command.NoArgs,
		Long: "Create a key and print it. It is shown once: only a hash is stored.\n\n" +
			"Scopes: notes:read, notes:write, collections:write, base:write (shared bases), clone,\n" +
			"admin (keys, agents, usage, audit). Grant an agent only those it needs, with an expiry.\n\n" +
			"With --external the key is for one person's memory, or one program's: it reaches the collections\n" +
			"that have these ids of an application, and nothing else of the tenant.",
		Example: "  gateway key create --agent scout --scopes notes:read,notes:write --ttl 720h\n" +
			"  gateway key create --external user=ida@example.com\n" +
			"  gateway key create --tenant acme --name deploy\n" +
			"  gateway key create --operator --ttl 24h",
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if err := command.Exclude(cmd, "operator", "tenant", "agent", "scopes", "external"); err != nil {
				return err
			}
			if n.Limit, err = limitOf(external); err != nil {
				return err
			}
			return c.withAdmin(cmd.Context(), func(a *app.Admin) error {
				var k app.CreatedKey
				if operator {
					k, err = a.CreateOperatorKey(cmd.Context(), n.Name, n.TTL)
				} else {
					k, err = a.CreateKey(cmd.Context(), tenantName, n)
				}
				if err != nil {
					return err
				}
				return c.printKey(k, asJSON)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&tenantName, "tenant", app.DefaultTenant, "`tenant` of the key, by name or id")
	f.StringVar(&n.Agent, "agent", "", "bind the key to an `agent`, which is created if it does not exist")
	f.StringVar(&n.Name, "name", "", "a `name`, to distinguish keys")
	f.StringSliceVar(&n.Scopes, "scopes", nil, "`scopes`, separated by commas (default: all of a tenant)")
	f.StringToStringVar(&external, "external", nil, "limit the key to the memory with these `ids`, such as user=ida@example.com or user=ida,agent=chat")
	f.Lookup("external").DefValue = "" // its own is printed as []
	f.DurationVar(&n.TTL, "ttl", 0, "lifetime of the key, such as 720h (default: until it is revoked)")
	f.BoolVar(&asJSON, "json", false, "print the key as a JSON object")
	f.BoolVar(&operator, "operator", false, "create a platform key, which manages tenants and cannot read memories")
	return cmd
}

// limitOf returns the ids of an application of a flag.
func limitOf(ids map[string]string) (l app.Limit, err error) {
	for name, id := range ids {
		var ok bool
		if l, ok = l.With(name, id); !ok || id == "" {
			return l, fmt.Errorf("--external: %q is no id of user, agent, app or run; write it like user=ida@example.com", name+"="+id)
		}
	}
	return l, nil
}

// printKey prints a created key: its text alone, or the object that the API returns.
func (c *gateway) printKey(k app.CreatedKey, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintln(c.stdout, k.Text)
		return err
	}
	out := struct {
		ID        uuid.UUID         `json:"id"`
		Key       string            `json:"key"`
		Prefix    string            `json:"prefix"`
		Scopes    []string          `json:"scopes"`
		Agent     string            `json:"agent,omitempty"`
		External  map[string]string `json:"external,omitempty"`
		ExpiresAt *time.Time        `json:"expires_at,omitempty"`
	}{ID: k.ID, Key: k.Text, Prefix: k.Prefix, Scopes: scopeNames(k.Key), Agent: k.AgentName, External: k.Limit.IDs()}
	if !k.ExpiresAt.IsZero() {
		out.ExpiresAt = &k.ExpiresAt
	}
	return json.NewEncoder(c.stdout).Encode(out)
}

func scopeNames(k app.Key) []string {
	out := make([]string, len(k.Permissions))
	for i, p := range k.Permissions {
		out[i] = string(p)
	}
	return out
}

func (c *gateway) keyList() *cobra.Command {
	var tenantName string
	cmd := &cobra.Command{
		Use: "list", Short: "List keys, without their secrets", Args: command.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.withAdmin(cmd.Context(), func(a *app.Admin) error {
				list, err := a.Keys(cmd.Context(), tenantName)
				if err != nil {
					return err
				}
				now := time.Now()
				rows := make([][]string, len(list))
				for i, k := range list {
					owner := k.TenantName
					if owner == "" {
						owner = "(platform)"
					}
					rows[i] = []string{k.ID.String(), owner, dash(k.AgentName), dash(limitText(k.Limit)), dash(k.Name), keyState(k.Key, now), strings.Join(scopeNames(k.Key), ","), k.Prefix}
				}
				return c.table("ID\tTENANT\tAGENT\tEXTERNAL\tNAME\tSTATE\tSCOPES\tPREFIX", rows)
			})
		},
	}
	cmd.Flags().StringVar(&tenantName, "tenant", "", "only keys of this `tenant` (default: all)")
	return cmd
}

// limitText returns whose memory a key is for, in one line.
func limitText(l app.Limit) string {
	var out []string
	for name, id := range l.IDs() {
		out = append(out, name+"="+id)
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func keyState(k app.Key, now time.Time) string {
	switch {
	case !k.RevokedAt.IsZero() && !k.RevokedAt.After(now):
		return "revoked"
	case !k.ExpiresAt.IsZero() && !k.ExpiresAt.After(now):
		return "expired"
	case !k.RevokedAt.IsZero():
		return "until " + k.RevokedAt.UTC().Format(time.RFC3339)
	case !k.ExpiresAt.IsZero():
		return "until " + k.ExpiresAt.UTC().Format(time.RFC3339)
	}
	return "active"
}

func (c *gateway) keyRotate() *cobra.Command {
	var overlap time.Duration
	var asJSON bool
	cmd := &cobra.Command{
		Use: "rotate ID", Short: "Create a key that replaces another, with an overlap", Args: command.OneArg(keyID),
		Long: "Create a key with the scopes, agent and lifetime of another, and print it, once. The old key\n" +
			"stays valid for the overlap. `gateway key list` shows the ID; the prefix works too.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.withAdmin(cmd.Context(), func(a *app.Admin) error {
				var p *time.Duration
				if cmd.Flags().Changed("overlap") {
					p = &overlap
				}
				k, err := a.RotateKey(cmd.Context(), args[0], p)
				if err != nil {
					return err
				}
				return c.printKey(k, asJSON)
			})
		},
	}
	cmd.Flags().DurationVar(&overlap, "overlap", 24*time.Hour, "how long the old key stays valid; 0 revokes it at once")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the key as a JSON object")
	return cmd
}
