package tenant

import "github.com/slipboxhq/slipbox/internal/fault"

// LimitsPatch changes limits: nil keeps a limit, zero removes it.
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
		limit *int64
		patch *int64
	}{
		{&l.RequestsPerMinute, p.RequestsPerMinute},
		{&l.Notes, p.Notes},
		{&l.Collections, p.Collections},
		{&l.Forks, p.Forks},
		{&l.StoredBytes, p.StoredBytes},
		{&l.ModelTokensPerDay, p.ModelTokensPerDay},
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
