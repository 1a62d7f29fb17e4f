package faults_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/llm"
)

// run is a run of clients and faults over a scene.
type run struct {
	scene   *scene
	book    *book
	model   *model
	tenants []*tenant
	clients []*client
	http    *http.Client
	steady  atomic.Bool // no process is killed, so that their memory can be compared
	held    []*memorySample
}

// The parameters of a run.
const (
	clientsPerTenant = 3
	longForm         = 60 // seconds; from this length on memory is checked
	drainWithin      = 4 * time.Minute
)

// TestFaults is described in the package comment.
func TestFaults(t *testing.T) {
	seconds := setting(t, "SLIPBOX_FAULT_SECONDS", 0)
	if seconds == 0 {
		t.Skip("kills servers of its own for minutes: run `make test/faults`, or set SLIPBOX_FAULT_SECONDS")
	}
	seed := uint64(setting(t, "SLIPBOX_FAULT_SEED", int(time.Now().UnixNano()&0xffffff)))
	t.Logf("SLIPBOX_FAULT_SECONDS=%d SLIPBOX_FAULT_SEED=%d", seconds, seed)
	b := newBook()
	r := &run{scene: newScene(t, b), book: b, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	defer b.write(t)
	r.begin(t, seed)
	b.began = time.Now()
	length := time.Duration(seconds) * time.Second
	r.play(t, seed, length)
	if t.Failed() {
		return
	}
	r.checkDeadJobs()
	r.verify()
	r.compareMemory(t)
	r.end(t)
}

// begin starts the processes and creates tenants, collections and clients.
func (r *run) begin(t *testing.T, seed uint64) {
	t.Helper()
	s := r.scene
	r.model = newModel(s.model, seed)
	rng := rand.New(rand.NewPCG(seed, 1000))
	for _, name := range []string{"acme", "globex"} {
		r.tenants = append(r.tenants, &tenant{name: name, word: word(rng, "t"), key: s.key(name)})
	}
	for i := range 2 {
		s.gateways = append(s.gateways, newProcess(s, fmt.Sprint("gateway-", i+1), "gateway", "serve"))
		s.workers = append(s.workers, newProcess(s, fmt.Sprint("worker-", i+1), "worker"))
	}
	for _, tn := range r.tenants {
		for i := range clientsPerTenant {
			name := fmt.Sprintf("%s-%d", tn.name, i+1)
			r.clients = append(r.clients, &client{run: r, tenant: tn, name: name, rng: rand.New(rand.NewPCG(seed, uint64(2000+len(r.clients))))})
		}
		c := r.clients[len(r.clients)-1]
		// The processes embed the notes of one, the model server those of the other.
		for _, p := range []struct{ name, embedder string }{{"hashed", llm.HashName}, {"embedded", ""}, {"imported", llm.HashName}} {
			body := object{"name": p.name}
			if p.embedder != "" {
				body["embedder"] = p.embedder
			}
			at := &place{name: p.name, word: word(rng, "p")}
			var out struct{ ID string }
			if _, ok := c.askFor(c.gateway(), http.StatusCreated, request{kind: "set up", method: http.MethodPost, path: "/v1/collections", body: body}, &out); !ok {
				t.Fatal("the collections could not be created")
			}
			at.id = out.ID
			if p.name == "imported" {
				tn.imports = at
			} else {
				tn.bases = append(tn.bases, at)
			}
		}
		var out struct{ Note noteJSON }
		if _, ok := c.askFor(c.gateway(), http.StatusCreated, request{
			kind: "set up", method: http.MethodPost, path: tn.bases[0].path("/notes"),
			body: object{"content": c.text(tn.bases[0], "counter"), "attributes": object{"n": 0}, "infer": false},
		}, &out); !ok {
			t.Fatal("the counter could not be created")
		}
		tn.counter = out.Note.ID
		c.fork(tn.bases[1]) // at revision 0: it never shows what the base gets later
	}
}

func (r *run) processes() []*process { return slices.Concat(r.scene.gateways, r.scene.workers) }

// play runs clients and faults for a time. The long form pauses them three times to sample the
// memory. Shortly before the second time it stops killing processes.
func (r *run) play(t *testing.T, seed uint64, length time.Duration) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var gate sync.RWMutex // clients and faults hold it for reading
	var clients, lanes sync.WaitGroup
	gap := 3 * time.Second
	if length >= longForm*time.Second {
		gap = 5 * time.Second
	}
	for _, l := range r.lanes(seed, gap) {
		lanes.Go(func() { l.inject(ctx, &gate, r.book) })
	}
	for _, c := range r.clients {
		clients.Go(func() {
			for ctx.Err() == nil {
				gate.RLock()
				c.act()
				gate.RUnlock()
				<-time.After(time.Duration(10+c.rng.IntN(30)) * time.Millisecond)
			}
		})
	}
	idle := func() {
		calm := time.Now()
		gate.Lock()
		defer gate.Unlock()
		r.drain()
		r.sampleMemory(calm)
	}
	if length >= longForm*time.Second {
		<-time.After(length / 2)
		idle()
		last := warmUp + 3*time.Second // for a process that is starting
		<-time.After(length/4 - last)
		r.steady.Store(true)
		<-time.After(last)
		idle()
		<-time.After(length / 4)
	} else {
		<-time.After(length)
	}
	calm := time.Now()
	r.book.eventf("the end    faults and clients stop")
	stop()
	lanes.Wait()
	clients.Wait()
	r.drain()
	r.sampleMemory(calm)
	r.book.eventf("the end    all jobs have ended")
}

// drain waits until no job is queued or running. Jobs of a killed worker wait for the end of their
// lease, and failed ones for their next attempt, which is made soon.
func (r *run) drain() {
	deadline := time.Now().Add(drainWithin)
	for {
		n, err := query[struct{ Open int }](r.scene, "SELECT count(*) AS open FROM jobs WHERE state IN ('queued', 'running')")
		switch {
		case err == nil && n[0].Open == 0:
			return
		case time.Now().After(deadline):
			r.book.problemf("jobs are open %s after the last fault: %v, %v", drainWithin, n, err)
			return
		}
		r.endPauses()
		<-time.After(200 * time.Millisecond)
	}
}

// end stops the processes, checks their logs, and runs "gateway check".
func (r *run) end(t *testing.T) {
	t.Helper()
	for _, p := range r.processes() {
		if code, err := p.stop(); err != nil || code != 0 {
			r.book.problemf("%s: exit code %d after SIGTERM, %v\n%s", p.name, code, err, p.tail(10))
		}
		bad := p.lines(isAlarming)
		if len(bad) > 0 {
			r.book.problemf("%s logs:\n%s", p.name, bad[0])
		}
		r.book.count("lines that "+p.name+" logged", len(p.lines(func(string) bool { return true })))
	}
	if _, err := output(r.scene.env, r.scene.dir+"/bin/gateway", "check"); err != nil {
		r.book.problemf("gateway check: %v", err)
	}
}

func setting(t *testing.T, name string, fallback int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return fallback
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		t.Fatalf("%s=%q: want a whole number from 0", name, s)
	}
	return n
}
