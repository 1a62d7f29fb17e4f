package api

import (
	"crypto/sha256"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// scope returns the tenant scope of the caller.
func scope(c *gin.Context) tenant.Scope { return principal(c).Scope }

// view opens the collection of the path with as_of and min_revision.
func (h *core) view(c *gin.Context) (memory.View, error) {
	ref, err := pathRef(c, "collection")
	if err != nil {
		return memory.View{}, err
	}
	least := minRevision(c)
	if least > 0 {
		endTurn(c)
	}
	at, err := h.asOf(c, ref)
	if err != nil {
		return memory.View{}, err
	}
	return h.Recall.Open(c.Request.Context(), scope(c), ref, at, least)
}

// asOf returns the revision of the parameter as_of; nil: the head.
func (h *core) asOf(c *gin.Context, ref string) (*memory.Revision, error) {
	return h.revisionOf(c, ref, "as_of", query(c).Get("as_of"))
}

// revisionOf returns the revision that a field of a request names, as the contract's AsOf has it; nil: the head.
func (h *core) revisionOf(c *gin.Context, ref, field string, at any) (*memory.Revision, error) {
	return h.Clone.RevisionOf(c.Request.Context(), scope(c), ref, field, revisionText(at))
}

// revisionText returns what a body says of a revision, as a query says it; "" for nothing.
func revisionText(at any) string {
	switch at := at.(type) {
	case string:
		return at
	case json.Number:
		text := at.String()
		if n, err := at.Float64(); err == nil && strings.ContainsAny(text, ".eE") {
			return strconv.FormatFloat(n, 'f', -1, 64) // a whole number, which may be written as 1e1
		}
		return text
	}
	return ""
}

// pageView opens the collection of the path for a listing. Later pages read the revision of the
// cursor, so that all pages are consistent.
func (h *core) pageView(c *gin.Context) (memory.View, *cursor, error) {
	cur, err := h.cursorOf(c)
	if err != nil {
		return memory.View{}, nil, err
	}
	if cur == nil {
		v, err := h.view(c)
		return v, nil, err
	}
	ref, err := pathRef(c, "collection")
	if err != nil {
		return memory.View{}, nil, err
	}
	asOf, err := h.asOf(c, ref)
	if err != nil {
		return memory.View{}, nil, err
	}
	if asOf != nil && *asOf != cur.Revision {
		return memory.View{}, nil, badCursor("belongs to another revision than as_of")
	}
	ctx, s := c.Request.Context(), scope(c)
	v, err := h.Recall.Open(ctx, s, ref, &cur.Revision, 0)
	if err != nil && !fault.Is(err, fault.NotFound) {
		// A revision of one collection means nothing in another.
		if head, err := h.Recall.Open(ctx, s, ref, nil, 0); err == nil && head.Collection.ID != cur.Collection {
			return memory.View{}, nil, badCursor("belongs to another collection")
		}
	}
	if err != nil {
		return memory.View{}, nil, err
	}
	if v.Collection.ID != cur.Collection {
		return memory.View{}, nil, badCursor("belongs to another collection")
	}
	return v, cur, nil
}

// pageAfter is pageView for a listing by id. after is the last id of the page before; zero for the first page.
func (h *core) pageAfter(c *gin.Context) (v memory.View, after uuid.UUID, err error) {
	v, cur, err := h.pageView(c)
	if err == nil {
		after, err = cur.afterID()
	}
	return v, after, err
}

func minRevision(c *gin.Context) memory.Revision {
	if r := queryRevision(c, "min_revision"); r != nil {
		return *r
	}
	return 0
}

// conditions returns the conditions of a writing request, from its headers.
func conditions(c *gin.Context) memory.Request {
	r := memory.Request{Guard: ifMatch(c.Request.Header.Get("If-Match"))}
	// Other methods can be repeated without a key.
	if key := c.Request.Header.Get("Idempotency-Key"); key != "" && c.Request.Method == http.MethodPost {
		r.Idempotency = &memory.Idempotency{
			Method: c.Request.Method, Path: c.Request.URL.Path, Key: key, BodyHash: sha256.Sum256(rawBody(c)),
		}
	}
	return r
}

// ifMatch returns the condition of an If-Match header (RFC 9110 §13.1.1): "*" or a list of entity
// tags; nil if the header is absent. Tags are compared strongly, so a weak one never matches.
func ifMatch(header string) memory.Guard {
	header = strings.TrimSpace(header)
	if header == "" {
		return nil
	}
	return func(etag string) bool {
		if header == "*" {
			return true
		}
		for tag := range strings.SplitSeq(header, ",") {
			if strings.TrimSpace(tag) == etag {
				return true
			}
		}
		return false
	}
}
