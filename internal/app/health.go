package app

import (
	"encoding/json"
	"net/http"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/build"
)

// healthHandler serves health, version and metrics of a worker, with the paths and answers of a
// gateway.
func (c *core) healthHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	ready := api.NewReadiness(c.log, c.readinessChecks())
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		status, body := ready.Answer(r.Context())
		writeJSON(w, status, body)
	})
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, build.Current()) })
	mux.Handle("GET /metrics", c.telemetry.MetricsHandler())
	return mux
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // strings, to a client that may have gone
}
