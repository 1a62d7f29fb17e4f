package console_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A person talks with a memory, with and without a model, stops a model that is slow, and sees what a prompt
// would get and what each part of it costs.
func TestConsoleTalk(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{}, 2)
	left := func(what string) {
		select {
		case <-gone:
		case <-time.After(limit):
			t.Fatal("the model is still at work after " + what)
		}
	}
	g := start(t, "models:", "  slow: {provider: openai, base_url: "+slowModel(t, gone)+"/v1, model: slow}")
	b := open(t, g)

	c := g.post(t, "/v1/collections", map[string]any{"name": "talk", "policy": "mem0"})["id"].(string)
	g.post(t, "/v1/collections/"+c+"/messages?wait=evolved", map[string]any{"messages": []map[string]any{
		{"role": "user", "content": "I live in Oslo. I like dark tea.", "name": "Nora"}, {"role": "assistant", "content": "Noted."}}})
	b.step("sign in", chromedp.Navigate(g.url+"/console#key="+g.key), text("talk"))

	b.step("nothing was said yet", chromedp.Navigate(g.url+"/console#/c/"+c+"/chat"), text("Talk with this memory"))
	b.look("chat-empty")
	b.step("without a model memory is quoted", ask("Where does Nora live?"), text("without a model"), text("[1]"),
		eventually(`document.querySelector(".answer").innerText.includes("Oslo")`))
	b.step("a mark opens its note", eventually(fmt.Sprintf(`document.querySelector("a.mark").hash.startsWith("#/c/%s/notes/")`, c)))
	b.look("chat")
	opened := `document.querySelector(".cited")?.innerText.match(/Oslo|tea/) && document.activeElement === document.querySelector(".cited h2") && document.querySelector("a.mark").ariaExpanded === "true"`
	b.step("beside the answer", click(`a.mark`), eventually(opened), eventually(`location.hash.endsWith("/chat") && document.querySelector(".turn") !== null`))
	b.look("chat-source")
	b.step("from which Escape leads back", chromedp.KeyEvent(kb.Escape), eventually(`!document.querySelector(".cited") && document.activeElement === document.querySelector("a.mark")`))
	b.step("by keys alone", chromedp.KeyEvent("\r"), eventually(opened), chromedp.KeyEvent("\t\r"), eventually(`!document.querySelector(".cited") && document.activeElement === document.querySelector("a.mark")`))
	b.step("the conversation is there after a look elsewhere", link("Notes"), text("live in Oslo"), link("Chat"), text("Where does Nora live?"))
	b.step("the context of the question", click(`//a[normalize-space()="See its context"]`), text("of 2,000"),
		eventually(`document.querySelectorAll(".budget rect.hue0").length === 2 && document.querySelector("pre.prompt a.mark") && location.hash.includes("q=Where+does+Nora+live")`))
	b.look("context")
	b.step("as the messages of a request", button("Copy as system message"), text("Copied"))
	garden := g.post(t, "/v1/collections", map[string]any{"name": "garden", "policy": "none"})["id"].(string)
	var plants strings.Builder
	for n := range 40 {
		fmt.Fprintf(&plants, "{\"content\":\"Nora keeps plant number %d of her garden in the shade of the old wall by the river.\"}\n", n)
	}
	g.lines(t, "/v1/collections/"+garden+"/notes/bulk", plants.String())
	b.step("two budgets side by side", chromedp.Navigate(g.url+"/console#/c/"+garden+"/context?q=Which+plants+does+Nora+keep"), text("of 2,000"),
		chromedp.SetValue(`//main//label[contains(., "Beside")]/select`, "250"), eventually(`location.hash.includes("beside=250") && document.querySelectorAll(".two .budget").length === 2`),
		eventually(`document.querySelector(".two h2").innerText === "250 tokens" && document.querySelectorAll('[aria-label="What 2,000 tokens add"] a').length > 5`), text("plant number 1"))
	b.look("context-two")
	var cited string
	b.step("an answer is found again", chromedp.Navigate(g.url+"/console#/c/"+c+"/chat"), text("Where does Nora live?"), chromedp.Evaluate(`document.querySelector("a.mark").hash.split("/")[4]`, &cited))
	g.send(t, http.MethodPatch, "/v1/collections/"+c+"/notes/"+cited, map[string]any{"content": "Nora lives in Rome."})
	b.step("as it was, with a word when it has changed", click(`a.mark`), text("It says something else by now."), eventually(opened))
	b.step("and leads to the note", click(`//aside//a[normalize-space()="Open the note"]`), text("Nora lives in Rome."), text("History"), link("Chat"), text("Where does Nora live?"), eventually(`!document.querySelector(".cited")`))
	b.step("a question without an answer says so", chromedp.Navigate(g.url+"/console#/c/"+c+"/context"), text("What a prompt would get"))
	b.look("context-empty")

	slow := g.post(t, "/v1/collections", map[string]any{"name": "slow", "policy": "amem", "policy_config": map[string]any{"model": "slow"}})["id"].(string)
	g.post(t, "/v1/collections/"+slow+"/notes", map[string]any{"content": "Nora lives in Oslo.", "keywords": []string{"Oslo"}, "tags": []string{"home"}, "context": "Where Nora lives."})
	b.step("a model answers piece by piece", chromedp.Navigate(g.url+"/console#/c/"+slow+"/chat"), text("Talk with this memory"), watchShifts(),
		ask("Where does Nora live, quickly?"), text("In Oslo [1], as far as I know."), eventually(`[...document.querySelectorAll(".answer span")].some(s => s.textContent === "slow")`))
	b.step("a slow one is stopped, and what had come stays", ask("Where does Nora live?"),
		eventually(`document.querySelectorAll(".answer").length === 2 && document.querySelectorAll(".answer")[1].innerText.includes("In Oslo [1], as")`),
		eventually(`document.querySelector("[role=log]").ariaBusy === "true"`))
	b.look("chat-slow")
	b.step("stop", button("Stop"), text("What had come is not stored"), text("Ask again"), steady())
	left("a stop")
	b.step("a second question is not held up, and the Enter key asks it", button("New conversation"), text("Talk with this memory"), field("Ask this memory", "Where, quickly?\r"), text("as far as I know"))
	b.step("with Shift it begins a line", field("Ask this memory", "Where"), chromedp.KeyEvent("\r", chromedp.KeyModifiers(input.ModifierShift)), chromedp.KeyEvent("exactly?"),
		eventually(`document.querySelector("textarea").value === "Where\nexactly?"`), eventually(`document.querySelectorAll(".turn").length === 1`))

	b.step("a model that fails says what to do", ask("Break, please."), chromedp.WaitVisible(`.turn .problem`, chromedp.ByQuery))

	b.step("who signs out while an answer comes", button("New conversation"), text("Talk with this memory"), ask("Where does Nora live?"), text("In Oslo [1], as"),
		click(`//header//button[normalize-space()="Sign out"]`), text("API key or token"))
	left("the sign-out")

	b.step("a chat whose key is revoked", chromedp.Navigate(g.url+"/console#key="+g.key), text("slow"), chromedp.Navigate(g.url+"/console#/c/"+slow+"/chat"), text("Talk with this memory"),
		field("Ask this memory", "Where does Nora live?"))
	g.revoke(t)
	// What the page reads by itself may find it out before the question does.
	b.step("leads back to the sign-in", eventually(`document.body.innerText.includes("Sign in again") ||
		([...document.querySelectorAll("button")].find(b => b.textContent.trim() === "Ask")?.click(), false)`))
	b.done()
}

// slowModel is a model that answers a question that has "quickly" in it, fails on one with "Break", and begins to
// answer others and does not go on until the caller leaves, of which it tells `left` if that is not nil.
func slowModel(t *testing.T, left chan<- struct{}) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		question := string(body[max(0, strings.LastIndex(string(body), `"user"`)):])
		if err != nil || strings.Contains(question, "Break") || !strings.Contains(string(body), `"stream":true`) {
			http.Error(w, `{"error":{"message":"broken"}}`, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		say := func(text string) {
			_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n", text)
			w.(http.Flusher).Flush()
		}
		say("In Oslo [1], ")
		say("as ")
		if !strings.Contains(question, "quickly") {
			<-r.Context().Done()
			if left != nil {
				left <- struct{}{}
			}
			return
		}
		say("far as I know.")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":900,"completion_tokens":12,"total_tokens":912}}`+"\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// ask asks a memory in its chat.
func ask(question string) chromedp.Action {
	return chromedp.Tasks{field("Ask this memory", question), button("Ask")}
}
