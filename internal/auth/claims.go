package auth

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// claims are the claims of a token. All are required but agent, grant and external:
//
//	iss     Config.Issuer
//	aud     Config.Audience, a string or a list with that one element. The two are of a [Resource] when a program has the token
//	grant   an id, only in tokens that a program has
//	external  ids of an application, by name, when the token is limited to what has them. Builds that do not know it refuse the token
//	sub     "key:" and the id of the API key
//	tenant  the id of the tenant, or "platform"
//	agent   the id of the agent, when the token is bound to one
//	scopes  a list of scopes, not empty, without duplicates
//	iat, nbf, exp   seconds since 1970
//	jti     a UUID
type claims struct {
	issuer    string
	audience  string
	key       uuid.UUID
	tenant    uuid.UUID // zero: platform
	agent     uuid.UUID // zero: none
	grant     uuid.UUID // zero: none
	limit     tenant.Limit
	scopes    []tenant.Permission
	issuedAt  time.Time
	notBefore time.Time
	expires   time.Time
	id        uuid.UUID
}

const subjectKind = "key:"

// MarshalJSON encodes the claims.
func (c *claims) MarshalJSON() ([]byte, error) {
	owner := platformTenant
	if c.tenant != uuid.Nil {
		owner = c.tenant.String()
	}
	return json.Marshal(struct {
		Issuer    string              `json:"iss"`
		Audience  string              `json:"aud"`
		Subject   string              `json:"sub"`
		Tenant    string              `json:"tenant"`
		Agent     uuid.UUID           `json:"agent,omitzero"`
		Grant     uuid.UUID           `json:"grant,omitzero"`
		External  map[string]string   `json:"external,omitempty"`
		Scopes    []tenant.Permission `json:"scopes"`
		IssuedAt  int64               `json:"iat"`
		NotBefore int64               `json:"nbf"`
		Expires   int64               `json:"exp"`
		ID        string              `json:"jti"`
	}{
		c.issuer, c.audience, subjectKind + c.key.String(), owner, c.agent, c.grant, c.limit.IDs(), c.scopes,
		c.issuedAt.Unix(), c.notBefore.Unix(), c.expires.Unix(), c.id.String(),
	})
}

// UnmarshalJSON decodes claims. It refuses a claim that is unknown, repeated,
// missing, or in another form than MarshalJSON writes. encoding/json alone would
// take the last of two equal names, and accept "TENANT" for "tenant".
func (c *claims) UnmarshalJSON(b []byte) error {
	members, err := strictObject(b)
	if err != nil {
		return err
	}
	var got claims
	readers := map[string]func(json.RawMessage) error{
		"iss":      func(m json.RawMessage) (err error) { got.issuer, err = readString(m); return err },
		"aud":      func(m json.RawMessage) (err error) { got.audience, err = readAudience(m); return err },
		"sub":      got.readSubject,
		"tenant":   got.readTenant,
		"agent":    func(m json.RawMessage) (err error) { got.agent, err = readID(m); return err },
		"grant":    func(m json.RawMessage) (err error) { got.grant, err = readID(m); return err },
		"scopes":   got.readScopes,
		"external": got.readLimit,
		"iat":      func(m json.RawMessage) (err error) { got.issuedAt, err = readSeconds(m); return err },
		"nbf":      func(m json.RawMessage) (err error) { got.notBefore, err = readSeconds(m); return err },
		"exp":      func(m json.RawMessage) (err error) { got.expires, err = readSeconds(m); return err },
		"jti":      func(m json.RawMessage) (err error) { got.id, err = readID(m); return err },
	}
	for name, m := range members {
		read, ok := readers[name]
		if !ok {
			return fmt.Errorf("unknown claim %q", name)
		}
		if err := read(m); err != nil {
			return fmt.Errorf("claim %q: %w", name, err)
		}
		delete(readers, name)
	}
	delete(readers, "agent")
	delete(readers, "grant")
	delete(readers, "external")
	for name := range readers {
		return fmt.Errorf("claim %q is missing", name)
	}
	*c = got
	return nil
}

func (c *claims) readSubject(m json.RawMessage) error {
	s, err := readString(m)
	if err != nil {
		return err
	}
	rest, ok := strings.CutPrefix(s, subjectKind)
	if !ok {
		return errors.New("does not name a key")
	}
	c.key, err = parseCanonicalID(rest)
	return err
}

func (c *claims) readTenant(m json.RawMessage) error {
	s, err := readString(m)
	if err != nil || s == platformTenant {
		return err
	}
	c.tenant, err = parseCanonicalID(s)
	return err
}

func (c *claims) readLimit(m json.RawMessage) error {
	members, err := strictObject(m)
	if err != nil || len(members) == 0 {
		return errors.New("not an object of ids")
	}
	for name, raw := range members {
		id, err := readString(raw)
		if err != nil {
			return err
		}
		limit, ok := c.limit.With(name, id)
		if !ok {
			return fmt.Errorf("no id is called %q", name)
		}
		if err := memory.CheckExternalID(name, id); err != nil {
			return err
		}
		c.limit = limit
	}
	return nil
}

func (c *claims) readScopes(m json.RawMessage) error {
	var list []json.RawMessage
	if err := json.Unmarshal(m, &list); err != nil || len(list) == 0 {
		return errors.New("not a list of scopes")
	}
	names := make([]string, len(list))
	for i, item := range list {
		s, err := readString(item)
		if err != nil {
			return err
		}
		if slices.Contains(names[:i], s) {
			return errors.New("a scope is repeated")
		}
		names[i] = s
	}
	var err error
	c.scopes, err = tenant.ParsePermissions("scopes", names)
	return err
}

// The methods of jwt.Claims. The library calls them to check iss, aud and the times.

func (c *claims) GetIssuer() (string, error)             { return c.issuer, nil }
func (c *claims) GetSubject() (string, error)            { return subjectKind + c.key.String(), nil }
func (c *claims) GetAudience() (jwt.ClaimStrings, error) { return jwt.ClaimStrings{c.audience}, nil }
func (c *claims) GetExpirationTime() (*jwt.NumericDate, error) {
	return jwt.NewNumericDate(c.expires), nil
}
func (c *claims) GetNotBefore() (*jwt.NumericDate, error) {
	return jwt.NewNumericDate(c.notBefore), nil
}
func (c *claims) GetIssuedAt() (*jwt.NumericDate, error) { return jwt.NewNumericDate(c.issuedAt), nil }

// typGranted is the type of the tokens of a grant (RFC 9068), which no other tokens have: neither passes for the other.
const typGranted = "at+jwt"

// checkHeader accepts a header only with alg, kid and optionally typ. Headers
// that refer to other keys (jwk, jku, x5u) or list critical extensions (crit)
// are refused. granted says that the type is typGranted.
func checkHeader(b []byte) (granted bool, err error) {
	members, err := strictObject(b)
	if err != nil {
		return false, err
	}
	for _, name := range []string{"alg", "kid"} {
		if _, ok := members[name]; !ok {
			return false, fmt.Errorf("header %q is missing", name)
		}
	}
	for name, m := range members {
		s, err := readString(m)
		switch {
		case err != nil:
			return false, fmt.Errorf("header %q: %w", name, err)
		case name == "alg" && s != jwt.SigningMethodEdDSA.Alg():
			return false, fmt.Errorf("algorithm %q", s)
		case name == "typ" && s != "JWT" && s != typGranted:
			return false, fmt.Errorf("type %q", s)
		case name != "alg" && name != "typ" && name != "kid":
			return false, fmt.Errorf("unknown header %q", name)
		}
		granted = granted || name == "typ" && s == typGranted
	}
	return granted, nil
}

// strictObject decodes exactly one JSON object. It refuses a repeated member and
// anything after the object.
func strictObject(b []byte) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	open, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if open != json.Delim('{') {
		return nil, errors.New("not an object")
	}
	members := map[string]json.RawMessage{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, errors.New("not an object")
		}
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("%q is repeated", name)
		}
		var m json.RawMessage
		if err := dec.Decode(&m); err != nil {
			return nil, err
		}
		members[name] = m
	}
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is data after the object")
	}
	return members, nil
}

// readString decodes a non-empty JSON string.
func readString(m json.RawMessage) (string, error) {
	var s *string
	if err := json.Unmarshal(m, &s); err != nil || s == nil || *s == "" {
		return "", errors.New("not a non-empty string")
	}
	return *s, nil
}

// readAudience decodes a string, or a list of one string.
func readAudience(m json.RawMessage) (string, error) {
	if s, err := readString(m); err == nil {
		return s, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(m, &list); err != nil || len(list) != 1 {
		return "", errors.New("not one audience")
	}
	return readString(list[0])
}

// readSeconds decodes a whole number of seconds since 1970.
func readSeconds(m json.RawMessage) (time.Time, error) {
	var n *int64
	if err := json.Unmarshal(m, &n); err != nil || n == nil || *n < 0 || *n > 1<<40 {
		return time.Time{}, errors.New("not a time")
	}
	return time.Unix(*n, 0).UTC(), nil
}

func readID(m json.RawMessage) (uuid.UUID, error) {
	s, err := readString(m)
	if err != nil {
		return uuid.Nil, err
	}
	return parseCanonicalID(s)
}

// parseCanonicalID parses a UUID in its canonical spelling. It refuses the zero UUID,
// which means "none" elsewhere.
func parseCanonicalID(s string) (uuid.UUID, error) {
	u, err := uuid.Parse(s)
	if err != nil || u.String() != s || u == uuid.Nil {
		return uuid.Nil, errors.New("not an id")
	}
	return u, nil
}
