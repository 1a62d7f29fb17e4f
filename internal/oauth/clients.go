package oauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/clip"
)

// client is a program that was registered. Its id says all of it, signed: nothing is stored, so a flood of registrations fills
// nothing, and no gateway has to ask another one (RFC 7591, A.5).
type client struct {
	ID        string   `json:"-"`
	Name      string   `json:"n,omitempty"`
	Redirects []string `json:"r"`
	IssuedAt  int64    `json:"t"`
}

const (
	clientPrefix = "slipbox_"
	// clientTTL is how long a program can ask for consent. What was granted by then stays.
	clientTTL = 365 * 24 * time.Hour

	maxRedirects   = 10
	maxRedirectLen = 1024
	maxClientID    = 4096
	maxClientName  = 80 // characters
)

var clientEncoding = base64.RawURLEncoding.Strict()

// seal returns the id of a program.
func (s *Server) seal(c client) (string, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode a client: %w", err)
	}
	return clientPrefix + clientEncoding.EncodeToString(raw) + "." + clientEncoding.EncodeToString(s.sign(raw)), nil
}

func (s *Server) sign(raw []byte) []byte {
	m := hmac.New(sha256.New, s.clients)
	m.Write(raw)
	return m.Sum(nil)
}

var errClient = errors.New("the client is not registered here, or was so more than a year ago: register it again")

// client returns the program with an id.
func (s *Server) client(id string) (client, error) {
	rest, ok := strings.CutPrefix(id, clientPrefix)
	if !ok || len(id) > maxClientID {
		return client{}, errClient
	}
	body, mac, _ := strings.Cut(rest, ".")
	raw, err := clientEncoding.DecodeString(body)
	sum, err2 := clientEncoding.DecodeString(mac)
	if err != nil || err2 != nil || !hmac.Equal(sum, s.sign(raw)) {
		return client{}, errClient
	}
	c := client{ID: id}
	if err := json.Unmarshal(raw, &c); err != nil {
		return client{}, errClient
	}
	return c, nil
}

// expired reports whether a program was registered so long ago that it has to do so again.
func (c *client) expired(now time.Time) bool { return now.Sub(time.Unix(c.IssuedAt, 0)) > clientTTL }

// register registers a program (RFC 7591).
func (s *Server) register(w http.ResponseWriter, r Request, _ auth.Resource) {
	if err := s.Guard.AdmitRegistration(r.From); err != nil {
		s.failed(r.Context(), w, err)
		return
	}
	var in struct {
		RedirectURIs  []string `json:"redirect_uris"`
		ClientName    string   `json:"client_name"`
		GrantTypes    []string `json:"grant_types"`
		ResponseTypes []string `json:"response_types"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		fail(w, http.StatusBadRequest, "invalid_client_metadata", "the body must be a JSON object with redirect_uris")
		return
	}
	if len(in.RedirectURIs) == 0 || len(in.RedirectURIs) > maxRedirects {
		fail(w, http.StatusBadRequest, "invalid_redirect_uri", fmt.Sprintf("redirect_uris must have 1 to %d addresses", maxRedirects))
		return
	}
	for _, uri := range in.RedirectURIs {
		if err := checkRedirect(uri); err != nil {
			fail(w, http.StatusBadRequest, "invalid_redirect_uri", err.Error())
			return
		}
	}
	if len(in.GrantTypes) > 0 && !slices.Contains(in.GrantTypes, grantCode) || len(in.ResponseTypes) > 0 && !slices.Contains(in.ResponseTypes, "code") {
		fail(w, http.StatusBadRequest, "invalid_client_metadata", "only the grant type authorization_code and the response type code are supported")
		return
	}
	c := client{Name: plainName(in.ClientName), Redirects: in.RedirectURIs, IssuedAt: s.Now().Unix()}
	id, err := s.seal(c)
	if err != nil || len(id) > maxClientID {
		fail(w, http.StatusBadRequest, "invalid_client_metadata", "the redirect_uris are too long")
		return
	}
	answer(w, http.StatusCreated, map[string]any{
		"client_id": id, "client_id_issued_at": c.IssuedAt, "client_name": c.Name, "redirect_uris": c.Redirects, "token_endpoint_auth_method": "none",
		"grant_types": []string{grantCode, grantRefresh}, "response_types": []string{"code"}, "scope": AllScopes,
	})
}

// plainName returns the name of a program without what could mislead who reads it.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	return clip.Runes(strings.TrimSpace(name), maxClientName-1) // and an ellipsis
}

// notForCodes are schemes under which a browser would run, show or load what comes after them.
var notForCodes = []string{"javascript", "data", "vbscript", "file", "blob", "filesystem", "about", "view-source", "ftp", "ws", "wss", "mailto", "tel", "slipbox"}

// checkRedirect returns why a code cannot be sent to an address.
func checkRedirect(uri string) error {
	u, err := url.Parse(uri)
	switch {
	case err != nil || len(uri) > maxRedirectLen || strings.ContainsFunc(uri, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`\"<>{}|^`+"`", r) }):
		return fmt.Errorf("a redirect_uri must be an address of at most %d plain characters", maxRedirectLen)
	case u.Fragment != "" || strings.Contains(uri, "#") || u.User != nil || u.Opaque != "":
		return errors.New("a redirect_uri must have no fragment, no user and an absolute path")
	case u.Scheme == "https" && u.Hostname() != "", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	case u.Scheme == "http":
		return errors.New("a redirect_uri must begin with https, unless its host is this machine")
	case u.Scheme == "" || u.Scheme == "https" || u.Host == "" && u.Path == "" || slices.Contains(notForCodes, strings.ToLower(u.Scheme)):
		return errors.New("a redirect_uri must begin with https, or with the scheme of a program")
	}
	return nil
}

// redirects reports whether a program is registered with an address. It is compared exactly; the port of this machine is free
// (RFC 8252).
func (c *client) redirects(uri string) bool {
	return slices.ContainsFunc(c.Redirects, func(known string) bool { return known == uri || samePlace(known, uri) })
}

// samePlace reports whether two addresses of this machine differ in the port only.
func samePlace(a, b string) bool {
	withoutPort := func(text string) (string, bool) {
		u, err := url.Parse(text)
		if err != nil || checkRedirect(text) != nil || u.Scheme != "http" {
			return "", false
		}
		port := u.Port()
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
		return u.String(), true
	}
	x, ok := withoutPort(a)
	y, ok2 := withoutPort(b)
	return ok && ok2 && x == y
}
