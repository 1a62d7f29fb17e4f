package api

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/secret"
)

// headerRedacted names the kinds of secrets that were redacted in what the request wrote; absent without any.
const headerRedacted = "Slipbox-Redacted"

// reportSecrets sets the header when the status of the answer is set. What is written after that, such as the reply of a chat
// that is remembered after it was sent, is not in it.
func reportSecrets(c *gin.Context) {
	ctx, report := secret.WithReport(c.Request.Context())
	c.Request = c.Request.WithContext(ctx)
	c.Writer = &secretsWriter{ResponseWriter: c.Writer, report: report}
}

type secretsWriter struct {
	gin.ResponseWriter

	report *secret.Report
}

// WriteHeader implements http.ResponseWriter. Gin sends the status and the headers later, with the body.
func (w *secretsWriter) WriteHeader(status int) {
	if kinds := w.report.Kinds(); len(kinds) > 0 && status < http.StatusBadRequest {
		w.Header().Set(headerRedacted, strings.Join(kinds, ", "))
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *secretsWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
