package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"github.com/slipboxhq/slipbox/internal/redis/redistest"
	"github.com/slipboxhq/slipbox/test/must"
)

// places are where servers keep what they are given.
type places struct {
	t        *testing.T
	database *pgx.Conn // as its owner, who sees every tenant
	redis    *redis.Client
	folders  []string // of a gateway and a worker
}

// newPlaces returns servers over Postgres and a Redis of their own, and where they keep what they are given.
func newPlaces(t *testing.T) (*servers, *places) {
	t.Helper()
	cache := redistest.Start(t)
	s := newServersOn(t, cache.URL(), "")
	database := must.Get(pgx.Connect(t.Context(), s.database.OwnerURL))(t)
	t.Cleanup(func() { _ = database.Close(context.WithoutCancel(t.Context())) })
	return s, &places{t: t, database: database, redis: cache.Client()}
}

// with returns the tables, the keys of Redis and the files that have a text.
func (p *places) with(text string) (out []string) {
	p.t.Helper()
	ctx := p.t.Context()
	rows := must.Get(p.database.Query(ctx, "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'p', 'm') AND relnamespace = current_schema()::regnamespace"))(p.t)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(tables) < 20 {
		p.t.Fatal(tables, err)
	}
	for _, table := range tables {
		var n int // bytes are shown in hexadecimal digits
		err := p.database.QueryRow(ctx, "SELECT COUNT(*) FROM "+table+" x WHERE strpos(x::text, $1) > 0 OR strpos(x::text, encode($1::text::bytea, 'hex')) > 0", text).Scan(&n)
		if err != nil {
			p.t.Fatal(table, err)
		}
		if n > 0 {
			out = append(out, table)
		}
	}
	keys := must.Get(p.redis.Keys(ctx, "*").Result())(p.t)
	if i := slices.IndexFunc(keys, func(key string) bool { return strings.Contains(key+p.value(key), text) }); i >= 0 {
		out = append(out, "redis "+keys[i])
	}
	for _, folder := range p.folders {
		must.Do(p.t, filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if bytes.Contains(data, []byte(text)) {
				out = append(out, path)
			}
			return err
		}))
	}
	return out
}

// value returns what Redis has under a key; "" when it has expired meanwhile.
func (p *places) value(key string) string {
	p.t.Helper()
	ctx := p.t.Context()
	kind, err := p.redis.Type(ctx, key).Result()
	if err != nil {
		p.t.Fatal(err)
	}
	var value any
	switch kind {
	case "none":
		return ""
	case "string":
		value, err = p.redis.Get(ctx, key).Result()
		if errors.Is(err, redis.Nil) {
			return ""
		}
	case "hash":
		value, err = p.redis.HGetAll(ctx, key).Result()
	case "list":
		value, err = p.redis.LRange(ctx, key, 0, -1).Result()
	case "set":
		value, err = p.redis.SMembers(ctx, key).Result()
	case "zset":
		value, err = p.redis.ZRange(ctx, key, 0, -1).Result()
	case "stream":
		value, err = p.redis.XRange(ctx, key, "-", "+").Result()
	default:
		p.t.Fatalf("%s is a %s", key, kind)
	}
	if err != nil {
		p.t.Fatal(key, err)
	}
	return fmt.Sprint(value)
}

// A deleted collection and a deleted tenant are in no table of Postgres, under no key of Redis, and in no file of a gateway or a worker.
// The log of the server and its dead rows are the server's.
func TestDeletedIsOnNoServer(t *testing.T) {
	t.Parallel()
	s, at := newPlaces(t)
	keep := func(c *Settings) {
		c.Index.Dir = filepath.Join(c.Data, "index")
		at.folders = append(at.folders, c.Data)
	}
	s.worker(keep)
	g := s.gateway(keep)
	const tenantMark, first, second, kept = "quokkatenant", "quokkaone", "quokkatwo", "quokkakept"
	fill := func(mark string) {
		name := strings.TrimPrefix(mark, "quokka") // the audit log of a tenant keeps names
		c := "/v1/collections/" + name
		g.call(http.StatusCreated, "POST", "/v1/collections", object{
			"name": name, "display_name": "of " + mark, "policy": "memorybank", "metadata": object{"of": mark}, "external": object{"user": mark},
		})
		for i := range 70 { // fewer have no file of an index where there are some
			g.call(http.StatusCreated, "POST", c+"/notes", object{"content": fmt.Sprintf("%s has the number %d.", mark, i), "tags": []string{mark}, "attributes": object{"of": mark}, "on_duplicate": "keep"})
		}
		g.call(http.StatusAccepted, "POST", c+"/messages", object{"messages": []object{{"role": "user", "name": mark, "content": "My name is " + mark + " and I keep bees."}}})
		g.post(c+"/import", "application/x-ndjson", `{"content":"`+mark+` was imported."}`+"\n")
		g.call(http.StatusCreated, "POST", c+"/snapshots", object{"name": "as it was"})
		g.until(mark+" is found", func() bool { return len(g.search(name, mark, "hybrid")) > 0 })
		g.call(http.StatusOK, "POST", c+"/context", object{"query": mark})
	}
	fill(kept)
	s.admin(func(a *Admin) error {
		if _, err := a.CreateTenant(t.Context(), tenantMark); err != nil {
			return err
		}
		k, err := a.CreateKey(t.Context(), tenantMark, NewKey{Name: tenantMark})
		g.key = k.Text
		return err
	})
	g.call(http.StatusCreated, "POST", "/v1/agents", object{"name": tenantMark})
	g.call(http.StatusCreated, "POST", "/v1/tools", object{"name": tenantMark, "description": tenantMark, "parameters": object{"type": "object"}})
	fill(first)
	fill(second)
	for _, mark := range []string{tenantMark, first, second, kept} {
		found := at.with(mark)
		t.Logf("%s is in %v", mark, found)
		if len(found) < 2 || mark != tenantMark && !slices.ContainsFunc(found, func(in string) bool { return strings.HasPrefix(in, "redis ") }) {
			t.Errorf("%s is looked for in the wrong places: %v", mark, found)
		}
	}
	gone := func(mark string) {
		t.Helper()
		var found []string
		defer func() {
			if t.Failed() {
				t.Logf("%s is in %v", mark, found)
			}
		}()
		g.until(mark+" is nowhere", func() bool { found = at.with(mark); return len(found) == 0 })
	}
	g.call(http.StatusNoContent, "DELETE", "/v1/collections/one", nil)
	gone(first)
	s.admin(func(a *Admin) error {
		k, err := a.CreateOperatorKey(t.Context(), "test", time.Hour)
		g.key = k.Text
		return err
	})
	g.call(http.StatusNoContent, "DELETE", "/v1/tenants/"+tenantMark, nil)
	gone(second)
	gone(tenantMark)
	if len(at.with(kept)) < 4 {
		t.Errorf("another tenant has lost what it had: %v", at.with(kept))
	}
}
