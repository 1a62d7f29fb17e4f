package console_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
)

// A fork is listed below its base with how far both have gone. It is compared, merged with a conflict that a person decides, proposed for
// review, and the base is rolled back to a snapshot.
func TestForks(t *testing.T) {
	t.Parallel()
	g := start(t)
	b := open(t, g)
	base := g.post(t, "/v1/collections", map[string]any{"name": "glazes", "policy": "none"})["id"].(string)
	add := func(to, content string) string {
		t.Helper()
		return g.post(t, "/v1/collections/"+to+"/notes", map[string]any{"content": content})["note"].(map[string]any)["id"].(string)
	}
	kiln := add(base, "The kiln is fired on Fridays.")
	add(base, "The ash glaze is fired at 1240 degrees.")
	fork := g.post(t, "/v1/collections/"+base+"/clone", map[string]any{"name": "trial"})["id"].(string)
	change := func(of string, what map[string]any) {
		t.Helper()
		g.send(t, http.MethodPatch, "/v1/collections/"+of+"/notes/"+kiln, what)
	}
	change(fork, map[string]any{"content": "The kiln is fired on Mondays.", "attributes": map[string]any{"by": map[string]any{"person": "Nora"}}})
	add(fork, "Rutile turns the glaze blue.")
	link := add(fork, "Salt makes the glaze crack.")
	g.send(t, http.MethodPut, "/v1/collections/"+fork+"/notes/"+link+"/links", map[string]any{"links": []map[string]any{{"target": kiln}}})
	change(base, map[string]any{"content": "The kiln is fired on Sundays.", "attributes": map[string]any{"by": "Ben"}})

	merge := chromedp.Tasks{button("Merge into glazes…"), chromedp.WaitVisible(`//dialog`)}
	// A dialog whose plan is read again for another choice has no effect for that long.
	submit := func(name string) chromedp.Action {
		return again(dialogButton(name), `document.querySelector("dialog") === null`)
	}
	theirs := chromedp.Tasks{click(`//dialog//label[normalize-space()="that of trial"]`), eventually(`document.querySelectorAll('[data-holds="true"]').length === 2`)}
	b.step("the tree says how far a fork and its base have gone", chromedp.Navigate(g.url+"/console#key="+g.key), text("Your memories"),
		eventually(`document.querySelector('#tree li[data-depth="1"]')?.innerText.includes("4 ahead, 1 behind")`))
	b.step("a snapshot is made", chromedp.Navigate(g.url+"/console#/c/"+base+"/past"), text("No snapshots yet"),
		field("Name of the snapshot", "before \"the trial\"/2026"), button("Name revision 3"), text("must not hold a slash"))
	b.step("under another name", field("Name of the snapshot", "before the trial"), button("Name revision 3"), text("revision 3 ·"))
	b.look("past")

	b.step("the fork is compared", chromedp.Navigate(g.url+"/console#/c/"+fork+"/compare"), text("1 note differs, 2 only in trial, 0 only in glazes"), text("attributes.by"), text("link related from"),
		eventually(`[...document.querySelectorAll(".sides ins")].some(d => d.textContent.includes("Mondays"))`))
	b.look("compare")
	b.step("a merge shows what both have changed", merge, text("Both sides changed 2 fields"), text("Sundays"), text(`{"person":"Nora"}`),
		eventually(`document.querySelector("dialog button[type=submit]").disabled`))
	b.look("conflicts")
	b.step("a person decides, and has it proposed", theirs,
		click(`//dialog//label[contains(., "Propose it only")]/input`), eventually(`document.querySelector("dialog button[type=submit]").innerText === "Propose"`), submit("Propose"), opened("glazes"), text("a merge from trial"))
	b.look("proposed")
	b.step("some of its notes are left out", click(`(//main//label[contains(., "Add this note")]/input)[1]`), text("Approve 2 of 3"))
	b.look("approved in part")
	b.step("it is rejected", button("Reject"), text("Nothing to decide"))
	b.step("another is approved in part", chromedp.Navigate(g.url+"/console#/c/"+fork+"/compare"), opened("trial"), text("1 note differs"), merge, text("Both sides changed 2 fields"), theirs,
		click(`//dialog//label[contains(., "Propose it only")]/input`), eventually(`document.querySelector("dialog button[type=submit]").innerText === "Propose"`), submit("Propose"), opened("glazes"), text("a merge from trial"),
		click(`//main//label[contains(., "Change this note")]/input`), text("Approve 2 of 3"),
		button("Approve 2 of 3"), text("Approved 2 of 3 notes."))
	b.step("and the rest is merged at once", chromedp.Navigate(g.url+"/console#/c/"+fork+"/compare"), opened("trial"), text("1 note differs"), merge, text("Both sides changed 2 fields"), theirs,
		eventually(`!document.querySelector("dialog button[type=submit]").disabled`), submit("Merge"), gone(`//dialog`), text("Both remember the same"))
	b.step("nothing is left", merge, text("There is nothing to merge"), chromedp.KeyEvent("\u001b"), gone(`//dialog`))

	b.step("the past is compared with now", chromedp.Navigate(g.url+"/console#/c/"+base+"/past"), text("before the trial"), click(`//main//li//a[normalize-space()="Compare"]`),
		text("Beside its own past: 1 note differs, 2 only now, 0 only then"))
	b.step("a snapshot is returned to", chromedp.Navigate(g.url+"/console#/c/"+base+"/past"), text("before the trial"), click(`//main//li//button[normalize-space()="Roll back…"]`),
		text("2 notes are deleted, 0 restored, 1 changed back"))
	b.look("rollback")
	b.step("and the way back is said", dialogButton("Roll back"), gone(`//dialog`), text("takes this back"))
	head := int(g.send(t, http.MethodGet, "/v1/collections/"+base, nil)["head_revision"].(float64))
	b.step("a revision is returned to", field("Revision or time to return to", fmt.Sprint(head-1)), button("Roll back…"), text("0 notes are deleted, 2 restored, 1 changed back"), dialogButton("Roll back"), gone(`//dialog`))
	b.step("what is no revision is refused", field("Revision or time to return to", "999"), button("Roll back…"), text("999"), chromedp.KeyEvent("\u001b"), gone(`//dialog`))
	b.step("the name is deleted", click(`//main//li//button[normalize-space()="Delete"]`), text("No snapshots yet"))
	b.done()
}
