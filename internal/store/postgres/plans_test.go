package postgres_test

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
)

// statements collects what a store sends: each text once, with the arguments of its first use.
type statements struct {
	mu   sync.Mutex
	seen map[string][]any
}

func (s *statements) add(text string, args []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen = map[string][]any{}
	}
	if _, ok := s.seen[text]; !ok {
		s.seen[text] = args
	}
}

func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.add(data.SQL, data.Args)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, q := range data.Batch.QueuedQueries {
		s.add(q.SQL, q.Arguments)
	}
	return ctx
}

func (s *statements) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (s *statements) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// planNode is a node of a plan, as EXPLAIN (FORMAT JSON) prints it.
type planNode struct {
	Type     string     `json:"Node Type"`
	Table    string     `json:"Relation Name"`
	Index    string     `json:"Index Name"`
	Cond     string     `json:"Index Cond"`
	Recheck  string     `json:"Recheck Cond"`
	Filter   string     `json:"Filter"`
	Children []planNode `json:"Plans"`
}

func (n planNode) each(visit func(planNode)) {
	visit(n)
	for _, c := range n.Children {
		c.each(visit)
	}
}

// planKeys are the columns that lead to rows of a table, and not to all that a tenant or a layer has.
var planKeys = map[string]*regexp.Regexp{
	"notes":            regexp.MustCompile(`\((id|digest|key|occurred_at|to_rev|expires_at) |ROW\(`),
	"vectors":          regexp.MustCompile(`\(note `),
	"links":            regexp.MustCompile(`\((source|target) |ROW\(`),
	"usage":            regexp.MustCompile(`\(note `),
	"changesets":       regexp.MustCompile(`\(revision `),
	"collections":      regexp.MustCompile(`\((id|name|agent|parent|fork_of|external_\w+) `),
	"collection_heads": regexp.MustCompile(`\(collection `),
	"agents":           regexp.MustCompile(`\((id|name) `),
	"jobs":             regexp.MustCompile(`\((id|note|collection|awaits) `),
}

// whole matches the statements that are meant to read all of a layer or of a tenant: checks, counts, removals, copies of
// layers, exact scans of vectors, and first pages in the order of an index.
var whole = regexp.MustCompile(`(?s)\|\| '|x\.tenant <>|NOT \(\(EXISTS|LEFT JOIN notes n|^SELECT (\(SELECT )?COUNT|SUM\(|COUNT\(\*\), |^DELETE|^INSERT INTO \w+ \(.* SELECT \$1, \$2, |<=>|access_count > 0|ORDER BY (n\.id|n\.occurred_at|n\.from_rev (ASC|DESC), n\.id (ASC|DESC)|h\.written_at|c\.external_user|c\.name|c\.id|r\.id|id|name|j\.id|seq|collection)\b|HAVING|pg_class|LIMIT 100$|^UPDATE collections SET state = 'deleting' WHERE tenant = \$1$`)

var linksOfNote = regexp.MustCompile(`^SELECT \(SELECT COUNT\(\*\) FROM links l WHERE l\.source`)

// ordered are the indexes that lists in an order read: in that of another one they would read all, and sort.
var ordered = map[string]string{
	"ORDER BY n.from_rev ASC, n.id ASC":   "notes_log",
	"ORDER BY n.from_rev DESC, n.id DESC": "notes_log",
	"ORDER BY h.written_at":               "heads_written",
	"ORDER BY c.external_user":            "collections_external",
}

// unordered returns the first nodes of a plan that read a list in another order than that of its statement.
func (n planNode) unordered(text string) (out []string) {
	for by, index := range ordered {
		if !strings.Contains(text, by) {
			continue
		}
		var read []string
		n.each(func(n planNode) { read = append(read, n.Type+" "+n.Index+" "+n.Cond) })
		if !slices.ContainsFunc(read, func(node string) bool { return strings.Contains(node, " "+index+" ") }) {
			out = append(out, "does not read "+index+", but "+strings.Join(read, ", "))
		}
	}
	return out
}

// problems returns the nodes of a plan of the statement that read more than its rows.
func (n planNode) problems(text string) (out []string) {
	if whole.MatchString(text) && !linksOfNote.MatchString(text) {
		return nil
	}
	n.each(func(n planNode) {
		switch {
		case n.Type == "Hash Join", n.Type == "Merge Join":
			out = append(out, n.Type)
		case planKeys[n.Table] != nil && n.Type != "ModifyTable" && !planKeys[n.Table].MatchString(n.Cond):
			out = append(out, strings.Join([]string{n.Type, n.Table, n.Index, n.Cond}, " "))
		}
	})
	return out
}

// grow adds tenants with so many rows in each table. Each note stands for a collection, an agent and a job, too.
func grow(t *testing.T, owner *pgx.Conn, tenants, notes int) {
	t.Helper()
	for _, text := range []string{
		"CREATE TEMP TABLE grown AS SELECT t.id AS tenant, t.layer, gen_random_uuid() AS id, i FROM (SELECT gen_random_uuid() AS id, gen_random_uuid() AS layer FROM generate_series(1, " +
			strconv.Itoa(tenants) + ")) t, generate_series(1, " + strconv.Itoa(notes) + ") i",
		`INSERT INTO notes (tenant, layer, id, from_rev, to_rev, deleted, kind, state, key, importance, occurred_at, created_at, updated_at, bytes, embedder, category, context,
 keywords, tags, error, analyst, supplied, content, digest) SELECT tenant, layer, id, i, 9223372036854775807, false, CASE i % 2 WHEN 0 THEN 'note' ELSE 'message' END, 'evolved',
 CASE i % 2 WHEN 0 THEN i::text ELSE '' END, .5, now(), now(), now(), 100, 'e', '', '', '{}', '{}', '', '', '{}', 'text', i FROM grown`,
		"INSERT INTO agents (tenant, id, name, display_name, created_at) SELECT tenant, id, id::text, '', now() FROM grown",
		`INSERT INTO collections (tenant, id, agent, name, display_name, policy, policy_config, embedder, dim, reembedded, ephemeral, state, parent, parent_revision, created_at)
 SELECT tenant, id, id, id::text, '', 'amem', '{}', 'e', 3, tenant, false, 'active', '00000000-0000-0000-0000-000000000000', 0, now() FROM grown`,
		"INSERT INTO collection_heads SELECT tenant, id, 1, 0, 0, 0, 0, 0, true, 0, 0, 0, 0, 0, '{}', 0, 0, 0 FROM grown",
		"INSERT INTO vectors (tenant, layer, note, from_rev, embedder, vec) SELECT tenant, layer, id, i, 'e', '[1,2,3]' FROM grown",
		"INSERT INTO usage (tenant, layer, note, access_count, strength, heat) SELECT tenant, layer, id, 1, 1, 0 FROM grown",
		`INSERT INTO links (tenant, layer, source, relation, target, from_rev, to_rev, deleted, confidence, created_at)
 SELECT tenant, layer, id, 'related', gen_random_uuid(), i, 9223372036854775807, false, 1, now() FROM grown`,
		"INSERT INTO changesets (tenant, collection, revision, at, actor, job, trigger, cause, undoes) SELECT tenant, layer, i, now(), '', id, id, 'add', 0 FROM grown",
		`INSERT INTO jobs (tenant, id, collection, note, kind, stage, state, seq, attempts, error, lease, created_at)
 SELECT tenant, id, layer, id, 'note', 'decide', CASE WHEN i % 4 > 0 THEN 'done' ELSE 'queued' END, i, 0, '', tenant, now() FROM grown`,
		"DROP TABLE grown",
	} {
		direct(t, owner, text)
	}
}

// check fails for each statement whose plan depends on what the planner knows of a tenant. It asks twice: without any
// statistics, and with those of many small tenants when a new one has grown large beside them.
func (s *statements) check(t *testing.T) {
	db := postgrestest.New(t)
	owner, err := pgx.Connect(t.Context(), db.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Close(context.WithoutCancel(t.Context())) })
	setAutovacuum := func(change string) {
		for table := range planKeys {
			direct(t, owner, "ALTER TABLE "+table+change)
		}
	}
	setAutovacuum(" SET (autovacuum_enabled = off)")
	defer setAutovacuum(" RESET (autovacuum_enabled)") // the database is lent again
	direct(t, owner, "SET enable_seqscan = off")       // as for every connection of a store

	grow(t, owner, 400, 10)
	s.explain(t, owner, "without statistics")
	direct(t, owner, "ANALYZE")
	grow(t, owner, 1, 4_000)
	s.explain(t, owner, "with statistics of other tenants")
}

func (s *statements) explain(t *testing.T, owner *pgx.Conn, when string) {
	t.Helper()
	explained := 0
	for text, args := range s.seen {
		switch verb, _, _ := strings.Cut(strings.TrimLeft(text, "("), " "); verb {
		case "SELECT", "WITH", "UPDATE", "DELETE", "INSERT":
		default:
			continue
		}
		var plans []struct{ Plan planNode }
		if err := owner.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON) "+text, args...).Scan(&plans); err != nil {
			t.Errorf("%v: %s", err, text)
			continue
		}
		explained++
		if problems := slices.Concat(plans[0].Plan.problems(text), plans[0].Plan.strays(text), plans[0].Plan.unordered(text)); len(problems) > 0 {
			t.Errorf("%s: %s\n  %s", when, text, strings.Join(problems, "\n  "))
		}
	}
	if explained < 300 {
		t.Errorf("only %d statements were explained", explained)
	}
}
