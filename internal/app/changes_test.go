package app

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

// followChanges reads the stream of changes after a revision until it has some events or the collection is at a revision, and
// returns them with their ids. It is cut off then, within what the gateway still sends.
func (g *gatewayTest) followChanges(collection string, after, most int, last int64) ([]object, error) {
	ctx, cut := context.WithCancel(g.t.Context())
	defer cut()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, g.url+"/v1/collections/"+collection+"/changes", http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+g.key)
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Last-Event-ID", strconv.Itoa(after))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, errors.New(resp.Status)
	}
	var out []object
	id := ""
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			id = text
		}
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var change object
		if err := json.Unmarshal([]byte(text), &change); err != nil {
			return nil, err
		}
		if fmt.Sprint(int64(change["revision"].(float64))) != id {
			return nil, fmt.Errorf("the event %s has the revision %v", id, change["revision"])
		}
		if out = append(out, change); len(out) == most || int64(change["revision"].(float64)) >= last {
			return out, nil
		}
	}
	return out, nil
}

// A client of the stream knows that it is connected before anything happens.
func TestFeedOpens(t *testing.T) {
	t.Parallel()
	g := startGateway(t, func(*Settings) {})
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "quiet", "policy": "none"})
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, g.url+"/v1/collections/quiet/changes", http.NoBody))(t)
	req.Header.Set("Authorization", "Bearer "+g.key)
	req.Header.Set("Accept", "text/event-stream")
	resp := must.Get(http.DefaultClient.Do(req))(t)
	defer func() { _ = resp.Body.Close() }()
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections/quiet/notes", object{"content": "a note", "infer": false})
	if lines := bufio.NewScanner(resp.Body); !lines.Scan() || lines.Text() != "id: 1" {
		t.Errorf("the stream begins with %q (%v)", lines.Text(), lines.Err())
	}
}

// The feed is complete and in order under eight writers, for readers that are cut again and again, and its pages and its
// stream say the same.
func TestFeedUnderWriters(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(set func(*Settings)) *gatewayTest) {
		t.Helper()
		g := start(func(*Settings) {})
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "space", "policy": "none"})
		const writers, each, total = 8, 20, 8 * 20
		var wg sync.WaitGroup
		made := make([]map[string]bool, writers)
		for i := range writers {
			made[i] = map[string]bool{}
			wg.Go(func() {
				for n := range each {
					status, out := g.try(http.MethodPost, "/v1/collections/space/notes", object{"content": fmt.Sprint("by ", i, ", no ", n), "infer": false})
					note, ok := out["note"].(object)
					if !ok {
						t.Errorf("a note: %d, %v", status, out)
						return
					}
					made[i][note["id"].(string)] = true
				}
			})
		}
		read := make([][]string, 3)
		for i := range read {
			wg.Go(func() {
				for after := 0; after < total; {
					events, err := g.followChanges("space", after, 1+i*5, total)
					if err != nil {
						t.Error(err)
						return
					}
					for _, change := range events {
						after++
						if change["revision"] != float64(after) {
							t.Errorf("reader %d got %v in place of %d", i, change["revision"], after)
							return
						}
						for _, n := range change["notes"].([]any) {
							read[i] = append(read[i], fmt.Sprint(n.(object)["id"], " ", n.(object)["change"]))
						}
					}
				}
			})
		}
		wg.Wait()
		var paged []string
		for next := 0; ; {
			page := g.call(http.StatusOK, http.MethodGet, fmt.Sprintf("/v1/collections/space/changes?after=%d&limit=7", next), nil)
			items := page["items"].([]any)
			if len(items) == 0 {
				break
			}
			for _, item := range items {
				for _, n := range item.(object)["notes"].([]any) {
					paged = append(paged, fmt.Sprint(n.(object)["id"], " ", n.(object)["change"]))
				}
			}
			next = int(page["next"].(float64))
		}
		if len(paged) < total {
			t.Fatalf("%d changes of %d notes", len(paged), total)
		}
		for i := range read {
			if got, want := fmt.Sprint(read[i]), fmt.Sprint(paged[:len(read[i])]); got != want || len(read[i]) < total {
				t.Errorf("reader %d read %d changes, other than the pages: %s, want %s", i, len(read[i]), got, want)
			}
		}
		for i := range made {
			for id := range made[i] {
				if !strings.Contains(strings.Join(paged, " "), id+" added") {
					t.Errorf("no change tells of the note %s", id)
				}
			}
		}
	})
}
