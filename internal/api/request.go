package api

import (
	"bytes"
	"net/url"
	"regexp"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// requestID is the id that log, problem and answer share.
func requestID(c *gin.Context) string { return c.GetString(keyRequestID) }

// principal is who calls; zero before authentication and on public routes.
func principal(c *gin.Context) auth.Principal {
	v, _ := c.Get(keyPrincipal)
	p, _ := v.(auth.Principal)
	return p
}

// bind decodes the JSON body, which the contract has accepted. An absent
// optional body gives the zero value.
func bind[T any](c *gin.Context) (T, error) {
	var v T
	raw := rawBody(c)
	if len(raw) == 0 {
		return v, nil
	}
	err := unmarshal(raw, &v)
	return v, err
}

// rawBody is the body as it was sent; empty for streamed ones, which are read
// from c.Request.Body, with errors worded by bodyError.
func rawBody(c *gin.Context) []byte {
	v, _ := c.Get(keyBody)
	raw, _ := v.([]byte)
	return raw
}

// bindLine decodes one NDJSON line against a schema of the contract, with the
// same refusals as a body of its own.
func bindLine[T any](s *Server, schema string, line []byte) (T, error) {
	var v T
	sch, err := s.doc.schema(schema)
	if err != nil {
		return v, err
	}
	value, err := parseJSON(line)
	if err != nil {
		return v, err
	}
	if err := checkSchema(sch, value, ""); err != nil {
		return v, err
	}
	err = unmarshal(line, &v)
	return v, err
}

// splitLines cuts an NDJSON body into lines. A newline at the end makes no
// further line; CR before a newline is dropped. More than limit lines are TooLarge.
func splitLines(body []byte, limit int) ([][]byte, error) {
	body = bytes.TrimSuffix(body, []byte("\n"))
	if len(body) == 0 {
		return nil, nil
	}
	if n := bytes.Count(body, []byte("\n")) + 1; n > limit {
		return nil, fault.New(fault.TooLarge, "the body has %d lines; at most %d are taken", n, limit)
	}
	lines := bytes.Split(body, []byte("\n"))
	for i := range lines {
		lines[i] = bytes.TrimSuffix(lines[i], []byte("\r"))
	}
	return lines, nil
}

// query is the validated query string: every parameter is known, single and
// within its bounds.
func query(c *gin.Context) url.Values {
	v, _ := c.Get(keyQuery)
	q, _ := v.(url.Values)
	return q
}

// queryInt gives an integer parameter, or def when it is absent.
func queryInt(c *gin.Context, name string, def int) int {
	n, err := strconv.Atoi(query(c).Get(name))
	if err != nil {
		return def
	}
	return n
}

// queryRevision gives as_of or min_revision; nil when it is absent.
func queryRevision(c *gin.Context, name string) *memory.Revision {
	n, err := strconv.ParseInt(query(c).Get(name), 10, 64)
	if err != nil {
		return nil
	}
	return new(memory.Revision(n))
}

// pathID reads an id from the path. Text that is no id names nothing: NotFound,
// like an id that does not exist.
func pathID(c *gin.Context, name string) (uuid.UUID, error) {
	id, err := parseID(c.Param(name))
	if err != nil {
		return uuid.Nil, fault.Missing(name)
	}
	return id, nil
}

// parseID takes the one form that answers use, in either letter case; the other
// forms that the uuid package reads (braces, urn, no dashes) are no ids here.
func parseID(s string) (uuid.UUID, error) {
	const textLength = 36
	if len(s) != textLength {
		return uuid.Nil, fault.New(fault.Invalid, "not a UUID")
	}
	id, err := uuid.Parse(s)
	if err != nil {
		return uuid.Nil, fault.Wrap(err, fault.Invalid, "not a UUID")
	}
	return id, nil
}

var refPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,127}$`)

// pathRef reads an id or a name from the path; text that is neither is NotFound.
func pathRef(c *gin.Context, name string) (string, error) {
	s := c.Param(name)
	if id, err := parseID(s); err == nil {
		return id.String(), nil
	}
	if !refPattern.MatchString(s) {
		return "", fault.Missing(name)
	}
	return s, nil
}
