package document

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/metrics"
	"strings"
	"sync"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// childEnv makes a process of this program a parser.
const childEnv = "SLIPBOX_PARSE_DOCUMENT"

// task is the value of childEnv.
type task struct {
	Media  Media  `json:"media"`
	Limits Limits `json:"limits"`
	Cache  string `json:"cache"`
}

// answer is what a parser writes to its output.
type answer struct {
	Pages   []string   `json:"pages,omitempty"`
	Code    fault.Code `json:"code,omitempty"` // of the error
	Message string     `json:"message,omitempty"`
}

// exitMemory is the status of a parser that has grown beyond its limit.
const exitMemory = 17

// Parser extracts the text of files in processes of its own program.
type Parser struct {
	cache   string
	compile sync.Once
}

// NewParser returns a parser. The reader of PDFs is compiled once, and its machine code kept in the folder cache, which is made
// when the first PDF comes and must not be writable by others. If it is "", or cannot be written, each PDF takes 2 s longer.
func NewParser(cache string) *Parser { return &Parser{cache: cache} }

// DefaultCache returns a folder for NewParser in the user's cache directory, or "" when the user has none.
func DefaultCache() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "slipbox", "pdf")
}

// Parse extracts the text of a file in a process of its own; see Extract. TooLarge too when the process was ended
// because it took too much time or memory, Invalid when it crashed.
func (p *Parser) Parse(ctx context.Context, media Media, data []byte, l Limits) ([]string, error) {
	if media == PDF && p.cache != "" {
		// No file is read meanwhile: concurrent processes would each take the memory of a compiler.
		p.compile.Do(func() { _, _ = p.run(context.WithoutCancel(ctx), PDF, nil, Limits{}) })
	}
	return p.run(ctx, media, data, l)
}

func (p *Parser) run(ctx context.Context, media Media, data []byte, l Limits) ([]string, error) {
	l = l.OrDefault()
	self, err := os.Executable()
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the program does not know its own file")
	}
	raw, err := json.Marshal(task{media, l, p.cache})
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "encode the task")
	}
	limited, cancel := context.WithTimeout(ctx, l.Time)
	defer cancel()
	cmd := exec.CommandContext(limited, self) //nolint:gosec // this program itself
	// Nothing of this process's environment: a parser needs no secret.
	cmd.Env = []string{childEnv + "=" + string(raw), fmt.Sprintf("GOMEMLIMIT=%d", l.Memory)}
	cmd.Stdin = bytes.NewReader(data)
	out := &bounded{most: 8*l.Text + 4096} // JSON escapes
	cmd.Stdout = out
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if limited.Err() != nil {
		return nil, fault.New(fault.TooLarge, "reading the file took more than %s", l.Time)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		if exit.ExitCode() == exitMemory || exit.ExitCode() < 0 { // it was killed
			return nil, fault.New(fault.TooLarge, "reading the file took more than %d bytes of memory", l.Memory)
		}
		return nil, fault.Wrap(err, fault.Invalid, "the file is damaged")
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the parser could not be started")
	}
	var a answer
	if err := json.Unmarshal(out.b.Bytes(), &a); err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the parser gave no answer")
	}
	if a.Code != "" {
		return nil, fault.New(a.Code, "%s", a.Message)
	}
	return a.Pages, nil
}

// bounded keeps the first bytes that are written, and refuses more.
type bounded struct {
	b    bytes.Buffer
	most int
}

// Write implements io.Writer.
func (w *bounded) Write(p []byte) (int, error) {
	if w.b.Len()+len(p) > w.most {
		return 0, io.ErrShortWrite
	}
	return w.b.Write(p)
}

// ServeChild parses and exits when this process was started by a Parser, and returns otherwise. Every program whose
// process has a Parser calls it first.
func ServeChild() {
	raw := os.Getenv(childEnv)
	if raw == "" {
		return
	}
	var t task
	if err := json.Unmarshal([]byte(raw), &t); err != nil {
		os.Exit(2)
	}
	go watchMemory(t.Limits.Memory)
	os.Exit(serveChild(t, os.Stdin, os.Stdout))
}

func serveChild(t task, in io.Reader, out io.Writer) int {
	data, err := io.ReadAll(in)
	if err != nil {
		return 2
	}
	var a answer
	if a.Pages, err = Extract(t.Media, data, t.Limits, t.Cache); err != nil {
		a.Code = fault.CodeOf(err)
		a.Message = "the file cannot be read"
		if f, ok := errors.AsType[*fault.Error](err); ok {
			a.Message = strings.ToValidUTF8(f.Message, "\uFFFD")
		}
	}
	if usedMemory() > t.Limits.Memory { // since the last look of watchMemory
		return exitMemory
	}
	if err := json.NewEncoder(out).Encode(a); err != nil {
		return 2
	}
	return 0
}

// watchMemory ends the process when it has more memory than it may.
func watchMemory(most uint64) {
	for range time.Tick(10 * time.Millisecond) {
		if usedMemory() > most {
			os.Exit(exitMemory)
		}
	}
}

// usedMemory returns the bytes that the process has from the system.
func usedMemory() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64() - sample[1].Value.Uint64()
}
