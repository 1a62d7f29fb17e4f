package console_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A person sees what each policy has: facts on a time line, the portrait and the days of a bank, tiers with sessions
// and moves, layers with what contradicts, and an agent with its window, blocks and steps.
func TestConsolePolicies(t *testing.T) {
	t.Parallel()
	g := start(t)
	b := open(t, g)
	at := func(collection, view string) chromedp.Action {
		return chromedp.Navigate(g.url + "/console#/c/" + collection + "/" + view)
	}
	create := func(policy string, config map[string]any) string {
		t.Helper()
		return g.post(t, "/v1/collections", map[string]any{"name": "of-" + policy, "policy": policy, "policy_config": config})["id"].(string)
	}
	say := func(collection, day, user, assistant string) {
		t.Helper()
		g.post(t, "/v1/collections/"+collection+"/messages?wait=evolved", map[string]any{"messages": []map[string]any{
			{"user": user, "assistant": assistant, "name": "Nora", "occurred_at": day + "T10:00:00Z"}}})
	}

	graph := create("layered", map[string]any{})
	say(graph, "2025-02-01", "I live in Oslo. I love dark tea.", "Noted.")
	say(graph, "2026-05-10", "I live in Rome.", "Noted.")
	say(graph, "2026-05-11", "I live in Rome, near the river.", "Noted.") // said again, it holds alone
	b.step("sign in", chromedp.Navigate(g.url+"/console#key="+g.key), text("of-layered"))
	b.step("facts lie on a time line", at(graph, "facts"), text("Rome"), text("Oslo"), text("2026"),
		eventually(`document.querySelectorAll(".timeline a.past").length === 1 && document.querySelectorAll(".timeline li").length >= 3`))
	b.step("by the keyboard", chromedp.Focus(`.timeline li a`, chromedp.ByQuery), chromedp.KeyEvent(kb.ArrowDown), eventually(`document.activeElement === document.querySelectorAll(".timeline a")[1]`))
	b.look("facts-line")
	b.step("what was true on a day", at(graph, "facts?at=2025-06-01"), text("Any day"), text("Oslo"), eventually(`!document.querySelector(".timeline").innerText.includes("Rome")`))
	b.step("as a table", button("Any day"), button("Table"), text("Confidence"), text("Rome"), eventually(`document.querySelectorAll("tr.past").length === 1 && location.hash.includes("as=table")`))
	b.look("facts-table")

	bank := create("memorybank", map[string]any{"summary_delay": 0})
	b.step("no portrait yet", at(bank, "memory"), text("No portrait yet"), text("right after its last turn"))
	b.look("portrait-empty")
	g.send(t, http.MethodPut, "/v1/collections/"+bank+"/profile", map[string]any{"name": "Nora", "hobbies": "pottery"})
	say(bank, "2026-05-10", "I moved to Rome and I feel happy here. I started pottery.", "How lovely.")
	say(bank, "2026-05-11", "I am sad because my kiln broke today.", "I am sorry.")
	g.await(t, "/v1/collections/"+bank+"/summaries", "items", 3)
	b.step("days as they were told, and what was stated of the person", chromedp.Reload(), text("Summaries"), text("2026-05-11"), text("my kiln broke"), text("pottery"))
	b.look("portrait")

	tiers := create("memoryos", map[string]any{"short_capacity": 1, "heat_threshold": 1})
	b.step("nothing has moved", at(tiers, "memory"), text("Nothing has moved yet"))
	b.look("tiers-empty")
	for i, said := range fractionsAndMaps {
		say(tiers, fmt.Sprintf("2026-05-%02d", i+10), said, "Well done, Nora.")
	}
	g.await(t, "/v1/collections/"+tiers+"/sessions", "items", 1)
	b.step("tiers, sessions by heat, and moves", chromedp.Reload(), text("Mid: sessions"), text("short → mid"), text("heat"))
	b.look("tiers")
	even := g.post(t, "/v1/collections", map[string]any{"name": "even", "policy": "memoryos", "policy_config": map[string]any{"short_capacity": 1, "heat_threshold": 1000}})["id"].(string)
	for _, said := range fractionsAndMaps {
		say(even, "2026-05-10", said, "Well done, Nora.")
	}
	b.step("heats that are equal are said once, without bars", at(even, "memory"), text("All of these have the same heat: "), eventually(`document.querySelectorAll(".cards > .card").length === 2 && document.querySelectorAll("svg.heat").length === 0`))
	b.look("tiers-even")
	for _, known := range []string{"Nora knits.", "Nora sails."} {
		g.post(t, "/v1/collections/"+even+"/notes", map[string]any{"content": known, "kind": "knowledge", "infer": false, "attributes": map[string]any{"of": "user"}})
	}
	b.step("what is known, the newest first", chromedp.Reload(), text("Nora knits."), eventually(`document.body.innerText.indexOf("Nora sails.") < document.body.innerText.indexOf("Nora knits.")`))
	b.step("a session with its pages", at(tiers, "memory"), opened("of-memoryos"), click(`.cards .cover`), text("Pages"), text("recency"), text("here because"))
	b.look("session")

	layers := g.post(t, "/v1/collections", map[string]any{"name": "layers", "policy": "layered"})["id"].(string)
	say(layers, "2026-05-10", "My name is Nora. I live in Oslo.", "Noted.")
	b.step("layers that agree", at(layers, "memory"), text("what was said lately"), text("What is known"), text("Oslo"), text("What contradicts"), text("Nothing. What cannot both be true"),
		lists("working", "Said lately"), lists("episodic", "What happened and mattered"))
	say(layers, "2026-05-12", "I live in Rome.", "Noted.")
	b.step("what contradicts", chromedp.Reload(), text("said of the earlier time"), text("Oslo"), text("Rome"))
	b.look("layers")

	agent := create("memgpt", map[string]any{})
	b.step("an agent that has not acted", at(agent, "memory"), text("has not acted yet"), text("persona"), text("of 8,192"))
	g.post(t, "/v1/collections/"+agent+"/events", map[string]any{"content": "My name is Nora and I live in Oslo.", "wait": "done"})
	b.step("its run, step by step", chromedp.Reload(), text("without a model"), click(`.runs summary`), text("send_message"))
	b.look("agent")
	b.step("it is told something", field("Tell the agent", "I also have a cat.\r"), eventually(`document.querySelectorAll(".runs > li").length === 2`))
	b.step("a block is filled", click(`button[aria-label="Edit human"]`), field("Value", "Nora, a potter."), dialogButton("Save"), gone(`//dialog`), text("Nora, a potter."))
	b.step("and made", button("New block"), field("Label", "plans"), field("Value", "A new kiln."), dialogButton("Save"), gone(`//dialog`), text("A new kiln."))

	sentences := create("mem0", map[string]any{})
	say(sentences, "2026-05-10", "I live in Oslo.", "Noted.")
	b.step("facts that are notes are the view", at(sentences, "facts"), eventually(`[...document.querySelectorAll(".sentences .cover")].some(a => a.innerText.includes("Oslo"))`))
	b.look("facts-sentences")
	b.step("where there can be none there is no such view", at(bank, "notes"), text("kiln broke"), eventually(`![...document.querySelectorAll(".tabs a")].some(a => a.innerText === "Facts")`))
	b.done()
}

// fractionsAndMaps is what a pupil says of two themes, and begins with a third.
var fractionsAndMaps = []string{
	"I add fractions with a common denominator.",
	"Fractions need a common denominator, I think.",
	"I love maps and drew one of my village.",
	"The map of my village is 1 to 500.",
	"My graph is a straight line.",
}

// lists waits until a layer is listed with as many items as it has.
func lists(layer, title string) chromedp.Action {
	return eventually(fmt.Sprintf(`[...document.querySelectorAll(".fill")].find(f => f.querySelector("h2").innerText === %q)?.querySelector("strong").innerText ===
		String(document.querySelectorAll('[aria-label="%s"] > li').length)`, layer, title))
}

// await waits until an answer has so many things in a list.
func (g *gateway) await(t *testing.T, path, list string, n int) {
	t.Helper()
	until(t, fmt.Sprintf("%s has %d %s", path, n, list), func() bool {
		items, _ := g.send(t, http.MethodGet, path, nil)[list].([]any)
		return len(items) >= n
	})
}
