// Command docs writes the reference page of the API, from the contract (api/openapi.yaml) and the template,
// the style and the script beside it. "go generate" runs it in internal/api, which embeds the page,
// compressed by tools/pack, and serves it at /docs.
//
// The page is rendered here and not by the gateway: text/template calls methods by names that are
// known at run time only. A program with such calls keeps every exported method of every type that
// it uses, which made the gateway larger by a fifth.
package main

import (
	"errors"
	"fmt"
	"os"

	contract "github.com/slipboxhq/slipbox/api"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: docs FILE")
	}
	page, err := page()
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], page, 0o600)
}

// page returns the page of the embedded contract.
func page() ([]byte, error) {
	d, err := loadDocument(contract.OpenAPI())
	if err != nil {
		return nil, err
	}
	return d.render()
}
