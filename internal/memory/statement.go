package memory

import "time"

// AttrEarlier is the attribute of a fact that lists statements about the same which came after it although they are older: each with
// "content" and "occurred_at" (RFC 3339), oldest first.
const AttrEarlier = "earlier"

// Earlier is an older statement about what a fact is about.
type Earlier struct {
	Content    string
	OccurredAt time.Time
}

// EarlierOf returns what a fact lists as AttrEarlier.
func EarlierOf(n *Note) (out []Earlier) {
	list, _ := n.Attributes[AttrEarlier].([]any)
	for _, entry := range list {
		fields, _ := entry.(map[string]any)
		content, _ := fields["content"].(string)
		at, _ := fields["occurred_at"].(string)
		if t, err := time.Parse(time.RFC3339Nano, at); err == nil {
			out = append(out, Earlier{content, t})
		}
	}
	return out
}

// AttrConfidence is the attribute of a statement that says how sure it is, 0..1.
const AttrConfidence = "confidence"

// The confidence of a statement that was read once, by who read it.
const (
	ConfidenceModel     = 0.8
	ConfidenceHeuristic = 0.6
)

// IsStatement reports whether a note states something that was derived from other notes: a fact, or knowledge.
func IsStatement(n *Note) bool { return n.Kind == KindFact || n.Kind == KindKnowledge }

// ConfidenceOf returns how sure a statement is, 0..1: what its attribute says, otherwise what a statement has that was
// read once. ok is false for notes that are not statements, and for what a caller wrote without an attribute.
func ConfidenceOf(n *Note) (confidence float64, ok bool) {
	if !IsStatement(n) {
		return 0, false
	}
	if c, ok := n.Attributes[AttrConfidence].(float64); ok && c >= 0 && c <= 1 {
		return c, true
	}
	switch n.Analyst {
	case AnalystModel:
		return ConfidenceModel, true
	case AnalystHeuristic:
		return ConfidenceHeuristic, true
	}
	return 0, false
}
