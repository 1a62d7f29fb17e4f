//go:build !race

package postgres_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/test/must"
)

// TestVerifyFinds breaks each rule behind the store's back.
func TestVerifyFinds(t *testing.T) {
	t.Parallel()
	const zero = "'00000000-0000-0000-0000-000000000000'"
	b := newBench(t)
	n := b.put(t, b.collection, memory.Note{Content: "a", Vector: vector(1)})
	m := b.put(t, b.collection, memory.Note{Content: "b"})
	b.put(t, b.collection, memory.Note{ID: n.ID, Content: "a2", Vector: vector(2)})
	must.Get(b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
		if _, err := tx.Link(ctx, memory.Link{LinkID: memory.LinkID{Source: n.ID, Target: m.ID}}); err != nil {
			return err
		}
		for range 2 {
			if _, err := tx.Enqueue(ctx, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare}); err != nil {
				return err
			}
		}
		return nil
	}))(t)
	b.sound(t)
	owner := b.owner(t)
	for name, c := range map[string]struct {
		kind store.ProblemKind
		sql  string
	}{
		"orphan rows":    {store.ProblemOrphan, "UPDATE notes SET layer = " + zero + " WHERE from_rev = 2"},
		"no head":        {store.ProblemOrphan, "DELETE FROM collection_heads"},
		"lost parent":    {store.ProblemOrphan, "UPDATE collections SET parent = gen_random_uuid()"},
		"lost agent":     {store.ProblemOrphan, "UPDATE collections SET agent = gen_random_uuid()"},
		"gap":            {store.ProblemRevision, "DELETE FROM changesets WHERE revision = 2"},
		"head":           {store.ProblemRevision, "UPDATE collection_heads SET head = head + 1"},
		"beyond":         {store.ProblemRevision, "UPDATE notes SET from_rev = 99 WHERE from_rev = 3"},
		"overlap":        {store.ProblemInterval, "UPDATE notes SET to_rev = 9223372036854775807 WHERE from_rev = 1"},
		"hole":           {store.ProblemInterval, "DELETE FROM notes WHERE from_rev = 3"},
		"lost vector":    {store.ProblemVector, "DELETE FROM vectors"},
		"stray vector":   {store.ProblemVector, "UPDATE vectors SET note = " + zero},
		"vector length":  {store.ProblemVector, "UPDATE vectors SET vec = '[1,2,3]'"},
		"lease":          {store.ProblemJob, "UPDATE jobs SET state = 'running'"},
		"two held":       {store.ProblemJob, "UPDATE jobs SET state = 'running', stage = 'decide', lease = gen_random_uuid(), lease_until = now() + interval '1 hour'"},
		"job state":      {store.ProblemJob, "UPDATE jobs SET state = 'odd'"},
		"job place":      {store.ProblemJob, "UPDATE jobs SET seq = 1"},
		"not removed":    {store.ProblemJob, "UPDATE collections SET state = 'deleting'"},
		"counts":         {store.ProblemCount, "UPDATE collection_heads SET v_notes = 77"},
		"stored":         {store.ProblemCount, "UPDATE collection_heads SET s_bytes = 77"},
		"link endpoint":  {store.ProblemLink, "UPDATE links SET target = " + zero},
		"key used twice": {store.ProblemKey, "UPDATE notes SET key = 'k' WHERE to_rev = 9223372036854775807"},
		"attached":       {store.ProblemAttachment, "INSERT INTO attachments SELECT tenant, id, gen_random_uuid(), id, 'x', 'rw', now() FROM collections"},
	} {
		problems := b.broken(t, owner, c.sql)
		if !slices.ContainsFunc(problems, func(p store.Problem) bool { return p.Kind == c.kind && p.Tenant == b.scope.Tenant() }) {
			t.Errorf("%s: %s was not found among %+v", name, c.kind, problems)
		}
	}
	b.sound(t)
	// A role that sees all tenants sees the rows of a tenant that is gone.
	direct(t, owner, "DELETE FROM tenants")
	all := must.Get(postgres.Open(t.Context(), postgres.Config{URL: b.db.OwnerURL, AnyRole: true}, postgres.Deps{}))(t)
	problems, err := all.Verify(t.Context())
	if err != nil || len(problems) == 0 || problems[0].Kind != store.ProblemOrphan || problems[0].Tenant != b.scope.Tenant() {
		t.Errorf("rows of no tenant: %+v, %v", problems, err)
	}
	if err := all.Close(); err != nil {
		t.Error(err)
	}
}

// TestHiddenLinksAreCountedByTheStep: a link to a note that was deleted before the step to version 6 is counted as hidden by it.
func TestHiddenLinksAreCountedByTheStep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	n, m := b.put(t, b.collection, memory.Note{Content: "kept"}), b.put(t, b.collection, memory.Note{Content: "deleted"})
	for _, change := range []func(context.Context, memory.Tx) error{
		func(ctx context.Context, tx memory.Tx) error {
			_, err := tx.Link(ctx, memory.Link{LinkID: memory.LinkID{Source: n.ID, Target: m.ID}})
			return err
		},
		func(ctx context.Context, tx memory.Tx) error { return tx.Delete(ctx, m.ID) },
	} {
		must.Get(b.Write(t.Context(), b.scope, b.collection, memory.WriteOptions{}, change))(t)
	}
	must.Do(t, errors.Join(postgres.MigrateDown(t.Context(), b.db.OwnerURL, 5), postgres.Migrate(t.Context(), b.db.OwnerURL, "")))
	b.sound(t)
	if used, err := b.TenantUsage(t.Context(), b.scope); err != nil || used.Links != 0 {
		t.Error(used, err)
	}
}

// broken returns what Verify finds after a statement, and undoes the statement.
func (b bench) broken(tb testing.TB, owner *pgx.Conn, text string) []store.Problem {
	tb.Helper()
	saved := []string{"notes", "links", "vectors", "jobs", "changesets", "collection_heads", "collections", "attachments"}
	for _, table := range saved {
		direct(tb, owner, "CREATE TEMP TABLE saved_"+table+" AS TABLE "+table)
	}
	direct(tb, owner, text)
	problems := must.Get(b.Verify(tb.Context()))(tb)
	for _, table := range saved {
		direct(tb, owner, "DELETE FROM "+table)
		direct(tb, owner, "INSERT INTO "+table+" SELECT * FROM saved_"+table)
		direct(tb, owner, "DROP TABLE saved_"+table)
	}
	return problems
}

// vector returns a vector with the dimensions of a bench's collection.
func vector(seed int) []float32 {
	v := make([]float32, 384)
	for i := range v {
		v[i] = float32((seed*31+i*7)%97) / 97
	}
	return v
}
