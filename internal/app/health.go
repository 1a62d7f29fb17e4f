package app

import (
	"encoding/json"
	"net/http"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/build"
)

// healthHandler serves health, version and metrics of a process, with the paths and answers of the API.
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

// metricsBesideAPI returns what answers /metrics among the routes of the API: the metrics, unless they have an address of their own.
func (g *Gateway) metricsBesideAPI() http.Handler {
	if g.metrics == nil {
		return g.telemetry.MetricsHandler()
	}
	return http.NotFoundHandler()
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // strings, to a client that may have gone
}
