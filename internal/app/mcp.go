package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/mcp"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// mcpKeyName is the name of the key that ServeMCP uses.
const mcpKeyName = "mcp"

// RelayMCP carries messages of the Model Context Protocol between in and out and the gateway at a base URL, until in
// ends. key is a key or token of that gateway.
func RelayMCP(ctx context.Context, base, key string, log *slog.Logger, in io.Reader, out io.Writer) error {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fault.New(fault.Invalid, "%q is not a URL such as http://127.0.0.1:8080", base)
	}
	if key == "" {
		return fault.New(fault.Invalid, "a key is required: set SLIPBOX_API_KEY; `gateway key create` makes one")
	}
	return (&mcp.Relay{URL: u.JoinPath("mcp").String(), Key: key, Client: &http.Client{}, Log: log}).Run(ctx, in, out)
}

// ServeMCP is RelayMCP over a gateway that runs in this process, on a port of this machine that the system chooses,
// with the embedded store. It uses a key of its own, which ends with it, and makes none for people: an agent keeps what goes to stderr.
func ServeMCP(ctx context.Context, cfg Settings, log *slog.Logger, in io.Reader, out io.Writer) error {
	if cfg.Servers() {
		return fault.New(fault.Conflict, "with DATABASE_URL, run a gateway and pass its address with --url")
	}
	cfg.Addr = "127.0.0.1:0"
	g, err := NewGateway(ctx, cfg, log)
	if fault.Is(err, fault.Conflict) {
		return fault.Wrap(err, fault.Conflict, "a gateway has the data directory %s already: pass its address with --url and a key in SLIPBOX_API_KEY", cfg.Data)
	}
	if err != nil {
		return err
	}
	if _, err := g.beforeServing(ctx, nil, false); err != nil {
		return errors.Join(err, g.Close())
	}
	key, err := g.replaceKey(ctx, auth.NewKey{Name: mcpKeyName})
	if err != nil {
		return errors.Join(err, g.Close())
	}
	work, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan error, 1)
	go func() { served <- g.Run(work, nil, false) }()
	relayed := RelayMCP(work, g.URL(), key.Text, log, in, out)
	revoked := g.revokeKey(context.WithoutCancel(ctx), key.ID)
	stop()
	return errors.Join(relayed, revoked, <-served)
}

// keysOf returns all keys of a tenant.
func (g *Gateway) keysOf(ctx context.Context, s tenant.Scope) ([]auth.Key, error) {
	return allPages(func(after uuid.UUID, limit int) ([]auth.Key, error) {
		return g.Auth.Keys.List(ctx, s, auth.KeyQuery{After: after, Limit: limit})
	}, keyID)
}

// replaceKey creates a key of the default tenant. It revokes those of the same name that earlier starts made.
func (g *Gateway) replaceKey(ctx context.Context, k auth.NewKey) (auth.CreatedKey, error) {
	s, err := g.demoScope(ctx)
	if err != nil {
		return auth.CreatedKey{}, err
	}
	keys, err := g.keysOf(ctx, s)
	if err != nil {
		return auth.CreatedKey{}, err
	}
	for _, old := range keys {
		if old.Name != k.Name || !old.RevokedAt.IsZero() {
			continue
		}
		if _, err := g.Auth.Keys.Revoke(ctx, s, old.ID); err != nil {
			return auth.CreatedKey{}, fmt.Errorf("revoke the earlier key %q: %w", k.Name, err)
		}
	}
	made, err := g.Auth.Keys.Create(ctx, s, k)
	if err != nil {
		return made, fmt.Errorf("create the key %q: %w", k.Name, err)
	}
	return made, nil
}

func (g *Gateway) revokeKey(ctx context.Context, id uuid.UUID) error {
	s, err := g.demoScope(ctx)
	if err != nil {
		return err
	}
	_, err = g.Auth.Keys.Revoke(ctx, s, id)
	return err
}
