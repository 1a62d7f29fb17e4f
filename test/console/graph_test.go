package console_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
)

// A graph of 5,000 notes is drawn while the page answers: frames go on, a search finds, a note is chosen by the
// keyboard, what is around it is shown, and any revision can be. Of a larger collection, with as many notes as CONSOLE_NOTES says,
// the first 5,000 are drawn.
func TestGraph(t *testing.T) {
	const notes, hubs = 5000, 100
	g := start(t, "llm:", "  embedder: hash") // vectors do not matter here
	b := open(t, g)
	id := g.post(t, "/v1/collections", map[string]any{"name": "large", "policy": "none"})["id"].(string)
	path := "/v1/collections/" + id + "/notes"
	plants := func(from, to int) []byte {
		var lines bytes.Buffer
		for i := from; i < to; i++ {
			fmt.Fprintf(&lines, "{\"content\":\"Plant no%dx of the garden.\",\"infer\":false}\n", i)
		}
		return lines.Bytes()
	}
	ids := make([]string, 0, notes)
	answers := json.NewDecoder(bytes.NewReader(g.exchange(t, http.MethodPost, path+"/bulk", "application/x-ndjson", plants(0, notes))))
	for range notes {
		var line struct {
			ID   string `json:"id"`
			Note struct {
				ID string `json:"id"`
			} `json:"note"`
		}
		if err := answers.Decode(&line); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, line.ID+line.Note.ID)
	}
	for hub := range hubs {
		links := []map[string]any{{"target": ids[(hub+1)%hubs], "relation": "next"}}
		for i := hub + hubs; i < notes; i += hubs {
			links = append(links, map[string]any{"target": ids[i], "relation": "about"})
		}
		g.send(t, http.MethodPut, path+"/"+ids[hub]+"/links", map[string]any{"links": links})
	}
	b.step("everything is drawn", chromedp.Navigate(g.url+"/console#key="+g.key), text("large"), chromedp.Navigate(g.url+"/console#/c/"+id+"/graph"),
		text("5,000 notes and 5,000 links"), eventually(`document.querySelector("canvas").dataset.state === "settling"`))
	b.step("frames go on while it is laid out", chromedp.Evaluate(`window.frames5000 = 0; (function next() { window.frames5000++; requestAnimationFrame(next) })()`, nil),
		eventually(`window.frames5000 > 10`), holds(`document.querySelector("canvas").dataset.state === "settling"`))
	b.step("a note is found meanwhile, and chosen", field("Find in the graph", "GARDEN no77x plant"), eventually(`document.querySelectorAll(".picks li").length === 1`),
		chromedp.SendKeys(`.picks button`, "\r", chromedp.ByQuery), text("Open the note"), holds(`location.hash.includes("focus=`+ids[77]+`")`))
	b.step("what is around it is shown", chromedp.SetValue(`.beside select`, "1", chromedp.ByQuery), chromedp.Evaluate(`document.querySelector(".beside select").dispatchEvent(new Event("change"))`, nil),
		text("52 notes and 51 links"), eventually(`document.querySelector("canvas").dataset.state === "still"`),
		holds(`["--line", "--accent", "--kind-note"].every(name => getComputedStyle(document.querySelector("canvas")).getPropertyValue(name).startsWith("rgb"))`))
	b.look("graph")
	b.step("the keyboard moves, zooms and opens", chromedp.SendKeys(`canvas`, "+\u0302-0", chromedp.ByQuery), chromedp.SendKeys(`canvas`, "\r", chromedp.ByQuery), text("Plant no77x of the garden."), text("History"))
	b.step("a note leads back", chromedp.Click(`//a[normalize-space()="Show in the graph"]`), text("Open the note"))
	b.step("the past is shown", chromedp.Navigate(g.url+"/console#/c/"+id+"/graph?at=20"), text("at revision 20"), text("20 of"), chromedp.Reload(), text("at revision 20"))
	b.look("past")
	b.step("and now again", button("Now"), text("5,000 notes and 5,000 links"))

	all := notes + 1
	if n, err := strconv.Atoi(os.Getenv("CONSOLE_NOTES")); err == nil {
		all = max(all, n)
	}
	for from := notes; from < all; from += notes {
		g.exchange(t, http.MethodPost, path+"/bulk", "application/x-ndjson", plants(from, min(from+notes, all)))
	}
	b.step("of more notes the first are drawn", chromedp.Reload(), text(fmt.Sprintf("the first of %d,%03d notes", all/1000, all%1000)))
	b.step("and what is around a chosen one", chromedp.Navigate(g.url+"/console#/c/"+id+"/graph?depth=1&focus="+ids[77]), text("52 notes and 51 links"))
	b.step("they are listed by the page, and found", link("Notes"), text("Show more"), eventually(`document.querySelectorAll(".card").length === 50`),
		link("Search"), field("Search this memory", fmt.Sprintf("Plant no%dx\r", all-1)), text(fmt.Sprintf("Plant no%dx of the garden.", all-1)))
	b.done()
}
