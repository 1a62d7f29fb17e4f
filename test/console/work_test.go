package console_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A person sees what a memory has taken in and cost, which notes are used, and whether the gateway is well. Who runs
// the gateway sees its tenants and changes their limits; other keys are told the command that does it.
func TestConsoleWork(t *testing.T) {
	t.Parallel()
	fail := make(chan struct{})
	failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		<-fail
		http.Error(w, `{"error":{"message":"The model is not what it was."}}`, http.StatusBadRequest)
	}))
	t.Cleanup(failing.Close)
	g := start(t, "models:", "  slow: {provider: openai, base_url: "+slowModel(t, nil)+"/v1, model: slow}", "  failing: {provider: openai, base_url: "+failing.URL+"/v1, model: failing}")
	b := open(t, g)
	c := g.post(t, "/v1/collections", map[string]any{"name": "work", "policy": "mem0", "agent": "potter"})["id"].(string)
	b.step("sign in", chromedp.Navigate(g.url+"/console#key="+g.key), text("work"))
	b.step("nothing has happened", chromedp.Navigate(g.url+"/console#/c/"+c+"/usage"), text("No model was asked"), text("None yet"))
	b.look("usage-empty")

	m := g.post(t, "/v1/collections", map[string]any{"name": "modelled", "policy": "amem", "policy_config": map[string]any{"model": "slow"}})["id"].(string)
	g.post(t, "/v1/collections/"+m+"/notes", map[string]any{"content": "Nora lives in Oslo.", "keywords": []string{"Oslo"}, "tags": []string{"home"}, "context": "Where Nora lives."})
	b.step("a chat is counted", chromedp.Navigate(g.url+"/console#/c/"+m+"/chat"), text("Talk with this memory"), ask("Where, quickly?"), text("as far as I know."))
	g.await(t, "/v1/collections/"+m+"/costs", "purposes", 1)
	g.await(t, "/v1/collections/"+m+"/hot", "items", 1)
	b.step("what it cost, day by day", link("Usage"), text("Calls of models"), text("heat 1.00"), text("adds 1"),
		click(`//details[contains(., "tokens written")]/summary`), eventually(`[...document.querySelectorAll("td")].some(d => d.textContent === "900")`))
	b.look("usage")
	b.step("what is read moves nothing", link("Notes"), text("Nora lives in Oslo."), watchShifts(), chromedp.Navigate(g.url+"/console#/c/"+m+"/usage"), text("heat 1.00"), steady(),
		chromedp.Navigate(g.url+"/console#/gateway"), text("Audit log"), text("key.create"), steady(), chromedp.Navigate(g.url+"/console#/c/"+m+"/usage"), text("heat 1.00"))
	b.step("a clock that is a day off changes nothing of what was today", clock(25), chromedp.Navigate(g.url+"/console#/gateway"), chromedp.Reload(), text("Model tokens today"),
		eventually(`[...document.querySelectorAll(".fill")].some(f => f.innerText.includes("Model tokens today") && f.innerText.includes("912"))`))

	broken := g.post(t, "/v1/collections", map[string]any{"name": "broken", "policy": "amem", "policy_config": map[string]any{"model": "failing"}})["id"].(string)
	g.post(t, "/v1/collections/"+broken+"/notes", map[string]any{"content": "Nora has a cat."})
	b.step("a job runs", chromedp.Navigate(g.url+"/console#/c/"+broken+"/jobs"), eventually(`document.querySelector(".jobs .state.running")`), eventually(`/1 note (is being|waits)/.test(document.querySelector(".head").innerText)`), watchShifts())
	close(fail)
	b.step("and fails, and moves nothing", eventually(`document.querySelector(".jobs summary")`), steady(), chromedp.Evaluate(`watching.disconnect()`, nil))
	b.look("jobs-failed")
	b.step("the first page says so, though it is tried again", chromedp.Navigate(g.url+"/console#/"), text("Work that failed"), text("is tried again"))
	b.step("jobs say how long they were worked on and waited, and are filtered", chromedp.Navigate(g.url+"/console#/c/"+broken+"/jobs?state=done"), text("No job is like that"), button("Show all"), button("Cancel"), text("cancelled"), eventually(`/\d (ms|s|min)\swaited \d/.test(document.querySelector('[data-label="Took"]')?.innerText)`),
		eventually(`document.querySelector('[data-label="Work"]').innerText === "look at a note"`))

	b.step("of other days", chromedp.Navigate(g.url+"/console#/c/"+m+"/usage"), text("heat 1.00"), chromedp.SetValue(`//main//select`, "90"), eventually(`location.hash.includes("days=90")`), text("Calls of models"))

	b.step("the gateway is well, and the tenant has its use", chromedp.Evaluate(`performance.clearResourceTimings()`, nil), click(`//header//a[normalize-space()="Gateway"]`), text("Model tokens today"), text("gateway tenant list"), text("SLIPBOX_METRICS_ADDR"),
		eventually(`!performance.getEntriesByType("resource").some(e => e.name.includes("/v1/tenants"))`),
		eventually(`[...document.querySelectorAll(".fill")].some(f => f.innerText.includes("store") && f.innerText.includes("ok"))`))
	b.step("agents lead to their collections, and the audit log says who did what", eventually(`document.querySelector('[aria-label="Agents"] tbody').innerText.includes("potter") &&
		document.querySelector('[aria-label="Agents"] tbody a').hash === "#/c/`+c+`/notes"`), text("key.create"), text("Connected programs"), eventually(`document.querySelector('section:has(> [aria-label="Audit log"]) > .filters') !== null`))
	b.step("of one thing alone, by its name", click(`//tr[td[@data-label="Action" and normalize-space()="collection.create"]]//button[normalize-space()="broken"]`), text("not of broken alone"),
		eventually(`[...document.querySelectorAll('[data-label="Action"]')].every(d => d.innerText.startsWith("collection."))`))
	b.look("gateway")
	b.step("a key for one user is made, and shown once", button("New key"), field("Name", "the hook"), field("User", "ida@example.com"), dialogButton("Create"), eventually(`document.querySelector("dialog pre")?.innerText.startsWith("sb_live_")`))
	b.look("key")
	b.step("and listed, and revoked after a second word", dialogButton("I have it"), gone(`//dialog`), eventually(`[...document.querySelectorAll('[aria-label="API keys"] tr')].some(r => r.innerText.includes("the hook") && r.innerText.includes("ida@example.com"))`),
		click(`//button[@aria-label="Revoke the hook"]`), click(`//button[@aria-label="Yes, revoke the hook"]`), eventually(`[...document.querySelectorAll('[aria-label="API keys"] tr')].some(r => r.innerText.includes("the hook") && r.innerText.includes("revoked"))`))

	operator := command(t, g.binary, "key", "create", "--operator", "--ttl", "1h", "--data", g.data)
	b.step("who runs the gateway sees its tenants", click(`//header//button[normalize-space()="Sign out"]`), text("API key or token"),
		chromedp.Evaluate(`window.seen = ""; window.looking = new MutationObserver(() => {
			for (const e of document.querySelectorAll("header a, nav button")) if (/^(Users|New)$/.test(e.textContent) && getComputedStyle(e).visibility === "visible") seen += e.textContent
		}); looking.observe(document, {subtree: true, childList: true, attributes: true})`, nil),
		chromedp.SendKeys(`input[name="key"]`, operator+"\r", chromedp.ByQuery), text("people"), eventually(`document.querySelector("main").innerText.split("the scope admin").length === 2`))
	b.step("and at no time what only a tenant has", eventually(`seen === "" && document.querySelectorAll(".unseen").length === 3`), chromedp.Evaluate(`looking.disconnect()`, nil))
	b.step("and sets their limits", row("people", "Limits"), field("notes", "1000"), dialogButton("Save"), gone(`//dialog`), text("1,000 notes"))
	b.look("tenants")
	b.step("and is not asked again and again for what the key may not read, which would draw the page from its beginning", chromedp.Evaluate(`performance.clearResourceTimings(), document.querySelector("main .inside").dataset.kept = "yes", location.hash = "#/"`, nil),
		eventually(`performance.getEntriesByType("resource").filter(e => e.name.endsWith("/readyz")).length >= 2`),
		eventually(`document.querySelector("main .inside").dataset.kept === "yes" && performance.getEntriesByType("resource").filter(e => e.name.includes("/v1/collections")).length <= 1`))
	b.step("suspends", row("people", "Suspend"), dialogButton("Suspend"), gone(`//dialog`), text("suspended"))
	b.step("and resumes", row("people", "Resume"), dialogButton("Resume"), gone(`//dialog`), eventually(`!document.querySelector("main").innerText.includes("suspended")`))
	b.done()
}

// row clicks a button of a table's row.
func row(name, button string) chromedp.Action {
	return click(strings.NewReplacer("NAME", name, "BUTTON", button).Replace(`//tr[td[normalize-space()="NAME"]]//button[normalize-space()="BUTTON"]`))
}
