package app

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
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/config"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// site is an installation's database with one tenant.
type site struct {
	*postgres.Store // of this process, as a gateway opens it

	database    postgrestest.Database
	scope       tenant.Scope
	key         string
	collections *notes.Collections
	bases       map[int]base
	text        *corpus
	texts       []string // of notes to be added
	client      *http.Client
}

// base is a collection that was filled.
type base struct {
	id    uuid.UUID
	notes []uuid.UUID
	took  time.Duration
}

const benchSecret = "a wrapping key that all of them share"

func newSite(b *testing.B) *site {
	b.Helper()
	s := &site{
		database: postgrestest.New(b), bases: map[int]base{}, text: newCorpus(7),
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}},
	}
	b.Cleanup(s.client.CloseIdleConnections)
	s.Store = s.open(b, postgres.Config{URL: s.database.URL})
	cfg := config.Default()
	cfg.DatabaseURL, cfg.Auth.WrappingKey = s.database.URL, benchSecret
	a := must[*Admin](b)(OpenAdmin(b.Context(), cfg, slog.New(slog.DiscardHandler)))
	defer func() { _ = a.Close() }()
	made := must[tenant.Tenant](b)(a.CreateTenant(b.Context(), "bench"))
	s.scope = grant.Scope(made.ID, uuid.Nil, "bench", tenant.AllPermissions()...)
	s.key = must[auth.CreatedKey](b)(a.CreateKey(b.Context(), "bench", NewKey{Name: "bench"})).Text
	s.collections = must[*notes.Collections](b)(notes.NewCollections(notes.CollectionsDeps{
		Store: s.Store, Agents: s.Store, Embedders: practised{Embedder: llm.Hash{}}, Policies: memory.NewPolicySet(policy.NewNone()),
	}))
	for range 4096 {
		s.texts = append(s.texts, s.text.note())
	}
	return s
}

// open opens the database with other settings.
func (s *site) open(b *testing.B, c postgres.Config) *postgres.Store {
	b.Helper()
	c.Connections = 40
	st := must[*postgres.Store](b)(postgres.Open(b.Context(), c, postgres.Deps{}))
	b.Cleanup(func() { _ = st.Close() })
	return st
}

// owner is a connection of the owner of the database.
func (s *site) owner(b *testing.B) *pgx.Conn {
	b.Helper()
	conn := must[*pgx.Conn](b)(pgx.Connect(b.Context(), s.database.OwnerURL))
	b.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// query reads one row as the owner.
func (s *site) query(b *testing.B, text string, into ...any) {
	b.Helper()
	if err := s.owner(b).QueryRow(b.Context(), text).Scan(into...); err != nil {
		b.Fatal(err)
	}
}

// exec runs statements as the owner.
func (s *site) exec(b *testing.B, text string) {
	b.Helper()
	if _, err := s.owner(b).Exec(b.Context(), text, pgx.QueryExecModeSimpleProtocol); err != nil {
		b.Fatal(err)
	}
}

// empty makes a collection.
func (s *site) empty(b *testing.B) uuid.UUID {
	b.Helper()
	v := must[notes.CollectionView](b)(s.collections.Create(b.Context(), s.scope,
		notes.CollectionInput{Name: "c-" + uuid.NewString(), Policy: memory.PolicyNone}, memory.Request{}))
	return v.Collection.ID
}

// filled gives the collection of n notes, written 500 a transaction when it is first asked for.
func (m *serversBench) filled(b *testing.B, n int) base {
	b.Helper()
	s := m.site
	if c, ok := s.bases[n]; ok {
		return c
	}
	m.sayf("loading %d notes", n)
	c := base{id: s.empty(b)}
	for len(c.notes) < n {
		notes := s.notes(b, min(500, n-len(c.notes)))
		start := time.Now()
		c.notes = append(c.notes, s.put(b, c.id, notes)...)
		c.took += time.Since(start)
	}
	s.bases[n] = c
	// As the server does by itself after a while.
	s.exec(b, "VACUUM (ANALYZE)")
	m.sayf("loaded them in %.1f s", c.took.Seconds())
	return c
}

// put writes notes in one changeset and gives their ids.
func (s *site) put(b *testing.B, c uuid.UUID, notes []memory.Note) []uuid.UUID {
	b.Helper()
	var ids []uuid.UUID
	_, err := s.Write(b.Context(), s.scope, c, memory.WriteOptions{Cause: memory.CauseImport}, func(ctx context.Context, tx memory.Tx) error {
		ids = make([]uuid.UUID, 0, len(notes))
		for _, n := range notes {
			n, err := tx.Put(ctx, n)
			if err != nil {
				return err
			}
			ids = append(ids, n.ID)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return ids
}

// notes are so many with vectors, whose evolution is over: a fork has nothing to adopt.
func (s *site) notes(b *testing.B, n int) []memory.Note {
	b.Helper()
	out := make([]memory.Note, n)
	for i := range out {
		out[i] = memory.Note{
			Kind: memory.KindNote, Content: s.text.note(), Category: memory.DefaultCategory, Importance: memory.DefaultImportance, State: memory.StateEvolved,
		}
		out[i].Vector = s.embed(b, out[i].Content)
	}
	return out
}

func (s *site) embed(b *testing.B, text string) []float32 {
	b.Helper()
	return must[[]memory.Embedding](b)(llm.Hash{}.Embed(b.Context(), s.scope, []string{text}))[0].Vector
}

// add writes a note as the API does: with its vector, the job that follows, and an audit row.
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

// process is a gateway of its own.
type process struct {
	url  string
	pid  int
	stop func()
}

var urlInLog = regexp.MustCompile(`"url":"(http://[^"]+)"`)

// gateway starts one with further settings ("NAME=value"), without Redis unless they name it.
func (m *serversBench) gateway(b *testing.B, s *site, settings ...string) *process {
	b.Helper()
	log := &syncBuffer{}
	cmd := exec.Command(m.binary, "serve")
	cmd.Stderr = log
	cmd.Env = slices.Concat([]string{
		"HOME=" + os.Getenv("HOME"), "DATABASE_URL=" + s.database.URL, "SLIPBOX_WRAPPING_KEY=" + benchSecret,
		"SLIPBOX_ADDR=127.0.0.1:0", "SLIPBOX_EMBEDDER=hash", "SLIPBOX_LOG_FORMAT=json",
	}, settings)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	p := &process{pid: cmd.Process.Pid}
	stopped := false
	p.stop = func() {
		if stopped {
			return
		}
		stopped = true
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				b.Errorf("the gateway ended: %v\n%s", err, log)
			}
		case <-time.After(time.Minute):
			_ = cmd.Process.Kill()
			b.Errorf("the gateway did not stop within a minute\n%s", log)
		}
	}
	b.Cleanup(p.stop)
	for deadline := time.After(time.Minute); ; {
		if found := urlInLog.FindStringSubmatch(log.String()); found != nil {
			p.url = found[1]
			if resp, err := s.client.Get(p.url + "/readyz"); err == nil {
				_ = resp.Body.Close()
				if resp.StatusCode == http.StatusOK {
					return p
				}
			}
		}
		select {
		case <-deadline:
			b.Fatalf("the gateway is not ready after a minute\n%s", log)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// call makes a request and gives its answer.
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

// tell adds one of the texts through a gateway.
func (s *site) tell(p *process, c uuid.UUID, i int) error {
	_, err := s.call(p, http.MethodPost, "/v1/collections/"+c.String()+"/notes",
		map[string]any{"content": s.texts[i%len(s.texts)], "infer": false}, http.StatusCreated)
	return err
}

// ask searches through a gateway.
func (s *site) ask(p *process, c uuid.UUID, body map[string]any) ([]byte, error) {
	return s.call(p, http.MethodPost, "/v1/collections/"+c.String()+"/search", body, http.StatusOK)
}
