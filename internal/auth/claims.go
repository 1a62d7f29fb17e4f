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

	"github.com/slipboxhq/slipbox/internal/tenant"
)

// claims are those of a token, all required but Agent:
//
//	iss     Config.Issuer
//	aud     Config.Audience, a string or a list of just that one
//	sub     "key:" and the id of the API key
//	tenant  the id of the tenant, or "platform"
//	agent   the id of the agent, when bound to one
//	scopes  a list of scopes, not empty, none twice
//	iat, nbf, exp   seconds since 1970
//	jti     a UUID
type claims struct {
	issuer    string
	audience  string
	key       uuid.UUID
	tenant    uuid.UUID // zero: platform
	agent     uuid.UUID // zero: none
	scopes    []tenant.Permission
	issuedAt  time.Time
	notBefore time.Time
	expires   time.Time
	id        uuid.UUID
}

const subjectKind = "key:"

// MarshalJSON writes the claims.
func (c *claims) MarshalJSON() ([]byte, error) {
	owner := platformTenant
	if c.tenant != uuid.Nil {
		owner = c.tenant.String()
	}
	agent := ""
	if c.agent != uuid.Nil {
		agent = c.agent.String()
	}
	return json.Marshal(struct {
		Issuer    string              `json:"iss"`
		Audience  string              `json:"aud"`
		Subject   string              `json:"sub"`
		Tenant    string              `json:"tenant"`
		Agent     string              `json:"agent,omitempty"`
		Scopes    []tenant.Permission `json:"scopes"`
		IssuedAt  int64               `json:"iat"`
		NotBefore int64               `json:"nbf"`
		Expires   int64               `json:"exp"`
		ID        string              `json:"jti"`
	}{
		c.issuer, c.audience, subjectKind + c.key.String(), owner, agent, c.scopes,
		c.issuedAt.Unix(), c.notBefore.Unix(), c.expires.Unix(), c.id.String(),
	})
}

// UnmarshalJSON reads claims and refuses any that is unknown, repeated,
// missing, or of another form than MarshalJSON writes. encoding/json by itself
// would take the last of two, and "TENANT" for "tenant".
func (c *claims) UnmarshalJSON(b []byte) error {
	members, err := strictObject(b)
	if err != nil {
		return err
	}
	var got claims
	readers := map[string]func(json.RawMessage) error{
		"iss":    func(m json.RawMessage) (err error) { got.issuer, err = text(m); return err },
		"aud":    func(m json.RawMessage) (err error) { got.audience, err = audience(m); return err },
		"sub":    got.readSubject,
		"tenant": got.readTenant,
		"agent":  func(m json.RawMessage) (err error) { got.agent, err = id(m); return err },
		"scopes": got.readScopes,
		"iat":    func(m json.RawMessage) (err error) { got.issuedAt, err = seconds(m); return err },
		"nbf":    func(m json.RawMessage) (err error) { got.notBefore, err = seconds(m); return err },
		"exp":    func(m json.RawMessage) (err error) { got.expires, err = seconds(m); return err },
		"jti":    func(m json.RawMessage) (err error) { got.id, err = id(m); return err },
	}
	for name, m := range members {
		read, known := readers[name]
		if !known {
			return fmt.Errorf("unknown claim %q", name)
		}
		if err := read(m); err != nil {
			return fmt.Errorf("claim %q: %w", name, err)
		}
		delete(readers, name)
	}
	delete(readers, "agent")
	for name := range readers {
		return fmt.Errorf("claim %q is missing", name)
	}
	*c = got
	return nil
}

func (c *claims) readSubject(m json.RawMessage) error {
	s, err := text(m)
	if err != nil {
		return err
	}
	rest, ok := strings.CutPrefix(s, subjectKind)
	if !ok {
		return errors.New("does not name a key")
	}
	c.key, err = canonicalID(rest)
	return err
}

func (c *claims) readTenant(m json.RawMessage) error {
	s, err := text(m)
	if err != nil || s == platformTenant {
		return err
	}
	c.tenant, err = canonicalID(s)
	return err
}

func (c *claims) readScopes(m json.RawMessage) error {
	var list []json.RawMessage
	if err := json.Unmarshal(m, &list); err != nil || len(list) == 0 {
		return errors.New("not a list of scopes")
	}
	names := make([]string, len(list))
	for i, item := range list {
		s, err := text(item)
		if err != nil {
			return err
		}
		if slices.Contains(names[:i], s) {
			return errors.New("a scope stands twice")
		}
		names[i] = s
	}
	var err error
	c.scopes, err = tenant.ParsePermissions("scopes", names)
	return err
}

// The methods of jwt.Claims, by which the library checks iss, aud and the times.

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

// checkHeader refuses a header that says more or less than alg, kid and typ:
// what points to other keys (jwk, jku, x5u) or asks to be understood (crit) is
// not even looked at.
func checkHeader(b []byte) error {
	members, err := strictObject(b)
	if err != nil {
		return err
	}
	for _, name := range []string{"alg", "kid"} {
		if _, ok := members[name]; !ok {
			return fmt.Errorf("header %q is missing", name)
		}
	}
	for name, m := range members {
		s, err := text(m)
		switch {
		case err != nil:
			return fmt.Errorf("header %q: %w", name, err)
		case name == "alg" && s != jwt.SigningMethodEdDSA.Alg():
			return fmt.Errorf("algorithm %q", s)
		case name == "typ" && s != "JWT":
			return fmt.Errorf("type %q", s)
		case name != "alg" && name != "typ" && name != "kid":
			return fmt.Errorf("unknown header %q", name)
		}
	}
	return nil
}

// strictObject reads one JSON object and nothing after it, and refuses a
// member that stands twice.
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
			return nil, fmt.Errorf("%q stands twice", name)
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
		return nil, errors.New("something stands after the object")
	}
	return members, nil
}

// text reads a JSON string that is not empty.
func text(m json.RawMessage) (string, error) {
	var s *string
	if err := json.Unmarshal(m, &s); err != nil || s == nil || *s == "" {
		return "", errors.New("not a text")
	}
	return *s, nil
}

// audience reads one text, or a list of one.
func audience(m json.RawMessage) (string, error) {
	if s, err := text(m); err == nil {
		return s, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(m, &list); err != nil || len(list) != 1 {
		return "", errors.New("not one audience")
	}
	return text(list[0])
}

// seconds reads a whole number of seconds since 1970.
func seconds(m json.RawMessage) (time.Time, error) {
	var n *int64
	if err := json.Unmarshal(m, &n); err != nil || n == nil || *n < 0 || *n > 1<<40 {
		return time.Time{}, errors.New("not a time")
	}
	return time.Unix(*n, 0).UTC(), nil
}

func id(m json.RawMessage) (uuid.UUID, error) {
	s, err := text(m)
	if err != nil {
		return uuid.Nil, err
	}
	return canonicalID(s)
}

// canonicalID reads a UUID in its usual spelling; never the zero one, which
// elsewhere means "none".
func canonicalID(s string) (uuid.UUID, error) {
	u, err := uuid.Parse(s)
	if err != nil || u.String() != s || u == uuid.Nil {
		return uuid.Nil, errors.New("not an id")
	}
	return u, nil
}
