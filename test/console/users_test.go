package console_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A person finds users by their own ids among more than a page of them, with the mouse and by keys alone, and sees on the start page what
// waits for them.
func TestUsers(t *testing.T) {
	t.Parallel()
	g := start(t)
	b := open(t, g)
	// These are written before so many others that the tree does not have them.
	const user = "zz & ö@example.com"
	base := g.post(t, "/v1/collections", map[string]any{"name": "mem0_base", "policy": "none", "external": map[string]any{"user": user}})["id"].(string)
	g.post(t, "/v1/collections/"+base+"/clone", map[string]any{"name": "what-if"})
	careful := g.post(t, "/v1/collections", map[string]any{"name": "mem0_careful", "policy_config": map[string]any{"strengthen_gate": 1, "k_neighbours": 1}, "external": map[string]any{"user": "zzz@example.com"}})["id"].(string)
	for _, content := range []string{"The crane lifts the ladder over the wall.", "A crane and a ladder were sold beside the wall."} {
		g.post(t, "/v1/collections/"+careful+"/notes?wait=evolved", map[string]any{"content": content})
	}
	const many = 230
	for n := range many {
		g.post(t, "/v1/collections", map[string]any{"name": fmt.Sprintf("mem0_%04d", many-n), "policy": "none", "external": map[string]any{"user": fmt.Sprintf("u%d@example.com", n)}})
	}
	strange := strings.Repeat("日", 80) + "\u202ex"
	long := g.post(t, "/v1/collections", map[string]any{"name": "mem0_long", "policy": "none", "external": map[string]any{"user": strings.Repeat("日", 85), "run": strings.Repeat("ש", 128)}})["id"].(string)
	g.post(t, "/v1/collections", map[string]any{"name": "mem0_turned", "policy": "none", "external": map[string]any{"user": strange}})
	last := g.post(t, "/v1/collections", map[string]any{"name": "team", "policy": "none"})["id"].(string)
	g.post(t, "/v1/collections/"+last+"/notes", map[string]any{"content": "The kiln is repaired."})

	b.step("the start page", chromedp.Navigate(g.url+"/console#key="+g.key), text("Your memories"), text("Waits for your decision"), eventually(`document.querySelector(".lines").innerText.includes("1 add in 7 days")`),
		eventually(`!document.body.innerText.includes("mem0_0") && document.querySelector("#tree").innerText.includes("The 200 that were last written")`))
	b.step("what waits is called by the ids of its memory", eventually(`[...document.querySelectorAll(".lines li")].some(l => l.innerText.includes("zzz@example.com") && l.innerText.includes("crane"))`))
	b.look("home")
	b.step("a user that is in no list is found by its id", chromedp.SendKeys(`#tree input`, "U3@EXAMPLE", chromedp.ByQuery),
		eventually(`[...document.querySelectorAll("#tree .tree a")].length === 1 && document.querySelector("#tree .tree a").innerText.includes("u3@example.com")`))
	b.step("and opened", click(`#tree .tree a`), opened("u3@example.com"), eventually(`document.title === "u3@example.com · slipbox"`))

	b.step("users, the last written first", chromedp.Navigate(g.url+"/console#/users"), text("Users"), eventually(`document.querySelector('[role="rowgroup"] [role="row"]')?.innerText.includes("日")`),
		eventually(`document.querySelectorAll('[role="rowgroup"] [role="row"]').length < 70`))
	b.look("users")
	b.step("the end is read as one scrolls", eventually(`(scrollTo(0, document.body.scrollHeight), document.body.innerText.includes("234 in all.") && document.body.innerText.includes("u0@example.com"))`))
	b.step("search", field("Find a user", "u22"), eventually(`document.body.innerText.includes("11 in all.") && location.hash.includes("q=u22")`))
	b.step("of nobody", field("Find a user", "nobody"), text("Nobody is called like that"), button("Show all"), text("u229@example.com"))
	b.step("by their ids", chromedp.SetValue(`//main//select`, "user"), eventually(`location.hash.includes("order=user") && document.querySelector('[role="rowgroup"] [role="row"]')?.innerText.includes("u0@example.com")`))

	// A dialog that is being opened does not hear a key yet.
	shut := again(chromedp.KeyEvent(kb.Escape), `document.querySelector("dialog") === null`)
	press := func(key string) chromedp.Action { return chromedp.KeyEvent(key) }
	b.step("keys: the list of them", chromedp.Evaluate(`document.activeElement.blur()`, nil), press("?"), text("to the next, to the one before"), press(kb.Escape), gone(`//dialog`))
	b.step("keys: search", chromedp.Evaluate(`document.body.dispatchEvent(new KeyboardEvent("keydown", {key: "/", bubbles: true}))`, nil), eventually(`document.activeElement.getAttribute("aria-label") === "Find a user"`), chromedp.Evaluate(`document.activeElement.blur()`, nil))
	b.step("keys: j and k", press("j"), press("j"), press("k"), press("j"), eventually(`document.activeElement.innerText === "u100@example.com"`))
	b.step("keys: the palette finds a user", chromedp.KeyEvent("k", chromedp.KeyModifiers(2)), eventually(`document.activeElement.getAttribute("role") === "combobox"`))
	b.look("palette")
	b.step("and opens it", chromedp.SendKeys(`dialog input`, "u117@", chromedp.ByQuery), eventually(`document.querySelector('dialog [aria-selected="true"]')?.innerText.includes("u117@example.com")`), press(kb.Enter), opened("u117@example.com"))
	b.step("the palette has the views that the memory has", chromedp.KeyEvent("k", chromedp.KeyModifiers(2)), eventually(`document.activeElement.getAttribute("role") === "combobox"`),
		eventually(`(tabs => tabs.includes("Notes") && JSON.stringify([...document.querySelectorAll("dialog [role=option]")].map(o => o.innerText.split("\n")).filter(([title, of]) => of === "view" && !["Start page", "Users", "Gateway", "API reference"].includes(title)).map(([title]) => title)) === JSON.stringify(tabs))([...document.querySelectorAll(".tabs a")].map(a => a.firstChild.data))`), shut)
	b.step("the palette has actions", chromedp.KeyEvent("k", chromedp.KeyModifiers(2)), eventually(`document.activeElement.getAttribute("role") === "combobox"`), chromedp.SendKeys(`dialog input`, "gatew", chromedp.ByQuery),
		eventually(`document.querySelector('dialog [aria-selected="true"]')?.innerText.includes("Gateway")`), press(kb.Enter), text("Audit log"))

	b.step("a memory that is in no list says how it is connected, by all its ids", chromedp.Navigate(g.url+"/console#/c/"+base+"/notes"), opened(user), text("slipbox@user=zz%20%26%20%C3%B6@example.com"), text("/collections/by/notes?user=zz+%26+%C3%B6%40example.com"))
	b.step("and what depends on it", inHead("Delete"), text("1 fork reads from it"), eventually(`document.querySelector("dialog .depends").innerText.includes("what-if")`), text("Type "+user+" to confirm"), eventually(`!document.querySelector("dialog").innerText.includes("mem0_")`))
	b.step("a fork is called after its ids", shut, inHead("Fork"), eventually(`document.querySelector("dialog input").value === "zz-o-example.com-fork"`), shut)
	b.step("and so is its title", inHead("Rename"), eventually(`document.querySelector("dialog input").value === "`+user+`" && !document.querySelector("dialog").innerText.includes("mem0_")`), shut)
	b.step("it is compared with its fork", chromedp.Navigate(g.url+"/console#/c/"+base+"/compare"), eventually(`[...document.querySelectorAll("main option")].some(o => o.innerText === "what-if")`))
	b.step("ids of 256 bytes in any script", chromedp.Navigate(g.url+"/console#/c/"+long+"/notes"), eventually(`document.querySelector("h1")?.innerText.includes("ששש")`))
	b.look("long-id")
	b.step("in a dialog, too", inHead("Delete"), text("Nothing depends on it."))
	b.look("long-id-delete")
	b.done()
}

// Notes come newest first, in other orders and by filters, are deleted together, expire, and leave as a file.
func TestNotesList(t *testing.T) {
	t.Parallel()
	g := start(t)
	b := open(t, g)
	id := g.post(t, "/v1/collections", map[string]any{"name": "list", "policy": "none"})["id"].(string)
	notes := "/v1/collections/" + id + "/notes"
	for n := range 4 {
		g.post(t, notes, map[string]any{"content": fmt.Sprintf("Note %d.", n), "tags": []string{fmt.Sprintf("t%d", n%2)}, "occurred_at": fmt.Sprintf("2026-0%d-10T12:00:00Z", n+1)})
	}
	first := `document.querySelector(".card")?.innerText`
	b.step("newest first", chromedp.Navigate(g.url+"/console#key="+g.key), text("Your memories"), chromedp.Navigate(g.url+"/console#/c/"+id+"/notes"), eventually(first+`.includes("Note 3.")`))
	b.step("what others add is said, and shown when asked for", watchShifts(), chromedp.ActionFunc(func(context.Context) error {
		g.post(t, notes, map[string]any{"content": "Note 4."})
		return nil
	}), text("This memory has changed"), eventually(first+`.includes("Note 3.")`), steady(), chromedp.Evaluate(`watching.disconnect()`, nil), click(`//button[normalize-space()="Show it"]`), eventually(first+`.includes("Note 4.")`))
	for n := range 40 {
		g.post(t, notes, map[string]any{"content": fmt.Sprintf("A longer note, number %d. %s", n, strings.Repeat("It has words.\n", n)), "tags": []string{"many"}, "occurred_at": "2025-01-01T12:00:00Z"})
	}
	b.step("25 lines and more are on a screen", size(1400, "light"), chromedp.Reload(), eventually(`document.querySelectorAll(".card").length > 40`), eventually(`innerHeight === 900 && [...document.querySelectorAll(".card")].filter(c => c.getBoundingClientRect().bottom <= innerHeight).length >= 25`))
	b.look("dense")
	b.step("on a phone half of the screen and more is notes", size(400, "light"), chromedp.Reload(), cards(45), eventually(`document.querySelector(".card").getBoundingClientRect().top <= innerHeight / 2`))
	b.step("and the tab that is open is seen", chromedp.Navigate(g.url+"/console#/c/"+id+"/usage"), text("Hot notes"), eventually(`(r => r.left >= 0 && r.right <= innerWidth)(document.querySelector(".tabs [aria-current]").getBoundingClientRect())`),
		size(1400, "light"), chromedp.Navigate(g.url+"/console#/c/"+id+"/notes"), cards(45))
	for _, item := range g.send(t, http.MethodGet, notes+"?limit=200", nil)["items"].([]any) {
		if n := item.(map[string]any); strings.HasPrefix(n["content"].(string), "A longer") {
			g.send(t, http.MethodDelete, notes+"/"+n["id"].(string), nil)
		}
	}
	b.step("oldest first", chromedp.SetValue(`//main//select`, "oldest"), eventually(first+`.includes("Note 0.")`))
	b.step("by a tag and days", chromedp.Navigate(g.url+"/console#/c/"+id+"/notes?tag=T1&from=2026-03-01"), eventually(`document.querySelectorAll(".card").length === 1 && `+first+`.includes("Note 3.")`))
	b.look("filtered")
	b.step("of which none is", chromedp.Navigate(g.url+"/console#/c/"+id+"/notes?tag=none"), text("No note is like that"), button("Show all"), cards(5))
	b.step("a question leads to the search", field("Search these notes", "note 2\r"), eventually(`location.hash.includes("/search?q=note+2")`), text("Why"))

	b.step("some are deleted together", chromedp.Navigate(g.url+"/console#/c/"+id+"/notes"), cards(5), button("Select"), click(`(//li//input[@type="checkbox"])[1]`), click(`(//li//input[@type="checkbox"])[3]`), text("Delete 2"))
	b.look("select")
	b.step("after it was said what that does", button("Delete 2"), text("What is deleted is no longer found"), dialogButton("Delete"), text("Deleted 2 notes"), gone(`//dialog`), cards(3))
	for n := range 2 {
		g.post(t, notes, map[string]any{"content": fmt.Sprintf("Said in confidence, %d.", n), "occurred_at": "2026-09-10T12:00:00Z"})
	}
	b.step("or erased", chromedp.Reload(), cards(5), button("Select"), click(`(//li[contains(., "in confidence")]//input[@type="checkbox"])[1]`), click(`(//li[contains(., "in confidence")]//input[@type="checkbox"])[2]`),
		button("Delete 2"), click(`//dialog//label[contains(., "Erase them")]`), text("All their versions go"))
	b.look("erase-several")
	b.step("together, which is said", dialogButton("Erase"), text("Erased 2 notes with 4 versions"), gone(`//dialog`), cards(3))

	b.step("a note expires", click(`.cover`), text("never"), button("change"), eventually(`document.querySelector("dialog input") !== null`),
		chromedp.Evaluate(`{ const i = document.querySelector("dialog input"); i.value = "2099-05-04T10:30"; i.dispatchEvent(new Event("input", {bubbles: true})) }`, nil), dialogButton("Save"), gone(`//dialog`), text("2099"), eventually(`document.querySelector(".history ins")?.innerText.includes("2099")`))
	b.look("expiry")
	b.step("or not", button("change"), button("never"), dialogButton("Save"), gone(`//dialog`), text("never"))

	b.step("it leaves as a file", chromedp.Evaluate(`window.saved = []; URL.createObjectURL = blob => { void blob.text().then(text => saved.push(text)); return "#" }; URL.revokeObjectURL = () => {}`, nil),
		inHead("Export"), dialogButton("To come back: JSONL"), eventually(`window.saved.length === 1 && saved[0].trim().split("\n").length === 3 && saved[0].includes("Note 1.")`))
	b.step("to read, too", gone(`//dialog`), inHead("Export"))
	b.look("export")
	b.step("as Markdown", dialogButton("To read: Markdown"), eventually(`window.saved.length === 2 && saved[1].includes("#")`))
	if left := len(g.send(t, http.MethodGet, notes, nil)["items"].([]any)); left != 3 {
		t.Errorf("%d notes are left", left)
	}
	b.done()
}
