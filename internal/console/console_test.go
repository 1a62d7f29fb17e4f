package console_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipboxhq/slipbox/internal/console"
	"github.com/slipboxhq/slipbox/test/must"
)

func get(t *testing.T, target string, header map[string]string) *http.Response {
	t.Helper()
	h := must.Get(console.New())(t)
	r := httptest.NewRequest(http.MethodGet, target, http.NoBody)
	for k, v := range header {
		r.Header.Set(k, v)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func body(t *testing.T, resp *http.Response) []byte {
	t.Helper()
	b := must.Get(io.ReadAll(resp.Body))(t)
	return b
}

// The page needs nothing from elsewhere, and its policy lets nothing else run.
func TestPageIsOfOneOrigin(t *testing.T) {
	t.Parallel()
	resp := get(t, "/console", nil)
	page := string(body(t, resp))
	if resp.StatusCode != http.StatusOK || !strings.Contains(page, `src="/console/app.js"`) {
		t.Fatalf("status %d, page %q", resp.StatusCode, page)
	}
	for _, refused := range []string{"http:", "https:", "<style", "style=", "onload", "<script>"} {
		if strings.Contains(strings.ReplaceAll(page, "http://www.w3.org/2000/svg", ""), refused) {
			t.Errorf("the page has %q", refused)
		}
	}
	csp := resp.Header.Get("Content-Security-Policy")
	if strings.Contains(csp, "unsafe") || !strings.Contains(csp, "default-src 'none'") {
		t.Errorf("Content-Security-Policy %q", csp)
	}
	if !strings.Contains(page, "<noscript>") {
		t.Error("the page says nothing without JavaScript")
	}
}

func TestFilesAreCompressedAndNotSentTwice(t *testing.T) {
	t.Parallel()
	size, first := 0, 0
	files, err := filepath.Glob("page/*.gz")
	if err != nil || len(files) < 5 {
		t.Fatalf("files of the page: %v %v", files, err)
	}
	for _, file := range files {
		name := "/console/" + strings.TrimSuffix(filepath.Base(file), ".gz")
		if name == "/console/index.html" {
			name = "/console/"
		}
		plain := body(t, get(t, name, nil))
		resp := get(t, name, map[string]string{"Accept-Encoding": "br, gzip;q=0.5"})
		packed := body(t, resp)
		size += len(packed)
		if name == "/console/" || strings.HasPrefix(name, "/console/app.") {
			first += len(packed)
		}
		r, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("%s is another file when it is compressed: %v", name, err)
		}
		for _, etag := range []string{resp.Header.Get("ETag"), "*"} {
			again := get(t, name, map[string]string{"Accept-Encoding": "gzip", "If-None-Match": etag})
			if again.StatusCode != http.StatusNotModified {
				t.Errorf("%s again: %d", name, again.StatusCode)
			}
		}
		for _, header := range []string{"gzip;q=0", "gzip; q=0.0", "br"} {
			if get(t, name, map[string]string{"Accept-Encoding": header}).Header.Get("Content-Encoding") != "" {
				t.Errorf("%s is compressed for %q", name, header)
			}
		}
	}
	if limit := 150_000; size > limit {
		t.Errorf("the console has %d bytes compressed, more than %d", size, limit)
	}
	if limit := 75_000; first > limit {
		t.Errorf("the first paint needs %d bytes compressed, more than %d: what few views need is loaded when it is needed", first, limit)
	}
}

func TestOtherPathsAreNotFound(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"/console/x", "/console/x/app.js", "/console/index.html.gz", "/console/../app.js", "/app.js", "/console/.js", "/console/markdown.js"} {
		if resp := get(t, name, nil); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
}
