package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// rule is a query for what must not exist in a tenant. It returns a collection (the zero id: of
// none) and a text; $1 is the tenant.
type rule struct {
	kind store.ProblemKind
	text string
}

var rules = []rule{
	// Owners.
	{store.ProblemOrphan, "SELECT " + zeroID + "::uuid, 'key ' || k.id || ' of no agent' FROM api_keys k LEFT JOIN agents a ON a.tenant = k.tenant AND a.id = k.agent WHERE k.tenant = $1 AND a.id IS NULL AND k.agent <> " + zeroID},
	{store.ProblemOrphan, "SELECT c.id, 'collection of no agent' FROM collections c LEFT JOIN agents a ON a.tenant = c.tenant AND a.id = c.agent WHERE c.tenant = $1 AND a.id IS NULL AND c.agent <> " + zeroID + " AND c.state <> 'deleting'"},
	{store.ProblemOrphan, "SELECT c.id, 'collection without a head' FROM collections c LEFT JOIN collection_heads h ON h.tenant = c.tenant AND h.collection = c.id WHERE c.tenant = $1 AND h.collection IS NULL"},
	{store.ProblemOrphan, "SELECT c.id, 'fork of no collection' FROM collections c LEFT JOIN collections p ON p.tenant = c.tenant AND p.id = c.parent WHERE c.tenant = $1 AND p.id IS NULL AND c.parent <> " + zeroID + " AND c.state <> 'deleting' AND c.expires_at IS NULL"},
	owned("collection_heads", "collection"), owned("notes", "layer"), owned("links", "layer"), owned("usage", "layer"), owned("changesets", "collection"), owned("reviews", "collection"), owned("attachments", "collection"), owned("snapshots", "collection"),
	{store.ProblemOrphan, `SELECT x.collection, 'job ' || x.id || ' of no collection' FROM jobs x LEFT JOIN collections c ON c.tenant = x.tenant AND c.id = x.collection
 WHERE x.tenant = $1 AND c.id IS NULL AND x.kind <> 'remove'`},
	{store.ProblemAttachment, `SELECT a.collection, 'block ' || a.block || ' is attached, and collection ' || a.home || ' does not hold it' FROM attachments a
 LEFT JOIN notes n ON n.tenant = a.tenant AND n.layer = a.home AND n.id = a.block AND n.to_rev = ` + openEnd + ` AND NOT n.deleted AND n.kind = 'block' WHERE a.tenant = $1 AND n.id IS NULL AND a.mode NOT IN ('folder', 'tool')`},
	{store.ProblemAttachment, `SELECT a.collection, 'tool ' || a.block || ' is attached, and gone' FROM attachments a
 LEFT JOIN tools t ON t.tenant = a.tenant AND t.id = a.block WHERE a.tenant = $1 AND t.id IS NULL AND a.mode = 'tool'`},

	// Logs.
	{store.ProblemRevision, `SELECT h.collection, 'the log has ' || COUNT(s.revision) || ' changesets from ' || COALESCE(MIN(s.revision), 0) || ' to ' || COALESCE(MAX(s.revision), 0)
 || ', the head says ' || h.origin || ' to ' || h.head FROM collection_heads h JOIN collections c ON c.tenant = h.tenant AND c.id = h.collection AND c.state <> 'deleting'
 LEFT JOIN changesets s ON s.tenant = h.tenant AND s.collection = h.collection WHERE h.tenant = $1 GROUP BY h.collection, h.origin, h.head
 HAVING COUNT(s.revision) <> h.head - h.origin OR COUNT(s.revision) > 0 AND (MIN(s.revision) <> h.origin + 1 OR MAX(s.revision) <> h.head)`},
	beyond("notes"), beyond("links"),
	unlogged("notes"), unlogged("links"),

	// Intervals: each version ends where the next one begins, and the last is open.
	interval("notes", "id", "'note ' || id"),
	interval("links", "source, relation, target", "'link from ' || source || ' to ' || target"),

	// Vectors.
	{store.ProblemVector, `SELECT v.layer, 'vector of no version of note ' || v.note FROM vectors v
 LEFT JOIN notes n ON n.tenant = v.tenant AND n.layer = v.layer AND n.id = v.note AND n.from_rev = v.from_rev WHERE v.tenant = $1 AND (n.id IS NULL OR n.deleted)`},
	{store.ProblemVector, `SELECT n.layer, 'note ' || n.id || ' at ' || n.from_rev || ' lacks its vector' FROM notes n JOIN collections c ON c.tenant = n.tenant AND c.id = n.layer AND c.state <> 'deleting'
 LEFT JOIN vectors v ON v.tenant = n.tenant AND v.layer = n.layer AND v.note = n.id AND v.from_rev = n.from_rev AND v.embedder = n.embedder
 WHERE n.tenant = $1 AND n.embedder <> '' AND v.note IS NULL`},
	{store.ProblemVector, `SELECT v.layer, 'vector of note ' || v.note || ' has ' || vector_dims(v.vec) || ' dimensions' FROM vectors v
 JOIN collections c ON c.tenant = v.tenant AND c.id = v.layer AND c.embedder = v.embedder AND c.dim > 0 WHERE v.tenant = $1 AND vector_dims(v.vec) <> c.dim`},
	{store.ProblemVector, "SELECT v.layer, 'vector of note ' || v.note || ' has ' || length(v.tokens) || ' bytes of token directions' FROM vectors v WHERE v.tenant = $1 AND " + store.WrongTokens("v.tokens")},

	// Jobs.
	{store.ProblemJob, "SELECT collection, 'job ' || id || ' is ' || state || ' with a lease' FROM jobs WHERE tenant = $1 AND state <> 'running' AND lease <> " + zeroID},
	{store.ProblemJob, "SELECT collection, 'job ' || id || ' runs without a lease' FROM jobs WHERE tenant = $1 AND state = 'running' AND (lease = " + zeroID + " OR lease_until IS NULL)"},
	{store.ProblemJob, "SELECT collection, 'job ' || id || ' has the unknown state ' || state FROM jobs WHERE tenant = $1 AND state NOT IN ('queued', 'running', 'done', 'failed', 'dead', 'cancelled')"},
	{store.ProblemJob, "SELECT j.collection, 'two jobs have the place ' || j.seq FROM jobs j WHERE j.tenant = $1 GROUP BY j.collection, j.seq HAVING COUNT(*) > 1"},
	{store.ProblemJob, `SELECT c.id, 'a deleted collection has no job that removes it' FROM collections c JOIN tenants t ON t.id = c.tenant AND t.state <> 'deleting' WHERE c.tenant = $1 AND c.state = 'deleting'
 AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.tenant = c.tenant AND j.collection = c.id AND j.kind = 'remove')`},
	{store.ProblemJob, "SELECT j.collection, 'two decisions are held at once' FROM jobs j WHERE j.tenant = $1 AND j.state = 'running' AND j.stage = 'decide' AND j.lease_until > $2 GROUP BY j.collection HAVING COUNT(*) > 1"},

	// Keys within a layer. Across layers, keys are checked per collection.
	{store.ProblemKey, "SELECT layer, 'two live notes of kind ' || kind || ' have one key' FROM notes WHERE tenant = $1 AND key <> '' AND to_rev = " + openEnd + " AND NOT deleted GROUP BY layer, kind, key HAVING COUNT(*) > 1"},
}

func owned(table, column string) rule {
	return rule{store.ProblemOrphan, "SELECT x." + column + ", COUNT(*) || ' rows of " + table + " of no collection' FROM " + table + " x LEFT JOIN collections c ON c.tenant = x.tenant AND c.id = x." + column +
		" WHERE x.tenant = $1 AND c.id IS NULL GROUP BY 1"}
}

func beyond(table string) rule {
	return rule{store.ProblemRevision, "SELECT x.layer, COUNT(*) || ' rows of " + table + " lie beyond the head' FROM " + table + " x JOIN collection_heads h ON h.tenant = x.tenant AND h.collection = x.layer" +
		" WHERE x.tenant = $1 AND (x.from_rev > h.head OR x.to_rev > h.head AND x.to_rev <> " + openEnd + ") GROUP BY 1"}
}

func unlogged(table string) rule {
	return rule{store.ProblemRevision, "SELECT x.layer, COUNT(*) || ' rows of " + table + " belong to no changeset' FROM " + table + " x JOIN collection_heads h ON h.tenant = x.tenant AND h.collection = x.layer" +
		" JOIN collections c ON c.tenant = x.tenant AND c.id = x.layer AND c.state = 'active'" +
		" LEFT JOIN changesets s ON s.tenant = x.tenant AND s.collection = x.layer AND s.revision = x.from_rev WHERE x.tenant = $1 AND x.from_rev > h.origin AND s.revision IS NULL GROUP BY 1"}
}

func interval(table, identity, name string) rule {
	return rule{store.ProblemInterval, "SELECT layer, " + name + " || ' has versions that overlap or leave a gap' FROM (SELECT layer, " + identity +
		", from_rev, to_rev, LEAD(from_rev) OVER (PARTITION BY layer, " + identity + " ORDER BY from_rev) AS next FROM " + table +
		" x WHERE x.tenant = $1 AND EXISTS (SELECT 1 FROM collections c WHERE c.tenant = x.tenant AND c.id = x.layer AND c.state <> 'deleting')) v WHERE to_rev <> COALESCE(next, " + openEnd + ") OR from_rev >= to_rev"}
}

// Verify implements store.Verifier: tenant by tenant, each in one read transaction. Row-level
// security hides the rows of tenants that are gone from a serving role; with Config.AnyRole and a
// role that sees them, they are found too.
func (s *Store) Verify(ctx context.Context) (out []store.Problem, err error) {
	err = s.snapshot(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		out = nil
		for _, table := range tenantTables {
			err := q.each(ctx, "SELECT x.tenant, COUNT(*) FROM "+table+" x WHERE x.tenant <> "+zeroID+" AND NOT EXISTS (SELECT 1 FROM tenants t WHERE t.id = x.tenant) GROUP BY 1 LIMIT $1",
				[]any{store.MaxProblems}, func(rows pgx.Rows) error {
					p := store.Problem{Kind: store.ProblemOrphan}
					var n int64
					err := rows.Scan(&p.Tenant, &n)
					p.Detail = fmt.Sprintf("%d rows of %s of no tenant", n, table)
					out = append(out, p)
					return err
				})
			if err != nil {
				return fmt.Errorf("check %s: %w", table, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = s.eachTenant(ctx, func(id uuid.UUID) error {
		var found []store.Problem
		err := s.snapshot(ctx, id, func(ctx context.Context, q *session) (err error) {
			found, err = s.verifyTenant(ctx, q)
			return err
		})
		out = append(out, found...)
		return err
	})
	return out, err
}

func (s *Store) verifyTenant(ctx context.Context, q *session) (out []store.Problem, err error) {
	for _, r := range rules {
		args := []any{q.tenant}
		if strings.Contains(r.text, "$2") {
			args = append(args, s.now())
		}
		err := q.each(ctx, fmt.Sprintf("%s LIMIT %d", r.text, store.MaxProblems), args, func(rows pgx.Rows) error {
			p := store.Problem{Kind: r.kind, Tenant: q.tenant}
			err := rows.Scan(&p.Collection, &p.Detail)
			out = append(out, p)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("check %s: %w", r.kind, err)
		}
	}
	all, err := q.collections(ctx, "WHERE c.tenant = $1 AND c.state = 'active' ORDER BY c.id", q.tenant)
	if err != nil {
		return nil, err
	}
	for i := range all {
		found, err := store.VerifyCollection(ctx, q, all[i])
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// LinksWithoutEnds implements store.LinkRows.
func (q *session) LinksWithoutEnds(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, n int) ([]memory.LinkID, error) {
	p := params{args: []any{tenantID, layers[0].Collection, n}}
	text := "SELECT l.source, l.relation, l.target FROM links l WHERE l.tenant = $1 AND l.layer = $2 AND NOT l.deleted AND NOT (" +
		p.everHeld("l.source", layers) + " AND " + p.everHeld("l.target", layers) + ") LIMIT $3"
	return collect(ctx, q, text, p.args, func(rows store.Scanner) (id memory.LinkID, err error) {
		err = rows.Scan(&id.Source, &id.Relation, &id.Target)
		return id, err
	})
}

// everHeld returns the condition that a layer holds any version of a note.
func (p *params) everHeld(id string, layers []memory.Layer) string {
	terms := make([]string, len(layers))
	for i, l := range layers {
		terms[i] = "EXISTS (SELECT 1 FROM notes e WHERE e.tenant = $1 AND e.layer = " + p.add(l.Collection) + " AND e.id = " + id + " AND e.from_rev <= " + p.add(rev(l.Bound)) + ")"
	}
	return "(" + strings.Join(terms, " OR ") + ")"
}
