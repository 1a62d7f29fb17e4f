// Command console bundles the sources of the web console and writes them, compressed, into the folder
// that internal/console embeds. "make generate" runs it.
//
//	console SOURCES OUTPUT
//
// It is a module of its own, so that the bundler is no dependency of the gateway.
package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "console:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: console SOURCES OUTPUT")
	}
	sources, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	result := api.Build(api.BuildOptions{
		EntryPointsAdvanced: []api.EntryPoint{{InputPath: filepath.Join(sources, "src/main.tsx"), OutputPath: "app"}},
		AbsWorkingDir:       sources,
		Outdir:              args[1],
		Bundle:              true,
		Format:              api.FormatESModule,
		Target:              api.ES2022,
		Charset:             api.CharsetUTF8,
		MinifyWhitespace:    true, MinifyIdentifiers: true, MinifySyntax: true,
		JSX: api.JSXAutomatic, JSXImportSource: "preact",
		LegalComments: api.LegalCommentsInline,
		LogLevel:      api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		return fmt.Errorf("%d errors", len(result.Errors))
	}
	for _, f := range result.OutputFiles {
		if err := pack(args[1], filepath.Base(f.Path), f.Contents); err != nil {
			return err
		}
	}
	page, err := os.ReadFile(filepath.Join(sources, "src/index.html"))
	if err != nil {
		return err
	}
	return pack(args[1], "index.html", page)
}

// pack writes a file, compressed, as NAME.gz.
func pack(folder, name string, content []byte) error {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = w.Write(content)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, name+".gz"), packed.Bytes(), 0o644) //nolint:gosec // source, for everybody to read
}
