package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// What the demo leaves in the default tenant.
const (
	demoCollection = "demo"
	demoKeyName    = "demo"
	demoKeyTTL     = 24 * time.Hour
)

// demoKey replaces the demo's key by a fresh one that is valid for a day.
func (g *Gateway) demoKey(ctx context.Context) (string, error) {
	op := grant.Operator("operator:demo")
	t, err := g.tenants.Get(ctx, op, DefaultTenant)
	if err != nil {
		return "", fmt.Errorf("the demo needs the tenant %s: %w", DefaultTenant, err)
	}
	s := wholeTenant(t.ID, op.Actor())
	old, err := pages(func(after uuid.UUID, limit int) ([]auth.Key, error) {
		return g.auth.Keys.List(ctx, s, auth.KeyQuery{After: after, Limit: limit})
	})
	if err != nil {
		return "", err
	}
	for _, k := range old {
		if k.Name != demoKeyName || !k.RevokedAt.IsZero() {
			continue
		}
		if _, err := g.auth.Keys.Revoke(ctx, s, k.ID); err != nil {
			return "", fmt.Errorf("revoke the demo's earlier key: %w", err)
		}
	}
	k, err := g.auth.Keys.Create(ctx, s, auth.NewKey{Name: demoKeyName, TTL: demoKeyTTL})
	if err != nil {
		return "", fmt.Errorf("make the demo's key: %w", err)
	}
	return k.Text, nil
}

// demo seeds the bundled conversation through the API that was just started,
// once, waits until it is evolved, and prints what to try.
func (g *Gateway) demo(ctx context.Context, stdout io.Writer, key string) error {
	client := &eval.Client{BaseURL: g.URL(), Key: key, HTTP: &http.Client{Timeout: time.Minute}}
	conversation, err := eval.Sample()
	if err != nil {
		return err
	}
	loaded, err := eval.Load(ctx, client, demoCollection, "amem", conversation.Turns, nil)
	switch {
	case eval.HasCode(err, string(fault.Exists)):
		c, err := client.Collection(ctx, demoCollection)
		if err != nil {
			return err
		}
		loaded.Notes, loaded.Links = c.Counts.Notes, c.Counts.Links
	case errors.Is(err, context.Canceled):
		return nil
	case err != nil:
		return fmt.Errorf("seed the demo: %w", err)
	}
	_, err = fmt.Fprintf(stdout, demoText, demoCollection, loaded.Notes, loaded.Links, key, g.URL())
	return err
}

// demoText holds three commands that work as pasted: add a note and see it
// analyzed, linked and evolved; find it; fork everything for another agent.
const demoText = `The collection %[1]q holds a small conversation: %[2]d notes, %[3]d links.
Reference of all routes: %[5]s/docs

Paste these lines into another terminal. The key is for trying: it is valid for a day, and
each start with --demo makes a new one and ends the last. Ctrl-C here stops the gateway.

  export SLIPBOX_URL=%[5]s
  export SLIPBOX_KEY=%[4]s

1. Add a note; the answer shows it described, linked and evolved:

  curl -sS -w '\n' "$SLIPBOX_URL/v1/collections/%[1]s/notes?wait=evolved" -H "Authorization: Bearer $SLIPBOX_KEY" \
    -H 'Content-Type: application/json' -d '{"content": "Nora wants to fire the twelve vases for the gallery in the new gas kiln."}'

2. Find it, with the notes it is linked to:

  curl -sS -w '\n' "$SLIPBOX_URL/v1/collections/%[1]s/search" -H "Authorization: Bearer $SLIPBOX_KEY" \
    -H 'Content-Type: application/json' -d '{"query": "Which kiln will the vases for the gallery be fired in?", "k": 3, "expand_links": 1}'

3. Fork it all for another agent, in one row; what the fork writes stays there:

  curl -sS -w '\n' "$SLIPBOX_URL/v1/collections/%[1]s/clone" -H "Authorization: Bearer $SLIPBOX_KEY" \
    -H 'Content-Type: application/json' -d '{"agent": "scout", "name": "scouts-demo"}'

`
