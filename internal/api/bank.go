package api

import (
	"net/http"

	"github.com/gin-gonic/gin"
)

// importBank imports a person's memory in MemoryBank's format.
func (h *core) importBank(c *gin.Context) error {
	ref, err := pathRef(c, "collection")
	if err != nil {
		return err
	}
	report, err := h.Bank.Import(c.Request.Context(), scope(c), ref, rawBody(c))
	if err != nil {
		return err
	}
	setRevision(c, report.Revision)
	return reply(c, http.StatusOK, report)
}

// exportBank returns a person's memory in that format.
func (h *core) exportBank(c *gin.Context) error {
	ref, err := pathRef(c, "collection")
	if err != nil {
		return err
	}
	document, err := h.Bank.Export(c.Request.Context(), scope(c), ref)
	if err != nil {
		return err
	}
	c.Data(http.StatusOK, mediaJSON, document)
	return nil
}
