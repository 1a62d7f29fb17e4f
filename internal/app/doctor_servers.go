package app

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/redis"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
)

// The clocks of servers are compared with this host's. Leases of jobs last 15 s by the clock of
// their holder, and tokens are accepted with 5 s of leeway.
const (
	skewNote = time.Second
	skewBad  = 5 * time.Second
)

// doctorServers checks Postgres, Redis and the workers.
func doctorServers(ctx context.Context, cfg Settings, log *slog.Logger) []Finding {
	out := doctorPostgres(ctx, cfg, log)
	if cfg.RedisURL == "" {
		return append(out, Finding{Name: "redis", State: OK, Detail: "none: jobs run in the gateways, and each limits requests on its own"})
	}
	return append(out, doctorRedis(ctx, cfg)...)
}

func doctorPostgres(ctx context.Context, cfg Settings, log *slog.Logger) []Finding {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	pg, err := openServers(ctx, cfg, log, nil)
	if err != nil {
		return []Finding{{Name: "store", State: Bad, Detail: fault.OneLine(err), Fix: postgresFix(err)}}
	}
	defer func() { _ = pg.Close() }()
	facts, err := pg.Facts(ctx)
	if err != nil {
		return []Finding{{Name: "store", State: Bad, Detail: fault.OneLine(err), Fix: postgresFix(err)}}
	}
	schema, err := pg.Schema(ctx)
	if err != nil {
		return []Finding{{Name: "store", State: Bad, Detail: fault.OneLine(err), Fix: postgresFix(err)}}
	}
	found := Finding{Name: "store", State: OK, Detail: fmt.Sprintf("Postgres %s with pgvector %s, role %s, %s (`gateway check` verifies it all)", facts.Server, facts.Vector, facts.Role, schema)}
	if len(facts.Unsafe) > 0 {
		found.State = Note
		found.Fix = fmt.Sprintf("switch %s on: without it a crash of the server may lose or damage what clients were told is stored", strings.Join(facts.Unsafe, " and "))
	}
	out := []Finding{found, doctorClock("Postgres", facts.Skew), doctorWrapping(ctx, pg, cfg, log)}
	if pg.HasReplica() {
		out = append(out, doctorReplica(ctx, pg))
	}
	return out
}

// lagNote is how far a standby may be behind before an operator should know.
const lagNote = 30 * time.Second

// doctorReplica checks that the standby follows the database.
func doctorReplica(ctx context.Context, pg *postgres.Store) Finding {
	f := Finding{Name: "replica", State: OK}
	facts, err := pg.ReplicaFacts(ctx)
	switch {
	case err != nil:
		f.State, f.Detail = Bad, fault.OneLine(err)+"; the database serves its reads"
		f.Fix = "start the standby, and check host, port and TLS in DATABASE_REPLICA_URL, or unset it"
	case !facts.Standby:
		f.State, f.Detail = Bad, "the server of DATABASE_REPLICA_URL is no standby: it follows no database, and may hold other data"
		f.Fix = "name a streaming standby of the server of DATABASE_URL, or unset DATABASE_REPLICA_URL"
	case facts.Lag >= lagNote:
		f.State, f.Detail = Note, fmt.Sprintf("the standby is %s behind; the database serves what it lacks", facts.Lag.Round(time.Second))
		f.Fix = "check the network between both servers and the load of the standby"
	default:
		f.Detail = fmt.Sprintf("the standby is %s behind, and serves long reads of the past", facts.Lag.Round(time.Millisecond))
	}
	return f
}

// doctorWrapping checks that the secret opens the signing key of earlier gateways.
func doctorWrapping(ctx context.Context, pg *postgres.Store, cfg Settings, log *slog.Logger) Finding {
	creds, _, _, err := newAccess(pg, cfg, time.Now, log, nil)
	if err == nil {
		err = creds.Tokens.CheckSigningKey(ctx)
	}
	if err != nil {
		return Finding{
			Name: "wrapping", State: Bad, Detail: fault.OneLine(err),
			Fix: "give every gateway and worker the same SLIPBOX_WRAPPING_KEY; with different ones they replace each other's key for signing tokens",
		}
	}
	return Finding{Name: "wrapping", State: OK, Detail: "SLIPBOX_WRAPPING_KEY opens the signing key; it must be the same for every gateway and worker"}
}

// postgresFix returns what to do about an error, unless its sentence already contains it.
func postgresFix(err error) string {
	if fault.Is(err, fault.Unavailable) {
		return "start the server, and check host, port and TLS in DATABASE_URL"
	}
	return ""
}

func doctorRedis(ctx context.Context, cfg Settings) []Finding {
	r, err := redis.Open(ctx, redis.Config{URL: cfg.RedisURL, Prefix: cfg.Redis.Prefix, Timeout: cfg.Redis.Timeout}, redis.Deps{})
	if err != nil {
		return []Finding{{Name: "redis", State: Bad, Detail: fault.OneLine(err), Fix: "correct REDIS_URL"}}
	}
	defer r.Close() //nolint:errcheck // it was only read
	facts, err := r.Facts(ctx)
	if err != nil {
		return []Finding{{
			Name: "redis", State: Bad, Detail: fault.OneLine(err) + "; requests work without it, more slowly",
			Fix: "start the server, and check host, port and password in REDIS_URL",
		}}
	}
	f := Finding{Name: "redis", State: OK, Detail: fmt.Sprintf("version %s, maxmemory-policy %s", orNotShown(facts.Version), orNotShown(facts.Policy))}
	if facts.Evicts {
		f.State, f.Fix = Note, "set maxmemory-policy to volatile-lru or noeviction: this one may drop wake-ups of workers when memory is full, and jobs then start up to 2 s later"
	}
	return []Finding{f, doctorClock("Redis", facts.Skew), doctorWorkers(ctx, r)}
}

func orNotShown(s string) string {
	if s == "" {
		return "(hidden from this user)"
	}
	return s
}

// doctorWorkers checks that each stage has a worker.
func doctorWorkers(ctx context.Context, r *redis.Client) Finding {
	states, err := r.WakeStates(ctx)
	if err != nil {
		return Finding{Name: "workers", State: Bad, Detail: fault.OneLine(err), Fix: "check what the user in REDIS_URL may do: workers need bzpopmin and zpopmin, and every process zadd"}
	}
	var unserved []string
	f := Finding{Name: "workers", State: OK}
	for _, s := range states {
		if s.Workers == 0 {
			unserved = append(unserved, string(s.Stage))
		}
		f.Detail += fmt.Sprintf("; %s: %d, waiting wake-ups: %d", s.Stage, s.Workers, s.Waiting)
	}
	f.Detail = "processes that serve each stage" + strings.Replace(f.Detail, ";", ":", 1)
	if len(unserved) > 0 {
		f.State, f.Fix = Note, "start a `worker` with the same REDIS_URL and SLIPBOX_REDIS_PREFIX: no worker runs the stages "+strings.Join(unserved, ", ")
	}
	return f
}

func doctorClock(of string, skew time.Duration) Finding {
	f := Finding{Name: "clock", State: OK, Detail: fmt.Sprintf("the clocks of %s and this host differ by %s", of, skew.Abs().Round(time.Millisecond))}
	if skew.Abs() >= skewNote {
		f.State, f.Fix = Note, "synchronize all hosts by NTP; leases of jobs and tokens depend on the clocks of several hosts"
	}
	if skew.Abs() >= skewBad {
		f.State = Bad
	}
	return f
}
