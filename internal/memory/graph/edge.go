package graph

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// CategoryTriple is the category of the notes (of kind knowledge) that say in a
// sentence what an edge says.
const CategoryTriple = "triple"

// Attributes of an edge, of its triple and of an entity.
const (
	attrValid       = "valid"          // bool: it holds
	attrValidFrom   = "valid_from"     // RFC 3339, event time
	attrInvalidated = "invalidated_at" // RFC 3339, event time; absent while it holds
	attrIntervals   = "intervals"      // [{"from","to"}]: when it held before
	attrMentions    = "mentions"       // number
	attrSources     = "sources"        // ids of the facts that it comes from
	attrCreated     = "created_at"     // RFC 3339
	attrUpdated     = "updated_at"     // RFC 3339
	attrTriple      = "triple"         // id of the note that says it

	AttrMentions  = attrMentions
	AttrSubject   = "subject" // of a triple: the names of its parts
	AttrRelation  = "relation"
	AttrObject    = "object"
	attrSubjectID = "subject_id" // and the notes that its ends are
	attrObjectID  = "object_id"
)

// DerivedFrom is the relation of a triple to each of the facts that it comes
// from, so that it can be found from them.
const DerivedFrom = "derived_from"

// TripleAttributes are those of the note that says an edge.
func TripleAttributes(edge memory.LinkID, subject, object string) map[string]any {
	return map[string]any{
		AttrSubject: subject, AttrRelation: edge.Relation, AttrObject: object,
		attrSubjectID: edge.Source.String(), attrObjectID: edge.Target.String(),
	}
}

// TripleLink gives the edge that a note says; ok is false for a note that says none.
func TripleLink(n *memory.Note) (edge memory.LinkID, ok bool) {
	if n.Kind != memory.KindKnowledge || n.Category != CategoryTriple {
		return memory.LinkID{}, false
	}
	subject, _ := n.Attributes[attrSubjectID].(string)
	object, _ := n.Attributes[attrObjectID].(string)
	edge.Relation, _ = n.Attributes[AttrRelation].(string)
	var err, also error
	edge.Source, err = uuid.Parse(subject)
	edge.Target, also = uuid.Parse(object)
	return edge, err == nil && also == nil && edge.Relation != ""
}

// Bounds of an edge's attributes; the newest are kept.
const (
	MaxEdgeSources   = 100
	MaxEdgeIntervals = 50
	MaxEntityRunes   = 300 // characters of a name
)

// Interval is a span of event time: From inclusive, To exclusive; a zero To is open.
type Interval struct{ From, To time.Time }

// Has tells whether the interval contains a time.
func (i Interval) Contains(t time.Time) bool {
	return !t.Before(i.From) && (i.To.IsZero() || t.Before(i.To))
}

// Edge is what the attributes of a link between entities say.
type Edge struct {
	Valid         bool // it holds, as far as is known
	ValidFrom     time.Time
	InvalidatedAt time.Time // zero while it holds
	Earlier       []Interval
	Mentions      int
	Sources       []uuid.UUID
	CreatedAt     time.Time
	UpdatedAt     time.Time
	Triple        uuid.UUID // the note that says it; live while it holds
}

// EdgeOf reads a link as an edge; ok is false for a link that is none.
func EdgeOf(l *memory.Link) (e Edge, ok bool) {
	a := l.Attributes
	if e.Valid, ok = a[attrValid].(bool); !ok {
		return Edge{}, false
	}
	e.ValidFrom, e.InvalidatedAt = timeAttribute(a, attrValidFrom), timeAttribute(a, attrInvalidated)
	e.CreatedAt, e.UpdatedAt = timeAttribute(a, attrCreated), timeAttribute(a, attrUpdated)
	if n, ok := a[attrMentions].(float64); ok {
		e.Mentions = int(n)
	}
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

func timeAttribute(a map[string]any, name string) time.Time {
	s, _ := a[name].(string)
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	return memory.Instant(t)
}

// Attributes gives the edge as a link carries it, in the types that JSON decodes to.
func (e *Edge) Attributes() map[string]any {
	a := map[string]any{attrValid: e.Valid, attrMentions: float64(e.Mentions)}
	for name, t := range map[string]time.Time{
		attrValidFrom: e.ValidFrom, attrInvalidated: e.InvalidatedAt, attrCreated: e.CreatedAt, attrUpdated: e.UpdatedAt,
	} {
		if !t.IsZero() {
			a[name] = formatTime(t)
		}
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

// Current is the interval that the edge is in, or was in last.
func (e *Edge) Current() Interval {
	i := Interval{From: e.ValidFrom}
	if !e.Valid {
		i.To = e.InvalidatedAt
	}
	return i
}

// At gives the interval in which the edge held at an event time.
func (e *Edge) At(t time.Time) (Interval, bool) {
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

// EntityKey makes the key of an entity, or a relation's name, of how somebody
// writes it: lower case, "_" for spaces, without quotes and control characters,
// at most MaxEntityRunes characters and MaxKeyBytes bytes. "" when nothing is left.
func EntityKey(name string) string {
	key := strings.ToLower(strings.Join(strings.Fields(EntityName(name)), "_"))
	key = strings.Trim(key, "_")
	return cutBytes(key, memory.MaxKeyBytes)
}

// EntityName is a name as it is shown: one line without quotes and control
// characters, single spaces for them, for underscores and for bars, within the same bounds.
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
	return strings.TrimSpace(cutBytes(name, memory.MaxKeyBytes))
}

// cutBytes cuts at the beginning of a character.
func cutBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}
