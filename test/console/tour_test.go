package console_test

import (
	"testing"

	"github.com/chromedp/chromedp"
)

// The tour of the demo leads through six steps, each of which does what it says. A fork is compared with its base.
func TestTour(t *testing.T) {
	t.Parallel()
	g := start(t)
	b := open(t, g)
	demo := g.post(t, "/v1/collections", map[string]any{"name": "demo"})["id"].(string)
	for _, content := range []string{"Nora has a pottery studio with a wood kiln.", "Nora bought a gas kiln for the studio.", "The gallery ordered twelve vases from Nora."} {
		g.post(t, "/v1/collections/"+demo+"/notes?wait=evolved", map[string]any{"content": content})
	}
	next := func(label, shown string, after ...chromedp.Action) {
		t.Helper()
		b.step(label, append([]chromedp.Action{tourButton(label), text(shown)}, after...)...)
	}
	b.step("the tour is offered", chromedp.Navigate(g.url+"/console#key="+g.key), text("Take the tour"), button("Take the tour of the demo, in six steps"), text("step 1 of 6"))
	b.look("tour")
	next("Add this note", "It can be found at once", text("will be fired in the new gas kiln"))
	next("Next: watch it evolve", "step 2 of 6")
	next("Wait for the policy", "Under History", text("described"))
	b.step("a reload continues", chromedp.Reload(), text("Under History"))
	next("Next: search, with why", "step 3 of 6")
	next("Search", "the bars are the signals", text("Why"))
	next("Next: travel in time", "step 4 of 6")
	next("Go back to the beginning", "Move the slider", eventually(`location.hash.includes("at=")`), text("at revision"))
	next("Next: fork", "step 5 of 6")
	next("Fork it, and change the fork", "The base knows nothing of it", text("The gas kiln is broken"))
	next("Next: compare", "step 6 of 6")
	next("Compare", "That was it", text("0 only in demo"))
	b.look("compare")
	next("To your own memory", "Bring your history, or connect a client", gone(`//aside`))
	b.step("the base has no comparison", chromedp.Navigate(g.url+"/console#/c/"+demo+"/compare"), text("This is no fork"))
	b.done()
}

// tourButton clicks a button of the tour.
func tourButton(name string) chromedp.Action {
	return click(`//aside//button[normalize-space()="` + name + `" and not(@disabled)]`)
}
