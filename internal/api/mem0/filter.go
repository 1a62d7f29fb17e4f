package mem0

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/clip"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// condition is a parsed filter of mem0's. Conditions on ids are kept apart from the others: they say which
// collections are read, and in a collection that has the id itself they are true or false for all its memories.
type condition interface {
	// homes returns the entities whose memories can satisfy the condition; the zero value stands for every entity.
	homes() []memory.External
	// in returns the condition on a memory of a collection with these ids: an expression, or a constant.
	in(c memory.External) (filter.Expr, truth)
}

// truth is what is known of a condition without reading a memory.
type truth int

const (
	depends truth = iota
	always
	never
)

type (
	allOf  []condition
	anyOf  []condition
	noneOf struct{ of condition }
	// idIs compares an id. ops are those of filter on texts.
	idIs struct {
		kind   int
		op     filter.Op
		values []string
	}
	// leafOf is a condition on anything else that the filter language knows.
	leafOf struct{ expr filter.Expr }
	// noteIs is a condition that it does not know. The memories that satisfy it are looked up before it is used.
	noteIs struct {
		match func(n *memory.Note) bool
		ids   map[memory.External][]uuid.UUID // by the collection
	}
)

// everyone is the list of homes that names nobody.
func everyone() []memory.External { return []memory.External{{}} }

func (n noneOf) homes() []memory.External  { return everyone() }
func (l leafOf) homes() []memory.External  { return everyone() }
func (n *noteIs) homes() []memory.External { return everyone() }

func (i idIs) homes() []memory.External {
	if i.op != filter.Eq && i.op != filter.In {
		return everyone()
	}
	var out []memory.External
	for _, v := range i.values {
		out = append(out, externalOf(i.kind, v))
	}
	return out
}

// homes of alternatives are those of each of them.
func (a anyOf) homes() (out []memory.External) {
	for _, c := range a {
		for _, h := range c.homes() {
			if !slices.Contains(out, h) {
				out = append(out, h)
			}
		}
	}
	return out
}

// homes of conditions that hold together: of two entities, a memory belongs to the first in the order user, agent, app,
// run. Two different users exclude each other.
func (a allOf) homes() []memory.External {
	out := everyone()
	for _, c := range a {
		var next []memory.External
		theirs := c.homes()
		for _, mine := range out {
			for _, other := range theirs {
				if h, ok := both(mine, other); ok && !slices.Contains(next, h) {
					next = append(next, h)
				}
			}
		}
		out = next
	}
	return out
}

// both returns the entity that a memory of two entities belongs to. ok is false if they exclude each other.
func both(a, b memory.External) (home memory.External, ok bool) {
	if a == b || b.IsZero() {
		return a, true
	}
	if a.IsZero() {
		return b, true
	}
	theirs := b.IDs()
	for kind, id := range a.IDs() {
		switch {
		case id.Value != "" && theirs[kind].Value != "":
			return memory.External{}, false
		case id.Value != "":
			return a, true
		case theirs[kind].Value != "":
			return b, true
		}
	}
	return a, true
}

func (l leafOf) in(memory.External) (filter.Expr, truth) { return l.expr, depends }

func (n *noteIs) in(c memory.External) (filter.Expr, truth) {
	ids := n.ids[c]
	if len(ids) == 0 {
		return nil, never
	}
	var chunks filter.Or
	for chunk := range slices.Chunk(ids, filter.MaxValues) {
		values := make([]string, len(chunk))
		for i, id := range chunk {
			values[i] = id.String()
		}
		chunks = append(chunks, filter.TextIs(filter.ID, values...))
	}
	return chunks, depends
}

// unknown returns the conditions within c whose memories have to be looked up.
func unknown(c condition) (out []*noteIs) {
	switch c := c.(type) {
	case allOf:
		for _, one := range c {
			out = append(out, unknown(one)...)
		}
	case anyOf:
		for _, one := range c {
			out = append(out, unknown(one)...)
		}
	case noneOf:
		return unknown(c.of)
	case *noteIs:
		return []*noteIs{c}
	}
	return out
}

func (n noneOf) in(c memory.External) (filter.Expr, truth) {
	switch e, t := n.of.in(c); t {
	case always:
		return nil, never
	case never:
		return nil, always
	default:
		return filter.Not{Term: e}, depends
	}
}

func (i idIs) in(c memory.External) (filter.Expr, truth) {
	of := c.IDs()[i.kind].Value
	leaf := &filter.Leaf{Field: filter.Attributes, Path: []string{idNames[i.kind]}, Op: i.op, Values: filter.TextValues(i.values), Want: true}
	if of == "" {
		return leaf, depends
	}
	if leaf.Match(&filter.Record{Attributes: map[string]any{idNames[i.kind]: of}}) {
		return nil, always
	}
	return nil, never
}

func (a allOf) in(c memory.External) (filter.Expr, truth) {
	var terms filter.And
	for _, one := range a {
		switch e, t := one.in(c); t {
		case never:
			return nil, never
		case depends:
			terms = append(terms, e)
		case always:
		}
	}
	if len(terms) == 0 {
		return nil, always
	}
	return terms, depends
}

func (a anyOf) in(c memory.External) (filter.Expr, truth) {
	var terms filter.Or
	for _, one := range a {
		switch e, t := one.in(c); t {
		case always:
			return nil, always
		case depends:
			terms = append(terms, e)
		case never:
		}
	}
	if len(terms) == 0 {
		return nil, never
	}
	return terms, depends
}

// exactly returns the condition that all of these ids are a memory's.
func exactly(e memory.External) allOf {
	var out allOf
	for kind, id := range e.IDs() {
		if id.Value != "" {
			out = append(out, idIs{kind: kind, op: filter.Eq, values: []string{id.Value}})
		}
	}
	return out
}

// plainIDs returns the ids of a filter that only says which ids a memory has. Malformed for any other.
func plainIDs(c condition) (e memory.External, err error) {
	switch c := c.(type) {
	case allOf:
		for _, one := range c {
			inner, err := plainIDs(one)
			if err != nil {
				return e, err
			}
			for kind, id := range inner.IDs() {
				if id.Value == "" {
					continue
				}
				if err := setID(&e, kind, id.Value); err != nil {
					return e, err
				}
			}
		}
		return e, nil
	case idIs:
		if c.op == filter.Eq {
			err := setID(&e, c.kind, c.values[0])
			return e, err
		}
	}
	return e, malformed("filters: only ids with one value each can be given here")
}

// maxFilterDepth is how deep conditions may be nested.
const maxFilterDepth = filter.MaxDepth

// parseFilters parses filters as JSON has them; numbers are json.Number. Malformed, with the path, for anything that is
// not known: a condition that is not understood must not match everything.
func parseFilters(v any) (condition, error) { return parseFilter(v, "filters", 1) }

// nameless returns a name of filters that is in no field, so that it is one of the metadata; "": there is none. A deletion
// refuses it, because it may be a field's, mistyped.
func nameless(v any) string {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			if name := nameless(one); name != "" {
				return name
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			_, isField := fields[key]
			_, isID := kindOf(key)
			switch m, isObject := v[key].(map[string]any); {
			case connective(key, v[key]) != "":
				if name := nameless(v[key]); name != "" {
					return name
				}
			case key == attrMetadata && isObject && len(m) == 0:
				return key // all that a mistake left of a condition
			case !isField && !isID && key != attrMetadata && key != fieldUpdated && key != fieldKeywords:
				return key
			}
		}
	}
	return ""
}

// connective returns AND, OR or NOT for a name that connects conditions; "" for another one. In lower case it may be a name of the
// metadata, but not before a list of objects.
func connective(key string, v any) string {
	switch name := strings.ToUpper(key); {
	case name != "AND" && name != "OR" && name != "NOT":
		return ""
	case key == name:
		return name
	default:
		list, _ := v.([]any)
		if len(list) == 0 || slices.ContainsFunc(list, func(one any) bool { _, isObject := one.(map[string]any); return !isObject }) {
			return ""
		}
		return name
	}
}

func parseFilter(v any, path string, depth int) (condition, error) {
	m, ok := v.(map[string]any)
	switch {
	case !ok:
		return nil, malformed("%s: must be an object", path)
	case depth > maxFilterDepth:
		return nil, malformed("%s: is nested deeper than %d", path, maxFilterDepth)
	case len(m) == 0 && depth > 1:
		return nil, malformed("%s: must not be empty", path)
	}
	var all allOf
	for _, key := range slices.Sorted(maps.Keys(m)) {
		at := path + "." + key
		var c condition
		var err error
		switch name := connective(key, m[key]); {
		case name != "":
			c, err = parseList(name, m[key], at, depth)
		case key == attrMetadata:
			c, err = parseMetadata(m[key], at)
		default:
			c, err = parseField(key, m[key], at)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// parseList parses the conditions of AND, OR and NOT. NOT excludes what satisfies any of its conditions.
func parseList(key string, v any, path string, depth int) (condition, error) {
	if key == "NOT" {
		if m, ok := v.(map[string]any); ok {
			v = []any{m}
		}
	}
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return nil, malformed("%s: must be a list of conditions, not empty", path)
	}
	if len(list) > filter.MaxLeaves {
		return nil, malformed("%s: more than %d conditions", path, filter.MaxLeaves)
	}
	var terms []condition
	for i, item := range list {
		c, err := parseFilter(item, path+"."+strconv.Itoa(i), depth+1)
		if err != nil {
			return nil, err
		}
		terms = append(terms, c)
	}
	switch key {
	case "AND":
		return allOf(terms), nil
	case "OR":
		return anyOf(terms), nil
	}
	return noneOf{anyOf(terms)}, nil
}

// fields are the fields of a memory that can be compared, besides its ids and metadata.
var fields = map[string]filter.Field{
	"created_at": filter.CreatedAt, "timestamp": filter.OccurredAt, "categories": filter.Tags, "id": filter.ID, "memory_id": filter.ID, "memory_ids": filter.ID,
}

// Fields that the filter language does not have.
const (
	fieldUpdated  = "updated_at"
	fieldKeywords = "keywords"
)

func parseField(key string, v any, path string) (condition, error) {
	if kind, ok := kindOf(key); ok {
		return parseTests(v, path, func(op filter.Op, values []any) (condition, error) { return testID(kind, op, values, path) })
	}
	if field, ok := fields[key]; ok {
		return parseTests(v, path, func(op filter.Op, values []any) (condition, error) {
			switch field {
			case filter.CreatedAt:
				return testCreated(op, values, path)
			case filter.OccurredAt:
				return testTime(field, op, values, path)
			default:
				return testField(&filter.Leaf{Field: field, Op: op}, values, path)
			}
		})
	}
	switch key {
	case fieldUpdated:
		return parseTests(v, path, func(op filter.Op, values []any) (condition, error) { return testUpdated(op, values, path) })
	case fieldKeywords:
		return parseTests(v, path, func(op filter.Op, values []any) (condition, error) { return testKeywords(op, values, path) })
	}
	return parseNames([]string{attrMetadata, strings.TrimPrefix(key, attrMetadata+".")}, v, path)
}

// testUpdated returns the test of when a memory was changed.
func testUpdated(op filter.Op, values []any, path string) (condition, error) {
	test, err := testTime(filter.CreatedAt, op, values, path)
	if err != nil {
		return nil, err
	}
	expr, known := test.in(memory.External{})
	return &noteIs{match: func(n *memory.Note) bool {
		return known == always || known == depends && expr.Match(&filter.Record{CreatedAt: updatedAt(n)})
	}}, nil
}

// testKeywords returns the test of the words of a memory, which are those of its text and those that describe it.
func testKeywords(op filter.Op, values []any, path string) (condition, error) {
	word, within := &filter.Leaf{Field: filter.Keywords, Op: op}, &filter.Leaf{Field: filter.Category, Op: op}
	_, err := testField(word, values, path)
	within.Values, within.Want = word.Values, true
	return &noteIs{match: func(n *memory.Note) bool {
		words := append(strings.FieldsFunc(n.Content, func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) }), n.Keywords...)
		is := word.Match(&filter.Record{Keywords: words})
		if op == filter.Contains || op == filter.IContains {
			is = is || within.Match(&filter.Record{Category: n.Content})
		}
		return is
	}}, err
}

// parseNames parses the condition on a member of the metadata. An object without operators has conditions on its members.
func parseNames(names []string, v any, path string) (condition, error) {
	m, ok := v.(map[string]any)
	if !ok || slices.ContainsFunc(slices.Collect(maps.Keys(m)), func(name string) bool { _, isOperator := operators[name]; return isOperator }) {
		return parseTests(v, path, func(op filter.Op, values []any) (condition, error) {
			return testField(&filter.Leaf{Field: filter.Attributes, Path: names, Op: op}, values, path)
		})
	}
	if len(m) == 0 || len(names) > maxFilterDepth {
		return nil, malformed("%s: must be an object, not empty, at most %d deep", path, maxFilterDepth)
	}
	var all allOf
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if key == "" {
			return nil, malformed("%s: a name must not be empty", path)
		}
		c, err := parseNames(append(slices.Clone(names), key), m[key], path+"."+key)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

func parseMetadata(v any, path string) (condition, error) {
	m, ok := v.(map[string]any)
	switch {
	case !ok:
		return nil, malformed("%s: must be an object", path)
	case len(m) == 0:
		return allOf{}, nil
	}
	return parseNames([]string{attrMetadata}, v, path)
}

// operator is one of mem0's: what is compared, or what it excludes.
type operator struct {
	op       filter.Op
	excludes bool
}

// operators are mem0's, by their names.
var operators = map[string]operator{
	"eq": {op: filter.Eq}, "ne": {op: filter.Ne}, "gt": {op: filter.Gt}, "gte": {op: filter.Gte}, "lt": {op: filter.Lt}, "lte": {op: filter.Lte},
	"in": {op: filter.In}, "nin": {filter.In, true}, "contains": {op: filter.Contains}, "icontains": {op: filter.IContains},
}

// parseTests parses the value of a field: a value, "*" for any, null for none, a list for one of several, or an object
// of operators, which must all hold.
func parseTests(v any, path string, test func(op filter.Op, values []any) (condition, error)) (condition, error) {
	switch v := v.(type) {
	case nil:
		c, err := test(filter.Exists, nil)
		return noneOf{c}, err
	case []any:
		return test(filter.In, v)
	case map[string]any:
		var all allOf
		for _, name := range slices.Sorted(maps.Keys(v)) {
			is, ok := operators[name]
			if !ok {
				return nil, malformed("%s: the operator %q is not known; it can be %s", path, clip.Runes(name, 40), strings.Join(slices.Sorted(maps.Keys(operators)), ", "))
			}
			values := []any{v[name]}
			if list, isList := v[name].([]any); is.op == filter.In && isList {
				values = list
			}
			c, err := test(is.op, values)
			if err != nil {
				return nil, err
			}
			if is.excludes {
				c = noneOf{c}
			}
			all = append(all, c)
		}
		if len(all) == 0 {
			return nil, malformed("%s: must not be empty", path)
		}
		return all, nil
	case string:
		if v == "*" {
			return test(filter.Exists, nil)
		}
	}
	return test(filter.Eq, []any{v})
}

// testID returns the test of an id.
func testID(kind int, op filter.Op, values []any, path string) (condition, error) {
	switch op {
	case filter.Eq, filter.Ne, filter.In, filter.Contains, filter.IContains, filter.Exists:
	default:
		return nil, malformed("%s: an id has no order; it can be compared by eq, ne, in, contains and icontains", path)
	}
	if op == filter.In && (len(values) == 0 || len(values) > filter.MaxValues) {
		return nil, malformed("%s: must have between 1 and %d values", path, filter.MaxValues)
	}
	test := idIs{kind: kind, op: op}
	for _, v := range values {
		text, ok := v.(string)
		if !ok {
			return nil, malformed("%s: an id is a text", path)
		}
		if op != filter.Contains && op != filter.IContains {
			if err := memory.CheckExternalID(path, text); err != nil {
				return nil, malformed("%s", err.Error())
			}
		}
		if text == "*" && op == filter.In {
			return idIs{kind: kind, op: filter.Exists}, nil
		}
		test.values = append(test.values, text)
	}
	return test, nil
}

// testField completes a leaf with its values, in the form that the filter language expects.
func testField(leaf *filter.Leaf, values []any, path string) (condition, error) {
	if leaf.Op == filter.Exists {
		leaf.Want = true
		return leafOf{leaf}, nil
	}
	if leaf.Field == filter.Tags && leaf.Op == filter.Eq {
		leaf.Op = filter.Contains
	}
	for _, v := range values {
		value, err := valueOf(leaf.Field, v)
		if err != nil {
			return nil, malformed("%s: %s", path, err.Error())
		}
		leaf.Values = append(leaf.Values, value)
	}
	// The parser of the language knows which operators a field has, and the limits.
	raw, err := json.Marshal(leaf)
	if err != nil {
		return nil, malformed("%s: cannot be read", path)
	}
	if _, err := filter.Parse(raw); err != nil {
		return nil, malformed("%s: %s", path, reason(err))
	}
	return leafOf{leaf}, nil
}

func valueOf(field filter.Field, v any) (filter.Value, error) {
	isTime := field == filter.CreatedAt || field == filter.OccurredAt
	if isTime {
		at, err := memory.TimeOf(v)
		return filter.Value{Type: filter.Time, Time: at}, err
	}
	if value, ok := filter.Scalar(v); ok {
		return value, nil
	}
	return filter.Value{}, fmt.Errorf("must be a text, a number or a boolean")
}

// reason returns why a fault was raised, without the path of the field.
func reason(err error) string {
	if f, ok := errors.AsType[*fault.Error](err); ok && len(f.Fields) > 0 {
		return f.Fields[0].Reason
	}
	return err.Error()
}

// checkExpr returns an expression as the parser of the filter language makes it, with its limits. The nil expression
// stays nil.
func checkExpr(e filter.Expr) (filter.Expr, error) {
	if e == nil {
		return nil, nil //nolint:nilnil // the nil filter lets everything pass
	}
	raw, err := json.Marshal(e)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "a filter cannot be encoded")
	}
	out, err := filter.Parse(raw)
	if err != nil {
		return nil, malformed("filters: %s", reason(err))
	}
	return out, nil
}
