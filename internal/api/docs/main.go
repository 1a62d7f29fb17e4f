// Command docs writes page.html.gz, the reference page of the API, from the contract (api/openapi.yaml)
// and the template, the style and the script beside it. "go generate" runs it in internal/api, which
// embeds the page and serves it at /docs.
//
// The page is rendered here and not by the gateway: text/template calls methods by names that are
// known at run time only. A program with such calls keeps every exported method of every type that
// it uses, which made the gateway larger by a fifth. It is compressed, because the page is nine times as large.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	contract "github.com/slipboxhq/slipbox/api"
)

const output = "page.html.gz"

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("usage: docs FOLDER, into which %s is written", output)
	}
	page, err := page()
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = w.Write(page)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(args[0], output), packed.Bytes(), 0o644) //nolint:gosec // source, for everybody to read
}

// page returns the page of the embedded contract.
func page() ([]byte, error) {
	d, err := loadDocument(contract.OpenAPI())
	if err != nil {
		return nil, err
	}
	return d.render()
}
