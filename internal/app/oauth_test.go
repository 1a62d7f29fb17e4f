package app

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/config"
	"github.com/slipboxhq/slipbox/test/must"
)

// program is a program that connects to /mcp by OAuth, with a browser in which somebody consents.
type program struct {
	t        *testing.T
	g        *gatewayTest
	issuer   string
	browser  *http.Client
	id       string
	redirect string
	verifier string
}

// oauthProgram registers a program.
func oauthProgram(t *testing.T, g *gatewayTest, issuer, redirect string) *program {
	t.Helper()
	jar := must.Get(cookiejar.New(nil))(t)
	p := &program{
		t: t, g: g, issuer: issuer, redirect: redirect, verifier: strings.Repeat("v", 43),
		browser: &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	status, made := p.json(http.MethodPost, "/oauth/register", `{"client_name":"A <b>program</b>`+"\u202e"+`","redirect_uris":["`+redirect+`"],"token_endpoint_auth_method":"client_secret_post"}`)
	if status != http.StatusCreated || made["token_endpoint_auth_method"] != "none" {
		t.Fatalf("registration: %d %v", status, made)
	}
	p.id, _ = made["client_id"].(string)
	return p
}

// ask makes a request without following redirects.
func (p *program) ask(method, path, contentType, body string, header ...string) (*http.Response, string) {
	p.t.Helper()
	req := must.Get(http.NewRequestWithContext(p.t.Context(), method, p.g.url+path, strings.NewReader(body)))(p.t)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp := must.Get(p.browser.Do(req))(p.t)
	defer func() { _ = resp.Body.Close() }()
	raw := must.Get(io.ReadAll(resp.Body))(p.t)
	return resp, string(raw)
}

func (p *program) json(method, path, body string) (int, object) {
	p.t.Helper()
	resp, raw := p.ask(method, path, "application/json", body)
	out := object{}
	if err := json.Unmarshal([]byte(raw), &out); err != nil {
		p.t.Fatalf("%s %s: %d %s", method, path, resp.StatusCode, raw)
	}
	return resp.StatusCode, out
}

// form posts a form and returns the answer of the protocol.
func (p *program) form(path string, in url.Values) (int, object) {
	p.t.Helper()
	resp, raw := p.ask(http.MethodPost, path, "application/x-www-form-urlencoded", in.Encode())
	out := object{}
	if raw != "" {
		if err := json.Unmarshal([]byte(raw), &out); err != nil {
			p.t.Fatalf("%s: %d %s", path, resp.StatusCode, raw)
		}
	}
	if got := resp.Header.Get("Cache-Control"); got != "no-store" {
		p.t.Errorf("%s: Cache-Control %q", path, got)
	}
	return resp.StatusCode, out
}

// address is where the program sends the browser, with changes.
func (p *program) address(changes ...string) string {
	sum := sha256.Sum256([]byte(p.verifier))
	q := url.Values{
		"response_type": {"code"}, "client_id": {p.id}, "redirect_uri": {p.redirect}, "state": {"s&t=1"}, "scope": {"read write"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "resource": {p.issuer + "/mcp"},
	}
	for i := 0; i < len(changes); i += 2 {
		q.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			q.Del(changes[i])
		}
	}
	return "/oauth/authorize?" + q.Encode()
}

var nonceField = regexp.MustCompile(`name="nonce" value="([^"]+)"`)

// consent opens the page and sends the form. It returns the answer to it.
func (p *program) consent(address string, in url.Values) (*http.Response, string) {
	p.t.Helper()
	_, page := p.ask(http.MethodGet, address, "", "")
	found := nonceField.FindStringSubmatch(page)
	if found == nil {
		p.t.Fatalf("no form: %s", page)
	}
	in = maps.Clone(in)
	if in.Get("nonce") == "" {
		in.Set("nonce", found[1])
	}
	return p.ask(http.MethodPost, address, "application/x-www-form-urlencoded", in.Encode(), "Origin", p.issuer)
}

// code allows the program, in a browser, and returns the code.
func (p *program) code(in url.Values) string {
	p.t.Helper()
	resp, page := p.consent(p.address(), in)
	to, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || resp.StatusCode != http.StatusSeeOther || to.Query().Get("code") == "" {
		p.t.Fatalf("%d, %v: %s", resp.StatusCode, to, page)
	}
	if to.Query().Get("state") != "s&t=1" || to.Query().Get("iss") != p.issuer || !strings.HasPrefix(to.String(), p.redirect) {
		p.t.Errorf("the answer goes to %s", to)
	}
	return to.Query().Get("code")
}

func (p *program) exchange(code string, changes ...string) (int, object) {
	p.t.Helper()
	in := url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "client_id": {p.id}, "redirect_uri": {p.redirect}, "code_verifier": {p.verifier}, "resource": {p.issuer + "/mcp"},
	}
	for i := 0; i < len(changes); i += 2 {
		in.Set(changes[i], changes[i+1])
	}
	return p.form("/oauth/token", in)
}

func (p *program) refresh(token string, changes ...string) (int, object) {
	p.t.Helper()
	in := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {p.id}}
	for i := 0; i < len(changes); i += 2 {
		in.Set(changes[i], changes[i+1])
	}
	return p.form("/oauth/token", in)
}

// tokens allows the program, and returns its tokens.
func (p *program) tokens(in url.Values) (access, refresh string) {
	p.t.Helper()
	status, got := p.exchange(p.code(in))
	if status != http.StatusOK {
		p.t.Fatalf("%d %v", status, got)
	}
	access, _ = got["access_token"].(string)
	refresh, _ = got["refresh_token"].(string)
	return access, refresh
}

// tool calls a tool of MCP with a token.
func (p *program) tool(token, name string, args object) (status int, challenge string, answer object) {
	p.t.Helper()
	body := must.Get(json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{"name": name, "arguments": args}}))(p.t)
	resp, raw := p.ask(http.MethodPost, "/mcp", "application/json", string(body), "Authorization", "Bearer "+token, "Mcp-Protocol-Version", "2025-06-18")
	out := object{}
	if err := json.Unmarshal([]byte(raw), &out); err != nil {
		p.t.Fatalf("%d %s", resp.StatusCode, raw)
	}
	return resp.StatusCode, resp.Header.Get("WWW-Authenticate"), out
}

// said calls a tool and returns its text. It fails when the call does.
func (p *program) said(token, name string, args object) string {
	p.t.Helper()
	status, _, out := p.tool(token, name, args)
	result, _ := out["result"].(object)
	if status != http.StatusOK || result["isError"] == true {
		p.t.Fatalf("%s: %d %v", name, status, out)
	}
	return fmt.Sprint(result["content"])
}

func allows(key string, more ...string) url.Values {
	in := url.Values{"decision": {"allow"}, "key": {key}, "whose": {"user"}, "user": {"ida@example.com"}, "access": {"write"}}
	for i := 0; i < len(more); i += 2 {
		in.Set(more[i], more[i+1])
	}
	return in
}

// A program finds the authorization server from the refusal, is allowed by the holder of a key, reads and writes the memory of one
// user and nothing else, and loses its tokens with the grant.
func TestOAuth(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, start func(func(*Settings)) *gatewayTest) {
		t.Helper()
		g := start(nil)
		p := oauthProgram(t, g, g.url, "https://claude.example/cb?x=1")
		resp, _ := p.ask(http.MethodPost, "/mcp", "application/json", `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		want := `Bearer realm="slipbox", resource_metadata="` + g.url + `/.well-known/oauth-protected-resource/mcp", scope="read write"`
		if resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") != want {
			t.Errorf("%d, %s", resp.StatusCode, resp.Header.Get("WWW-Authenticate"))
		}
		for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"} {
			if status, doc := p.json(http.MethodGet, path, ""); status != http.StatusOK || doc["resource"] != g.url+"/mcp" || fmt.Sprint(doc["authorization_servers"]) != "["+g.url+"]" {
				t.Errorf("%s: %d %v", path, status, doc)
			}
		}
		for _, path := range []string{"/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp", "/.well-known/openid-configuration"} {
			if status, doc := p.json(http.MethodGet, path, ""); status != http.StatusOK || doc["issuer"] != g.url || fmt.Sprint(doc["code_challenge_methods_supported"]) != "[S256]" ||
				doc["authorization_response_iss_parameter_supported"] != true {
				t.Errorf("%s: %d %v", path, status, doc)
			}
		}

		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "others", "policy": "none", "external": object{"user": "tom@example.com"}})
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections", object{"name": "everybodys", "policy": "none"})
		g.call(http.StatusCreated, http.MethodPost, "/v1/collections/others/notes", object{"content": "Tom collects kettles."})
		access, refresh := p.tokens(allows(g.key))
		if got := p.said(access, "build_context", object{"query": "kettles"}); strings.Contains(got, "Tom") {
			t.Errorf("before anything is known: %s", got)
		}
		p.said(access, "remember", object{"content": "Ida restores old kettles.", "policy": "none"})
		if got := p.said(access, "search_notes", object{"query": "kettles"}); !strings.Contains(got, "Ida restores") || strings.Contains(got, "Tom") {
			t.Errorf("search: %s", got)
		}
		if got := p.said(access, "list_collections", object{}); strings.Contains(got, "others") || strings.Contains(got, "everybodys") {
			t.Errorf("list: %s", got)
		}
		fork := p.said(access, "fork", object{"external": object{"user": "ida@example.com"}, "name": "what-if"})
		if !strings.Contains(fork, "what-if") || !strings.Contains(p.said(access, "search_notes", object{"query": "kettles", "collection": "what-if"}), "Ida restores") {
			t.Errorf("fork: %s", fork)
		}
		for _, args := range []object{
			{"collection": "others"}, {"collection": "everybodys"}, {"collections": []string{"others"}}, {"external": object{"user": "tom@example.com"}},
		} {
			args["query"] = "kettles"
			if _, _, out := p.tool(access, "search_notes", args); out["result"].(object)["isError"] != true {
				t.Errorf("%v: %v", args, out)
			}
		}
		if _, _, out := p.tool(access, "remember", object{"collection": "others", "content": "x"}); out["result"].(object)["isError"] != true {
			t.Errorf("written to others: %v", out)
		}
		if found := g.call(http.StatusOK, http.MethodGet, "/v1/collections/by?user=ida@example.com", nil); found["policy"] != "none" {
			t.Errorf("the memory of the user: %v", found)
		}

		list := g.call(http.StatusOK, http.MethodGet, "/v1/oauth/grants", nil)["items"].([]any)
		made := list[0].(object)
		if len(list) != 1 || made["client"] != "A <b>program</b>" || fmt.Sprint(made["external"]) != "map[user:ida@example.com]" {
			t.Errorf("grants: %v", list)
		}
		status, next := p.refresh(refresh)
		if status != http.StatusOK || next["refresh_token"] == refresh || next["scope"] != "read write" {
			t.Fatalf("%d %v", status, next)
		}
		second, _ := next["access_token"].(string)
		p.said(second, "search_notes", object{"query": "kettles"})
		id, _ := made["id"].(string)
		g.call(http.StatusNoContent, http.MethodDelete, "/v1/oauth/grants/"+id, nil)
		if status, challenge, _ := p.tool(second, "search_notes", object{"query": "kettles"}); status != http.StatusUnauthorized || !strings.Contains(challenge, `error="invalid_token"`) {
			t.Errorf("after the grant: %d %s", status, challenge)
		}
		last, _ := next["refresh_token"].(string)
		if status, out := p.refresh(last); status != http.StatusBadRequest || out["error"] != "invalid_grant" {
			t.Errorf("after the grant: %d %v", status, out)
		}
		entries := g.call(http.StatusOK, http.MethodGet, "/v1/audit?target="+id, nil)["items"].([]any)
		actions := []string{}
		for _, e := range entries {
			actions = append(actions, fmt.Sprint(e.(object)["action"]))
		}
		slices.Sort(actions)
		if fmt.Sprint(actions) != "[grant.create grant.delete]" || strings.Contains(fmt.Sprint(entries), "ida@") {
			t.Errorf("audit: %v", entries)
		}
		for _, secret := range []string{g.key, access, refresh, last, p.verifier} {
			if strings.Contains(g.logs.String(), secret) {
				t.Error("a secret is in the log")
			}
		}
	})
}

// What was used once ends everything that came of it, and what fits no grant is refused.
func TestOAuthRefusals(t *testing.T) {
	t.Parallel()
	g := startGateway(t, nil)
	p := oauthProgram(t, g, g.url, "http://127.0.0.1/cb")
	p.redirect = "http://127.0.0.1:33418/cb" // the port of this machine is free
	other := oauthProgram(t, g, g.url, "http://127.0.0.1:33418/cb")

	refused := func(what string, status int, out object, code string) {
		t.Helper()
		if status != http.StatusBadRequest || out["error"] != code {
			t.Errorf("%s: %d %v", what, status, out)
		}
	}
	dead := func(what, access string) {
		t.Helper()
		if status, _, _ := p.tool(access, "list_collections", object{}); status != http.StatusUnauthorized {
			t.Errorf("%s: the token works: %d", what, status)
		}
	}

	code := p.code(allows(g.key))
	_, first := p.exchange(code)
	access, _ := first["access_token"].(string)
	p.said(access, "list_collections", object{})
	status, out := p.exchange(code)
	refused("a code again", status, out, "invalid_grant")
	dead("a code again", access)

	access, refresh := p.tokens(allows(g.key))
	_, next := p.refresh(refresh)
	newest, _ := next["refresh_token"].(string)
	_, next = p.refresh(newest)
	access2, _ := next["access_token"].(string)
	status, out = p.refresh(refresh) // the oldest of three
	refused("a refresh token again", status, out, "invalid_grant")
	dead("a refresh token again", access)
	dead("a refresh token again", access2)

	for what, changes := range map[string][]string{
		"another verifier": {"code_verifier", strings.Repeat("w", 43)}, "another redirect": {"redirect_uri", "http://127.0.0.1:33418/other"},
		"another program": {"client_id", other.id}, "no verifier": {"code_verifier", ""},
	} {
		code := p.code(allows(g.key))
		status, out := p.exchange(code, changes...)
		refused(what, status, out, "invalid_grant")
		status, out = p.exchange(code)
		refused(what+", then the right one", status, out, "invalid_grant")
	}
	_, refresh = p.tokens(allows(g.key))
	status, out = other.refresh(refresh)
	refused("a refresh token of another program", status, out, "invalid_grant")
	status, out = p.refresh(refresh, "resource", "https://other.example/mcp")
	refused("another resource", status, out, "invalid_target")
	status, out = p.refresh(refresh, "scope", "read admin")
	refused("a scope that is none", status, out, "invalid_scope")
	flipped := refresh[:len(refresh)-60] + strings.Repeat("a", 60)
	status, out = p.refresh(flipped)
	refused("a refresh token with another end", status, out, "invalid_grant")

	// Who may read only gets no more by asking.
	access, refresh = p.tokens(allows(g.key, "access", "read"))
	status, challenge, problem := p.tool(access, "remember", object{"content": "x"})
	if status != http.StatusForbidden || !strings.Contains(challenge, `error="insufficient_scope"`) || !strings.Contains(challenge, `scope="read write"`) || problem["code"] != "forbidden" {
		t.Errorf("a tool beyond the scope: %d %s %v", status, challenge, problem)
	}
	_, got := p.refresh(refresh, "scope", "read write")
	if got["scope"] != "read" {
		t.Errorf("more by refreshing: %v", got)
	}

	// Tokens are for one place.
	access, _ = p.tokens(allows(g.key))
	if resp, body := p.ask(http.MethodGet, "/v1/collections", "", "", "Authorization", "Bearer "+access); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("a token of a grant at /v1: %d %s", resp.StatusCode, body)
	}
	if resp, body := p.ask(http.MethodPost, "/v1/auth/token", "application/json", "{}", "Authorization", "Bearer "+access); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("exchanged: %d %s", resp.StatusCode, body)
	}
	if resp, body := p.ask(http.MethodPost, p.address(), "application/x-www-form-urlencoded", allows(access).Encode()); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a token as a key, without the page: %d %s", resp.StatusCode, body)
	}
	if resp, body := p.consent(p.address(), allows(access)); resp.StatusCode != http.StatusForbidden {
		t.Errorf("a token as a key: %d %s", resp.StatusCode, body)
	}
	exchanged := g.call(http.StatusOK, http.MethodPost, "/v1/auth/token", object{})
	plain, _ := exchanged["access_token"].(string)
	p.said(plain, "list_collections", object{})
	p.said(g.key, "list_collections", object{})
	if resp, body := p.consent(p.address(), allows(plain)); resp.StatusCode != http.StatusForbidden {
		t.Errorf("an exchanged token as a key: %d %s", resp.StatusCode, body)
	}

	// Who may less than a program cannot end what it may, and another agent does not see it.
	items := g.call(http.StatusOK, http.MethodGet, "/v1/oauth/grants?limit=1", nil)["items"].([]any)
	grant := "/v1/oauth/grants/" + fmt.Sprint(items[0].(object)["id"])
	lesser := g.call(http.StatusCreated, http.MethodPost, "/v1/api-keys", object{"scopes": []string{"admin"}})
	elsewhere := g.call(http.StatusCreated, http.MethodPost, "/v1/api-keys", object{"scopes": []string{"admin", "notes:read", "notes:write"}, "agent": "elsewhere"})
	for key, want := range map[any]int{lesser["key"]: http.StatusForbidden, elsewhere["key"]: http.StatusNotFound} {
		if resp, body := p.ask(http.MethodDelete, grant, "", "", "Authorization", "Bearer "+fmt.Sprint(key)); resp.StatusCode != want {
			t.Errorf("%d, want %d: %s", resp.StatusCode, want, body)
		}
	}

	// It ends with its key, and when the program says so.
	own := g.call(http.StatusCreated, http.MethodPost, "/v1/api-keys", object{"scopes": []string{"notes:read", "admin"}})
	ownKey, _ := own["key"].(string)
	access, refresh = p.tokens(allows(ownKey))
	if status, _, _ := p.tool(access, "remember", object{"content": "x"}); status != http.StatusForbidden {
		t.Errorf("more than the key may: %d", status)
	}
	g.call(http.StatusNoContent, http.MethodDelete, "/v1/api-keys/"+fmt.Sprint(own["id"]), nil)
	dead("a revoked key", access)
	status, out = p.refresh(refresh)
	refused("a revoked key", status, out, "invalid_grant")
	for _, byRefresh := range []bool{true, false} {
		access, refresh = p.tokens(allows(g.key))
		token := access
		if byRefresh {
			token = refresh
		}
		if status, out := other.form("/oauth/revoke", url.Values{"client_id": {other.id}, "token": {token}}); status != http.StatusOK {
			t.Errorf("%d %v", status, out)
		}
		p.said(access, "list_collections", object{}) // it is no token of the other
		if status, out := p.form("/oauth/revoke", url.Values{"client_id": {p.id}, "token": {token}}); status != http.StatusOK {
			t.Errorf("%d %v", status, out)
		}
		dead("revoked", access)
		status, out = p.refresh(refresh)
		refused("revoked", status, out, "invalid_grant")
	}
	for _, token := range []string{"", "x", g.key, "a.b.c", plain} {
		want := http.StatusOK
		if token == "" {
			want = http.StatusBadRequest
		}
		if status, out := p.form("/oauth/revoke", url.Values{"client_id": {p.id}, "token": {token}}); status != want {
			t.Errorf("revoke %q: %d %v", token, status, out)
		}
	}
	p.said(plain, "list_collections", object{})
}

// A request for consent that is wrong leads nowhere by itself; the page says what is wrong.
func TestOAuthRequests(t *testing.T) {
	t.Parallel()
	g := startGateway(t, nil)
	p := oauthProgram(t, g, g.url, "https://claude.example/cb")
	for what, c := range map[string]struct {
		changes []string
		says    string // an error of the protocol, with a link back; "": the program is not known
	}{
		"no program":         {[]string{"client_id", ""}, ""},
		"another program":    {[]string{"client_id", p.id + "x"}, ""},
		"an address as id":   {[]string{"client_id", "https://claude.example/client.json"}, ""},
		"another place":      {[]string{"redirect_uri", "https://claude.example/cb/"}, ""},
		"another query":      {[]string{"redirect_uri", "https://claude.example/cb?a=b"}, ""},
		"another host":       {[]string{"redirect_uri", "https://evil.example/cb"}, ""},
		"no place":           {[]string{"redirect_uri", ""}, ""},
		"plain PKCE":         {[]string{"code_challenge_method", "plain"}, "invalid_request"},
		"no method":          {[]string{"code_challenge_method", ""}, "invalid_request"},
		"no PKCE":            {[]string{"code_challenge", ""}, "invalid_request"},
		"a short challenge":  {[]string{"code_challenge", "abc"}, "invalid_request"},
		"no resource":        {[]string{"resource", ""}, "invalid_target"},
		"another resource":   {[]string{"resource", "https://other.example/mcp"}, "invalid_target"},
		"the API":            {[]string{"resource", g.url + "/v1"}, "invalid_target"},
		"implicit":           {[]string{"response_type", "token"}, "unsupported_response_type"},
		"fragments":          {[]string{"response_mode", "fragment"}, "invalid_request"},
		"unknown scopes":     {[]string{"scope", "admin operator"}, "invalid_scope"},
		"nobody may see it":  {[]string{"prompt", "none"}, "interaction_required"},
		"a state of 1 MB/64": {[]string{"state", strings.Repeat("s", 16<<10)}, "invalid_request"},
	} {
		resp, page := p.ask(http.MethodGet, p.address(c.changes...), "", "")
		if resp.StatusCode != http.StatusBadRequest || resp.Header.Get("Location") != "" || strings.Contains(page, "<form") {
			t.Errorf("%s: %d %s", what, resp.StatusCode, page)
		}
		link := strings.Contains(page, `href="https://claude.example/cb?error=`+c.says+"&amp;")
		if link != (c.says != "") || c.says != "" && !strings.Contains(page, "iss="+url.QueryEscape(g.url)) {
			t.Errorf("%s: %s", what, page)
		}
	}
	resp, page := p.ask(http.MethodGet, p.address("scope", "admin read offline_access"), "", "")
	policy := resp.Header.Get("Content-Security-Policy")
	for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'self' https:;", "base-uri 'none'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("no %q in %q", part, policy)
		}
	}
	if strings.Contains(page, "<b>") || strings.Contains(page, "\u202e") || strings.Contains(page, `name="access"`) || resp.Header.Get("X-Frame-Options") != "DENY" || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("the page: %v %s", resp.Header, page)
	}
	if resp, _ := p.consent(p.address("scope", "read"), allows(g.key)); resp.StatusCode != http.StatusSeeOther {
		t.Errorf("read: %d", resp.StatusCode)
	} else if to, _ := url.Parse(resp.Header.Get("Location")); to != nil {
		if _, got := p.exchange(to.Query().Get("code")); got["scope"] != "read" {
			t.Errorf("asked for read, got %v", got)
		}
	}

	long := strings.Repeat("日", 85) + "a" // 256 bytes
	for what, c := range map[string]struct {
		in     url.Values
		status int
	}{
		"refused":          {url.Values{"decision": {"deny"}}, http.StatusSeeOther},
		"a form elsewhere": {allows(g.key, "nonce", "another"), http.StatusForbidden},
		"no key":           {allows(""), http.StatusForbidden},
		"a wrong key":      {allows(g.key[:len(g.key)-1] + "2"), http.StatusForbidden},
		"no user":          {allows(g.key, "user", ""), http.StatusUnprocessableEntity},
		"a long user":      {allows(g.key, "user", long+"b"), http.StatusUnprocessableEntity},
		"256 bytes":        {allows(g.key, "user", long), http.StatusSeeOther},
		"right to left":    {allows(g.key, "user", "مستخدم-١"), http.StatusSeeOther},
		"markup":           {allows(g.key, "user", `"><script>alert(1)</script>`), http.StatusSeeOther},
		"markup, refused":  {allows("x", "user", `"><script>alert(1)</script>`), http.StatusForbidden},
		"all":              {allows(g.key, "whose", "all"), http.StatusSeeOther},
		"an application":   {allows(g.key, "agent", "chat"), http.StatusSeeOther},
	} {
		resp, page := p.consent(p.address(), c.in)
		if resp.StatusCode != c.status || strings.Contains(page, "<script") || strings.Contains(page, g.key) {
			t.Errorf("%s: %d %s", what, resp.StatusCode, page)
		}
		if c.status != http.StatusSeeOther && resp.Header.Get("Location") != "" {
			t.Errorf("%s: %s", what, resp.Header.Get("Location"))
		}
	}
	resp, _ = p.consent(p.address(), url.Values{"decision": {"deny"}})
	if to := resp.Header.Get("Location"); !strings.Contains(to, "error=access_denied") || !strings.Contains(to, "state=s%26t%3D1") {
		t.Errorf("refused: %s", to)
	}
	// A page of another site cannot send the form: it has neither the cookie nor the number.
	for what, header := range map[string][]string{"no cookie": {"Origin", g.url}, "another site": {"Origin", "https://evil.example"}} {
		stranger := *p
		stranger.browser = &http.Client{CheckRedirect: p.browser.CheckRedirect}
		if what != "no cookie" {
			stranger.browser = p.browser
		}
		_, page := p.ask(http.MethodGet, p.address(), "", "")
		in := allows(g.key, "nonce", nonceField.FindStringSubmatch(page)[1])
		if resp, body := stranger.ask(http.MethodPost, p.address(), "application/x-www-form-urlencoded", in.Encode(), header...); resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %d %s", what, resp.StatusCode, body)
		}
	}
}

// Registrations keep nothing, are bounded, and name only addresses that a code can be sent to.
func TestOAuthRegistrations(t *testing.T) {
	t.Parallel()
	g := startGateway(t, nil)
	p := oauthProgram(t, g, g.url, "cursor://anysphere.cursor-mcp/oauth/callback")
	if resp, page := p.consent(p.address(), allows(g.key)); resp.StatusCode != http.StatusSeeOther || !strings.HasPrefix(resp.Header.Get("Location"), "cursor://anysphere.cursor-mcp/oauth/callback?") {
		t.Errorf("%d %v %s", resp.StatusCode, resp.Header, page)
	}
	for _, uri := range []string{
		"", "http://example.com/cb", "javascript:alert(1)", "javascript://x/%0aalert(1)", "data:text/html,x", "https://example.com/cb#f", "https://u:p@example.com/cb", "/cb", "https:///cb",
		"https://example.com/\\\\evil", "https://example.com/ x", "ftp://example.com", "file:///etc/passwd", "https://example.com/" + strings.Repeat("x", 1100), "https://ex\u0430mple.com/",
	} {
		body := must.Get(json.Marshal(object{"redirect_uris": []string{uri}}))(t)
		if status, out := p.json(http.MethodPost, "/oauth/register", string(body)); status != http.StatusBadRequest || out["error"] != "invalid_redirect_uri" {
			t.Errorf("%q: %d %v", uri, status, out)
		}
	}
	for _, body := range []string{"", "[]", `{"redirect_uris":"x"}`, `{"redirect_uris":["https://a.example"],"response_types":["token"]}`, `{"client_name":"` + strings.Repeat("x", 40<<10) + `"}`} {
		if status, out := p.json(http.MethodPost, "/oauth/register", body); status != http.StatusBadRequest || out["error"] != "invalid_client_metadata" {
			t.Errorf("%.80s: %d %v", body, status, out)
		}
	}
	limited := 0
	for range 120 {
		if status, _ := p.json(http.MethodPost, "/oauth/register", `{"redirect_uris":["https://a.example/cb"]}`); status == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited == 0 {
		t.Error("a flood of registrations is not bounded")
	}
}

// With a public address the gateway speaks of that one to everybody; without one, only to this machine.
func TestOAuthPublicAddress(t *testing.T) {
	t.Parallel()
	const public = "https://memory.example.com"
	g := startGateway(t, func(cfg *Settings) { cfg.HTTP.PublicURL = public + "/" })
	p := oauthProgram(t, g, public, "https://claude.example/cb")
	if _, doc := p.json(http.MethodGet, "/.well-known/oauth-authorization-server", ""); doc["issuer"] != public || doc["token_endpoint"] != public+"/oauth/token" {
		t.Errorf("%v", doc)
	}
	resp, _ := p.ask(http.MethodGet, p.address(), "", "")
	if cookie := resp.Header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "__Host-") || !strings.Contains(cookie, "Secure") || !strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Strict") {
		t.Errorf("cookie %s", cookie)
	}
	local := startGateway(t, nil)
	for _, host := range []string{"memory.example.com", "localhost.example.com", "10.0.0.1:8080", ""} {
		req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, local.url+"/.well-known/oauth-protected-resource", http.NoBody))(t)
		if req.Host = host; host == "" {
			req.URL.Path, req.Host = "/mcp", "memory.example.com"
			req.Method = http.MethodPost
		}
		resp := must.Get(http.DefaultClient.Do(req))(t)
		_ = resp.Body.Close()
		if host != "" && resp.StatusCode != http.StatusNotFound || host == "" && resp.Header.Get("WWW-Authenticate") != `Bearer realm="slipbox"` {
			t.Errorf("host %q: %d %v", host, resp.StatusCode, resp.Header)
		}
	}
	for text, ok := range map[string]bool{
		"": true, public: true, public + "/": true, "http://127.0.0.1:8080": true, "http://localhost": true, "https://memory.example.com:8443": true,
		"http://memory.example.com": false, "memory.example.com": false, public + "/path": false, public + "?": false, "https://u@memory.example.com": false, "ftp://x": false,
	} {
		cfg := config.Default()
		cfg.HTTP.PublicURL = text
		if err := cfg.Validate(); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
