package api_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/api"
	"github.com/slipboxhq/slipbox/internal/api/contracttest"
	"github.com/slipboxhq/slipbox/internal/apptest"
	"github.com/slipboxhq/slipbox/internal/auth"
	"github.com/slipboxhq/slipbox/internal/oauth"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// attackMark is in everything that the victim of an attack stores, and in nothing that an attacker sends.
const attackMark = "axolotl"

// vaults are names of the victim's collections.
var vaults = []string{"vault-amem", "vault-mem0", "vault-memgpt", "vault-memoryos", "vault-layered", "fork-mem0", "user=nora"}

// attack sends requests that are generated from the contracts, so that no operation is left out: those of the API, of the
// routes for mem0's clients, and of the tools of the Model Context Protocol, with ids, names and cursors of a victim in every
// place that takes one.
type attack struct {
	*apptest.System
	t    *testing.T
	rand *rand.Rand
	loot []string // what names things of the victim
	ops  []*contracttest.Operation
	// cursors are those of the victim's listings.
	cursors []string
	// files is how many answers were a file of the console.
	files int
}

var pathParameter = regexp.MustCompile(`\{[a-z_]+\}`)

var uuidOrCursor = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|"next_cursor":"[^"]+"`)

// newAttack fills the tenant of the credential "one", and takes what names its things.
func newAttack(t *testing.T) *attack {
	t.Helper()
	a := &attack{System: apptest.New(t, withAccess(t)), t: t, rand: rand.New(rand.NewPCG(7, 34))}
	if away := a.Unmounted(); len(away) > 0 {
		t.Fatalf("not served, and so not attacked: %v", away)
	}
	a.ops = slices.Concat(contracttest.Operations(t), a.tools(), a.programs(), consolePages())
	for _, policy := range []string{"amem", "mem0", "memgpt", "memoryos", "layered"} {
		config := map[string]string{"memoryos": `{"short_capacity":1,"merge_threshold":11,"keyword_weight":0}`}[policy] // sessions
		path := "/v1/collections/" + a.Call(t, "one", "POST", "/v1/collections", fmt.Sprintf(`{"name":"vault-%s","policy":%q,"policy_config":%s}`, policy, policy, cmp.Or(config, "{}"))).Want(http.StatusCreated).Text("id")
		for i := range 3 {
			a.Call(t, "one", "POST", path+"/messages", fmt.Sprintf(`{"messages":[{"user":"I keep my %s number %d in Oslo.","assistant":"I see."}]}`, attackMark, i))
			a.Call(t, "one", "POST", path+"/notes", fmt.Sprintf(`{"content":"The %s number %d sleeps.","tags":[%q]}`, attackMark, i, attackMark))
		}
		a.Call(t, "one", "POST", path+"/clone", fmt.Sprintf(`{"name":"fork-%s"}`, policy))
	}
	a.Call(t, "one", "POST", "/v1/collections", `{"name":"of-nora","external":{"user":"nora"}}`)
	for i := range 2 {
		a.Call(t, "one", "POST", "/v1/folders", fmt.Sprintf(`{"name":"folder-%d"}`, i)).Want(http.StatusCreated)
		a.Upload(t, "one", "/v1/folders/folder-0", fmt.Sprintf("%d.txt", i), "The "+attackMark+" eats.").Want(http.StatusAccepted)
		block := a.Call(t, "one", "POST", "/v1/blocks", fmt.Sprintf(`{"label":"block-%d","value":%q}`, i, attackMark)).Want(http.StatusCreated).Text("id")
		a.Call(t, "one", "PATCH", "/v1/blocks/"+block, `{"value":"more"}`)
		a.Call(t, "one", "POST", "/v1/tools", fmt.Sprintf(`{"name":"tool_%d","description":"none","parameters":{"type":"object"}}`, i)).Want(http.StatusCreated)
		a.Call(t, "one", "POST", "/v1/collections/vault-memgpt/events", `{"content":"Hello."}`).Want(http.StatusAccepted)
	}
	for _, agent := range []string{"", `"agent":"ada",`} {
		a.Call(t, "one", "POST", "/v1/api-keys", `{`+agent+`"scopes":["notes:read"],"display_name":"`+attackMark+`"}`).Want(http.StatusCreated)
	}
	callMem0(t, a.System, "one", "POST", "/v3/memories/add/", `{"messages":[{"role":"user","content":"My `+attackMark+` lives in Oslo."}],"user_id":"nora","infer":false}`)
	a.RunJobs(t)
	for i := range 2 { // whose jobs nothing runs here
		a.Call(t, "one", "POST", "/v1/webhooks", fmt.Sprintf(`{"url":"http://127.0.0.1:1/%d"}`, i)).Want(http.StatusCreated)
	}
	seen := map[string]bool{"vault-amem": true, "fork-mem0": true, "user=nora": true, "of-nora": true}
	for _, path := range a.views() {
		for _, found := range uuidOrCursor.FindAllString(a.Call(t, "one", "GET", path, "").Body.String(), -1) {
			seen[strings.Trim(strings.TrimPrefix(found, `"next_cursor":`), `"`)] = true
		}
	}
	for _, path := range mem0Views {
		for _, found := range uuidOrCursor.FindAllString(callMem0(t, a.System, "one", "GET", path, "").Body.String(), -1) {
			seen[found] = true
		}
	}
	a.loot = slices.Sorted(maps.Keys(seen))
	return a
}

// withAccess serves keys, tokens, tenants, grants and programs that connect by OAuth, too. Beside the credentials of the tests it
// accepts those that are made by requests.
func withAccess(t *testing.T) func(*apptest.System, *api.Deps, *api.Config) {
	t.Helper()
	return func(b *apptest.System, d *api.Deps, _ *api.Config) {
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		secret := []byte("a secret of the installation, as long as it needs to be")
		creds, err := auth.New(auth.Deps{Keys: b.Store, SigningKeys: b.Store, Grants: b.Store, Directory: b.Store, Agents: b.Store, Clock: b.Now, Logger: d.Log}, auth.Config{Secret: secret})
		must(err)
		ledger, err := auth.NewTenantLedger(b.Store, b.Now)
		must(err)
		agents, err := tenant.NewAgents(tenant.AgentsDeps{Store: b.Store, Keys: creds.Keys, Audit: ledger, OnChange: creds.Forget})
		must(err)
		tenants, err := tenant.NewService(tenant.ServiceDeps{Admin: b.Store, Directory: b.Store, Audit: ledger, Clock: b.Now, Logger: d.Log, OnChange: creds.Forget})
		must(err)
		d.Access = &api.Access{Tokens: creds.Tokens, Keys: creds.Keys, Grants: creds.Grants, Agents: agents, Tenants: tenants, Usage: b.Store, Audit: b.Store}
		d.Auth = bothAuth{b, creds.Authenticator}
		b.Scopes["operator"] = auth.Principal{IsOperator: true, Operator: grant.Operator("test")}
		d.Console, err = apptest.Console()
		must(err)
		d.OAuth, err = oauth.New(oauth.Deps{Log: d.Log, Auth: bothAuth{b, creds.Authenticator}, Grants: creds.Grants, Secret: secret, PublicURL: "http://127.0.0.1", Now: b.Now})
		must(err)
	}
}

// bothAuth accepts the credentials of the tests, and those that exist.
type bothAuth struct {
	tests *apptest.System
	real  *auth.Authenticator
}

// Authenticate implements api.Authenticator.
func (b bothAuth) Authenticate(ctx context.Context, credential string) (auth.Principal, error) {
	if _, ok := b.tests.Scopes[credential]; ok {
		return b.tests.Authenticate(ctx, credential)
	}
	return b.real.Authenticate(ctx, credential)
}

// AuthenticateAt implements oauth.Authenticator.
func (b bothAuth) AuthenticateAt(ctx context.Context, credential string, at auth.Resource) (auth.Principal, error) {
	if _, ok := b.tests.Scopes[credential]; ok {
		return b.tests.Authenticate(ctx, credential)
	}
	return b.real.AuthenticateAt(ctx, credential, at)
}

// programs are the forms of OAuth, which no contract of ours describes.
func (a *attack) programs() (out []*contracttest.Operation) {
	form := map[string]*openapi3.Schema{}
	for _, name := range []string{"client_id", "client_secret", "redirect_uri", "state", "scope", "nonce", "key", "user", "agent", "whose", "code", "code_verifier", "refresh_token", "token"} {
		form[name] = openapi3.NewStringSchema()
	}
	for name, values := range map[string][]any{
		"grant_type": {"authorization_code", "refresh_token", "client_credentials"}, "response_type": {"code", "token"}, "decision": {"allow", "deny"},
		"code_challenge_method": {"S256", "plain"}, "access": {"read", "write"}, "resource": {"http://127.0.0.1/mcp", "http://127.0.0.1/v1"},
	} {
		form[name] = openapi3.NewStringSchema().WithEnum(values...)
	}
	for _, path := range []string{"/oauth/token", "/oauth/revoke", "/oauth/authorize"} {
		body := openapi3.NewRequestBody().WithSchema(openapi3.NewObjectSchema().WithProperties(form), []string{formMedia})
		out = append(out, &contracttest.Operation{Method: http.MethodPost, Path: path, Operation: &openapi3.Operation{RequestBody: &openapi3.RequestBodyRef{Value: body}}})
	}
	show := &openapi3.Operation{}
	for name, schema := range form {
		show.AddParameter(openapi3.NewQueryParameter(name).WithSchema(schema))
	}
	register := openapi3.NewRequestBody().WithJSONSchema(required(map[string]*openapi3.Schema{
		"redirect_uris": openapi3.NewArraySchema().WithItems(openapi3.NewStringSchema()), "client_name": openapi3.NewStringSchema(),
	}))
	return append(out, &contracttest.Operation{Method: http.MethodGet, Path: "/oauth/authorize", Operation: show},
		&contracttest.Operation{Method: http.MethodPost, Path: "/oauth/register", Operation: &openapi3.Operation{RequestBody: &openapi3.RequestBodyRef{Value: register}}},
		&contracttest.Operation{Method: http.MethodGet, Path: "/.well-known/oauth-authorization-server", Operation: &openapi3.Operation{}})
}

// consolePages are the page of the console and its files, which need no credential.
func consolePages() (out []*contracttest.Operation) {
	for _, path := range []string{"/console", "/console/{file}", "/console/{collection}/{file}"} {
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
			out = append(out, &contracttest.Operation{Method: method, Path: path, Operation: &openapi3.Operation{}})
		}
	}
	return out
}

// checkPage fails for an answer of the console that a browser could take for something else, or show within another page.
func (a *attack) checkPage(sent string, w *httptest.ResponseRecorder) {
	h := w.Header()
	if h.Get("X-Content-Type-Options") != "nosniff" {
		a.t.Errorf("%.800s: %d %v", sent, w.Code, h)
	}
	if w.Code != http.StatusOK {
		if strings.HasPrefix(h.Get("Content-Type"), "text/html") && w.Body.Len() > 0 && strings.Contains(w.Body.String(), "<script") {
			a.t.Errorf("%.800s: %d is a page: %s", sent, w.Code, w.Body)
		}
		return
	}
	a.files++
	if policy := h.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'; script-src 'self'; ") || !strings.Contains(policy, "frame-ancestors 'none'") {
		a.t.Errorf("%.800s: the policy is %q", sent, policy)
	}
}

const formMedia = "application/x-www-form-urlencoded"

// mem0Views are what mem0's clients show of the victim.
var mem0Views = []string{"/memories?user_id=nora", "/v1/entities/", "/v1/events/"}

// tools are the calls of the Model Context Protocol: of each tool that it lists, and of its resources.
func (a *attack) tools() (out []*contracttest.Operation) {
	a.t.Helper()
	w := serve(a.System, request("one", http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	var list struct {
		Result struct {
			Tools []struct {
				Name        string           `json:"name"`
				InputSchema *openapi3.Schema `json:"inputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list.Result.Tools) < 10 {
		a.t.Fatalf("the tools: %v, %s", err, w.Body)
	}
	for _, tool := range list.Result.Tools {
		if tool.InputSchema.Properties["collection"] != nil { // without one, few calls get further
			tool.InputSchema.Required = append(tool.InputSchema.Required, "collection")
		}
		out = append(out, mcpCall("tools/call", map[string]*openapi3.Schema{"name": onlyValue(tool.Name), "arguments": tool.InputSchema}))
	}
	uris := onlyValue("slipbox://collections/")
	for _, name := range vaults {
		uris.Enum = append(uris.Enum, "slipbox://collections/"+name, "slipbox://collections/"+name+"/../of-nora")
	}
	return append(out, mcpCall("resources/read", map[string]*openapi3.Schema{"uri": uris}))
}

// mcpCall is an operation that sends messages of one method.
func mcpCall(method string, params map[string]*openapi3.Schema) *contracttest.Operation {
	body := required(map[string]*openapi3.Schema{"jsonrpc": onlyValue("2.0"), "id": onlyValue("1"), "method": onlyValue(method), "params": required(params)})
	return &contracttest.Operation{Method: http.MethodPost, Path: "/mcp", Operation: &openapi3.Operation{RequestBody: &openapi3.RequestBodyRef{
		Value: openapi3.NewRequestBody().WithJSONSchema(body),
	}}}
}

func onlyValue(value string) *openapi3.Schema { return openapi3.NewStringSchema().WithEnum(value) }

func required(fields map[string]*openapi3.Schema) *openapi3.Schema {
	return openapi3.NewObjectSchema().WithProperties(fields).WithRequired(slices.Sorted(maps.Keys(fields)))
}

// views are the pages of the contract that list what a tenant has: with no parameter, or that of a collection.
func (a *attack) views() (out []string) {
	for _, op := range a.ops {
		if op.Method != http.MethodGet || op.Streams() || !strings.HasPrefix(op.Path, "/v1/") || strings.HasSuffix(op.Path, "/changes") {
			continue
		}
		switch {
		case !strings.Contains(op.Path, "{"):
			out = append(out, op.Path)
		case strings.Count(op.Path, "{") == 1 && strings.HasPrefix(op.Path, "/v1/collections/{collection}"):
			for _, name := range vaults {
				out = append(out, strings.Replace(op.Path, "{collection}", name, 1))
			}
		}
	}
	return out
}

func (a *attack) pick(list ...string) string { return list[a.rand.IntN(len(list))] }

// value returns a text for a place in a request: mostly what names a thing of the victim.
func (a *attack) value() string {
	switch a.rand.IntN(8) {
	case 0:
		return a.pick("..", "../..", "*", "%", "_", "' OR '1'='1", "\x00", "\u202e", "null", "{{key}}", strings.Repeat("a", 3000), "vault-amem/../of-nora")
	case 1:
		return a.pick("user=nora", "user=*", "name=vault-amem", "vault-amem,vault-mem0", strings.ToUpper(a.pick(a.loot...)))
	}
	return a.pick(a.loot...)
}

// fill makes a value of a schema.
func (a *attack) fill(s *openapi3.Schema, depth int) any {
	if s == nil || depth > 5 {
		return a.value()
	}
	for _, list := range []openapi3.SchemaRefs{s.OneOf, s.AnyOf} {
		if len(list) > 0 {
			return a.fill(list[a.rand.IntN(len(list))].Value, depth+1)
		}
	}
	switch {
	case len(s.Enum) > 0:
		return s.Enum[a.rand.IntN(len(s.Enum))]
	case s.Type.Includes(openapi3.TypeBoolean):
		return a.rand.IntN(2) == 0
	case s.Type.Includes(openapi3.TypeInteger), s.Type.Includes(openapi3.TypeNumber):
		return []any{0, 1, 2, 100, -1, 1 << 40}[a.rand.IntN(6)]
	case s.Type.Includes(openapi3.TypeArray):
		out := make([]any, 1+a.rand.IntN(2))
		for i := range out {
			out[i] = a.fill(itemsOf(s), depth+1)
		}
		return out
	case s.Type.Includes(openapi3.TypeObject), len(s.Properties) > 0:
		out := map[string]any{}
		most := []int{2, 9, 99}[a.rand.IntN(3)] // often few fields, which more often fit together
		for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
			if slices.Contains(s.Required, name) || a.rand.IntN(most) == 0 {
				out[name] = a.fill(s.Properties[name].Value, depth+1)
				if _, text := out[name].(string); text && name == "collection" && a.rand.IntN(2) == 0 {
					out[name] = a.pick(vaults...)
				}
			}
		}
		if len(s.Properties) == 0 { // such as filters
			out[a.pick("user_id", "AND", "OR", "NOT", "id", "agent_id", "*")] = []any{a.value(), "nora", []any{map[string]any{"user_id": "nora"}}}[a.rand.IntN(3)]
		}
		return out
	}
	return a.value()
}

func itemsOf(s *openapi3.Schema) *openapi3.Schema {
	if s.Items == nil {
		return nil
	}
	return s.Items.Value
}

// target returns an address of an operation, with its parameters filled.
func (a *attack) target(op *contracttest.Operation) string {
	path := pathParameter.ReplaceAllStringFunc(op.Path, func(name string) string {
		v := url.PathEscape(a.value())
		if name == "{file}" && a.rand.IntN(3) == 0 {
			v = a.pick("index.html", "app.js", "app.css")
		}
		if name == "{collection}" && a.rand.IntN(2) == 0 {
			v = a.pick(vaults...) // a place below it is reached only through a right one
		}
		if a.rand.IntN(12) == 0 {
			v = a.pick("%2e%2e", "%2F", "..%2f"+v, v+"%00", v+"%2f..%2f"+v, v+";x")
		}
		return v
	})
	query := url.Values{}
	parameters, required := op.Query()
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if slices.Contains(required, name) || a.rand.IntN(8) == 0 {
			query.Set(name, fmt.Sprint(a.fill(parameters[name], 4)))
		}
	}
	if parameters["cursor"] != nil && a.rand.IntN(2) == 0 {
		query.Set("cursor", a.value())
		if len(a.cursors) > 0 && a.rand.IntN(2) == 0 {
			query.Set("cursor", a.pick(a.cursors...))
		}
	}
	return path + "?" + query.Encode()
}

// body returns a body for an operation, at times one that is broken or too large.
func (a *attack) body(op *contracttest.Operation) (text, media string) {
	if op.Method == http.MethodGet || op.RequestBody == nil {
		return "", ""
	}
	media = a.pick(op.Media()...)
	if media == formMedia {
		values := url.Values{}
		for name, schema := range op.RequestBody.Value.Content[media].Schema.Value.Properties {
			if a.rand.IntN(3) > 0 {
				values.Set(name, fmt.Sprint(a.fill(schema.Value, 4)))
			}
		}
		return values.Encode(), media
	}
	raw := must.Get(json.Marshal(a.fill(op.Body(), 0)))(a.t)
	switch a.rand.IntN(20) {
	case 0:
		return string(raw[:len(raw)/2]), media
	case 1:
		return strings.Repeat("[", 5000), media
	case 2:
		return `{"x":"` + strings.Repeat("y", 1<<20) + `"}`, media
	}
	return string(raw), media
}

// credential returns that of another tenant, at times one that is not accepted.
func (a *attack) credential() string {
	if a.rand.IntN(8) == 0 {
		return a.pick("", "ONE", "sbx_"+a.pick(a.loot...), "e30.e30.", "e30.eyJ0ZW5hbnQiOiIxIn0.AAAA", "one,", "two,one", "one one")
	}
	return "two"
}

// send sends one request and returns its answer; ok is false when the request has no form that a client could send.
func (a *attack) send(op *contracttest.Operation, credential string) (w *httptest.ResponseRecorder, sent string, ok bool) {
	target := a.target(op)
	u, err := url.Parse(target)
	if err != nil {
		return nil, "", false
	}
	text, media := a.body(op)
	ctx, cancel := context.WithTimeout(a.t.Context(), 2*time.Second) // of streams
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, op.Method, "/", strings.NewReader(text))
	r.URL, r.RequestURI = u, target
	r.Header.Set("Authorization", "Bearer "+credential)
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	w = httptest.NewRecorder()
	a.ServeHTTP(w, r)
	return w, op.Method + " " + target + " as " + credential + ": " + text, true
}

// run sends n requests, operation by operation, and returns how many answers have the mark.
func (a *attack) run(n int, as func() string, leaked func(sent, answer string)) (leaks int) {
	for i := range n {
		w, sent, ok := a.send(a.ops[i%len(a.ops)], as())
		if !ok {
			continue
		}
		if w.Code == http.StatusInternalServerError {
			a.t.Errorf("%.800s: %d %s", sent, w.Code, w.Body)
		}
		if w.Code == http.StatusOK && strings.Contains(sent, "cursor=") && strings.Contains(sent, " as two: ") {
			a.t.Errorf("a cursor that is not one of the caller's: %.800s: %s", sent, w.Body)
		}
		if _, path, _ := strings.Cut(sent, " "); strings.HasPrefix(path, "/console") {
			a.checkPage(sent, w)
		}
		if strings.Contains(strings.ToLower(w.Body.String()), attackMark) {
			leaks++
			leaked(sent, w.Body.String())
		}
	}
	return leaks
}

// changing is what differs between two looks at the same.
var changing = regexp.MustCompile(`"(request_id|next_cursor|last_access|access_count|index)":("[^"]*"|\d+|\{[^}]*\})`)

// picture is all that the victim sees of what it has.
func (a *attack) picture() map[string]string {
	out := map[string]string{}
	for _, path := range a.views() {
		out[path] = changing.ReplaceAllString(a.Call(a.t, "one", "GET", path, "").Body.String(), "")
	}
	for _, path := range mem0Views {
		out["/mem0"+path] = changing.ReplaceAllString(callMem0(a.t, a.System, "one", "GET", path, "").Body.String(), "")
	}
	return out
}

// No request of another tenant, or of nobody, is answered with what a tenant stored, or changes it. SLIPBOX_ATTACKS is the
// number of requests.
func TestAttack(t *testing.T) {
	t.Parallel()
	n := 2000
	if text := os.Getenv("SLIPBOX_ATTACKS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	a := newAttack(t)
	before := a.picture()
	if !strings.Contains(before["/v1/collections/vault-amem/notes"], attackMark) || !strings.Contains(before["/mem0/memories?user_id=nora"], attackMark) || !strings.Contains(before["/v1/api-keys"], attackMark) || len(a.loot) < 30 {
		t.Fatalf("the victim has nothing: %d names", len(a.loot))
	}
	a.tryCursors()
	a.tryLargeBodies()
	a.run(n, a.credential, func(sent, answer string) { t.Errorf("a leak: %.800s\n%.800s", sent, answer) })
	if a.files == 0 {
		t.Error("no request reached the console")
	}
	_, _ = a.Work(t.Context()) // of collections that attackers made and deleted, too
	for path, after := range a.picture() {
		if after != before[path] {
			t.Errorf("the victim has something else than before at %s:\n%s\n%s", path, before[path], after)
		}
	}
}

// No request with the key of a user is answered with what others of the same tenant stored, or changes it.
func TestAttackOfAUser(t *testing.T) {
	t.Parallel()
	a := newAttack(t)
	whole := a.Scopes["one"].Scope
	perms := slices.DeleteFunc(tenant.AllPermissions(), func(p tenant.Permission) bool { return p == tenant.Admin })
	for name, l := range map[string]tenant.Limit{"eve": {User: "eve"}, "bot": {App: "bot"}, "eve's nora": {User: "eve", Agent: "nora"}} {
		a.Scopes[name] = auth.Principal{Scope: grant.Limited(whole.Tenant(), uuid.Nil, l, "key:"+name, perms...)}
	}
	a.Call(t, "eve", "POST", "/v1/collections/by/notes?user=eve", `{"content":"Eve waits."}`, "Slipbox-Create", "amem").Want(http.StatusCreated)
	look := func() map[string]string {
		seen := a.picture()
		maps.DeleteFunc(seen, func(path, _ string) bool { // lists of the tenant have what Eve makes, too
			return !strings.HasPrefix(path, "/v1/collections/") && !strings.Contains(path, "user_id=nora")
		})
		return seen
	}
	before := look()
	if len(before) < 50 || !strings.Contains(before["/v1/collections/vault-amem/notes"], attackMark) {
		t.Fatalf("the victim has nothing: %d views", len(before))
	}
	leak := func(sent, answer string) { t.Errorf("a leak: %.800s\n%.800s", sent, answer) }
	a.run(1500, func() string { return a.pick("eve", "eve", "bot", "eve's nora") }, leak)
	_, _ = a.Work(t.Context())
	for path, after := range look() {
		if after != before[path] {
			t.Errorf("the victim has something else than before at %s:\n%s\n%s", path, before[path], after)
		}
	}
}

// The attack finds what it looks for: with the victim's own key its requests are answered with what is stored.
func TestAttackWithTheKey(t *testing.T) {
	t.Parallel()
	a := newAttack(t)
	// Without what deletes, or nothing is left to leak.
	a.ops = slices.DeleteFunc(a.ops, func(o *contracttest.Operation) bool { return o.Method == http.MethodDelete })
	doors := map[string]int{}
	a.run(2000, func() string { return "one" }, func(sent, _ string) {
		_, path, _ := strings.Cut(sent, " /")
		doors[path[:strings.IndexAny(path, "/?")]]++
	})
	if doors["v1"] < 5 || doors["mem0"] < 1 || doors["mcp"] < 1 {
		t.Errorf("answers of 2000 that have what is stored, by door: %v", doors)
	}
}
