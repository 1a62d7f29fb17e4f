package eval

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"
)

// Paging measures how an agent of the policy memgpt pages its memory, with tasks in the spirit of the paper (section 3.2):
// nested look-ups of keys, and questions about documents of which a page shows five. The gateway's model must be an
// [Oracle], which never errs, so that a wrong answer is the memory's.
type Paging struct {
	Client    *Client
	Prefix    string // of the collections' names
	Pairs     int    // of keys and values; the paper has 140
	Questions int    // of each row
	Documents []int  // numbers of documents
	Logf      func(format string, args ...any)
}

// PagingRow are the figures of one task: means for a question.
type PagingRow struct {
	Task      string
	Size      int // depth of nesting, or documents
	Questions int
	Correct   int
	Steps     float64 // turns of the model
	Pages     float64 // of search results that were read
	Prompt    float64 // tokens of all requests
	Seconds   float64
}

// maxDepth is the deepest nesting: a value that is found by so many keys after the first.
const maxDepth = 4

// Run loads and asks everything. The data are always the same.
func (p *Paging) Run(ctx context.Context) ([]PagingRow, error) {
	rows, err := p.keys(ctx)
	if err != nil {
		return nil, err
	}
	for _, n := range p.Documents {
		row, err := p.documents(ctx, n)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// pagedQuestion is a question with its answer.
type pagedQuestion struct{ text, want string }

// keys asks for values that are found through 0 to maxDepth further keys.
func (p *Paging) keys(ctx context.Context) ([]PagingRow, error) {
	r := rand.New(rand.NewPCG(7, 140)) //nolint:gosec // data that is always the same
	id := func() string {
		var b uuid.UUID
		for i := range b {
			b[i] = byte(r.UintN(256)) //nolint:gosec // it is below 256
		}
		return b.String()
	}
	var pairs [][2]string
	asked := make([][]pagedQuestion, maxDepth+1)
	for depth := range asked {
		for range p.Questions {
			first := id()
			key := first
			for range depth + 1 {
				value := id()
				pairs = append(pairs, [2]string{key, value})
				key = value
			}
			asked[depth] = append(asked[depth], pagedQuestion{fmt.Sprintf("What is the value of the key %q? %s", first, lastQuestion), key})
		}
	}
	for len(pairs) < p.Pairs {
		pairs = append(pairs, [2]string{id(), id()})
	}
	r.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
	var texts []string
	for _, pair := range pairs {
		texts = append(texts, fmt.Sprintf("Key: %s. Value: %s.", pair[0], pair[1]))
	}
	c, err := p.load(ctx, "keys", texts)
	if err != nil {
		return nil, err
	}
	var rows []PagingRow
	for depth, questions := range asked {
		row, err := p.ask(ctx, c, "nested keys", depth, questions)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// documents asks for what one of n documents about the same topic says.
func (p *Paging) documents(ctx context.Context, n int) (PagingRow, error) {
	r := rand.New(rand.NewPCG(11, uint64(n))) //nolint:gosec // data that is always the same, and n is positive
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	const topic = "the harbor of Marel"
	texts := make([]string, n)
	for i := range texts {
		var b strings.Builder
		fmt.Fprintf(&b, "Record %d about %s.", i+1, topic)
		for range 6 {
			fmt.Fprintf(&b, " In %d %s of %s %s %s.", 1700+r.IntN(200), pick("a captain", "a merchant", "the council", "a pilot", "two brothers"), pick("Marel", "Ostwick", "Tarn", "Veles"),
				pick("bought", "repaired", "sold", "measured", "described"), pick("the northern pier", "a warehouse of brick", "the old crane", "forty barrels of salt", "the lighthouse lamp"))
		}
		texts[i] = b.String()
	}
	places := r.Perm(n)
	var questions []pagedQuestion
	for i := range min(p.Questions, n) {
		what := fmt.Sprintf("%s number %d", pick("the lost ship", "the drowned bell", "the hidden well", "the blind pilot"), i+1)
		name := fmt.Sprintf("%s %s %d", pick("Aurora", "Meridian", "Corvid", "Halcyon"), pick("of the North", "of the Bay", "of Tarn"), r.IntN(1000))
		texts[places[i]] += fmt.Sprintf(" Among other things, %s is called %s.", what, name)
		questions = append(questions, pagedQuestion{fmt.Sprintf("In the documents about %q: what is %s called?", topic, what), name})
	}
	c, err := p.load(ctx, fmt.Sprintf("documents-%d", n), texts)
	if err != nil {
		return PagingRow{}, err
	}
	return p.ask(ctx, c, "documents", n, questions)
}

// load creates an agent with passages in archival storage, and waits until they have their vectors.
func (p *Paging) load(ctx context.Context, name string, texts []string) (string, error) {
	c, err := p.Client.CreateCollection(ctx, p.Prefix+name, "memgpt")
	if err != nil {
		return "", err
	}
	notes := make([]Note, len(texts))
	for i, text := range texts {
		notes[i] = Note{Content: text, Kind: "passage", Infer: new(false)}
	}
	lines, err := p.Client.AddNotes(ctx, c.ID, notes)
	if err != nil {
		return "", err
	}
	for _, l := range lines {
		if l.Error != nil {
			return "", l.Error
		}
	}
	return c.ID, Drain(ctx, p.Client, c.ID, len(lines), nil)
}

// pause waits a moment, or until ctx ends.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("wait: %w", ctx.Err())
	case <-time.After(20 * time.Millisecond):
		return nil
	}
}

// pagedRun is the part of a run that is measured.
type pagedRun struct {
	ID    string `json:"id"`
	Run   string `json:"run"` // while it goes
	State string `json:"state"`
	Stop  string `json:"stop_reason"`
	Reply string `json:"reply"`
	Error string `json:"error"`
	Steps []struct {
		Index  int    `json:"index"`
		Tool   string `json:"tool"`
		Result string `json:"result"`
	} `json:"steps"`
	Tokens struct {
		Prompt int64 `json:"prompt"`
	} `json:"tokens"`
}

// ask asks questions one after another, each in a run of its own.
func (p *Paging) ask(ctx context.Context, c, task string, size int, questions []pagedQuestion) (PagingRow, error) {
	row := PagingRow{Task: task, Size: size, Questions: len(questions)}
	n := float64(len(questions))
	began := time.Now()
	for _, q := range questions {
		run, err := p.Client.answer(ctx, c, q.text)
		if err != nil {
			return row, err
		}
		if run.State != "done" {
			return row, fmt.Errorf("%s: the run %s is %s: %s", task, run.ID, run.State, run.Error)
		}
		if run.Reply == q.want {
			row.Correct++
		} else {
			p.Logf("%s %d: %q, want %q (%s)", task, size, run.Reply, q.want, run.Stop)
		}
		for _, s := range run.Steps {
			if s.Tool == "archival_search" {
				row.Pages += 1 / n
			}
		}
		if len(run.Steps) > 0 {
			row.Steps += float64(run.Steps[len(run.Steps)-1].Index) / n
		}
		row.Prompt += float64(run.Tokens.Prompt) / n
	}
	row.Seconds = time.Since(began).Seconds() / n
	return row, nil
}

// answer posts a message to an agent and returns its run when it has ended.
func (c *Client) answer(ctx context.Context, collection, text string) (run pagedRun, err error) {
	path := "/v1/collections/" + url.PathEscape(collection)
	if err := c.do(ctx, http.MethodPost, path+"/events", map[string]any{"content": text, "wait": "done"}, &run); err != nil {
		return run, err
	}
	id := cmp.Or(run.ID, run.Run)
	for run.State != "done" && run.State != "failed" && run.State != "cancelled" {
		if err := pause(ctx); err != nil {
			return run, err
		}
		run = pagedRun{}
		if err := c.do(ctx, http.MethodGet, path+"/runs/"+url.PathEscape(id), nil, &run); err != nil {
			return run, err
		}
	}
	return run, nil
}

// PrintPaging prints the rows, and returns an error when an answer was wrong.
func PrintPaging(w io.Writer, rows []PagingRow) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', tabwriter.AlignRight)
	_, _ = fmt.Fprintln(tw, "task\tdepth, documents\tquestions\tcorrect\tsteps\tpages read\tprompt tokens\tseconds\t")
	wrong := 0
	for _, r := range rows {
		wrong += r.Questions - r.Correct
		_, _ = fmt.Fprintf(tw, "%s\t%d\t%d\t%.0f%%\t%.1f\t%.1f\t%.0f\t%.2f\t\n", r.Task, r.Size, r.Questions, 100*float64(r.Correct)/float64(max(1, r.Questions)), r.Steps, r.Pages, r.Prompt, r.Seconds)
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if wrong > 0 {
		return fmt.Errorf("%d answers are wrong, and the model never errs", wrong)
	}
	return nil
}
