package api

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // of the page
	"encoding/base64"
	"errors"
	"fmt"
	"sync"

	"github.com/slipboxhq/slipbox/internal/packed"
)

//go:generate go run ./docs docs/page.html
//go:generate go run ../../tools/pack -rm docs/page.html

// docsPacked is the reference page, compressed.
//
//go:embed docs/page.html.gz
var docsPacked []byte

// docsHTML returns the reference page. It is the same for every request: "Try it" and its samples read
// the gateway's address from the browser.
var docsHTML = sync.OnceValues(func() ([]byte, error) { return packed.Unpack(docsPacked) })

// newDocsPolicy returns the Content-Security-Policy of the reference page. It admits exactly the page's
// style and script, and requests to this gateway, which "Try it" sends.
func newDocsPolicy(page []byte) (string, error) {
	style, okStyle := element(page, "style")
	script, okScript := element(page, "script")
	if !okStyle || !okScript {
		return "", errors.New("the reference page has no style or no script: run make generate")
	}
	return fmt.Sprintf("default-src 'none'; style-src '%s'; script-src '%s'; connect-src 'self'; img-src data:; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'", hashSource(style), hashSource(script)), nil
}

// element returns the content of the page's only element of this name. The page escapes texts of the
// contract, so none of them can begin one.
func element(page []byte, name string) (content []byte, ok bool) {
	_, rest, begins := bytes.Cut(page, []byte("<"+name+">"))
	content, _, ends := bytes.Cut(rest, []byte("</"+name+">"))
	return content, begins && ends
}

func hashSource(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
