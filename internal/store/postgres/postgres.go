package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pgvector/pgvector-go"
	pgxvector "github.com/pgvector/pgvector-go/pgx"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// Config configures the engine.
type Config struct {
	// URL of the database, in a form that libpq accepts. Its role serves: it must neither own the
	// tables nor bypass row-level security. Required.
	URL string
	// ReplicaURL is a standby of the database, with the same role. Empty: none.
	ReplicaURL string
	// ExecMode is how statements are sent to the server: cache_statement (default), cache_describe,
	// describe_exec, exec or simple_protocol. Poolers that use another connection for each
	// transaction need one of the last two, unless they support prepared statements.
	ExecMode string
	// Connections is the size of the pool. Default 4 per CPU, at least 16.
	Connections int
	// StatementTimeout ends a statement that takes longer. Default 30 s.
	StatementTimeout time.Duration
	// Rest is a step of the rest of a connection of a tenant that floods (fair.Rest). Default none.
	Rest time.Duration
	// LockTimeout is how long a write waits for another. Default 10 s.
	LockTimeout time.Duration
	// Retries of a transaction that the server aborted (deadlock, serialization). Default 5.
	Retries int
	// AnyRole accepts a role that owns the tables or bypasses row-level security, for tools of the
	// owner such as checks of a restored dump.
	AnyRole bool
	// Distributed is set for a database that spreads tenants over machines (Distribute). Its ExecMode is exec unless it is
	// simple_protocol.
	Distributed bool
}

// Deps are the dependencies of the engine.
type Deps struct {
	Clock  memory.Clock    // nil: time.Now
	Logger *slog.Logger    // nil: silent
	Tracer pgx.QueryTracer // nil: none
}

// Store is the servers' engine. It implements store.Store.
type Store struct {
	store.Base

	server // the database

	replica *replica // nil: none
	cfg     Config
	clock   memory.Clock
	log     *slog.Logger
	groups  groups
	enter   func(tenant uuid.UUID) []statement // see session
	// serving is true once Open has checked everything.
	serving bool

	fullAt       atomic.Int64 // when a write last met a full disk, in ms; 0: never
	writesMu     sync.Mutex
	writesAsked  time.Time
	writesAnswer error // of CheckWrites
}

// now returns the time of a transaction.
func (s *Store) now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }

// tenantConnections is the part of the connections that one tenant may use while others use some, one of so
// many. More would make the server slower for the others, and hardly faster for that tenant.
const tenantConnections = 8

func (c *Config) setDefaults() {
	if c.Connections <= 0 {
		c.Connections = max(16, 4*runtime.NumCPU())
	}
	if c.StatementTimeout <= 0 {
		c.StatementTimeout = 30 * time.Second
	}
	if c.LockTimeout <= 0 {
		c.LockTimeout = 10 * time.Second
	}
	if c.Retries <= 0 {
		c.Retries = 5
	}
	if c.Distributed && !c.pooled() {
		c.ExecMode = "exec" // the tenant is in the text of a statement: prepared ones would be of one tenant
	}
}

// enter returns what begins each transaction.
func (c *Config) enter() func(uuid.UUID) []statement {
	if c.Distributed {
		return c.entered
	}
	text := setTenant
	if c.pooled() {
		text += ", " + c.setConnection(true)
	}
	return func(tenant uuid.UUID) []statement { return []statement{{text, []any{tenant.String()}}} }
}

var execModes = map[string]pgx.QueryExecMode{
	"":                pgx.QueryExecModeCacheStatement,
	"cache_statement": pgx.QueryExecModeCacheStatement,
	"cache_describe":  pgx.QueryExecModeCacheDescribe,
	"describe_exec":   pgx.QueryExecModeDescribeExec,
	"exec":            pgx.QueryExecModeExec,
	"simple_protocol": pgx.QueryExecModeSimpleProtocol,
}

// pooled reports whether statements are sent in a mode for poolers that assign another connection to
// each transaction.
func (c *Config) pooled() bool { return c.ExecMode == "exec" || c.ExecMode == "simple_protocol" }

// setConnection returns what a SELECT calls to set the parameters that every transaction needs, for
// the transaction or for the connection. Every statement has an index that leads to its layer or its
// ids; until the planner has seen several layers, it prefers to scan the whole table.
func (c *Config) setConnection(local bool) string {
	return fmt.Sprintf("set_config('statement_timeout', '%[1]s', %[3]t), set_config('lock_timeout', '%[2]s', %[3]t), set_config('timezone', 'UTC', %[3]t), set_config('enable_seqscan', 'off', %[3]t), set_config('synchronous_commit', %[4]s, %[3]t)",
		millis(c.StatementTimeout), millis(c.LockTimeout), local, durableCommit)
}

// planOnce has a prepared statement planned once. No plan is better for knowing the arguments, and one with a list would else be planned
// at each use, which takes ten times as long as to run it.
const planOnce = ", set_config('plan_cache_mode', 'force_generic_plan', false)"

// durableCommit is the value of synchronous_commit: what is acknowledged must survive a crash of the server. A setting that waits
// for standbys too stays.
const durableCommit = "CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END"

// Open connects, and checks the server, its schema and the role. Each problem is a fault that says
// how to fix it: Unavailable for a server that cannot be reached, Unauthenticated for a refused
// password, Invalid "database_url" for an unreadable URL, Conflict for a server, an extension, a
// schema or a role that cannot serve. If one of these problems occurs later, every method is
// Unavailable while it lasts.
func Open(ctx context.Context, c Config, d Deps) (*Store, error) {
	c.setDefaults()
	if d.Clock == nil {
		d.Clock = time.Now
	}
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	pc, err := poolConfig(c, d)
	if err != nil {
		return nil, err
	}
	s := &Store{cfg: c, clock: d.Clock, log: d.Logger, enter: c.enter()}
	s.Base = store.NewBase(transactions{s}, s.now)
	s.groups.init()
	s.turns = newTurns(pc, c.Rest)
	if s.pool, err = pgxpool.NewWithConfig(ctx, pc); err != nil {
		return nil, s.translate(err)
	}
	if err := s.inspect(ctx); err != nil {
		s.pool.Close()
		return nil, err
	}
	if s.replica, err = openReplica(ctx, c, d, pc.ConnConfig.User); err != nil {
		s.pool.Close()
		return nil, err
	}
	s.serving = true
	return s, nil
}

func poolConfig(c Config, d Deps) (*pgxpool.Config, error) {
	if c.URL == "" {
		return nil, fault.InvalidField("database_url", "is required")
	}
	pc, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		// The text of the error has the URL without its password.
		return nil, fault.InvalidField("database_url", "cannot be read: %v", err)
	}
	mode, ok := execModes[c.ExecMode]
	if !ok {
		return nil, fault.InvalidField("database_exec_mode", "unknown mode %q; use cache_statement, cache_describe, describe_exec, exec or simple_protocol", c.ExecMode)
	}
	pc.ConnConfig.DefaultQueryExecMode = mode
	pc.ConnConfig.Tracer = d.Tracer
	pc.MaxConns = int32(min(c.Connections, 10_000)) //nolint:gosec // bounded
	pc.MinIdleConns = 1
	pc.MaxConnIdleTime = 5 * time.Minute
	pc.ConnConfig.ConnectTimeout = 5 * time.Second
	params := pc.ConnConfig.RuntimeParams
	if params["application_name"] == "" {
		params["application_name"] = "slipbox"
	}
	pc.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		ctx = withoutSpan(ctx) // it belongs to no call
		// Poolers do not accept these as start parameters. Behind one that is shared by transactions,
		// each transaction sets them.
		if !c.pooled() {
			if _, err := conn.Exec(ctx, "SELECT "+c.setConnection(false)+planOnce, pgx.QueryExecModeExec); err != nil {
				return err
			}
		}
		return registerTypes(ctx, conn)
	}
	return pc, nil
}

// registerTypes registers the types of pgvector with the connection and, for the modes that do not
// ask the server, those of ids.
func registerTypes(ctx context.Context, conn *pgx.Conn) error {
	if err := pgxvector.RegisterTypes(ctx, conn); err != nil {
		if _, ok := errors.AsType[*pgconn.PgError](err); ok || conn.IsClosed() || ctx.Err() != nil {
			return err
		}
		var empty bool
		if e := conn.QueryRow(ctx, noSchema, pgx.QueryExecModeExec).Scan(&empty); e != nil {
			return e
		}
		if empty {
			return errNoSchema
		}
		return errors.Join(errNoVector, err)
	}
	m := conn.TypeMap()
	registerIDs(m)
	m.RegisterDefaultPgType(uuid.UUID{}, "uuid")
	m.RegisterDefaultPgType(ids{}, "_uuid")
	m.RegisterDefaultPgType(pgvector.HalfVector{}, "halfvec") // a pointer would be sent by way of a text
	return nil
}

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	return s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		var one int
		_, err := q.get(ctx, "SELECT 1", nil, &one)
		return err
	})
}

// Size implements store.Store.
func (s *Store) Size(ctx context.Context) (n int64, err error) {
	err = s.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		_, err := q.get(ctx, "SELECT pg_database_size(current_database())", nil, &n)
		return err
	})
	return n, err
}

// Traces implements memory.Writer.
func (*Store) Traces(context.Context) (memory.Traces, error) { return memory.TracesAutovacuum, nil }

// Close waits for running statements and closes all connections.
func (s *Store) Close() error {
	if s.replica != nil {
		s.replica.pool.Close()
	}
	s.pool.Close()
	return nil
}
