package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/internal/config"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/corpus"
	"github.com/slipboxhq/slipbox/test/must"
)

// site is the database of an installation with one tenant.
type site struct {
	*postgres.Store // opened by this process as a gateway would

	database    postgrestest.Database
	scope       tenant.Scope
	key         string
	collections *notes.Collections
	bases       map[int]base
	text        *corpus.Corpus
	texts       []string // of notes to add
	client      *http.Client
}

// base is a filled collection.
type base struct {
	id    uuid.UUID
	notes []uuid.UUID
	took  time.Duration
}

const benchSecret = "a wrapping key that all of them share"

func newSite(b *testing.B) *site {
	b.Helper()
	s := &site{
		database: postgrestest.New(b), bases: map[int]base{}, text: corpus.New(7),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	b.Cleanup(s.client.CloseIdleConnections)
	s.Store = s.open(b, postgres.Config{URL: s.database.URL})
	cfg := config.Default()
	cfg.DatabaseURL, cfg.Auth.WrappingKey = s.database.URL, benchSecret
	a := must.Get(app.OpenAdmin(b.Context(), cfg, slog.New(slog.DiscardHandler)))(b)
	defer func() { _ = a.Close() }()
	made := must.Get(a.CreateTenant(b.Context(), "bench"))(b)
	s.scope = grant.Scope(made.ID, uuid.Nil, "bench", tenant.AllPermissions()...)
	s.key = must.Get(a.CreateKey(b.Context(), "bench", app.NewKey{Name: "bench"}))(b).Text
	s.collections = must.Get(notes.NewCollections(notes.CollectionsDeps{
		Store: s.Store, Agents: s.Store, Embedders: cachingEmbedder{Embedder: llm.Hash{}}, Policies: memory.NewPolicySet(policy.NewNone()),
	}))(b)
	for range 4096 {
		s.texts = append(s.texts, s.text.Note())
	}
	return s
}

// open opens the database with other settings.
func (s *site) open(b *testing.B, c postgres.Config) *postgres.Store {
	b.Helper()
	c.Connections = 40
	st := must.Get(postgres.Open(b.Context(), c, postgres.Deps{}))(b)
	b.Cleanup(func() { _ = st.Close() })
	return st
}

// owner opens a connection of the owner of the database.
func (s *site) owner(b *testing.B) *pgx.Conn {
	b.Helper()
	conn := must.Get(pgx.Connect(b.Context(), s.database.OwnerURL))(b)
	b.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// query reads one row as the owner.
func (s *site) query(b *testing.B, text string, into ...any) {
	b.Helper()
	must.Do(b, s.owner(b).QueryRow(b.Context(), text).Scan(into...))
}

// exec runs statements as the owner.
func (s *site) exec(b *testing.B, text string) {
	b.Helper()
	must.Get(s.owner(b).Exec(b.Context(), text, pgx.QueryExecModeSimpleProtocol))(b)
}

// newCollection creates an empty collection.
func (s *site) newCollection(b *testing.B) uuid.UUID {
	b.Helper()
	v := must.Get(s.collections.Create(b.Context(), s.scope,
		notes.CollectionInput{Name: "c-" + uuid.NewString(), Policy: memory.PolicyNone}, memory.Request{}))(b)
	return v.Collection.ID
}

// filled returns the collection of n notes. On first use it writes it, 500 notes per transaction.
func (m *serversBench) filled(b *testing.B, n int) base {
	b.Helper()
	s := m.site
	if c, ok := s.bases[n]; ok {
		return c
	}
	m.logf("loading %d notes", n)
	c := base{id: s.newCollection(b)}
	for len(c.notes) < n {
		notes := s.notes(b, min(500, n-len(c.notes)))
		start := time.Now()
		c.notes = append(c.notes, s.put(b, c.id, notes)...)
		c.took += time.Since(start)
	}
	s.bases[n] = c
	// The server would do this itself after a while.
	s.exec(b, "VACUUM (ANALYZE)")
	m.logf("loaded them in %.1f s", c.took.Seconds())
	return c
}

// put writes notes in one changeset and returns their ids.
func (s *site) put(b *testing.B, c uuid.UUID, notes []memory.Note) []uuid.UUID {
	b.Helper()
	var ids []uuid.UUID
	must.Get(s.Write(b.Context(), s.scope, c, memory.WriteOptions{Cause: memory.CauseImport}, func(ctx context.Context, tx memory.Tx) error {
		ids = make([]uuid.UUID, 0, len(notes))
		for _, n := range notes {
			n, err := tx.Put(ctx, n)
			if err != nil {
				return err
			}
			ids = append(ids, n.ID)
		}
		return nil
	}))(b)
	return ids
}

// notes returns n notes with vectors in the state evolved, so that a fork has no jobs to adopt.
func (s *site) notes(b *testing.B, n int) []memory.Note {
	b.Helper()
	out := make([]memory.Note, n)
	for i := range out {
		out[i] = memory.Note{
			Kind: memory.KindNote, Content: s.text.Note(), Category: memory.DefaultCategory, Importance: memory.DefaultImportance, State: memory.StateEvolved,
		}
		out[i].Vector = s.embed(b, out[i].Content)
	}
	return out
}

func (s *site) embed(b *testing.B, text string) []float32 {
	b.Helper()
	return must.Get(llm.Hash{}.Embed(b.Context(), s.scope, []string{text}))(b)[0].Vector
}

// add writes a note as the API does: with its vector, its job and an audit row.
func (s *site) add(st *postgres.Store, c uuid.UUID, n memory.Note) error {
	_, err := st.Write(context.Background(), s.scope, c, memory.WriteOptions{
		Cause: memory.CauseAdd, Audit: []memory.AuditEntry{{Action: "note.create"}},
	}, func(ctx context.Context, tx memory.Tx) error {
		n, err := tx.Put(ctx, n)
		if err != nil {
			return err
		}
		_, err = tx.Enqueue(ctx, memory.Job{Note: n.ID, Kind: memory.JobNote, Stage: memory.StagePrepare})
		return err
	})
	return err
}

// process is a gateway in a process of its own.
type process struct {
	*commandtest.Process

	url string
	pid int
}

// stop stops the gateway, unless it has stopped already.
func (p *process) stop(b *testing.B) {
	b.Helper()
	select {
	case <-p.Done:
		return
	default:
	}
	if code := p.Stop(b); code != 0 {
		b.Errorf("the gateway ended with %d\n%s", code, p.Stderr)
	}
}

var urlInLog = regexp.MustCompile(`"url":"(http://[^"]+)"`)

// gateway starts a gateway with further settings ("NAME=value"). It uses Redis only if they
// name it.
func (m *serversBench) gateway(b *testing.B, s *site, settings ...string) *process {
	b.Helper()
	cmd := exec.Command(m.binary, "serve")
	cmd.Env = slices.Concat([]string{
		"HOME=" + os.Getenv("HOME"), "DATABASE_URL=" + s.database.URL, "SLIPBOX_WRAPPING_KEY=" + benchSecret,
		"SLIPBOX_ADDR=127.0.0.1:0", "SLIPBOX_EMBEDDER=hash", "SLIPBOX_LOG_FORMAT=json", "SLIPBOX_REQUESTS_PER_SECOND=1000000",
	}, settings)
	p := &process{Process: commandtest.Start(b, cmd), pid: cmd.Process.Pid}
	b.Cleanup(func() { p.stop(b) })
	p.Await(b, "the gateway is ready", func() bool {
		found := urlInLog.FindStringSubmatch(p.Stderr.String())
		if found == nil {
			return false
		}
		p.url = found[1]
		resp, err := s.client.Get(p.url + "/readyz")
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
	return p
}

// call makes a request and returns its answer.
func (s *site) call(p *process, method, path string, body any, want int) ([]byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(context.Background(), method, p.url+path, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+s.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != want {
		err = fmt.Errorf("%s: %s: %s", path, resp.Status, answer)
	}
	return answer, err
}

// addOverHTTP adds one of the texts through a gateway.
func (s *site) addOverHTTP(p *process, c uuid.UUID, i int) error {
	_, err := s.call(p, http.MethodPost, "/v1/collections/"+c.String()+"/notes",
		map[string]any{"content": s.texts[i%len(s.texts)], "infer": false, "on_duplicate": "keep"}, http.StatusCreated)
	return err
}

// searchOverHTTP searches through a gateway.
func (s *site) searchOverHTTP(p *process, c uuid.UUID, body map[string]any) ([]byte, error) {
	return s.call(p, http.MethodPost, "/v1/collections/"+c.String()+"/search", body, http.StatusOK)
}
