package notes

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// importNote is a readable line.
type importNote struct {
	at, line int
	note     memory.Note
	links    []importLink
	usage    *memory.Usage
	warnings []string
}

// importLink is a link whose target is an id or, in stores of the public
// benchmark code, a position among the notes.
type importLink struct {
	memory.Link
	position int // from 0; -1: Target is the id
}

func (l *importLink) name() string {
	if l.position >= 0 {
		return "position " + strconv.Itoa(l.position)
	}
	return l.Target.String()
}

type importUsage struct {
	AccessCount int64
	LastAccess  time.Time
	Strength    float64
}

// AttributeHistory is the attribute under which an import keeps what earlier
// evolutions of a note did, as it was.
const AttributeHistory = "evolution_history"

// decodeImport reads a note by our names or by those of the public A-MEM code:
// timestamp, retrieval_count, last_accessed and evolution_history; links as a
// list of ids, positions or objects, or as a map from target to confidence or
// relation. A null is a field left out, as that code writes it.
func decodeImport(raw []byte, now time.Time, actor string) (*importNote, error) {
	m, err := members(raw)
	if err != nil {
		return nil, err
	}
	r := importReader{now: now}
	for _, field := range slices.Sorted(maps.Keys(m)) {
		if !isNull(m[field]) {
			r.field(field, m[field])
		}
	}
	if r.in.ID == uuid.Nil {
		r.Addf("id", "is required")
	}
	if r.in.OccurredAt == nil && !r.created.IsZero() {
		r.in.OccurredAt = &r.created
	}
	if r.history != nil {
		if r.in.Attributes == nil {
			r.in.Attributes = map[string]any{}
		}
		r.in.Attributes[AttributeHistory] = r.history
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	out := &importNote{links: r.links, warnings: r.warnings}
	if out.note, err = r.in.build(now, actor); err != nil {
		return nil, err
	}
	if r.usage != (importUsage{}) {
		if out.usage, err = usageOf(r.usage); err != nil {
			r.Addf("usage", "%s", err)
			return nil, r.Err()
		}
	}
	out.note.CreatedAt = memory.Instant(r.created)
	if out.note.CreatedAt.IsZero() && r.in.OccurredAt != nil {
		out.note.CreatedAt = memory.Instant(*r.in.OccurredAt)
	}
	// Its policy ran where it comes from, if anything describes it.
	if len(out.note.Supplied) > 0 {
		out.note.State = memory.StateEvolved
	}
	return out, nil
}

type importReader struct {
	reader
	now      time.Time
	in       NewNote
	created  time.Time
	usage    importUsage
	history  []any
	links    []importLink
	warnings []string
}

func (r *importReader) field(field string, raw json.RawMessage) {
	switch field {
	case "id":
		r.in.ID = read[uuid.UUID](&r.reader, field, wantID, raw)
	case "key":
		r.in.Key = read[string](&r.reader, field, wantText, raw)
	case "timestamp", "occurred_at":
		r.in.OccurredAt = new(r.time(field, raw))
	case "created_at":
		r.created = r.EventTime(field, r.time(field, raw), r.now)
	case "category":
		// The public code writes "" for none.
		if s := read[string](&r.reader, field, wantText, raw); s != "" {
			r.in.Category = &s
		}
	case "kind":
		r.in.Kind = memory.Kind(read[string](&r.reader, field, wantText, raw))
	case "retrieval_count":
		r.usage.AccessCount = r.count(field, raw)
	case "last_accessed":
		r.usage.LastAccess = r.EventTime(field, r.time(field, raw), r.now)
	case "usage":
		r.readUsage(raw)
	case "evolution_history", "history":
		r.history = read[[]any](&r.reader, field, "a list", raw)
	case "links":
		r.readLinks(raw)
	case "infer":
		r.Addf(field, "is not known here")
	default:
		r.in.read(&r.reader, field, raw)
	}
}

func (r *importReader) count(field string, raw json.RawMessage) int64 {
	n := read[int64](&r.reader, field, wantInt, raw)
	if n < 0 {
		r.Addf(field, "must not be negative")
	}
	return n
}

func (r *importReader) readUsage(raw json.RawMessage) {
	m, err := members(raw)
	if err != nil {
		r.Addf("usage", "must be an object")
		return
	}
	for _, field := range slices.Sorted(maps.Keys(m)) {
		at := "usage." + field
		switch field {
		case "access_count":
			r.usage.AccessCount = r.count(at, m[field])
		case "last_access":
			r.usage.LastAccess = r.EventTime(at, r.time(at, m[field]), r.now)
		case "strength":
			r.usage.Strength = read[float64](&r.reader, at, wantNumber, m[field])
		default:
			r.Addf(at, "is not known here")
		}
	}
}

func (r *importReader) readLinks(raw json.RawMessage) {
	if strings.HasPrefix(strings.TrimSpace(string(raw)), "{") {
		m, err := members(raw)
		if err != nil {
			r.Addf("links", "must be a list or an object")
			return
		}
		for _, target := range slices.Sorted(maps.Keys(m)) {
			r.mapLink(target, m[target])
		}
	} else {
		for i, item := range read[[]json.RawMessage](&r.reader, "links", "a list or an object", raw) {
			r.listLink("links."+strconv.Itoa(i), item)
		}
	}
	if len(r.links) > memory.MaxLinks {
		r.Addf("links", "at most %d; there are %d", memory.MaxLinks, len(r.links))
	}
}

// mapLink reads target → confidence, relation, or an object of both.
func (r *importReader) mapLink(target string, raw json.RawMessage) {
	at := "links." + target
	l, ok := r.target(at, target)
	if !ok {
		return
	}
	var n float64
	var s string
	switch {
	case isNull(raw):
	case json.Unmarshal(raw, &n) == nil:
		l.Confidence = n
		r.Fraction(at, n)
	case json.Unmarshal(raw, &s) == nil:
		if s != "" {
			l.Relation = s
		}
		r.Text(at, l.Relation, memory.MaxRelationBytes)
	default:
		r.linkObject(at, raw, &l)
	}
	r.keep(l)
}

// listLink reads an id, a position, or an object.
func (r *importReader) listLink(at string, raw json.RawMessage) {
	var s string
	var n int
	switch {
	case json.Unmarshal(raw, &s) == nil:
		if l, ok := r.target(at, s); ok {
			r.keep(l)
		}
	case json.Unmarshal(raw, &n) == nil:
		if n < 0 {
			r.Addf(at, "a position must not be negative")
			return
		}
		l := newImportLink()
		l.position = n
		r.keep(l)
	default:
		l := newImportLink()
		if r.linkObject(at, raw, &l) && l.Target == uuid.Nil {
			r.Addf(at+".target", "is required")
		}
		r.keep(l)
	}
}

func newImportLink() importLink {
	return importLink{Link: memory.Link{LinkID: memory.LinkID{Relation: memory.RelatedTo}, Confidence: 1}, position: -1}
}

// target reads an id, or digits as a position.
func (r *importReader) target(at, s string) (importLink, bool) {
	l := newImportLink()
	if id, err := uuid.Parse(s); err == nil {
		l.Target = id
		return l, true
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 0 {
		l.position = n
		return l, true
	}
	r.Addf(at, "must be the id of a note, or its position")
	return l, false
}

func (r *importReader) linkObject(at string, raw json.RawMessage, l *importLink) bool {
	m, err := members(raw)
	if err != nil {
		r.Addf(at, "must be an id or an object")
		return false
	}
	for _, field := range slices.Sorted(maps.Keys(m)) {
		to := at + "." + field
		switch field {
		case "target":
			l.Target = read[uuid.UUID](&r.reader, to, wantID, m[field])
		case "relation":
			l.Relation = read[string](&r.reader, to, wantText, m[field])
			r.Text(to, l.Relation, memory.MaxRelationBytes)
			if l.Relation == "" {
				l.Relation = memory.RelatedTo
			}
		case "confidence":
			l.Confidence = read[float64](&r.reader, to, wantNumber, m[field])
			r.Fraction(to, l.Confidence)
		case "attributes":
			l.Attributes = read[map[string]any](&r.reader, to, wantObject, m[field])
			r.Object(to, l.Attributes)
		default:
			r.Addf(to, "is not known here")
		}
	}
	return true
}

// keep drops repeats: the public code appends a link each time it is suggested.
func (r *importReader) keep(l importLink) {
	for _, k := range r.links {
		if k.Target == l.Target && k.Relation == l.Relation && k.position == l.position {
			return
		}
	}
	r.links = append(r.links, l)
}

func (n *NewNote) read(r *reader, field string, raw json.RawMessage) {
	switch field {
	case "content":
		n.Content = read[string](r, field, wantText, raw)
	case "context":
		n.Context = new(read[string](r, field, wantText, raw))
	case "keywords":
		n.Keywords = read[[]string](r, field, wantTexts, raw)
	case "tags":
		n.Tags = read[[]string](r, field, wantTexts, raw)
	case "category":
		n.Category = new(read[string](r, field, wantText, raw))
	case "attributes":
		n.Attributes = read[map[string]any](r, field, wantObject, raw)
	case "importance":
		n.Importance = new(read[float64](r, field, wantNumber, raw))
	case "occurred_at":
		n.OccurredAt = new(r.time(field, raw))
	case "kind":
		n.Kind = memory.Kind(read[string](r, field, wantText, raw))
		if n.Kind == "" {
			r.Addf(field, "must be one of %v", memory.Kinds())
		}
	case "infer":
		n.Infer = new(read[bool](r, field, wantBool, raw))
	default:
		r.Addf(field, "is not known here")
	}
}

// members reads one JSON object and nothing after it.
func members(raw []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(raw) {
		return nil, fault.New(fault.Malformed, "the text is not valid UTF-8")
	}
	if !json.Valid(raw) {
		return nil, fault.New(fault.Malformed, "the text is not one JSON value")
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil || m == nil {
		return nil, fault.New(fault.Invalid, "must be a JSON object")
	}
	return m, nil
}

// reader reads members into typed values and gathers what does not fit.
type reader struct {
	memory.Validation
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// read decodes a member that must not be null; want names its type to callers.
func read[T any](r *reader, field, want string, raw json.RawMessage) T {
	var v T
	if isNull(raw) {
		r.Addf(field, "must be %s", want)
		return v
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // integers above 2^53 in attributes stay what they are
	if err := d.Decode(&v); err != nil {
		r.Addf(field, "must be %s", want)
	}
	return v
}

func (r *reader) time(field string, raw json.RawMessage) time.Time {
	s := read[string](r, field, memory.TimeForm, raw)
	if s == "" {
		if len(r.Fields) == 0 || r.Fields[len(r.Fields)-1].Field != field {
			r.Addf(field, "must be %s", memory.TimeForm)
		}
		return time.Time{}
	}
	t, err := filter.ParseTime(s)
	if err != nil {
		r.Addf(field, "must be %s", memory.TimeForm)
	}
	return t
}

const (
	wantText   = "a string"
	wantTexts  = "a list of strings"
	wantNumber = "a number"
	wantObject = "an object"
	wantBool   = "true or false"
	wantID     = "a UUID"
	wantInt    = "an integer"
)
