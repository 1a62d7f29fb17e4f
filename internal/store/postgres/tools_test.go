package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
)

// As on SQLite: a tool loses its address, and a run that waits for its approval fails with what to do.
func TestToolsLoseTheirAddresses(t *testing.T) {
	t.Parallel()
	db := postgrestest.NewEmpty(t)
	ctx := t.Context()
	owner, role := connect(t, db.OwnerURL), connect(t, db.URL).Config().User
	if err := postgres.Migrate(ctx, db.OwnerURL, role); err != nil {
		t.Fatal(err)
	}
	if err := postgres.MigrateDown(ctx, db.OwnerURL, 16); err != nil {
		t.Fatal(err)
	}
	run := func(statement string, args ...any) {
		t.Helper()
		if _, err := owner.Exec(ctx, statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	id := func(n int) string { return fmt.Sprintf("00000000-0000-0000-0000-0000000000%02x", n) }
	run(`INSERT INTO tools (tenant, id, name, spec, secrets, created_at, updated_at) VALUES ($1, $2, 'forecast',
		'{"description":"The weather.","parameters":{"type":"object","b":1,"a":2},"url":"https://example.com","method":"POST"}', '\x01', now(), now())`, id(1), id(2))
	for n, tool := range map[int]string{3: "forecast", 4: "archival_insert"} {
		run(`INSERT INTO jobs (tenant, id, collection, note, kind, stage, state, seq, attempts, result, error, lease, created_at)
			VALUES ($1, $2, $1, $2, 'step', 'decide', 'done', $3, 0, '{"state":"waiting","stop_reason":"approval","steps":1}', '', $4, now())`, id(1), id(n), n, id(0))
		changes := fmt.Sprintf(`[{"note":"x","call":{"run":%q,"id":"c","tool":%q,"arguments":"{}"}}]`, id(n), tool)
		run(`INSERT INTO reviews (tenant, id, collection, job, trigger, state, confidence, changes, read, revision, reason, actor, created_at)
			VALUES ($1, $2, $1, $2, $2, 'open', 0, $3, '[]', 0, '', '', now())`, id(1), id(n), changes)
	}
	if err := postgres.Migrate(ctx, db.OwnerURL, role); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"SELECT name || (spec->'parameters')::text || (spec->>'url' IS NULL) FROM tools": `forecast{"type":"object","b":1,"a":2}true`,
		"SELECT state || error FROM jobs WHERE id = '" + id(3) + "'":                     "failedthe gateway calls tools over HTTP no longer",
		"SELECT state || reason FROM reviews WHERE id = '" + id(3) + "'":                 "rejectedthe gateway calls tools over HTTP no longer",
		"SELECT state || result::text FROM jobs WHERE id = '" + id(4) + "'":              `done{"state":"requires_action","stop_reason":"requires_action","steps":1}`,
		"SELECT state || reason FROM reviews WHERE id = '" + id(4) + "'":                 "open",
	} {
		if got := texts(t, owner, query); len(got) != 1 || !strings.HasPrefix(got[0], want) {
			t.Errorf("%s: %q", query, got)
		}
	}
}
