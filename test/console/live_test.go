package console_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// What others change shows up by itself, and nothing moves under the reader's eyes. A gateway that goes away and
// comes back is followed again.
func TestLive(t *testing.T) {
	t.Parallel()
	g := start(t)
	b := open(t, g)
	id := g.post(t, "/v1/collections", map[string]any{"name": "live"})["id"].(string)
	notes := "/v1/collections/" + id + "/notes"
	g.post(t, notes+"?wait=evolved", map[string]any{"content": "Ada keeps bees."})
	b.step("the notes", chromedp.Navigate(g.url+"/console#key="+g.key), text("live"), chromedp.Navigate(g.url+"/console#/c/"+id+"/notes?order=oldest"), text("keeps bees"), watchShifts())
	for n := range 5 {
		g.post(t, notes, map[string]any{"content": fmt.Sprintf("Hive %d gave nine jars of honey.", n)})
	}
	b.step("what others add shows up", text("Hive 4 gave"), eventually(`document.querySelector("#tree a").innerText.includes("6 notes")`), cards(6))
	b.step("nothing moved", steady())

	b.step("elsewhere it is said, and shown when asked for", link("Jobs"), text("done"), chromedp.Evaluate(`window.rows = document.querySelectorAll("tbody tr").length`, nil), watchShifts())
	g.post(t, notes+"?wait=evolved", map[string]any{"content": "The queen of hive 2 was replaced."})
	b.step("the page says that there is more", text("This memory has changed"), eventually(`document.querySelectorAll("tbody tr").length === window.rows`), steady())
	b.look("news")
	b.step("and shows it", click(`//button[normalize-space()="Show it"]`), eventually(`document.querySelectorAll("tbody tr").length === window.rows + 1`), gone(`//button[normalize-space()="Show it"]`))

	lines := make([]string, 120)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"content":"Page %d of the log.","infer":false}`, i)
	}
	g.lines(t, notes+"/bulk", strings.Join(lines, "\n"))
	b.step("the address has the page", link("Notes"), text("Page 119 "), button("Show more"), eventually(`location.hash.includes("pages=2")`), text("Page 60 "),
		chromedp.Reload(), text("Page 60 "), eventually(`document.querySelectorAll(".card").length === 100`))
	b.step("a note is opened", chromedp.Evaluate(`window.note = document.querySelectorAll(".cover")[80], note.focus({preventScroll: true}), scrollTo(0, 1500), note.click()`, nil),
		text("What the note says"))
	b.step("its page has the focus", eventually(`scrollY < 1500 && document.activeElement.id === "main"`))
	b.step("who goes back is where it was", chromedp.NavigateBack(), text("Page 60 "), eventually(`scrollY === 1500`))
	b.step("so is who follows the link to the list, from a note that another one led to", chromedp.Evaluate(`scrollTo(0, 1200), document.querySelectorAll(".cover")[70].click()`, nil), text("What the note says"),
		chromedp.Evaluate(`location.hash = location.hash.replace(/[^/]+$/, window.note.getAttribute("href").split("/").pop())`, nil), eventually(`document.querySelector("a[rel=prev]")?.hash.includes("pages=2")`),
		click(`//a[@rel="prev"]`), text("Page 60 "), eventually(`location.hash.includes("pages=2") && scrollY === 1200`))

	g.stop()
	b.step("the gateway goes away", text("The gateway is away"))
	b.look("away")
	g.serve(t)
	b.step("and comes back", eventually(`!document.body.innerText.includes("The gateway is away")`), text("Page 60 "))

	lines = make([]string, 600)
	for i := range lines {
		lines[i] = fmt.Sprintf(`{"id":"%d","content":"A line that is refused."}`, i)
	}
	g.lines(t, "/v1/collections/"+id+"/import", strings.Join(lines, "\n"))
	b.step("a job moves nothing while it runs", chromedp.Navigate(g.url+"/console#/c/"+id+"/jobs"), text("import"), watchShifts(),
		eventually(`!document.querySelector(".state.running, .state.queued")`), steady())
	b.step("and its row had room for what is said at the end", eventually(`[...document.querySelectorAll("tbody tr")].every(row => {
		const running = row.cloneNode(true)
		running.querySelector('[data-label="Took"]').textContent = ""
		running.querySelector('[data-label="Do"]').replaceChildren(Object.assign(document.createElement("button"), {textContent: "Cancel"}))
		row.after(running)
		const progress = running.querySelector("progress")
		const places = new Set(["queued", "running", "done", "failed", "given up", "cancelled"].map(word => {
			running.querySelector(".state").textContent = word
			return progress?.getBoundingClientRect().left
		}))
		const same = running.offsetHeight === row.offsetHeight && places.size === 1
		running.remove()
		return same
	})`))

	other := g.post(t, "/v1/collections", map[string]any{"name": "other"})["id"].(string)
	quiet := g.post(t, "/v1/collections", map[string]any{"name": "quiet"})["id"].(string)
	b.step("the tree", chromedp.Navigate(g.url+"/console#/c/"+other+"/notes"), chromedp.Reload(), text("quiet"), watchShifts())
	g.post(t, "/v1/collections/"+quiet+"/notes", map[string]any{"content": "Nobody looks here."})
	g.post(t, "/v1/collections", map[string]any{"name": "another"})
	b.step("reads rows of collections that are not open again, and puts new ones at its end", seenAgain(),
		eventually(`[...document.querySelectorAll("#tree a")].some(a => a.innerText.includes("quiet") && a.innerText.includes("1 note"))`),
		eventually(`document.querySelector("#tree li:last-child").innerText.includes("another")`), steady())
	b.step("the next step puts them in order", chromedp.Navigate(g.url+"/console#/c/"+quiet+"/notes"), eventually(`document.querySelector("#tree li").innerText.includes("another")`))
	empty := g.post(t, "/v1/collections", map[string]any{"name": "empty"})["id"].(string)
	b.step("an empty memory", chromedp.Evaluate(`watching.disconnect()`, nil), chromedp.Navigate(g.url+"/console#/c/"+empty+"/notes"), text("Nothing is remembered here yet"))
	g.post(t, "/v1/collections/"+empty+"/notes?wait=evolved", map[string]any{"content": "It comes by itself."})
	b.step("shows what comes, and does not ask", text("It comes by itself."), eventually(`!document.body.innerText.includes("This memory has changed")`))
	g.revoke(t)
	g.stop()
	g.serve(t)
	b.step("a key that is revoked is noticed when the stream of events ends", text("Sign in again"))
	b.done()
}

// A person decides what a policy is not sure of, and takes a decision back.
func TestReviews(t *testing.T) {
	t.Parallel()
	g := start(t)
	b := open(t, g)
	id := g.post(t, "/v1/collections", map[string]any{"name": "careful", "policy_config": map[string]any{"strengthen_gate": 1, "k_neighbours": 1}})["id"].(string)
	for _, content := range []string{
		"The crane lifts the ladder over the wall.", "A crane and a ladder were sold beside the wall.", "Violins need fresh strings for Bach.", "Fresh strings made the violins sing Bach.",
	} {
		g.post(t, "/v1/collections/"+id+"/notes?wait=evolved", map[string]any{"content": content})
	}
	b.step("two links wait", chromedp.Navigate(g.url+"/console#key="+g.key), text("careful"), chromedp.Navigate(g.url+"/console#/c/"+id+"/reviews"), cards(2), text("Approve"))
	b.step("each by its text and those of the notes that it links", eventually(`[["Fresh strings made the violins", "Violins need fresh strings"], ["A crane and a ladder", "The crane lifts"]].every(([of, to], i) => {
		const card = document.querySelectorAll(".card")[i]
		return card.querySelector(".version").innerText.includes(of) && card.querySelector(".links li").innerText.startsWith("link") && card.querySelector(".links a").innerText.includes(to)
	})`), eventually(`!document.body.innerText.includes("The words are the same")`))
	b.look("open reviews")
	b.step("one is approved", click(`(//main//button[normalize-space()="Approve"])[1]`), text("Approved."), cards(1))
	b.step("the other is rejected, with a reason", field("Reason", "They are different."), button("Reject"), text("Rejected."), text("Nothing to decide"))
	b.step("the address has the filter", chromedp.Navigate(g.url+"/console#/c/"+id+"/reviews?state=rejected"), cards(1), text("They are different."), chromedp.Reload(), text("They are different."))
	b.step("the approval is undone", chromedp.Navigate(g.url+"/console#/c/"+id+"/reviews?state=approved"), cards(1), button("Undo"), text("Undone."), text("Nothing to decide"))
	b.step("and is listed as that", chromedp.Navigate(g.url+"/console#/c/"+id+"/reviews?state=undone"), cards(1))
	b.done()
}

// A copy is filled by a job, and a deletion says first what depends on the collection.
func TestCopyAndDelete(t *testing.T) {
	t.Parallel()
	g := start(t)
	b := open(t, g)
	id := g.post(t, "/v1/collections", map[string]any{"name": "base"})["id"].(string)
	g.post(t, "/v1/collections/"+id+"/notes?wait=evolved", map[string]any{"content": "Ada keeps bees."})
	above := id // a lineage has at most eight
	for n := range 7 {
		above = g.post(t, "/v1/collections/"+above+"/clone", map[string]any{"name": fmt.Sprintf("fork-%d", n+1)})["id"].(string)
	}
	b.step("forks stand below each other", chromedp.Navigate(g.url+"/console#key="+g.key), text("fork-7"), chromedp.Navigate(g.url+"/console#/c/"+id), text("keeps bees"),
		eventually(`document.querySelector('#tree li[data-depth="7"] a').innerText.includes("fork-7")`))
	b.look("chain")
	b.step("on a small screen the list scrolls below its head, and ends with the way out", emulation.SetDeviceMetricsOverride(400, 400, 1, false), click(`.menu`), eventually(`(tree => {
		const box = tree.getBoundingClientRect()
		const head = tree.querySelector("button").getBoundingClientRect()
		tree.scrollTop = tree.scrollHeight
		return head.top >= box.top && box.top >= document.querySelector(".top").getBoundingClientRect().bottom - 1 && box.bottom <= innerHeight && tree.scrollTop > 0 && tree.querySelector(".phone button").getBoundingClientRect().bottom <= innerHeight
	})(document.querySelector("#tree"))`), click(`.menu`), size(1400, "light"))
	b.step("it is copied", inHead("Copy"), field("Name of the copy", "own"), dialogButton("Copy"), text("own"), gone(`//dialog`), text("keeps bees"), eventually(`!document.querySelector(".head").innerText.includes("fork of")`))
	b.step("what depends on it is shown", chromedp.Navigate(g.url+"/console#/c/"+id), text("keeps bees"), inHead("Delete"), text("1 fork reads from it, and 6 more from those"))
	b.look("depends")
	b.step("without a copy for them it cannot be deleted", field("Type base to confirm", "base"), eventually(`document.querySelector("dialog button.danger").disabled`))
	b.step("with one it can", click(`dialog input[type="checkbox"]`), dialogButton("Delete"), text("Your memories"), text("Deleted base."))
	b.done()
}

// seenAgain tells the page that it is seen again, as when a person comes back to its tab: then it reads at once.
func seenAgain() chromedp.Action {
	return chromedp.Evaluate(`document.dispatchEvent(new Event("visibilitychange"))`, nil)
}

// cards waits until so many things are listed.
func cards(n int) chromedp.Action {
	return eventually(fmt.Sprintf(`document.querySelectorAll(".card").length === %d`, n))
}

// A text is cut at its end, also where that is on the left. A call that waits is of no policy, which would say how sure it is.
func TestHomeOfAnArabicAgent(t *testing.T) {
	t.Parallel()
	g := start(t)
	b := open(t, g)
	agent := map[string]any{"name": "agent", "display_name": strings.Repeat("ذاكرة ليلى الطويلة عن السفن ", 6), "policy": "memgpt", "policy_config": map[string]any{"approve": []string{"send_message"}}}
	id := g.post(t, "/v1/collections", agent)["id"].(string)
	g.post(t, "/v1/collections/"+id+"/events", map[string]any{"content": "أين السفينة؟", "wait": "done"})
	b.step("the start", chromedp.Navigate(g.url+"/console#key="+g.key), text("The agent calls send_message"), eventually(`!document.body.innerText.includes("% sure")`),
		eventually(`[...document.querySelectorAll(".lines bdi")].some(b => getComputedStyle(b).direction === "rtl" && b.scrollWidth > b.clientWidth)`))
	b.look("Arabic")
	b.step("what waits", chromedp.Navigate(g.url+"/console#/c/"+id+"/reviews"), text("The agent calls a tool"), eventually(`!document.body.innerText.includes("% sure")`))
	b.done()
}
