package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/slipboxhq/slipbox/test/corpus"
)

// manyTenants measures tenants with a small collection each, after a start of the gateway.
func (b *bench) manyTenants(ctx context.Context) error {
	if b.tenants == 0 {
		return b.stop()
	}
	// A data directory of its own: the large collection would count in the memory.
	if err := b.stop(); err != nil {
		return err
	}
	b.dir, b.key, b.besides = filepath.Join(b.dir, "tenants"), "", 0
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return err
	}
	if err := b.start(ctx); err != nil {
		return err
	}
	text := corpus.New(12)
	keys := make([]string, b.tenants)
	for i := range keys {
		name := fmt.Sprintf("tenant-%03d", i)
		if _, err := b.admin(ctx, "tenant", "create", name); err != nil {
			return err
		}
		var err error
		if keys[i], err = b.admin(ctx, "key", "create", "--tenant", name); err != nil {
			return err
		}
		if err := b.create(ctx, keys[i], "notes", "none"); err != nil {
			return err
		}
		notes := make([]string, b.each)
		for j := range notes {
			notes[j] = text.Note()
		}
		if err := b.bulk(ctx, keys[i], "notes", notes); err != nil {
			return err
		}
		if (i+1)%50 == 0 {
			logf("%d of %d tenants", i+1, b.tenants)
		}
	}
	if err := b.stop(); err != nil {
		return err
	}
	if err := b.start(ctx); err != nil {
		return err
	}
	f := Figure{Notes: b.tenants * b.each}
	touch := func(what string) error {
		f.What = what
		return b.times(f, b.tenants, func(i int) error { return b.search(ctx, keys[i], "notes", "hybrid", text.Query()) })
	}
	if err := touch(whatTouch); err != nil {
		return err
	}
	f.What = whatHot
	err := b.times(f, max(b.calls, b.tenants), func(i int) error {
		return b.search(ctx, keys[i%len(keys)], "notes", "hybrid", text.Query())
	})
	if err != nil {
		return err
	}
	if _, err := b.sizesOf(f.Notes); err != nil {
		return err
	}
	if err := b.stop(); err != nil {
		return err
	}
	if err := b.start(ctx); err != nil {
		return err
	}
	if err := touch(whatTouched); err != nil {
		return err
	}
	if _, err := b.sizesOf(f.Notes); err != nil {
		return err
	}
	return b.stop()
}

// admin runs a command of the binary on the run's data and returns what it prints.
func (b *bench) admin(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, b.gateway, append(args, "--data", filepath.Join(b.dir, "data"))...) //nolint:gosec // the user's binary
	cmd.Env = append(os.Environ(), "DATABASE_URL=", "REDIS_URL=")                                       // as the gateway itself
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("gateway %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), nil
}
