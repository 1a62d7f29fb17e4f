package api

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// inFlight counts the memory of the request bodies that are read or handled now. A body with its
// decoded form takes several times its size, so this bounds what requests take together.
type inFlight struct {
	whole, each int64 // limits of the process and of a tenant, in bytes

	mu       sync.Mutex
	used     int64
	byTenant map[uuid.UUID]int64
}

func newInFlight(whole, each int64) *inFlight {
	return &inFlight{whole: whole, each: each, byTenant: map[uuid.UUID]int64{}}
}

// retryInFlight is the wait that a refused client is asked for. Most requests are over in less.
const retryInFlight = time.Second

// share is what one request holds of inFlight. The zero tenant is the operator.
type share struct {
	of     *inFlight
	tenant uuid.UUID
	held   int64
}

// resize changes the share to n bytes. RateLimited when the tenant would hold too much, Unavailable
// when the process would.
func (s *share) resize(n int64) error {
	f := s.of
	f.mu.Lock()
	defer f.mu.Unlock()
	more := n - s.held
	switch {
	case more > 0 && f.byTenant[s.tenant]+more > f.each:
		return &fault.Error{
			Code: fault.RateLimited, RetryAfter: retryInFlight,
			Message: fmt.Sprintf("the bodies of the tenant's requests in progress are larger than %d bytes together; send fewer of them at once", f.each),
		}
	case more > 0 && f.used+more > f.whole:
		return &fault.Error{
			Code: fault.Unavailable, RetryAfter: retryInFlight,
			Message: "the gateway has too many large requests in progress; try again later",
		}
	}
	s.held = n
	f.used += more
	if f.byTenant[s.tenant] += more; f.byTenant[s.tenant] == 0 {
		delete(f.byTenant, s.tenant)
	}
	return nil
}

// release ends the share. It may be called again.
func (s *share) release() { _ = s.resize(0) } // less is never refused

// firstRead is the memory for the beginning of a body, in bytes. More is reserved only for what has
// arrived, so that a client cannot reserve memory by its Content-Length alone.
const firstRead = 64 << 10

// readAll reads a body of at most limit bytes into memory that s admits.
func readAll(r io.Reader, limit int64, s *share) ([]byte, error) {
	limit++ // for the read that finds the end
	var raw []byte
	for size := min(firstRead, limit); ; size = min(2*size, max(limit, size+1)) {
		if err := s.resize(size); err != nil {
			return nil, err
		}
		raw = append(make([]byte, 0, size), raw...)
		for len(raw) < cap(raw) {
			n, err := r.Read(raw[len(raw):cap(raw)])
			raw = raw[:len(raw)+n]
			if errors.Is(err, io.EOF) {
				return raw, nil
			}
			if err != nil {
				return nil, bodyError(err)
			}
		}
	}
}
