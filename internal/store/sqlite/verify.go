package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// rule is a query for what must not exist. It returns tenant, collection and a text; ?1 is now.
type rule struct {
	kind store.ProblemKind
	text string
}

var rules = []rule{
	// Owners.
	{store.ProblemOrphan, "SELECT a.tenant, zeroblob(16), 'agent ' || hex(a.id) || ' of no tenant' FROM agents a LEFT JOIN tenants t ON t.id = a.tenant WHERE t.id IS NULL"},
	{store.ProblemOrphan, "SELECT k.tenant, zeroblob(16), 'key ' || hex(k.id) || ' of no tenant' FROM api_keys k LEFT JOIN tenants t ON t.id = k.tenant WHERE t.id IS NULL AND k.tenant <> zeroblob(16)"},
	{store.ProblemOrphan, "SELECT k.tenant, zeroblob(16), 'key ' || hex(k.id) || ' of no agent' FROM api_keys k LEFT JOIN agents a ON a.tenant = k.tenant AND a.id = k.agent WHERE a.id IS NULL AND k.agent <> zeroblob(16)"},
	{store.ProblemOrphan, "SELECT c.tenant, c.id, 'collection of no tenant' FROM collections c LEFT JOIN tenants t ON t.id = c.tenant WHERE t.id IS NULL"},
	{store.ProblemOrphan, "SELECT c.tenant, c.id, 'collection of no agent' FROM collections c LEFT JOIN agents a ON a.tenant = c.tenant AND a.id = c.agent WHERE a.id IS NULL AND c.agent <> zeroblob(16) AND c.state <> 'deleting'"},
	{store.ProblemOrphan, "SELECT c.tenant, c.id, 'collection without a head' FROM collections c LEFT JOIN collection_heads h ON h.tenant = c.tenant AND h.collection = c.id WHERE h.collection IS NULL"},
	{store.ProblemOrphan, "SELECT c.tenant, c.id, 'fork of no collection' FROM collections c LEFT JOIN collections p ON p.tenant = c.tenant AND p.id = c.parent WHERE p.id IS NULL AND c.parent <> zeroblob(16) AND c.state <> 'deleting' AND c.expires_at = 0"},
	owned("collection_heads", "collection"), owned("notes", "layer"), owned("links", "layer"), owned("usage", "layer"), owned("changesets", "collection"), owned("reviews", "collection"), owned("attachments", "collection"), owned("snapshots", "collection"),
	{store.ProblemOrphan, `SELECT x.tenant, x.collection, 'job ' || hex(x.id) || ' of no collection' FROM jobs x LEFT JOIN collections c ON c.tenant = x.tenant AND c.id = x.collection
 WHERE c.id IS NULL AND x.kind <> 'remove'`},
	{store.ProblemAttachment, `SELECT a.tenant, a.collection, 'block ' || hex(a.block) || ' is attached, and collection ' || hex(a.home) || ' does not hold it' FROM attachments a
 LEFT JOIN notes n ON n.tenant = a.tenant AND n.layer = a.home AND n.id = a.block AND n.to_rev = 9223372036854775807 AND n.deleted = 0 AND n.kind = 'block' WHERE n.id IS NULL AND a.mode NOT IN ('folder', 'tool')`},
	{store.ProblemAttachment, `SELECT a.tenant, a.collection, 'tool ' || hex(a.block) || ' is attached, and gone' FROM attachments a
 LEFT JOIN tools t ON t.tenant = a.tenant AND t.id = a.block WHERE t.id IS NULL AND a.mode = 'tool'`},
	{store.ProblemOrphan, "SELECT x.tenant, zeroblob(16), 'tool ' || hex(x.id) || ' of no tenant' FROM tools x LEFT JOIN tenants t ON t.id = x.tenant WHERE t.id IS NULL"},

	// Logs.
	{store.ProblemRevision, `SELECT h.tenant, h.collection, 'the log has ' || COUNT(s.revision) || ' changesets from ' || COALESCE(MIN(s.revision), 0) || ' to ' || COALESCE(MAX(s.revision), 0)
 || ', the head says ' || h.origin || ' to ' || h.head FROM collection_heads h JOIN collections c ON c.tenant = h.tenant AND c.id = h.collection AND c.state <> 'deleting'
 LEFT JOIN changesets s ON s.tenant = h.tenant AND s.collection = h.collection GROUP BY h.tenant, h.collection
 HAVING COUNT(s.revision) <> h.head - h.origin OR COUNT(s.revision) > 0 AND (MIN(s.revision) <> h.origin + 1 OR MAX(s.revision) <> h.head)`},
	beyond("notes"), beyond("links"),
	unlogged("notes"), unlogged("links"),

	// Intervals: each version ends where the next one begins, and the last is open.
	interval("notes", "id", "'note ' || hex(id)"),
	interval("links", "source, relation, target", "'link from ' || hex(source) || ' to ' || hex(target)"),

	// Vectors.
	{store.ProblemVector, `SELECT v.tenant, v.layer, 'vector of no version of note ' || hex(v.note) FROM vectors v
 LEFT JOIN notes n ON n.tenant = v.tenant AND n.layer = v.layer AND n.id = v.note AND n.from_rev = v.from_rev WHERE n.id IS NULL OR n.deleted = 1`},
	{store.ProblemVector, `SELECT n.tenant, n.layer, 'note ' || hex(n.id) || ' at ' || n.from_rev || ' lacks its vector' FROM notes n JOIN collections c ON c.tenant = n.tenant AND c.id = n.layer AND c.state <> 'deleting'
 LEFT JOIN vectors v ON v.tenant = n.tenant AND v.layer = n.layer AND v.note = n.id AND v.from_rev = n.from_rev AND v.embedder = n.embedder WHERE n.embedder <> '' AND v.note IS NULL`},
	{store.ProblemVector, "SELECT v.tenant, v.layer, 'vector of note ' || hex(v.note) || ' has ' || " + dimensions + ` || ' dimensions' FROM vectors v
 JOIN collections c ON c.tenant = v.tenant AND c.id = v.layer AND c.embedder = v.embedder AND c.dim > 0 WHERE ` + dimensions + " <> c.dim"},
	{store.ProblemVector, "SELECT v.tenant, v.layer, 'vector of note ' || hex(v.note) || ' has ' || length(v.tokens) || ' bytes of token directions' FROM vectors v WHERE " + store.WrongTokens("v.tokens")},

	// Jobs.
	{store.ProblemJob, "SELECT tenant, collection, 'job ' || hex(id) || ' is ' || state || ' with a lease' FROM jobs WHERE state <> 'running' AND lease <> zeroblob(16)"},
	{store.ProblemJob, "SELECT tenant, collection, 'job ' || hex(id) || ' runs without a lease' FROM jobs WHERE state = 'running' AND lease = zeroblob(16)"},
	{store.ProblemJob, "SELECT tenant, collection, 'job ' || hex(id) || ' has the unknown state ' || state FROM jobs WHERE state NOT IN ('queued', 'running', 'done', 'failed', 'dead', 'cancelled')"},
	{store.ProblemJob, `SELECT j.tenant, j.collection, 'two jobs have the place ' || j.seq FROM jobs j GROUP BY j.tenant, j.collection, j.seq HAVING COUNT(*) > 1`},
	{store.ProblemJob, `SELECT c.tenant, c.id, 'a deleted collection has no job that removes it' FROM collections c JOIN tenants t ON t.id = c.tenant AND t.state <> 'deleting' WHERE c.state = 'deleting'
 AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.tenant = c.tenant AND j.collection = c.id AND j.kind = 'remove')`},
	{store.ProblemJob, `SELECT j.tenant, j.collection, 'two decisions are held at once' FROM jobs j WHERE j.state = 'running' AND j.stage = 'decide' AND j.lease_until > ?1 GROUP BY j.tenant, j.collection HAVING COUNT(*) > 1`},

	// Keys within a layer. Across layers, keys are checked per collection.
	{store.ProblemKey, "SELECT tenant, layer, 'two live notes of kind ' || kind || ' have one key' FROM notes WHERE key <> '' AND to_rev = 9223372036854775807 AND deleted = 0 GROUP BY tenant, layer, kind, key HAVING COUNT(*) > 1"},
}

func owned(table, column string) rule {
	return rule{store.ProblemOrphan, "SELECT x.tenant, x." + column + ", COUNT(*) || ' rows of " + table + " of no collection' FROM " + table + " x LEFT JOIN collections c ON c.tenant = x.tenant AND c.id = x." + column +
		" WHERE c.id IS NULL GROUP BY 1, 2"}
}

func beyond(table string) rule {
	return rule{store.ProblemRevision, "SELECT x.tenant, x.layer, COUNT(*) || ' rows of " + table + " lie beyond the head' FROM " + table + " x JOIN collection_heads h ON h.tenant = x.tenant AND h.collection = x.layer" +
		" WHERE x.from_rev > h.head OR x.to_rev > h.head AND x.to_rev <> 9223372036854775807 GROUP BY 1, 2"}
}

func unlogged(table string) rule {
	return rule{store.ProblemRevision, "SELECT x.tenant, x.layer, COUNT(*) || ' rows of " + table + " belong to no changeset' FROM " + table + " x JOIN collection_heads h ON h.tenant = x.tenant AND h.collection = x.layer" +
		" JOIN collections c ON c.tenant = x.tenant AND c.id = x.layer AND c.state = 'active'" +
		" LEFT JOIN changesets s ON s.tenant = x.tenant AND s.collection = x.layer AND s.revision = x.from_rev WHERE x.from_rev > h.origin AND s.revision IS NULL GROUP BY 1, 2"}
}

func interval(table, identity, name string) rule {
	return rule{store.ProblemInterval, "SELECT tenant, layer, " + name + " || ' has versions that overlap or leave a gap' FROM (SELECT tenant, layer, " + identity +
		", from_rev, to_rev, LEAD(from_rev) OVER (PARTITION BY tenant, layer, " + identity + " ORDER BY from_rev) AS next FROM " + table +
		" x WHERE EXISTS (SELECT 1 FROM collections c WHERE c.tenant = x.tenant AND c.id = x.layer AND c.state <> 'deleting')) WHERE to_rev <> COALESCE(next, 9223372036854775807) OR from_rev >= to_rev"}
}

// Verify implements store.Verifier, in one read transaction.
func (s *Store) Verify(ctx context.Context) (out []store.Problem, err error) {
	err = s.snapshot(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		err := q.each(ctx, fmt.Sprintf("PRAGMA integrity_check(%d)", store.MaxProblems), nil, func(rows *sql.Rows) error {
			var line string
			if err := rows.Scan(&line); err != nil {
				return err
			}
			if line != "ok" {
				out = append(out, store.Problem{Kind: store.ProblemFile, Detail: line})
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, r := range rules {
			var args []any
			if strings.Contains(r.text, "?1") {
				args = []any{s.now()}
			}
			err := q.each(ctx, r.text+fmt.Sprintf(" LIMIT %d", store.MaxProblems), args, func(rows *sql.Rows) error {
				p := store.Problem{Kind: r.kind}
				if err := rows.Scan(&p.Tenant, &p.Collection, &p.Detail); err != nil {
					return err
				}
				p.Detail = strings.ToLower(p.Detail)
				out = append(out, p)
				return nil
			})
			if err != nil {
				return fmt.Errorf("check %s: %w", r.kind, err)
			}
		}
		all, err := q.collections(ctx, "WHERE c.state = 'active' ORDER BY c.tenant, c.id")
		if err != nil {
			return err
		}
		for i := range all {
			found, err := store.VerifyCollection(ctx, q, all[i])
			if err != nil {
				return err
			}
			out = append(out, found...)
		}
		return nil
	})
	return out, err
}

// LinksWithoutEnds implements store.LinkRows.
func (q *session) LinksWithoutEnds(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, n int) ([]memory.LinkID, error) {
	source, sourceArgs := everHeld("l.source", tenantID, layers)
	target, targetArgs := everHeld("l.target", tenantID, layers)
	return collect(ctx, q, "SELECT l.source, l.relation, l.target FROM links l WHERE l.tenant = ? AND l.layer = ? AND l.deleted = 0 AND NOT ("+source+" AND "+target+") LIMIT +?",
		slices.Concat([]any{tenantID, layers[0].Collection}, sourceArgs, targetArgs, []any{n}), func(rows store.Scanner) (id memory.LinkID, err error) {
			err = rows.Scan(&id.Source, &id.Relation, &id.Target)
			return id, err
		})
}

// everHeld returns the condition that a layer holds any version of a note, and its arguments.
func everHeld(id string, tenantID uuid.UUID, layers []memory.Layer) (string, []any) {
	var terms []string
	var args []any
	for _, l := range layers {
		terms = append(terms, "EXISTS (SELECT 1 FROM notes e WHERE e.tenant = ? AND e.layer = ? AND e.id = "+id+" AND e.from_rev <= ?)")
		args = append(args, tenantID, l.Collection, l.Bound)
	}
	return "(" + strings.Join(terms, " OR ") + ")", args
}
