package tenant

import (
	"cmp"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// Or returns the limits with those of d in place of the ones that are not set.
func (l Limits) Or(d Limits) Limits {
	return Limits{
		RequestsPerMinute:   cmp.Or(l.RequestsPerMinute, d.RequestsPerMinute),
		RequestsPerSecond:   cmp.Or(l.RequestsPerSecond, d.RequestsPerSecond),
		Notes:               cmp.Or(l.Notes, d.Notes),
		Collections:         cmp.Or(l.Collections, d.Collections),
		Forks:               cmp.Or(l.Forks, d.Forks),
		StoredBytes:         cmp.Or(l.StoredBytes, d.StoredBytes),
		ModelTokensPerDay:   cmp.Or(l.ModelTokensPerDay, d.ModelTokensPerDay),
		QueuedJobs:          cmp.Or(l.QueuedJobs, d.QueuedJobs),
		ParseSecondsPerHour: cmp.Or(l.ParseSecondsPerHour, d.ParseSecondsPerHour),
	}
}

// LimitsPatch changes limits: nil keeps a limit, zero removes it.
type LimitsPatch struct {
	RequestsPerMinute   *int64
	RequestsPerSecond   *int64
	Notes               *int64
	Collections         *int64
	Forks               *int64
	StoredBytes         *int64
	ModelTokensPerDay   *int64
	QueuedJobs          *int64
	ParseSecondsPerHour *int64
}

func (p LimitsPatch) apply(l *Limits) {
	for _, x := range []struct {
		limit *int64
		patch *int64
	}{
		{&l.RequestsPerMinute, p.RequestsPerMinute},
		{&l.RequestsPerSecond, p.RequestsPerSecond},
		{&l.Notes, p.Notes},
		{&l.Collections, p.Collections},
		{&l.Forks, p.Forks},
		{&l.StoredBytes, p.StoredBytes},
		{&l.ModelTokensPerDay, p.ModelTokensPerDay},
		{&l.QueuedJobs, p.QueuedJobs},
		{&l.ParseSecondsPerHour, p.ParseSecondsPerHour},
	} {
		if x.patch != nil {
			*x.limit = *x.patch
		}
	}
}

// Check returns Invalid when a limit is negative, and names each such limit
// as a member of field.
func (l Limits) Check(field string) error {
	var bad []fault.Field
	for _, x := range []struct {
		name  string
		value int64
	}{
		{"requests_per_minute", l.RequestsPerMinute},
		{"requests_per_second", l.RequestsPerSecond},
		{"notes", l.Notes},
		{"collections", l.Collections},
		{"forks", l.Forks},
		{"stored_bytes", l.StoredBytes},
		{"model_tokens_per_day", l.ModelTokensPerDay},
		{"queued_jobs", l.QueuedJobs},
		{"parse_seconds_per_hour", l.ParseSecondsPerHour},
	} {
		if x.value < 0 {
			bad = append(bad, fault.Field{Field: field + "." + x.name, Reason: "must not be negative; 0 means no limit"})
		}
	}
	if len(bad) > 0 {
		return &fault.Error{Code: fault.Invalid, Message: field + ": a limit is negative", Fields: bad}
	}
	return nil
}
