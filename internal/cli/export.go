package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app/command"
)

func (c *cli) export() *cobra.Command {
	var format, asOf string
	cmd := &cobra.Command{
		Use: "export [FILE]", Short: "Export a collection, as lines of JSON that come back or as Markdown",
		Long: "Export all notes of a collection at one revision, with links, times, tags and attributes. `slipbox import FILE`\n" +
			"brings lines of JSON back. A file that ends in .md becomes Markdown, for people. Without a file it is printed.",
		Example: "  slipbox export diary.jsonl -c diary\n" +
			"  slipbox import diary.jsonl -c again --create amem\n" +
			"  slipbox export --user nora@example.com --format markdown | less",
		Args: command.AtMostOneArg, ValidArgsFunction: files,
		RunE: c.runOn(func(cmd *cobra.Command, args []string, to *client, path string, query url.Values) error {
			file := ""
			if len(args) == 1 && args[0] != "-" {
				file = args[0]
			}
			if format == "" && slices.Contains([]string{".md", ".markdown"}, strings.ToLower(filepath.Ext(file))) {
				format = "markdown"
			}
			choose(query, "format", format)
			choose(query, "as_of", asOf)
			if file == "" && c.out.terminal {
				return errors.New("name a FILE, or pipe the output into a program")
			}
			r := request{Method: http.MethodGet, Path: path + "/export", Query: query}
			if file == "" {
				return c.fetch(cmd.Context(), to, r, c.out.w)
			}
			return c.fetchFile(cmd.Context(), to, r, file)
		}),
	}
	cmd.Flags().StringVar(&format, "format", "", "`format`: jsonl or markdown (default: by the ending of the file, else jsonl)")
	asOfFlag(cmd, &asOf, "export the past")
	return cmd
}

// fetch copies an answer while it arrives. One that breaks off is an error.
func (c *cli) fetch(ctx context.Context, to *client, r request, out io.Writer) error {
	resp, err := to.do(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	buffered := bufio.NewWriter(out)
	n, err := io.Copy(buffered, &counted{Reader: resp.Body, say: func(n int64) { c.errs.statusf("%d KiB…", n>>10) }})
	c.errs.done()
	if err != nil {
		return failure{fmt.Sprintf("the export broke off after %d bytes (%v); it is not whole", n, err), ExitAway}
	}
	return buffered.Flush()
}

// fetchFile writes an answer to a file that does not exist. What is not whole is removed.
func (c *cli) fetchFile(ctx context.Context, to *client, r request, name string) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists; name another file, or remove it", clean(name))
	}
	if err != nil {
		return err
	}
	err = errors.Join(c.fetch(ctx, to, r, f), f.Close())
	if err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return c.errs.line("exported to %s", clean(name))
}

// counted says now and then how much was read.
type counted struct {
	io.Reader

	n, said int64
	say     func(n int64)
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	const step = 1 << 20
	if c.n += int64(n); c.n-c.said >= step {
		c.said = c.n
		c.say(c.n)
	}
	return n, err
}
