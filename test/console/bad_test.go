package console_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// A note with 10,000 links is opened as any other, and shows some of them at a time.
func TestManyLinks(t *testing.T) {
	t.Parallel()
	const sources, each = 10, 1000
	g := start(t, "llm:", "  embedder: hash") // vectors do not matter here
	b := open(t, g)
	id := g.post(t, "/v1/collections", map[string]any{"name": "links", "policy": "none"})["id"].(string)
	notes := "/v1/collections/" + id + "/notes"
	add := func(content string) string {
		t.Helper()
		return g.post(t, notes, map[string]any{"content": content})["note"].(map[string]any)["id"].(string)
	}
	hub := add("Nora is linked to by everything.")
	for s := range sources {
		links := make([]map[string]any, each)
		for i := range links {
			links[i] = map[string]any{"target": hub, "relation": fmt.Sprintf("reason %d", i)}
		}
		g.send(t, http.MethodPut, notes+"/"+add(fmt.Sprintf("Source %d.", s))+"/links", map[string]any{"links": links})
	}
	b.step("the list says how many", chromedp.Navigate(g.url+"/console#key="+g.key), text("11 notes"), chromedp.Navigate(g.url+"/console#/c/"+id+"/notes"), text("10,000 links"), text("1,000 links"))
	b.step("some are shown, and then more", chromedp.Navigate(g.url+"/console#/c/"+id+"/notes/"+hub), text("Show more of 10,000"), eventually(`document.querySelectorAll(".links li").length === 20`),
		button("Show more of 10,000"), eventually(`document.querySelectorAll(".links li").length === 70 && document.querySelector(".links").innerText.includes("Source")`))
	b.look("links")
	b.step("it is corrected", button("Correct"), field("Content", "Nora is linked to by all."), button("Save"), text("content before"))
	b.done()
}

// A browser whose clock is an hour off shows what was just written, and what it cost.
func TestClockOff(t *testing.T) {
	t.Parallel()
	g := start(t)
	id := g.post(t, "/v1/collections", map[string]any{"name": "clock", "policy": "layered"})["id"].(string)
	g.post(t, "/v1/collections/"+id+"/messages?wait=evolved", map[string]any{"messages": []map[string]any{{"role": "user", "content": "I live in Oslo.", "name": "Nora"}, {"role": "assistant", "content": "Noted."}}})
	for _, hours := range []int{-1, 1} {
		b := open(t, g)
		b.step("the clock is off", clock(hours))
		b.step("the notes", chromedp.Navigate(g.url+"/console#key="+g.key), text("clock"), chromedp.Navigate(g.url+"/console#/c/"+id+"/notes"), text("I live in Oslo."))
		b.step("the facts", link("Facts"), eventually(`document.querySelectorAll(".timeline a:not(.past)").length === 1`))
		b.step("the jobs and the days", link("Jobs"), text("done"), link("Usage"), text("adds 1"))
		b.step("the gateway", chromedp.Navigate(g.url+"/console#/gateway"), text("Model tokens today"))
		b.done()
	}
}

// clock makes the clock of pages that are loaded later so many hours fast.
func clock(hours int) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		_, err := page.AddScriptToEvaluateOnNewDocument(fmt.Sprintf(`{
			const now = Date.now.bind(Date)
			window.Date = class extends Date {
				constructor(...at) { super(...(at.length === 0 ? [now() + %[1]d * 3600000] : at)) }
				static now() { return now() + %[1]d * 3600000 }
			}
		}`, hours)).Do(ctx)
		return err
	})
}
