// Command pack compresses files, for programs that embed them and read them by internal/packed: FILE becomes
// FILE.gz beside it. "go generate" runs it. The same file gives the same bytes.
//
//	pack [-rm] FILE…
//
// With -rm the files are removed, as those of a step before that nobody else reads.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	remove := flag.Bool("rm", false, "remove the files")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: pack [-rm] FILE…")
		os.Exit(2)
	}
	for _, name := range flag.Args() {
		if err := pack(name, *remove); err != nil {
			fmt.Fprintln(os.Stderr, "pack:", err)
			os.Exit(1)
		}
	}
}

func pack(name string, remove bool) error {
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
	//nolint:gosec // source, for everybody to read
	if err := os.WriteFile(name+".gz", packed.Bytes(), 0o644); err != nil || !remove {
		return err
	}
	return os.Remove(name)
}
