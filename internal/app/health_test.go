package app

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/test/must"
)

// A store that cannot write beside its database is ready, and says that writes are degraded.
func TestReadinessSaysThatWritesFail(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	// The probe cannot be written where there is a directory.
	must.Do(t, os.MkdirAll(filepath.Join(data, databaseFile+"-probe", "x"), 0o700))
	g := startGateway(t, func(c *Settings) { c.Data, c.DiskReserve = data, 8<<20 })
	if info, err := os.Stat(filepath.Join(data, databaseFile+"-reserve")); err != nil || info.Size() != 8<<20 {
		t.Errorf("the reserve: %v, %v", info, err)
	}
	ready := g.call(http.StatusOK, http.MethodGet, "/readyz", nil)
	checks, notices := ready["checks"].(object), ready["notices"].([]any)
	if ready["status"] != "ok" || checks["store"] != "ok" || checks["writes"] != "degraded" || len(notices) == 0 || !strings.Contains(notices[0].(string), "writes cannot succeed") {
		t.Errorf("%v", ready)
	}
	for _, metric := range []string{"slipbox_ready 1", "slipbox_writable 0"} {
		if page := g.metrics(); !hasSample(page, metric) {
			t.Errorf("the metrics do not say %s:\n%s", metric, page)
		}
	}
	if page := startGateway(t, nil).metrics(); !hasSample(page, "slipbox_writable 1") {
		t.Errorf("a gateway that can write exports\n%s", page)
	}
}

// Metrics with an address of their own are served there, with the health, and no more beside the API.
func TestMetricsHaveAnAddressOfTheirOwn(t *testing.T) {
	t.Parallel()
	g := startGateway(t, func(c *Settings) { c.MetricsAddr = "127.0.0.1:0" })
	found := regexp.MustCompile(`metrics=(\S+)/metrics`).FindStringSubmatch(g.logs.String())
	if found == nil {
		t.Fatalf("no address of metrics in the log:\n%s", g.logs)
	}
	api, own := g.url, found[1]
	for url, want := range map[string]int{
		api + "/metrics": http.StatusNotFound, api + "/healthz": http.StatusOK, api + "/v1/collections": http.StatusUnauthorized,
		own + "/healthz": http.StatusOK, own + "/readyz": http.StatusOK, own + "/v1/collections": http.StatusNotFound,
	} {
		resp := must.Get(http.Get(url))(t)
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", url, resp.StatusCode, want)
		}
	}
	g.url = own
	if page := g.metrics(); !hasSample(page, "slipbox_ready 1") {
		t.Errorf("there is\n%s", page)
	}
}

// metrics returns the page of metrics.
func (g *gatewayTest) metrics() string {
	g.t.Helper()
	resp := must.Get(http.Get(g.url + "/metrics"))(g.t)
	defer resp.Body.Close()
	page := must.Get(io.ReadAll(resp.Body))(g.t)
	return string(page)
}

// hasSample reports whether a page of metrics has a sample: its name, a space and its value.
func hasSample(page, sample string) bool {
	name, value, _ := strings.Cut(sample, " ")
	return regexp.MustCompile(`(?m)^` + name + `(?:\{.*\})? ` + value + `$`).MatchString(page)
}

// A model whose endpoint refuses the key is named with that reason by what waits for it and by /readyz, which is ready.
func TestReadinessSaysThatAModelFails(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	model.RequireKey("another")
	g := startChat(func(set func(*Settings)) *gatewayTest {
		return startGateway(t, func(c *Settings) {
			set(c)
			c.LLM.BreakerFailures, c.LLM.BreakerPause = 1, time.Hour
		})
	}, model)
	if ready := g.call(http.StatusOK, http.MethodGet, "/readyz", nil); ready["checks"].(object)["model"] != "ok" {
		t.Errorf("%v", ready)
	}
	g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "c"})
	for range 2 {
		said := g.call(http.StatusServiceUnavailable, http.MethodPost, "/v1/collections/c/chat", object{"message": "Hi"})
		if detail := said["detail"].(string); said["code"] != string(fault.Misconfigured) || !strings.Contains(detail, "does not accept the key (401)") {
			t.Errorf("the chat says %q", detail)
		}
	}
	ready := g.call(http.StatusOK, http.MethodGet, "/readyz", nil)
	if notices, _ := ready["notices"].([]any); ready["status"] != "ok" || ready["checks"].(object)["model"] != "degraded" || len(notices) != 1 ||
		!strings.Contains(notices[0].(string), "does not accept the key (401)") || strings.Contains(notices[0].(string), model.URL()) {
		t.Errorf("%v", ready)
	}
}

// The doctor names a key that an endpoint refuses.
func TestDoctorNamesARefusedKey(t *testing.T) {
	t.Parallel()
	model := llmtest.New(t)
	model.RequireKey("another")
	cfg := Settings{Data: t.TempDir()}
	cfg.LLM = llm.Config{Provider: llm.ProviderOpenAI, BaseURL: model.URL(), Model: "m", APIKey: "wrong", EmbedProvider: llm.EmbedHash}
	if f := doctorModel(t.Context(), cfg); f.State != Bad || !strings.Contains(f.Detail, "does not accept the key (401)") {
		t.Errorf("%+v", f)
	}
}
