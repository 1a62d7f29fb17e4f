package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	_ "time/tzdata" // a machine may have no files of zones
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app/command"
	"github.com/slipboxhq/slipbox/internal/memory/transfer"
	"github.com/slipboxhq/slipbox/internal/wording"
	slipbox "github.com/slipboxhq/slipbox/sdk/go"
)

const (
	// maxFile bounds a file that is imported, in bytes.
	maxFile = 16 << 20
	// maxHead is by how many bytes of a file its format is recognized.
	maxHead = 64 << 10
	// batchLines and batchBytes bound a request with notes: the gateway takes 10,000 lines and 32 MiB, but small
	// requests show progress, and little is sent again after an interrupt.
	batchLines = 100
	batchBytes = 1 << 20
)

// importReport says what an import did.
type importReport struct {
	Files    int            `json:"files"`
	Created  int            `json:"created"`
	Known    int            `json:"known"`    // notes that were there before
	Replaced int            `json:"replaced"` // notes of an older version of a file that have the text of the new one
	Deleted  int            `json:"deleted"`  // notes of an older version of a file, of what the new one does not say
	Kept     int            `json:"kept"`     // such notes that stay: they were changed since, or imported from another place
	Linked   int            `json:"linked"`   // links that files have to each other
	Skipped  []importSkip   `json:"skipped"`
	Differ   int            `json:"differ"`             // messages that were there with other words, and stay as they were
	Kinds    map[string]int `json:"redacted,omitempty"` // requests in which secrets of a kind were taken out
	// Understood is what was understood of histories of other programs.
	Understood []transfer.Report `json:"understood,omitempty"`
}

type importSkip struct {
	File   string `json:"file"`
	Reason string `json:"reason"`
}

func (c *cli) imports() *cobra.Command {
	var create string
	var dry, plain bool
	var flags historyFlags
	cmd := &cobra.Command{
		Use: "import PATH…", Short: "Import your history of another program, or Markdown and text files",
		Long: "Import a file, a zip or a folder. What it is, is recognized: " + wording.Or(transfer.Formats()...) + ".\n" +
			"What is not recognized is refused. The command says what it understood, and asks only what nothing says.\n" +
			"How to get the export out of each program: docs/history.md.\n\n" +
			"Of Markdown and text, each section becomes a note, with the file in attributes.source, and front matter in\n" +
			"its time, tags and attributes. A date at the start of a file's name (2026-03-01 …) is when it happened,\n" +
			"otherwise the time at which it was written. Hidden files and folders are left out.\n\n" +
			"What is there already is not imported again, so an import that was interrupted continues when it is\n" +
			"started again. The notes of a file that has changed since are corrected, and deleted when the file no\n" +
			"longer says it; their history stays, and so does a note that was changed by hand.",
		Example: "  slipbox import chatgpt.zip --user nora --create mem0\n" +
			"  slipbox import \"WhatsApp Chat with Ben.txt\" -c ben --create memorybank --me Nora\n" +
			"  slipbox import docs/ --collection handbook --create amem\n" +
			"  slipbox import notes/ journal.txt --dry-run",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return command.UsageError(cmd, errors.New("PATH is missing: a folder or a file"))
			}
			return nil
		},
		ValidArgsFunction: files,
		RunE: c.run(func(cmd *cobra.Command, args []string, to *client) error {
			path, ids, err := c.target(to)
			if err != nil {
				return err
			}
			options, err := flags.options()
			if err != nil {
				return err
			}
			job := &importing{cli: c, to: to, path: path, ids: ids, policy: create, dry: dry, plain: plain, options: options}
			to.patience = restartTime
			defer c.errs.done()
			if err := job.run(cmd.Context(), args); err != nil {
				return err
			}
			if err := job.finish(); err != nil {
				return err
			}
			switch {
			case job.refused > 0:
				return failure{count(job.refused, "note was", "notes were") + " refused; the reasons are above, and the same command tries again", ExitRefused}
			case job.left > 0 || job.report.Files == 0:
				return failure{"not everything that was named could be imported; the reasons are above", ExitRefused}
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&create, "create", "", "create the collection if there is none, with this `policy` (amem, mem0 …)")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would be imported, and import nothing")
	cmd.Flags().BoolVar(&plain, "no-infer", false, "store what is imported without learning from it")
	cmd.Flags().StringVar(&flags.format, "format", "", "the `format`, if it is not recognized: "+wording.Or(transfer.Formats()...))
	cmd.Flags().StringVar(&flags.me, "me", "", "your `name` in the history")
	cmd.Flags().StringVar(&flags.zone, "timezone", "", "`zone` of times that say none, such as Europe/Berlin (default: that of the collection)")
	cmd.Flags().StringVar(&flags.since, "since", "", "leave out what is older than this `day`, such as 2026-03-01")
	cmd.Flags().StringVar(&flags.dates, "dates", "", "`order` of day, month and year in a chat, if the file does not show it: DMY, MDY or YMD")
	cmd.AddCommand(c.importMem0())
	return cmd
}

// importing is an import of files.
type importing struct {
	*cli

	to     *client
	path   string
	ids    url.Values
	policy string
	dry    bool
	plain  bool

	options transfer.Options
	report  importReport
	refused int // notes that the gateway refused
	left    int // files that were named and cannot be imported
	lines   bytes.Buffer
	held    []place // of each line
	wiki    wiki
	changes []change
	sent    map[string]bool // by digest: texts that were sent as new notes
}

// file is a file to import, and the name under which its notes have it.
type file struct {
	path, name string
	named      bool // by an argument, not found in a folder
}

// part is a section of a file as it is sent.
type part struct {
	transfer.Part

	file, place string // the name of its file, and the digest of where that is
	n           int    // its position in the file
	at          string // when it happened, RFC 3339
	dated       bool   // by the file
	said        map[string]any
}

// attributes returns those of the note of a part.
func (p part) attributes() slipbox.Attributes {
	out := slipbox.Attributes(maps.Clone(p.said))
	out[transfer.AttrImport] = p.origin()
	return out
}

func (i *importing) run(ctx context.Context, args []string) error {
	i.report.Skipped, i.sent, i.wiki = []importSkip{}, map[string]bool{}, newWiki()
	var err error
	if i.options.Zone == nil {
		if i.options.Zone, err = i.zoneOf(ctx); err != nil {
			return err
		}
	}
	var files []file
	for _, arg := range args {
		found, err := i.recognize(ctx, arg)
		if err != nil {
			return err
		}
		files = append(files, found...)
	}
	for n, f := range files {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		i.errs.statusf("%d of %d files, %d notes: %s", n, len(files), i.report.Created+i.report.Known, f.name)
		if err := i.add(ctx, f); err != nil {
			return err
		}
	}
	if err := i.flush(ctx); err != nil {
		return err
	}
	if err := i.change(ctx); err != nil {
		return err
	}
	return i.link(ctx)
}

// recognize imports the history of an argument, or returns the files of Markdown and text that it has, in order of their names.
func (i *importing) recognize(ctx context.Context, arg string) ([]file, error) {
	s, err := transfer.Open(arg)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w; name a folder or a file", err)
		}
		return nil, plainly(err, "")
	}
	defer s.Close()
	format := i.options.Format
	if format == "" {
		if format, err = transfer.Recognize(s); err != nil {
			return nil, plainly(err, "")
		}
	}
	if format != "markdown" || s.Zipped() {
		return nil, i.history(ctx, s, filepath.Base(arg), format)
	}
	return i.find(arg)
}

// find returns the files of Markdown and text of an argument.
func (i *importing) find(arg string) (files []file, err error) {
	info, err := os.Stat(arg)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []file{{arg, filepath.Base(arg), true}}, nil
	}
	root := filepath.Clean(arg)
	err = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			i.skip(at, err.Error())
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case at != root && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.Type().IsRegular() && transfer.IsDocument(filepath.ToSlash(at)):
			name, err := filepath.Rel(root, at)
			if err != nil {
				return err
			}
			files = append(files, file{at, filepath.ToSlash(name), false})
		}
		return nil
	})
	return files, err
}

func (i *importing) skip(name, reason string) {
	i.report.Skipped = append(i.report.Skipped, importSkip{name, reason})
}

// read returns the text of a file; "": it cannot be imported, and the report says why.
func (i *importing) read(f file) (text string, written time.Time) {
	refuse := func(reason string) (string, time.Time) {
		i.skip(f.name, reason)
		if f.named {
			i.left++
		}
		return "", time.Time{}
	}
	info, err := os.Stat(f.path)
	if err != nil {
		return refuse(err.Error())
	}
	if info.Size() > maxFile {
		return refuse(fmt.Sprintf("it has more than %d MiB; split it", maxFile>>20))
	}
	content, err := os.ReadFile(f.path)
	switch {
	case err != nil:
		return refuse(err.Error())
	case !utf8.Valid(content) || bytes.ContainsRune(content, 0):
		return refuse("it is not text in UTF-8; convert it")
	case len(bytes.TrimSpace(content)) == 0:
		return refuse("it is empty")
	case !f.named && i.options.Format == "" && transfer.IsTalk(string(content[:min(len(content), maxHead)])):
		return refuse("it is a talk or a mail; import it by itself, and who said what and when is kept")
	}
	return string(content), info.ModTime()
}

// add sends the notes of a file that are not there yet, or holds them until there are more. What is to be changed is kept for
// the end: until then each text that was there is still there.
func (i *importing) add(ctx context.Context, f file) error {
	text, written := i.read(f)
	if text == "" {
		return nil
	}
	path, err := filepath.Abs(f.path)
	if err != nil {
		return err
	}
	i.report.Files++
	before, err := i.before(ctx, f.name)
	if err != nil {
		return err
	}
	d := transfer.ReadDocument(f.name, text, written, time.Now(), i.options.Zone)
	if !i.options.Since.IsZero() && d.At.Before(i.options.Since) {
		i.skip(f.name, "it is older than --since")
		return nil
	}
	i.wiki.add(f.name, &d)
	var fresh []part
	for n := range d.Parts {
		now := part{
			Part: d.Parts[n], file: f.name, n: n, place: digest(path), at: d.At.UTC().Format(time.RFC3339), dated: d.Dated, said: d.AttributesOf(f.name, n),
		}
		switch note := before.take(digest(now.Content)); {
		case note == nil:
			fresh = append(fresh, now)
		case now.differs(note):
			i.changes = append(i.changes, change{file: f.name, note: *note, now: &now})
		default:
			i.wiki.found(place{f.name, n}, *note)
			i.report.Known++
		}
	}
	changes, fresh, kept := before.changes(digest(path), fresh)
	i.changes = append(i.changes, changes...)
	i.report.Kept += kept
	for _, p := range fresh {
		if err := i.send(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// send sends a part as a new note, or holds it until there are more.
func (i *importing) send(ctx context.Context, p part) error {
	attributes := p.attributes()
	note := slipbox.BulkNote{Content: p.Content, OccurredAt: &p.at, Attributes: &attributes, Tags: p.Tags}
	if i.plain {
		infer := false
		note.Infer = &infer
	}
	line, err := json.Marshal(note)
	if err != nil {
		return err
	}
	if len(i.held) >= batchLines || i.lines.Len()+len(line) > batchBytes {
		if err := i.flush(ctx); err != nil {
			return err
		}
	}
	i.lines.Write(append(line, '\n'))
	i.held = append(i.held, place{p.file, p.n})
	i.sent[digest(p.Content)] = true
	return nil
}

// flush sends the notes that are held.
func (i *importing) flush(ctx context.Context) error {
	if len(i.held) == 0 {
		return nil
	}
	body, held := bytes.Clone(i.lines.Bytes()), i.held
	i.lines.Reset()
	i.held = nil
	if i.dry {
		i.report.Created += len(held)
		return nil
	}
	r := request{Method: http.MethodPost, Path: i.path + "/notes/bulk", Query: i.ids, Body: body, Header: ndjson()}
	once(&r, newKey())
	return i.create(ctx, i.to, i.policy, func() error {
		raw, header, err := i.to.get(ctx, r, nil)
		if err != nil {
			return err
		}
		i.redacted(header)
		for line := range bytes.Lines(raw) {
			var result struct {
				slipbox.BulkResult

				Summary *slipbox.BulkSummary `json:"summary"`
			}
			if err := json.Unmarshal(line, &result); err != nil {
				return fmt.Errorf("the answer of an import cannot be read: %w", err)
			}
			switch {
			case result.Summary != nil:
			case result.Error != nil:
				refused := refusal{Problem: *result.Error}
				i.refused++
				if n := result.Line - 1; n >= 0 && n < len(held) {
					i.skip(held[n].file, refused.Error())
				}
			case result.Status == http.StatusOK:
				i.report.Known++
				i.sentNote(held, &result.BulkResult)
			default:
				i.report.Created++
				i.sentNote(held, &result.BulkResult)
			}
		}
		return nil
	})
}

// sentNote remembers the note of a line.
func (i *importing) sentNote(held []place, r *slipbox.BulkResult) {
	if n := r.Line - 1; n >= 0 && n < len(held) && r.ID != nil {
		i.wiki.found(held[n], imported{NoteRef: slipbox.NoteRef{ID: *r.ID}})
	}
}

// redacted counts the kinds of secrets that the gateway took out of a request.
func (i *importing) redacted(header http.Header) {
	for kind := range strings.SplitSeq(header.Get(headerRedacted), ",") {
		if kind = strings.TrimSpace(kind); kind != "" {
			if i.report.Kinds == nil {
				i.report.Kinds = map[string]int{}
			}
			i.report.Kinds[kind]++
		}
	}
}

// finish prints the report.
func (i *importing) finish() error {
	i.errs.done()
	if i.asJSON() {
		return i.out.value(i.report)
	}
	verb := "imported"
	if i.dry {
		verb = "would be imported"
	}
	one, many := "note", "notes"
	if len(i.report.Understood) > 0 {
		one, many = "message or note", "messages and notes"
	}
	i.out.line("%s %s from %s%s", wording.Count(i.report.Created, one, many), verb, wording.Count(i.report.Files, "file", "files"), i.already())
	if i.report.Replaced+i.report.Deleted > 0 {
		i.out.line("files that changed: %s corrected, %d deleted", wording.Count(i.report.Replaced, "note", "notes"), i.report.Deleted)
	}
	if i.report.Linked > 0 {
		i.out.line("%s between files", count(i.report.Linked, "link", "links"))
	}
	if i.report.Kept > 0 {
		i.errs.text("", count(i.report.Kept, "note stays that the files do not say: it was", "notes stay that the files do not say: they were")+" changed by hand, or imported from another folder; `slipbox search` finds notes, and the console deletes them")
	}
	if i.report.Differ > 0 {
		i.errs.text("", count(i.report.Differ, "message was there with other words, and stays as it was", "messages were there with other words, and stay as they were"))
	}
	for kind, n := range i.report.Kinds {
		i.errs.line("taken out before it was stored: %s (%d)", clean(kind), n)
	}
	for _, s := range i.report.Skipped {
		i.errs.text("skipped: ", s.File+": "+s.Reason)
	}
	return i.out.err
}

// already says how many of the notes were there before. A dry run does not look for what the gateway knows of a history.
func (i *importing) already() string {
	if i.dry && len(i.report.Understood) > 0 {
		return "; those that are there already are not imported again"
	}
	return ", " + wording.Count(i.report.Known, "was", "were") + " there already"
}

// zoneOf returns the zone of the collection that is imported into: of its setting timezone, or UTC. There may be none yet.
func (i *importing) zoneOf(ctx context.Context) (*time.Location, error) {
	var c slipbox.Collection
	_, _, err := i.to.get(ctx, request{Method: http.MethodGet, Path: i.path, Query: i.ids}, &c)
	if refused, ok := errors.AsType[*refusal](err); ok && refused.Status == http.StatusNotFound {
		return time.UTC, nil
	}
	if err != nil {
		return nil, err
	}
	name, _ := c.PolicyConfig["timezone"].(string)
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("the time zone of the collection, %q, is not known here: %w", name, err)
	}
	return zone, nil
}
