// Package console_test uses the web console as a person does: in a headless Chromium, against a real
// gateway. It is a module of its own, so that the driver of the browser is no dependency of the gateway.
//
// It reads
//
//	GATEWAY        the gateway's binary; default: built from this tree
//	CHROMIUM       the browser; default: what scripts/install-browser.sh prints
//	SCREENSHOTS    a folder: each view is saved into it, in four widths and both themes
//	CONSOLE_NOTES  how many notes the largest collection has; default: 5,001
package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// hostile is a note that tries to be more than text.
const hostile = "<script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\"> \u202Eevil\u202C javascript:alert(1)"

// A person signs in by the link, adds, searches with why, corrects, is told of a conflict, restores, forks,
// renames and deletes. Nothing on the way is an error of the page, leaves the origin, or is hard to reach.
func TestConsole(t *testing.T) {
	t.Parallel()
	g := start(t)
	b := open(t, g)

	var said string
	b.step("without JavaScript the page says what it needs", emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(g.url+"/console"),
		chromedp.Text(`body`, &said, chromedp.ByQuery), emulation.SetScriptExecutionDisabled(false))
	if !strings.Contains(said, "needs JavaScript") || !strings.Contains(said, "its reference") {
		t.Errorf("without JavaScript the page says %q", said)
	}
	b.step("the root leads to the console", chromedp.Navigate(g.url+"/"), text("Sign in"))
	b.look("signin")
	b.step("a wrong key is refused", chromedp.SendKeys(`input[name="key"]`, "sb_live_wrong\r", chromedp.ByQuery), text("Sign in with another one"))
	b.step("the link signs in, and its key leaves the address",
		chromedp.Navigate(g.url+"/console#key="+g.key), text("Nothing is remembered yet"), eventually(`location.hash === "" && !document.body.innerHTML.includes("sb_live_")`))
	var painted, loaded float64
	b.step("the first paint", chromedp.Reload(), text("Nothing is remembered yet"), eventually(`performance.getEntriesByName("first-contentful-paint").length > 0`), chromedp.Evaluate(`performance.getEntriesByName("first-contentful-paint")[0].startTime`, &painted),
		chromedp.Evaluate(`[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource").filter(r => r.name.includes("/console/"))].reduce((sum, r) => sum + r.encodedBodySize, 0)`, &loaded))
	t.Logf("first contentful paint after %.0f ms; page, script and style have %.0f kB compressed", painted, loaded/1000)
	b.look("start")

	b.step("a note is added from nothing",
		button("Add a note"), field("Note", "Nora moved to Oslo in March, and likes dark tea."), button("Add"), text("Nora moved to Oslo"))
	b.step("the focus is in the page after a dialog", gone(`//dialog`), eventually(`document.activeElement !== document.body`))
	id := g.collection(t, "first")
	g.post(t, "/v1/collections/"+id+"/notes?wait=evolved", map[string]any{"content": "Nora teaches pottery in a studio in Oslo."})
	g.post(t, "/v1/collections/"+id+"/notes?wait=evolved", map[string]any{"content": "The kiln of the studio reaches 1280 degrees."})
	g.post(t, "/v1/collections/"+id+"/notes?wait=evolved", map[string]any{"content": hostile})
	g.post(t, "/v1/collections/"+id+"/notes", map[string]any{"content": "?! …"})
	g.post(t, "/v1/collections/"+id+"/notes", map[string]any{"content": strings.Repeat("long ", 13_000)})
	b.step("what others add is there after a reload", chromedp.Reload(), text("1280 degrees"), text("⟨U+202E⟩evil"), text("65,000 characters"))
	b.step("notes are text", eventually(`!document.querySelector("main script, main img") && document.title === "first · slipbox"`))
	b.look("notes")

	b.step("a search says why",
		link("Search"), field("Search this memory", "who likes dark tea\r"), text("Why"),
		click(`details.why summary`), text("adds to the score"), eventually(`document.querySelector(".hits .row").innerText.includes("has words of the question") || document.querySelector(".hits .row").innerText.includes("means the same")`),
		eventually(`document.querySelectorAll(".bars rect").length > 1 && location.hash.includes("q=who+likes+dark+tea")`))
	b.look("search")

	b.step("a note is opened and corrected",
		click(`.cover`), text("History"), text("Stored"), button("Correct"),
		field("Content", "Nora moved to Rome in May, and likes dark tea."), button("Save"), text("corrected"), text("content before"))
	b.step("the difference shows the words that changed", eventually(`[...document.querySelectorAll(".sides del")].some(d => d.textContent.includes("Oslo")) && [...document.querySelectorAll(".sides ins")].some(d => d.textContent.includes("Rome"))`))
	b.settle()
	b.look("note")

	note := b.hash(3)
	b.step("somebody else is faster", button("Correct"), field("Content", "Nora moved to Paris."))
	path := "/v1/collections/" + id + "/notes/" + note
	g.send(t, http.MethodPatch, path, map[string]any{"content": "Nora moved to Bergen in May."})
	until(t, "the policy has worked on it", func() bool { return g.send(t, http.MethodGet, path, nil)["state"] == "evolved" })
	b.step("the page says what to do, and shows what it says now beside what was typed", button("Save"), text("Somebody else changed the note"), button("See what it says now"),
		eventually(`document.querySelector("dialog .sides")?.innerText.includes("Bergen")`), eventually(`document.querySelector("dialog textarea").value === "Nora moved to Paris."`))
	b.look("overtaken")
	b.step("what is saved then replaces it", button("Save"), gone(`//dialog`), text("content before"), eventually(`document.querySelector(".content")?.textContent.includes("Paris")`))
	b.settle()

	b.step("a version is restored", click(`//li[.//strong[normalize-space()="added"]]//button[normalize-space()="Restore"]`), text("restored"), gone(`//dialog`),
		eventually(`document.querySelector(".content")?.textContent.includes("Oslo in March")`))
	b.step("a note is deleted, and restored from its history", button("Delete note"), dialogButton("Delete"), text("This note is deleted"))
	b.look("deleted")
	b.step("restore", click(`(//section[contains(@class,"history")]//button[normalize-space()="Restore"])[1]`), gone(`//p[contains(., "This note is deleted")]`), text("Correct"))

	b.step("the collection is forked", inHead("Fork"), field("Name of the fork", "what-if"), dialogButton("Fork"), text("fork of"), eventually(`document.querySelector('#tree li[data-depth="1"] a')?.textContent.includes("what-if")`))
	b.look("fork")
	b.step("the fork is renamed", inHead("Rename"), field("Title", "what-then"), dialogButton("Rename"), gone(`//dialog`), text("what-then"))
	b.step("the base says that a fork reads from it", click(`//nav[@id="tree"]//a[contains(., "first")]`), opened("first"), inHead("Delete"), text("1 fork reads from it"))
	b.look("delete")
	b.step("the dialog closes by the keyboard", chromedp.KeyEvent("\u001b"), gone(`//dialog`))
	b.step("the fork is deleted after its name was typed", click(`//nav[@id="tree"]//a[contains(., "what-then")]`), opened("what-then"), inHead("Delete"),
		field("Type what-if to confirm", "what-if"), dialogButton("Delete"), text("Your memories"), gone(`//nav[@id="tree"]//a[contains(., "what-then")]`))

	b.step("a note is erased after it was said what goes with it", chromedp.Navigate(g.url+"/console#/c/"+id+"/notes/"+note), button("Delete note"),
		click(`//dialog//label[contains(., "Erase it")]`), text("This cannot be undone"))
	b.look("erase")
	b.step("it may be deleted first", click(`//dialog//label[contains(., "Erase it")]`), dialogButton("Delete"), gone(`//dialog`), text("This note is deleted"), button("Erase note"), text("This cannot be undone"))
	b.look("erase-deleted")
	b.step("what was erased is said", dialogButton("Erase"), text("Erased 1 note with"), gone(`//dialog`), eventually(`location.hash.endsWith("/notes")`), gone(`//*[contains(@class,"cover")][contains(., "Nora moved")]`))

	facts := g.post(t, "/v1/collections", map[string]any{"name": "graph", "policy": "mem0g"})["id"].(string)
	g.post(t, "/v1/collections/"+facts+"/messages?wait=evolved", map[string]any{"messages": []map[string]any{{"role": "user", "content": "I live in Oslo. I work at Acme.", "name": "Nora"}, {"role": "assistant", "content": "Noted."}}})
	b.step("jobs are listed", chromedp.Navigate(g.url+"/console#/c/"+facts+"/jobs"), text("done"))
	b.look("jobs")
	b.step("facts without a time are shown as sentences, and what the others need is said", link("Facts"), text("need a model"), eventually(`[...document.querySelectorAll(".sentences .cover")].some(a => a.innerText.includes("Oslo"))`))
	layered := g.post(t, "/v1/collections", map[string]any{"name": "layers", "policy": "layered"})["id"].(string)
	g.post(t, "/v1/collections/"+layered+"/messages?wait=evolved", map[string]any{"messages": []map[string]any{{"role": "user", "content": "I live in Oslo.", "name": "Nora"}}})
	b.step("facts have the time in which they are true", chromedp.Navigate(g.url+"/console#/c/"+layered+"/facts"), button("Table"), text("Subject"), text("until"))
	b.look("facts")
	fact := g.send(t, http.MethodGet, "/v1/collections/"+facts+"/notes?kind=fact", nil)["items"].([]any)[0].(map[string]any)["id"].(string)
	b.step("a fact leads to what was said", chromedp.Navigate(g.url+"/console#/c/"+facts+"/notes/"+fact), text("Sources"),
		click(`//dd//a[contains(., "I live in Oslo. I work at Acme.")]`), text("message"))
	b.step("nothing waits for a decision", link("Reviews"), text("Nothing to decide"))
	b.look("reviews")
	b.step("a search without an answer says so", chromedp.Navigate(g.url+"/console#/c/"+facts+"/search?q=zzzzqqqq&mode=lexical"), text("Nothing is found"))
	b.step("what is missing is said", chromedp.Navigate(g.url+"/console#/c/gone/notes"), text("It was deleted, or belongs to another agent"))
	b.look("missing")

	g.revoke(t)
	b.step("a key that is revoked leads back to the sign-in", chromedp.Navigate(g.url+"/console#/c/"+id+"/notes"), text("Sign in again"))
	b.done()
}

// gateway is a running gateway with a tenant of its own.
type gateway struct {
	url, key, admin string

	binary, addr, data, config string
	process                    *exec.Cmd
	output                     bytes.Buffer
}

// built is the folder of the gateway that binary builds.
var built string

// binary returns the path of the gateway. It is built once for all tests.
var binary = sync.OnceValue(func() string {
	if path := os.Getenv("GATEWAY"); path != "" {
		return path
	}
	path := filepath.Join(built, "gateway")
	if out, err := exec.Command("go", "build", "-C", "../..", "-o", path, "./cmd/gateway").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("%v: %s", err, out))
	}
	return path
})

func TestMain(m *testing.M) {
	var err error
	if built, err = os.MkdirTemp("", "console"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(built)
	os.Exit(code)
}

// start starts a gateway, with lines for its settings file.
func start(t *testing.T, settings ...string) *gateway {
	t.Helper()
	g := &gateway{binary: binary(), addr: freeAddr(t), data: t.TempDir()}
	g.config = filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(g.config, []byte(strings.Join(settings, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	g.url = "http://" + g.addr
	t.Cleanup(func() {
		g.stop()
		if t.Failed() {
			t.Logf("the gateway:\n%s", g.output.String())
		}
	})
	g.serve(t)
	command(t, g.binary, "tenant", "create", "people", "--data", g.data)
	g.admin = command(t, g.binary, "key", "create", "--tenant", "people", "--data", g.data)
	g.key = command(t, g.binary, "key", "create", "--tenant", "people", "--data", g.data)
	return g
}

// freeAddr returns a free address of the loopback device. Its port is below those that systems give to clients, so that nothing else has
// it before the gateway has, nor while one is started again.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 20_000+rand.IntN(10_000))
		if l, err := net.Listen("tcp", addr); err == nil {
			_ = l.Close()
			return addr
		}
	}
	t.Fatal("no free port")
	return ""
}

// serve starts the process, and waits until it is ready.
func (g *gateway) serve(t *testing.T) {
	t.Helper()
	g.process = exec.Command(g.binary, "serve", "--config", g.config, "--addr", g.addr, "--data", g.data, "--log-level", "warn")
	g.process.Stdout, g.process.Stderr = &g.output, &g.output
	if err := g.process.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, "the gateway is ready", func() bool {
		resp, err := http.Get(g.url + "/readyz")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	})
}

// until asks again and again until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	again, over := time.NewTicker(pulse), time.After(limit)
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-over:
			t.Fatalf("it never holds that %s", what)
		}
	}
}

// stop ends the process, and waits until it is gone.
func (g *gateway) stop() {
	if g.process != nil && g.process.ProcessState == nil {
		_ = g.process.Process.Signal(os.Interrupt)
		_ = g.process.Wait()
	}
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, problems.String())
	}
	return strings.TrimSpace(string(out))
}

func (g *gateway) send(t *testing.T, method, path string, body any) map[string]any {
	t.Helper()
	var content []byte
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		content = encoded
	}
	out := map[string]any{}
	if answer := g.exchange(t, method, path, "application/json", content); len(answer) > 0 {
		if err := json.Unmarshal(answer, &out); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// lines posts lines of JSON.
func (g *gateway) lines(t *testing.T, path, body string) {
	t.Helper()
	g.exchange(t, http.MethodPost, path, "application/x-ndjson", []byte(body))
}

func (g *gateway) exchange(t *testing.T, method, path, mediaType string, body []byte) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, g.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+g.admin)
	req.Header.Set("Content-Type", mediaType)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, answer, err)
	}
	return answer
}

func (g *gateway) post(t *testing.T, path string, body any) map[string]any {
	t.Helper()
	return g.send(t, http.MethodPost, path, body)
}

// collection returns the id of the collection of a name.
func (g *gateway) collection(t *testing.T, name string) string {
	t.Helper()
	return g.send(t, http.MethodGet, "/v1/collections/"+name, nil)["id"].(string)
}

// revoke revokes the key that the browser has.
func (g *gateway) revoke(t *testing.T) {
	t.Helper()
	for _, item := range g.send(t, http.MethodGet, "/v1/api-keys", nil)["items"].([]any) {
		key := item.(map[string]any)
		if prefix, _ := key["prefix"].(string); prefix != "" && strings.HasPrefix(g.key, prefix) || strings.Contains(g.key, strings.ReplaceAll(fmt.Sprint(key["id"]), "-", "")) {
			g.post(t, "/v1/api-keys/"+key["id"].(string)+"/revoke", map[string]any{})
			return
		}
	}
	t.Fatal("the key of the browser is not listed")
}

// browser is a tab, and what went wrong in it.
type browser struct {
	t    *testing.T
	ctx  context.Context // a tab is its context
	axe  string
	shot string

	looks    int
	mu       sync.Mutex
	problems []string
}

// limit is how long one step may take. It is long, because nothing waits for it that does not fail.
const limit = 5 * time.Minute

// pulse is how often what is waited for is looked at.
const pulse = 20 * time.Millisecond

func open(t *testing.T, g *gateway) *browser {
	t.Helper()
	path := os.Getenv("CHROMIUM")
	if path == "" {
		path = command(t, "../../scripts/install-browser.sh")
	}
	modules := command(t, "../../scripts/install-clients.sh", "./console")
	axe, err := os.ReadFile(filepath.Join(modules, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		t.Fatal(err)
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, // its folder is removed when it has ended
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.WindowSize(1400, 900), chromedp.WSURLReadTimeout(limit))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	// The driver reports events that it does not know; what matters of the page is listened to below.
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx, axe: string(axe), shot: os.Getenv("SCREENSHOTS")}
	if b.shot != "" {
		if err := os.MkdirAll(b.shot, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *runtime.EventExceptionThrown:
			b.problem("exception: " + e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
				for _, arg := range e.Args {
					b.problem(fmt.Sprintf("console: %s %s %s", e.Type, arg.Value, arg.Description))
				}
			}
		case *log.EventEntryAdded:
			// An answer of 401, 404 or 412 is logged by the browser, and shown by the page.
			if e.Entry.Level == log.LevelError && e.Entry.Source != log.SourceNetwork {
				b.problem(fmt.Sprintf("log: %s %s", e.Entry.Source, e.Entry.Text))
			}
		case *network.EventRequestWillBeSent:
			if u := e.Request.URL; !strings.HasPrefix(u, g.url+"/") && !strings.HasPrefix(u, "data:") {
				b.problem("a foreign request: " + u)
			}
		}
	})
	if err := chromedp.Run(ctx, network.Enable(), log.Enable(), runtime.Enable()); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *browser) problem(what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = append(b.problems, what)
}

// step does one thing, and fails with what the page shows.
func (b *browser) step(what string, actions ...chromedp.Action) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		var page string
		short, cancel := context.WithTimeout(b.ctx, 5*time.Second)
		defer cancel()
		_ = chromedp.Run(short, chromedp.Evaluate(`location.href + "\n" + document.body.innerText`, &page))
		b.t.Fatalf("%s: %v\nthe page:\n%s\n%v", what, err, page, b.problems)
	}
}

// settle waits until the policy has worked on what was written.
func (b *browser) settle() {
	b.t.Helper()
	b.step("the policy has worked on it", eventually(`!document.querySelector(".working")`))
}

// hash returns a part of the address after its #.
func (b *browser) hash(part int) string {
	b.t.Helper()
	var hash string
	b.step("the address", chromedp.Evaluate(`location.hash.split("?")[0]`, &hash))
	return strings.Split(strings.TrimPrefix(hash, "#/"), "/")[part]
}

// look has axe look at a view, and checks that nothing is wider than the window. The widths and themes take
// turns; with SCREENSHOTS each view is looked at in all of them.
func (b *browser) look(view string) {
	b.t.Helper()
	widths, themes := []int64{400, 768, 1440, 2560}, []string{"light", "dark"}
	if b.shot == "" {
		widths, themes = widths[b.looks/2%4:][:1], themes[b.looks%2:][:1]
	}
	b.looks++
	for _, width := range widths {
		for _, theme := range themes {
			b.lookAt(view, width, theme)
		}
	}
	b.step("nothing is wider than a small phone", size(320, "light"), eventually(`document.documentElement.scrollWidth <= document.documentElement.clientWidth`))
	b.step("the usual size", size(1400, "light"))
}

func (b *browser) lookAt(view string, width int64, theme string) {
	b.t.Helper()
	var found []string
	name := fmt.Sprintf("%s, %d, %s", view, width, theme)
	b.step("look at "+name, size(width, theme), chromedp.ActionFunc(b.loadAxe),
		chromedp.Evaluate(`axe.run(document, {resultTypes: ["violations"]}).then(r => r.violations
			.map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + " " + n.failureSummary).join(" | ")))`, &found,
			func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }),
		eventually(`document.documentElement.scrollWidth <= document.documentElement.clientWidth`), columns)
	if len(found) > 0 {
		b.t.Errorf("%s: %s", name, strings.Join(found, "\n"))
	}
	if b.shot == "" {
		return
	}
	var picture []byte
	b.step("a picture", chromedp.CaptureScreenshot(&picture))
	if err := os.WriteFile(filepath.Join(b.shot, fmt.Sprintf("%s-%d-%s.png", view, width, theme)), picture, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// columns fails when a column is too narrow for what is in it, or when a part of a field is below its label where each row is a card.
var columns = chromedp.Tasks{
	eventually(`[...document.querySelectorAll("main tbody td, .days > li > *")].every(cell => cell.scrollWidth <= cell.clientWidth)`),
	eventually(`[...document.querySelectorAll("main .stacked td")].every(cell => {
		const label = getComputedStyle(cell, "::before")
		const left = cell.getBoundingClientRect().left + (label.content === "none" ? 0 : parseFloat(label.width))
		return [...cell.children].every(child => child.getClientRects().length === 0 || child.getBoundingClientRect().left >= left)
	})`),
}

// loadAxe brings axe into the page, unless it is there: a step to another view keeps it.
func (b *browser) loadAxe(ctx context.Context) error {
	var there bool
	if err := chromedp.Evaluate(`"axe" in window`, &there).Do(ctx); err != nil || there {
		return err
	}
	return chromedp.Evaluate(b.axe, nil).Do(ctx)
}

func (b *browser) done() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.problems) > 0 {
		b.t.Errorf("the page had problems:\n%s", strings.Join(b.problems, "\n"))
	}
}

func size(width int64, theme string) chromedp.Action {
	return chromedp.Tasks{
		emulation.SetDeviceMetricsOverride(width, 900, 1, false),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}),
	}
}

// text waits until the page shows a text.
func text(want string) chromedp.Action {
	return eventually(fmt.Sprintf(`document.body.innerText.includes(%q)`, want))
}

// opened waits until a collection is open: what is left of the one before would be clicked in vain.
func opened(title string) chromedp.Action {
	return eventually(fmt.Sprintf(`document.querySelector("main .head h1")?.textContent === %q`, title))
}

// eventually waits until a condition holds, also while the page is loaded again: what was asked of the page before is refused
// then, and asked of the new one. A condition that throws reads what is not in the page yet.
func eventually(condition string) chromedp.Action {
	poll := chromedp.Poll(fmt.Sprintf(`(() => { try { return (%s) } catch { return false } })()`, condition), nil, chromedp.WithPollingInterval(pulse), chromedp.WithPollingTimeout(limit))
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for {
			err := poll.Do(ctx)
			if ctx.Err() == nil && left(err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("it never holds that %s: %w", condition, err)
			}
			return nil
		}
	})
}

// left reports whether an error says that the page was left while it was asked.
func left(err error) bool {
	const contextGone = -32000 // the browser's code
	refused, ok := errors.AsType[*cdproto.Error](err)
	return ok && refused.Code == contextGone
}

// watchShifts begins to add up how far things move that nobody asked to move. Each move is a problem of the page, too. The browser also
// reports a move of less than a pixel, whose rectangles are the same before and after: nobody sees it.
func watchShifts() chromedp.Action {
	return chromedp.Evaluate(`window.shifts = 0; window.watching?.disconnect(); window.watching = new PerformanceObserver(list => {
		for (const e of list.getEntries()) {
			const still = s => ["x", "y", "width", "height"].every(side => s.previousRect[side] === s.currentRect[side])
			if (e.hadRecentInput || e.sources.length && e.sources.every(still)) continue
			window.shifts += e.value
			console.warn("moved: " + e.value + " " + e.sources.map(s => (s.node?.outerHTML ?? s.node?.parentElement?.outerHTML ?? "").slice(0, 200) + JSON.stringify([s.previousRect, s.currentRect])).join(" | "))
		}
	}); watching.observe({type: "layout-shift"})`, nil)
}

// steady fails if something has moved since watchShifts.
func steady() chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		var shifts float64
		if err := chromedp.Evaluate(`window.shifts`, &shifts).Do(ctx); err != nil || shifts == 0 {
			return err
		}
		return fmt.Errorf("things have moved by %g", shifts)
	})
}

func gone(xpath string) chromedp.Action { return chromedp.WaitNotPresent(xpath) }

// click clicks an element, and again when the page moved it away from under the click.
func click(target string) chromedp.Action {
	find, query := fmt.Sprintf(`document.querySelector(%q)`, target), chromedp.ByQuery
	if strings.HasPrefix(strings.TrimLeft(target, "("), "/") {
		find, query = fmt.Sprintf(`document.evaluate(%q, document, null, XPathResult.FIRST_ORDERED_NODE_TYPE).singleNodeValue`, target), chromedp.BySearch
	}
	// Where the element that was pressed is gone before it is let go, there is no click.
	try := chromedp.Tasks{
		chromedp.WaitVisible(target, query),
		chromedp.Evaluate(fmt.Sprintf(`window.landed = undefined
			addEventListener("click", e => { landed = %s?.contains(e.target) ?? false }, {capture: true, once: true})
			addEventListener("pointerup", () => setTimeout(() => { landed ??= false }), {capture: true, once: true})`, find), nil),
		chromedp.Click(target, query),
	}
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for {
			var landed string
			err := try.Do(ctx)
			if err == nil {
				err = chromedp.Poll(`"landed" in window ? String(landed ?? "") : "on another page"`, &landed, chromedp.WithPollingInterval(pulse), chromedp.WithPollingTimeout(limit)).Do(ctx)
				if left(err) { // the click has led to another page
					return nil
				}
			} else if left(err) && ctx.Err() == nil { // before the click: the page was loaded again
				continue
			}
			if err != nil || landed != "false" {
				return err
			}
		}
	})
}

// again does something until a condition holds, where the page may not hear it the first time.
func again(action chromedp.Action, condition string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		for {
			err := chromedp.Tasks{action, chromedp.Poll(condition, nil, chromedp.WithPollingInterval(pulse), chromedp.WithPollingTimeout(10*time.Second))}.Do(ctx)
			if !errors.Is(err, chromedp.ErrPollingTimeout) {
				return err
			}
		}
	})
}

// button clicks a button when it can be used: a click before that does nothing.
func button(name string) chromedp.Action {
	return click(fmt.Sprintf(`//dialog//button[normalize-space()=%[1]q and not(@disabled)] | //main//button[normalize-space()=%[1]q and not(@disabled) and not(//dialog)]`, name))
}

func dialogButton(name string) chromedp.Action {
	return click(fmt.Sprintf(`//dialog//button[normalize-space()=%q and not(@disabled)]`, name))
}

// inHead opens a dialog of the collection.
func inHead(name string) chromedp.Action {
	return chromedp.Tasks{click(fmt.Sprintf(`//div[@class="head"]//button[normalize-space()=%q]`, name)), chromedp.WaitVisible(`//dialog`)}
}

func link(name string) chromedp.Action {
	return click(fmt.Sprintf(`//nav[@class="tabs"]//a[normalize-space()=%q]`, name))
}

// field replaces the value of a field, by its label. A return at its end submits.
func field(label, value string) chromedp.Action {
	target := fmt.Sprintf(`//*[(self::input or self::textarea) and (@aria-label=%[1]q or @id=//label[normalize-space()=%[1]q]/@for)]`, label)
	return chromedp.Tasks{chromedp.WaitVisible(target), chromedp.ActionFunc(func(ctx context.Context) error {
		return chromedp.Tasks{
			chromedp.Focus(target), chromedp.Evaluate(`document.activeElement.select()`, nil), chromedp.SendKeys(target, value),
		}.Do(ctx)
	})}
}
