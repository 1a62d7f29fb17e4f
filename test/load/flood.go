package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// flood is the tenant that sends as fast as it can, from a process of its own.
type flood struct {
	callers []*caller
	sent    floodSent
}

// floodSent is what a flood sent.
type floodSent struct {
	Sent  map[kind]int `json:"sent"`
	Codes map[int]int  `json:"codes"` // answers by status
}

// begin starts the flood; stop ends it and reads what it sent.
func (f *flood) begin(ctx context.Context) (stop func() error, err error) {
	p, err := beside(ctx, floodCommand)
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(p.in).Encode(f.callers); err != nil {
		return nil, errors.Join(err, p.end())
	}
	return func() error {
		// The end of its input is the end of the flood.
		return errors.Join(p.in.Close(), json.NewDecoder(p.out).Decode(&f.sent), p.end())
	}, nil
}

// flooding is the process of the flood: it reads its callers from in, sends until in ends, and writes floodSent.
func flooding(in io.Reader, out io.Writer) error {
	var callers []*caller
	lines := json.NewDecoder(in)
	if err := lines.Decode(&callers); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	said := floodSent{map[kind]int{}, map[int]int{}}
	var mu sync.Mutex
	var senders sync.WaitGroup
	for i, c := range callers {
		c.begin()
		senders.Go(func() {
			for n := i; ctx.Err() == nil; n++ { // together they send every kind from the start
				k := floodKinds[n%len(floodKinds)]
				status, err := c.do(ctx, k)
				if ctx.Err() != nil {
					return
				}
				mu.Lock()
				said.Sent[k]++
				said.Codes[status]++
				mu.Unlock()
				if err != nil || status == http.StatusTooManyRequests {
					select { // a refused client does not spin
					case <-ctx.Done():
					case <-time.After(10 * time.Millisecond):
					}
				}
			}
		})
	}
	senders.Wait()
	return json.NewEncoder(out).Encode(said)
}
