package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store"
)

const (
	oldestServer  = 15_00_00 // as in server_version_num
	oldestVector  = "0.8.0"
	vectorVersion = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
)

// inspect returns nil when the server can serve, or a fault that says what is missing.
func (s *Store) inspect(ctx context.Context) error {
	return s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		var server int
		var name string
		if _, err := q.get(ctx, "SELECT current_setting('server_version_num')::int, current_setting('server_version')", nil, &server, &name); err != nil {
			return err
		}
		if server < oldestServer {
			return fault.New(fault.Conflict, "the server is Postgres %s; 15 or newer is needed", name)
		}
		var vector string
		found, err := q.get(ctx, vectorVersion, nil, &vector)
		if err != nil {
			return err
		}
		if !found {
			return errNoVector
		}
		if err := checkVector(vector); err != nil {
			return err
		}
		if err := q.checkSchema(ctx); err != nil {
			return err
		}
		if s.cfg.AnyRole {
			return nil
		}
		if err := q.checkRole(ctx); err != nil {
			return err
		}
		if err := q.checkRowSecurity(ctx); err != nil {
			return err
		}
		return q.checkRights(ctx)
	})
}

// checkVector returns a Conflict for a pgvector that is too old.
func checkVector(version string) error {
	if newEnough(version, oldestVector) {
		return nil
	}
	return fault.New(fault.Conflict, "the database's extension vector has version %s, %s or newer is needed; install a newer pgvector on the server, then let the extension's owner run ALTER EXTENSION vector UPDATE",
		version, oldestVector)
}

// newEnough compares versions of numbers and dots.
func newEnough(version, least string) bool {
	v, l := strings.Split(version, "."), strings.Split(least, ".")
	for i := range l {
		var a, b int
		if i < len(v) {
			a = number(v[i])
		}
		if b = number(l[i]); a != b {
			return a > b
		}
	}
	return true
}

// number reads the digits at the start of a text.
func number(s string) (n int) {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' || n > 1<<20 {
			break
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// CheckSchema returns nil when this build can work on the schema: it is the one that this build
// knows, or a newer one that says so. Any other is a Conflict that says what to do.
func (s *Store) CheckSchema(ctx context.Context) error {
	return s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error { return q.checkSchema(ctx) })
}

// Schema returns the version of the database.
func (s *Store) Schema(ctx context.Context) (out store.Schema, err error) {
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) (err error) {
		out, err = readSchema(func(text string, dest ...any) error {
			_, err := q.get(ctx, text, nil, dest...)
			return err
		})
		return err
	})
	return out, err
}

func (q *session) checkSchema(ctx context.Context) error {
	schema, err := readSchema(func(text string, dest ...any) error {
		_, err := q.get(ctx, text, nil, dest...)
		return err
	})
	switch {
	case err != nil:
		return err
	case schema.Current == 0:
		return errNoSchema
	case schema.Unreleased:
		return schema.Usable()
	case schema.Current < schema.Known:
		return fault.New(fault.Conflict, "the database has schema version %d, this build needs %d; run \"gateway migrate up\" with the owner's MIGRATE_DATABASE_URL", schema.Current, schema.Known)
	}
	return schema.Usable()
}

// readSchema reads the version of the database by queries of at most one row. It creates nothing.
func readSchema(get func(text string, dest ...any) error) (s store.Schema, err error) {
	if s.Known, err = knownSchema(); err != nil {
		return s, err
	}
	var empty, stored bool
	if err := get(noSchema, &empty); err != nil || empty {
		return s, err
	}
	if err := get(currentSchema, &s.Current, &stored, &s.Unreleased); err != nil {
		return s, err
	}
	s.CompatibleFrom = s.Current
	switch {
	case !stored:
		s.Unreleased = s.Current > 0 // the first step of a release has the table
	default:
		err = get(fmt.Sprintf("SELECT coalesce(max(compatible_from), %[1]d) FROM "+store.CompatTable+" WHERE version = %[1]d", s.Current), &s.CompatibleFrom)
	}
	return s, err
}

// versionTable is the table of applied steps, which goose writes.
const versionTable = "goose_db_version"

const (
	// noSchema is true when nothing was migrated, or when the first step failed.
	noSchema = "SELECT to_regclass('collections') IS NULL OR to_regclass('" + versionTable + "') IS NULL"
	// currentSchema is the version, whether the database says which builds can work on it, and whether it is of no release.
	currentSchema = "SELECT COALESCE(MAX(version_id), 0), to_regclass('" + store.CompatTable + "') IS NOT NULL, " + store.UnreleasedSteps + " FROM " + versionTable
)

// knownSchema returns the number of the newest migration.
func knownSchema() (int64, error) {
	steps, err := Migrations()
	if err != nil || len(steps) == 0 {
		return 0, err
	}
	return steps[len(steps)-1].Version, nil
}

// checkRole returns a Conflict for a role that row-level security does not limit.
func (q *session) checkRole(ctx context.Context) error {
	var role, owner string
	var super, bypass, owns bool
	_, err := q.get(ctx, `SELECT r.rolname, r.rolsuper, r.rolbypassrls, pg_get_userbyid(c.relowner), pg_has_role(c.relowner, 'MEMBER')
 FROM pg_roles r, pg_class c WHERE r.rolname = current_user AND c.oid = to_regclass('collections')`, nil, &role, &super, &bypass, &owner, &owns)
	if err != nil {
		return err
	}
	var because string
	switch {
	case super:
		because = "is a superuser"
	case bypass:
		because = "has BYPASSRLS"
	case owns && role == owner:
		because = "owns the tables"
	case owns:
		because = "is a member of the role " + owner + ", which owns the tables"
	default:
		return nil
	}
	return fault.New(fault.Conflict, "the role %s of DATABASE_URL %s, so that row-level security would not hold it to a tenant; serve with a role of its own (CREATE ROLE slipbox_app LOGIN PASSWORD '…'), which \"gateway migrate up\" grants what it needs",
		role, because)
}

// checkRowSecurity returns a Conflict when row-level security is switched off for a table.
func (q *session) checkRowSecurity(ctx context.Context) error {
	open, err := collect(ctx, q, `SELECT t.relname FROM pg_class t JOIN pg_policy p ON p.polrelid = t.oid AND p.polname = 'own_tenant'
 WHERE t.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('collections')) AND NOT t.relrowsecurity ORDER BY 1`, nil, store.ScanOne[string])
	if err != nil || len(open) == 0 {
		return err
	}
	return fault.New(fault.Conflict, "row-level security is off for %s; let the owner run ALTER TABLE … ENABLE ROW LEVEL SECURITY for each", strings.Join(open, ", "))
}

// checkRights returns a Conflict that names the rights that the role lacks.
func (q *session) checkRights(ctx context.Context) error {
	lacks, err := collect(ctx, q, `WITH home AS (SELECT relnamespace AS id FROM pg_class WHERE oid = to_regclass('collections'))
SELECT r.name || ' on table ' || t.relname FROM pg_class t, home, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) r (name)
 WHERE t.relnamespace = home.id AND (t.relname IN ('tenants', 'signing_keys') OR t.oid IN (SELECT polrelid FROM pg_policy WHERE polname = 'own_tenant'))
 AND NOT has_table_privilege(t.oid, r.name)
UNION ALL SELECT 'SELECT on view ' || v.relname FROM pg_class v, home WHERE v.relnamespace = home.id AND v.relkind = 'v' AND v.relname IN ('tenant_notes', 'tenant_jobs')
 AND NOT has_table_privilege(v.oid, 'SELECT')
UNION ALL SELECT 'USAGE on sequence ' || t.relname FROM pg_class t, home WHERE t.relnamespace = home.id AND t.relkind = 'S' AND t.relname = 'audit_ids'
 AND NOT has_sequence_privilege(t.oid, 'USAGE')
UNION ALL SELECT 'EXECUTE on function ' || f.proname FROM pg_proc f, home WHERE f.pronamespace = home.id AND f.prosecdef
 AND f.proowner = (SELECT relowner FROM pg_class WHERE oid = to_regclass('collections')) AND NOT has_function_privilege(f.oid, 'EXECUTE')
ORDER BY 1`, nil, store.ScanOne[string])
	if err != nil || len(lacks) == 0 {
		return err
	}
	return fault.New(fault.Conflict, "the role of DATABASE_URL lacks %s; run \"gateway migrate up\" with SLIPBOX_DATABASE_ROLE naming it", strings.Join(lacks, ", "))
}
