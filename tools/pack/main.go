// Command pack compresses files, for programs that embed them: FILE becomes FILE.gz beside it. "go generate"
// runs it in api. The same file gives the same bytes.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: pack FILE…")
		os.Exit(2)
	}
	for _, name := range os.Args[1:] {
		if err := pack(name); err != nil {
			fmt.Fprintln(os.Stderr, "pack:", err)
			os.Exit(1)
		}
	}
}

func pack(name string) error {
	raw, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = w.Write(raw)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return os.WriteFile(name+".gz", packed.Bytes(), 0o644) //nolint:gosec // source, for everybody to read
}
