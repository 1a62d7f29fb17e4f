package oauth

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

const methodS256 = "S256"

// challengeText is what the challenge of a verifier is: SHA-256 in base64url.
var challengeText = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// maxState is the length of the state of a program in bytes.
const maxState = 4096

// authorization is a request for consent that was checked.
type authorization struct {
	client    client
	redirect  string
	state     string
	challenge string
	mayWrite  bool // write was asked for
	at        auth.Resource
}

// refusal is an error that a program is told by the redirect.
type refusal struct{ code, description string }

// read checks a request for consent. err is for who sits before the browser: the program, or where to send it back to, is not
// known. no is for the program.
func (s *Server) read(in url.Values, at auth.Resource) (a authorization, no *refusal, err error) {
	a.at = at
	if name := repeated(in); name == "client_id" || name == "redirect_uri" {
		return a, nil, errors.New("the address that the program has opened names " + name + " twice")
	}
	if a.client, err = s.client(in.Get("client_id")); err != nil {
		return a, nil, err
	}
	a.redirect = in.Get("redirect_uri")
	if !a.client.redirects(a.redirect) {
		return a, nil, errors.New("the program wants the answer to be sent to an address that it is not registered with")
	}
	a.state, a.challenge = in.Get("state"), in.Get("code_challenge")
	no = a.check(in, s)
	return a, no, nil
}

// check returns what the program has asked for wrongly.
func (a *authorization) check(in url.Values, s *Server) *refusal {
	if len(a.state) > maxState {
		a.state = ""
		return &refusal{"invalid_request", "state is too long"}
	}
	var known bool
	a.mayWrite, known = mayWrite(in.Get("scope"))
	switch {
	case repeated(in) != "":
		return &refusal{"invalid_request", repeated(in) + " is repeated"}
	case a.client.expired(s.Now()):
		return &refusal{"unauthorized_client", errClient.Error()}
	case in.Get("response_type") != "code":
		return &refusal{"unsupported_response_type", "response_type must be code"}
	case in.Get("response_mode") != "" && in.Get("response_mode") != "query":
		return &refusal{"invalid_request", "response_mode must be query"}
	case in.Get("code_challenge_method") != methodS256 || !challengeText.MatchString(a.challenge):
		return &refusal{"invalid_request", "PKCE is required: code_challenge, with code_challenge_method S256"}
	case !isResource(in.Get("resource"), a.at):
		return &refusal{"invalid_target", "resource must be " + a.at.URL}
	case !known:
		return &refusal{"invalid_scope", "the scopes are read and write"}
	case slices.Contains(strings.Fields(in.Get("prompt")), "none"):
		return &refusal{"interaction_required", "somebody has to consent"}
	}
	return nil
}

// mayWrite reports whether scopes that a program asks for allow writing. It is told what it got, so scopes that do not exist are left
// out; known is false when none is left. Who asks for none asks for all.
func mayWrite(text string) (write, known bool) {
	names := strings.Fields(text)
	write = len(names) == 0 || slices.Contains(names, scopeWrite)
	return write, write || slices.Contains(names, scopeRead)
}

// back returns the address that answers the program.
func (a *authorization) back(with url.Values) string {
	to, err := url.Parse(a.redirect)
	if err != nil {
		return "" // it was compared with one that was parsed
	}
	if a.state != "" {
		with.Set("state", a.state)
	}
	with.Set("iss", a.at.Issuer) // RFC 9207
	if to.RawQuery != "" {
		to.RawQuery += "&"
	}
	to.RawQuery += with.Encode()
	return to.String()
}

func (no refusal) values() url.Values {
	return url.Values{"error": {no.code}, "error_description": {no.description}}
}

// send sends the browser to an address, with a request of its own: the form is not sent again.
func send(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}

// begin reads the request in the address. It answers the request when there is nothing to consent to.
func (s *Server) begin(w http.ResponseWriter, r Request, at auth.Resource) (authorization, bool) {
	in, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		showError(w, http.StatusBadRequest, "The address that the program has opened is damaged.")
		return authorization{}, false
	}
	a, no, err := s.read(in, at)
	switch {
	case err != nil:
		showError(w, http.StatusBadRequest, sentence(err.Error()))
		return a, false
	case no != nil:
		showRefusal(w, &a, *no, a.back(no.values()))
		return a, false
	}
	return a, true
}

// showConsent shows the page that asks for consent.
func (s *Server) showConsent(w http.ResponseWriter, r Request, at auth.Resource) {
	if a, ok := s.begin(w, r, at); ok {
		showPage(w, http.StatusOK, &consent{authorization: a, Nonce: nonceOf(w, r, a.at), OfUser: true, Write: a.mayWrite})
	}
}

// consent is what somebody fills in.
type consent struct {
	authorization

	Nonce       string
	OfUser      bool // the memory of one user, and not all
	User, Agent string
	Write       bool
	Problem     string // with what was sent before
	Field       string // that it is about
}

// The form is accepted from the browser that it was shown to: the cookie, which no other site can read or set, and the form have
// the same number.
const (
	cookieName       = "slipbox-consent"
	secureCookieName = "__Host-slipbox-consent"
)

func cookieFor(at auth.Resource) (name string, secure bool) {
	if strings.HasPrefix(at.Issuer, "https:") {
		return secureCookieName, true
	}
	return cookieName, false
}

// nonceOf returns the number of the browser, which it has from an earlier page or gets now: several pages may be open.
func nonceOf(w http.ResponseWriter, r Request, at auth.Resource) string {
	name, secure := cookieFor(at)
	nonce := rand.Text()
	if known, err := r.Cookie(name); err == nil && len(known.Value) == len(nonce) {
		nonce = known.Value
	}
	//nolint:gosec // it is secure where the address is: on this machine it is http
	http.SetCookie(w, &http.Cookie{Name: name, Value: nonce, Path: "/", HttpOnly: true, Secure: secure, SameSite: http.SameSiteStrictMode, MaxAge: 3600})
	return nonce
}

// sameBrowser reports whether a form comes from the page that was shown in this browser.
func sameBrowser(r Request, sent string, at auth.Resource) bool {
	name, _ := cookieFor(at)
	cookie, err := r.Cookie(name)
	if err != nil || sent == "" || subtle.ConstantTimeCompare([]byte(cookie.Value), []byte(sent)) != 1 {
		return false
	}
	origin := r.Header.Get("Origin")
	return origin == "" || origin == at.Issuer
}

// takeConsent takes what somebody has decided on the page.
func (s *Server) takeConsent(w http.ResponseWriter, r Request, at auth.Resource) {
	a, ok := s.begin(w, r, at)
	if !ok {
		return
	}
	in, ok := form(w, r)
	if !ok {
		return
	}
	if !sameBrowser(r, in.Get("nonce"), at) {
		showError(w, http.StatusForbidden, "This form was not sent from the page that asks, or an hour has passed. Connect the program again.")
		return
	}
	if in.Get("decision") != "allow" {
		send(w, a.back(refusal{"access_denied", "the holder of the memory has refused"}.values()))
		return
	}
	c := &consent{
		authorization: a, Nonce: in.Get("nonce"), OfUser: in.Get("whose") != "all", User: in.Get("user"), Agent: in.Get("agent"),
		Write: in.Get("access") == scopeWrite && a.mayWrite,
	}
	code, err := s.allow(r, c, in.Get("key"))
	if err != nil {
		s.showProblem(w, r, c, err)
		return
	}
	send(w, a.back(url.Values{"code": {code}}))
}

// allow stores the consent of the holder of a key, and returns the code for the program.
func (s *Server) allow(r Request, c *consent, key string) (code string, err error) {
	var limit tenant.Limit
	if c.OfUser {
		limit = tenant.Limit{User: c.User, Agent: c.Agent}
		if err := memory.CheckExternalID("user", limit.User); err != nil {
			return "", err
		}
		if limit.Agent != "" {
			if err := memory.CheckExternalID("agent", limit.Agent); err != nil {
				return "", err
			}
		}
	}
	p, err := s.Guard.Authenticate(r.Context(), s.Auth.Authenticate, strings.TrimSpace(key), r.From)
	if err != nil {
		return "", err
	}
	scope := scopeRead
	if c.Write {
		scope = scopeWrite
	}
	return s.Grants.Allow(r.Context(), p, auth.NewGrant{
		Client: c.client.Name, ClientID: c.client.ID, Redirect: c.redirect, At: c.at, Challenge: c.challenge, Permissions: permissions[scope], Limit: limit,
	})
}

// showProblem shows the page again, with what was wrong. The key has to be typed again.
func (s *Server) showProblem(w http.ResponseWriter, r Request, c *consent, err error) {
	f, _ := errors.AsType[*fault.Error](err)
	status := http.StatusForbidden
	c.Field = "key"
	switch fault.CodeOf(err) {
	case fault.Invalid:
		status, c.Problem = http.StatusUnprocessableEntity, sentence(f.Message)
		if len(f.Fields) == 1 {
			c.Field = f.Fields[0].Field
		}
	case fault.Unauthenticated:
		c.Problem = "This key is not accepted. Check that all of it was pasted, and that it has not ended."
	case fault.Forbidden:
		c.Problem = sentence(f.Message)
	case fault.RateLimited:
		w.Header().Set("Retry-After", retryAfter(f))
		status, c.Problem = http.StatusTooManyRequests, "Too many keys were refused. Try again in a minute."
	case fault.QuotaExceeded:
		status, c.Problem = http.StatusTooManyRequests, sentence(f.Message)
	default:
		s.Log.ErrorContext(r.Context(), "a consent could not be stored", slog.Any("error", err))
		status, c.Problem, c.Field = http.StatusServiceUnavailable, "That did not work. Try again in a minute.", ""
	}
	showPage(w, status, c)
}

// sentence returns a message of an error as a sentence.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + strings.TrimSuffix(text[1:], ".") + "."
}
