package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

// kind is a kind of request.
type kind string

// What the agents send, and what only the flooding tenant sends.
const (
	add      kind = "add"
	search   kind = "search"
	contexts kind = "context"
	messages kind = "messages"
	// What the machine itself needs for a part of the above, and how that changes beside a flood.
	sync4k kind = "fsync of 4 KiB"
	empty  kind = "empty request"

	bulk kind = "bulk"
	fork kind = "fork"
	chat kind = "chat"
)

// Shares of an agent's requests, in the order of agentKinds, of 10.
var agentKinds = []kind{add, add, add, search, search, search, search, contexts, contexts, messages}

var floodKinds = []kind{add, add, add, add, bulk, search, search, search, fork, chat}

// bulkLines is the number of notes in one bulk of the flooding tenant.
const bulkLines = 50

// caller is an agent: a key and its collections.
type caller struct {
	Name  string `json:"name"`
	URL   string `json:"url"`
	Key   string `json:"key"`
	Seed  uint64 `json:"seed"`
	Notes string `json:"notes"` // the collection of notes
	Talk  string `json:"talk"`  // the collection of messages

	rng   *rand.Rand
	forks int
}

// begin makes what a caller sends repeatable.
func (c *caller) begin() {
	c.rng = rand.New(rand.NewPCG(c.Seed, 1)) //nolint:gosec // a run that can be repeated
}

// crowd are the agents of the tenants that are measured.
type crowd struct{ callers []*caller }

// sample is one request.
type sample struct {
	agent  string
	kind   kind
	took   time.Duration
	status int
}

var client = &http.Client{
	Timeout:   90 * time.Second,
	Transport: &http.Transport{MaxIdleConns: 4096, MaxIdleConnsPerHost: 4096, IdleConnTimeout: time.Minute},
}

// send sends a request once, and decodes the answer into what it is given. A refusal is an error with a status.
func (c *caller) send(ctx context.Context, path string, body, into any) (status int, err error) {
	api, err := slipbox.New(slipbox.Config{URL: c.URL, Key: c.Key, HTTP: client, Retries: -1})
	if err != nil {
		return 0, err
	}
	header := http.Header{}
	if strings.HasSuffix(path, "/bulk") {
		header.Set("Content-Type", "application/x-ndjson")
	}
	resp, err := api.Do(ctx, slipbox.Request{Method: http.MethodPost, Path: path, Header: header, Body: body})
	if problem, ok := errors.AsType[*slipbox.ProblemError](err); ok {
		return problem.Status, err
	} else if err != nil {
		return 0, err
	}
	raw, err := io.ReadAll(resp.Body)
	err = errors.Join(err, resp.Body.Close())
	if err == nil && into != nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, nil
}

func document(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // of literals
	}
	return raw
}

type object = map[string]any

var words = strings.Fields("amber bridge cedar delta ember falcon garden harbor island jasmine kettle lantern meadow nectar orchard pepper quartz river saddle timber")

func (c *caller) text() string {
	out := make([]string, 12)
	for i := range out {
		out[i] = words[c.rng.IntN(len(words))]
	}
	return strings.Join(out, " ") + fmt.Sprintf(" %d", c.rng.IntN(100_000))
}

// do sends one request of a kind.
func (c *caller) do(ctx context.Context, k kind) (status int, err error) {
	path := "/v1/collections/" + c.Notes
	var body any
	switch k {
	case add:
		path, body = path+"/notes", object{"content": c.text()}
	case search:
		path, body = path+"/search", object{"query": c.text(), "k": 10}
	case contexts:
		path, body = path+"/context", object{"query": c.text()}
	case messages:
		path, body = "/v1/collections/"+c.Talk+"/messages", object{"messages": []object{{"role": "user", "content": c.text()}}, "on_duplicate": "keep"}
	case bulk:
		var lines bytes.Buffer
		for range bulkLines {
			lines.Write(document(object{"content": c.text()}))
			lines.WriteByte('\n')
		}
		return c.send(ctx, path+"/notes/bulk", lines.Bytes(), nil)
	case fork:
		c.forks++
		path, body = path+"/clone", object{"mode": "fork", "name": fmt.Sprintf("fork-%s-%d", c.Notes, c.forks)}
	case chat:
		path, body = path+"/chat", object{"message": c.text()}
	case sync4k, empty:
		return 0, fmt.Errorf("an agent does not send %s", k)
	}
	return c.send(ctx, path, body, nil)
}

// populate creates the tenants with their agents and collections.
func (t *site) populate(ctx context.Context, s *settings) (*crowd, *flood, error) {
	everyone, f := &crowd{}, &flood{}
	seed := uint64(0)
	run := time.Now().Unix() // servers may hold the tenants of an earlier run
	enter := func(name string) (*caller, error) {
		var made struct{ Key string }
		if err := t.command(ctx, nil, "tenant", "create", name); err != nil {
			return nil, err
		}
		err := t.command(ctx, &made, "key", "create", "--tenant", name, "--json")
		return &caller{URL: t.url, Key: made.Key}, err
	}
	for i := range s.tenants + 1 {
		owner, err := enter(fmt.Sprintf("load-%d-%d", run, i))
		if err != nil {
			return nil, nil, err
		}
		agents := s.agents
		if i == s.tenants {
			agents = s.flood
		}
		for a := range agents {
			seed++
			c := &caller{Name: fmt.Sprintf("tenant %d agent %d", i, a), URL: t.url, Key: owner.Key, Seed: seed}
			c.begin()
			for _, m := range []struct {
				id     *string
				name   string
				policy string
			}{{&c.Notes, "notes", "amem"}, {&c.Talk, "talk", "mem0"}} {
				var made struct{ ID string }
				body := object{"name": fmt.Sprintf("%s-%d", m.name, a), "policy": m.policy}
				if _, err := c.send(ctx, "/v1/collections", body, &made); err != nil {
					return nil, nil, err
				}
				*m.id = made.ID
			}
			if i == s.tenants {
				f.callers = append(f.callers, c)
			} else {
				everyone.callers = append(everyone.callers, c)
			}
		}
		if i%20 == 0 {
			progressf("%d of %d tenants", i, s.tenants+1)
		}
	}
	return everyone, f, nil
}

// act has all agents send requests for the length of a run, beside a flood if there is one.
func (e *crowd) act(ctx context.Context, s *settings, t *site, f *flood) (all []sample, err error) {
	if f != nil {
		stop, err := f.begin(ctx)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	ctx, cancel := context.WithTimeout(ctx, s.length)
	defer cancel()
	var mu sync.Mutex
	var agents sync.WaitGroup
	for _, c := range e.callers {
		agents.Go(func() {
			for {
				// Exponential pauses: agents do not act in step.
				select {
				case <-ctx.Done():
					return
				case <-time.After(time.Duration(c.rng.ExpFloat64() * float64(s.pause))):
				}
				k := agentKinds[c.rng.IntN(len(agentKinds))]
				began := time.Now()
				status, _ := c.do(context.WithoutCancel(ctx), k) // a refusal is a status, a lost connection is 0
				mu.Lock()
				all = append(all, sample{c.Name, k, time.Since(began), status})
				mu.Unlock()
			}
		})
	}
	agents.Go(func() {
		for _, s := range t.limits(ctx) {
			mu.Lock()
			all = append(all, s)
			mu.Unlock()
		}
	})
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	done := make(chan struct{})
	go func() { agents.Wait(); close(done) }()
	for {
		select {
		case <-done:
			return all, nil
		case <-tick.C:
			mu.Lock()
			n := len(all)
			mu.Unlock()
			progressf("%d requests of the agents", n)
		}
	}
}
