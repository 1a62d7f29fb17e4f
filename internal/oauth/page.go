package oauth

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
)

// style is the look of the pages, with the colors of the console.
//
//go:embed page.css
var style string

// stylePolicy allows exactly that style.
var stylePolicy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}()

// write answers with a page. forms are where its form may lead: a browser checks each redirect that follows, too, so of the program
// only the scheme is named.
func write(w http.ResponseWriter, status int, title, body, forms string) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src "+stylePolicy+"; form-action "+forms+"; frame-ancestors 'none'; base-uri 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cache-Control", "no-store")
	// So that the browser says with the form where it comes from. The address, with what the program has sent, goes to no other site.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><title>%s</title><style>%s</style></head>
<body><main>%s</main></body>
</html>
`, esc(title), style, body)
}

func esc(text string) string { return html.EscapeString(text) }

// showError says what is wrong, where there is no program to go back to.
func showError(w http.ResponseWriter, status int, text string) {
	write(w, status, "Cannot connect · slipbox", `<h1>This program cannot be connected</h1><p>`+esc(text)+`</p><p class="soft">Nothing was allowed. You can close this page.</p>`, "'none'")
}

// showRefusal says what a program has asked for wrongly, with a link back to it. The browser does not go there by itself: everybody
// can register a program, and would have an address here that leads to any other.
func showRefusal(w http.ResponseWriter, a *authorization, no refusal, back string) {
	write(w, http.StatusBadRequest, "Cannot connect · slipbox", `<h1>This program cannot be connected</h1><p>`+esc(a.name())+` has asked for something that is not possible here: `+
		esc(no.description)+` (<code>`+esc(no.code)+`</code>).</p><p><a href="`+esc(back)+`" rel="noreferrer">Go back to `+a.place()+`</a></p>`, "'none'")
}

// name is what the program calls itself.
func (a *authorization) name() string {
	if a.client.Name == "" {
		return "A program without a name"
	}
	return a.client.Name
}

// place is where the program is answered, as markup.
func (a *authorization) place() string {
	u, err := url.Parse(a.redirect)
	switch {
	case err != nil:
		return "the program"
	case u.Scheme == "http":
		return "a program on this computer"
	case u.Scheme != "https":
		return `the program that opens <bdi>` + esc(u.Scheme) + `:</bdi>`
	}
	return `<bdi>` + esc(u.Host) + `</bdi>`
}

// showPage asks for consent.
func showPage(w http.ResponseWriter, status int, c *consent) {
	scheme, _, _ := strings.Cut(c.redirect, ":")
	write(w, status, "Connect "+c.name()+" · slipbox", c.markup(), "'self' "+strings.ToLower(scheme)+":")
}

func (c *consent) markup() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<h1>Let <bdi>%s</bdi> use your memory?</h1>
<p>What you allow goes to <strong>%s</strong>. The name is its own word: continue only if you have just asked it to connect to this slipbox.</p>
<form method="post" autocomplete="off">
<input type="hidden" name="nonce" value="%s">
`, esc(c.name()), c.place(), esc(c.Nonce))
	if c.Problem != "" && c.Field == "" {
		fmt.Fprintf(&b, `<p class="bad" role="alert">%s</p>`, esc(c.Problem))
	}
	fmt.Fprintf(&b, `<div class="field"><label for="key">Your API key</label>
<input id="key" name="key" type="password" required autocomplete="off" spellcheck="false" autocapitalize="off"%s>
%s<p class="hint" id="key-hint">The program does not get the key. What you allow ends with it.</p></div>
`, c.described("key"), c.problem("key"))
	fmt.Fprintf(&b, `<fieldset><legend>Whose memory?</legend>
<label class="choice"><input type="radio" name="whose" value="user"%s> Of one user</label>
<div class="inner"><div class="field"><label for="user">User id</label>
<input id="user" name="user" value="%s" dir="auto" maxlength="256" placeholder="nora@example.com" spellcheck="false" autocapitalize="off"%s>
%s<p class="hint" id="user-hint">As your applications call you. A new id begins a new memory.</p></div>
<details%s><summary>Only one application of this user</summary><div class="field"><label for="agent">Application id</label>
<input id="agent" name="agent" value="%s" dir="auto" maxlength="256" spellcheck="false" autocapitalize="off"%s>
%s<p class="hint" id="agent-hint">Empty: what all applications know of the user.</p></div></details></div>
<label class="choice"><input type="radio" name="whose" value="all"%s> All that the key can reach</label></fieldset>
`, checked(c.OfUser), esc(c.User), c.described("user"), c.problem("user"),
		open(c.Agent != "" || c.Field == "agent"), esc(c.Agent), c.described("agent"), c.problem("agent"), checked(!c.OfUser))
	if c.mayWrite {
		fmt.Fprintf(&b, `<fieldset><legend>What may it do?</legend>
<label class="choice"><input type="radio" name="access" value="read"%s> Read: recall and search</label>
<label class="choice"><input type="radio" name="access" value="write"%s> Read and write: also remember, correct and forget</label></fieldset>
`, checked(!c.Write), checked(c.Write))
	} else {
		b.WriteString(`<p>It may <strong>read</strong>: recall and search.</p>
`)
	}
	b.WriteString(`<div class="buttons"><button name="decision" value="allow" class="main">Allow</button>
<button name="decision" value="deny" formnovalidate>Refuse</button></div>
</form>`)
	return b.String()
}

// described says to a field where its hint, and what is wrong with it, are.
func (c *consent) described(field string) string {
	if c.Problem != "" && c.Field == field {
		return fmt.Sprintf(` aria-invalid="true" aria-describedby="%[1]s-problem %[1]s-hint" autofocus`, field)
	}
	return fmt.Sprintf(` aria-describedby="%s-hint"`, field)
}

// problem says what is wrong with a field.
func (c *consent) problem(field string) string {
	if c.Problem == "" || c.Field != field {
		return ""
	}
	return fmt.Sprintf(`<p class="bad" id="%s-problem" role="alert">%s</p>
`, field, esc(c.Problem))
}

func checked(yes bool) string {
	if yes {
		return " checked"
	}
	return ""
}

func open(yes bool) string {
	if yes {
		return " open"
	}
	return ""
}
