package filter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// The limits of one filter.
const (
	MaxDepth  = 16  // nested and, or, not
	MaxLeaves = 256 // in all
	MaxValues = 256 // members of one list
	maxPath   = 8   // segments below attributes
)

// fieldTypes are the types that a field's values may have; attributes have three.
var fieldTypes = map[Field][]Type{
	ID: {Text}, Kind: {Text}, Category: {Text}, State: {Text}, Agent: {Text}, Tags: {Text}, Keywords: {Text},
	Importance: {Number}, OccurredAt: {Time}, CreatedAt: {Time},
	Attributes: {Text, Number, Bool},
}

// fieldNames and opNames are listed in refusals.
const (
	fieldNames = "id, kind, tags, keywords, category, importance, occurred_at, created_at, state, agent or attributes.<path>"
	opNames    = "eq, ne, gt, gte, lt, lte, in, contains, icontains or exists"
)

// Parse parses a filter from JSON. Absent input (no bytes, or null) is the nil Expr. An invalid
// filter is a fault with code Invalid, or Malformed when the bytes are not JSON. Its field is the
// path of the invalid part, starting at "filter".
func Parse(raw []byte) (Expr, error) { return ParseKnown(raw, nil) }

// ParseKnown is [Parse] that refuses a value which a field can never have: those of known are all that there are. Parts of values
// and their order can be asked for freely.
func ParseKnown(raw []byte, known map[Field][]string) (Expr, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil //nolint:nilnil // the nil Expr is a filter: it lets everything pass
	}
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return nil, &fault.Error{Code: fault.Malformed, Message: "filter: not JSON", Fields: []fault.Field{{Field: "filter", Reason: "not JSON"}}}
	}
	p := parser{known: known}
	return p.parseExpr(raw, "filter", 0)
}

type parser struct {
	leaves int
	known  map[Field][]string
}

// parseExpr parses one node; depth is the number of operators around it.
func (p *parser) parseExpr(raw json.RawMessage, path string, depth int) (Expr, error) {
	// The depth is checked before the object is parsed, so a deeply nested filter costs no more
	// than its first levels.
	if depth > MaxDepth {
		return nil, fault.InvalidField(path, "nested deeper than %d", MaxDepth)
	}
	object, err := parseMembers(raw, path)
	if err != nil {
		return nil, err
	}
	if _, ok := object["field"]; ok {
		return p.parseLeaf(object, path)
	}
	if len(object) == 0 {
		return nil, fault.InvalidField(path, "want exactly one of and, or, not, or a field with op and value, or fields with their values")
	}
	if !hasOperator(object) {
		return p.parseSimple(object, path)
	}
	if len(object) != 1 {
		return nil, fault.InvalidField(path, "and, or and not stand alone")
	}
	for name, body := range object {
		at := path + "." + name
		if (name == "and" || name == "or" || name == "not") && depth == MaxDepth {
			return nil, fault.InvalidField(at, "nested deeper than %d", MaxDepth)
		}
		switch name {
		case "and", "or":
			terms, err := p.parseTerms(body, at, depth+1)
			if err != nil {
				return nil, err
			}
			if name == "and" {
				return And(terms), nil
			}
			return Or(terms), nil
		case "not":
			term, err := p.parseExpr(body, at, depth+1)
			if err != nil {
				return nil, err
			}
			return Not{Term: term}, nil
		}
	}
	return nil, fault.InvalidField(path, "empty")
}

func hasOperator(object map[string]json.RawMessage) bool {
	for _, name := range []string{"and", "or", "not"} {
		if _, ok := object[name]; ok {
			return true
		}
	}
	return false
}

// parseSimple parses fields with the values that they must have, such as {"tags": "x", "attributes.project": ["A", "B"]}: all must
// hold, and of a list one value is enough.
func (p *parser) parseSimple(object map[string]json.RawMessage, path string) (Expr, error) {
	terms := make(And, 0, len(object))
	for _, name := range slices.Sorted(maps.Keys(object)) {
		field, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		at := path + "." + name
		if _, _, err := parseField(field, at); err != nil {
			return nil, err
		}
		value := bytes.TrimSpace(object[name])
		if value[0] == '{' {
			return nil, fault.InvalidField(at, "want a value or a list; other comparisons are written {field, op, value}, op being %s", opNames)
		}
		op := Eq
		if value[0] == '[' {
			op = In
		}
		term, err := p.parseLeaf(map[string]json.RawMessage{"field": field, "op": json.RawMessage(`"` + op + `"`), "value": value}, path)
		if f, ok := errors.AsType[*fault.Error](err); ok && len(f.Fields) == 1 {
			_, of, _ := strings.Cut(strings.TrimPrefix(f.Fields[0].Field, path), "[")
			if of != "" {
				at += "[" + of
			}
			return nil, fault.InvalidField(at, "%s", f.Fields[0].Reason)
		}
		if err != nil {
			return nil, err
		}
		terms = append(terms, term)
	}
	if len(terms) == 1 {
		return terms[0], nil
	}
	return terms, nil
}

func (p *parser) parseTerms(raw json.RawMessage, path string, depth int) ([]Expr, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil || raw[0] != '[' {
		return nil, fault.InvalidField(path, "want a list of filters")
	}
	if len(items) == 0 {
		return nil, fault.InvalidField(path, "an empty list")
	}
	if len(items) > MaxLeaves {
		return nil, fault.InvalidField(path, "more than %d conditions", MaxLeaves)
	}
	terms := make([]Expr, 0, len(items))
	for i, item := range items {
		term, err := p.parseExpr(item, fmt.Sprintf("%s[%d]", path, i), depth)
		if err != nil {
			return nil, err
		}
		terms = append(terms, term)
	}
	return terms, nil
}

func (p *parser) parseLeaf(object map[string]json.RawMessage, path string) (Expr, error) {
	if p.leaves++; p.leaves > MaxLeaves {
		return nil, fault.InvalidField(path, "more than %d conditions", MaxLeaves)
	}
	for name := range object {
		if name != "field" && name != "op" && name != "value" {
			return nil, fault.InvalidField(path+"."+name, "unknown member; want field, op, value")
		}
	}
	l := &Leaf{}
	var err error
	if l.Field, l.Path, err = parseField(object["field"], path+".field"); err != nil {
		return nil, err
	}
	if l.Op, err = parseOperator(object["op"], l.Field, path+".op"); err != nil {
		return nil, err
	}
	raw, given := object["value"]
	at := path + ".value"
	if l.Op == Exists {
		l.Want = true
		if given && (json.Unmarshal(raw, &l.Want) != nil || string(raw) == "null") {
			return nil, fault.InvalidField(at, "want true or false")
		}
		return l, nil
	}
	if !given {
		return nil, fault.InvalidField(at, "missing")
	}
	if l.Op == In {
		err := p.parseList(l, raw, at)
		return l, err
	}
	v, err := p.parseValue(raw, l, at)
	if err != nil {
		return nil, err
	}
	if v.Type == Bool && l.Op.isOrdering() {
		return nil, fault.InvalidField(at, "%s wants text or a number", l.Op)
	}
	l.Values = []Value{v}
	return l, nil
}

// parseList parses the values of "in".
func (p *parser) parseList(l *Leaf, raw json.RawMessage, at string) error {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil || raw[0] != '[' {
		return fault.InvalidField(at, "in wants a list")
	}
	if len(items) == 0 || len(items) > MaxValues {
		return fault.InvalidField(at, "in wants 1 to %d values", MaxValues)
	}
	for i, item := range items {
		v, err := p.parseValue(item, l, fmt.Sprintf("%s[%d]", at, i))
		if err != nil {
			return err
		}
		l.Values = append(l.Values, v)
	}
	l.index()
	return nil
}

// parseField parses the name of a field.
func parseField(raw json.RawMessage, at string) (Field, []string, error) {
	name, err := parseText(raw, at)
	if err != nil {
		return "", nil, err
	}
	if rest, ok := strings.CutPrefix(name, "attributes."); ok {
		path, ok := parsePath(rest)
		if !ok {
			return "", nil, fault.InvalidField(at, "a backslash is followed by a dot or a backslash")
		}
		if len(path) > maxPath {
			return "", nil, fault.InvalidField(at, "a path of more than %d segments", maxPath)
		}
		for _, segment := range path {
			if segment == "" || len(segment) > 128 || strings.ContainsFunc(segment, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
				return "", nil, fault.InvalidField(at, "path segments have 1 to 128 bytes, without control characters")
			}
		}
		return Attributes, path, nil
	}
	if _, ok := fieldTypes[Field(name)]; !ok || Field(name) == Attributes {
		return "", nil, fault.InvalidField(at, "unknown field %q; want one of %s", clip.Runes(name, shown), fieldNames)
	}
	return Field(name), nil, nil
}

// escaped writes a name as a segment of a path.
var escaped = strings.NewReplacer(`\`, `\\`, ".", `\.`)

// fieldName returns what parseField reads.
func fieldName(f Field, path []string) string {
	parts := []string{string(f)}
	for _, segment := range path {
		parts = append(parts, escaped.Replace(segment))
	}
	return strings.Join(parts, ".")
}

// parsePath splits a path into its segments; ok is false when a backslash escapes nothing.
func parsePath(s string) (path []string, ok bool) {
	segment := ""
	for {
		i := strings.IndexAny(s, `.\`)
		if i < 0 {
			return append(path, segment+s), true
		}
		segment += s[:i]
		switch at := s[i:]; {
		case at[0] == '.':
			path, segment, s = append(path, segment), "", at[1:]
		case len(at) > 1 && (at[1] == '.' || at[1] == '\\'):
			segment, s = segment+at[1:2], at[2:]
		default:
			return nil, false
		}
	}
}

// parseOperator parses an operator. It fails when the field does not support the operator.
func parseOperator(raw json.RawMessage, f Field, at string) (Op, error) {
	if raw == nil {
		return "", fault.InvalidField(at, "missing; want one of %s", opNames)
	}
	name, err := parseText(raw, at)
	if err != nil {
		return "", err
	}
	op := Op(name)
	switch op {
	case Eq, Ne, In, Exists:
		return op, nil
	case Gt, Gte, Lt, Lte:
		if f == Tags || f == Keywords {
			return "", fault.InvalidField(at, "%s does not support %s; want eq, ne, in, contains, icontains or exists", f, op)
		}
		return op, nil
	case Contains, IContains:
		if f == Importance || f == OccurredAt || f == CreatedAt {
			return "", fault.InvalidField(at, "%s does not support %s; want eq, ne, gt, gte, lt, lte, in, exists", f, op)
		}
		return op, nil
	}
	return "", fault.InvalidField(at, "unknown operator %q; want one of %s", clip.Runes(name, shown), opNames)
}

// shown is how much of what was given a refusal repeats.
const shown = 64

func (o Op) isOrdering() bool { return o == Gt || o == Gte || o == Lt || o == Lte }

// parseValue parses an operand of a leaf.
func (p *parser) parseValue(raw json.RawMessage, l *Leaf, at string) (Value, error) {
	v, err := parseOperand(raw, l.Field, at)
	if err != nil || l.Op != Eq && l.Op != Ne && l.Op != In {
		return v, err
	}
	if known := p.known[l.Field]; known != nil && !slices.Contains(known, v.Text) {
		return v, fault.InvalidField(at, "must be one of %s; it is %q", wording.Or(known...), clip.Runes(v.Text, shown))
	}
	if l.Field == ID {
		id, err := uuid.Parse(v.Text)
		if err != nil {
			return v, fault.InvalidField(at, "must be the id of a note, a UUID; it is %q", clip.Runes(v.Text, shown))
		}
		v.Text = id.String() // as ids are compared
	}
	return v, nil
}

// parseOperand parses an operand for the field.
func parseOperand(raw json.RawMessage, f Field, at string) (Value, error) {
	var v any
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return Value{}, fault.InvalidField(at, "not a usable value")
	}
	s, ok := Scalar(v)
	if _, number := v.(json.Number); number && !ok {
		return Value{}, fault.InvalidField(at, "the number is too large")
	}
	if f == Importance {
		s.Digits = "" // the field is a float64
	}
	types := fieldTypes[f]
	for _, t := range types {
		switch {
		case !ok:
		case t == Time && s.Type == Text:
			if day, err := time.Parse(time.DateOnly, s.Text); err == nil {
				return Value{Type: Time, Time: day, Day: true}, nil
			}
			instant, err := ParseTime(s.Text)
			if err != nil {
				return Value{}, fault.InvalidField(at, "want a time as RFC 3339 or YYYYMMDDHHmm, or a date")
			}
			return Value{Type: Time, Time: instant}, nil
		case t == s.Type:
			if strings.ContainsRune(s.Text, 0) {
				return Value{}, fault.InvalidField(at, "text with NUL")
			}
			return s, nil
		}
	}
	switch {
	case f == Attributes:
		return Value{}, fault.InvalidField(at, "want text, a number or a boolean")
	case types[0] == Number:
		return Value{}, fault.InvalidField(at, "want a number")
	case types[0] == Time:
		return Value{}, fault.InvalidField(at, "want a time as RFC 3339 or YYYYMMDDHHmm, or a date")
	}
	return Value{}, fault.InvalidField(at, "want text")
}

// parseText parses a JSON string.
func parseText(raw json.RawMessage, at string) (string, error) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", fault.InvalidField(at, "want text")
	}
	return s, nil
}

// parseMembers splits an object into its members. It refuses a repeated member: encoding/json would
// silently use the last one.
func parseMembers(raw json.RawMessage, path string) (map[string]json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, fault.InvalidField(path, "want an object")
	}
	out := map[string]json.RawMessage{}
	for dec.More() {
		t, err := dec.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, fault.InvalidField(path, "want an object")
		}
		if _, twice := out[name]; twice {
			return nil, fault.InvalidField(path+"."+name, "given twice")
		}
		var body json.RawMessage
		if err := dec.Decode(&body); err != nil {
			return nil, fault.InvalidField(path+"."+name, "not a usable value")
		}
		out[name] = body
		if len(out) > MaxLeaves {
			return nil, fault.InvalidField(path, "more than %d conditions", MaxLeaves)
		}
	}
	return out, nil
}

// compactTime is YYYYMMDDHHmm.
const compactTime = "200601021504"

// offsetTimes are RFC 3339, and what other programs write of ISO 8601: an offset without a colon, no seconds.
var offsetTimes = []string{time.RFC3339Nano, "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z07:00", "2006-01-02T15:04Z0700"}

// ParseTime parses a time as the API accepts it: RFC 3339 with any offset, also with a space in place of T, without seconds or
// without the colon of the offset, or YYYYMMDDHHmm in UTC.
// The result is UTC, truncated to microseconds.
func ParseTime(s string) (time.Time, error) {
	t, err := ParseLocalTime(s)
	return t.UTC(), err
}

// ParseLocalTime is [ParseTime] with the offset that was written, also +00:00. The location is time.UTC for Z, for -00:00
// (RFC 3339, section 4.3: the local offset is unknown), and for YYYYMMDDHHmm.
func ParseLocalTime(s string) (time.Time, error) {
	if len(s) == len(compactTime) && strings.Trim(s, "0123456789") == "" {
		t, err := time.Parse(compactTime, s)
		if err != nil {
			return time.Time{}, fmt.Errorf("time %q: %w", s, err)
		}
		return t, nil
	}
	// RFC 3339, section 5.6, allows t and z in lower case, and a space between date and time.
	written := strings.ToUpper(s)
	if day, clock, ok := strings.Cut(written, " "); ok {
		written = day + "T" + clock
	}
	var first error
	for _, layout := range offsetTimes {
		t, err := time.Parse(layout, written)
		if err != nil {
			first = cmp.Or(first, err)
			continue
		}
		t = t.Truncate(time.Microsecond)
		if _, offset := t.Zone(); !strings.HasSuffix(s, "-00:00") && !strings.HasSuffix(written, "Z") {
			return t.In(time.FixedZone("", offset)), nil
		}
		return t.UTC(), nil
	}
	return time.Time{}, fmt.Errorf("time %q: %w", s, first)
}
