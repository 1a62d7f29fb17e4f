package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app/command"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// feed is a reader of the changes of a collection.
type feed struct {
	*cli

	to    *client
	path  string
	query url.Values
	after int64 // the last revision that was printed
}

func (c *cli) changes() *cobra.Command {
	var after int64
	var follow bool
	cmd := &cobra.Command{
		Use: "changes", Short: "List the changes of a collection, and follow them",
		Long: "List the changes after a revision, oldest first. With --follow it waits for more, until it is interrupted or the\n" +
			"collection is deleted; a connection that breaks is continued without a gap. In a pipe each line is a change,\n" +
			"whose revision is what --after takes.",
		Example: "  slipbox changes --after 20 -c demo\n" +
			"  slipbox changes --follow -c demo | jq -c .notes",
		Args: command.NoArgs,
		RunE: c.run(func(cmd *cobra.Command, _ []string, to *client) error {
			if after < 0 {
				return errors.New("--after: must be at least 0")
			}
			path, query, err := c.target(to)
			if err != nil {
				return err
			}
			f := &feed{cli: c, to: to, path: path + "/changes", query: query, after: after}
			if follow {
				return f.follow(cmd.Context())
			}
			return f.list(cmd.Context())
		}),
	}
	f := cmd.Flags()
	f.Int64Var(&after, "after", 0, "only changes after this `revision`")
	f.BoolVarP(&follow, "follow", "f", false, "wait for what changes next")
	return cmd
}

// list prints what there is.
func (f *feed) list(ctx context.Context) error {
	begin := f.after
	for {
		var page struct {
			Items []json.RawMessage `json:"items"`
		}
		f.query.Set("after", strconv.FormatInt(f.after, 10))
		f.query.Set("limit", "200")
		if _, _, err := f.to.get(ctx, request{Method: http.MethodGet, Path: f.path, Query: f.query}, &page); err != nil {
			return err
		}
		for _, raw := range page.Items {
			if err := f.show(raw); err != nil {
				return err
			}
		}
		if len(page.Items) > 0 {
			continue
		}
		if f.after == begin && !f.asJSON() {
			return f.errs.line("no changes")
		}
		return nil
	}
}

// follow prints what there is and what comes. A stream that ends is opened again after the last change, a few times in a row.
func (f *feed) follow(ctx context.Context) error {
	f.to.patience = restartTime
	for broken := 1; ; broken++ {
		f.query.Set("after", strconv.FormatInt(f.after, 10))
		n, err := f.to.stream(ctx, request{Method: http.MethodGet, Path: f.path, Query: f.query}, func(e slipbox.ServerEvent) error {
			if e.Name != "change" {
				return nil
			}
			return f.show(e.Data)
		})
		if n > 0 {
			broken = 1
		}
		if err != nil && (!temporary(err) || broken >= tries) {
			return err
		}
		if err := rest(ctx, firstPause<<min(broken-1, tries)); err != nil {
			return err
		}
	}
}

// show prints a change, once.
func (f *feed) show(raw json.RawMessage) error {
	var ch slipbox.Change
	if err := json.Unmarshal(raw, &ch); err != nil {
		return err
	}
	if ch.Revision <= f.after {
		return nil
	}
	f.after = ch.Revision
	if f.asJSON() {
		return f.out.json(raw)
	}
	f.out.line("%s", f.out.bold(fmt.Sprintf("revision %d  %s", ch.Revision, clean(ch.Cause))))
	f.out.details(2, when(&ch.At), "by "+ch.Actor)
	for _, n := range ch.Notes {
		f.out.line("  %snote %s", marks[string(n.Change)], n.ID)
		if n.Text != nil {
			f.out.text("    ", *n.Text)
		}
	}
	for i := range ch.Links {
		f.out.link("  ", &ch.Links[i])
	}
	return f.out.err
}

const webhooks = "/v1/webhooks"

func (c *cli) webhook() *cobra.Command {
	group := command.Group("webhook", "Tell programs of changes: addresses that are called, signed and in order",
		c.listWebhooks(), c.createWebhook(), c.rotateWebhook(), c.deleteWebhook(), c.deliveries(), c.retryDelivery())
	group.Long = group.Short + ".\nThe key needs the scope admin. The guide (docs/guide.md) has the messages and how they are checked."
	return group
}

func (c *cli) listWebhooks() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List the webhooks", Args: command.NoArgs,
		RunE: c.run(func(cmd *cobra.Command, _ []string, to *client) error {
			return listed(cmd, c, to, webhooks, url.Values{}, limit, "no webhooks", func(w slipbox.Webhook) error { return c.out.webhook(&w) })
		}),
	}
	limitFlag(cmd, &limit, "webhooks")
	return cmd
}

func (c *cli) createWebhook() *cobra.Command {
	var events []string
	cmd := &cobra.Command{
		Use: "create URL", Short: "Call an address for each change, and print the secret that signs the calls, once",
		Long: "Call an address for each change: of the collection of --collection, or of all. The operator has to allow its\n" +
			"host (SLIPBOX_ALLOW_HOSTS, or allowed_hosts of the tenant).",
		Example: "  slipbox webhook create https://example.com/hook --event note.added -c demo",
		Args:    command.OneArg("an address"),
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) error {
			ask := slipbox.WebhookInput{URL: args[0]}
			if c.collection != "" {
				ask.Collection = &c.collection
			}
			for _, e := range events {
				ask.Events = append(ask.Events, slipbox.WebhookEvent(e))
			}
			return c.changeWebhook(cmd, to, request{Method: http.MethodPost, Path: webhooks, Body: ask})
		}),
	}
	cmd.Flags().StringSliceVar(&events, "event", nil, "only this `event`, such as note.added; may be repeated")
	return cmd
}

func (c *cli) rotateWebhook() *cobra.Command {
	return &cobra.Command{
		Use: "rotate WEBHOOK", Short: "Make a new secret; calls are signed with both for a day", Args: command.OneArg("the id of a webhook"),
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) error {
			r := request{Method: http.MethodPatch, Path: webhooks + "/" + url.PathEscape(args[0]), Body: slipbox.WebhookPatch{RotateSecret: new(true)}}
			return c.changeWebhook(cmd, to, r)
		}),
	}
}

// changeWebhook sends a request whose answer has a secret.
func (c *cli) changeWebhook(cmd *cobra.Command, to *client, r request) error {
	to.noRetry = true // the secret of a lost answer is lost
	return answered(cmd, c, to, r, func(got *slipbox.Webhook) error {
		c.out.webhook(got)
		return c.out.line("  secret: %s", clean(*cmp.Or(got.Secret, new(""))))
	})
}

func (s *screen) webhook(w *slipbox.Webhook) error {
	s.text("", w.URL)
	values := []string{w.ID, cmp.Or(after("collection ", w.Collection), "all collections")}
	for _, e := range w.Events {
		values = append(values, string(e))
	}
	return s.details(2, values...)
}

func (c *cli) deleteWebhook() *cobra.Command {
	return &cobra.Command{
		Use: "delete WEBHOOK", Short: "Delete a webhook", Args: command.OneArg("the id of a webhook"),
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) error {
			return c.delete(cmd, to, webhooks+"/", args[0], nil)
		}),
	}
}

func (c *cli) deliveries() *cobra.Command {
	var state string
	var limit int
	cmd := &cobra.Command{
		Use: "deliveries WEBHOOK", Short: "List what was sent, newest first", Args: command.OneArg("the id of a webhook"),
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) error {
			query := url.Values{}
			choose(query, "state", state)
			return listed(cmd, c, to, webhooks+"/"+url.PathEscape(args[0])+"/deliveries", query, limit, "nothing was sent", c.out.delivery)
		}),
	}
	cmd.Flags().StringVar(&state, "state", "", "only those of this `state`: waiting, delivered or dead")
	limitFlag(cmd, &limit, "deliveries")
	return cmd
}

func (s *screen) delivery(d slipbox.Delivery) error {
	s.line("%s", s.bold(fmt.Sprintf("%s  %s", d.State, clean(d.Event))))
	status := ""
	if d.Status != nil {
		status = fmt.Sprintf("status %d", *d.Status)
	}
	return s.details(2, d.ID, fmt.Sprintf("revision %d", d.Revision), count(d.Attempts, "try", "tries"), status, *cmp.Or(d.Error, new("")), when(&d.UpdatedAt))
}

func (c *cli) retryDelivery() *cobra.Command {
	return &cobra.Command{
		Use: "retry WEBHOOK DELIVERY", Short: "Send a message once more, under the same id",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 2 && uuid.Validate(args[1]) == nil {
				return nil
			}
			return command.UsageError(cmd, errors.New("name a webhook and one of its deliveries by their ids"))
		},
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) error {
			r := request{Method: http.MethodPost, Path: webhooks + "/" + url.PathEscape(args[0]) + "/deliveries/" + args[1] + "/retry"}
			return answered(cmd, c, to, r, func(*slipbox.Delivery) error { return c.out.line("it is sent again") })
		}),
	}
}
