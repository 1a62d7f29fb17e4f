package sqlite

import (
	"fmt"
	"strings"
	"testing"
)

// A tool that was called over HTTP keeps its name and its schema. A run that waits for its approval fails with what to do; one that
// waits for another tool waits on.
func TestToolsLoseTheirAddresses(t *testing.T) {
	t.Parallel()
	db, m := migrated(t)
	ctx := t.Context()
	if err := m.DownTo(ctx, 16); err != nil {
		t.Fatal(err)
	}
	run := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(ctx, statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	const id = "x'000000000000000000000000000000%02x'"
	tenant := fmt.Sprintf(id, 1)
	run("INSERT INTO tools (tenant, id, name, spec, secrets, created_at, updated_at) VALUES (" + tenant + ", " + fmt.Sprintf(id, 2) + `, 'forecast',
		'{"description":"The weather.","parameters":{"type":"object","b":1,"a":12345678901234567890},"url":"https://example.com","method":"POST","timeout_ms":1}', x'01', 1, 1)`)
	for n, tool := range map[int]string{3: "forecast", 4: "archival_insert"} {
		at := fmt.Sprintf(id, n)
		run(fmt.Sprintf(`INSERT INTO jobs (tenant, id, collection, note, kind, stage, state, seq, attempts, payload, result, progress, error, not_before, lease, lease_until, created_at, finished_at)
			VALUES (%s, %s, %s, %s, 'step', 'decide', 'done', %d, 0, '', '{"state":"waiting","stop_reason":"approval","steps":1}', '', '', 0, %s, 0, 1, 2)`, tenant, at, tenant, at, n, fmt.Sprintf(id, 0)))
		run(fmt.Sprintf(`INSERT INTO reviews (tenant, id, collection, job, trigger, state, confidence, changes, read, revision, reason, actor, created_at, closed_at)
			VALUES (%s, %s, %s, %s, %s, 'open', 0, '[{"note":"x","call":{"run":"00000000-0000-0000-0000-0000000000%02x","id":"c","tool":%q,"arguments":"{}"}}]', '[]', 0, '', '', 1, 0)`, tenant, at, tenant, at, at, n, tool))
	}
	if err := m.Up(ctx); err != nil {
		t.Fatal(err)
	}
	read := func(query string) (out string) {
		t.Helper()
		if err := db.QueryRowContext(ctx, query).Scan(&out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	if got := read("SELECT name || spec FROM tools"); got != `forecast{"description":"The weather.","parameters":{"type":"object","b":1,"a":12345678901234567890}}` {
		t.Errorf("the tool is %s", got)
	}
	for query, want := range map[string]string{
		"SELECT state || error FROM jobs WHERE id = " + fmt.Sprintf(id, 3):     "failedthe gateway calls tools over HTTP no longer",
		"SELECT state || reason FROM reviews WHERE id = " + fmt.Sprintf(id, 3): "rejectedthe gateway calls tools over HTTP no longer",
		"SELECT state || result FROM jobs WHERE id = " + fmt.Sprintf(id, 4):    `done{"state":"requires_action","stop_reason":"requires_action","steps":1}`,
		"SELECT state || reason FROM reviews WHERE id = " + fmt.Sprintf(id, 4): "open",
	} {
		if got := read(query); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", query, got)
		}
	}
}
