package api

import (
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/api/wire"
)

// mountPublic mounts what needs no credential, all but the key set, which is
// mounted with the other access routes.
func (s *Server) mountPublic() error {
	return s.mountAll(map[string]handler{
		"getHealth":  s.getHealth,
		"getReady":   s.getReady,
		"getVersion": s.getVersion,
		"getMetrics": s.getMetrics,
		"getOpenAPI": s.getOpenAPI,
		"getDocs":    s.getDocs,
	})
}

func (s *Server) getHealth(c *gin.Context) error {
	return reply(c, http.StatusOK, wire.Health{Status: wire.HealthStatusOk})
}

// getReady runs every check, so that the answer names all that is missing.
func (s *Server) getReady(c *gin.Context) error {
	out := wire.Readiness{Status: wire.ReadinessStatusOk, Checks: map[string]string{}}
	status := http.StatusOK
	for _, check := range s.ready {
		out.Checks[check.Name] = "ok"
		err := check.Run(c.Request.Context())
		switch {
		case err != nil && check.Optional:
			out.Checks[check.Name] = "degraded"
		case err != nil:
			s.log.WarnContext(c.Request.Context(), "not ready", slog.String("check", check.Name), slog.Any("error", err))
			out.Checks[check.Name] = "failed"
			out.Status, status = wire.ReadinessStatusUnavailable, http.StatusServiceUnavailable
		}
	}
	return reply(c, status, out)
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
	c.Data(http.StatusOK, "application/yaml; charset=utf-8", s.doc.raw)
	return nil
}

func (s *Server) getDocs(c *gin.Context) error {
	c.Header("Cache-Control", "public, max-age=300")
	c.Header("Content-Security-Policy", s.page.policy)
	c.Data(http.StatusOK, "text/html; charset=utf-8", s.page.html)
	return nil
}
