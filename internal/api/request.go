package api

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// requestID returns the id of the request, as in log, problem and response header.
func requestID(c *gin.Context) string { return c.GetString(keyRequestID) }

// principal returns the caller; zero before authentication and on public routes.
func principal(c *gin.Context) auth.Principal {
	v, _ := c.Get(keyPrincipal)
	p, _ := v.(auth.Principal)
	return p
}

// bind decodes the validated JSON body. An absent optional body is the zero value.
func bind[T any](c *gin.Context) (T, error) {
	var v T
	raw := rawBody(c)
	if len(raw) == 0 {
		return v, nil
	}
	if err := c.Request.Context().Err(); err != nil {
		return v, fmt.Errorf("decode a body: %w", err)
	}
	err := unmarshal(raw, &v)
	return v, err
}

// withBody returns the handler of an operation that takes its body.
func withBody[T any](next func(c *gin.Context, body T) error) handler {
	return func(c *gin.Context) error {
		body, err := bind[T](c)
		if err != nil {
			return err
		}
		return next(c, body)
	}
}

// onRef returns the handler of an operation that takes what its path names by an id or a name.
func onRef(name string, next func(c *gin.Context, ref string) error) handler {
	return func(c *gin.Context) error {
		ref, err := pathRef(c, name)
		if err != nil {
			return err
		}
		return next(c, ref)
	}
}

// onCollection is onRef for the collection of the path.
func onCollection(next func(c *gin.Context, ref string) error) handler {
	return onRef("collection", next)
}

// onCollectionBody is onCollection for an operation with a body.
func onCollectionBody[T any](next func(c *gin.Context, ref string, body T) error) handler {
	return onCollection(func(c *gin.Context, ref string) error {
		return withBody(func(c *gin.Context, body T) error { return next(c, ref, body) })(c)
	})
}

// onID returns the handler of an operation that takes what its path names by an id.
func onID(name string, next func(c *gin.Context, id uuid.UUID) error) handler {
	return func(c *gin.Context) error {
		id, err := pathID(c, name)
		if err != nil {
			return err
		}
		return next(c, id)
	}
}

// onNote returns the handler of an operation on a note of a collection.
func onNote(next func(c *gin.Context, ref string, id uuid.UUID) error) handler {
	return onCollection(func(c *gin.Context, ref string) error {
		return onID("note", func(c *gin.Context, id uuid.UUID) error { return next(c, ref, id) })(c)
	})
}

// onView returns the handler of an operation that reads the collection of its path at the revision that the request asks for.
func (h *core) onView(next func(c *gin.Context, v memory.View) error) handler {
	return func(c *gin.Context) error {
		v, err := h.view(c)
		if err != nil {
			return err
		}
		return next(c, v)
	}
}

// rawBody returns the body as it was sent. It is empty for streamed bodies, which handlers read
// from c.Request.Body; bodyError describes their errors.
func rawBody(c *gin.Context) []byte {
	v, _ := c.Get(keyBody)
	raw, _ := v.([]byte)
	return raw
}

// bindLine decodes one NDJSON line and validates it against a schema of the contract, with the same
// refusals as a body of its own. It also returns the cost of the line's values.
func bindLine[T any](ctx context.Context, s *Server, schema string, line []byte) (v T, cost int, err error) {
	sch, err := s.doc.schema(schema)
	if err != nil {
		return v, 0, err
	}
	if len(line) > memory.MaxBulkLineBytes {
		return v, 0, fault.New(fault.TooLarge, "the line is larger than %d bytes", memory.MaxBulkLineBytes)
	}
	if cost, err = checkBody(ctx, sch, line); err != nil {
		return v, 0, err
	}
	err = unmarshal(line, &v)
	return v, cost, err
}

// splitLines splits an NDJSON body into lines, without CR before a newline. A newline at the end
// does not begin another line. TooLarge for more than limit lines.
func splitLines(body []byte, limit int) ([][]byte, error) {
	body = bytes.TrimSuffix(body, []byte("\n"))
	if len(body) == 0 {
		return nil, nil
	}
	if n := bytes.Count(body, []byte("\n")) + 1; n > limit {
		return nil, fault.New(fault.TooLarge, "the body has %d lines; at most %d are accepted", n, limit)
	}
	lines := bytes.Split(body, []byte("\n"))
	for i := range lines {
		lines[i] = bytes.TrimSuffix(lines[i], []byte("\r"))
	}
	return lines, nil
}

// query returns the validated query string. Every parameter in it is known, not repeated, and in
// range.
func query(c *gin.Context) url.Values {
	v, _ := c.Get(keyQuery)
	q, _ := v.(url.Values)
	return q
}

// queryInt returns an integer parameter, or def if it is absent.
func queryInt(c *gin.Context, name string, def int) int {
	n, err := strconv.Atoi(query(c).Get(name))
	if err != nil {
		return def
	}
	return n
}

// queryRevision returns as_of or min_revision; nil if it is absent.
func queryRevision(c *gin.Context, name string) *memory.Revision {
	n, err := strconv.ParseInt(query(c).Get(name), 10, 64)
	if err != nil {
		return nil
	}
	return new(memory.Revision(n))
}

// pathID returns an id of the path. Text that is not an id is NotFound, like an id that does not
// exist.
func pathID(c *gin.Context, name string) (uuid.UUID, error) {
	id, err := route.ParseID(c.Param(name))
	if err != nil {
		return uuid.Nil, fault.Missing(name)
	}
	return id, nil
}

var refPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,127}$`)

// pathRef returns an id or a name of the path. Other text is NotFound.
func pathRef(c *gin.Context, name string) (string, error) {
	s := c.Param(name)
	if id, err := route.ParseID(s); err == nil {
		return id.String(), nil
	}
	if !refPattern.MatchString(s) {
		return "", fault.Missing(name)
	}
	return s, nil
}
