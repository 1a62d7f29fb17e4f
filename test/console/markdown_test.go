package console_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// A note is shown with its Markdown, and as it was written. What tries to be more than text stays text, asks no other host for anything,
// and a note that is nested without end does not stop the page.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	g := start(t, "llm:", "  embedder: hash") // vectors do not matter here
	b := open(t, g)
	id := g.post(t, "/v1/collections", map[string]any{"name": "marked", "policy": "none"})["id"].(string)
	add := func(content string) string {
		t.Helper()
		return g.post(t, "/v1/collections/"+id+"/notes", map[string]any{"content": content})["note"].(map[string]any)["id"].(string)
	}
	at := func(note string) chromedp.Action {
		return chromedp.Navigate(g.url + "/console#/c/" + id + "/notes/" + note)
	}
	plain := add("Nora moved to Oslo.")
	b.step("a note without marks loads nothing", chromedp.Navigate(g.url+"/console#key="+g.key), text("marked"), at(plain), text("Nora moved to Oslo."), text("History"),
		eventually(`!performance.getEntriesByType("resource").some(r => r.name.includes("markdown"))`))

	rich := add("# The kiln\n\n- it is **hot**\n- it is *red*\n\n| day | degrees |\n|---|---|\n| Monday | 1,280 |\n\n```go\nfire()\n```\n\nSee [the page](https://example.com/kiln), or `cool()`.\n\n> said Nora")
	b.step("one with marks is drawn", at(rich), eventually(`document.querySelector(".content h3")?.innerText === "The kiln"`),
		eventually(`document.querySelectorAll(".content li").length === 2 && document.querySelector(".content strong").innerText === "hot" && document.querySelector(".content td").innerText === "Monday"`),
		eventually(`document.querySelector(".content a").href === "https://example.com/kiln" && document.querySelector(".content a").rel.includes("noopener") && document.querySelector(".content a").innerText.includes("(example.com)")`))
	b.look("markdown")
	b.step("and as it was written", button("as written"), eventually(`document.querySelector(".content").innerText.includes("# The kiln")`), button("with its Markdown"), eventually(`document.querySelector(".content h3")`))

	evil := add(strings.Join([]string{
		"**hostile** " + hostile, "<script>document.title='taken'</script>", "<img src=\"https://evil.example/p.png\" onerror=\"document.title='taken'\">", "![pixel](https://evil.example/p.png)",
		"[press](javascript:document.title='taken')", "[press](JAVASCRIPT:alert(1))", "[press](&#106;avascript:alert(1))", "[press](data:text/html,<script>alert(1)</script>)", "[here](#/gateway)", "<javascript:alert(1)>",
		"<style>body{display:none}</style>", "<iframe src=//evil.example></iframe>", "[a]: https://evil.example \"hidden\"", "<!-- unseen -->",
	}, "\n\n"))
	b.step("what is hostile is text", at(evil), eventually(`document.querySelector(".content strong")`), eventually(`document.title === "marked · slipbox" && !document.querySelector(".content script, .content img, .content style, .content iframe, .content svg")`),
		eventually(`[...document.querySelectorAll(".content a")].every(a => /^(https?|mailto):/.test(a.href))`), text("hidden"), text("unseen"), text("⟨U+202E⟩"), text("evil.example/p.png"))
	b.look("hostile")

	deep := add("**deep** " + strings.Repeat("- ", 30_000) + "the end")
	// Its history has such a button, too.
	whole := eventually(`document.querySelector(".content").innerText.includes("the end")`)
	b.step("a note that is nested without end is shown", at(deep), click(`//div[@class="content"]//button[normalize-space()="show all 60,016 characters"]`), whole)

	// What somebody has opened or typed stays while the note is read again, and when that fails.
	reads := func(fail bool) chromedp.Action {
		return chromedp.Evaluate(fmt.Sprintf(`window.real ??= fetch; window.fetch = (to, ...how) =>
			%t && /notes\/[^/?]+\?/.test(to) ? Promise.resolve(new Response("{}", {status: 500})) : real(to, ...how)`, fail), nil)
	}
	b.step("reads fail", reads(true))
	add("Another note.")
	again := `//main//button[normalize-space()="Try again"]`
	b.step("it stays open", chromedp.WaitVisible(again), whole, reads(false), click(again), gone(again), whole)
	typed := eventually(`document.querySelector("dialog textarea")?.value === "The kiln is cold."`)
	b.step("it is corrected while reads fail", button("Correct"), field("Content", "The kiln is cold."), reads(true))
	add("And another.")
	b.step("what was typed stays", chromedp.WaitReady(again), typed, reads(false))
	g.send(t, http.MethodDelete, "/v1/collections/"+id+"/notes/"+deep, nil)
	b.step("also when somebody else deletes the note", text("This note is deleted"), typed)
	b.done()
}
