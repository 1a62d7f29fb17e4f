package api

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api/route"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// cursorTTL is how long a cursor is valid.
const cursorTTL = 24 * time.Hour

// cursors seals and opens cursors. A cursor is opaque to clients. It is accepted only for the
// operation, tenant and agent that it was made for, and it grants nothing: its request is
// authorized like any other.
type cursors struct {
	aead cipher.AEAD
	now  func() time.Time
}

// cursor is the place where the next page of a listing begins.
type cursor struct {
	Position   string          `json:"p"`           // of the last item, in a form of the operation
	Collection uuid.UUID       `json:"c,omitzero"`  // whose items are listed
	Revision   memory.Revision `json:"r,omitempty"` // that every page reads
	Query      []byte          `json:"q,omitempty"` // digest of the filters
	Expires    int64           `json:"x"`           // Unix seconds
}

// newCursors returns the sealer. The secret may have any length; without one, cursors are valid
// only in this process.
func newCursors(secret []byte, now func() time.Time) (*cursors, error) {
	if len(secret) == 0 {
		secret = make([]byte, 32)
		if _, err := rand.Read(secret); err != nil {
			return nil, fmt.Errorf("make a cursor key: %w", err)
		}
	}
	key := sha256.Sum256(append([]byte("slipbox cursor\x00"), secret...))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, fmt.Errorf("make a cursor key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("make a cursor key: %w", err)
	}
	return &cursors{aead: aead, now: now}, nil
}

// nextCursor seals a position for the next_cursor of an answer; nil for "", the end.
func (s *Server) nextCursor(c *gin.Context, position string) (*string, error) {
	return s.nextCursorAt(c, position, uuid.Nil, 0)
}

// nextCursorAt is nextCursor for a listing of one collection at one revision.
func (s *Server) nextCursorAt(c *gin.Context, position string, collection uuid.UUID, at memory.Revision) (*string, error) {
	if position == "" {
		return nil, nil //nolint:nilnil // an absent next_cursor is how a listing ends
	}
	raw, err := json.Marshal(cursor{
		Position: position, Collection: collection, Revision: at, Query: listingOf(c),
		Expires: s.cursors.now().Add(cursorTTL).Unix(),
	})
	if err != nil {
		return nil, fmt.Errorf("render a cursor: %w", err)
	}
	sealed := s.cursors.aead.Seal(nil, nil, raw, cursorOwner(c)) //nolint:gosec // the nonce is random: NewGCMWithRandomNonce makes it
	return new(base64.RawURLEncoding.EncodeToString(sealed)), nil
}

// cursorOf opens the cursor of a request; nil without one. Invalid if the cursor is forged,
// expired, or made for another operation, tenant, agent or filter.
func (s *Server) cursorOf(c *gin.Context) (*cursor, error) {
	text := query(c).Get("cursor")
	if text == "" {
		return nil, nil //nolint:nilnil // no cursor is the first page
	}
	var cur cursor
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err == nil {
		var raw []byte
		if raw, err = s.cursors.aead.Open(nil, nil, sealed, cursorOwner(c)); err == nil {
			err = json.Unmarshal(raw, &cur)
		}
	}
	switch {
	case err != nil:
		return nil, badCursor("is not a cursor of this listing")
	case s.cursors.now().Unix() > cur.Expires:
		return nil, badCursor("is older than 24 hours; start from the first page")
	case !slices.Equal(cur.Query, listingOf(c)):
		return nil, badCursor("belongs to other parameters; repeat those of the first page")
	}
	return &cur, nil
}

// afterID returns the id after which a page of a listing by id begins; zero for the first page.
func (c *cursor) afterID() (uuid.UUID, error) {
	if c == nil {
		return uuid.Nil, nil
	}
	return parseAfter(c.Position)
}

// parseAfter is afterID for the position of a cursor; "" is the first page.
func parseAfter(position string) (uuid.UUID, error) {
	if position == "" {
		return uuid.Nil, nil
	}
	id, err := route.ParseID(position)
	if err != nil {
		return uuid.Nil, badCursor("is not a cursor of this listing")
	}
	return id, nil
}

func badCursor(reason string) error { return fault.InvalidField("cursor", "%s", reason) }

// cursorOwner returns what a cursor is bound to but does not contain.
func cursorOwner(c *gin.Context) []byte {
	p := principal(c)
	return fmt.Appendf(nil, "%s\x00%s\x00%s\x00%s", c.FullPath(), p.Scope.Tenant(), p.Scope.Reader(), p.Operator.Actor())
}

// listingOf hashes the parameters that select the items. The page size, the fields that are shown,
// and the revision (which the cursor contains) may differ between pages.
func listingOf(c *gin.Context) []byte {
	q := url.Values{}
	for name, values := range query(c) {
		switch name {
		case "cursor", "limit", "include", "as_of", "min_revision":
		default:
			q[name] = values
		}
	}
	if len(q) == 0 {
		return nil
	}
	sum := sha256.Sum256([]byte(q.Encode()))
	return sum[:8]
}

// pageLimit returns the limit of a listing.
func pageLimit(c *gin.Context) int { return queryInt(c, "limit", memory.DefaultPage) }
