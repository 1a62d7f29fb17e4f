package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// reply writes a JSON answer. The body is encoded before the status is sent, so an encoding error
// becomes a problem document. A reader who has the version of the answer gets 304 (RFC 9110 §13.1.2); the tags are compared weakly.
func reply(c *gin.Context, status int, body any) error {
	etag, had := c.Writer.Header().Get("ETag"), ifMatch(strings.ReplaceAll(c.Request.Header.Get("If-None-Match"), "W/", ""))
	if c.Request.Method == http.MethodGet && etag != "" && had != nil && had(etag) {
		c.Status(http.StatusNotModified)
		c.Writer.WriteHeaderNow()
		return nil
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("render the answer: %w", err)
	}
	c.Data(status, mediaJSON, raw)
	return nil
}

// replyAt writes a JSON answer with the revision that was read or written.
func replyAt(c *gin.Context, status int, r memory.Revision, body any) error {
	setRevision(c, r)
	return reply(c, status, body)
}

// noContent answers 204.
func noContent(c *gin.Context) error {
	c.Status(http.StatusNoContent)
	c.Writer.WriteHeaderNow()
	return nil
}

// setRevision sets the header with the revision that was read or written. Call it before reply.
func setRevision(c *gin.Context, r memory.Revision) {
	c.Header("Slipbox-Revision", strconv.FormatInt(int64(r), 10))
}

// setETag sets the entity tag of the version in the answer. Call it before reply.
func setETag(c *gin.Context, v memory.Version) { c.Header("ETag", v.ETag()) }

// nonNilList returns v, or an empty list: a required array is never null.
func nonNilList[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}

// each returns what fn makes of each item.
func each[T, W any](list []T, fn func(*T) W) []W {
	out := make([]W, len(list))
	for i := range list {
		out[i] = fn(&list[i])
	}
	return out
}

// named returns names as those of another type.
func named[W, T ~string](list []T) []W { return each(list, func(name *T) W { return W(*name) }) }

// valueOr returns *p, or def if p is nil.
func valueOr[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}
