package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/slipboxhq/slipbox/internal/clip"
)

// Relay carries messages between standard input and output, one for each line, and the route /mcp of a gateway.
type Relay struct {
	URL    string // of the route
	Key    string
	Client *http.Client
	Log    *slog.Logger

	mu      sync.Mutex // of what follows, and of writing
	out     io.Writer
	version string // that was negotiated; "": none yet
	running map[string]context.CancelFunc
}

const (
	// maxLine is the size of a message in bytes: what the route accepts.
	maxLine = 2 << 20
	// relayedAtOnce is how many messages are under way concurrently.
	relayedAtOnce = 16
	// relayGrace is how long answers may take after the input has ended.
	relayGrace = 10 * time.Second
)

// Run relays until the input ends and what it asked is answered, or ctx ends.
func (r *Relay) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.out, r.running = out, map[string]context.CancelFunc{}
	lines, failed := make(chan []byte), make(chan error, 1)
	go func() { // the read of a terminal or pipe cannot be interrupted, so it is not waited for
		failed <- readLines(ctx, in, lines)
	}()
	var sending sync.WaitGroup
	defer sending.Wait()
	places := make(chan struct{}, relayedAtOnce)
	for {
		select {
		case line := <-lines:
			m, ok := r.take(line)
			if !ok {
				continue
			}
			select {
			case places <- struct{}{}:
			case <-ctx.Done():
				return nil
			}
			own, stop := context.WithCancel(ctx)
			r.follow(m, stop)
			sending.Go(func() {
				defer func() { stop(); r.unfollow(m); <-places }()
				r.send(own, m)
			})
		case err := <-failed:
			timer := time.AfterFunc(relayGrace, cancel)
			sending.Wait()
			timer.Stop()
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// readLines sends the lines of in until it ends. A line that is too long arrives empty.
func readLines(ctx context.Context, in io.Reader, lines chan<- []byte) error {
	reader := bufio.NewReaderSize(in, 64<<10)
	for {
		var line []byte
		long := false
		for {
			part, err := reader.ReadSlice('\n')
			if long = long || len(line)+len(part) > maxLine; !long {
				line = append(line, part...)
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if err != nil && len(line) == 0 && !long {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return fmt.Errorf("read the standard input: %w", err)
			}
			break
		}
		if long {
			line = nil
		} else if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		select {
		case lines <- line:
		case <-ctx.Done():
			return nil
		}
	}
}

// message is what a relay needs of a message.
type message struct {
	raw    []byte
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
}

// Codes of JSON-RPC.
const (
	codeParse    = -32700
	codeInternal = -32603
)

// take reads a message. ok is false for one that is not sent: it is refused, or cancels another.
func (r *Relay) take(line []byte) (m message, ok bool) {
	if line == nil {
		r.refuse(nil, codeParse, fmt.Sprintf("a message has more than %d bytes", maxLine))
		return m, false
	}
	m.raw = line
	if bytes.HasPrefix(line, []byte("[")) {
		return m, true // a batch of the version that has them
	}
	if err := json.Unmarshal(line, &m); err != nil && !json.Valid(line) {
		r.refuse(nil, codeParse, "a line is not valid JSON")
		return m, false
	}
	if m.Method == "notifications/cancelled" {
		r.mu.Lock()
		stop := r.running[string(m.Params.RequestID)]
		r.mu.Unlock()
		if stop != nil {
			stop()
		}
		return m, false
	}
	return m, true
}

func (r *Relay) follow(m message, stop context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(m.ID) > 0 {
		r.running[string(m.ID)] = stop
	}
}

func (r *Relay) unfollow(m message) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.running, string(m.ID))
}

// send posts a message and writes the answer.
func (r *Relay) send(ctx context.Context, m message) {
	answer, err := r.post(ctx, m)
	switch {
	case ctx.Err() != nil: // canceled: nobody waits
	case err != nil:
		r.Log.WarnContext(ctx, "the gateway did not answer", "method", m.Method, "error", err)
		r.refuse(m.ID, codeInternal, err.Error())
	default:
		r.write(answer...)
	}
}

func (r *Relay) post(ctx context.Context, m message) (answers [][]byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(m.raw))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+r.Key)
	req.Header.Set("Content-Type", mediaJSON)
	req.Header.Set("Accept", mediaJSON+", text/event-stream")
	r.describe(req.Header, m)
	resp, err := r.Client.Do(req)
	if err != nil {
		return nil, errors.New("the gateway cannot be reached; is it running?")
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return nil, errors.New("the answer of the gateway ended early")
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		for line := range bytes.Lines(body) {
			if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
				answers = append(answers, bytes.TrimSpace(data))
			}
		}
		return answers, nil
	}
	var known struct {
		JSONRPC string `json:"jsonrpc"`
		Detail  string `json:"detail"`
		Result  struct {
			Version string `json:"protocolVersion"`
		} `json:"result"`
	}
	_ = json.Unmarshal(body, &known)
	if resp.StatusCode >= http.StatusBadRequest && known.JSONRPC == "" {
		if known.Detail == "" {
			known.Detail = clip.Runes(string(bytes.TrimSpace(body)), maxErrorText)
		}
		return nil, fmt.Errorf("%s (%d)", known.Detail, resp.StatusCode)
	}
	if m.Method == "initialize" {
		r.mu.Lock()
		r.version = known.Result.Version
		r.mu.Unlock()
	}
	if body = bytes.TrimSpace(body); len(body) > 0 {
		answers = append(answers, body)
	}
	return answers, nil
}

// describe sets the headers that repeat parts of a message.
func (r *Relay) describe(h http.Header, m message) {
	r.mu.Lock()
	version := r.version
	r.mu.Unlock()
	if m.Params.Meta.Version != "" {
		version = m.Params.Meta.Version
	}
	if version == "" || m.Method == "initialize" {
		return
	}
	h.Set(headerVersion, headerValue(version))
	h.Set("Mcp-Method", headerValue(m.Method))
	switch m.Method {
	case "tools/call", "prompts/get":
		h.Set("Mcp-Name", headerValue(m.Params.Name))
	case "resources/read":
		h.Set("Mcp-Name", headerValue(m.Params.URI))
	}
}

// headerValue returns a text without what a header cannot have; the gateway then says that the two differ.
func headerValue(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return -1
		}
		return r
	}, s)
}

// refuse answers a message with an error. A notification is not answered.
func (r *Relay) refuse(id json.RawMessage, code int, text string) {
	if id == nil {
		if code != codeParse {
			return
		}
		id = json.RawMessage("null")
	}
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": text}})
	if err != nil {
		return
	}
	r.write(raw)
}

// write writes answers, one for each line.
func (r *Relay) write(answers ...[]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range answers {
		var line bytes.Buffer
		if json.Compact(&line, a) != nil {
			continue
		}
		line.WriteByte('\n')
		if _, err := r.out.Write(line.Bytes()); err != nil {
			r.Log.Warn("the standard output is closed", "error", err)
			return
		}
	}
}
