package console_test

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// A person brings a chat of another program: the page says what it is before anything is stored, asks who is remembered, and lands on
// what was said. What is no export is refused, and a chat that is imported again adds nothing.
func TestConsoleImport(t *testing.T) {
	t.Parallel()
	g := start(t)
	b := open(t, g)
	c := g.post(t, "/v1/collections", map[string]any{"name": "ben", "policy": "memorybank"})["id"].(string)
	chat, err := filepath.Abs("../../internal/memory/transfer/testdata/whatsapp/WhatsApp Chat with Nora.txt")
	if err != nil {
		t.Fatal(err)
	}
	strange := filepath.Join(t.TempDir(), "data.json")
	if err := os.WriteFile(strange, []byte(`{"rows": ["<script>document.title='taken'</script>"]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	choose := func(file string) chromedp.Action {
		return chromedp.SetUploadFiles(`dialog input[type="file"]`, []string{file}, chromedp.ByQuery)
	}
	notes := func() int {
		return len(g.send(t, http.MethodGet, "/v1/collections/"+c+"/messages", nil)["items"].([]any))
	}

	b.step("sign in", chromedp.Navigate(g.url+"/console#key="+g.key), text("Import a file"), eventually(`!document.body.innerText.includes("memories to choose from")`), chromedp.Navigate(g.url+"/console#/c/"+c+"/notes"), text("Nothing is remembered here yet"))
	b.step("the form says how to get a file", inHead("Add"), button("A file"), click(`//dialog//summary[normalize-space()="How do I get it?"]`), text("Settings, Data controls, Export data."))
	b.look("import-how")
	b.step("what is no export is refused", choose(strange), text("not recognized"), eventually(`document.querySelector("dialog button[type=submit]").disabled`))
	b.look("import-refused")
	day := filepath.Join(t.TempDir(), "day.txt")
	if err := os.WriteFile(day, []byte("3/4/26, 09:00 - Nora: We met.\n3/4/26, 09:01 - Nora: It rained.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.step("of a chat of one day it is asked how dates are written", choose(day), text("How are its dates written?"), eventually(`document.querySelector("dialog button[type=submit]").disabled`))
	b.look("import-dates")
	b.step("and read so", chromedp.SetValue(`dialog select`, "DMY", chromedp.ByQuery), chromedp.Evaluate(`document.querySelector("dialog select").dispatchEvent(new Event("change", {bubbles: true}))`, nil),
		eventually(`/Apr\s3,\s2026\n/.test(document.querySelector(".understood")?.innerText) && !document.querySelector(".understood").innerText.includes(" to Apr") && !document.querySelector("dialog button[type=submit]").disabled`))
	b.step("a chat is understood, and nothing is stored", choose(chat), text("a chat that WhatsApp exported"), text("People: "), text("Who is remembered?"),
		eventually(`document.querySelectorAll(".understood li").length === 3 && document.querySelector("dialog button[type=submit]").disabled`))
	b.look("import")
	if n := notes(); n != 0 {
		t.Errorf("a preview stored %d messages", n)
	}
	b.step("one is remembered", chromedp.SetValue(`dialog select`, "Nora", chromedp.ByQuery), chromedp.Evaluate(`document.querySelector("dialog select").dispatchEvent(new Event("change", {bubbles: true}))`, nil),
		dialogButton("Import"), gone(`//dialog`), eventually(`document.querySelector("main").innerText.includes("The new shelf") && !document.querySelector(".working")`))
	b.look("imported")
	first := notes()
	if first != 4 {
		t.Errorf("%d messages were imported", first)
	}
	b.step("again", inHead("Add"), button("A file"), choose(chat), text("Who is remembered?"), chromedp.SetValue(`dialog select`, "Nora", chromedp.ByQuery), chromedp.Evaluate(`document.querySelector("dialog select").dispatchEvent(new Event("change", {bubbles: true}))`, nil),
		dialogButton("Import"), gone(`//dialog`), eventually(`!document.querySelector(".working")`))
	if n := notes(); n != first {
		t.Errorf("%d messages became %d", first, n)
	}

	document := filepath.Join(t.TempDir(), "mill.csv")
	if err := os.WriteFile(document, []byte("part,color\nvalve,green\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b.step("a document is kept in passages", inHead("Add"), button("A file"), choose(document), text("kept in passages"), dialogButton("Import"), gone(`//dialog`), eventually(`!document.querySelector(".working")`))
	b.look("import-document")
	if files := g.send(t, http.MethodGet, "/v1/collections/"+c+"/files", nil)["items"].([]any); len(files) != 1 || files[0].(map[string]any)["name"] != "mill.csv" {
		t.Errorf("the files are %v", files)
	}
	b.done()
}
