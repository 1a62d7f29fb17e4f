package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
)

// More limits of what callers write; those of a note's fields stand in note.go.
const (
	MaxBulkLines         = 10_000 // lines of one bulk
	MaxAttributesDepth   = 16     // nested objects and arrays
	MaxLinks             = 1_000  // outgoing links set by one call
	MaxPolicyConfigBytes = 16 << 10
	MaxTTLSeconds        = 100 * 365 * 24 * 3600
)

// refusals gathers what is wrong with an input, so that a caller hears of all
// of it at once.
type refusals struct {
	fields    []fault.Field
	malformed bool
}

func (r *refusals) addf(field, format string, args ...any) {
	r.fields = append(r.fields, fault.Field{Field: field, Reason: fmt.Sprintf(format, args...)})
}

// err gives nil, or one fault naming every field; text that is no UTF-8 makes
// it Malformed.
func (r *refusals) err() error {
	if len(r.fields) == 0 {
		return nil
	}
	code := fault.Invalid
	if r.malformed {
		code = fault.Malformed
	}
	first := r.fields[0]
	return &fault.Error{Code: code, Message: first.Field + ": " + first.Reason, Fields: r.fields}
}

// text checks encoding and size.
func (r *refusals) text(field, s string, limit int) {
	switch {
	case len(s) > limit:
		r.addf(field, "at most %d bytes; it has %d", limit, len(s))
	case !utf8.ValidString(s):
		r.malformed = true
		r.addf(field, "not valid UTF-8")
	case strings.IndexByte(s, 0) >= 0:
		r.addf(field, "must not contain the character U+0000")
	}
}

func (r *refusals) content(s string) {
	if strings.TrimSpace(s) == "" {
		r.addf("content", "must not be empty or blank")
		return
	}
	r.text("content", s, MaxContentBytes)
}

// terms checks a list and drops repeats, keeping the order of the first ones.
func (r *refusals) terms(field string, list []string, limit int) []string {
	if len(list) > limit {
		r.addf(field, "at most %d; there are %d", limit, len(list))
		return nil
	}
	out := make([]string, 0, len(list))
	for i, t := range list {
		at := field + "." + strconv.Itoa(i)
		if strings.TrimSpace(t) == "" {
			r.addf(at, "must not be empty or blank")
			continue
		}
		r.text(at, t, MaxTermBytes)
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// label checks a short text of one part.
func (r *refusals) label(field, s string) {
	if strings.TrimSpace(s) == "" {
		r.addf(field, "must not be empty or blank")
		return
	}
	r.text(field, s, MaxTermBytes)
}

// inList names an element of a list as fields of faults do.
func inList(field string, i int) string { return field + "." + strconv.Itoa(i) }

// under takes over what is wrong with an element of a list.
func (r *refusals) under(err error, field string, i int) {
	f, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return
	}
	for _, x := range f.Fields {
		r.fields = append(r.fields, fault.Field{Field: inList(field, i) + "." + x.Field, Reason: x.Reason})
	}
	r.malformed = r.malformed || f.Code == fault.Malformed
}

func (r *refusals) category(s string) {
	if strings.TrimSpace(s) == "" {
		r.addf("category", "must not be empty or blank")
		return
	}
	r.text("category", s, MaxCategoryBytes)
}

func (r *refusals) fraction(field string, x float64) {
	if math.IsNaN(x) || x < 0 || x > 1 {
		r.addf(field, "must be between 0 and 1")
	}
}

// object checks free JSON (attributes, metadata): its values, its depth and its size.
func (r *refusals) object(field string, m map[string]any) {
	before := len(r.fields)
	r.value(field, m, 1)
	if len(r.fields) > before || r.malformed {
		return
	}
	b, err := json.Marshal(m)
	if err != nil {
		r.addf(field, "not JSON")
		return
	}
	if len(b) > MaxAttributesBytes {
		r.addf(field, "at most %d bytes as JSON; it has %d", MaxAttributesBytes, len(b))
	}
}

func (r *refusals) value(at string, v any, depth int) {
	if depth > MaxAttributesDepth+1 {
		r.addf(at, "nested deeper than %d", MaxAttributesDepth)
		return
	}
	switch x := v.(type) {
	case nil, bool, int, int64:
	case string:
		r.text(at, x, math.MaxInt)
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			r.addf(at, "must be a finite number")
		}
	case json.Number:
		if f, err := x.Float64(); err != nil || math.IsInf(f, 0) {
			r.addf(at, "a number that large cannot be kept")
		}
	case []any:
		for i, e := range x {
			r.value(at+"."+strconv.Itoa(i), e, depth+1)
		}
	case map[string]any:
		for _, k := range sortedKeys(x) {
			r.text(at, k, math.MaxInt)
			r.value(at+"."+k, x[k], depth+1)
		}
	default:
		r.addf(at, "not a JSON value")
	}
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// timeForm says how a time is written.
const timeForm = "a time as RFC 3339 or YYYYMMDDHHmm has it"

// eventTime checks the bounds of event time and gives it in the store's precision.
func (r *refusals) eventTime(field string, t, now time.Time) time.Time {
	t = Instant(t)
	switch {
	case t.Before(EarliestEvent):
		r.addf(field, "must not lie before %d", EarliestEvent.Year())
	case t.After(now.Add(MaxEventAhead)):
		r.addf(field, "must not lie more than %.0f minutes ahead", MaxEventAhead.Minutes())
	}
	return t
}

// Instant gives a time as it is kept: UTC, cut to microseconds.
func Instant(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// ParseEventTime reads RFC 3339 with any offset, or YYYYMMDDHHmm in UTC, as UTC
// in microseconds, within the bounds of event time. field names the input in the fault.
func ParseEventTime(field, s string, now time.Time) (time.Time, error) {
	t, err := filter.ParseTime(s)
	if err != nil {
		return time.Time{}, fault.InvalidField(field, "must be %s", timeForm)
	}
	var r refusals
	t = r.eventTime(field, t, now)
	return t, r.err()
}

// note checks a new note and gives it as it is to be stored. OccurredAt stays
// zero when the caller left it out.
func (in *NewNote) note(now time.Time, actor string) (Note, error) {
	var r refusals
	out := Note{
		ID: in.ID, Kind: in.Kind, Key: in.Key, Content: in.Content, Attributes: in.Attributes,
		Category: DefaultCategory, Importance: DefaultImportance, State: StateRaw,
		Provenance: Provenance{Actor: actor},
	}
	if out.Kind == "" {
		out.Kind = KindNote
	}
	if !slices.Contains(Kinds(), out.Kind) {
		r.addf("kind", "must be one of %v", Kinds())
	}
	r.text("key", in.Key, MaxKeyBytes)
	r.content(in.Content)
	if in.Context != nil {
		r.text("context", *in.Context, MaxContextBytes)
		out.Context = *in.Context
	}
	out.Keywords = r.terms("keywords", in.Keywords, MaxKeywords)
	out.Tags = r.terms("tags", in.Tags, MaxTags)
	if in.Category != nil {
		r.category(*in.Category)
		out.Category = *in.Category
	}
	if out.Attributes == nil {
		out.Attributes = map[string]any{}
	}
	r.object("attributes", out.Attributes)
	if in.Importance != nil {
		r.fraction("importance", *in.Importance)
		out.Importance = *in.Importance
	}
	if in.OccurredAt != nil {
		out.OccurredAt = r.eventTime("occurred_at", *in.OccurredAt, now)
	}
	out.Supplied = supplied(&out)
	return out, r.err()
}

// Check refuses a note that is too long to be kept, or says nothing: what a
// policy derives has the limits of what a caller writes.
func (n *Note) Check() error {
	var r refusals
	if !slices.Contains(Kinds(), n.Kind) {
		r.addf("kind", "must be one of %v", Kinds())
	}
	r.text("key", n.Key, MaxKeyBytes)
	r.content(n.Content)
	r.text("context", n.Context, MaxContextBytes)
	r.terms("keywords", n.Keywords, MaxKeywords)
	r.terms("tags", n.Tags, MaxTags)
	r.text("category", n.Category, MaxCategoryBytes)
	if b, err := json.Marshal(n.Attributes); err != nil {
		r.addf("attributes", "not JSON")
	} else {
		r.text("attributes", string(b), MaxAttributesBytes)
	}
	r.fraction("importance", n.Importance)
	if t := n.OccurredAt; !t.IsZero() && (t.Before(EarliestEvent) || t.Year() > 9999) {
		r.addf("occurred_at", "must lie between the years %d and 9999", EarliestEvent.Year())
	}
	return r.err()
}

// Check refuses a link that is too long to be kept.
func (l *Link) Check() error {
	var r refusals
	r.text("relation", l.Relation, MaxRelationBytes)
	r.fraction("confidence", l.Confidence)
	if b, err := json.Marshal(l.Attributes); err != nil {
		r.addf("attributes", "not JSON")
	} else {
		r.text("attributes", string(b), MaxAttributesBytes)
	}
	return r.err()
}

// Names in Note.Supplied.
const (
	FieldKeywords = "keywords"
	FieldContext  = "context"
	FieldTags     = "tags"
)

// supplied names the described fields that hold something of the caller's.
// Defaults do not count.
func supplied(n *Note) []string {
	var s []string
	if len(n.Keywords) > 0 {
		s = append(s, FieldKeywords)
	}
	if n.Context != "" && n.Context != DefaultContext {
		s = append(s, FieldContext)
	}
	if len(n.Tags) > 0 {
		s = append(s, FieldTags)
	}
	return s
}

// Size is what a note counts for in quotas: the bytes of its text and attributes.
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
