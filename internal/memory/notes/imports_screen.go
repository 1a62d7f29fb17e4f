package notes

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// lineScreen reads lines of JSON without the secrets in their texts, so that the spool has none. Lines that are too long, or
// no JSON, or that escape the letters of a secret, pass as they are: the job screens each note again before it is written.
type lineScreen struct {
	ctx  context.Context //nolint:containedctx // of the one request that reads
	of   *memory.Collection
	from *bufio.Reader
	line []byte // the rest of the line that is read
	err  error
}

// screenLines returns the body of an import as its collection may store it. What a collection refuses is refused line by line
// by the job.
func screenLines(ctx context.Context, c *memory.Collection, body io.Reader) io.Reader {
	if c.Secrets() != memory.SecretsRedact {
		return body
	}
	return &lineScreen{ctx: ctx, of: c, from: bufio.NewReaderSize(body, maxLineBytes)}
}

// Read implements io.Reader.
func (l *lineScreen) Read(p []byte) (int, error) {
	if len(l.line) == 0 && l.err == nil {
		var line []byte
		line, l.err = l.from.ReadSlice('\n')
		if errors.Is(l.err, bufio.ErrBufferFull) {
			l.err = nil
		}
		l.line = line
		end := len(line)
		for end > 0 && (line[end-1] == '\n' || line[end-1] == '\r') {
			end--
		}
		if screened, err := l.of.ScreenJSON(l.ctx, "", line[:end]); err != nil {
			l.err = err
		} else if len(screened) != end || string(screened) != string(line[:end]) {
			l.line = slices.Concat(screened, line[end:])
		}
	}
	n := copy(p, l.line)
	l.line = l.line[n:]
	if len(l.line) == 0 && n == 0 {
		return 0, l.err
	}
	return n, nil
}
