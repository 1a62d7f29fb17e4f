package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/mcp"
	"github.com/slipboxhq/slipbox/internal/oauth"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// maxMCPBody is the size of a message in bytes: the arguments of a tool may be as large as the body of a request of
// the API, which bounds them itself.
const maxMCPBody = 2 << 20

// maxMCPBatch is how many messages a batch may have, in the version of the protocol that has batches.
const maxMCPBatch = 50

// mcpOperation is the route of the Model Context Protocol, which has a contract of its own: its parameters, bodies
// and scopes are those of the operations that its tools call.
var mcpOperation = &operation{
	id: "mcp", method: http.MethodPost, path: "/mcp", bodyTypes: []string{mediaJSON}, bodyMust: true, bodyLimit: maxMCPBody,
}

// mountMCP mounts the route of the Model Context Protocol.
func (s *Server) mountMCP() {
	made := sync.OnceValues(func() (*mcp.Server, error) {
		return mcp.New(mcp.Deps{Log: s.log, Version: s.build.Version, Operation: s.doc.forTools}) // reads much of the contract
	})
	for _, path := range []string{mcpOperation.path, mcpOperation.path + "/"} { // people write both
		s.engine.POST(path, func(c *gin.Context) {
			c.Set(keyResource, true)
			err := s.checkOrigin(c.Request)
			if err == nil {
				err = s.serve(c, mcpOperation, func(c *gin.Context) error {
					tools, err := made()
					if err != nil {
						return err //nolint:wrapcheck // it names its package
					}
					return s.serveMCP(c, tools)
				})
			}
			if err != nil {
				s.fail(c, err)
			}
		})
	}
}

// checkOrigin refuses a request of a web page of another origin, unless the operator allows it.
func (s *Server) checkOrigin(r *http.Request) error {
	origin := r.Header.Get("Origin")
	if origin == "" || slices.Contains(s.cfg.CORSOrigins, "*") || slices.Contains(s.cfg.CORSOrigins, origin) {
		return nil
	}
	if u, err := url.Parse(origin); err == nil && u.Host == r.Host {
		return nil
	}
	return fault.New(fault.Forbidden, "the Origin is not allowed; set SLIPBOX_CORS_ORIGINS to allow it")
}

// serveMCP answers one message, or a batch, which counts as that many requests.
func (s *Server) serveMCP(c *gin.Context, tools *mcp.Server) error {
	raw := rawBody(c)
	ctx := c.Request.Context()
	if _, err := scanJSON(ctx, raw, len(raw)); err != nil {
		return err
	}
	var batch []json.RawMessage
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		if err := json.Unmarshal(raw, &batch); err != nil {
			return malformed(err)
		}
	}
	if len(batch) > maxMCPBatch {
		return fault.New(fault.TooLarge, "the batch has more than %d messages", maxMCPBatch)
	}
	for i := range batch {
		if i > 0 {
			if err := s.limit(c); err != nil {
				return err
			}
		}
	}
	caller := s.toolCaller(c)
	if len(batch) == 0 {
		batch = append(batch, raw)
	}
	if lacks := tools.Lacks(caller, batch...); lacks != "" && principal(c).Grant != uuid.Nil {
		c.Header("WWW-Authenticate", s.oauth.Challenge(c.Request, "insufficient_scope", oauth.AllScopes))
		return fault.New(fault.Forbidden, "the program may not do this: its user has not allowed %q", lacks)
	}
	endTurn(c) // the requests that tools make wait for their own
	r := c.Request.Clone(ctx)
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	tools.ServeHTTP(c.Writer, r, caller)
	return nil
}

// toolCaller returns the caller of a request for its tools.
func (s *Server) toolCaller(c *gin.Context) mcp.Caller {
	p, from, id := principal(c), c.Request.RemoteAddr, requestID(c)
	return mcp.Caller{
		Own:     p.Scope.Limit().IDs(),
		Allowed: func(scope string) bool { return tenant.Check(p.Scope, tenant.Permission(scope)) == nil },
		Send: func(ctx context.Context, in mcp.Request) mcp.Response {
			w := &toolWriter{caller: p, header: http.Header{}, status: http.StatusOK}
			r, err := http.NewRequestWithContext(ctx, in.Method, in.Path, bytes.NewReader(in.Body))
			if err != nil { // a path of the caller that no URL can have
				w.status = http.StatusNotFound
				_, _ = w.Write([]byte(`{"detail":"no such route","code":"not_found"}`))
				return mcp.Response{Status: w.status, Header: w.header, Body: w.body.Bytes()}
			}
			r.Header = in.Header
			r.Header.Set(headerRequestID, id)
			if in.Body != nil {
				r.Header.Set("Content-Type", mediaJSON)
			}
			r.RemoteAddr = from
			s.ServeHTTP(w, r)
			return mcp.Response{Status: w.status, Header: w.header, Body: w.body.Bytes()}
		},
	}
}

// toolWriter keeps the answer to a request that a tool makes, and names its caller: the request that called the tool
// has been authenticated and counted already. No client can have one.
type toolWriter struct {
	caller auth.Principal
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *toolWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *toolWriter) WriteHeader(status int) { w.status = status }

// Write implements http.ResponseWriter.
func (w *toolWriter) Write(b []byte) (int, error) { return w.body.Write(b) }

// calledByTool returns the caller of a request that a tool makes.
func calledByTool(c *gin.Context) (auth.Principal, bool) {
	var at http.ResponseWriter = c.Writer
	for {
		if w, ok := at.(*toolWriter); ok {
			return w.caller, true
		}
		outer, ok := at.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return auth.Principal{}, false
		}
		at = outer.Unwrap()
	}
}

// forTools returns what tools need to know of an operation.
func (d *document) forTools(id string) (mcp.Operation, error) {
	o := d.operations[id]
	if o == nil {
		return mcp.Operation{}, fmt.Errorf("contract: no operation %q", id)
	}
	out := mcp.Operation{Scope: string(o.scope), Body: map[string]json.RawMessage{}, Query: map[string]json.RawMessage{}}
	if body := o.checks().body; body != nil {
		for name, field := range body.Properties {
			schema, err := plainSchema(field, maxSchemaDepth)
			if err != nil {
				return out, fmt.Errorf("contract: %s: %s: %w", id, name, err)
			}
			if out.Body[name], err = json.Marshal(schema); err != nil {
				return out, fmt.Errorf("contract: %s: %s: %w", id, name, err)
			}
		}
	}
	for name, p := range o.checks().query {
		schema, err := plainSchema(p.Schema, maxSchemaDepth)
		if err != nil {
			return out, fmt.Errorf("contract: %s: %s: %w", id, name, err)
		}
		if p.Description != "" {
			schema["description"] = p.Description
		}
		if out.Query[name], err = json.Marshal(schema); err != nil {
			return out, fmt.Errorf("contract: %s: %s: %w", id, name, err)
		}
	}
	return out, nil
}

// maxSchemaDepth is how deep a schema is shown to tools. What is below may be anything there: the API checks it.
const maxSchemaDepth = 6

// plainSchema returns a schema of the contract without references and extensions.
func plainSchema(ref *openapi3.SchemaRef, depth int) (map[string]any, error) {
	if depth == 0 {
		return map[string]any{}, nil
	}
	s := ref.Value
	own := *s
	own.Properties, own.Items, own.AllOf, own.AdditionalProperties = nil, nil, nil, openapi3.AdditionalProperties{}
	raw, err := own.MarshalJSON()
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller names the field
	}
	out := map[string]any{}
	if err := json.Unmarshal(raw, &out); err != nil {
		return nil, err //nolint:wrapcheck // the caller names the field
	}
	for name := range out {
		if strings.HasPrefix(name, "x-") || name == "examples" || name == "example" || name == "format" {
			delete(out, name)
		}
	}
	for _, part := range s.AllOf { // a schema with another description
		whole, err := plainSchema(part, depth-1)
		if err != nil {
			return nil, err
		}
		for name, v := range whole {
			if _, ok := out[name]; !ok {
				out[name] = v
			}
		}
	}
	if len(s.Properties) > 0 {
		fields := map[string]any{}
		for name, field := range s.Properties {
			if fields[name], err = plainSchema(field, depth-1); err != nil {
				return nil, err
			}
		}
		out["properties"] = fields
	}
	if s.Items != nil {
		if out["items"], err = plainSchema(s.Items, depth-1); err != nil {
			return nil, err
		}
	}
	return out, nil
}
