package app

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/test/must"
)

// soak is a gateway that several clients use at once, and what each of them was told.
type soak struct {
	*gatewayTest

	mu      sync.Mutex
	written map[string]map[string]bool // ids of the notes that are there, by collection
	sent    map[string]int             // messages, by collection
	did     map[string]int             // requests, by kind
}

// soakPolicies are the collections of a soak. Notes are counted in the first, messages in the others.
var soakPolicies = []string{"none", "amem", "mem0", "memoryos", "layered", "memgpt"}

// soakClients is how many clients there are; each sends one request at a time.
const soakClients = 4

// TestSoak has clients add, change, delete, erase, fork, search, talk, and make steps of agents for SLIPBOX_SOAK_SECONDS. Then
// everything that was acknowledged is there once, what was deleted is not, no job has failed, the store is sound, and the
// process has not grown in the second half. "make soak" takes an hour, on each set-up.
func TestSoak(t *testing.T) { //nolint:tparallel // the set-ups one after the other, to compare their memory
	t.Parallel()
	length := 3 * time.Second
	if text := os.Getenv("SLIPBOX_SOAK_SECONDS"); text != "" {
		n := must.Get(strconv.Atoi(text))(t)
		length = time.Duration(n) * time.Second
		for name, start := range setUps {
			t.Run(name, func(t *testing.T) { soakOn(t, start, length) })
		}
		return
	}
	soakOn(t, startGateway, length)
}

func soakOn(t *testing.T, start func(*testing.T, func(*Settings)) *gatewayTest, length time.Duration) {
	t.Helper()
	var used Settings
	s := &soak{written: map[string]map[string]bool{}, sent: map[string]int{}, did: map[string]int{}}
	s.gatewayTest = start(t, func(c *Settings) { c.Limits.SingleTenant = true; used = *c })
	for _, policy := range soakPolicies {
		s.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": policy, "policy": policy})
		s.written[policy] = map[string]bool{}
	}
	s.drive(1, length/2)
	s.rest()
	middle := footprint(used.Data)
	s.drive(2, length/2)
	s.rest()
	end := footprint(used.Data)
	t.Logf("requests %v; then %+v, now %+v", s.did, middle, end)
	// Indexes and caches hold what was added; no part of a process may hold more than that. A short run has other tests beside.
	if os.Getenv("SLIPBOX_SOAK_SECONDS") != "" && (end.goroutines > middle.goroutines+20 || end.files > middle.files+20 || end.heap > 2*middle.heap+64<<20) {
		t.Errorf("grew from %+v to %+v", middle, end)
	}
	s.verify()
	s.stop()
	if found, err := Check(t.Context(), used, slog.New(slog.DiscardHandler)); err != nil || len(found.Problems) > 0 {
		t.Errorf("the store: %+v, %v", found.Problems, err)
	}
}

// footprintOf is what the process holds. On systems without /proc, files is 0.
type footprintOf struct {
	goroutines, files int
	heap              uint64
	disk              map[string]int64 // the sizes of the files of the embedded store
}

func footprint(data string) footprintOf {
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	open, _ := os.ReadDir("/proc/self/fd")
	disk := map[string]int64{}
	stored, _ := os.ReadDir(data)
	for _, f := range stored {
		if info, err := f.Info(); err == nil && !f.IsDir() {
			disk[f.Name()] = info.Size()
		}
	}
	return footprintOf{runtime.NumGoroutine(), len(open), m.HeapAlloc, disk}
}

// drive has the clients work for a time. No text comes twice, which would be merged.
func (s *soak) drive(half int, length time.Duration) {
	end := time.Now().Add(length)
	var clients sync.WaitGroup
	for i := range soakClients {
		random := rand.New(rand.NewPCG(uint64(i), uint64(half)))
		clients.Go(func() {
			for n := 0; time.Now().Before(end) && !s.t.Failed(); n++ {
				s.act(random, fmt.Sprintf("thing %d of client %d in half %d", n, i, half))
			}
		})
	}
	clients.Wait()
}

// expect sends a request, which must be answered with the status.
func (s *soak) expect(kind string, want int, method, path string, body any) object {
	status, answer := s.try(method, "/v1/collections/"+path, body)
	if status != want {
		s.t.Errorf("%s: %s %s: %d, want %d: %v", kind, method, path, status, want, answer)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did[kind]++
	return answer
}

// act does one of the things that clients do.
func (s *soak) act(random *rand.Rand, what string) {
	policy := soakPolicies[1+random.IntN(len(soakPolicies)-1)]
	switch random.IntN(12) {
	case 0, 1:
		note, _ := s.expect("add", http.StatusCreated, http.MethodPost, "none/notes", object{"content": "The ferry carries " + what + "."})["note"].(object)
		s.mark("none", note["id"])
	case 2, 3:
		s.expect("message", http.StatusAccepted, http.MethodPost, policy+"/messages", object{"messages": []object{{"user": "I have seen " + what + " in Lisbon.", "assistant": "I see."}}})
		s.mu.Lock()
		s.sent[policy] += 2
		s.mu.Unlock()
	case 4:
		answer := s.expect("step", http.StatusOK, http.MethodPost, "memgpt/step", object{"tool": "archival_insert", "arguments": object{"content": "An agent knows " + what + "."}})
		if answer["ok"] != true {
			s.t.Errorf("a step: %v", answer)
		}
		s.mu.Lock()
		s.sent["steps"]++
		s.mu.Unlock()
	case 5:
		s.expect("event", http.StatusOK, http.MethodPost, "memgpt/events", object{"content": "Do you know " + what + "?", "wait": "done"})
	case 6:
		s.expect("search", http.StatusOK, http.MethodPost, policy+"/search", object{"query": what})
	case 7:
		s.expect("context", http.StatusOK, http.MethodPost, policy+"/context", object{"query": what})
	case 8:
		fork, _ := s.expect("fork", http.StatusCreated, http.MethodPost, policy+"/clone", object{"name": "f-" + strconv.FormatUint(random.Uint64(), 36)})["name"].(string)
		s.expect("delete a fork", http.StatusNoContent, http.MethodDelete, fork, nil)
	default:
		id := s.one("none")
		if id == "" {
			return
		}
		switch random.IntN(3) {
		case 0:
			s.expect("patch", http.StatusOK, http.MethodPatch, "none/notes/"+id, object{"content": "Changed: " + what})
			s.mark("none", id)
		case 1:
			s.expect("delete", http.StatusNoContent, http.MethodDelete, "none/notes/"+id, nil)
		case 2:
			s.expect("erase", http.StatusOK, http.MethodDelete, "none/notes/"+id+"?erase=true", nil)
		}
	}
}

// one takes a note, so that no other client changes it meanwhile.
func (s *soak) one(policy string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range s.written[policy] {
		delete(s.written[policy], id)
		return id
	}
	return ""
}

// mark notes that a note is there.
func (s *soak) mark(policy string, id any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text, ok := id.(string); ok {
		s.written[policy][text] = true
	}
}

// rest waits until no job is due, and none has failed.
func (s *soak) rest() {
	s.until("no job is left", func() bool {
		for _, state := range []string{"queued", "running"} {
			if len(s.call(http.StatusOK, http.MethodGet, "/v1/jobs?limit=1&state="+state, nil)["items"].([]any)) > 0 {
				return false
			}
		}
		return true
	})
	for _, state := range []string{"dead", "failed"} {
		if bad := s.call(http.StatusOK, http.MethodGet, "/v1/jobs?limit=5&state="+state, nil)["items"].([]any); len(bad) > 0 {
			s.t.Errorf("%s jobs: %v", state, bad)
		}
	}
}

// all returns how often each note of a collection and a kind is listed.
func (s *soak) all(policy, kind string) map[string]int {
	seen := map[string]int{}
	for cursor := ""; ; {
		page := s.call(http.StatusOK, http.MethodGet, "/v1/collections/"+policy+"/notes?limit=100&kind="+kind+cursor, nil)
		for _, item := range page["items"].([]any) {
			seen[item.(object)["id"].(string)]++
		}
		next, _ := page["next_cursor"].(string)
		if next == "" {
			return seen
		}
		cursor = "&cursor=" + next
	}
}

// verify compares what was acknowledged with what is there.
func (s *soak) verify() {
	notes := s.all("none", "note")
	for id := range s.written["none"] {
		if notes[id] != 1 {
			s.t.Errorf("the note %s is listed %d times", id, notes[id])
		}
	}
	if len(notes) != len(s.written["none"]) {
		s.t.Errorf("%d notes are listed, %d were acknowledged and not deleted", len(notes), len(s.written["none"]))
	}
	if n := len(s.all("memgpt", "passage")); n != s.sent["steps"] {
		s.t.Errorf("%d notes of agents' steps are listed, %d were acknowledged", n, s.sent["steps"])
	}
	for _, policy := range soakPolicies[1:] {
		if policy == "memgpt" { // where agents speak, too
			continue
		}
		if n := len(s.all(policy, "message")); n != s.sent[policy] {
			s.t.Errorf("%s: %d messages are listed, %d were acknowledged", policy, n, s.sent[policy])
		}
	}
}
