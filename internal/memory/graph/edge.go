package graph

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// CategoryTriple is the category of triples: notes of kind knowledge that hold an
// edge as a sentence.
const CategoryTriple = "triple"

// Attributes of an edge.
const (
	attrValid       = "valid"          // bool: it is valid now
	attrValidFrom   = "valid_from"     // RFC 3339, event time
	attrInvalidated = "invalidated_at" // RFC 3339, event time; absent while it is valid
	attrIntervals   = "intervals"      // [{"from","to"}]: when it was valid before
	attrSources     = "sources"        // ids of the facts that it comes from
	attrCreated     = "created_at"     // RFC 3339
	attrUpdated     = "updated_at"     // RFC 3339
	attrTriple      = "triple"         // id of its triple
)

// AttrMentions is the attribute of an edge and of an entity that counts how often it was
// mentioned.
const AttrMentions = "mentions"

// AttrContested is the attribute of an edge, and of its triple, that is true while another edge
// contradicts it.
const AttrContested = "contested"

// Attributes of a triple: the names of its parts, and the ids of the entities. A policy may repeat the
// confidence of the edge in the triple, where searches see it.
const (
	AttrSubject   = "subject"
	AttrRelation  = "relation"
	AttrObject    = "object"
	attrSubjectID = "subject_id"
	attrObjectID  = "object_id"
)

// DerivedFrom is the relation of the links from a triple to the facts that it
// comes from. A triple is found from its facts by these links.
const DerivedFrom = "derived_from"

// TripleAttributes returns the attributes of the triple of an edge.
func TripleAttributes(edge memory.LinkID, subject, object string) map[string]any {
	return map[string]any{
		AttrSubject: subject, AttrRelation: edge.Relation, AttrObject: object,
		attrSubjectID: edge.Source.String(), attrObjectID: edge.Target.String(),
	}
}

// TripleLink returns the edge of a triple; ok is false for a note that is not a triple.
func TripleLink(n *memory.Note) (edge memory.LinkID, ok bool) {
	if n.Kind != memory.KindKnowledge || n.Category != CategoryTriple {
		return memory.LinkID{}, false
	}
	subject, _ := n.Attributes[attrSubjectID].(string)
	object, _ := n.Attributes[attrObjectID].(string)
	edge.Relation, _ = n.Attributes[AttrRelation].(string)
	var sourceErr, targetErr error
	edge.Source, sourceErr = uuid.Parse(subject)
	edge.Target, targetErr = uuid.Parse(object)
	return edge, sourceErr == nil && targetErr == nil && edge.Relation != ""
}

// Bounds of an edge's attributes; the newest are kept.
const (
	MaxEdgeSources   = 100
	MaxEdgeIntervals = 50
	MaxEntityRunes   = 300 // characters of an entity's name
)

// Interval is a span of event time: From inclusive, To exclusive; a zero To is open.
type Interval struct{ From, To time.Time }

// Contains reports whether a time is in the interval.
func (i Interval) Contains(t time.Time) bool {
	return !t.Before(i.From) && (i.To.IsZero() || t.Before(i.To))
}

// Edge holds the attributes of a link between two entities.
type Edge struct {
	Valid         bool // as far as is known
	ValidFrom     time.Time
	InvalidatedAt time.Time  // zero while it is valid
	Earlier       []Interval // in which it was valid before, by time
	Mentions      int
	Contested     bool        // another valid edge of the same subject and relation contradicts it
	Sources       []uuid.UUID // facts, the latest last
	CreatedAt     time.Time
	UpdatedAt     time.Time
	Triple        uuid.UUID // its triple, which exists while the edge is valid
}

// EdgeOf reads a link as an edge; ok is false for a link that is not an edge.
func EdgeOf(l *memory.Link) (e Edge, ok bool) {
	a := l.Attributes
	if e.Valid, ok = a[attrValid].(bool); !ok {
		return Edge{}, false
	}
	e.ValidFrom, e.InvalidatedAt = timeAttribute(a, attrValidFrom), timeAttribute(a, attrInvalidated)
	e.CreatedAt, e.UpdatedAt = timeAttribute(a, attrCreated), timeAttribute(a, attrUpdated)
	if n, ok := a[AttrMentions].(float64); ok {
		e.Mentions = int(n)
	}
	e.Contested, _ = a[AttrContested].(bool)
	if s, ok := a[attrTriple].(string); ok {
		e.Triple, _ = uuid.Parse(s)
	}
	sources, _ := a[attrSources].([]any)
	for _, s := range sources {
		text, _ := s.(string)
		if id, err := uuid.Parse(text); err == nil {
			e.Sources = append(e.Sources, id)
		}
	}
	earlier, _ := a[attrIntervals].([]any)
	for _, s := range earlier {
		if m, ok := s.(map[string]any); ok {
			e.Earlier = append(e.Earlier, Interval{timeAttribute(m, "from"), timeAttribute(m, "to")})
		}
	}
	return e, true
}

// timeAttribute returns the time in an attribute; the zero time when there is none.
func timeAttribute(a map[string]any, name string) time.Time {
	s, _ := a[name].(string)
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return memory.Instant(t)
}

// Attributes returns the edge as attributes of a link, in the types that JSON decodes to.
func (e *Edge) Attributes() map[string]any {
	a := map[string]any{attrValid: e.Valid, AttrMentions: float64(e.Mentions)}
	for name, t := range map[string]time.Time{
		attrValidFrom: e.ValidFrom, attrInvalidated: e.InvalidatedAt, attrCreated: e.CreatedAt, attrUpdated: e.UpdatedAt,
	} {
		if !t.IsZero() {
			a[name] = formatTime(t)
		}
	}
	if e.Contested {
		a[AttrContested] = true
	}
	if e.Triple != uuid.Nil {
		a[attrTriple] = e.Triple.String()
	}
	sources := make([]any, 0, len(e.Sources))
	for _, id := range lastItems(e.Sources, MaxEdgeSources) {
		sources = append(sources, id.String())
	}
	a[attrSources] = sources
	if len(e.Earlier) > 0 {
		spans := make([]any, 0, len(e.Earlier))
		for _, i := range lastItems(e.Earlier, MaxEdgeIntervals) {
			spans = append(spans, map[string]any{"from": formatTime(i.From), "to": formatTime(i.To)})
		}
		a[attrIntervals] = spans
	}
	return a
}

func formatTime(t time.Time) string { return memory.Instant(t).Format(time.RFC3339Nano) }

func lastItems[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }

// Current returns the latest interval of the edge; it is open while the edge is valid.
func (e *Edge) Current() Interval {
	i := Interval{From: e.ValidFrom}
	if !e.Valid {
		i.To = e.InvalidatedAt
	}
	return i
}

// At returns the interval in which the edge was valid at an event time; ok is false
// when it was not valid then.
func (e *Edge) At(t time.Time) (in Interval, ok bool) {
	if now := e.Current(); now.Contains(t) {
		return now, true
	}
	for _, i := range slices.Backward(e.Earlier) {
		if i.Contains(t) {
			return i, true
		}
	}
	return Interval{}, false
}

// EntityKey returns the key of an entity, or the name of a relation, from its name
// as written in a text or an answer: lower case, "_" for spaces, without quotes and
// control characters, at most MaxEntityRunes characters and MaxKeyBytes bytes. It is
// empty when nothing is left.
func EntityKey(name string) string {
	key := strings.ToLower(norm.NFC.String(strings.Join(strings.Fields(EntityName(name)), "_")))
	key = strings.Trim(key, "_")
	return clip.Head(key, memory.MaxKeyBytes)
}

// EntityName cleans a name to be shown. It is one line within the bounds of EntityKey.
// Quotes are removed; control characters, underscores and bars become spaces, and
// several spaces become one.
func EntityName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == '_' || r == '|' || unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		case unicode.In(r, unicode.Cf, unicode.Pi, unicode.Pf), strings.ContainsRune("\"'`´「」『』《》", r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	name = strings.Join(strings.Fields(name), " ")
	if utf8.RuneCountInString(name) > MaxEntityRunes {
		name = string([]rune(name)[:MaxEntityRunes])
	}
	return strings.TrimSpace(clip.Head(name, memory.MaxKeyBytes))
}
