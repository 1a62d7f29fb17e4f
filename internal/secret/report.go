package secret

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// Report collects the kinds of secrets that were redacted while a request was served, for its answer. It is safe for
// concurrent use.
type Report struct {
	mu    sync.Mutex
	kinds []string
}

type reportKey struct{}

// WithReport returns a context in which Note adds to the report.
func WithReport(ctx context.Context) (context.Context, *Report) {
	r := &Report{}
	return context.WithValue(ctx, reportKey{}, r), r
}

// Note adds kinds to the report of the context, if it has one.
func Note(ctx context.Context, kinds ...string) {
	r, ok := ctx.Value(reportKey{}).(*Report)
	if !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, k := range kinds {
		if !slices.Contains(r.kinds, k) {
			r.kinds = append(r.kinds, k)
		}
	}
}

// Kinds returns the kinds, each once, in order of their names; nil for none.
func (r *Report) Kinds() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(slices.Values(r.kinds))
}

// Names reports whether the name of a field says that its value is secret: "password", "api_key".
func Names(field string) bool {
	low := strings.ToLower(field)
	for _, w := range []string{"pass", "pwd", "secret", "token", "key", "pin", "cvv", "cvc"} {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}
