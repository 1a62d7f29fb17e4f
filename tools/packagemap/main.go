// Command packagemap writes the package map into a document, between its marks.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/slipboxhq/slipbox/internal/archtest"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packagemap:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: packagemap FILE")
	}
	document, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	written, err := archtest.ReplaceTable(string(document))
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], []byte(written), 0o644) //nolint:gosec // a document, for everybody to read
}
