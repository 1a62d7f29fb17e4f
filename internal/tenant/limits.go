package tenant

import "github.com/slipboxhq/slipbox/internal/fault"

// LimitsPatch sets limits; nil leaves one as it is, zero takes it away.
type LimitsPatch struct {
	RequestsPerMinute *int64
	Notes             *int64
	Collections       *int64
	Forks             *int64
	StoredBytes       *int64
	ModelTokensPerDay *int64
}

func (p LimitsPatch) apply(l *Limits) {
	for _, x := range []struct {
		to   *int64
		from *int64
	}{
		{&l.RequestsPerMinute, p.RequestsPerMinute},
		{&l.Notes, p.Notes},
		{&l.Collections, p.Collections},
		{&l.Forks, p.Forks},
		{&l.StoredBytes, p.StoredBytes},
		{&l.ModelTokensPerDay, p.ModelTokensPerDay},
	} {
		if x.from != nil {
			*x.to = *x.from
		}
	}
}

// Check refuses negative limits, naming each below the given field (Invalid).
func (l Limits) Check(field string) error {
	var bad []fault.Field
	for _, x := range []struct {
		name  string
		value int64
	}{
		{"requests_per_minute", l.RequestsPerMinute},
		{"notes", l.Notes},
		{"collections", l.Collections},
		{"forks", l.Forks},
		{"stored_bytes", l.StoredBytes},
		{"model_tokens_per_day", l.ModelTokensPerDay},
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
