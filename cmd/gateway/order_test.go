package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// linksOf lists the links of a collection as "4>1", where a note is named by the order of adding.
func linksOf(t *testing.T, p *process, key, collection string) []string {
	t.Helper()
	waitIdle(t, p, key)
	place, next := map[string]int{}, ""
	type edge struct{ from, to string }
	var edges []edge
	for {
		page := p.must(t, key, 200, "GET", "/v1/collections/"+collection+"/notes?limit=200"+next, nil)
		for _, item := range page["items"].([]any) {
			note := item.(object)
			id := note["id"].(string)
			place[id] = len(place)
			for _, l := range note["links"].([]any) {
				edges = append(edges, edge{id, l.(object)["target"].(string)})
			}
		}
		cursor, more := page["next_cursor"].(string)
		if !more {
			break
		}
		next = "&cursor=" + cursor
	}
	out := make([]string, len(edges))
	for i, e := range edges {
		if place[e.from] <= place[e.to] {
			t.Errorf("%s: note %d links to %d, which was added after it", collection, place[e.from], place[e.to])
		}
		out[i] = fmt.Sprintf("%d>%d", place[e.from], place[e.to])
	}
	slices.Sort(out)
	return out
}

// A bulk creates the same links as adding the notes one by one: a note sees those that were decided
// before it, even if later ones are prepared faster.
func TestBulkLinksInOrder(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, data, nil)
	key := newKey(t, data)
	const notes = 60
	var lines strings.Builder
	p.must(t, key, 201, "POST", "/v1/collections", object{"name": "single"})
	p.must(t, key, 201, "POST", "/v1/collections", object{"name": "bulk"})
	for i := range notes {
		note := object{"content": sentence(i)}
		p.must(t, key, 201, "POST", "/v1/collections/single/notes?wait=evolved", note)
		line := must.Get(json.Marshal(note))(t)
		lines.Write(append(line, '\n'))
	}
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodPost, p.url+"/v1/collections/bulk/notes/bulk", strings.NewReader(lines.String())))(t)
	req.Header.Set("Authorization", "Bearer "+key)
	req.Header.Set("Content-Type", "application/x-ndjson")
	resp := must.Get(http.DefaultClient.Do(req))(t)
	answer, err := io.ReadAll(resp.Body)
	if closeErr := resp.Body.Close(); err != nil || closeErr != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("bulk: %s, %v, %v\n%s", resp.Status, err, closeErr, answer)
	}
	single, bulk := linksOf(t, p, key, "single"), linksOf(t, p, key, "bulk")
	if len(single) == 0 || !slices.Equal(single, bulk) {
		t.Errorf("one by one: %v\nin one bulk: %v", single, bulk)
	}
}

// C061: an ephemeral collection is deleted by a stop, and by the start after a kill. Others remain.
func TestEphemeralCollectionsEndWithTheGateway(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	p := serve(t, data, nil)
	key := newKey(t, data)
	p.must(t, key, 201, "POST", "/v1/collections", object{"name": "kept"})
	for _, end := range []struct {
		name string
		do   func()
	}{{"stop", func() { p.Stop(t) }}, {"kill", func() { p.Kill() }}} {
		p.must(t, key, 201, "POST", "/v1/collections", object{"name": "scratch", "ephemeral": true})
		p.must(t, key, 201, "POST", "/v1/collections/scratch/notes", object{"content": "only for now"})
		p.must(t, key, 201, "POST", "/v1/collections/kept/clone", object{"name": "scratch-fork-" + end.name})
		end.do()
		p = serve(t, data, nil)
		p.must(t, key, 404, "GET", "/v1/collections/scratch", nil)
		p.must(t, key, 200, "GET", "/v1/collections/kept", nil)
		if out, msg, code := run(t, nil, "check", "--data", data); code != 0 {
			t.Errorf("after a %s: exit %d\n%s%s", end.name, code, out, msg)
		}
	}
}
