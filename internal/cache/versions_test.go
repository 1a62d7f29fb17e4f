package cache

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/redis"
	"github.com/slipboxhq/slipbox/internal/redis/redistest"
	"github.com/slipboxhq/slipbox/internal/store/enginetest"
	"github.com/slipboxhq/slipbox/internal/store/sqlite"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// counted is a store that counts reads by version, and can be made to wait or fail.
type counted struct {
	*sqlite.Store
	calls, keys atomic.Int64
	hold        chan struct{} // nil: no waiting
	fail        error
}

func (c *counted) Versions(ctx context.Context, s tenant.Scope, v memory.View, keys []memory.Version) ([]memory.Note, error) {
	c.calls.Add(1)
	c.keys.Add(int64(len(keys)))
	if c.hold != nil {
		select {
		case <-c.hold:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if c.fail != nil {
		return nil, c.fail
	}
	return c.Store.Versions(ctx, s, v, keys)
}

// shelf is a tenant with a base and a fork in a real store.
type shelf struct {
	t     *testing.T
	store *counted
	scope tenant.Scope
	base  uuid.UUID
	log   []memory.Version // every version written
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	db := must.Get(sqlite.Open(context.Background(), sqlite.Config{Path: enginetest.File(t)}, sqlite.Deps{}))(t)
	t.Cleanup(func() { db.Close() })
	made := must.Get(db.CreateTenant(context.Background(), grant.Operator("test"), tenant.Tenant{Name: "acme", State: tenant.Active}))(t)
	w := &shelf{t: t, store: &counted{Store: db}, scope: grant.Scope(made.ID, uuid.Nil, "test", tenant.AllPermissions()...)}
	w.base = w.create(memory.Collection{Name: "base"})
	return w
}

func openRedis(t *testing.T, cfg redis.Config) *redis.Client {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second // a busy machine answers late
	}
	r := must.Get(redis.Open(t.Context(), cfg, redis.Deps{}))(t)
	t.Cleanup(func() { r.Close() })
	return r
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.After(5 * time.Minute); !ok(); {
		select {
		case <-deadline:
			t.Fatalf("%s: not within five minutes", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// counter sums the points of a counter.
func counter(t *testing.T, r *metric.ManualReader, name string) (sum int64) {
	t.Helper()
	var all metricdata.ResourceMetrics
	must.Do(t, r.Collect(t.Context(), &all))
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			if d, ok := m.Data.(metricdata.Sum[int64]); ok && m.Name == name {
				for _, p := range d.DataPoints {
					sum += p.Value
				}
			}
		}
	}
	return sum
}

func (w *shelf) create(c memory.Collection) uuid.UUID {
	w.t.Helper()
	c.Policy, c.Embedder, c.Dim, c.State = "none", "test-4", 4, memory.CollectionActive
	made := must.Get(w.store.CreateCollection(context.Background(), w.scope, memory.NewCollection{Collection: c, Audit: memory.AuditEntry{Action: "collection.create"}}))(w.t)
	return made.Collection.ID
}

// write writes a version; a zero id makes a new note.
func (w *shelf) write(c uuid.UUID, n memory.Note) memory.Note {
	w.t.Helper()
	var put memory.Note
	must.Get(w.store.Write(context.Background(), w.scope, c, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) (err error) {
		put, err = tx.Put(ctx, n)
		return err
	}))(w.t)
	w.log = append(w.log, put.Version())
	return put
}

func (w *shelf) view(c uuid.UUID) memory.View {
	w.t.Helper()
	v := must.Get(w.store.OpenView(context.Background(), w.scope, c.String(), memory.At{}))(w.t)
	return v
}

func (w *shelf) cache(r *redis.Client, cfg VersionsConfig, d Deps) *Versions {
	w.t.Helper()
	v := must.Get(NewVersions(w.store, r, cfg, d))(w.t)
	return v
}

func rich(content string) memory.Note {
	return memory.Note{
		Kind: memory.KindNote, Content: content, Context: "<b> & \u2028 é", Keywords: []string{"k"}, Tags: []string{"a", "b"}, Category: "c", Importance: 0.25,
		OccurredAt: time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC), Vector: []float32{1, 0, 0, 0}, Supplied: []string{"tags"},
		Attributes: map[string]any{"big": json.Number("9007199254740993"), "deep": map[string]any{"list": []any{"x", true, nil}}},
		Provenance: memory.Provenance{Sources: []uuid.UUID{uuid.New()}, Actor: "somebody"},
	}
}

// After any writes, forks, flushes and losses, a cached reader answers as the store does, from
// any view, for any version, through any gateway.
func TestCachedAsUncached(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	admin := srv.Client()
	rapid.Check(t, func(rt *rapid.T) {
		w := newShelf(t)
		r := openRedis(t, redis.Config{URL: srv.URL(), Prefix: uuid.NewString()})
		gateways := []*Versions{w.cache(r, VersionsConfig{}, Deps{}), w.cache(r, VersionsConfig{Bytes: 4096}, Deps{}), w.cache(nil, VersionsConfig{}, Deps{})}
		at := []uuid.UUID{w.base}
		views := []memory.View{w.view(w.base)}
		note := w.write(w.base, rich("first"))
		for range rapid.IntRange(5, 40).Draw(rt, "steps") {
			switch rapid.IntRange(0, 6).Draw(rt, "step") {
			case 0:
				note = w.write(rapid.SampledFrom(at).Draw(rt, "where"), rich(strings.ReplaceAll(rapid.String().Draw(rt, "content"), "\x00", " ")))
			case 1:
				again := rich(rapid.StringMatching("[a-z]{0,9}").Draw(rt, "content"))
				again.ID = note.ID
				w.write(rapid.SampledFrom(at).Draw(rt, "where"), again)
			case 2:
				if len(at) < 4 {
					parent := w.view(rapid.SampledFrom(at).Draw(rt, "parent"))
					at = append(at, w.create(memory.Collection{Name: "fork-" + uuid.NewString(), Parent: parent.Collection.ID, ParentRevision: parent.At}))
				}
			case 3:
				views = append(views, w.view(rapid.SampledFrom(at).Draw(rt, "view"))) // some stay old
			case 4:
				must.Do(t, admin.FlushAll(t.Context()).Err())
			default:
				keys := rapid.SliceOfN(rapid.SampledFrom(append([]memory.Version{{Layer: w.base, Note: uuid.New(), From: 1}}, w.log...)), 0, 12).Draw(rt, "keys")
				view := rapid.SampledFrom(views).Draw(rt, "from")
				want := must.Get(w.store.Store.Versions(t.Context(), w.scope, view, keys))(t)
				for i, g := range gateways {
					got := must.Get(g.Versions(t.Context(), w.scope, view, keys))(t)
					if len(got) != 0 || len(want) != 0 {
						if diff := cmp.Diff(want, got); diff != "" {
							rt.Fatalf("gateway %d (-store +cache):\n%s", i, diff)
						}
					}
					for i := range got { // a caller may do with its notes what it likes
						got[i].Tags[0] = "scribbled"
						got[i].Attributes["deep"].(map[string]any)["list"].([]any)[0] = "scribbled"
						got[i].Provenance.Sources[0] = uuid.Nil
					}
				}
			}
		}
	})
}

func (w *shelf) contents(v *Versions, view memory.View, keys ...memory.Version) []string {
	w.t.Helper()
	notes := must.Get(v.Versions(context.Background(), w.scope, view, keys))(w.t)
	out := make([]string, len(notes))
	for i, n := range notes {
		out[i] = n.Content
	}
	return out
}

// Each level saves reads of the next one: a second read uses the process, a second gateway Redis.
func TestEachLevelSavesReadsOfTheNext(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	w := newShelf(t)
	reader := metric.NewManualReader()
	d := Deps{Meter: metric.NewMeterProvider(metric.WithReader(reader)).Meter("test")}
	r := openRedis(t, redis.Config{URL: url, Prefix: prefix})
	a, b := w.write(w.base, rich("a")), w.write(w.base, rich("b"))
	view := w.view(w.base)
	first, second := w.cache(r, VersionsConfig{}, d), w.cache(r, VersionsConfig{}, d)
	want := []string{"b", "a", "b"}
	for _, g := range []*Versions{first, first, second, second} {
		if got := w.contents(g, view, b.Version(), a.Version(), b.Version()); !cmp.Equal(got, want) {
			t.Errorf("got %v", got)
		}
	}
	if w.store.calls.Load() != 1 || w.store.keys.Load() != 2 {
		t.Errorf("the store was asked %d times for %d versions", w.store.calls.Load(), w.store.keys.Load())
	}
	if n := counter(t, reader, "slipbox.cache.lookups"); n == 0 {
		t.Error("no lookups are counted")
	}
}

// A view that does not reach a version, or another tenant's scope, gets nothing from the cache.
func TestReach(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	w := newShelf(t)
	r := openRedis(t, redis.Config{URL: url, Prefix: prefix})
	before := w.view(w.base)
	n := w.write(w.base, rich("secret"))
	other := w.view(w.create(memory.Collection{Name: "other"}))
	v := w.cache(r, VersionsConfig{}, Deps{})
	if got := w.contents(v, w.view(w.base), n.Version()); len(got) != 1 {
		t.Fatal(got)
	}
	for name, view := range map[string]memory.View{"an older view": before, "another collection's": other} {
		if got := w.contents(v, view, n.Version()); len(got) != 0 {
			t.Errorf("%s sees %v", name, got)
		}
	}
	stranger := grant.Scope(uuid.New(), uuid.Nil, "test", tenant.AllPermissions()...)
	if _, err := v.Versions(t.Context(), stranger, w.view(w.base), []memory.Version{n.Version()}); !fault.Is(err, fault.NotFound) {
		t.Errorf("a stranger: %v", err)
	}
	if _, err := v.Versions(t.Context(), tenant.Scope{}, w.view(w.base), nil); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("nobody: %v", err)
	}
	// An erasure changes the epoch, so entries from before it are unreachable.
	erased := w.view(w.base)
	erased.Layers[0].EraseEpoch++
	w.store.calls.Store(0)
	if w.contents(v, erased, n.Version()); w.store.calls.Load() != 1 {
		t.Error("an entry from before an erasure was used")
	}
}

// Values that cannot be decoded are misses: truncated, of another build, or of another note.
func TestUnreadableValues(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	w := newShelf(t)
	r := openRedis(t, redis.Config{URL: url, Prefix: prefix})
	n, other := w.write(w.base, rich("right")), w.write(w.base, rich("other"))
	key := versionKey{tenant: w.scope.Tenant(), Version: n.Version()}.String(prefix)
	foreign := must.Get(codec{}.encode(other))(t)
	mine := must.Get(codec{}.encode(n))(t)
	for _, value := range []string{"", "{", `{"f":1}`, `null`, string(foreign), strings.Replace(string(mine), `"f":1`, `"f":2`, 1), string(mine[:len(mine)/2])} {
		must.Do(t, r.Store(t.Context(), func(ctx context.Context, c *goredis.Client) error {
			return c.Set(ctx, key, value, time.Minute).Err()
		}))
		w.store.calls.Store(0)
		if got := w.contents(w.cache(r, VersionsConfig{}, Deps{}), w.view(w.base), n.Version()); !cmp.Equal(got, []string{"right"}) || w.store.calls.Load() != 1 {
			t.Errorf("%q gives %v", value, got)
		}
	}
	must.Do(t, r.Store(t.Context(), func(ctx context.Context, c *goredis.Client) error {
		c.Del(ctx, key)
		return c.LPush(ctx, key, "of another type").Err()
	}))
	if got := w.contents(w.cache(r, VersionsConfig{}, Deps{}), w.view(w.base), n.Version()); !cmp.Equal(got, []string{"right"}) {
		t.Errorf("a key of another type gives %v", got)
	}
}

// Concurrent misses of the same versions read the store once. When the first caller leaves, the
// others do not fail.
func TestManyMissAtOnce(t *testing.T) {
	t.Parallel()
	w := newShelf(t)
	n := w.write(w.base, rich("a"))
	view := w.view(w.base)
	v := w.cache(nil, VersionsConfig{}, Deps{})
	w.store.hold = make(chan struct{})
	leaving, leave := context.WithCancel(t.Context())
	var first, others sync.WaitGroup
	first.Go(func() {
		if _, err := v.Versions(leaving, w.scope, view, []memory.Version{n.Version()}); !errors.Is(err, context.Canceled) {
			t.Errorf("who left: %v", err)
		}
	})
	until(t, "the store is asked", func() bool { return w.store.calls.Load() == 1 })
	for range 20 {
		others.Go(func() {
			if got := w.contents(v, view, n.Version()); len(got) != 1 {
				t.Errorf("got %v", got)
			}
		})
	}
	leave()
	first.Wait()
	until(t, "somebody else asks", func() bool { return w.store.calls.Load() >= 2 })
	close(w.store.hold)
	others.Wait()
	if got := w.store.calls.Load(); got != 2 {
		t.Errorf("the store was asked %d times", got)
	}
}

func TestStoreFailsAndRedisGoes(t *testing.T) {
	t.Parallel()
	srv := redistest.Start(t)
	w := newShelf(t)
	r := openRedis(t, redis.Config{URL: srv.URL(), Timeout: time.Second, Pause: time.Hour})
	n := w.write(w.base, rich("a"))
	view := w.view(w.base)
	w.store.fail = fault.New(fault.Unavailable, "no store")
	v := w.cache(r, VersionsConfig{}, Deps{})
	if _, err := v.Versions(t.Context(), w.scope, view, []memory.Version{n.Version()}); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a store that fails: %v", err)
	}
	w.store.fail = nil
	srv.Freeze()
	began := time.Now()
	for range 50 {
		if got := w.contents(w.cache(r, VersionsConfig{}, Deps{}), view, n.Version()); len(got) != 1 {
			t.Errorf("got %v", got)
		}
	}
	if took := time.Since(began); took > 40*time.Second {
		t.Errorf("50 readings past a frozen server took %v", took)
	}
	srv.Thaw()
	srv.Kill()
	if got := w.contents(w.cache(r, VersionsConfig{}, Deps{}), view, n.Version()); len(got) != 1 {
		t.Errorf("got %v", got)
	}
}

// The level in this process stays within its bytes.
func TestBytes(t *testing.T) {
	t.Parallel()
	w := newShelf(t)
	v := w.cache(nil, VersionsConfig{Bytes: 100_000}, Deps{})
	keys := make([]memory.Version, 50)
	for i := range keys {
		n := w.write(w.base, memory.Note{Content: strings.Repeat("x", 10_000)})
		keys[i] = n.Version()
	}
	view := w.view(w.base)
	for _, k := range keys {
		if got := w.contents(v, view, k); len(got) != 1 {
			t.Fatal(got)
		}
	}
	until(t, "evicted", func() bool { v.local.CleanUp(); return v.local.WeightedSize() <= 100_000 })
	if v.local.EstimatedSize() == 0 {
		t.Error("nothing is kept")
	}
	n := rich("x")
	if text, err := json.Marshal(n); err != nil || float64(noteBytes(&n)) < float64(len(text))/2 || noteBytes(&n) > math.MaxUint16 {
		t.Errorf("a note of %d bytes as JSON is thought to take %d", len(text), noteBytes(&n))
	}
	for _, cfg := range []VersionsConfig{{Bytes: -1}, {TTL: -1}} {
		if _, err := NewVersions(w.store, nil, cfg, Deps{}); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

// What was removed from a layer, or from all of a tenant, is no longer in Redis; the versions of others are.
func TestRemovedVersionsLeaveRedis(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	for _, all := range []bool{false, true} {
		w := newShelf(t)
		r := openRedis(t, redis.Config{URL: url, Prefix: prefix})
		kept := w.create(memory.Collection{Name: "kept"})
		secret, other := w.write(w.base, rich("secret")), w.write(kept, rich("other"))
		v := w.cache(r, VersionsConfig{}, Deps{})
		w.contents(v, w.view(w.base), secret.Version())
		w.contents(v, w.view(kept), other.Version())
		held := func() (out []uuid.UUID) {
			must.Do(t, Entries(t.Context(), r, func(found []Entry) error {
				for _, e := range found {
					if e.Tenant == w.scope.Tenant() {
						out = append(out, e.Layer)
					}
				}
				return nil
			}))
			return out
		}
		if n := len(held()); n != 2 {
			t.Fatalf("Redis has %d versions, want 2", n)
		}
		layer, want := w.base, []uuid.UUID{kept}
		if all {
			layer, want = uuid.Nil, nil
		}
		must.Do(t, Forget(t.Context(), r, w.scope.Tenant(), layer))
		if got := held(); !slices.Equal(got, want) {
			t.Errorf("all: %t: Redis has versions of %v, want %v", all, got, want)
		}
	}
}

// What another process deletes or erases leaves this process and Redis when they are swept, also what a slow reader stored after it.
// All else stays.
func TestSweepDropsWhatIsGone(t *testing.T) {
	t.Parallel()
	url, prefix := redistest.Shared(t)
	prefix += ":" + uuid.NewString() // other tests sweep too
	r := openRedis(t, redis.Config{URL: url, Prefix: prefix})
	w := newShelf(t)
	v := w.cache(r, VersionsConfig{}, Deps{})
	reach := func(uuid.UUID) tenant.Scope { return w.scope }
	read := func(c uuid.UUID, n memory.Note) {
		t.Helper()
		w.contents(v, w.view(c), n.Version())
		must.Get(v.Links(t.Context(), w.scope, w.view(c), memory.LinkQuery{Notes: []uuid.UUID{n.ID}, Direction: memory.Outgoing}))(t)
	}
	audit := memory.AuditEntry{Action: "test"}
	deleted, erased := w.create(memory.Collection{Name: "deleted"}), w.create(memory.Collection{Name: "erased"})
	stays, secret, mark, rest := w.write(w.base, rich("stays")), w.write(deleted, rich("secret")), w.write(erased, rich("mark")), w.write(erased, rich("rest"))
	late := w.view(deleted)
	for n, c := range map[*memory.Note]uuid.UUID{&stays: w.base, &secret: deleted, &mark: erased, &rest: erased} {
		read(c, *n)
	}
	held := func() map[string]int {
		out := map[string]int{}
		name := map[uuid.UUID]string{w.base: "stays", deleted: "deleted", erased: "erased"}
		for k := range v.local.Keys() {
			out["local "+name[k.Layer]]++
		}
		for k := range v.links.Keys() {
			for _, h := range k.layers() {
				out["links "+name[h.layer]]++
			}
		}
		must.Do(t, Entries(t.Context(), r, func(found []Entry) error {
			for _, e := range found {
				out["redis "+name[e.Layer]]++
			}
			return nil
		}))
		return out
	}
	sweep := func(only memory.Due) {
		t.Helper()
		must.Do(t, v.Sweep(t.Context(), reach, only))
		must.Do(t, r.Direct(t.Context(), func(ctx context.Context, c *goredis.Client) error { return c.Del(ctx, prefix+":v1-swept").Err() }))
		must.Do(t, v.SweepRedis(t.Context(), reach, time.Hour))
	}
	want := map[string]int{"local stays": 1, "links stays": 1, "redis stays": 1, "local deleted": 1, "links deleted": 1, "redis deleted": 1, "local erased": 2, "links erased": 2, "redis erased": 2}
	check := func(when string) {
		t.Helper()
		if diff := cmp.Diff(want, held()); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	sweep(memory.Due{})
	check("nothing is gone")
	must.Get(w.store.DeleteCollection(t.Context(), w.scope, deleted, false, audit))(t)
	must.Do(t, v.Sweep(t.Context(), reach, memory.Due{Tenant: uuid.New()}))
	must.Do(t, v.SweepRedis(t.Context(), reach, time.Hour))
	check("of another tenant, and so soon after another process")
	sweep(memory.Due{Tenant: w.scope.Tenant(), Collection: deleted})
	for _, in := range []string{"local", "links", "redis"} {
		delete(want, in+" deleted")
	}
	check("a collection is deleted")
	v.keep(t.Context(), map[versionKey]memory.Note{{tenant: w.scope.Tenant(), Version: secret.Version(), epoch: late.Layers[0].EraseEpoch}: secret})
	want["redis deleted"] = 1
	check("a slow reader stores it again")
	sweep(memory.Due{})
	delete(want, "redis deleted")
	check("it is swept again")
	must.Get(w.store.Write(t.Context(), w.scope, erased, memory.WriteOptions{Cause: memory.CauseDelete}, func(ctx context.Context, tx memory.Tx) error { return tx.Delete(ctx, mark.ID) }))(t)
	must.Get(w.store.EraseNotes(t.Context(), w.scope, erased, memory.Erasing{Notes: []uuid.UUID{mark.ID}}, audit))(t)
	read(erased, rest)
	sweep(memory.Due{})
	for _, in := range []string{"local", "links", "redis"} {
		want[in+" erased"] = 1
	}
	check("a note is erased")
	must.Do(t, w.store.DeleteTenant(t.Context(), grant.Operator("test"), w.scope.Tenant()))
	sweep(memory.Due{})
	clear(want)
	check("the tenant is deleted")
	must.Do(t, r.Direct(t.Context(), func(ctx context.Context, c *goredis.Client) error {
		left, err := c.Keys(ctx, prefix+"*").Result()
		if len(left) != 1 {
			t.Errorf("Redis has %v, want only the mark of the last look", left)
		}
		return err
	}))
}
