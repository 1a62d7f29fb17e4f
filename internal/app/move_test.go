package app

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/eval"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/test/must"
)

type moveHit struct {
	id    string
	score float64
}

// moveSearches runs a fixed list of searches in every mode.
func moveSearches(g *gatewayTest) map[string][]moveHit {
	g.t.Helper()
	out := map[string][]moveHit{}
	for _, collection := range []string{"talk", "scouts-talk", "copied-talk"} {
		for _, query := range []string{"Which kiln will be used?", "glaze cobalt", "the ankle on the climbing wall", "When does the pottery studio open?", "lease on Alder Street"} {
			for _, more := range []object{
				{"mode": "lexical"}, {"mode": "vector"}, {"mode": "hybrid"}, {"mode": "hybrid", "expand_links": 2},
				{"mode": "vector", "filter": object{"field": "attributes.speaker", "op": "eq", "value": "Nora"}},
				{"mode": "hybrid", "as_of": 12},
			} {
				body := object{"query": query, "k": 8}
				maps.Copy(body, more)
				if more["as_of"] != nil && collection == "copied-talk" {
					continue // starts later
				}
				hits := []moveHit{}
				for _, h := range g.call(http.StatusOK, http.MethodPost, "/v1/collections/"+collection+"/search", body)["hits"].([]any) {
					hit := h.(object)
					hits = append(hits, moveHit{hit["note"].(object)["id"].(string), hit["score"].(float64)})
				}
				out[fmt.Sprint(collection, " ", query, " ", more)] = hits
			}
		}
	}
	return out
}

func sameHits(t *testing.T, where string, want, got map[string][]moveHit) {
	t.Helper()
	found := 0
	for q, w := range want {
		same := slices.EqualFunc(w, got[q], func(a, b moveHit) bool { return a.id == b.id && math.Abs(a.score-b.score) <= 1e-5 })
		if !same {
			t.Errorf("%s: %s found\n%v, was\n%v", where, q, got[q], w)
		}
		found += len(w)
	}
	if len(got) != len(want) || found < 5*len(want) {
		t.Errorf("%s: %d searches with %d hits, want %d searches and more hits", where, len(got), found, len(want))
	}
}

func discardErr(out *bytes.Buffer) Streams { return Streams{Out: out, Err: io.Discard} }

// An installation moves to servers and back. Searches return the same lists, and keys stay valid.
func TestMoveToServersAndBack(t *testing.T) {
	t.Parallel()
	database := postgrestest.New(t)
	log := slog.New(slog.DiscardHandler)
	data := filepath.Join(t.TempDir(), "data")
	embedded := func(dir string) func(*Settings) { return func(c *Settings) { c.Data = dir } }

	g := startGateway(t, embedded(data))
	key := g.key
	client := &eval.Client{BaseURL: g.url, Key: key}
	conversation := must.Get(eval.Sample())(t)
	must.Get(eval.Load(t.Context(), client, "talk", "amem", &conversation, nil))(t)
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections/talk/clone", object{"agent": "scout", "name": "scouts-talk"})
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections/scouts-talk/notes?wait=evolved", object{"content": "The new gas kiln will be used for the vases."})
	g.call(http.StatusAccepted, http.MethodPost, "/v1/collections/talk/clone", object{"mode": "copy", "name": "copied-talk"})
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "scratch", "ephemeral": true})
	g.until("no job is left", func() bool {
		for _, state := range []string{"queued", "running"} {
			if len(g.call(http.StatusOK, http.MethodGet, "/v1/jobs?state="+state, nil)["items"].([]any)) > 0 {
				return false
			}
		}
		return true
	})
	moveSearches(g) // counts usage

	// While the gateway serves.
	file := filepath.Join(t.TempDir(), "moved.ndjson.gz")
	cfg := settings(t, nil, embedded(data))
	must.Do(t, Export(t.Context(), cfg, log, file, discardErr(nil)))
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v; want it for its owner alone", info, err)
	}
	if err := Export(t.Context(), cfg, log, file, discardErr(nil)); !fault.Is(err, fault.Exists) {
		t.Errorf("a second export to the file: %v", err)
	}
	want := moveSearches(g)
	g.stop()

	owner := settings(t, nil, func(c *Settings) { c.MigrateDatabaseURL = database.OwnerURL })
	problems, err := Import(t.Context(), owner, log, file, discardErr(nil))
	if err != nil || len(problems) > 0 {
		t.Fatalf("import: %v, %v", problems, err)
	}
	// As after a kill between the commit and the end of the command.
	if problems, err := Import(t.Context(), owner, log, file, discardErr(nil)); err != nil || len(problems) > 0 {
		t.Errorf("a second import: %v, %v", problems, err)
	}
	s := &servers{t: t, database: database, key: key, base: func(c *Settings) {
		c.DatabaseURL, c.Auth.WrappingKey, c.Database.Connections = database.URL, "another wrapping key than the data directory's", 4
	}}
	on := s.gateway(nil)
	sameHits(t, "on servers", want, moveSearches(on))
	if ends := on.call(http.StatusOK, http.MethodGet, "/v1/collections/scratch", nil)["expires_at"]; ends == nil {
		t.Error("an ephemeral collection has no end on servers")
	}
	on.call(http.StatusCreated, http.MethodPost, "/v1/collections/scouts-talk/notes?wait=evolved", object{"content": "Written after the move, and evolved."})
	on.stop()

	// Back again, through a pipe.
	var back bytes.Buffer
	must.Do(t, Export(t.Context(), owner, log, "-", discardErr(&back)))
	home := filepath.Join(t.TempDir(), "home")
	var says bytes.Buffer
	problems, err = Import(t.Context(), settings(t, nil, embedded(home)), log, "-", Streams{In: &back, Err: &says})
	if err != nil || len(problems) > 0 {
		t.Fatalf("import back: %v, %v", problems, err)
	}
	if !strings.Contains(says.String(), "notes: ") {
		t.Errorf("nothing tells of the notes:\n%s", &says)
	}
	after, stdout := launch(t, settings(t, nil, embedded(home)))
	after.key = key
	if strings.Contains(stdout.String(), "sb_") {
		t.Error("a store that has keys printed a first one")
	}
	for q, hits := range moveSearches(after) {
		if w := want[q]; !strings.HasPrefix(q, "scouts-talk") && !slices.EqualFunc(w, hits, func(a, b moveHit) bool { return a.id == b.id && math.Abs(a.score-b.score) <= 1e-5 }) {
			t.Errorf("back home: %s found\n%v, was\n%v", q, hits, w)
		}
	}
	if ids := after.search("scouts-talk", "Written after the move", "lexical"); len(ids) == 0 {
		t.Error("what was written on servers did not come back")
	}
}

// A refused move says what to do, and leaves nothing behind.
func TestMoveIsRefused(t *testing.T) {
	t.Parallel()
	log := slog.New(slog.DiscardHandler)
	dir := t.TempDir()
	cfg := settings(t, nil, func(c *Settings) { c.Data = filepath.Join(dir, "data") })
	foreign := filepath.Join(dir, "foreign")
	must.Do(t, os.WriteFile(foreign, []byte("this is no export\n"), 0o600))
	if _, err := Import(t.Context(), cfg, log, foreign, discardErr(nil)); !fault.Is(err, fault.Malformed) {
		t.Errorf("a foreign file: %v", err)
	}
	if _, err := Import(t.Context(), cfg, log, filepath.Join(dir, "absent"), discardErr(nil)); !fault.Is(err, fault.NotFound) {
		t.Errorf("an absent file: %v", err)
	}
	if err := Export(t.Context(), cfg, log, filepath.Join(dir, "x"), discardErr(nil)); !fault.Is(err, fault.NotFound) {
		t.Errorf("an absent store: %v", err)
	}

	source := settings(t, nil, nil)
	g := startGateway(t, func(c *Settings) { c.Data = source.Data })
	if _, err := Import(t.Context(), source, log, "-", Streams{In: strings.NewReader("")}); !fault.Is(err, fault.Malformed) {
		t.Errorf("nothing on stdin: %v", err)
	}
	file := filepath.Join(dir, "x.ndjson")
	must.Do(t, Export(t.Context(), source, log, file, discardErr(nil)))
	if _, err := Import(t.Context(), source, log, file, discardErr(nil)); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("into the directory of a running gateway: %v", err)
	}
	g.stop()
	if _, err := Import(t.Context(), source, log, file, discardErr(nil)); !fault.Is(err, fault.Conflict) || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("into a directory in use: %v", err)
	}
	whole := must.Get(os.ReadFile(file))(t)
	if _, err := Import(t.Context(), cfg, log, "-", Streams{In: bytes.NewReader(whole[:len(whole)-5]), Err: io.Discard}); !fault.Is(err, fault.Malformed) {
		t.Errorf("a file that is cut off: %v", err)
	}
	if _, err := os.Stat(cfg.Data); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused import left its directory: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".slipbox-*")); len(left) > 0 {
		t.Errorf("an export left %v", left)
	}
	if problems, err := Import(t.Context(), cfg, log, file, discardErr(nil)); err != nil || len(problems) > 0 {
		t.Errorf("the whole file, after all: %v, %v", problems, err)
	}
}

// The progress of a long table is printed while it is read.
func TestMoveProgress(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := &moveProgress{to: &b, verb: "read"}
	for range 300 {
		p.countRow("notes")
		p.lastPrint = time.Now().Add(-time.Hour)
	}
	p.countRow("links")
	p.endTable()
	if got, want := b.String(), "notes: 256 rows read so far\nnotes: 300 rows read\nlinks: 1 row read\n"; got != want {
		t.Errorf("told %q, want %q", got, want)
	}
}
