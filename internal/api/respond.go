package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// reply writes a JSON answer. It is rendered before the status goes out, so a
// value that cannot be rendered is a problem document and not half an answer.
func reply(c *gin.Context, status int, body any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("render the answer: %w", err)
	}
	c.Data(status, mediaJSON, raw)
	return nil
}

// noContent answers 204.
func noContent(c *gin.Context) error {
	c.Status(http.StatusNoContent)
	c.Writer.WriteHeaderNow()
	return nil
}

// setRevision says which revision was read or written. Call it before reply.
func setRevision(c *gin.Context, r memory.Revision) {
	c.Header("Slipbox-Revision", strconv.FormatInt(int64(r), 10))
}

// setETag names the version of what is answered. Call it before reply.
func setETag(c *gin.Context, v memory.Version) { c.Header("ETag", v.ETag()) }

// wireTime is a time as answers show it: UTC, microseconds.
func wireTime(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// optional is nil for a zero value: absent means absent, never null.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// optionalTime is nil for the zero time.
func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return new(wireTime(t))
}

// list is v, or an empty list: a required array is never null.
func list[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}

// or is *p, or def when p is nil: the default of an absent field.
func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}
