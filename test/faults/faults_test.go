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

// run is a scene with clients and faults.
type run struct {
	scene   *scene
	book    *book
	model   *model
	tenants []*tenant
	clients []*client
	http    *http.Client
	steady  atomic.Bool // processes are left alone, so that their memory can be compared
	held    []*holding
}

// What a run is made of.
const (
	clientsPerTenant = 3
	longForm         = 60 // seconds, from which on memory is looked at
	drainWithin      = 4 * time.Minute
)

// TestFaults is described with the package.
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
	r.revive()
	r.verify()
	r.compare(t)
	r.end(t)
}

// begin starts the processes, and makes tenants, collections and clients.
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
		// One is embedded in the processes, one by the model server.
		for _, p := range []struct{ name, embedder string }{{"hashed", llm.HashName}, {"embedded", ""}, {"imported", llm.HashName}} {
			body := object{"name": p.name}
			if p.embedder != "" {
				body["embedder"] = p.embedder
			}
			at := &place{name: p.name, word: word(rng, "p")}
			var out struct{ ID string }
			if _, ok := c.want(c.gateway(), http.StatusCreated, request{kind: "set up", method: http.MethodPost, path: "/v1/collections", body: body}, &out); !ok {
				t.Fatal("the collections could not be made")
			}
			at.id = out.ID
			if p.name == "imported" {
				tn.imports = at
			} else {
				tn.bases = append(tn.bases, at)
			}
		}
		var out struct{ Note noteJSON }
		if _, ok := c.want(c.gateway(), http.StatusCreated, request{
			kind: "set up", method: http.MethodPost, path: tn.bases[0].path("/notes"),
			body: object{"content": c.text(tn.bases[0], "counter"), "attributes": object{"n": 0}, "infer": false},
		}, &out); !ok {
			t.Fatal("the counter could not be made")
		}
		tn.counter = out.Note.ID
	}
}

func (r *run) processes() []*process { return slices.Concat(r.scene.gateways, r.scene.workers) }

// play lets clients and faults go on for a time. The long form stops them three
// times to look at memory; processes are left alone from shortly before the second time on.
func (r *run) play(t *testing.T, seed uint64, length time.Duration) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var gate sync.RWMutex // held for reading by whoever does something
	var clients, lanes sync.WaitGroup
	gap := 3 * time.Second
	if length >= longForm*time.Second {
		gap = 5 * time.Second
	}
	for _, l := range r.lanes(seed, gap) {
		lanes.Go(func() { l.play(ctx, &gate, r.book) })
	}
	for _, c := range r.clients {
		clients.Go(func() {
			for ctx.Err() == nil {
				gate.RLock()
				c.step()
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
		r.weigh(calm)
	}
	if length >= longForm*time.Second {
		<-time.After(length / 2)
		idle()
		last := warmUp + 3*time.Second // of a process that is just being started
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
	r.weigh(calm)
	r.book.eventf("the end    all jobs have ended")
}

// drain waits until no job waits or runs. Those whose worker was killed wait
// for the end of its lease, those that failed for their next try.
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
		<-time.After(200 * time.Millisecond)
	}
}

// end stops the processes as an operator would, looks into their logs, and lets
// the product check its store.
func (r *run) end(t *testing.T) {
	t.Helper()
	for _, p := range r.processes() {
		if code, err := p.stop(); err != nil || code != 0 {
			r.book.problemf("%s: exit code %d after SIGTERM, %v\n%s", p.name, code, err, p.tail(10))
		}
		bad := p.lines(alarming)
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
