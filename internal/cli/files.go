package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app/command"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

func (c *cli) file() *cobra.Command {
	group := command.AsGroup(&cobra.Command{Use: "file", Short: "Keep files whose text is found and cited: PDF, Word, HTML, CSV, Markdown, text"})
	group.AddCommand(c.fileAdd(), c.fileList(), c.fileDelete())
	return group
}

func (c *cli) fileAdd() *cobra.Command {
	var create string
	var ttl time.Duration
	cmd := &cobra.Command{
		Use: "add PATH…", Short: "Add files to a collection of any policy",
		Long: "Add files. A job turns their text into passages, which searches and contexts find and cite with the name of the\n" +
			"file and the page; nothing else is derived from them. A file that is there already is not stored again.",
		Example: "  slipbox file add manual.pdf -c handbook --create amem\n" +
			"  slipbox file add letters/*.docx --user nora@example.com",
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: files,
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) error {
			for _, name := range args {
				path, query, err := c.target(to)
				if err != nil {
					return err
				}
				if cmd.Flags().Changed("ttl") {
					query.Set("ttl_seconds", fmt.Sprint(int64(ttl/time.Second)))
				}
				r, err := upload(name)
				if err != nil {
					return err
				}
				r.Path, r.Query = path+"/files", query
				var got slipbox.FileAccepted
				var raw json.RawMessage
				err = c.create(cmd.Context(), to, create, func() (err error) {
					raw, _, err = to.get(cmd.Context(), r, &got)
					return err
				})
				if err != nil {
					return err
				}
				if c.asJSON() {
					err = c.out.json(raw)
				} else {
					err = c.out.uploaded(got)
				}
				if err != nil {
					return err
				}
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&create, "create", "", "create the collection if there is none, with this `policy` (amem, mem0 …)")
	cmd.Flags().DurationVar(&ttl, "ttl", 0, "`time` until the file expires, such as 24h (default: never)")
	return cmd
}

// upload returns the request that sends a file as a form. It may be repeated: the same file is stored once.
func upload(name string) (request, error) {
	if info, err := os.Stat(name); err != nil {
		return request{}, err
	} else if !info.Mode().IsRegular() {
		return request{}, errors.New(clean(name) + " is not a file")
	}
	var head bytes.Buffer
	form := multipart.NewWriter(&head)
	if _, err := form.CreateFormFile("file", filepath.Base(name)); err != nil {
		return request{}, err
	}
	tail := "\r\n--" + form.Boundary() + "--\r\n"
	open := func() (io.Reader, error) {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		return struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(head.Bytes()), f, bytes.NewReader([]byte(tail))), f}, nil
	}
	return request{Method: http.MethodPost, Body: open, Header: http.Header{"Content-Type": {form.FormDataContentType()}}, Repeatable: true}, nil
}

// uploaded prints what was uploaded, and the job that reads it.
func (s *screen) uploaded(got slipbox.FileAccepted) error {
	if got.Job == nil {
		return s.details(0, "known", got.File.ID, got.File.Name)
	}
	return s.details(0, "added", got.File.ID, got.File.Name, "slipbox watch "+got.Job.ID)
}

func (c *cli) fileList() *cobra.Command {
	var order string
	var limit int
	cmd := &cobra.Command{
		Use: "list", Short: "List the files of a collection, the last changed first", Example: "  slipbox file list -c handbook", Args: command.NoArgs,
		RunE: c.runOn(func(cmd *cobra.Command, _ []string, to *client, path string, query url.Values) error {
			query.Set("order", order)
			return listed(cmd, c, to, path+"/files", query, limit, "no files", c.out.file)
		}),
	}
	orderFlag(cmd, &order, noteOrders)
	limitFlag(cmd, &limit, "files")
	return cmd
}

func (s *screen) file(f slipbox.File) error {
	return s.details(0, f.ID, f.Name, string(f.State), *cmp.Or(f.Error, new("")), count(int(f.Chunks), "passage", "passages"))
}

func (c *cli) fileDelete() *cobra.Command {
	var erase bool
	cmd := &cobra.Command{
		Use: "delete FILE", Short: "Delete a file with its passages, or erase them", Example: "  slipbox file delete --erase 01a209ee-4f42-78fb-9893-5cff446707b3",
		Args: command.OneArg("the id of a file (`slipbox file list` prints it)"),
		RunE: c.runOn(func(cmd *cobra.Command, args []string, to *client, path string, query url.Values) error {
			if erase {
				query.Set("erase", "true")
			}
			raw, _, err := to.get(cmd.Context(), request{Method: http.MethodDelete, Path: path + "/files/" + url.PathEscape(args[0]), Query: query}, nil)
			if err != nil {
				return err
			}
			return c.removed(args[0], raw, nil)
		}),
	}
	cmd.Flags().BoolVar(&erase, "erase", false, "remove every version, in forks too; nothing can be restored")
	return cmd
}
