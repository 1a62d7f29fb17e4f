package memoryos

import (
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/slipboxhq/slipbox/internal/text"
)

// unreadableRecency is the recency of a session whose last visit cannot be read.
const unreadableRecency = 0.1

// recency returns exp(-Δt/tau), 1 at the time of the last visit. Without a last visit it is 1. A last visit in the
// future, after a clock was set back, counts as now.
func recency(last, now time.Time, tau time.Duration) float64 {
	switch since := now.Sub(last); {
	case last.IsZero() || since <= 0:
		return 1
	case tau <= 0:
		return 0
	default:
		return math.Exp(-float64(since) / float64(tau))
	}
}

// visit is when a session was last visited.
type visit struct {
	of         string    // as the session keeps it, RFC 3339; "": never
	at         time.Time // zero: never, or it cannot be read
	unreadable bool
}

func readVisit(of string) visit {
	if of == "" {
		return visit{}
	}
	at, err := time.Parse(time.RFC3339Nano, of)
	return visit{of: of, at: at, unreadable: err != nil}
}

// orAccess returns the later one of a visit and of an access. A visit that cannot be read stays so.
func (v visit) orAccess(at time.Time) visit {
	if !v.unreadable && at.After(v.at) {
		v.at = at
	}
	return v
}

// recency returns the recency of a visit; of one that cannot be read it is 0.1.
func (v visit) recency(now time.Time, tau time.Duration) float64 {
	if v.unreadable {
		return unreadableRecency
	}
	return recency(v.at, now, tau)
}

// Heat returns alpha·visits + beta·interaction + gamma·recency.
func (c *Config) Heat(visits, interaction int64, recency float64) float64 {
	return c.Alpha*float64(visits) + c.Beta*float64(interaction) + c.Gamma*recency
}

// foldAll returns keywords in the form in which they are compared, each once.
func foldAll(list []string) []string {
	out := make([]string, 0, len(list))
	for _, k := range list {
		if k = text.Fold(k); k != "" && !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// jaccard returns how many keywords two lists share, as a share of all that they have. Both are folded. Of two empty lists it
// is 0.
func jaccard(a, b []string) float64 {
	both := 0
	for _, k := range b {
		if slices.Contains(a, k) {
			both++
		}
	}
	if both == 0 {
		return 0
	}
	return float64(both) / float64(len(a)+len(b)-both)
}

// marksOf returns a set of bits that has one for each keyword: lists whose marks have none in common share no keyword.
func marksOf(keywords []string) (marks uint64) {
	for _, k := range keywords {
		h := fnv.New64a()
		_, _ = h.Write([]byte(k))
		marks |= 1 << (h.Sum64() >> 58)
	}
	return marks
}

// match returns how well a theme fits a session: the cosine of their vectors, and weight times the Jaccard
// index of their keywords.
func match(cosine, weight float64, theme, session []string) float64 {
	return cosine + weight*jaccard(theme, session)
}
