package console_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A program is allowed to use the memory of one user: the page says who asks, keeps what was typed when something is wrong, but not the
// key, and leads back to the program.
func TestConsent(t *testing.T) {
	t.Parallel()
	g := start(t)
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		if r.URL.Path == "/cb" {
			_, _ = w.Write([]byte("connected: " + r.URL.RawQuery))
		}
	}))
	defer program.Close()
	b := open(t, g)
	registered := g.post(t, "/oauth/register", map[string]any{"client_name": "Ein “Programm” 日本", "redirect_uris": []string{program.URL + "/cb"}})
	sum := sha256.Sum256([]byte(strings.Repeat("v", 43)))
	address := func(changes ...string) string {
		q := url.Values{
			"response_type": {"code"}, "client_id": {registered["client_id"].(string)}, "redirect_uri": {program.URL + "/cb"}, "state": {"s"},
			"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}, "resource": {g.url + "/mcp"},
		}
		for i := 0; i < len(changes); i += 2 {
			q.Set(changes[i], changes[i+1])
		}
		return g.url + "/oauth/authorize?" + q.Encode()
	}
	b.step("the page names the program", chromedp.Navigate(address()), text("Ein “Programm” 日本"), text("a program on this computer"))
	b.lookAt("consent", 400, "light")
	b.lookAt("consent", 400, "dark")
	b.lookAt("consent", 1280, "light")
	b.lookAt("consent", 1280, "dark")
	long := strings.Repeat("日", 85) + "a" // 256 bytes
	b.step("a wrong key is refused", field("Your API key", "sb_live_wrong"), field("User id", long), button("Allow"), text("This key is not accepted"),
		eventually(`document.querySelector("#key").value === "" && document.querySelector("#user").value.length === 86 && document.activeElement.id === "key"`))
	b.lookAt("consent-refused", 400, "light")
	b.lookAt("consent-refused", 1280, "dark")
	b.step("another user has more than 256 bytes", field("User id", long+"b"), field("Your API key", g.key), button("Allow"), text("256 bytes"))
	b.step("the program is allowed", field("User id", "ida@example.com"), field("Your API key", g.key), button("Allow"), text("connected: code=sbc_"), text("state=s"), text("iss="))
	var answered string
	b.step("its code", chromedp.Evaluate(`new URLSearchParams(document.body.innerText.replace("connected: ", "")).get("code")`, &answered))
	resp, err := http.PostForm(g.url+"/oauth/token", url.Values{
		"grant_type": {"authorization_code"}, "client_id": {registered["client_id"].(string)}, "redirect_uri": {program.URL + "/cb"}, "code": {answered}, "code_verifier": {strings.Repeat("v", 43)}, "resource": {g.url + "/mcp"},
	})
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the code is not exchanged: %v %v", resp, err)
	}
	_ = resp.Body.Close()
	b.step("who runs the gateway sees what the program may do", chromedp.Navigate(g.url+"/console#key="+g.key), text("Nothing is remembered yet"), chromedp.Navigate(g.url+"/console#/gateway"),
		eventually(`document.querySelector('[aria-label="Connected programs"] [data-label="Program"]')?.innerText.includes("日本") && document.querySelector('[aria-label="Connected programs"] [data-label="Memory of"]').innerText === "ida@example.com"`))
	b.look("grants")
	b.step("and ends it, after a second word", button("Disconnect"), button("Yes, disconnect"), text("None. A program that connects"))
	b.step("the program is refused", chromedp.Navigate(address()), button("Refuse"), text("error=access_denied"))
	b.step("what is wrong is said", chromedp.Navigate(address("code_challenge_method", "plain")), text("PKCE is required"))
	b.lookAt("consent-wrong", 400, "dark")
	b.step("the way back is a link", click(`//main//a`), text("error=invalid_request"))
	b.step("an unknown program is not answered", chromedp.Navigate(address("client_id", "x")), text("not registered here"), eventually(`!document.querySelector("a, form")`))
	b.lookAt("consent-unknown", 1280, "light")
	for _, p := range b.problems {
		if !strings.Contains(p, "a foreign request: "+program.URL) {
			t.Error(p)
		}
	}
	grants := g.send(t, http.MethodGet, "/v1/oauth/grants", nil)["items"].([]any)
	if len(grants) != 0 {
		t.Errorf("a code that was not exchanged is listed: %v", grants)
	}
}
