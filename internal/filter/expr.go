package filter

import (
	"cmp"
	"encoding/json"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/text"
)

// Expr is a parsed filter: an [And], [Or], [Not] or *[Leaf]. The nil Expr matches everything; use
// [Match] for an Expr that may be nil.
type Expr interface {
	// Match reports whether the record satisfies the expression.
	Match(r *Record) bool
	json.Marshaler
	expr()
}

// And is true when all of its terms are.
type And []Expr

// Or is true when one of its terms is.
type Or []Expr

// Not negates its term.
type Not struct{ Term Expr }

// Leaf compares one field. Values holds one value, or the members of the list
// for [In]; it is empty for [Exists], whose value is Want.
type Leaf struct {
	Field  Field
	Path   []string // below attributes; nil for other fields
	Op     Op
	Values []Value
	Want   bool // for Exists

	set map[Value]bool // Values of a long list; nil: the list is searched
}

// TextIs returns the condition that a field is one of these texts.
func TextIs(field Field, texts ...string) *Leaf {
	l := &Leaf{Field: field, Op: In, Values: TextValues(texts)}
	if len(texts) == 1 {
		l.Op = Eq
	}
	return l
}

// AttributeIs returns the condition that an attribute is one of these texts.
func AttributeIs(name string, texts ...string) *Leaf {
	l := TextIs(Attributes, texts...)
	l.Path = []string{name}
	return l
}

// AttributeReads returns the condition that an attribute is this text, or the number that is written so.
func AttributeReads(name, written string) Expr {
	is := AttributeIs(name, written)
	if v, ok := Scalar(json.Number(written)); ok && json.Valid([]byte(written)) {
		is.Op = In
		is.Values = append(is.Values, v)
	}
	return is
}

// TextValues returns texts as values.
func TextValues(texts []string) []Value {
	out := make([]Value, len(texts))
	for i, t := range texts {
		out[i] = Value{Type: Text, Text: t}
	}
	return out
}

// longList is the number of values from which a set is faster than a search of the list. A filter with
// the most values in all is compared with every note.
const longList = 8

// index prepares a leaf whose values do not change any more.
func (l *Leaf) index() {
	if len(l.Values) < longList {
		return
	}
	l.set = make(map[Value]bool, len(l.Values))
	for _, v := range l.Values {
		l.set[v.key()] = true
	}
}

// has reports whether v is one of the values.
func (l *Leaf) has(v Value) bool {
	if l.set != nil {
		return l.set[v.key()]
	}
	if l.Op == IContains && v.Type == Text {
		v.Text = text.Fold(v.Text)
		return slices.ContainsFunc(l.Values, func(w Value) bool { return w.Type == Text && v.Text == text.Fold(w.Text) })
	}
	return slices.ContainsFunc(l.Values, func(w Value) bool { return equal(v, w) })
}

// key returns a value that == compares as equal does.
func (v Value) key() Value {
	v.Time, v.Day = v.Time.Round(0).UTC(), false // without the monotonic clock
	return v
}

// Field is the field that a leaf compares.
type Field string

// The fields.
const (
	ID         Field = "id"
	Kind       Field = "kind"
	Tags       Field = "tags"
	Keywords   Field = "keywords"
	Category   Field = "category"
	Agent      Field = "agent" // whose knowledge a merged note is
	Importance Field = "importance"
	OccurredAt Field = "occurred_at"
	CreatedAt  Field = "created_at"
	State      Field = "state"
	Attributes Field = "attributes"
)

// Op is an operator.
type Op string

// The operators.
const (
	Eq       Op = "eq"
	Ne       Op = "ne"
	Gt       Op = "gt"
	Gte      Op = "gte"
	Lt       Op = "lt"
	Lte      Op = "lte"
	In       Op = "in"
	Contains Op = "contains"
	// IContains is Contains without regard to letter case.
	IContains Op = "icontains"
	Exists    Op = "exists"
)

// Type is the type of a value.
type Type uint8

// The types.
const (
	Text Type = iota + 1
	Number
	Bool
	Time
)

// Value is an operand; the field named by Type holds it.
type Value struct {
	Type   Type
	Text   string
	Number float64
	Digits string // of a whole Number that no float64 is written as; else empty
	Bool   bool
	Time   time.Time // UTC, microseconds
	Day    bool      // of a Time: a date was given, and means the whole day; see InZone
}

// Any returns the value as SQL and JSON libraries expect it.
func (v Value) Any() any {
	switch v.Type {
	case Text:
		return v.Text
	case Number:
		if v.Digits != "" {
			return json.Number(v.Digits)
		}
		return v.Number
	case Bool:
		return v.Bool
	case Time:
		if v.Day {
			return v.Time.Format(time.DateOnly)
		}
		return v.Time
	}
	return nil
}

// Record is the part of a note that filters read.
type Record struct {
	ID         uuid.UUID // zero: absent
	Kind       string
	Tags       []string
	Keywords   []string
	Category   string
	Agent      string
	Importance float64
	OccurredAt time.Time
	CreatedAt  time.Time
	State      string
	Attributes map[string]any // as encoding/json decodes it; json.Number and integers work too
}

// Match reports whether e, which may be nil, matches the record.
func Match(e Expr, r *Record) bool { return e == nil || e.Match(r) }

func (And) expr()   {}
func (Or) expr()    {}
func (Not) expr()   {}
func (*Leaf) expr() {}

// Match implements [Expr].
func (a And) Match(r *Record) bool {
	for _, e := range a {
		if !e.Match(r) {
			return false
		}
	}
	return true
}

// Match implements [Expr].
func (o Or) Match(r *Record) bool {
	for _, e := range o {
		if e.Match(r) {
			return true
		}
	}
	return false
}

// Match implements [Expr].
func (n Not) Match(r *Record) bool { return !n.Term.Match(r) }

// Match implements [Expr].
func (l *Leaf) Match(r *Record) bool {
	switch l.Field {
	case ID:
		return l.matchID(r.ID)
	case Kind:
		return l.matchText(r.Kind)
	case Category:
		return l.matchText(r.Category)
	case Agent:
		return l.matchText(r.Agent)
	case State:
		return l.matchText(r.State)
	case Tags:
		return l.matchList(r.Tags)
	case Keywords:
		return l.matchList(r.Keywords)
	case Importance:
		return l.matchScalar(Value{Type: Number, Number: r.Importance}, true)
	case OccurredAt:
		return l.matchTime(r.OccurredAt)
	case CreatedAt:
		return l.matchTime(r.CreatedAt)
	case Attributes:
		return l.matchJSON(lookUp(r.Attributes, l.Path))
	}
	return false
}

func (l *Leaf) matchText(s string) bool { return l.matchScalar(Value{Type: Text, Text: s}, s != "") }

func (l *Leaf) matchID(id uuid.UUID) bool {
	if id == uuid.Nil {
		return l.matchText("")
	}
	return l.matchText(id.String())
}

func (l *Leaf) matchTime(t time.Time) bool {
	return l.matchScalar(Value{Type: Time, Time: t.UTC().Truncate(time.Microsecond)}, !t.IsZero())
}

// matchScalar applies the operator to one value.
func (l *Leaf) matchScalar(v Value, present bool) bool {
	switch l.Op {
	case Exists:
		return present == l.Want
	case Ne:
		return !present || !equal(v, l.Values[0])
	default:
		return present && l.matchValue(v)
	}
}

// matchValue applies an operator that is false for absent values.
func (l *Leaf) matchValue(v Value) bool {
	switch l.Op {
	case Eq:
		return equal(v, l.Values[0])
	case In:
		return l.has(v)
	case Contains:
		w := l.Values[0]
		return v.Type == Text && w.Type == Text && strings.Contains(v.Text, w.Text)
	case IContains:
		w := l.Values[0]
		return v.Type == Text && w.Type == Text && strings.Contains(text.Fold(v.Text), text.Fold(w.Text))
	default:
		c, ok := compare(v, l.Values[0])
		return ok && l.Op.acceptsOrder(c)
	}
}

// acceptsOrder reports whether an ordering operator accepts the result of a comparison.
func (o Op) acceptsOrder(c int) bool {
	switch o {
	case Gt:
		return c > 0
	case Gte:
		return c >= 0
	case Lt:
		return c < 0
	case Lte:
		return c <= 0
	default:
		return false
	}
}

// matchList applies the operator to a list of texts.
func (l *Leaf) matchList(items []string) bool {
	return l.matchElements(len(items), len(items) > 0, func(i int) (Value, bool) { return Value{Type: Text, Text: items[i]}, true })
}

// matchElements applies the operator to n elements. at returns the i-th; ok is false when it is not
// a scalar.
func (l *Leaf) matchElements(n int, present bool, at func(i int) (v Value, ok bool)) bool {
	if l.Op == Exists {
		return present == l.Want
	}
	if l.Op.isOrdering() {
		return false
	}
	found := false
	for i := range n {
		v, ok := at(i)
		if ok && l.has(v) {
			found = true
			break
		}
	}
	return found != (l.Op == Ne)
}

// matchJSON applies the operator to a JSON value.
func (l *Leaf) matchJSON(v any, present bool) bool {
	switch v := v.(type) {
	case map[string]any:
		return l.matchElements(0, present, nil)
	case []any:
		return l.matchElements(len(v), present, func(i int) (Value, bool) { return Scalar(v[i]) })
	case []string:
		return l.matchElements(len(v), present, func(i int) (Value, bool) { return Value{Type: Text, Text: v[i]}, true })
	}
	s, ok := Scalar(v)
	return l.matchScalar(s, present && ok)
}

// lookUp follows path through objects. A null is absent.
func lookUp(attributes map[string]any, path []string) (v any, present bool) {
	v = attributes
	for _, name := range path {
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = object[name]; !ok {
			return nil, false
		}
	}
	return v, v != nil
}

// Scalar converts a JSON scalar; ok is false for anything else, and for a number that is too large for a float64.
func Scalar(v any) (Value, bool) {
	switch v := v.(type) {
	case string:
		return Value{Type: Text, Text: v}, true
	case bool:
		return Value{Type: Bool, Bool: v}, true
	case float64:
		return Value{Type: Number, Number: v}, true
	case int:
		return numberOf(strconv.Itoa(v))
	case int64:
		return numberOf(strconv.FormatInt(v, 10))
	case json.Number:
		return numberOf(v.String())
	}
	return Value{}, false
}

const (
	exactUpTo     = 1 << 53 // below it a float64 holds every whole number
	longestNumber = 400     // in bytes: longer ones with a point or an exponent are doubles, which bounds the cost
)

// numberOf reads a number. Floats are in the order of the numbers that round to them, so digits are compared only where the
// floats are equal.
func numberOf(s string) (Value, bool) {
	f, err := strconv.ParseFloat(s, 64)
	v := Value{Type: Number, Number: f}
	if err != nil || math.Abs(f) < exactUpTo {
		return v, err == nil
	}
	if strings.ContainsAny(s, ".eE") {
		r, ok := new(big.Rat).SetString(s[:min(len(s), longestNumber)])
		if !ok || !r.IsInt() || len(s) > longestNumber {
			return v, true
		}
		s = r.Num().String()
	}
	if s != digitsOf(f) {
		v.Digits = s
	}
	return v, true
}

// digitsOf returns the whole number that a float64 is written as.
func digitsOf(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// compareNumbers orders two numbers.
func compareNumbers(a, b Value) int {
	if a.Number != b.Number || a.Digits == b.Digits {
		return cmp.Compare(a.Number, b.Number)
	}
	x, y := cmp.Or(a.Digits, digitsOf(a.Number)), cmp.Or(b.Digits, digitsOf(b.Number))
	c := cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
	if a.Number < 0 {
		return -c
	}
	return c
}

func equal(a, b Value) bool { return a.key() == b.key() }

// compare orders two values; ok is false when they have no order.
func compare(a, b Value) (c int, ok bool) {
	if a.Type != b.Type {
		return 0, false
	}
	switch a.Type {
	case Text:
		return strings.Compare(a.Text, b.Text), true
	case Number:
		return compareNumbers(a, b), true
	case Time:
		return a.Time.Compare(b.Time), true
	case Bool:
	}
	return 0, false
}

// MarshalJSON writes the expression so that [Parse] reads it back.
func (a And) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]any{"and": []Expr(a)}) }

// MarshalJSON writes the expression so that [Parse] reads it back.
func (o Or) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]any{"or": []Expr(o)}) }

// MarshalJSON writes the expression so that [Parse] reads it back.
func (n Not) MarshalJSON() ([]byte, error) { return json.Marshal(map[string]any{"not": n.Term}) }

// MarshalJSON writes the expression so that [Parse] reads it back.
func (l *Leaf) MarshalJSON() ([]byte, error) {
	out := struct {
		Field string `json:"field"`
		Op    Op     `json:"op"`
		Value any    `json:"value"`
	}{Field: fieldName(l.Field, l.Path), Op: l.Op}
	switch l.Op {
	case Exists:
		out.Value = l.Want
	case In:
		list := make([]any, len(l.Values))
		for i, v := range l.Values {
			list[i] = v.Any()
		}
		out.Value = list
	default:
		out.Value = l.Values[0].Any()
	}
	return json.Marshal(out)
}
