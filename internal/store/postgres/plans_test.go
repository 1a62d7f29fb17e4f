package postgres_test

import (
	"cmp"
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// statements collects what a store sends: each text once, with the arguments of its first use.
type statements struct {
	mu   sync.Mutex
	seen map[string][]any
	with map[string]string // what is set for some of them
	of   map[string]string // the tenant that it was set for
	in   map[*pgx.Conn]string
}

func (s *statements) add(conn *pgx.Conn, text string, args []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seen == nil {
		s.seen, s.with, s.of, s.in = map[string][]any{}, map[string]string{}, map[string]string{}, map[*pgx.Conn]string{}
	}
	if strings.HasPrefix(text, postgres.SetTenant) {
		s.in[conn], _ = args[0].(string)
	}
	if _, ok := s.seen[text]; !ok {
		s.seen[text], s.of[text] = args, s.in[conn]
	}
}

// set sets in a transaction what is set when a statement is sent.
func (s *statements) set(t *testing.T, tx pgx.Tx, text string) {
	t.Helper()
	if of := s.of[text]; of != "" {
		direct(t, tx.Conn(), postgres.SetTenant, of)
	}
	if with := s.with[text]; with != "" {
		direct(t, tx.Conn(), with)
	}
}

func (s *statements) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	s.add(conn, data.SQL, data.Args)
	return ctx
}

func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (s *statements) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for i, q := range data.Batch.QueuedQueries {
		s.add(conn, q.SQL, q.Arguments)
		if i == 0 {
			continue
		}
		if before := data.Batch.QueuedQueries[i-1].SQL; before == postgres.NoSort || before == postgres.ByPlace {
			s.mu.Lock()
			s.with[q.SQL] = before
			s.mu.Unlock()
		}
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
	"notes":            regexp.MustCompile(`\((id|digest|key|occurred_at|to_rev|expires_at) |\(jsonb_hash\(|ROW\(`),
	"vectors":          regexp.MustCompile(`\(note `),
	"links":            regexp.MustCompile(`\((source|target) |ROW\(`),
	"usage":            regexp.MustCompile(`\(note `),
	"changesets":       regexp.MustCompile(`\(revision `),
	"collections":      regexp.MustCompile(`\((id|name|agent|parent|fork_of|external_\w+) `),
	"collection_heads": regexp.MustCompile(`\(collection `),
	"agents":           regexp.MustCompile(`\((id|name) `),
	"jobs":             regexp.MustCompile(`\((id|note|stage|seq|kind|awaits) |\(CASE WHEN \(finished_at `),
	"api_keys":         regexp.MustCompile(`\(id `),
	"grants":           regexp.MustCompile(`\(id `),
	"audit":            regexp.MustCompile(`\(id `),
	"idempotency":      regexp.MustCompile(`\((key|at) `),
	"model_use":        regexp.MustCompile(`\(day `),
	"spool":            regexp.MustCompile(`\((job|at) `),
	"reviews":          regexp.MustCompile(`\((id|state) `),
	"snapshots":        regexp.MustCompile(`\(collection `), // those of a collection are few
	"attachments":      regexp.MustCompile(`\((block|label|home|collection) `),
	"tools":            regexp.MustCompile(`\((id|name) `),
	"deliveries":       regexp.MustCompile(`\(webhook `),
}

// whole are the statements that are meant to read all of a layer or of a tenant, each with the reason. One that no statement needs
// is refused.
var whole = []struct{ statement, why string }{
	{`LIMIT 100$|x\.tenant <>|AND NOT \(\(EXISTS`, "a check reads all that a tenant has"},
	{`^SELECT (n\.kind, n\.state = 'pending'|\(SELECT COUNT\(\*\) FROM links l WHERE l\.tenant)`, "the counts of a view, when a collection is first counted"},
	{`^SELECT n\.rows, n\.bytes, l\.rows`, "the size of a layer, when it is removed or flattened"},
	{`^SELECT COUNT\(\*\) FILTER \(WHERE vector_dims`, "the vectors of a view, when its embedder changes"},
	{`^SELECT (COALESCE\(SUM\(h\.s_notes\)|COUNT\(\*\) FROM collections c JOIN jobs j)`, "the use of a tenant, by collection"},
	{`^INSERT INTO (notes|links|usage|vectors) \(.*\)\s+SELECT \$1, \$2, `, "a layer is copied when a lineage is flattened"},
	{`^DELETE FROM jobs WHERE tenant = \$1$`, "a tenant is deleted"},
	{`^DELETE FROM (grants|api_keys|idempotency) WHERE tenant = \$1 AND agent = \$2$`, "an agent is deleted"},
	{`^DELETE FROM grants WHERE tenant = \$1 AND expires_at`, "a tenant may have a limited number of grants"},
	{`FROM model_use WHERE tenant = \$1 AND collection = \$2`, "the use of models by a collection that is removed"},
	{`^DELETE FROM reviews WHERE .*strpos`, "what reviews say about a note is looked for in all of them"},
	{`ORDER BY a\.block, a\.collection$|ORDER BY r\.confidence`, "a list of all attachments, or of reviews by risk"},
	{`^SELECT 1 FROM (collections|collection_heads) WHERE tenant = \$1 ORDER BY|^UPDATE collections SET state = 'deleting' WHERE tenant = \$1$`, "a tenant is deleted"},
	{`<=>`, "an exact scan of vectors, while there is no index"},
	{`n\.access_count > 0`, "the most used notes: usage has rows of used notes alone"},
	{`^SELECT stage, COUNT`, "the jobs that wait in a collection are counted by their indexes"},
	{`SELECT 1 FROM jobs x WHERE x.tenant = \$1 AND x.collection = \$2 LIMIT 1$`, "one job is enough"},
	{`^UPDATE jobs SET state = 'queued', lease = \$2, lease_until = NULL WHERE tenant = \$1 AND state = 'running'$`, "an index of what runs, which is little"},
	{`ORDER BY (n\.id|n\.occurred_at|n\.from_rev (ASC|DESC), n\.id (ASC|DESC)|h\.written_at|c\.external_user|c\.name|c\.id|[jkgwdr]\.id|t\.name|id|name)\b`,
		"a page from the first: it ends with its limit, in the order of an index"},
	{`pg_class`, "the catalog, when a store opens"},
}

// ordered are the scans that lists in an order read: in that of another index they would read all, and sort. What is looked up by an
// expression is compared by the index, and not row by row.
var ordered = map[string]*regexp.Regexp{
	"ORDER BY n.from_rev ASC, n.id ASC":   regexp.MustCompile(`^notes_log `),
	"ORDER BY n.from_rev DESC, n.id DESC": regexp.MustCompile(`^notes_log `),
	"jsonb_hash(":                         regexp.MustCompile(`^notes_session .*jsonb_hash\(`),
	"split_part(":                         regexp.MustCompile(`^jobs_kind .*split_part\(`),
	"ORDER BY h.written_at":               regexp.MustCompile(`^heads_written `),
	"ORDER BY c.external_user":            regexp.MustCompile(`^collections_external `),
}

// unordered returns the first nodes of a plan that read a list in another order than that of its statement.
func (n planNode) unordered(text string) (out []string) {
	for by, scan := range ordered {
		if !strings.Contains(text, by) {
			continue
		}
		var read []string
		n.each(func(n planNode) { read = append(read, n.Index+" "+n.Cond) })
		if !slices.ContainsFunc(read, scan.MatchString) {
			out = append(out, "does not read "+scan.String()+", but "+strings.Join(read, ", "))
		}
	}
	return out
}

// problems returns the nodes of a plan that read more than the rows of its statement. What deletes some of many rows finds them by
// their places.
func (n planNode) problems(text string) (out []string) {
	some := strings.Contains(text, " AND ctid = ANY(ARRAY(SELECT ")
	n.each(func(n planNode) {
		switch cond := n.Cond + n.Recheck; {
		case some && n.Type == "ModifyTable":
			if by := n.last(); by.Type != "Tid Scan" {
				out = append(out, strings.Join([]string{by.Type, by.Table, by.Index, by.Cond}, " "))
			}
		case some && (n.Type == "Tid Scan" || ofCollection.MatchString(cond) || strings.Contains(text, " WHERE tenant = $1 LIMIT $2")):
		case n.Type == "Hash Join", n.Type == "Merge Join":
			out = append(out, n.Type)
		case planKeys[n.Table] != nil && n.Type != "ModifyTable" && !planKeys[n.Table].MatchString(cond):
			out = append(out, strings.Join([]string{n.Type, n.Table, n.Index, n.Cond}, " "))
		}
	})
	return out
}

// ofCollection matches the condition of a scan that reads all that a collection has in a table.
var ofCollection = regexp.MustCompile(`\((layer|collection) >= `)

// last returns the scan that a statement changes the rows of. Below row-level security it may be in a node that compares the tenant of
// the statement with that of the transaction.
func (n planNode) last() planNode {
	for n.Type == "ModifyTable" || n.Type == "Result" && len(n.Children) > 0 {
		n = n.Children[len(n.Children)-1]
	}
	return n
}

// exempt reports whether a statement is one of whole, and notes that it is used.
func exempt(text string, used []bool) bool {
	for i, w := range whole {
		if regexp.MustCompile("(?s)" + w.statement).MatchString(text) {
			used[i] = true
			return true
		}
	}
	return false
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
		"INSERT INTO api_keys SELECT tenant, id, '', '', '', '{}', id, now(), NULL, NULL, tenant FROM grown",
		`INSERT INTO grants SELECT tenant, id, id, id, '', '', '', '', '{}', '', '', '', '', '', '', now(), now(), now() + interval '1 h' FROM grown`,
		"INSERT INTO audit SELECT tenant, nextval('audit_ids'), now(), '', 'a', id FROM grown",
		"INSERT INTO idempotency SELECT tenant, layer, 'POST', '/v1', id, '', NULL, now() FROM grown",
		"INSERT INTO model_use SELECT tenant, '2026-01-01', id, 'analyze', 1, 1, 1 FROM grown",
		"INSERT INTO spool SELECT tenant, id, 'body', 0, now(), '' FROM grown",
		"INSERT INTO reviews SELECT tenant, id, layer, id, id, 'open', 1, '[]', '[]', i, '', '', now() FROM grown",
		"INSERT INTO snapshots SELECT tenant, layer, id, i, now() FROM grown",
		"INSERT INTO attachments SELECT tenant, layer, id, id, id, 'rw', now() FROM grown",
		"INSERT INTO tools SELECT tenant, id, id, '{}', now(), now() FROM grown",
		"INSERT INTO deliveries SELECT tenant, layer, id, id, i, '', '', 0, 0, '', now(), now() FROM grown",
		"DROP TABLE grown",
	} {
		direct(t, owner, text)
	}
}

// setAutovacuum changes a setting of the large tables.
func setAutovacuum(t *testing.T, owner *pgx.Conn, change string) {
	t.Helper()
	for table := range planKeys {
		direct(t, owner, "ALTER TABLE "+table+change)
	}
}

// explains reports whether a statement has a plan.
func explains(text string) bool {
	verb, _, _ := strings.Cut(strings.TrimLeft(text, "("), " ")
	return slices.Contains([]string{"SELECT", "WITH", "UPDATE", "DELETE", "INSERT"}, verb)
}

// check fails for each statement whose plan depends on what the planner knows of a tenant. It asks twice: without any
// statistics, and with those of many small tenants when a new one has grown large beside them.
func (s *statements) check(t *testing.T) {
	db := postgrestest.New(t)
	owner := must.Get(pgx.Connect(t.Context(), db.OwnerURL))(t)
	t.Cleanup(func() { _ = owner.Close(context.WithoutCancel(t.Context())) })
	setAutovacuum(t, owner, " SET (autovacuum_enabled = off)")
	defer setAutovacuum(t, owner, " RESET (autovacuum_enabled)") // the database is lent again
	serving := connect(t, db.URL)
	for _, conn := range []*pgx.Conn{owner, serving} {
		// As for every connection of a store.
		direct(t, conn, "SET enable_seqscan = off")
		direct(t, conn, "SET plan_cache_mode = force_generic_plan")
	}

	grow(t, owner, 400, 10)
	const known = "SELECT DISTINCT tablename::text FROM pg_stats WHERE schemaname = 'public' AND tablename NOT IN ('goose_db_version', 'schema_compat')"
	if of := texts(t, owner, known); len(of) > 0 {
		t.Errorf("there are statistics of %v", of)
	}
	s.spread(t, owner)
	used := make([]bool, len(whole))
	s.explain(t, serving, "without statistics", used)
	direct(t, owner, "ANALYZE")
	if of := texts(t, owner, known); len(of) < len(planKeys) {
		t.Errorf("there are statistics of %v alone", of)
	}
	grow(t, owner, 1, 4_000)
	s.explain(t, serving, "with statistics of other tenants", used)
	for i, w := range whole {
		if !used[i] {
			t.Errorf("no statement needs to be exempt as %q: %s", w.why, w.statement)
		}
	}
}

// plan returns how a role reads what a statement asks for: as a prepared statement, which is planned for any arguments, or with those of
// its first use, as in the modes for poolers.
func (s *statements) plan(t *testing.T, role *pgx.Conn, text string, prepared bool) (planNode, error) {
	t.Helper()
	var plans []struct{ Plan planNode }
	tx := must.Get(role.Begin(t.Context()))(t)
	s.set(t, tx, text)
	args := s.seen[text]
	if prepared {
		direct(t, role, "PREPARE planned AS "+text)
		text = "EXECUTE planned"
		if len(args) > 0 {
			text += "(NULL" + strings.Repeat(", NULL", len(args)-1) + ")"
		}
		args = nil
	}
	err := tx.QueryRow(t.Context(), "EXPLAIN (FORMAT JSON) "+text, args...).Scan(&plans)
	if prepared {
		direct(t, role, "DEALLOCATE planned")
	}
	if err := errors.Join(err, tx.Rollback(t.Context())); err != nil {
		return planNode{}, err
	}
	return plans[0].Plan, nil
}

// spread fails for each statement that does not name its tenant. It asks as the owner: row-level security adds the tenant to the scans
// of the role that serves.
func (s *statements) spread(t *testing.T, owner *pgx.Conn) {
	t.Helper()
	for text := range s.seen {
		if !explains(text) {
			continue
		}
		plan, err := s.plan(t, owner, text, false)
		if strays := plan.strays(text); err != nil || len(strays) > 0 {
			t.Errorf("%v: %s\n  %s", err, text, strings.Join(strays, "\n  "))
		}
	}
}

// explain looks at the plans of the role that serves: below row-level security fewer conditions lead to rows than for the owner.
func (s *statements) explain(t *testing.T, serving *pgx.Conn, when string, used []bool) {
	t.Helper()
	explained := map[string]bool{}
	for _, text := range slices.SortedFunc(maps.Keys(s.seen), func(a, b string) int { return cmp.Compare(len(a), len(b)) }) {
		if !explains(text) {
			continue
		}
		for as, prepared := range map[string]bool{"prepared": true, "with its arguments": false} {
			plan, err := s.plan(t, serving, text, prepared)
			if err != nil {
				t.Errorf("%v: %s", err, text)
				continue
			}
			explained[text[:min(len(text), 100)]] = true
			problems := plan.problems(text)
			if len(problems) > 0 && exempt(text, used) {
				problems = nil
			}
			if problems = slices.Concat(problems, plan.unordered(text)); len(problems) > 0 {
				t.Errorf("%s, %s: %s\n  %s", when, as, text[:min(len(text), 5_000)], strings.Join(problems, "\n  "))
			}
		}
	}
	if len(explained) < 150 {
		t.Errorf("only %d kinds of statements were explained", len(explained))
	}
}

// beside sends what the suite does not: the questions of probes and of an operator, and a read at a standby, for which the database
// itself is used.
func (s *statements) beside(t *testing.T) {
	t.Helper()
	db := postgrestest.New(t)
	store := must.Get(postgres.Open(t.Context(), postgres.Config{URL: db.URL, ReplicaURL: db.URL, Connections: 4}, postgres.Deps{Tracer: s}))(t)
	t.Cleanup(func() { _ = store.Close() })
	b := bench{Store: store, db: db}
	tn := must.Get(b.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: "t"}))(t)
	b.scope = grant.Scope(tn.ID, uuid.Nil, "test", tenant.AllPermissions()...)
	b.collection = b.create(t, memory.Collection{Name: "c", Policy: "amem", Embedder: "hash", Dim: 3})
	b.put(t, b.collection, memory.Note{Content: "x"})
	_, logged := b.Log(t.Context(), b.scope, b.open(t), 0, 0, "hash", func(memory.LogRow) error { return nil })
	_, facts := b.Facts(t.Context())
	_, replica := b.ReplicaFacts(t.Context())
	_, size := b.Size(t.Context())
	must.Do(t, errors.Join(logged, facts, replica, size, b.CheckWrites(t.Context())))
}

// operators are the files whose statements no request and no job sends, of this engine or of both.
var operators = regexp.MustCompile(`^(\.\./)?(distribute|migrate|move\w*|unreleased)\.go$`)

// sql matches a literal that is a statement or a part of one: it begins with a word of SQL, or has a parameter.
var sql = regexp.MustCompile(`\$\d|^[\s(,]*(SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH|WHERE|AND|OR|ORDER BY|FROM|JOIN|LEFT JOIN|CROSS JOIN|GROUP BY|LIMIT|ON CONFLICT|UNION ALL|EXISTS|LOCK TABLE|COALESCE|RETURNING|USING|LATERAL|CASE)\b`)

var formatVerb = regexp.MustCompile(`%(\[\d+\])?[sdtq]`)

// complete fails for each statement or part of one that this engine has in its source, or both engines have in theirs, and that was
// not sent.
func (s *statements) complete(t *testing.T) {
	files := slices.Concat(must.Get(filepath.Glob("*.go"))(t), must.Get(filepath.Glob("../*.go"))(t))
	sent := strings.Join(slices.Collect(maps.Keys(s.seen)), "\n")
	literals := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || operators.MatchString(name) {
			continue
		}
		positions := token.NewFileSet()
		file := must.Get(parser.ParseFile(positions, name, nil, 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil || !sql.MatchString(text) {
				return true
			}
			literals++
			for _, part := range formatVerb.Split(text, -1) {
				if !strings.Contains(sent, part) {
					t.Errorf("%s: the suite never sends %s", positions.Position(literal.Pos()), part)
				}
			}
			return true
		})
	}
	if literals < 550 {
		t.Errorf("only %d literals were found", literals)
	}
}
