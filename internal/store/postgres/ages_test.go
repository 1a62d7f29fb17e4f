package postgres_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// tenantIn is a tenant with one collection, whose calls are traced.
type tenantIn struct {
	bench

	sent *statements
	last []memory.Note
}

// newTenantIn adds a tenant with ten notes and their jobs to a database.
func newTenantIn(t *testing.T, b bench, name string) *tenantIn {
	t.Helper()
	sent := &statements{}
	s, err := postgres.Open(t.Context(), postgres.Config{URL: b.db.URL, Connections: 4}, postgres.Deps{Tracer: sent})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	in := &tenantIn{bench: bench{Store: s, db: b.db}, sent: sent}
	tn, err := s.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	in.scope = grant.Scope(tn.ID, uuid.Nil, "test", tenant.AllPermissions()...)
	in.collection = in.create(t, memory.Collection{Name: "c", Policy: "amem", Embedder: "hash", Dim: 384})
	for i := range 10 {
		in.last = append(in.last, in.add(t, plain(i))...)
	}
	return in
}

// multiply adds so many more notes, jobs that have ended, links and collections to the tenant, as if each had been added.
func (in *tenantIn) multiply(t *testing.T, owner *pgx.Conn, n int) {
	t.Helper()
	of, layer := in.scope.Tenant(), in.collection
	const series = " FROM generate_series(1, $3::int) i"
	for _, text := range []string{
		`INSERT INTO notes (tenant, layer, id, from_rev, to_rev, deleted, kind, state, key, importance, occurred_at, created_at, updated_at, bytes, embedder, category, context,
 keywords, tags, error, analyst, supplied, content, digest) SELECT $1, $2, md5('n' || i)::uuid, 10 + i, 9223372036854775807, false, 'note', 'evolved', '', .5, now(), now(), now(), 100,
 'hash', '', '', '{}', '{}', '', '', '{}', 'text', i` + series,
		"INSERT INTO vectors (tenant, layer, note, from_rev, embedder, vec, tokens) SELECT $1, $2, md5('n' || i)::uuid, 10 + i, 'hash', v.vec, v.tokens" + series +
			", (SELECT * FROM vectors WHERE tenant = $1 AND layer = $2 LIMIT 1) v",
		"INSERT INTO usage (tenant, layer, note, access_count, strength, heat) SELECT $1, $2, md5('n' || i)::uuid, 1, 1, 0" + series,
		`INSERT INTO links (tenant, layer, source, relation, target, from_rev, to_rev, deleted, confidence, created_at)
 SELECT $1, $2, md5('n' || i)::uuid, 'related', md5('n' || i + 1)::uuid, 10 + i, 9223372036854775807, false, 1, now()` + series,
		"INSERT INTO changesets (tenant, collection, revision, at, actor, job, trigger, cause, undoes) SELECT $1, $2, 10 + i, now(), '', md5('j' || i)::uuid, md5('n' || i)::uuid, 'add', 0" + series,
		`INSERT INTO jobs (tenant, id, collection, note, kind, stage, state, seq, attempts, error, lease, created_at)
 SELECT $1, md5('j' || i)::uuid, $2, md5('n' || i)::uuid, 'note', 'decide', CASE WHEN i % 4 > 0 THEN 'done' ELSE 'queued' END, 10 + i, 0, '', '00000000-0000-0000-0000-000000000000', now()` + series,
		`INSERT INTO collections (tenant, id, agent, name, display_name, policy, policy_config, embedder, dim, reembedded, ephemeral, state, parent, parent_revision, created_at)
 SELECT $1, md5($2::text || i)::uuid, '00000000-0000-0000-0000-000000000000', 'c' || i, '', 'amem', '{}', 'hash', 384, '00000000-0000-0000-0000-000000000000', false, 'active',
 '00000000-0000-0000-0000-000000000000', 0, now()` + series,
		"INSERT INTO collection_heads SELECT $1, md5($2::text || i)::uuid, 1, 0, 0, 0, 0, 0, true, 0, 0, 0, 0, 0, '{}', 0, 0, 0" + series,
		"UPDATE collection_heads SET head = head + $3, job_seq = job_seq + $3, v_notes = v_notes + $3, s_notes = s_notes + $3, v_links = $3, s_links = $3 WHERE tenant = $1 AND collection = $2",
	} {
		direct(t, owner, text, of, layer, n)
	}
}

// ages are calls that a request or a job makes, and whose cost must not grow with the tenant. Not among them are an erasure, which
// counts its layer again, and pages of notes by revision and of collections by name: the planner may sort all of them.
func (in *tenantIn) ages() map[string]func(context.Context) error {
	open := func(ctx context.Context) (memory.View, error) {
		return in.OpenView(ctx, in.scope, in.collection.String(), memory.At{})
	}
	read := func(do func(context.Context, memory.View) error) func(context.Context) error {
		return func(ctx context.Context) error {
			v, err := open(ctx)
			if err != nil {
				return err
			}
			return do(ctx, v)
		}
	}
	ids := []uuid.UUID{in.last[0].ID, in.last[5].ID}
	return map[string]func(context.Context) error{
		"get": read(func(ctx context.Context, v memory.View) error {
			_, err := in.Notes(ctx, in.scope, v, ids, memory.ReadOptions{})
			return err
		}),
		"links": read(func(ctx context.Context, v memory.View) error {
			_, err := in.Links(ctx, in.scope, v, memory.LinkQuery{Notes: ids})
			return err
		}),
		"history": read(func(ctx context.Context, v memory.View) error {
			_, err := in.History(ctx, in.scope, v, ids[0], 0, 10)
			return err
		}),
		"counts": read(func(ctx context.Context, v memory.View) error { _, err := in.Counts(ctx, in.scope, v); return err }),
		"list": read(func(ctx context.Context, v memory.View) error {
			_, err := in.ListNotes(ctx, in.scope, v, memory.NoteQuery{Limit: 10})
			return err
		}),
		"search, its index up to date": read(func(ctx context.Context, v memory.View) error {
			if _, err := in.Log(ctx, in.scope, v, 0, v.At-1, "hash", func(memory.LogRow) error { return nil }); err != nil {
				return err
			}
			keys := []memory.Version{in.last[0].Version(), in.last[5].Version()}
			_, err := in.Versions(ctx, in.scope, v, keys)
			return err
		}),
		"list jobs": func(ctx context.Context) error {
			_, err := in.ListJobs(ctx, in.scope, memory.JobQuery{Limit: 10})
			return err
		},
		"add": func(ctx context.Context) error {
			_, err := in.Write(ctx, in.scope, in.collection, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
				n, err := tx.Put(ctx, plain(1000))
				if err == nil {
					_, err = tx.Enqueue(ctx, memory.Job{Note: n.ID, Kind: memory.JobNote, Stage: memory.StagePrepare})
				}
				return err
			})
			return err
		},
		"claim": func(ctx context.Context) error {
			for _, stage := range []memory.Stage{memory.StagePrepare, memory.StageDecide} {
				if _, err := in.ClaimJobs(ctx, in.scope, in.collection, stage, uuid.New(), time.Now().Add(time.Minute), 1); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// blocks returns how many pages the statements of a call read, each asked again by itself and undone.
func (in *tenantIn) blocks(t *testing.T, owner *pgx.Conn, call func(context.Context) error) (n int) {
	t.Helper()
	in.sent.mu.Lock()
	in.sent.seen = nil
	in.sent.mu.Unlock()
	if err := call(t.Context()); err != nil {
		t.Fatal(err)
	}
	for text, args := range in.sent.seen {
		if !explains(text) || text[:6] == "INSERT" { // of values
			continue
		}
		tx, err := owner.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var plans []struct {
			Plan struct {
				Hit  int `json:"Shared Hit Blocks"`
				Read int `json:"Shared Read Blocks"`
			}
		}
		if err := tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+text, args...).Scan(&plans); err != nil {
			t.Fatal(err, text)
		}
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		n += plans[0].Plan.Hit + plans[0].Plan.Read
	}
	return n
}

// A tenant that has grown large beside many small ones, whose statistics are all that the planner has, pays for what a call returns,
// as a small one does. SLIPBOX_SETUPS=all takes 200,000 notes beside 1,000 tenants.
func TestSameAtAnySize(t *testing.T) {
	t.Parallel()
	small, notes := 200, 10_000
	if os.Getenv("SLIPBOX_SETUPS") == "all" {
		small, notes = 1000, 200_000
	}
	b := newBench(t)
	owner := connect(t, b.db.OwnerURL)
	setAutovacuum(t, owner, " SET (autovacuum_enabled = off)")
	defer setAutovacuum(t, owner, " RESET (autovacuum_enabled)")
	grow(t, owner, small, 10)
	direct(t, owner, "ANALYZE")
	direct(t, owner, "SET enable_seqscan = off")
	young, old := newTenantIn(t, b, "small"), newTenantIn(t, b, "large")
	old.multiply(t, owner, notes)
	calls := old.ages()
	for name, call := range young.ages() {
		few, many := young.blocks(t, owner, call), old.blocks(t, owner, calls[name])
		t.Logf("%s: %d pages of a tenant with %d notes, %d of one with %d", name, few, len(young.last), many, notes)
		// Trees are higher, and their upper pages are read, too.
		if many > 2*few+100 {
			t.Errorf("%s reads %d pages of a tenant with %d notes, and %d of one with %d", name, few, len(young.last), many, notes)
		}
	}
	// It would be noticed: a condition that the planner answers by reading the layer.
	v, err := old.OpenView(t.Context(), old.scope, old.collection.String(), memory.At{})
	if err != nil {
		t.Fatal(err)
	}
	var read int
	bad := func(context.Context) error {
		old.sent.add(fmt.Sprintf("SELECT COUNT(*) FROM notes WHERE tenant = '%s' AND layer = '%s' AND to_rev = %d AND content = ''", old.scope.Tenant(), v.Collection.ID, int64(store.OpenEnd)), nil)
		return nil
	}
	if read = old.blocks(t, owner, bad); read < notes/100 {
		t.Errorf("reading all notes reads %d pages", read)
	}
}
