package api

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	contract "github.com/slipboxhq/slipbox/api"
	"github.com/slipboxhq/slipbox/internal/api/wire"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/outage"
)

// mountPublic mounts the routes without credentials, except the key set, which is mounted with the
// access routes.
func (s *Server) mountPublic() error {
	s.engine.GET("/", s.getRoot)
	s.engine.HEAD("/", s.getRoot)
	if s.console != nil {
		for _, path := range []string{"/console", "/console/*file"} {
			s.engine.GET(path, gin.WrapH(s.console))
			s.engine.HEAD(path, gin.WrapH(s.console))
		}
	}
	return s.mountAll(map[string]handler{
		"getHealth":  s.getHealth,
		"getReady":   s.getReady,
		"getVersion": s.getVersion,
		"getMetrics": s.getMetrics,
		"getOpenAPI": s.getOpenAPI,
		"getDocs":    s.getDocs,
	})
}

// getRoot redirects a browser at the gateway's address to the console, or to the reference page where
// there is no console. A client that asks for JSON gets the problem document of a missing route.
func (s *Server) getRoot(c *gin.Context) {
	c.Writer.Header().Add("Vary", "Accept")
	accept := strings.ToLower(c.GetHeader("Accept"))
	if strings.Contains(accept, "json") && !strings.Contains(accept, "text/html") {
		s.noRoute(c)
		return
	}
	if s.console != nil {
		c.Redirect(http.StatusFound, "/console")
		return
	}
	c.Redirect(http.StatusFound, "/docs")
}

func (s *Server) getHealth(c *gin.Context) error {
	return reply(c, http.StatusOK, wire.Health{Status: wire.HealthStatusOk})
}

func (s *Server) getReady(c *gin.Context) error {
	status, body := s.ready.Answer(c.Request.Context())
	return reply(c, status, body)
}

// Readiness answers /readyz, also for workers.
type Readiness struct {
	checks  []Check
	outages []*outage.Log // by check
}

// NewReadiness returns the readiness of a process with these checks.
func NewReadiness(log *slog.Logger, checks []Check) *Readiness {
	r := &Readiness{checks: checks}
	for _, check := range checks {
		r.outages = append(r.outages, outage.New(log.With(slog.String("check", check.Name)), nil, "not ready", "ready again"))
	}
	return r
}

// Answer runs every check, so that the answer names everything that fails.
func (r *Readiness) Answer(ctx context.Context) (status int, body wire.Readiness) {
	status, body = http.StatusOK, wire.Readiness{Status: wire.ReadinessStatusOk, Checks: map[string]string{}}
	var down []string
	for i, check := range r.checks {
		body.Checks[check.Name] = "ok"
		err := check.Run(ctx)
		if !check.Optional {
			r.outages[i].Report(ctx, err)
		}
		if f, ok := errors.AsType[*fault.Error](err); ok && check.Explains {
			check.Notice = f.Message
		}
		switch {
		case err != nil && check.Optional:
			body.Checks[check.Name] = "degraded"
			if check.Notice != "" {
				body.Notices = append(body.Notices, check.Notice)
			}
		case err != nil:
			body.Checks[check.Name] = "failed"
			body.Status, status = wire.ReadinessStatusUnavailable, http.StatusServiceUnavailable
			down = append(down, check.Notice)
		}
	}
	if len(down) > 0 { // what is degraded may be so because of it
		body.Notices = slices.DeleteFunc(down, func(notice string) bool { return notice == "" })
	}
	return status, body
}

func (s *Server) getVersion(c *gin.Context) error {
	return reply(c, http.StatusOK, wire.Version{Version: s.build.Version, Commit: s.build.Commit, Date: s.build.Date})
}

func (s *Server) getMetrics(c *gin.Context) error {
	if s.metrics == nil {
		c.Data(http.StatusOK, "text/plain; version=0.0.4; charset=utf-8", nil)
		return nil
	}
	s.metrics.ServeHTTP(c.Writer, c.Request)
	return nil
}

func (s *Server) getOpenAPI(c *gin.Context) error {
	c.Header("Cache-Control", "public, max-age=300")
	c.Data(http.StatusOK, "application/yaml; charset=utf-8", contract.OpenAPI())
	return nil
}

func (s *Server) getDocs(c *gin.Context) error {
	c.Header("Cache-Control", "public, max-age=300")
	c.Header("Content-Security-Policy", s.docsPolicy)
	c.Data(http.StatusOK, "text/html; charset=utf-8", s.docsPage)
	return nil
}
