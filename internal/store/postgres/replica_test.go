package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// ports notes the server of each read of notes.
type ports struct {
	mu   sync.Mutex
	read []uint16
}

func (*ports) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (*ports) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (p *ports) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range data.Batch.QueuedQueries {
		if strings.Contains(q.SQL, "n.bytes >= 0") || strings.Contains(q.SQL, "<=>") {
			p.read = append(p.read, conn.Config().Port)
		}
	}
	return ctx
}

func (*ports) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*ports) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// replicated is a store over a server and its standby.
type replicated struct {
	*instance
	bench

	standby string // its port
	seen    *ports
	metrics *sdkmetric.ManualReader
	failed  float64 // reads that had failed at the last report
}

func newReplicated(t *testing.T) *replicated {
	t.Helper()
	standby := commandtest.FreePort(t)
	i := newInstance(t, "SLIPBOX_PG_REPLICA_PORT="+standby)
	must.Do(t, postgres.Migrate(t.Context(), i.url("slipbox_owner"), "slipbox_app"))
	i.services("up", "replica")
	r := &replicated{instance: i, standby: standby, seen: &ports{}}
	s := must.Get(postgres.Open(t.Context(), postgres.Config{URL: i.url("slipbox_app"), ReplicaURL: r.at(standby), Connections: 8}, postgres.Deps{Tracer: r.seen}))(t)
	t.Cleanup(func() { _ = s.Close() })
	r.bench, r.metrics = bench{Store: s}, sdkmetric.NewManualReader()
	must.Do(t, s.MeasureReplica(sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.metrics))))
	tn := must.Get(s.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: "t"}))(t)
	r.scope = grant.Scope(tn.ID, uuid.Nil, "test", tenant.AllPermissions()...)
	r.collection = r.create(t, memory.Collection{Name: "c", Policy: "none", Embedder: "hash", Dim: 2})
	return r
}

func (r *replicated) at(port string) string {
	return strings.Replace(r.url("slipbox_app"), ":"+r.port+"/", ":"+port+"/", 1)
}

// add writes a note.
func (r *replicated) add(content string) memory.Note {
	r.t.Helper()
	return r.put(r.t, r.collection, memory.Note{Content: content, Kind: memory.KindNote, State: memory.StateEvolved, Vector: []float32{1, 0}})
}

// log returns what the log of a view holds, and whether the standby was read.
func (r *replicated) log(v memory.View) (contents []string, atStandby bool) {
	r.t.Helper()
	r.seen.read = nil
	must.Get(r.Log(r.t.Context(), r.scope, v, 0, 0, "hash", func(row memory.LogRow) error {
		if !row.Note.Deleted {
			contents = append(contents, row.Note.Content)
		}
		return nil
	}))(r.t)
	return contents, r.standbyAlone()
}

func (r *replicated) standbyAlone() bool {
	return len(r.seen.read) > 0 && !slices.ContainsFunc(r.seen.read, func(port uint16) bool { return fmt.Sprint(port) != r.standby })
}

func (r *replicated) nearest(v memory.View) (found int, atStandby bool) {
	r.t.Helper()
	r.seen.read = nil
	got := must.Get(r.Nearest(r.t.Context(), r.scope, v, memory.NearestQuery{Vector: []float32{1, 0}, Limit: 10}))(r.t)
	return len(got), r.standbyAlone()
}

// TestReplica reads at a real standby what it has replayed, and at the database what it has not: a caller reads what it wrote, and
// nothing that was erased, however far behind the standby is.
func TestReplica(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	want := func(what string, v memory.View, standby bool, found int, contents ...string) {
		t.Helper()
		got, at := r.log(v)
		if !slices.Equal(got, contents) || at != standby {
			t.Fatalf("%s: read %v, at the standby: %t; want %v, %t", what, got, at, contents, standby)
		}
		if n, at := r.nearest(v); n != found || at != standby {
			t.Fatalf("%s: %d found, at the standby: %t; want %d, %t", what, n, at, found, standby)
		}
	}
	r.add("one")
	secret := r.add("two")
	must.Get(r.Write(t.Context(), r.scope, r.collection, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error { return tx.Delete(ctx, secret.ID) }))(t)
	until(t, "the standby has the notes", func() bool { _, at := r.log(r.open(t)); return at })
	want("replayed", r.open(t), true, 1, "one", "two")
	r.reports(true, 0)

	r.psqlAt(r.standby, "SELECT pg_wal_replay_pause()")
	until(t, "the standby pauses", func() bool { return r.paused() })
	old := r.open(t)
	must.Get(r.EraseNotes(t.Context(), r.scope, r.collection, memory.Erasing{Notes: []uuid.UUID{secret.ID}}, memory.AuditEntry{Action: "note.erase"}))(t)
	want("erased while the standby waits", r.open(t), false, 1, "one") // with no new revision
	r.add("three")
	want("written while the standby waits", r.open(t), false, 2, "one", "three")
	r.reports(true, time.Millisecond)
	if found, at := r.nearest(old); found != 1 || !at {
		t.Fatalf("a view of before: %d found, at the standby: %t", found, at)
	}

	r.psqlAt(r.standby, "SELECT pg_wal_replay_resume()")
	until(t, "the standby caught up", func() bool { _, at := r.log(r.open(t)); return at })
	want("caught up", r.open(t), true, 2, "one", "three")
	r.reports(true, 0)

	r.services("down", "replica")
	want("without the standby", r.open(t), false, 2, "one", "three")
	want("and again", r.open(t), false, 2, "one", "three")
	r.reports(false, 0)
}

// reports checks what an operator sees: whether the standby serves, and how far it is behind at least; 0: not at all.
func (r *replicated) reports(serves bool, behind time.Duration) {
	r.t.Helper()
	facts, err := r.ReplicaFacts(r.t.Context())
	if ok := err == nil; ok != serves || r.CheckReplica(r.t.Context()) == nil != serves {
		r.t.Fatalf("the standby serves: %t, want %t: %v", ok, serves, err)
	}
	if serves && (!facts.Standby || facts.Lag < behind || behind == 0 && facts.Lag != 0) {
		r.t.Errorf("the standby is %+v, want %s behind", facts, behind)
	}
	var read metricdata.ResourceMetrics
	must.Do(r.t, r.metrics.Collect(r.t.Context(), &read))
	got := map[string]float64{}
	for _, m := range read.ScopeMetrics[0].Metrics {
		switch d := m.Data.(type) {
		case metricdata.Gauge[int64]:
			got[m.Name] = float64(d.DataPoints[0].Value)
		case metricdata.Gauge[float64]:
			got[m.Name] = d.DataPoints[0].Value
		case metricdata.Sum[int64]:
			for _, p := range d.DataPoints {
				outcome, _ := p.Attributes.Value(telemetry.ReplicaOutcome)
				got[outcome.AsString()] = float64(p.Value)
			}
		}
	}
	lag, has := got["slipbox.replica.lag"]
	if got["slipbox.replica.available"] == 1 != serves || has != serves || lag > 0 != (behind > 0) || got["served"] == 0 ||
		got["behind"] == 0 && behind > 0 || !serves && got["failed"] == r.failed {
		r.t.Errorf("the metrics are %v; serves: %t, behind: %s", got, serves, behind)
	}
	r.failed = got["failed"] // on a busy machine a standby that starts may not answer in time
}

// paused reports whether the standby replays nothing.
func (r *replicated) paused() bool {
	conn := must.Get(pgx.Connect(r.t.Context(), r.at(r.standby)))(r.t)
	defer conn.Close(r.t.Context())
	return texts(r.t, conn, "SELECT pg_get_wal_replay_pause_state()")[0] == "paused"
}

// TestReplicaSettings: a replica that cannot be read, or where row-level security would not limit the role, is refused; one that is
// down is not.
func TestReplicaSettings(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for url, message := range map[string]string{"postgres://:x": "database_replica_url: cannot be read", b.db.OwnerURL: "the role of DATABASE_URL"} {
		says(t, refusal(t, postgres.Config{URL: b.db.URL, ReplicaURL: url}), fault.Invalid, message)
	}
	s := must.Get(postgres.Open(t.Context(), postgres.Config{URL: b.db.URL, ReplicaURL: strings.Replace(b.db.URL, "127.0.0.1", "127.0.0.9", 1)}, postgres.Deps{}))(t)
	defer s.Close()
	if _, err := s.Log(t.Context(), b.scope, b.open(t), 0, 0, "hash", func(memory.LogRow) error { return nil }); err != nil {
		t.Error(err)
	}
}
