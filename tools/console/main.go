// Command console bundles the sources of the web console and writes the files of the page into a folder.
// "make generate" runs it, and compresses them for internal/console by tools/pack.
//
//	console SOURCES OUTPUT
//
// It is a module of its own, so that the gateway does not depend on the bundler.
package main

import (
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
	small := filepath.Join(sources, "src/small.ts")
	result := api.Build(api.BuildOptions{
		EntryPointsAdvanced: []api.EntryPoint{{InputPath: filepath.Join(sources, "src/main.tsx"), OutputPath: "app"}},
		AbsWorkingDir:       sources,
		PreserveSymlinks:    true, // node_modules is a link: the names of the parts must not depend on where the tree is
		Outdir:              args[1],
		Bundle:              true,
		// What few visits need, such as the graph, is loaded when it is asked for. Nothing else is shared between the parts, so that the
		// page itself stays one file.
		Splitting: true, ChunkNames: "[name]-[hash]",
		// Two packages of markdown-it that would be a third of its size: small.ts says why they are not needed.
		Alias:            map[string]string{"linkify-it": small, "entities": small},
		Format:           api.FormatESModule,
		Target:           api.ES2022,
		Charset:          api.CharsetUTF8,
		MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
		JSX: api.JSXAutomatic, JSXImportSource: "preact",
		LegalComments: api.LegalCommentsInline,
		LogLevel:      api.LogLevelWarning,
		Write:         true,
	})
	if len(result.Errors) > 0 {
		return fmt.Errorf("%d errors", len(result.Errors))
	}
	page, err := os.ReadFile(filepath.Join(sources, "src/index.html"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(args[1], "index.html"), page, 0o600)
}
