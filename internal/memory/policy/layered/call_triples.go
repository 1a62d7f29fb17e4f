package layered

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// The confidence of a new triple, by who found it.
const (
	ruleConfidence  = 0.6
	modelConfidence = 0.8
)

// The bounds of triples.
const (
	maxTriples       = 16 // of one message
	maxSubjectChars  = 64
	maxRelationChars = 64
	maxObjectChars   = 99 // 100 or more are refused
	// openObjectChars is how long an object is that no punctuation ends.
	openObjectChars = 50
)

// SubjectUser is the subject of triples about a person whose name is not known.
const SubjectUser = "user"

// TriplesInput is the input of "triples".
type TriplesInput struct {
	// Message is what was said. Only what a person says gives triples: with another role than
	// user there are none.
	Message memory.Utterance
	// Known are triples that hold. The message may say that one of them does no longer.
	Known []KnownTriple
}

// KnownTriple is a triple that holds, as a prompt shows it.
type KnownTriple struct {
	Subject, Relation, Object string
	Since                     time.Time
}

// TriplesAnswer is the answer of "triples".
type TriplesAnswer struct {
	Triples []Triple `json:"triples"`
	Ends    []int    `json:"ends,omitempty"` // numbers of the known triples that no longer hold
}

// Triple is a piece of knowledge. The relation of what a user says about themselves is one of the
// published eight (relationName and so on) where one fits.
type Triple struct {
	Subject    string  `json:"subject"` // SubjectUser, or a name
	Relation   string  `json:"relation"`
	Object     string  `json:"object"`     // in the words and letter case of the message
	Confidence float64 `json:"confidence"` // 0..1
}

// knownMaterial is a triple that holds, with its number in the prompt.
type knownMaterial struct {
	Number   int    `json:"number"`
	Since    string `json:"since"`
	Subject  string `json:"subject"`
	Relation string `json:"relation"`
	Object   string `json:"object"`
}

// Triples returns the call that takes triples from a message.
func (c *Calls) Triples(in TriplesInput) (memory.Call, error) {
	type material struct {
		MaxTriples int             `json:"max_triples"`
		Time       string          `json:"time"`
		Name       string          `json:"name,omitempty"`
		Message    string          `json:"message"`
		Known      []knownMaterial `json:"known"`
	}
	m := material{
		maxTriples, policy.FormatMinute(in.Message.Time), policy.CleanLine(in.Message.Name, maxSubjectChars), text.Shorten(in.Message.Content, maxMessageChars),
		make([]knownMaterial, len(in.Known)),
	}
	for i, k := range in.Known {
		m.Known[i] = knownMaterial{i, policy.FormatDay(k.Since), k.Subject, k.Relation, k.Object}
	}
	return c.triples.Call(memory.Call{
		Name: CallTriples, Input: in, Temperature: triplesTemperature, Lenient: lenientTriples, Check: policy.CheckTypes[TriplesAnswer],
	}, m, 1)
}

// TriplesRead is what can be used of the answer of "triples".
type TriplesRead struct {
	Triples []Triple
	Ends    []int // of the known ones, each once
	Dropped int   // triples, and numbers that nothing has
}

// ReadTriples reads the answer of "triples" about so many known ones. Triples that lack a part, repeat another, or have a
// part that is too long are left out. A relation that means one of the published eight
// gets its name, and the confidence is that of who answered.
func ReadTriples(raw json.RawMessage, by memory.Analyst, known int) (read TriplesRead, err error) {
	a, err := policy.DecodeAnswer[TriplesAnswer](raw, CallTriples)
	if err != nil {
		return read, err
	}
	for _, k := range a.Ends {
		if k < 0 || k >= known || slices.Contains(read.Ends, k) {
			read.Dropped++
			continue
		}
		read.Ends = append(read.Ends, k)
	}
	seen := map[[3]string]bool{}
	for _, t := range a.Triples {
		t.Subject = cleanSubject(t.Subject)
		t.Relation = canonicalRelation(t.Relation)
		t.Object = strings.Trim(policy.CleanLine(t.Object, memory.MaxTermBytes), " .。\"'")
		key := [3]string{text.Fold(t.Subject), t.Relation, text.Fold(t.Object)}
		if t.Subject == "" || t.Relation == "" || policy.IsEmptyAnswer(t.Object) || seen[key] || len(read.Triples) == maxTriples ||
			utf8.RuneCountInString(t.Subject) > maxSubjectChars || utf8.RuneCountInString(t.Relation) > maxRelationChars || utf8.RuneCountInString(t.Object) > maxObjectChars {
			read.Dropped++
			continue
		}
		seen[key] = true
		t.Confidence = modelConfidence
		if by == memory.AnalystHeuristic {
			t.Confidence = ruleConfidence
		}
		read.Triples = append(read.Triples, t)
	}
	return read, nil
}

// userWords name the person who speaks.
var userWords = policy.WordSet("user i me myself my mine speaker 用户 我 本人 自己 说话者 the_user")

// cleanSubject returns SubjectUser for a word that names the person who speaks, else the subject as
// one line.
func cleanSubject(s string) string {
	s = strings.Trim(policy.CleanLine(s, 4*maxSubjectChars), " .。\"'")
	if userWords[strings.ReplaceAll(text.Fold(s), " ", "_")] {
		return SubjectUser
	}
	return s
}

// lenientTriples also accepts a bare list, lists of three, other names of the fields, and lines like
// "(user, likes, tea)".
func lenientTriples(said string) json.RawMessage {
	answer := TriplesAnswer{Triples: []Triple{}}
	ok := policy.EachEntry(said, []string{"triples", "relations", "facts", "knowledge", "edges"}, func(v any) { answer.Triples = append(answer.Triples, tripleFrom(v)) })
	if !ok && !strings.Contains(said, "{") {
		for line := range strings.Lines(said) {
			if t := tripleFrom(strings.Trim(line, "-*• \n\r()[]")); t.Object != "" {
				answer.Triples, ok = append(answer.Triples, t), true
			}
		}
	}
	if v, _ := policy.FindJSON(said); ok {
		if object, is := v.(map[string]any); is {
			answer.Ends = wholeNumbers(policy.FirstValue(object, "ends", "ended", "no_longer"))
		}
	}
	return policy.EncodeLenient(answer, ok)
}

// tripleFrom reads a triple from an object, a list of three texts, or a text with separators. What is
// missing stays empty, so that ReadTriples drops and counts it.
func tripleFrom(v any) Triple {
	t := Triple{Confidence: modelConfidence}
	parts := []string{"", "", ""}
	switch v := v.(type) {
	case map[string]any:
		t.Subject = policy.StringField(v, "subject", "source", "head", "from")
		t.Relation = policy.StringField(v, "relation", "predicate", "relationship", "type", "verb")
		t.Object = policy.StringField(v, "object", "destination", "target", "tail", "to")
		if n, is := v["confidence"].(float64); is && n >= 0 && n <= 1 {
			t.Confidence = n
		}
		return t
	case []any:
		if len(v) < 3 || len(v) > 4 {
			return t
		}
		for i := range parts {
			parts[i], _ = v[i].(string)
		}
	case string:
		for _, mark := range []string{"|", "->", " -- ", "，", ","} {
			if p := strings.Split(v, mark); len(p) == 3 {
				parts = p
				break
			}
		}
	}
	t.Subject, t.Relation, t.Object = strings.Trim(parts[0], " ()"), strings.TrimSpace(parts[1]), strings.Trim(parts[2], " ()")
	return t
}
