package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// tenantIn is a tenant with one collection, whose calls are traced.
type tenantIn struct {
	bench

	sent    *statements
	last    []memory.Note
	fork    uuid.UUID
	serving *pgx.Conn // which sees what this tenant has
}

// often is which of the notes of a tenant has a key, and is changed often: the last, after which the next pages begin.
const often = 9

// newTenantIn adds a tenant with ten notes and their jobs to a database.
func newTenantIn(t *testing.T, b bench, name string) *tenantIn {
	t.Helper()
	sent := &statements{}
	s := must.Get(postgres.Open(t.Context(), postgres.Config{URL: b.db.URL, Connections: 4}, postgres.Deps{Tracer: sent}))(t)
	t.Cleanup(func() { _ = s.Close() })
	in := &tenantIn{bench: bench{Store: s, db: b.db}, sent: sent, serving: connect(t, b.db.URL)}
	tn := must.Get(s.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: name}))(t)
	direct(t, in.serving, "SELECT set_config('slipbox.tenant', $1, false), set_config('enable_seqscan', 'off', false)", tn.ID.String())
	in.scope = grant.Scope(tn.ID, uuid.Nil, "test", tenant.AllPermissions()...)
	in.collection = in.create(t, memory.Collection{Name: "c", Policy: "amem", Embedder: "hash", Dim: 384})
	for i := range 10 {
		n := plain(i)
		if i == often {
			n.Kind, n.Key = memory.KindProfile, "profile"
		}
		in.last = append(in.last, in.add(t, n)...)
	}
	in.fork = in.create(t, memory.Collection{Name: "fork", Parent: in.collection, ParentRevision: 10})
	return in
}

// multiply adds so many more notes, jobs that have ended, links and collections to the tenant, as if each had been added, and versions to
// one of its notes, as if it had been changed beside.
func (in *tenantIn) multiply(t *testing.T, owner *pgx.Conn, n int) {
	t.Helper()
	of, layer := in.scope.Tenant(), in.collection
	const series = " FROM generate_series(1, $3::int) i"
	for _, text := range []string{
		`INSERT INTO notes (tenant, layer, id, from_rev, to_rev, deleted, kind, state, key, importance, occurred_at, created_at, updated_at, bytes, embedder, category, context,
 keywords, tags, attributes, error, analyst, supplied, content, digest) SELECT $1, $2, md5('n' || i)::uuid, 10 + i, 9223372036854775807, false, CASE i % 2 WHEN 0 THEN 'note' ELSE 'message' END, 'evolved', '', .5, now(), now(), now(), 100,
 'hash', '', '', '{}', '{}', jsonb_build_object('session', (i / 8)::text), '', '', '{}', 'text', i` + series,
		"INSERT INTO vectors (tenant, layer, note, from_rev, embedder, vec, tokens) SELECT $1, $2, md5('n' || i)::uuid, 10 + i, 'hash', v.vec, v.tokens" + series +
			", (SELECT * FROM vectors WHERE tenant = $1 AND layer = $2 LIMIT 1) v",
		"INSERT INTO usage (tenant, layer, note, access_count, strength, heat) SELECT $1, $2, md5('n' || i)::uuid, 1, 1, 0" + series,
		`INSERT INTO links (tenant, layer, source, relation, target, from_rev, to_rev, deleted, confidence, created_at)
 SELECT $1, $2, md5('n' || i)::uuid, 'related', md5('n' || i + 1)::uuid, 10 + i, 9223372036854775807, false, 1, now()` + series,
		"INSERT INTO changesets (tenant, collection, revision, at, actor, job, trigger, cause, undoes) SELECT $1, $2, 10 + i, now(), '', md5('j' || i)::uuid, md5('n' || i)::uuid, 'add', 0" + series,
		`INSERT INTO jobs (tenant, id, collection, note, kind, stage, state, seq, attempts, error, lease, result, finished_at, created_at)
 SELECT $1, md5('j' || i)::uuid, $2, md5('n' || i)::uuid, 'note', 'decide', CASE WHEN i % 4 > 0 THEN 'done' ELSE 'queued' END, 10 + i, 0, '', '00000000-0000-0000-0000-000000000000',
 CASE WHEN i % 4 > 0 THEN '{"read":[]}'::json END, CASE WHEN i % 4 > 0 THEN now() - interval '1 d' END, now()` + series,
		`INSERT INTO jobs (tenant, id, collection, note, kind, stage, state, seq, attempts, error, lease, payload, created_at) SELECT $1, md5('t' || i)::uuid, $2, '00000000-0000-0000-0000-000000000000',
 'policy', 'upkeep', 'queued', 10 + i, 0, '', '00000000-0000-0000-0000-000000000000', json_build_object('name', 'task', 'key', i), now()` + series + " WHERE i % 20 = 0",
		`INSERT INTO collections (tenant, id, agent, name, display_name, policy, policy_config, embedder, dim, reembedded, ephemeral, state, parent, parent_revision, created_at)
 SELECT $1, md5($2::text || i)::uuid, '00000000-0000-0000-0000-000000000000', 'c' || i, '', 'amem', '{}', 'hash', 384, '00000000-0000-0000-0000-000000000000', false, 'active',
 '00000000-0000-0000-0000-000000000000', 0, now()` + series,
		"INSERT INTO collection_heads SELECT $1, md5($2::text || i)::uuid, 1, 0, 0, 0, 0, 0, true, 0, 0, 0, 0, 0, '{}', 0, 0, 0" + series,
		"INSERT INTO idempotency SELECT $1, '00000000-0000-0000-0000-000000000000', 'POST', '/v1', $2::text || i, '', NULL, now()" + series,
		"INSERT INTO reviews SELECT $1, md5('r' || i)::uuid, $2, md5('j' || i)::uuid, md5('n' || i)::uuid, 'open', 1, '[]', '[]', i, '', '', now()" + series,
		"INSERT INTO attachments SELECT $1, $2, md5('n' || i)::uuid, $2, 'b' || i, 'rw', now()" + series,
		"UPDATE collection_heads SET head = head + $3, job_seq = job_seq + $3, v_notes = v_notes + $3, s_notes = s_notes + $3, v_links = $3, s_links = $3 WHERE tenant = $1 AND collection = $2",
	} {
		direct(t, owner, text, of, layer, n)
	}
	const version = " x, generate_series(1, $3::int) i, jsonb_populate_record(x, jsonb_build_object('from_rev', 10 + i"
	id := in.last[often].ID
	for _, text := range []string{
		"INSERT INTO notes SELECT r.* FROM notes" + version + ", 'to_rev', CASE WHEN i < $3 THEN 11 + i ELSE x.to_rev END)) r WHERE x.tenant = $1 AND x.layer = $2 AND x.id = $4",
		"INSERT INTO vectors SELECT r.* FROM vectors" + version + ")) r WHERE x.tenant = $1 AND x.layer = $2 AND x.note = $4",
		"UPDATE notes SET to_rev = 11 WHERE tenant = $1 AND layer = $2 AND id = $4 AND from_rev < 11 AND $3::int > 0",
	} {
		direct(t, owner, text, of, layer, n, id)
	}
}

// ages are calls that a request or a job makes, and whose cost must not grow with the tenant.
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
	changed := in.last[often]
	calls := map[string]func(context.Context) error{
		"get": read(func(ctx context.Context, v memory.View) error {
			_, err := in.Notes(ctx, in.scope, v, ids, memory.ReadOptions{})
			return err
		}),
		"get what is changed often": read(func(ctx context.Context, v memory.View) error {
			found, err := in.Notes(ctx, in.scope, v, []uuid.UUID{changed.ID}, memory.ReadOptions{Vector: true})
			if err == nil && len(found) != 1 {
				err = fmt.Errorf("%d notes", len(found))
			}
			return errors.Join(err, in.AddUsage(ctx, in.scope, v, []memory.UsageDelta{{Note: changed.ID, Accesses: 1}}))
		}),
		"get by key what is changed often": read(func(ctx context.Context, v memory.View) error {
			_, err := in.NoteByKey(ctx, in.scope, v, changed.Kind, changed.Key)
			return err
		}),
		"history of what is changed often": read(func(ctx context.Context, v memory.View) error {
			_, err := in.History(ctx, in.scope, v, changed.ID, 0, 10)
			return err
		}),
		"change what is changed often": func(ctx context.Context) error {
			_, err := in.Write(ctx, in.scope, in.collection, memory.WriteOptions{Cause: memory.CausePatch}, func(ctx context.Context, tx memory.Tx) error {
				n := changed
				n.Content = "An edit"
				_, err := tx.Put(ctx, n)
				return err
			})
			return err
		},
		"links": read(func(ctx context.Context, v memory.View) error {
			_, err := in.Links(ctx, in.scope, v, memory.LinkQuery{Notes: ids})
			return err
		}),
		"history": read(func(ctx context.Context, v memory.View) error {
			_, err := in.History(ctx, in.scope, v, ids[0], 0, 10)
			return err
		}),
		"history in a fork": func(ctx context.Context) error {
			v, err := in.OpenView(ctx, in.scope, in.fork.String(), memory.At{})
			if err == nil {
				_, err = in.History(ctx, in.scope, v, ids[0], 0, 10)
			}
			return err
		},
		"counts": read(func(ctx context.Context, v memory.View) error { _, err := in.Counts(ctx, in.scope, v); return err }),
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
		"a task that waits": func(ctx context.Context) error {
			_, err := in.Write(ctx, in.scope, in.collection, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
				_, err := tx.HasTask(ctx, "task", "none")
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
		"answer under a key": func(ctx context.Context) error {
			o := memory.WriteOptions{Idempotency: &memory.Idempotency{Method: "POST", Path: "/v1", Key: uuid.NewString()}}
			_, err := in.Write(ctx, in.scope, in.collection, o, func(context.Context, memory.Tx) error { return nil })
			return err
		},
		"remove a collection": func(ctx context.Context) error {
			c, err := in.CreateCollection(ctx, in.scope, memory.NewCollection{Collection: memory.Collection{Name: "short", Policy: "amem", Embedder: "hash", Dim: 384}})
			if err != nil {
				return err
			}
			_, err = in.DeleteCollection(ctx, in.scope, c.Collection.ID, false, memory.AuditEntry{})
			for gone := false; !gone && err == nil; {
				gone, err = in.RemoveRows(ctx, in.scope, c.Collection.ID, page)
			}
			return err
		},
		"erase": func(ctx context.Context) error {
			_, err := in.Write(ctx, in.scope, in.collection, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
				return tx.ClearJobs(ctx, []string{"nothing says it"}, memory.Begun(in.last...))
			})
			if err == nil {
				_, err = in.EraseNotes(ctx, in.scope, in.collection, memory.Erasing{Past: ids}, memory.AuditEntry{Action: "note.erase"})
			}
			return err
		},
	}
	messages := []memory.Kind{memory.KindMessage}
	last := in.last[len(in.last)-1]
	for name, nq := range map[string]memory.NoteQuery{
		"in order":                      {},
		"in order, a next page":         {After: last.ID},
		"by revision":                   {ByRevision: true},
		"by revision, a next page":      {ByRevision: true, After: last.ID, AfterRevision: last.From},
		"messages":                      {Kinds: messages},
		"messages by time":              {Kinds: messages, ByTime: true},
		"messages of a session":         {Kinds: messages, ByTime: true, Filter: filter.AttributeIs(memory.AttrSession, "7")},
		"messages by time, a next page": {Kinds: messages, ByTime: true, AfterTime: last.OccurredAt, After: last.ID},
		"facts":                         {Kinds: []memory.Kind{memory.KindFact}},
		"changed often of a kind":       {Kinds: []memory.Kind{memory.KindProfile}},
		"before one changed often":      {After: in.last[often-1].ID},
	} {
		for _, newest := range []bool{false, true} {
			nq := nq
			nq.Newest, nq.Limit = newest, page
			if newest && nq.After == in.last[often-1].ID {
				nq.After = uuid.UUID(append(slices.Clone(changed.ID[:8]), slices.Repeat([]byte{255}, 8)...)) // behind it
			}
			calls[fmt.Sprintf("notes %s, newest first %t", name, newest)] = read(func(ctx context.Context, v memory.View) error {
				_, err := in.ListNotes(ctx, in.scope, v, nq)
				return err
			})
		}
	}
	for _, order := range []memory.CollectionOrder{memory.NewestCollections, memory.OldestCollections, memory.UpdatedCollections, memory.CollectionsByUser, ""} {
		first := memory.CollectionQuery{Order: order, Limit: page}
		next := first
		next.After = order.Place(&memory.Collection{ID: in.collection, Name: "c", UpdatedAt: time.Now()})
		for name, cq := range map[string]memory.CollectionQuery{"": first, ", a next page": next} {
			calls["collections "+string(order)+name] = func(ctx context.Context) error { _, err := in.ListCollections(ctx, in.scope, cq); return err }
		}
	}
	return calls
}

// page is how many rows the pages of ages have: more than most tenants.
const page = 20

// blocks returns how many pages the statements of a call read, each asked again by itself and undone, as the role that serves.
func (in *tenantIn) blocks(t *testing.T, call func(context.Context) error) (n int) {
	t.Helper()
	in.sent.mu.Lock()
	in.sent.seen = nil
	in.sent.mu.Unlock()
	must.Do(t, call(t.Context()))
	for text, args := range in.sent.seen {
		if !explains(text) || text[:6] == "INSERT" || strings.Contains(text, "FROM reviews ") { // of values; texts that are searched
			continue
		}
		tx := must.Get(in.serving.Begin(t.Context()))(t)
		in.sent.set(t, tx, text)
		var plans []struct {
			Plan struct {
				Hit  int `json:"Shared Hit Blocks"`
				Read int `json:"Shared Read Blocks"`
			}
		}
		if err := tx.QueryRow(t.Context(), "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+text, args...).Scan(&plans); err != nil {
			t.Fatal(err, text)
		}
		must.Do(t, tx.Rollback(t.Context()))
		read := plans[0].Plan.Hit + plans[0].Plan.Read
		if n += read; read > 8*page {
			t.Logf("%d pages: %s", read, text)
		}
	}
	return n
}

// A tenant that has grown large beside many small ones pays for what a call returns, as a small one does: when the planner knows
// nothing, when it knows the others alone, and when it knows all. SLIPBOX_SETUPS=all takes 200,000 notes beside 5,000 tenants.
func TestSameAtAnySize(t *testing.T) {
	t.Parallel()
	small, notes := 1000, 10_000
	if os.Getenv("SLIPBOX_SETUPS") == "all" {
		small, notes = 5000, 200_000
	}
	for name, analyze := range map[string][2]string{
		"no statistics": {"SELECT", "SELECT"}, "statistics of others": {"ANALYZE", "SELECT"}, "statistics of all": {"SELECT", "ANALYZE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			owner := connect(t, b.db.OwnerURL)
			setAutovacuum(t, owner, " SET (autovacuum_enabled = off)")
			defer setAutovacuum(t, owner, " RESET (autovacuum_enabled)")
			grow(t, owner, small, 2)
			direct(t, owner, analyze[0])
			young, old := newTenantIn(t, b, "small"), newTenantIn(t, b, "large")
			old.multiply(t, owner, notes)
			direct(t, owner, analyze[1])
			calls := old.ages()
			for name, call := range young.ages() {
				few, many := young.blocks(t, call), old.blocks(t, calls[name])
				t.Logf("%s: %d pages of a tenant with %d notes, %d of one with %d", name, few, len(young.last), many, notes)
				// Trees are higher, and their upper pages are read, too; a row is found by three indexes, or by two descents of one
				// behind a stretch of entries.
				if many > 2*few+16*page {
					t.Errorf("%s reads %d pages of a tenant with %d notes, and %d of one with %d", name, few, len(young.last), many, notes)
				}
			}
			// It would be noticed: a condition that the planner answers by reading the layer.
			bad := func(context.Context) error {
				old.sent.add(nil, fmt.Sprintf("SELECT COUNT(*) FROM notes WHERE tenant = '%s' AND layer = '%s' AND to_rev = %d AND content = ''", old.scope.Tenant(), old.collection, int64(store.OpenEnd)), nil)
				return nil
			}
			if read := old.blocks(t, bad); read < notes/100 {
				t.Errorf("reading all notes reads %d pages", read)
			}
		})
	}
}

// The jobs of a collection are found among those of its tenant by jobs_collection, also where the tree of jobs_pkey is lower, and the
// planner knows of tenants with so few jobs that it expects the same rows from both.
func TestJobsOfACollection(t *testing.T) {
	t.Parallel()
	for few := 1; few <= 2; few++ {
		t.Run(fmt.Sprint("others have ", few), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			owner := connect(t, b.db.OwnerURL)
			setAutovacuum(t, owner, " SET (autovacuum_enabled = off)")
			defer setAutovacuum(t, owner, " RESET (autovacuum_enabled)")
			const jobs = `INSERT INTO jobs (tenant, id, collection, note, kind, stage, state, seq, attempts, error, lease, created_at)
 SELECT coalesce($1, md5('t' || i % $2)::uuid), md5(i::text)::uuid, md5('c' || i % $2)::uuid, md5(i::text)::uuid, 'note', 'decide', 'done', i, 0, '', md5('l')::uuid, now() FROM generate_series(1, $3::int) i`
			direct(t, owner, jobs, nil, 1000, 1000*few)
			direct(t, owner, "ANALYZE jobs")
			in := newTenantIn(t, b, "large")
			direct(t, owner, jobs, in.scope.Tenant(), 1, 20_000)
			if read := in.blocks(t, in.ages()["remove a collection"]); read > 16*page {
				t.Errorf("removing a collection without notes reads %d pages", read)
			}
		})
	}
}
