package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxEvent bounds an event of a stream, in bytes.
const maxEvent = 16 << 20

// event is a server-sent event.
type event struct {
	name string
	data []byte
}

// stream calls each for the events of an answer until it ends, or each returns an error. It returns how many there were.
// A stream that breaks off is an error of an absent gateway.
func (c *client) stream(ctx context.Context, r request, each func(event) error) (n int, err error) {
	if r.header == nil {
		r.header = http.Header{}
	}
	r.header.Set("Accept", "text/event-stream")
	resp, err := c.do(ctx, r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	for e, err := range events(resp.Body) {
		if err != nil {
			return n, c.away(err)
		}
		n++
		if err := each(e); err != nil {
			return n, err
		}
	}
	return n, nil
}

// events yields the events of a stream. Comments, which keep a connection alive, are none.
func events(r io.Reader) func(yield func(event, error) bool) {
	return func(yield func(event, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxEvent)
		var e event
		for lines.Scan() {
			line := lines.Bytes()
			name, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			switch {
			case len(line) == 0:
				if e.data != nil && !yield(e, nil) {
					return
				}
				e = event{}
			case string(name) == "event":
				e.name = string(value)
			case string(name) == "data":
				if e.data != nil {
					e.data = append(e.data, '\n')
				}
				e.data = append(e.data, value...)
			}
		}
		if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
			yield(event{}, fmt.Errorf("an event has more than %d MiB", maxEvent>>20))
		} else if err != nil {
			yield(event{}, err)
		}
	}
}
