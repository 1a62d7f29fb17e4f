package memory

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/google/uuid"
)

// Backoff returns the wait of a job, or of a message, before its next try, after so many failed ones:
// 1 s, 5 s, 30 s, 1 min, then twice the one before, up to an hour. From the third on
// it is shorter by up to a fifth, differently for each job and try, so that jobs
// that failed together are not tried together for ever.
func Backoff(job uuid.UUID, failed int) time.Duration {
	const (
		quick   = 2 // failures for which the short waits suffice
		longest = time.Hour
	)
	switch {
	case failed < 1:
		return 0
	case failed <= quick:
		return []time.Duration{time.Second, 5 * time.Second}[failed-1]
	}
	wait := 30 * time.Second
	for range failed - quick - 1 {
		if wait *= 2; wait >= longest {
			wait = longest
			break
		}
	}
	h := fnv.New64a()
	_, _ = h.Write(job[:])
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(failed)))
	return wait - time.Duration(h.Sum64()%uint64(wait/5)) //nolint:gosec // positive, below an hour
}
