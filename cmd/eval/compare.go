package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipboxhq/slipbox/internal/app"
	"github.com/slipboxhq/slipbox/internal/app/daemon"
	"github.com/slipboxhq/slipbox/internal/eval"
)

// compareOptions are the flags of compare.
type compareOptions struct {
	eval.Comparison

	out, document string
	generated     int
	budgets       []int
}

func compareCommand(o *options) *cobra.Command {
	c := compareOptions{Comparison: eval.Comparison{Warnings: nil}}
	cmd := &cobra.Command{
		Use: "compare [FILE|DIR…]", Short: "Lay all memory systems and baselines side by side over the same conversations",
		Long: `Feed conversations to every policy of a gateway and to baselines (plain messages, the whole history, the newest turns, chunks), each in
a collection or fork of its own, and write report.json and report.html. Without --url it starts a gateway of its own on a scratch
folder, with the settings of the environment (such as SLIPBOX_LLM); a model is used when there is one, and named in the results.

Files: LoCoMo, LongMemEval, BEAM and MemoryBank as they are published, dialogues of the corpus, or a list of
{id, turns: [{id, speaker, role, text, at, session}], questions: [{q, answer, category, evidence[]}]}.

A run that was cut off goes on where it was, with the same command.`,
		RunE: func(cmd *cobra.Command, files []string) error {
			o := *o
			if !cmd.Flags().Changed("url") {
				o.url = ""
			}
			return c.run(cmd.Context(), o, files, os.Stdout, os.Stderr)
		},
	}
	f := cmd.Flags()
	f.StringVar(&c.out, "out", "comparison", "`folder` of the report, and of the measured parts")
	f.StringSliceVar(&c.Policies, "policies", nil, "policies to compare (default: all that the gateway has)")
	f.StringSliceVar(&c.Baselines, "baselines", nil, "of "+strings.Join(eval.Baselines(), ", ")+", or - for none but plain messages (default: all; the last one needs a model)")
	f.IntSliceVar(&c.Chunks, "chunk", []int{128, 512}, "sizes of chunks, in tokens")
	f.IntSliceVar(&c.ChunkHits, "chunk-k", []int{10}, "chunks in a prompt")
	f.IntVar(&c.Budget, "budget", 1000, "tokens of memory in the prompts that are answered")
	f.IntSliceVar(&c.budgets, "budgets", []int{500, 1000, 2000}, "tokens of memory that recall is measured within")
	f.IntVar(&c.Seeds, "seeds", 1, "repetitions")
	f.IntVar(&c.Questions, "questions", 0, "questions of each conversation, drawn anew for each repetition (default: all)")
	f.IntVar(&c.PerAdd, "per-add", 2, "turns of a session in one request")
	f.IntVar(&c.AtOnce, "at-once", 1, "conversations at the same time; times then are those of a busy gateway")
	f.StringVar(&c.Model, "model", "", "model of the gateway that answers, and that policies ask (default: its main one)")
	f.StringVar(&c.Judge, "judge", "", "model of the gateway that judges the answers (default: none)")
	f.IntVar(&c.generated, "generate", 0, "add a generated history of so many tokens, with questions about it")
	f.StringVar(&c.document, "write", "", "Markdown `file` to write the first table to, between the lines <!-- comparison --> and <!-- /comparison -->")
	return cmd
}

func (c *compareOptions) run(ctx context.Context, o options, files []string, stdout io.Writer, stderr *os.File) (err error) {
	if len(files) == 0 && c.generated == 0 {
		return errors.New("no conversations: name a file or a folder, or pass --generate")
	}
	if slices.Equal(c.Baselines, []string{"-"}) {
		c.Baselines = []string{}
	}
	for _, b := range c.Baselines {
		if !slices.Contains(eval.Baselines(), b) {
			return fmt.Errorf("no baseline is called %q; there are %s", b, strings.Join(eval.Baselines(), ", "))
		}
	}
	for _, n := range slices.Concat([]int{c.Budget, c.Seeds, c.PerAdd, c.AtOnce}, c.budgets, c.Chunks, c.ChunkHits) {
		if n < 1 {
			return fmt.Errorf("%d: budgets, sizes and numbers are at least 1", n)
		}
	}
	if !slices.Contains(c.budgets, c.Budget) {
		c.budgets = append(c.budgets, c.Budget)
	}
	slices.Sort(c.budgets)
	if len(files) == 0 {
		c.Data = eval.Generated(c.generated, c.budgets)
	} else {
		if c.Data, c.Warnings, err = eval.ReadInputs(files, c.budgets); err != nil {
			return err
		}
		if c.generated > 0 {
			c.Data.Add(eval.Generated(c.generated, c.budgets))
		}
	}
	for _, w := range c.Warnings {
		_, _ = fmt.Fprintln(stderr, "warning:", w)
	}
	c.Folder, c.Prefix = filepath.Join(c.out, "parts"), "compare-"
	c.OnProgress = newProgressBar(stderr).show
	if o.url != "" {
		if c.Client, err = o.client(); err != nil {
			return err
		}
		return c.report(ctx, stdout)
	}
	return withGateway(ctx, stderr, func(ctx context.Context, client *eval.Client) error {
		c.Client = client
		return c.report(ctx, stdout)
	})
}

// report runs the comparison and writes its results.
func (c *compareOptions) report(ctx context.Context, stdout io.Writer) error {
	r, err := c.Run(ctx)
	if err != nil {
		return err
	}
	if err := r.Write(c.out); err != nil {
		return err
	}
	if c.document != "" {
		text, err := os.ReadFile(c.document)
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		if text, err = eval.ReplaceBetween(text, "comparison", "\n"+r.Table()+"\n"); err != nil {
			return fmt.Errorf("%s: %w", c.document, err)
		}
		if err := os.WriteFile(c.document, text, 0o644); err != nil { //nolint:gosec // documentation
			return fmt.Errorf("write: %w", err)
		}
	}
	_, err = fmt.Fprintf(stdout, "%s\n%s and %s are written\n", r.Markdown(), filepath.Join(c.out, "report.json"), filepath.Join(c.out, "report.html"))
	return err
}

// withGateway runs do with a gateway of its own, on a folder that is removed afterwards.
func withGateway(ctx context.Context, stderr io.Writer, do func(ctx context.Context, client *eval.Client) error) (err error) {
	dir, err := os.MkdirTemp("", "slipbox-compare-")
	if err != nil {
		return fmt.Errorf("make a scratch folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	settings := daemon.Settings{LogLevel: "error"}
	cfg, log, err := settings.Start(stderr, func(cfg *app.Settings) {
		cfg.Addr, cfg.Data, cfg.DatabaseURL, cfg.RedisURL = "127.0.0.1:0", dir, "", ""
	})
	if err != nil {
		return err
	}
	return serveWhile(ctx, cfg, log, do)
}

// serveWhile serves while do runs with the gateway's first key.
func serveWhile(ctx context.Context, cfg app.Settings, log *slog.Logger, do func(ctx context.Context, client *eval.Client) error) error {
	g, err := app.NewGateway(ctx, cfg, log)
	if err != nil {
		return fmt.Errorf("start a gateway: %w", err)
	}
	// It outlives an interrupt for as long as do needs to end.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	said, stdout := io.Pipe()
	served := make(chan error, 1)
	go func() {
		err := g.Run(serving, stdout, false)
		_ = stdout.CloseWithError(io.EOF)
		served <- err
	}()
	key := ""
	lines := bufio.NewScanner(said)
	for key == "" && lines.Scan() {
		key, _ = strings.CutPrefix(lines.Text(), "key: ")
		if !strings.HasPrefix(lines.Text(), "key: ") {
			key = ""
		}
	}
	if key == "" {
		return errors.Join(errors.New("the gateway printed no key"), <-served)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	err = do(ctx, &eval.Client{BaseURL: g.URL(), Key: key, HTTP: &http.Client{Timeout: 2 * cfg.HTTP.RequestTimeout}})
	stop()
	return errors.Join(err, <-served)
}

// progressBar shows progress: a bar on a terminal, a line now and then in a pipe.
type progressBar struct {
	out      io.Writer
	terminal bool
	shown    time.Time
	now      func() time.Time
}

func newProgressBar(out *os.File) *progressBar {
	info, err := out.Stat()
	return &progressBar{out: out, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0, now: time.Now}
}

// The pauses between two lines, and between two states of the bar.
const (
	linePause = 20 * time.Second
	barPause  = 100 * time.Millisecond
)

func (p *progressBar) show(s eval.Progress) {
	wait := linePause
	if p.terminal {
		wait = barPause
	}
	if now := p.now(); s.Ended || now.Sub(p.shown) >= wait {
		p.shown = now
	} else {
		return
	}
	detail := ""
	if s.Steps > 0 {
		detail = fmt.Sprintf(" %d/%d", s.Step, s.Steps)
	}
	if !p.terminal {
		_, _ = fmt.Fprintf(p.out, "%d of %d parts; %s%s\n", s.Done, s.Total, s.Now, detail)
		return
	}
	const width = 30
	done := 0
	if s.Total > 0 {
		share := float64(s.Done) / float64(s.Total)
		if s.Steps > 0 && s.Done < s.Total {
			share += float64(s.Step) / float64(s.Steps) / float64(s.Total) / 2 // turns and questions
		}
		done = int(share * width)
	}
	_, _ = fmt.Fprintf(p.out, "\r\033[K[%s%s] %d/%d %s%s", strings.Repeat("█", done), strings.Repeat("·", width-done), s.Done, s.Total, s.Now, detail)
	if s.Done == s.Total && s.Ended {
		_, _ = fmt.Fprintln(p.out)
	}
}
