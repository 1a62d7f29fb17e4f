package app

import (
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// canary is part of everything that callers write below.
const canary = "zwitscherkanarie"

// Logs, traces and metrics contain nothing that callers store, ask or authenticate with, also when
// requests fail.
func TestTelemetryHoldsNoContent(t *testing.T) {
	t.Run("embedded", func(t *testing.T) { checkNoContent(t, watch(t, false)) })
	t.Run("servers", func(t *testing.T) { checkNoContent(t, watch(t, true)) })
}

func checkNoContent(t *testing.T, w *watchedTest) {
	t.Helper()
	answers := map[int]int{}
	say := func(method, path, body string, headers ...string) {
		answers[w.status(method, path, body, headers...)]++
	}
	w.writeEverywhere(func(method, path, body string, headers ...string) {
		status := w.status(method, path, body, headers...)
		answers[status]++
		if status == 0 || status >= 400 {
			t.Errorf("%s %s %s: status %d", method, path, body, status)
		}
	})
	w.misuse(say)
	w.breakTheModel(say)
	w.breakTheStore(say)

	for _, status := range []int{200, 201, 202, 400, 401, 404, 409, 422, 500} {
		if answers[status] == 0 {
			t.Errorf("nothing was answered with %d: %v", status, answers)
		}
	}
	metrics := w.scrape()
	w.stop() // sends the rest
	documents(t, w.seen.Metrics())
	// The telemetry must have the spans and records that could contain it.
	for what, ok := range map[string]bool{
		"spans": len(w.seen.Spans()) > 100 && w.seen.Contains("store.Write"), "exported metrics": w.seen.Contains("slipbox.store.duration"),
		"exported records": w.seen.Contains("a job's try failed") && w.seen.Contains("request failed"),
		"the log":          strings.Contains(w.logs.String(), "request failed"), "metrics": strings.Contains(metrics, "slipbox_store_duration_seconds"),
	} {
		if !ok {
			t.Errorf("too little of %s", what)
		}
	}
	for what, secret := range map[string]string{"what was written": canary, "a key": w.key, "the model's key": "sk-of-the-model"} {
		if w.seen.Contains(secret) {
			t.Errorf("%s is in what was exported: %s", what, w.where(secret))
		}
		if i := strings.Index(w.logs.String(), secret); i >= 0 {
			t.Errorf("%s is in the log: %s", what, lineAt(w.logs.String(), i))
		}
		if i := strings.Index(metrics, secret); i >= 0 {
			t.Errorf("%s is in the metrics: %s", what, lineAt(metrics, i))
		}
	}
}

// writeEverywhere sends canaries in every kind of request that succeeds.
func (w *watchedTest) writeEverywhere(say func(method, path, body string, headers ...string)) {
	const c = "/v1/collections/" + canary
	say("POST", "/v1/agents", `{"name":"`+canary+`-agent"}`)
	say("POST", "/v1/api-keys", `{"display_name":"`+canary+`","scopes":["notes:read"]}`)
	say("POST", "/v1/auth/token", "")
	say("POST", "/v1/collections", `{"name":"`+canary+`","metadata":{"`+canary+`":"`+canary+`"}}`)
	note := fmt.Sprintf(`{"content":"The %[1]s sings.","keywords":["%[1]s"],"tags":["%[1]s"],"category":"%[1]s","context":"%[1]s","attributes":{"%[1]s":"%[1]s"}}`, canary)
	say("POST", c+"/notes?wait=evolved", note)
	say("POST", c+"/notes?wait=evolved", `{"content":"A second `+canary+`."}`, "Idempotency-Key", canary)
	say("POST", c+"/notes/bulk", `{"content":"Third `+canary+`"}`+"\n"+`{"content":"Fourth `+canary+`"}`+"\n"+canary+"\n", "Content-Type", "application/x-ndjson")
	say("POST", c+"/import", `{"content":"Imported `+canary+`"}`+"\n"+canary+"\n", "Content-Type", "application/x-ndjson")
	say("GET", c, "")
	say("GET", c+`/notes?filter={"field":"tags","op":"contains","value":"`+canary+`"}`, "")
	say("GET", c+"/hot", "")
	say("GET", c+"/graph", "")
	for _, mode := range []string{"hybrid", "vector", "lexical"} {
		say("POST", c+"/search", `{"query":"`+canary+`","mode":"`+mode+`"}`)
	}
	say("POST", c+"/search", `{"query":"`+canary+`","rerank":"model","filter":{"field":"tags","op":"contains","value":"`+canary+`"}}`)
	say("POST", c+"/clone", `{"name":"`+canary+`-fork","mode":"fork"}`)
	say("POST", c+"/clone", `{"name":"`+canary+`-copy","mode":"copy"}`)
	say("POST", c+"/consolidate", "")
	for _, path := range []string{"/v1/jobs", "/v1/reviews", "/v1/usage", "/v1/audit", "/v1/agents", "/v1/api-keys", "/v1/collections"} {
		say("GET", path, "")
	}
}

// misuse sends canaries in requests that are refused.
func (w *watchedTest) misuse(say func(method, path, body string, headers ...string)) {
	const c = "/v1/collections/" + canary
	say("POST", c+"/notes", `{"content": `+canary)
	say("POST", c+"/notes", `{"`+canary+`": 1}`)
	say("POST", c+"/notes", `{"content":"x","importance":"`+canary+`"}`)
	say("POST", c+"/notes", canary, "Content-Type", canary+"/"+canary)
	say("POST", c+"/search", `{"query":"x","mode":"`+canary+`"}`)
	say("POST", c+"/search", `{"query":"x","filter":{"`+canary+`":{"`+canary+`":1}}}`)
	say("POST", "/v1/collections", `{"name":"`+canary+`"}`) // a name in use
	say("POST", "/v1/collections", `{"name":"x","policy":"`+canary+`"}`)
	say("POST", c+"/notes", `{"content":"Another body, `+canary+`."}`, "Idempotency-Key", canary)
	say("GET", "/v1/collections/no-"+canary, "")
	say("GET", c+"/notes/"+canary, "")
	say("GET", "/"+canary+"?"+canary+"="+canary, "")
	say("GET", c+"/notes?limit="+canary, "")
	say("GET", c+"/notes?cursor="+canary, "")
	say(canary, c, "")
	say("GET", c, "", "Authorization", "Bearer sb_live_"+canary)
	say("GET", c, "", "Authorization", "Bearer "+w.key+canary)
	say("GET", c, "", "Authorization", "Bearer ey."+canary+".x")
	say("GET", c, "", "Authorization", canary)
	say("GET", c, "", "traceparent", canary, "tracestate", canary, "baggage", canary+"="+canary, "If-Match", canary, "Cookie", canary, "User-Agent", canary)
}

// breakTheModel makes the endpoint answer with errors that quote the request.
func (w *watchedTest) breakTheModel(say func(method, path, body string, headers ...string)) {
	const c = "/v1/collections/" + canary
	failed := func() int { return strings.Count(w.logs.String(), "a job's try failed") }
	quote := func(status int) func(llmtest.Request) llmtest.Reply {
		return func(r llmtest.Request) llmtest.Reply { return llmtest.StatusText(status, r.User+canary) }
	}
	for _, reply := range []func(llmtest.Request) llmtest.Reply{
		quote(http.StatusInternalServerError), quote(http.StatusBadRequest), quote(http.StatusUnauthorized),
		func(r llmtest.Request) llmtest.Reply { return llmtest.Text("No JSON, but " + r.User + canary) },
		func(llmtest.Request) llmtest.Reply { return llmtest.Refusal(canary) },
	} {
		before := failed()
		w.model.Handle("analyze", reply)
		w.model.Handle("relevance", reply)
		say("POST", c+"/notes", `{"content":"Nobody can read this `+canary+`."}`)
		say("POST", c+"/search", `{"query":"`+canary+`","rerank":"model"}`)
		w.until("the try failed or went on without an answer", func() bool {
			return failed() > before || strings.Contains(w.logs.String(), "unusable model answer")
		})
	}
	w.model.Always("analyze", llmtest.Default())
	w.model.Always("relevance", llmtest.Default())
}

// breakTheStore makes the engine refuse rows. The errors of Postgres quote them.
func (w *watchedTest) breakTheStore(say func(method, path, body string, headers ...string)) {
	w.t.Helper()
	driver, at, refuse := "sqlite", filepath.Join(w.data, databaseFile)+"?_pragma=busy_timeout(20000)",
		"CREATE TRIGGER refuse BEFORE INSERT ON notes BEGIN SELECT RAISE(ABORT, 'cannot store'); END"
	if w.owner != "" {
		driver, at, refuse = "pgx", w.owner, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'cannot store %', NEW.content; END $$;
CREATE TRIGGER refuse BEFORE INSERT ON notes FOR EACH ROW EXECUTE FUNCTION refuse()`
	}
	db := must.Get(sql.Open(driver, at))(w.t)
	defer func() { _ = db.Close() }()
	must.Get(db.ExecContext(w.t.Context(), refuse))(w.t)
	say("POST", "/v1/collections/"+canary+"/notes", `{"content":"The store quotes this `+canary+`."}`)
}

// scrape reads the metrics of every process.
func (w *watchedTest) scrape() string {
	w.t.Helper()
	var out strings.Builder
	for _, url := range w.urls {
		resp := must.Get(http.Get(url + "/metrics"))(w.t)
		_, err := io.Copy(&out, resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return out.String()
}

// where returns the span or record that contains a text.
func (w *watchedTest) where(text string) string {
	for _, s := range w.seen.Spans() {
		if all := fmt.Sprint(s); strings.Contains(all, text) {
			return all
		}
	}
	for _, l := range w.seen.Logs() {
		if all := fmt.Sprint(l); strings.Contains(all, text) {
			return all
		}
	}
	return "a metric, or something else"
}

func lineAt(text string, i int) string {
	line, _, _ := strings.Cut(text[strings.LastIndex(text[:i], "\n")+1:], "\n")
	return line
}
