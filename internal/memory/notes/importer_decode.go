package notes

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// importNote is a decoded line.
type importNote struct {
	at, line int
	note     memory.Note
	links    []importLink
	usage    *memory.Usage
	warnings []string
}

// importLink is a link whose target is an id or, in stores of the public A-MEM code, the position
// of a note.
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

// AttributeHistory is the attribute that holds the imported evolution history of a note, unchanged.
const AttributeHistory = "evolution_history"

// decodeImport reads a note with our field names or those of the public A-MEM code: timestamp,
// retrieval_count, last_accessed and evolution_history. Links are a list of ids, positions or
// objects, or a map from target to confidence or relation. A null field counts as absent, as in
// that code.
func decodeImport(raw []byte, now time.Time, actor string, images bool) (*importNote, error) {
	m, err := decodeMembers(raw)
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
	if r.in.Kind == memory.KindBlock {
		out.note, err = r.block(actor)
	} else {
		out.note, err = r.in.build(now, actor, images)
	}
	if err != nil {
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
	// A described note was already processed by its policy.
	if len(out.note.Supplied) > 0 {
		out.note.State = memory.StateEvolved
	}
	r.exported.apply(&out.note)
	return out, nil
}

// exported is what an export says of a note beside what a caller may say.
type exported struct {
	state    memory.State
	supplied *[]string
	analyst  memory.Analyst
	sources  []uuid.UUID
	stale    bool
	agent    string
}

func (e *exported) apply(n *memory.Note) {
	if e.state != "" {
		n.State = e.state
	}
	if e.supplied != nil {
		n.Supplied = *e.supplied
	}
	n.Analyst, n.Provenance.Sources, n.Provenance.Stale, n.Provenance.Agent = e.analyst, e.sources, e.stale, e.agent
}

// block returns the note of a block, with what its own route checks.
func (r *importReader) block(actor string) (memory.Note, error) {
	said := memory.Note{Kind: memory.KindBlock, Key: r.in.Key, Content: r.in.Content, Attributes: r.in.Attributes, Keywords: r.in.Keywords}
	if r.in.Context != nil {
		said.Context = *r.in.Context
	}
	b := block.Of(&said)
	if err := block.CheckLabel(b.Label); err != nil {
		return said, err
	}
	checked := block.New(b.Label)
	change := block.Change{Value: &b.Value, Description: &b.Description, Limit: &b.Limit, ReadOnly: &b.ReadOnly, Metadata: b.Metadata}
	if change.Metadata == nil {
		change.Metadata = map[string]any{}
	}
	if err := checked.Put(change); err != nil {
		return said, err
	}
	out, _ := checked.Note(nil)
	out.ID, out.Provenance.Actor = r.in.ID, actor
	if r.in.OccurredAt != nil {
		out.OccurredAt = *r.in.OccurredAt
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
	exported exported
	links    []importLink
	warnings []string
}

func (r *importReader) field(field string, raw json.RawMessage) {
	switch field {
	case "id":
		r.in.ID = readMember[uuid.UUID](&r.reader, field, wantID, raw)
	case "key":
		r.in.Key = readMember[string](&r.reader, field, wantText, raw)
	case "timestamp", "occurred_at":
		r.in.OccurredAt = new(r.time(field, raw))
	case "created_at":
		r.created = r.EventTime(field, r.time(field, raw), r.now)
	case "category":
		// The public code writes "" for none.
		if s := readMember[string](&r.reader, field, wantText, raw); s != "" {
			r.in.Category = &s
		}
	case "kind":
		r.in.Kind = memory.Kind(readMember[string](&r.reader, field, wantText, raw))
	case "retrieval_count":
		r.usage.AccessCount = r.count(field, raw)
	case "last_accessed":
		r.usage.LastAccess = r.EventTime(field, r.time(field, raw), r.now)
	case "usage":
		r.readUsage(raw)
	case "evolution_history", "history":
		r.history = readMember[[]any](&r.reader, field, "a list", raw)
	case "links":
		r.readLinks(raw)
	case "state", "supplied", "analyst", "provenance":
		r.readExported(field, raw)
	case "infer":
		r.Addf(field, "unknown field")
	default:
		r.in.readField(&r.reader, field, raw)
	}
}

func (r *importReader) readExported(field string, raw json.RawMessage) {
	e := &r.exported
	oneOf := func(at, value string, known ...string) string {
		if !slices.Contains(known, value) {
			r.Addf(at, "must be one of %s", wording.Or(known...))
		}
		return value
	}
	switch field {
	case "state":
		e.state = memory.State(oneOf(field, readMember[string](&r.reader, field, wantText, raw), string(memory.StateRaw), string(memory.StateEvolved)))
	case "analyst":
		e.analyst = memory.Analyst(oneOf(field, readMember[string](&r.reader, field, wantText, raw), string(memory.AnalystModel), string(memory.AnalystHeuristic)))
	case "supplied":
		e.supplied = new([]string)
		for i, s := range readMember[[]string](&r.reader, field, wantTexts, raw) {
			if s = oneOf(memory.ElementField(field, i), s, memory.FieldKeywords, memory.FieldContext, memory.FieldTags); !slices.Contains(*e.supplied, s) {
				*e.supplied = append(*e.supplied, s)
			}
		}
	case "provenance":
		m, err := decodeMembers(raw)
		if err != nil {
			r.Addf(field, "must be an object")
		}
		for _, name := range slices.Sorted(maps.Keys(m)) {
			at := field + "." + name
			switch name {
			case "sources":
				e.sources = readMember[[]uuid.UUID](&r.reader, at, "a list of UUIDs", m[name])
			case "agent":
				e.agent = readMember[string](&r.reader, at, wantText, m[name])
				r.Label(at, e.agent)
			case "stale":
				e.stale = readMember[bool](&r.reader, at, wantBool, m[name])
			default:
				r.Addf(at, "unknown field")
			}
		}
		if len(e.sources) > maxSources {
			r.Addf(field+".sources", "at most %d; there are %d", maxSources, len(e.sources))
		}
	}
}

// maxSources bounds the notes that an imported note was derived from.
const maxSources = 10_000

func (r *importReader) count(field string, raw json.RawMessage) int64 {
	n := readMember[int64](&r.reader, field, wantInt, raw)
	if n < 0 {
		r.Addf(field, "must not be negative")
	}
	return n
}

func (r *importReader) readUsage(raw json.RawMessage) {
	m, err := decodeMembers(raw)
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
			r.usage.Strength = readMember[float64](&r.reader, at, wantNumber, m[field])
		default:
			r.Addf(at, "unknown field")
		}
	}
}

func (r *importReader) readLinks(raw json.RawMessage) {
	if strings.HasPrefix(strings.TrimSpace(string(raw)), "{") {
		m, err := decodeMembers(raw)
		if err != nil {
			r.Addf("links", "must be a list or an object")
			return
		}
		for _, target := range slices.Sorted(maps.Keys(m)) {
			r.mapLink(target, m[target])
		}
	} else {
		for i, item := range readMember[[]json.RawMessage](&r.reader, "links", "a list or an object", raw) {
			r.listLink("links."+strconv.Itoa(i), item)
		}
	}
	if len(r.links) > memory.MaxLinks {
		r.Addf("links", "at most %d; there are %d", memory.MaxLinks, len(r.links))
	}
}

// mapLink reads one entry of a map: the target, and its confidence, its relation, or an object of
// both.
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
	r.addLink(l)
}

// listLink reads an id, a position, or an object.
func (r *importReader) listLink(at string, raw json.RawMessage) {
	var s string
	var n int
	switch {
	case json.Unmarshal(raw, &s) == nil:
		if l, ok := r.target(at, s); ok {
			r.addLink(l)
		}
	case json.Unmarshal(raw, &n) == nil:
		if n < 0 {
			r.Addf(at, "a position must not be negative")
			return
		}
		l := newImportLink()
		l.position = n
		r.addLink(l)
	default:
		l := newImportLink()
		if r.linkObject(at, raw, &l) && l.Target == uuid.Nil {
			r.Addf(at+".target", "is required")
		}
		r.addLink(l)
	}
}

func newImportLink() importLink {
	return importLink{Link: memory.Link{LinkID: memory.LinkID{Relation: memory.RelatedTo}, Confidence: 1}, position: -1}
}

// target reads a target: an id, or digits for a position.
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
	m, err := decodeMembers(raw)
	if err != nil {
		r.Addf(at, "must be an id or an object")
		return false
	}
	for _, field := range slices.Sorted(maps.Keys(m)) {
		to := at + "." + field
		switch field {
		case "target":
			l.Target = readMember[uuid.UUID](&r.reader, to, wantID, m[field])
		case "relation":
			l.Relation = readMember[string](&r.reader, to, wantText, m[field])
			r.Text(to, l.Relation, memory.MaxRelationBytes)
			if l.Relation == "" {
				l.Relation = memory.RelatedTo
			}
		case "confidence":
			l.Confidence = readMember[float64](&r.reader, to, wantNumber, m[field])
			r.Fraction(to, l.Confidence)
		case "attributes":
			l.Attributes = readMember[map[string]any](&r.reader, to, wantObject, m[field])
			r.Object(to, l.Attributes)
		default:
			r.Addf(to, "unknown field")
		}
	}
	return true
}

// addLink adds a link without repeats: the public code appends a link each time it is suggested.
func (r *importReader) addLink(l importLink) {
	for _, k := range r.links {
		if k.Target == l.Target && k.Relation == l.Relation && k.position == l.position {
			return
		}
	}
	r.links = append(r.links, l)
}
