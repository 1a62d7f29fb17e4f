package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// A decoded body takes up to 60 times the memory of its text, and the validator adds to it. So only
// small bodies are decoded as a whole and validated with a report of all wrong fields. A body larger
// than maxFullReport is validated piece by piece over its text: objects and arrays that are
// themselves larger than a piece are walked along the schema, everything below is decoded and
// validated one after the other, and the first violation ends the walk. Where the schema is open,
// nothing is decoded. What handlers decode afterwards is bounded by the cost of the values in the
// body (jsonScan.cost), relative to its size.

const (
	// minValueBudget is the cost of values that a body of any size may have; see jsonScan.cost.
	// A unit of cost takes at most about 90 bytes when it is decoded.
	minValueBudget = 128 << 10
	// bytesPerValue is the size in bytes for which a body may have one more unit.
	bytesPerValue = 16
	// lineValueBudget is the cost of values that a line of a bulk adds to the budget of the whole
	// body: the decoded lines are in memory together.
	lineValueBudget = 64
	// bytesPerLineValue is bytesPerValue for the body of a bulk.
	bytesPerLineValue = 32
	// piecesPerCheck is the number of pieces between two looks at the deadline.
	piecesPerCheck = 256
)

// checkBody validates a JSON text against a schema of the contract, with the refusals of parseJSON
// and checkSchema. It returns the error of ctx when ctx ends.
func checkBody(ctx context.Context, schema *openapi3.Schema, raw []byte) error {
	if len(raw) <= maxFullReport {
		value, err := parseJSON(raw)
		if err != nil {
			return err
		}
		return checkSchema(schema, value, len(raw), "")
	}
	return checkPieces(ctx, schema, raw, maxFullReport)
}

// checkPieces is checkBody for a large text, with the size of a piece.
func checkPieces(ctx context.Context, schema *openapi3.Schema, raw []byte, size int) error {
	scan, err := checkEncoding(raw)
	if err != nil {
		return err
	}
	if err := checkCost(scan.cost, minValueBudget+len(raw)/bytesPerValue); err != nil {
		return err
	}
	if !json.Valid(raw) {
		return malformed(json.Unmarshal(raw, &syntaxOnly{}))
	}
	if hasRepeatedKey(raw) {
		return errRepeatedKey()
	}
	p := pieces{ctx: ctx, raw: raw, size: size, nul: scan.nul}
	if _, err := p.visit(schema, skipSpace(raw, 0), nil); err != nil {
		return err
	}
	if scan.nul { // in a part that the walk does not decode
		return fault.New(fault.Invalid, "text must not contain NUL")
	}
	return nil
}

// checkBulkCost bounds the values of a whole NDJSON body.
func checkBulkCost(raw []byte) error {
	if len(raw) <= minValueBudget {
		return nil
	}
	return checkCost(scanJSON(raw).cost, minValueBudget+bytes.Count(raw, []byte("\n"))*lineValueBudget+len(raw)/bytesPerLineValue)
}

func checkCost(cost, budget int) error {
	if cost > budget {
		return fault.New(fault.Invalid, "the body has too many values for its size")
	}
	return nil
}

// syntaxOnly makes json.Unmarshal check the syntax of a text without decoding it.
type syntaxOnly struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*syntaxOnly) UnmarshalJSON([]byte) error { return nil }

// hasRepeatedKey reports whether an object of a valid JSON text names a key twice. It compares
// 64-bit hashes with a random seed: a copy of all keys would be larger than the text.
func hasRepeatedKey(raw []byte) bool {
	seed := maphash.MakeSeed()
	var keys []uint64 // of the objects around the position, one after the other
	var starts []int  // positions in keys, one for each container around the position
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			starts = append(starts, len(keys))
		case '}', ']':
			own := keys[starts[len(starts)-1]:]
			slices.Sort(own)
			for j := 1; j < len(own); j++ {
				if own[j] == own[j-1] {
					return true
				}
			}
			keys = keys[:len(keys)-len(own)]
			starts = starts[:len(starts)-1]
		case '"':
			end, _ := skipValue(raw, i, len(raw))
			if next := skipSpace(raw, end); next < len(raw) && raw[next] == ':' {
				keys = append(keys, maphash.Bytes(seed, unquoteKey(raw[i:end])))
			}
			i = end - 1
		}
	}
	return false
}

// unquoteKey returns the text of a quoted key. It copies only keys with escapes.
func unquoteKey(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var s string
	_ = json.Unmarshal(quoted, &s) // the syntax was checked
	return []byte(s)
}

// pieces validates a JSON text, whose syntax is valid, piece by piece.
type pieces struct {
	ctx  context.Context //nolint:containedctx // lives for one walk
	raw  []byte
	size int  // of a piece, in bytes
	nul  bool // a string has a NUL
	seen int  // pieces so far
}

// place is a position in a body, as a list from the innermost name outwards; nil is the root.
type place struct {
	outer *place
	key   []byte // nil: index
	index int
}

func (p *place) String() string {
	switch {
	case p == nil:
		return ""
	case p.key != nil:
		return join(p.outer.String(), string(p.key))
	default:
		return join(p.outer.String(), strconv.Itoa(p.index))
	}
}

// visit validates the value at i and returns the position after it.
func (p *pieces) visit(schema *openapi3.Schema, i int, at *place) (int, error) {
	if p.seen++; p.seen%piecesPerCheck == 0 {
		if err := p.ctx.Err(); err != nil {
			return i, err //nolint:wrapcheck // the caller's own deadline
		}
	}
	end, small := skipValue(p.raw, i, i+p.size)
	if !small && !isWalkable(schema) {
		end, small = skipValue(p.raw, i, len(p.raw))
	}
	if small {
		return end, p.piece(schema, p.raw[i:end], at)
	}
	for _, part := range schema.AllOf { // the validator would print the value into the refusal
		if _, err := p.visit(part.Value, i, at); err != nil {
			return i, err
		}
	}
	if p.raw[i] != '{' && p.raw[i] != '[' {
		own := *schema
		own.AllOf = nil
		end, _ = skipValue(p.raw, i, len(p.raw))
		return end, p.piece(&own, p.raw[i:end], at)
	}
	if p.raw[i] == '{' {
		return p.object(schema, i, at)
	}
	return p.array(schema, i, at)
}

// isWalkable reports whether the validity of an object or array follows from its parts. The contract
// has no other schema for objects and arrays.
func isWalkable(s *openapi3.Schema) bool {
	return len(s.OneOf)+len(s.AnyOf) == 0 && s.Not == nil && !s.UniqueItems
}

// piece decodes and validates one value.
func (p *pieces) piece(schema *openapi3.Schema, raw []byte, at *place) error {
	v, err := decodePiece(raw)
	if err != nil {
		return err
	}
	if p.nul {
		if path := findNUL(v, at.String()); path != "" {
			return refuseField(path, "text must not contain NUL")
		}
	}
	if err := schema.VisitJSON(v, firstError...); err == nil {
		return nil // before the name of the place is made
	}
	return checkSchema(schema, v, len(p.raw), at.String())
}

// decodePiece decodes a value of valid JSON. Numbers are json.Number. Numbers, of which there are
// many, and plain strings, which may be long, do not need the decoder.
func decodePiece(raw []byte) (any, error) {
	if raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9' {
		return json.Number(raw), nil
	}
	if raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, malformed(err)
	}
	return v, nil
}

// object validates the object at i, member by member.
func (p *pieces) object(schema *openapi3.Schema, i int, at *place) (int, error) {
	if !schema.Type.Permits(openapi3.TypeObject) {
		return i, p.wrongType(schema, map[string]any{}, at)
	}
	missing := slices.Clone(schema.Required)
	members := uint64(0)
	for i = skipSpace(p.raw, i+1); p.raw[i] != '}'; i = skipComma(p.raw, i) {
		end, _ := skipValue(p.raw, i, len(p.raw))
		key := unquoteKey(p.raw[i:end])
		i = skipSpace(p.raw, skipSpace(p.raw, end)+1) // behind the colon
		if p.nul && bytes.IndexByte(key, 0) >= 0 {
			return i, refuseField(at.String(), "text must not contain NUL")
		}
		if members++; schema.MaxProps != nil && members > *schema.MaxProps {
			return i, refuseField(at.String(), fmt.Sprintf("there must be at most %d properties", *schema.MaxProps))
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == string(key) })
		inner := &place{outer: at, key: key}
		member := schema.AdditionalProperties.Schema
		if known := schema.Properties[string(key)]; known != nil {
			member = known
		} else if has := schema.AdditionalProperties.Has; has != nil && !*has {
			return i, refuseField(inner.String(), unknownName("field", string(key), slices.Collect(maps.Keys(schema.Properties))))
		}
		var err error
		if i, err = p.member(member, i, inner); err != nil {
			return i, err
		}
	}
	if len(missing) > 0 {
		return i, refuseField(join(at.String(), missing[0]), "is required")
	}
	if members < schema.MinProps {
		return i, refuseField(at.String(), fmt.Sprintf("there must be at least %d properties", schema.MinProps))
	}
	return i + 1, nil
}

// array validates the array at i, item by item.
func (p *pieces) array(schema *openapi3.Schema, i int, at *place) (int, error) {
	if !schema.Type.Permits(openapi3.TypeArray) {
		return i, p.wrongType(schema, []any{}, at)
	}
	items := uint64(0)
	if schema.MaxItems != nil { // before the first item is looked at
		for j := skipSpace(p.raw, i+1); p.raw[j] != ']'; j = skipComma(p.raw, j) {
			if items++; items > *schema.MaxItems {
				return i, refuseField(at.String(), fmt.Sprintf("maximum number of items is %d", *schema.MaxItems))
			}
			j, _ = skipValue(p.raw, j, len(p.raw))
		}
	}
	items = 0
	for i = skipSpace(p.raw, i+1); p.raw[i] != ']'; i = skipComma(p.raw, i) {
		var err error
		if i, err = p.member(schema.Items, i, &place{outer: at, index: int(items)}); err != nil {
			return i, err
		}
		items++
	}
	if items < schema.MinItems {
		return i, refuseField(at.String(), fmt.Sprintf("minimum number of items is %d", schema.MinItems))
	}
	return i + 1, nil
}

// member validates a part of a container. Without a schema everything is valid.
func (p *pieces) member(schema *openapi3.SchemaRef, i int, at *place) (int, error) {
	if schema == nil {
		end, _ := skipValue(p.raw, i, len(p.raw))
		return end, nil
	}
	return p.visit(schema.Value, i, at)
}

// wrongType returns the validator's refusal of a container of a wrong type. sample is such a
// container, empty.
func (p *pieces) wrongType(schema *openapi3.Schema, sample any, at *place) error {
	if err := checkSchema(schema, sample, len(p.raw), at.String()); err != nil {
		return err
	}
	return refuseField(at.String(), "does not match the contract")
}

// refuseField is checkSchema's refusal of one field; the root has no name.
func refuseField(path, reason string) error {
	msg := reason
	if path != "" {
		msg = path + ": " + reason
	}
	return &fault.Error{Code: fault.Invalid, Message: msg, Fields: []fault.Field{{Field: path, Reason: reason}}}
}

// skipValue returns the position after the value at i of a valid JSON text, and whether it is at or
// before limit. It does not look further than limit.
func skipValue(raw []byte, i, limit int) (end int, within bool) {
	depth := 0
	for limit = min(limit, len(raw)); i < limit; i++ {
		switch raw[i] {
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		case '"':
			if i = endOfString(raw[:limit], i+1); i >= limit {
				return limit, false
			}
		case ',', ':', ' ', '\t', '\r', '\n':
			continue
		default: // a number, true, false or null
			for i+1 < len(raw) && !endsScalar(raw[i+1]) {
				i++
			}
		}
		if depth == 0 {
			return i + 1, i < limit
		}
	}
	return limit, false
}

// endOfString returns the position of the quote that closes the string whose text begins at i, or
// the length of raw or more.
func endOfString(raw []byte, i int) int {
	n := bytes.IndexByte(raw[i:], '"')
	if n < 0 {
		return len(raw)
	}
	if bytes.IndexByte(raw[i:i+n], '\\') < 0 {
		return i + n
	}
	for ; i < len(raw) && raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i
}

func endsScalar(b byte) bool {
	switch b {
	case ',', ':', ']', '}', ' ', '\t', '\r', '\n':
		return true
	}
	return false
}

func skipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\t' || raw[i] == '\r' || raw[i] == '\n') {
		i++
	}
	return i
}

// skipComma returns the position of the next member, or of the end of the container.
func skipComma(raw []byte, i int) int {
	if i = skipSpace(raw, i); raw[i] == ',' {
		i = skipSpace(raw, i+1)
	}
	return i
}
