package bench_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// smallMachine is the part of a core that a gateway has in the part "scaling": so little that Postgres and the clients have cores of
// their own beside several gateways, as on machines of their own.
const smallMachine = 0.1

// scaling measures one, two and three gateways that have a part of a core each, with Postgres beside them, and what a call costs the
// gateways and Postgres in time of a core.
func (m *serversBench) scaling(b *testing.B) {
	const clients, most = 16, 3 // clients of each gateway, so that each has as much to do
	n := m.middle()
	c, queries := m.filled(b, n).id, m.text.Queries(256)
	var gateways []*process
	for i := range most {
		join := newShare(b, fmt.Sprintf("slipbox-bench-%d-%d", os.Getpid(), i), smallMachine)
		g := m.gateway(b, m.site, "GOMAXPROCS=1")
		join(g.pid)
		gateways = append(gateways, g)
	}
	m.warm(b, c, gateways...)
	var bytes float64
	m.query(b, `SELECT SUM(pg_total_relation_size(c.oid))::float8 / (SELECT COUNT(*) FROM notes) FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'`, &bytes)
	row(b, "Postgres", map[string]float64{"B/note": bytes})
	plain, evolving := make([]uuid.UUID, most*clients), make([]uuid.UUID, most*clients)
	for i := range plain {
		plain[i], evolving[i] = m.newCollection(b), m.evolvingCollection(b, gateways[0])
	}
	for _, of := range []struct {
		name string
		do   func(g *process, client, i int) error
	}{
		{fmt.Sprintf("hybrid search of %d notes", n), func(g *process, _, i int) error { return m.hybrid(g, c, queries, i) }},
		{"add, a collection each", func(g *process, client, _ int) error { return m.addNew(g, plain[client], "none") }},
		{"add, one collection", func(g *process, _, _ int) error { return m.addNew(g, plain[0], "none") }},
		{"add until evolved (amem), a collection each", func(g *process, client, _ int) error { return m.addNew(g, evolving[client], "evolved") }},
		{"add until evolved (amem), one collection", func(g *process, _, _ int) error { return m.addNew(g, evolving[0], "evolved") }},
	} {
		var alone float64
		for count := 1; count <= len(gateways); count++ {
			alone = m.scale(b, of.name, gateways[:count], count*clients, alone, of.do)
		}
	}
}

// scale measures calls of several gateways, and reports them beside the rate of one.
func (m *serversBench) scale(b *testing.B, name string, gateways []*process, clients int, alone float64, do func(g *process, client, i int) error) float64 {
	b.Helper()
	w := way{name: name, clients: clients, do: func(client, i int) error { return do(gateways[client%len(gateways)], client, i) }}
	var next atomic.Int64
	w.turn(b, m.length/5, &next)
	gatewayTime, postgresTime := coreTime(b, gateways), postgresCoreTime(b)
	f := w.turn(b, m.length, &next)
	calls := float64(len(f.times))
	values := f.values()
	values["gateway-core-ms"] = 1000 * (coreTime(b, gateways) - gatewayTime) / calls
	values["postgres-core-ms"] = 1000 * (postgresCoreTime(b) - postgresTime) / calls
	if alone > 0 {
		values["rate-ratio"] = values["calls/s"] / alone
	} else {
		alone = values["calls/s"]
	}
	row(b, fmt.Sprintf("%s, %d clients, %d gateways of %v of a core", name, clients, len(gateways), smallMachine), values)
	return alone
}

// evolvingCollection creates an empty collection of A-MEM, whose jobs the gateways run.
func (s *site) evolvingCollection(b *testing.B, g *process) uuid.UUID {
	b.Helper()
	answer := must.Get(s.call(g, http.MethodPost, "/v1/collections", map[string]any{"name": "e-" + uuid.NewString(), "policy": memory.PolicyAMEM}, http.StatusCreated))(b)
	var made struct {
		ID uuid.UUID `json:"id"`
	}
	must.Do(b, json.Unmarshal(answer, &made))
	return made.ID
}

// addNew adds a text that no collection has: one that is there is not added again.
func (s *site) addNew(g *process, c uuid.UUID, wait string) error {
	_, err := s.call(g, http.MethodPost, "/v1/collections/"+c.String()+"/notes?wait="+wait,
		map[string]any{"content": s.texts[rand.IntN(len(s.texts))] + " " + uuid.NewString()}, http.StatusCreated)
	return err
}

// newShare makes a control group, of version 1 or 2, with a part of a core, and returns what puts a process into it. A machine that
// does not allow it cannot measure this part.
func newShare(b *testing.B, group string, cores float64) (join func(pid int)) {
	b.Helper()
	const root, period = "/sys/fs/cgroup", 20_000
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			b.Fatalf("the part scaling needs a control group of its own: %v", err)
		}
	}
	folder, quota := filepath.Join(root, "cpu", group), strconv.Itoa(int(cores*period))
	_, err := os.Stat(filepath.Join(root, "cgroup.controllers"))
	two := err == nil
	if two {
		folder = filepath.Join(root, group)
	}
	if err := os.Mkdir(folder, 0o755); err != nil {
		b.Fatalf("the part scaling needs a control group of its own: %v", err)
	}
	b.Cleanup(func() { _ = os.Remove(folder) }) // after that of the process that is in it
	if two {
		write(filepath.Join(folder, "cpu.max"), quota+" "+strconv.Itoa(period))
	} else {
		write(filepath.Join(folder, "cpu.cfs_period_us"), strconv.Itoa(period))
		write(filepath.Join(folder, "cpu.cfs_quota_us"), quota)
	}
	return func(pid int) { write(filepath.Join(folder, "cgroup.procs"), strconv.Itoa(pid)) }
}

// coreTime returns the seconds of a core that processes have used.
func coreTime(b *testing.B, of []*process) (sum float64) {
	b.Helper()
	for _, p := range of {
		sum += statTime(b, p.pid, false)
	}
	return sum
}

// postgresCoreTime is coreTime of the server that scripts/bench-servers.sh started: of its postmaster, of its children, and of those that
// have ended.
func postgresCoreTime(b *testing.B) float64 {
	b.Helper()
	text := must.Get(os.ReadFile(filepath.Join(os.Getenv("SLIPBOX_SERVICES_DIR"), "postgres", "postmaster.pid")))(b)
	first, _, _ := strings.Cut(string(text), "\n")
	pid := must.Get(strconv.Atoi(first))(b)
	sum := statTime(b, pid, true)
	children := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)))(b)
	for child := range strings.FieldsSeq(string(children)) {
		sum += statTime(b, must.Get(strconv.Atoi(child))(b), false)
	}
	return sum
}

// statTime reads the time of a process, 0 when it has ended, and of the children that it waited for.
func statTime(b *testing.B, pid int, waited bool) (seconds float64) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), ") ") // state is field 3
	fields := strings.Fields(rest)[11:15]         // utime, stime, cutime, cstime
	if !waited {
		fields = fields[:2]
	}
	for _, f := range fields {
		seconds += float64(must.Get(strconv.Atoi(f))(b)) / 100 // USER_HZ
	}
	return seconds
}
