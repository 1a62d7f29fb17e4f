package postgrestest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A copy of the template costs the server a tenth of a second and more, emptying a database a tenth
// of that. So databases are lent: one test after another has it, of any process. Each gets it by
// another name, so that what an ended test left running cannot come back to it.

const (
	// A lent database: the prefix, the hash of the schema, and a part of its own. Its comment is the
	// second when it was made and the fingerprint of its schema.
	lentPrefix = "slipbox_lent_"
	// lentLock with the id of a database is held by the process that uses it.
	lentLock int32 = 0x6c65_6e74 // "lent"
)

// lent is a database with the newest schema, which this process holds.
type lent struct {
	name        string
	fingerprint string
	// once is set when it may be in use after the test: it is dropped then.
	once bool
}

// lending is what this process has on loan. The connection holds the locks.
var lending struct {
	sync.Mutex
	conn *pgx.Conn
	held map[uint32]bool // ids of the databases whose locks it holds
	back []*lent         // given back, the oldest first: its sessions have had the longest time to end
}

// outside runs functions in a goroutine of no test: the connection of lending outlives a bubble of testing/synctest, and its timers
// cannot be of one. The channels are made before any bubble.
var outside = func() (o struct{ do, done chan func() }) {
	o.do, o.done = make(chan func()), make(chan func())
	go func() {
		for f := range o.do {
			f()
			o.done <- f
		}
	}()
	return o
}()

func giveBack(l *lent) {
	lending.Lock()
	defer lending.Unlock()
	lending.back = append(lending.back, l)
}

// lend returns an empty database: one that was given back, one that no process holds, or a new one.
func lend(ctx context.Context, serving, owner string) (*lent, error) {
	for {
		l, isNew, err := takeOutside(ctx, serving, owner)
		if err != nil || isNew {
			return l, err
		}
		same, err := empty(ctx, otherDatabase(owner, l.name), l.fingerprint)
		if broken := (*pgconn.PgError)(nil); errors.As(err, &broken) && broken.Code == "55000" {
			same, err = false, nil // dropping it was cut off, as by the end of the server
		}
		if err != nil {
			return nil, err
		}
		if same {
			return l, nil
		}
		if err := drop(owner, l.name); err != nil {
			return nil, err
		}
	}
}

// takeOutside is take outside of the test's bubble.
func takeOutside(ctx context.Context, serving, owner string) (l *lent, isNew bool, err error) {
	lending.Lock()
	defer lending.Unlock()
	outside.do <- func() { l, isNew, err = take(context.WithoutCancel(ctx), serving, owner) }
	<-outside.done
	return l, isNew, err
}

// take returns a database that nobody uses by the old name any more, or a new one.
func take(ctx context.Context, serving, owner string) (l *lent, isNew bool, err error) {
	if lending.conn == nil || lending.conn.IsClosed() {
		lending.back, lending.held = nil, map[uint32]bool{}
		if lending.conn, err = pgx.Connect(ctx, owner); err != nil {
			return nil, false, err
		}
		if err := sweep(ctx, lending.conn); err != nil {
			return nil, false, err
		}
	}
	sum, err := schema()
	if err != nil {
		return nil, false, err
	}
	for {
		if len(lending.back) > 0 {
			l, lending.back = lending.back[0], lending.back[1:]
		} else if l, err = claim(ctx, lending.conn, sum); err != nil {
			return nil, false, err
		} else if l == nil {
			l, err = makeLent(ctx, lending.conn, serving, owner, sum)
			return l, true, err
		}
		// The server waits some seconds for sessions that are about to end.
		err := rename(ctx, lending.conn, l, sum)
		if used := (*pgconn.PgError)(nil); !errors.As(err, &used) || used.Code != "55006" {
			return l, false, err
		}
		if err := drop(owner, l.name); err != nil {
			return nil, false, err
		}
	}
}

// rename changes its name.
func rename(ctx context.Context, conn *pgx.Conn, l *lent, sum string) error {
	name := lentPrefix + sum + "_" + strings.ToLower(rand.Text()[:12])
	_, err := conn.Exec(ctx, "ALTER DATABASE "+quoted(l.name)+" RENAME TO "+quoted(name))
	if err == nil {
		l.name = name
	}
	return err
}

// claim returns a database of this schema that no process holds, nil when there is none.
func claim(ctx context.Context, conn *pgx.Conn, sum string) (*lent, error) {
	rows, err := conn.Query(ctx, `SELECT oid FROM pg_database WHERE datname LIKE $1
 AND datdba = (SELECT oid FROM pg_roles WHERE rolname = current_user) ORDER BY oid`, lentPrefix+sum+"%")
	if err != nil {
		return nil, err
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[uint32])
	if err != nil {
		return nil, err
	}
	for _, oid := range all {
		// A session gets a lock that it has a second time.
		if lending.held[oid] {
			continue
		}
		var free bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1, $2)", lentLock, lockKey(oid)).Scan(&free); err != nil {
			return nil, err
		}
		if !free {
			continue
		}
		lending.held[oid] = true
		// It may have got another name meanwhile, or be gone.
		l := &lent{}
		var about string
		err := conn.QueryRow(ctx, "SELECT datname, coalesce(shobj_description(oid, 'pg_database'), '') FROM pg_database WHERE oid = $1", oid).Scan(&l.name, &about)
		if errors.Is(err, pgx.ErrNoRows) {
			continue
		}
		if err != nil {
			return nil, err
		}
		_, l.fingerprint, _ = strings.Cut(about, " ")
		return l, nil
	}
	return nil, nil //nolint:nilnil // there is none
}

// makeLent copies the template. The database gets a name that others look for when it is complete
// and held.
func makeLent(ctx context.Context, conn *pgx.Conn, serving, owner, sum string) (*lent, error) {
	template, err := makeTemplate(ctx, conn, serving, owner, sum)
	if err != nil {
		return nil, err
	}
	l := &lent{name: newName()}
	if err := createDatabase(ctx, conn, l.name, template); err != nil {
		return nil, err
	}
	if l.fingerprint, err = fingerprintOf(ctx, otherDatabase(owner, l.name)); err != nil {
		return nil, err
	}
	about := strconv.FormatInt(time.Now().Unix(), 10) + " " + l.fingerprint
	if _, err := conn.Exec(ctx, "COMMENT ON DATABASE "+quoted(l.name)+" IS '"+about+"'"); err != nil {
		return nil, err
	}
	var oid uint32
	if err := conn.QueryRow(ctx, "SELECT oid FROM pg_database WHERE datname = $1", l.name).Scan(&oid); err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1, $2)", lentLock, lockKey(oid)); err != nil {
		return nil, err
	}
	lending.held[oid] = true
	return l, rename(ctx, conn, l, sum)
}

// lockKey is the id of a database as the second half of a lock's key.
func lockKey(oid uint32) int32 { return int32(oid) } //nolint:gosec // the same bits

// filled are the tables that the migrations fill.
const filled = "('goose_db_version', 'schema_compat')"

// fingerprint changes with the schema, with who may use it, with what migrations wrote, and when
// tables were analyzed. TRUNCATE moves a table's file, and its row of pg_class with it: of that, the
// columns count.
const fingerprint = `SELECT md5(concat_ws(' ',
 (SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND reltuples >= 0 AND relname NOT IN ` + filled + `),
 (SELECT string_agg(concat_ws(',', oid, relname, relnamespace, relkind, relowner, relrowsecurity, relforcerowsecurity, relhastriggers, relpersistence, relacl, reloptions), ';' ORDER BY oid) FROM pg_class WHERE relnamespace <> 'pg_toast'::regnamespace),
 (SELECT count(*) || ',' || max(xmin::text::bigint) FROM pg_attribute),
 (SELECT count(*) || ',' || max(xmin::text::bigint) FROM pg_attrdef),
 (SELECT count(*) || ',' || max(xmin::text::bigint) FROM pg_constraint),
 (SELECT count(*) || ',' || max(xmin::text::bigint) FROM pg_index),
 (SELECT count(*) || ',' || max(xmin::text::bigint) FROM pg_type),
 (SELECT count(*) || ',' || max(xmin::text::bigint) FROM pg_proc),
 (SELECT count(*) || ',' || max(xmin::text::bigint) FROM pg_policy),
 (SELECT count(*) || ',' || max(xmin::text::bigint) FROM pg_trigger),
 (SELECT count(*) || ',' || max(xmin::text::bigint) FROM pg_namespace),
 (SELECT count(*) || ',' || max(xmin::text::bigint) FROM pg_extension),
 (SELECT count(*) || ',' || max(xmin::text::bigint) FROM pg_default_acl),
 (SELECT count(*) FROM pg_largeobject_metadata),
 (SELECT concat_ws(',', datdba, datallowconn, datconnlimit, datacl) FROM pg_database WHERE datname = current_database()),
 (SELECT string_agg(setconfig::text, ';' ORDER BY setrole) FROM pg_db_role_setting WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())),
 (SELECT string_agg(t::text, ';' ORDER BY t::text) FROM goose_db_version t),
 (SELECT string_agg(t::text, ';' ORDER BY t::text) FROM schema_compat t)))`

// used lists the tables that have a page, quoted.
const used = `SELECT quote_ident(relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
 AND relname NOT IN ` + filled + ` AND pg_relation_size(oid) > 0`

// sequences begin again.
const sequences = `SELECT setval(quote_ident(sequencename)::regclass, start_value, false) FROM pg_sequences
 WHERE schemaname = 'public' AND last_value IS NOT NULL AND sequencename NOT LIKE 'goose%'`

func fingerprintOf(ctx context.Context, url string) (sum string, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx) //nolint:errcheck // it was read
	tables, err := usedTables(ctx, conn)
	if err == nil && len(tables) > 0 {
		err = fmt.Errorf("migrations fill the tables %v, which would be emptied between tests: name them in filled", tables)
	}
	if err == nil {
		err = conn.QueryRow(ctx, fingerprint).Scan(&sum)
	}
	return sum, err
}

func usedTables(ctx context.Context, conn *pgx.Conn) ([]string, error) {
	rows, err := conn.Query(ctx, used)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// empty removes what a test wrote. It returns false when the test changed more than rows.
func empty(ctx context.Context, url, made string) (same bool, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return false, err
	}
	defer conn.Close(ctx) //nolint:errcheck // what matters was checked
	var now string
	if err := conn.QueryRow(ctx, fingerprint).Scan(&now); err != nil || now != made {
		return false, err
	}
	tables, err := usedTables(ctx, conn)
	if err != nil {
		return false, err
	}
	if len(tables) > 0 {
		if _, err := conn.Exec(ctx, "TRUNCATE "+strings.Join(tables, ", ")); err != nil {
			return false, err
		}
	}
	_, err = conn.Exec(ctx, sequences)
	return true, err
}
