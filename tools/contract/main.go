// Command contract makes the table that a gateway reads at its start from a document of the contract: FILE.yaml becomes
// FILE.table.gz beside it. "go generate" runs it. The same file gives the same bytes.
//
//	contract FILE.yaml…
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/slipboxhq/slipbox/internal/api/table"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: contract FILE.yaml…")
		os.Exit(2)
	}
	for _, name := range os.Args[1:] {
		if err := write(name); err != nil {
			fmt.Fprintln(os.Stderr, "contract:", name, err)
			os.Exit(1)
		}
	}
}

func write(name string) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	made, err := table.Of(raw)
	if err != nil {
		return err
	}
	var file bytes.Buffer
	w, err := gzip.NewWriterLevel(&file, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := errors.Join(json.NewEncoder(w).Encode(made), w.Close()); err != nil {
		return err
	}
	return os.WriteFile(strings.TrimSuffix(name, ".yaml")+".table.gz", file.Bytes(), 0o644) //nolint:gosec // source, for everybody to read
}
