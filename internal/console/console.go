// Package console serves the web console: a page of one origin that shows and corrects what is
// remembered. The page reads and writes through the public API alone, so nothing here knows the core.
package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/slipboxhq/slipbox/internal/packed"
)

//go:generate ../../scripts/generate-console.sh

// files are the page, compressed: index.html.gz, app.js.gz, app.css.gz, and parts of the script that are loaded when they are
// needed. The sources are in console.
//
//go:embed page/*.gz
var files embed.FS

// policy is the Content-Security-Policy of the page. It runs no text as code or markup: scripts and
// styles are files of this origin only, and the script cannot write HTML.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// mediaTypes are those of the files, by the ends of their names.
var mediaTypes = map[string]string{".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}

// file is one file of the page.
type file struct {
	packed, plain []byte
	mediaType     string
	etag          string
}

// Handler serves the page at /console and its files below it. Other paths there are 404.
type Handler struct{ files map[string]file }

// New returns the handler. An error means that the embedded files are damaged.
func New() (*Handler, error) {
	h := &Handler{files: map[string]file{}}
	entries, err := files.ReadDir("page")
	if err != nil {
		return nil, fmt.Errorf("the console: %w", err)
	}
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), ".gz")
		mediaType, ok := mediaTypes[path.Ext(name)]
		if !ok {
			return nil, fmt.Errorf("the console: %s has no media type", name)
		}
		compressed, err := files.ReadFile("page/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("the console: %w", err)
		}
		plain, err := packed.Unpack(compressed)
		if err != nil {
			return nil, fmt.Errorf("the console, %s: %w", name, err)
		}
		sum := sha256.Sum256(plain)
		h.files[name] = file{packed: compressed, plain: plain, mediaType: mediaType, etag: `"` + hex.EncodeToString(sum[:8]) + `"`}
	}
	return h, nil
}

// ServeHTTP implements http.Handler for GET and HEAD.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	if r.URL.Path == "/console" || r.URL.Path == "/console/" {
		name = "index.html"
	}
	f, ok := h.files[name]
	if !ok || (name != "index.html" && r.URL.Path != "/console/"+name) {
		http.Error(w, "no such file of the console", http.StatusNotFound)
		return
	}
	header := w.Header()
	header.Set("Content-Security-Policy", policy)
	// Asked for again with each visit, so that page and script are of one build; the answer is mostly 304.
	header.Set("Cache-Control", "no-cache")
	header.Set("Vary", "Accept-Encoding")
	header.Set("Content-Type", f.mediaType)
	body, etag := f.plain, f.etag
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		body, etag = f.packed, `"gz`+f.etag[1:]
		header.Set("Content-Encoding", "gzip")
	}
	header.Set("ETag", etag)
	if had := r.Header.Get("If-None-Match"); had == "*" || strings.Contains(had, etag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Length", fmt.Sprint(len(body)))
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(body) // the client left
}

// acceptsGzip reports whether an Accept-Encoding header names gzip, without a weight of zero.
func acceptsGzip(header string) bool {
	for one := range strings.SplitSeq(header, ",") {
		coding, weight, _ := strings.Cut(one, ";")
		if strings.EqualFold(strings.TrimSpace(coding), "gzip") {
			q := strings.ReplaceAll(weight, " ", "")
			return !strings.HasPrefix(q, "q=0") || strings.Trim(q, "q=0.") != ""
		}
	}
	return false
}
