package console_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// A graph of 5,000 notes is drawn while the page answers: frames go on, a search finds, a note is chosen by the
// keyboard, what is around it is shown, and any revision can be. Of a larger collection, with as many notes as CONSOLE_NOTES says,
// the first 5,000 are drawn.
func TestGraph(t *testing.T) {
	t.Parallel()
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
	b.step("sign in", chromedp.Navigate(g.url+"/console#key="+g.key), text("large"), watchFrames())
	began := time.Now()
	b.step("everything is drawn", chromedp.Navigate(g.url+"/console#/c/"+id+"/graph"), text("5,000 notes and 5,000 links"), text("1 part"), eventually(`document.querySelector(".stage canvas")`))
	drawn := time.Since(began)
	b.step("and comes to rest", still())
	t.Logf("5,000 notes are read and drawn after %v, and at rest after %v", drawn.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	b.step("frames went on meanwhile", eventually(`window.frames5000 > 10`), eventually(`document.querySelectorAll(".legend li").length === 8 && document.querySelector('[aria-label="Clusters"]').children.length === 12`))
	b.look("graph-large")
	b.step("a cluster is shown alone", click(`[aria-label="Clusters"] button`), text("All clusters"), eventually(`location.hash.includes("cluster=")`), button("All clusters"), text("5,000 notes and 5,000 links"))
	b.step("a note is found meanwhile, and chosen", field("Find in the graph", "GARDEN no77x plant"), eventually(`document.querySelectorAll(".picks li").length === 1`),
		chromedp.SendKeys(`.picks button`, "\r", chromedp.ByQuery), text("Open the note"), eventually(`location.hash.includes("focus=`+ids[77]+`")`))
	b.step("what is around it is shown", chromedp.SetValue(`.beside select`, "1", chromedp.ByQuery), chromedp.Evaluate(`document.querySelector(".beside select").dispatchEvent(new Event("change"))`, nil),
		text("52 notes and 51 links"), still(),
		eventually(`["--line", "--accent", "--kind-note"].every(name => getComputedStyle(document.querySelector(".stage")).getPropertyValue(name).startsWith("rgb"))`))
	b.look("graph")
	b.step("the keyboard moves, zooms and opens", chromedp.SendKeys(`.stage`, "+\u0302-0", chromedp.ByQuery), chromedp.SendKeys(`.stage`, "\r", chromedp.ByQuery), text("Plant no77x of the garden."), text("History"))
	b.step("a note leads back", click(`//a[normalize-space()="Show in the graph"]`), text("Open the note"))
	b.step("the past is shown", chromedp.Navigate(g.url+"/console#/c/"+id+"/graph?at=20"), text("at revision 20"), text("No note is linked to another"), chromedp.Reload(), button("Draw them without links"), still(), text("at revision 20"))
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
	b.step("they are listed by the page, and found", link("Notes"), text("Show more"), cards(50),
		link("Search"), field("Search this memory", fmt.Sprintf("Plant no%dx\r", all-1)), text(fmt.Sprintf("Plant no%dx of the garden.", all-1)))
	b.done()
}

// still waits until a graph is laid out.
func still() chromedp.Action {
	return eventually(`document.querySelector(".stage")?.dataset.state === "still"`)
}

// watchFrames counts the frames of the page.
func watchFrames() chromedp.Action {
	return chromedp.Evaluate(`window.frames5000 = 0; (function next() { window.frames5000++; requestAnimationFrame(next) })()`, nil)
}

// Facts of mem0 are linked to what they were taken from, groups have colors by what one asks for, and without lines the page says why.
func TestGraphOfFacts(t *testing.T) {
	t.Parallel()
	g := start(t)
	b := open(t, g)
	id := g.post(t, "/v1/collections", map[string]any{"name": "facts", "policy": "mem0"})["id"].(string)
	g.post(t, "/v1/collections/"+id+"/messages?wait=evolved", map[string]any{"messages": []map[string]any{
		{"role": "user", "name": "Nora", "content": "I live in Oslo. I work at Acme.", "infer": true}, {"role": "user", "name": "Tomas", "content": "I live in Rome."},
	}})
	b.step("facts have lines", chromedp.Navigate(g.url+"/console#key="+g.key), text("facts"), chromedp.Navigate(g.url+"/console#/c/"+id+"/graph"), still(), eventually(`!document.body.innerText.includes("and 0 links")`))
	b.step("colors by speaker", chromedp.SetValue(`.graphline select`, "speaker", chromedp.ByQuery), chromedp.Evaluate(`document.querySelector(".graphline select").dispatchEvent(new Event("change"))`, nil),
		eventually(`document.querySelector(".legend").innerText.includes("Nora")`))
	b.look("graph-facts")
	b.step("by kind", chromedp.SetValue(`.graphline select`, "kind", chromedp.ByQuery), chromedp.Evaluate(`document.querySelector(".graphline select").dispatchEvent(new Event("change"))`, nil),
		eventually(`document.querySelector(".legend").innerText.includes("fact") && document.querySelector(".legend").innerText.includes("message")`))
	none := g.post(t, "/v1/collections", map[string]any{"name": "bare", "policy": "none"})["id"].(string)
	for _, content := range []string{"One.", "Two.", "Three."} {
		g.post(t, "/v1/collections/"+none+"/notes", map[string]any{"content": content})
	}
	b.step("without links the page says why", chromedp.Navigate(g.url+"/console#/c/"+none+"/graph"), text("links nothing by itself"))
	b.look("graph-none")
	b.step("and draws them when asked to", button("Draw them without links"), still(), text("3 notes and 0 links"))
	b.done()
}
