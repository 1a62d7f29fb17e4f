package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"
)

// TestKill kills the real binary at random moments of a stream of 1,000 adds. After the restart, every
// acknowledged note must exist and be evolved exactly once. KILL_ROUNDS sets the number of
// rounds (default 20), SLIPBOX_KILL_SEED the moments.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes about a minute: left out of -short")
	}
	rounds := envInt(t, "KILL_ROUNDS", 20)
	seed := uint64(envInt(t, "SLIPBOX_KILL_SEED", int(time.Now().UnixNano()&0xffffff)))
	t.Logf("rounds %d, seed %d", rounds, seed)
	rng := rand.New(rand.NewPCG(seed, 1))

	data := t.TempDir()
	p := serve(t, data, nil)
	key := newKey(t, data)
	p.must(t, key, 201, "POST", "/v1/collections", object{"name": "stream", "policy": "amem"})

	const total, writers = 1000, 4
	acked := map[string]string{} // id → content
	next := 0
	for round := 1; round <= rounds; round++ {
		until := total * round / rounds
		ctx, cancel := context.WithCancel(t.Context())
		killed := make(chan struct{})
		target := next + rng.IntN(max(until-next, 1)) // kill when about this many were sent
		if round == rounds {
			target = until - 1 // the whole stream is sent
		}
		extra := time.Duration(rng.IntN(30)) * time.Millisecond
		var mu sync.Mutex
		var wg sync.WaitGroup
		var once sync.Once
		for range writers {
			wg.Go(func() {
				for {
					mu.Lock()
					i := next
					if i >= until {
						mu.Unlock()
						return
					}
					next++
					mu.Unlock()
					if i >= target {
						once.Do(func() { close(killed) })
					}
					content := sentence(i)
					status, out := p.call(ctx, key, "POST", "/v1/collections/stream/notes", object{"content": content})
					switch status {
					case http.StatusCreated:
						note, ok := out["note"].(object)
						if !ok {
							t.Errorf("add %d: no note in %v", i, out)
							return
						}
						mu.Lock()
						acked[note["id"].(string)] = content
						mu.Unlock()
					case 0:
						return // killed; the note may be stored or not
					default:
						t.Errorf("add %d: status %d: %v", i, status, out)
					}
				}
			})
		}
		go func() { // if the stream ends early, the test reports it below
			wg.Wait()
			once.Do(func() { close(killed) })
		}()
		<-killed
		select {
		case <-time.After(extra):
		case <-p.Done: // it ended without a kill, and the calls have failed
		}
		p.Kill()
		cancel()
		wg.Wait()
		p = serve(t, data, nil)
		if t.Failed() {
			t.FailNow()
		}
	}
	waitIdle(t, p, key)

	t.Logf("%d of %d adds were acknowledged", len(acked), total)
	if most := total - rounds*writers; len(acked) < most {
		t.Fatalf("only %d adds were acknowledged, want %d or more: a kill may lose only the adds without an answer", len(acked), most)
	}
	for id, content := range acked {
		n := p.must(t, key, 200, "GET", "/v1/collections/stream/notes/"+id, nil)
		if n["content"] != content || n["state"] != "evolved" {
			t.Errorf("note %s: content %q state %v, want %q evolved", id, n["content"], n["state"], content)
		}
		own := 0
		for _, item := range p.must(t, key, 200, "GET", "/v1/collections/stream/notes/"+id+"/history", nil)["items"].([]any) {
			h := item.(object)
			if h["cause"] == "evolve" && h["trigger"] == id {
				own++
			}
		}
		if own != 1 {
			t.Errorf("note %s was evolved %d times, want once", id, own)
		}
	}
	if code := p.Stop(t); code != 0 {
		t.Errorf("exit code %d after SIGTERM, want 0\n%s", code, p.Stderr)
	}
	if out, errOut, code := run(t, nil, "check", "--data", data); code != 0 {
		t.Errorf("check: exit %d\n%s\n%s", code, out, errOut)
	}
}

// waitIdle waits until no job is queued or running.
func waitIdle(t *testing.T, p *process, key string) {
	t.Helper()
	deadline := time.After(5 * time.Minute)
	for {
		open := 0
		for _, state := range []string{"queued", "running"} {
			open += len(p.must(t, key, 200, "GET", "/v1/jobs?state="+state, nil)["items"].([]any))
		}
		if open == 0 {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%d jobs or more were still open after five minutes\n%s", open, p.Stderr)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// sentence returns texts that share some words, so that notes are linked.
func sentence(i int) string {
	subjects := []string{"The lighthouse keeper", "Our baker", "A visiting botanist", "The night train", "My neighbour's cat", "The harbour crane"}
	verbs := []string{"repaired", "photographed", "ignored", "painted", "weighed", "sketched", "measured"}
	objects := []string{"an old barometer", "the copper kettle", "three green lanterns", "a wooden boat", "the orchard wall"}
	return fmt.Sprintf("%s %s %s on day %d.", subjects[i%len(subjects)], verbs[i%len(verbs)], objects[i%len(objects)], i)
}

func envInt(t *testing.T, name string, fallback int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return fallback
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q: want a whole number above 0", name, s)
	}
	return n
}
