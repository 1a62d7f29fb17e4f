package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
)

// Limits of what callers write; those of a note's fields are in note.go.
const (
	MaxBulkLines         = 10_000    // lines of one bulk
	MaxBulkLineBytes     = 256 << 10 // of one line of a bulk
	MaxAttributesDepth   = 16        // nested objects and arrays
	MaxLinks             = 1_000     // outgoing links set by one call
	MaxPolicyConfigBytes = 16 << 10
	MaxTTLSeconds        = 100 * 365 * 24 * 3600
)

// Validation collects everything that is wrong with an input, so that callers learn of it together.
type Validation struct {
	Fields    []fault.Field
	Malformed bool
}

// Addf adds a field and the reason why it is refused.
func (r *Validation) Addf(field, format string, args ...any) {
	r.Fields = append(r.Fields, fault.Field{Field: field, Reason: fmt.Sprintf(format, args...)})
}

// Add adds the fields of a fault; nil adds nothing.
func (r *Validation) Add(err error) {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		r.Fields = append(r.Fields, f.Fields...)
		r.Malformed = r.Malformed || f.Code == fault.Malformed
	}
}

// Err returns nil, or one fault that names every field. Its code is Malformed if a text was not
// valid UTF-8.
func (r *Validation) Err() error {
	if len(r.Fields) == 0 {
		return nil
	}
	code := fault.Invalid
	if r.Malformed {
		code = fault.Malformed
	}
	first := r.Fields[0]
	return &fault.Error{Code: code, Message: first.Field + ": " + first.Reason, Fields: r.Fields}
}

// Text checks the encoding and the size in bytes.
func (r *Validation) Text(field, s string, limit int) {
	switch {
	case len(s) > limit:
		r.Addf(field, "at most %d bytes; it has %d", limit, len(s))
	case !utf8.ValidString(s):
		r.Malformed = true
		r.Addf(field, "not valid UTF-8")
	case strings.IndexByte(s, 0) >= 0:
		r.Addf(field, "must not contain the character U+0000")
	}
}

// Content checks the content of a note.
func (r *Validation) Content(s string) {
	if strings.TrimSpace(s) == "" {
		r.Addf("content", "must not be empty or blank")
		return
	}
	r.Text("content", s, MaxContentBytes)
}

// Terms checks a list and returns it without repeats.
func (r *Validation) Terms(field string, list []string, limit int) []string {
	if len(list) > limit {
		r.Addf(field, "at most %d; there are %d", limit, len(list))
		return nil
	}
	out := make([]string, 0, len(list))
	for i, t := range list {
		at := field + "." + strconv.Itoa(i)
		if strings.TrimSpace(t) == "" {
			r.Addf(at, "must not be empty or blank")
			continue
		}
		r.Text(at, t, MaxTermBytes)
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// Label checks a short text that must not be blank.
func (r *Validation) Label(field, s string) {
	if strings.TrimSpace(s) == "" {
		r.Addf(field, "must not be empty or blank")
		return
	}
	r.Text(field, s, MaxTermBytes)
}

// ElementField returns the name of a list element as the fields of faults have it.
func ElementField(field string, i int) string { return field + "." + strconv.Itoa(i) }

// AddUnder adds the fields of a fault about a list element, below the name of that element.
func (r *Validation) AddUnder(err error, field string, i int) {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return
	}
	for _, x := range f.Fields {
		r.Fields = append(r.Fields, fault.Field{Field: ElementField(field, i) + "." + x.Field, Reason: x.Reason})
	}
	r.Malformed = r.Malformed || f.Code == fault.Malformed
}

// Category checks the category of a note.
func (r *Validation) Category(s string) {
	if strings.TrimSpace(s) == "" {
		r.Addf("category", "must not be empty or blank")
		return
	}
	r.Text("category", s, MaxCategoryBytes)
}

// Fraction checks a number between 0 and 1.
func (r *Validation) Fraction(field string, x float64) {
	if math.IsNaN(x) || x < 0 || x > 1 {
		r.Addf(field, "must be between 0 and 1")
	}
}

// Object checks free JSON, such as attributes and metadata: its values, depth and size.
func (r *Validation) Object(field string, m map[string]any) {
	before := len(r.Fields)
	r.Value(field, m, 1)
	if len(r.Fields) > before || r.Malformed {
		return
	}
	b, err := json.Marshal(m)
	if err != nil {
		r.Addf(field, "not JSON")
		return
	}
	if len(b) > MaxAttributesBytes {
		r.Addf(field, "at most %d bytes as JSON; it has %d", MaxAttributesBytes, len(b))
	}
}

// Value checks a value of free JSON. depth is its nesting, from 1.
func (r *Validation) Value(at string, v any, depth int) {
	if depth > MaxAttributesDepth+1 {
		r.Addf(at, "nested deeper than %d", MaxAttributesDepth)
		return
	}
	switch x := v.(type) {
	case nil, bool, int, int64:
	case string:
		r.Text(at, x, math.MaxInt)
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			r.Addf(at, "must be a finite number")
		}
	case json.Number:
		if f, err := x.Float64(); err != nil || math.IsInf(f, 0) {
			r.Addf(at, "the number is too large")
		}
	case []any:
		for i, e := range x {
			r.Value(at+"."+strconv.Itoa(i), e, depth+1)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			r.Text(at, k, math.MaxInt)
			r.Value(at+"."+k, x[k], depth+1)
		}
	default:
		r.Addf(at, "not a JSON value")
	}
}

// Expiry checks when a note expires, of which a caller gives the time or how many seconds there are left, and returns the time;
// zero: never.
func (r *Validation) Expiry(at *time.Time, ttlSeconds *int64, now time.Time) time.Time {
	switch {
	case at != nil && ttlSeconds != nil:
		r.Addf("ttl_seconds", "must not be set beside expires_at")
		return time.Time{}
	case ttlSeconds != nil:
		end, err := Expiry(ttlSeconds, 0, now)
		r.Add(err)
		return end
	case at == nil:
		return time.Time{}
	}
	end := Instant(*at)
	switch {
	case !end.After(now):
		r.Addf("expires_at", "must be in the future")
	case end.Year() > 9999:
		r.Addf("expires_at", "must not be after the year 9999")
	}
	return end
}

// ParseExpiry returns when something expires, from the two fields that say it, as Expiry does; zero: never.
func ParseExpiry(at *string, ttlSeconds *int64, now time.Time) (time.Time, error) {
	var r Validation
	var end *time.Time
	if at != nil {
		t, err := filter.ParseTime(*at)
		if err != nil {
			return t, fault.InvalidField("expires_at", "must be %s", TimeForm)
		}
		end = &t
	}
	return r.Expiry(end, ttlSeconds, now), r.Err()
}

// TimeForm describes how a time is written.
const TimeForm = "a time in RFC 3339, or YYYYMMDDHHmm"

// EventTime checks the bounds of event time and returns the time in the store's precision, and in the zone of its writer
// ([Localize]); now is in the zone of the collection.
func (r *Validation) EventTime(field string, t, now time.Time) time.Time {
	t = EventInstant(Localize(t, now.Location()))
	switch {
	case t.Before(EarliestEvent):
		r.Addf(field, "must not be before %d", EarliestEvent.Year())
	case t.After(now.Add(MaxEventAhead)):
		r.Addf(field, "must not be more than %.0f minutes ahead", MaxEventAhead.Minutes())
	}
	return t
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Instant returns a time as it is stored: UTC, truncated to microseconds.
func Instant(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// ParseEventTime parses RFC 3339 with any offset, or YYYYMMDDHHmm in UTC, and checks the bounds of
// event time. The result has microseconds and keeps the offset ([filter.ParseLocalTime]). field names the input in the fault.
func ParseEventTime(field, s string, now time.Time) (time.Time, error) {
	t, err := filter.ParseLocalTime(s)
	if err != nil {
		return time.Time{}, fault.InvalidField(field, "must be %s", TimeForm)
	}
	var r Validation
	r.EventTime(field, t, now)
	return t, r.Err()
}

// Check returns a fault if a link is too long.
func (l *Link) Check() error {
	var r Validation
	r.Text("relation", l.Relation, MaxRelationBytes)
	r.Fraction("confidence", l.Confidence)
	if b, err := json.Marshal(l.Attributes); err != nil {
		r.Addf("attributes", "not JSON")
	} else {
		r.Text("attributes", string(b), MaxAttributesBytes)
	}
	return r.Err()
}

// Names in Note.Supplied.
const (
	FieldKeywords = "keywords"
	FieldContext  = "context"
	FieldTags     = "tags"
)

// Size returns how many bytes a note counts for in quotas: its texts and attributes.
func (n *Note) Size() int64 {
	size := len(n.Content) + len(n.Context) + len(n.Category) + len(n.Key)
	for _, t := range n.Keywords {
		size += len(t)
	}
	for _, t := range n.Tags {
		size += len(t)
	}
	if len(n.Attributes) > 0 {
		if b, err := json.Marshal(n.Attributes); err == nil {
			size += len(b)
		}
	}
	return int64(size)
}
