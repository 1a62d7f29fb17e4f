package app

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// Jobs of a newer version are skipped or fail with an error that says so. The jobs after them run.
func TestJobsOfANewerVersion(t *testing.T) {
	t.Parallel()
	s := newServers(t, true)
	g := s.gateway(nil)
	c := g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c"})["id"].(string)
	conn := must.Get(pgx.Connect(t.Context(), s.database.OwnerURL))(t)
	defer conn.Close(context.WithoutCancel(t.Context()))
	jobs := map[string]struct{ kind, stage, payload, state, says string }{
		"kind":              {"dream", "task", `{"v":9}`, "failed", `no worker here does jobs of the kind "dream"; a newer version`},
		"stage":             {"note", "reflect", `{"state":1}`, "queued", ""},
		"payload of a note": {"note", "prepare", `["another", "form"]`, "failed", "cannot be read; a newer version"},
		"payload of a copy": {"copy", "task", `{"source":{"id":1}}`, "failed", "cannot be read; a newer version"},
		"payload of an import": {
			"import", "task", `{"lines":"many"}`, "failed", "cannot be read; a newer version",
		},
	}
	ids := map[string]string{}
	for name, j := range jobs {
		id := uuid.Must(uuid.NewV7())
		ids[name] = id.String()
		if _, err := conn.Exec(t.Context(), `WITH h AS (UPDATE collection_heads SET job_seq = job_seq + 1 WHERE collection = $1 RETURNING tenant, job_seq)
INSERT INTO jobs (tenant, id, collection, note, kind, stage, state, seq, attempts, payload, error, lease, created_at)
SELECT h.tenant, $2, $1, $3, $4, $5, 'queued', h.job_seq, 0, $6, '', $3, now() FROM h`, c, id, uuid.Nil, j.kind, j.stage, j.payload); err != nil {
			t.Fatal(name, err)
		}
	}
	s.worker(nil)
	note := g.add("c", "The ferry to Texel leaves at nine.")["note"].(object)["id"].(string)
	g.until("a note behind them is evolved", func() bool {
		return g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/notes/"+note, nil)["state"] == "evolved"
	})
	for name, want := range jobs {
		var got object
		g.until(name+" is "+want.state, func() bool {
			got = g.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+ids[name], nil)
			return got["state"] == want.state
		})
		if text, _ := got["error"].(string); !strings.Contains(text, want.says) {
			t.Errorf("%s: %q does not say %q", name, text, want.says)
		}
	}
}

// The job of a note that always fails waits longer and longer for its next try. Meanwhile the next notes
// of the collection are processed.
func TestPoisonJob(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	const poison = "The lighthouse of Texel eats the model."
	model.Handle("analyze", func(r llmtest.Request) llmtest.Reply {
		if strings.Contains(r.User, poison) {
			return llmtest.StatusText(http.StatusInternalServerError, "it was too much")
		}
		return llmtest.Default()
	})
	s := newServers(t, true)
	set := func(c *Settings) {
		c.LLM.Provider, c.LLM.BaseURL, c.LLM.Model = "openai", model.URL(), "a-model"
		c.LLM.MaxTries, c.LLM.RetryWait, c.LLM.BreakerFailures = 1, time.Millisecond, 1000
	}
	w := s.worker(set)
	g := s.gateway(set)
	if !strings.Contains(w.logs.String(), "a-model at "+model.URL()) {
		t.Errorf("the worker does not name its analyst:\n%s", w.logs)
	}
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c"})
	out := g.call(http.StatusCreated, http.MethodPost, "/v1/collections/c/notes", object{"content": poison})
	job, note := out["job"].(object)["id"].(string), out["note"].(object)["id"].(string)
	if n := g.add("c", "The ferry to Texel leaves at nine.")["note"].(object); n["state"] != "evolved" {
		t.Errorf("the next note is %v", n["state"])
	}
	var j object
	g.until("the job has failed three times", func() bool {
		j = g.call(http.StatusOK, http.MethodGet, "/v1/jobs/"+job, nil)
		return j["attempts"] == 3.0 && j["state"] == "queued"
	})
	if j["error"] == "" || j["next_try_at"] == nil {
		t.Errorf("the job that waits for its next try: %v", j)
	}
	if n := g.call(http.StatusOK, http.MethodGet, "/v1/collections/c/notes/"+note, nil); n["state"] != "pending" {
		t.Errorf("its note is %v", n["state"])
	}
	if n := g.add("c", "The ferry to Texel is late in fog.")["note"].(object); n["state"] != "evolved" {
		t.Errorf("a note after it is %v", n["state"])
	}
}
