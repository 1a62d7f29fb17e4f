package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/go-json-experiment/json/jsontext"

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

// checkBody validates a JSON text against a schema of the contract, with the refusals of scanJSON and
// checkSchema, and returns the cost of its values. It returns the error of ctx when ctx ends.
func checkBody(ctx context.Context, schema *openapi3.Schema, raw []byte) (cost int, err error) {
	if len(raw) > maxFullReport {
		return checkPieces(ctx, schema, raw, maxFullReport)
	}
	scan, err := scanJSON(ctx, raw, len(raw))
	if err != nil {
		return 0, err
	}
	value, err := scan.decode(raw)
	if err != nil {
		return 0, err
	}
	return scan.cost, checkSchema(schema, value, len(raw), "")
}

// checkPieces is checkBody for a large text, with the size of a piece.
func checkPieces(ctx context.Context, schema *openapi3.Schema, raw []byte, size int) (cost int, err error) {
	scan, err := scanJSON(ctx, raw, size)
	if err != nil {
		return 0, err
	}
	p := pieces{ctx: ctx, raw: raw, size: size, scan: &scan}
	p.seek(0)
	if err := p.visit(schema, nil); err != nil {
		return 0, err
	}
	if scan.nul { // in a part that the walk does not decode
		return 0, fault.New(fault.Invalid, "text must not contain NUL")
	}
	return scan.cost, nil
}

// bulkBudget is the cost of values that the lines of a bulk may have together.
func bulkBudget(raw []byte, lines int) int {
	return minValueBudget + lines*lineValueBudget + len(raw)/bytesPerLineValue
}

// pieces validates a JSON text that was scanned, piece by piece.
type pieces struct {
	ctx  context.Context //nolint:containedctx // lives for one walk
	raw  []byte
	size int // of a piece, in bytes
	scan *jsonScan
	seen int // pieces so far

	dec  *jsontext.Decoder
	base int // position in raw where dec began
}

// seek makes the walk continue at a value.
func (p *pieces) seek(i int) {
	p.dec = jsontext.NewDecoder(bytes.NewBuffer(p.raw[i:]), jsontext.AllowDuplicateNames(true)) // the scan found none
	p.base = i
}

// next returns the position of the next value.
func (p *pieces) next() int {
	i := p.base + int(p.dec.InputOffset())
	for i < len(p.raw) && strings.IndexByte(" \t\r\n,:", p.raw[i]) >= 0 {
		i++
	}
	return i
}

// place is a position in a body, as a list from the innermost name outwards; nil is the root.
type place struct {
	outer *place
	key   string
	index int
	item  bool // index, not key
}

func (p *place) String() string {
	switch {
	case p == nil:
		return ""
	case p.item:
		return join(p.outer.String(), strconv.Itoa(p.index))
	default:
		return join(p.outer.String(), p.key)
	}
}

// visit validates the next value.
func (p *pieces) visit(schema *openapi3.Schema, at *place) error {
	if p.seen++; p.seen%piecesPerCheck == 0 && p.ctx.Err() != nil {
		return p.ctx.Err() //nolint:wrapcheck // the caller's own deadline
	}
	start := p.next()
	members, large := p.scan.large[start]
	if large && isWalkable(schema) {
		for _, part := range schema.AllOf {
			whole := *p
			whole.seek(start)
			if err := whole.visit(part.Value, at); err != nil {
				return err
			}
		}
		tok, err := p.dec.ReadToken()
		if err != nil {
			return malformed(err)
		}
		if tok.Kind() == '{' {
			return p.object(schema, members, at)
		}
		return p.array(schema, members, at)
	}
	raw, err := p.dec.ReadValue()
	if err != nil {
		return malformed(err)
	}
	if len(raw) > p.size && len(schema.AllOf) > 0 { // the validator would print the value into the refusal
		own := *schema
		own.AllOf = nil
		for _, part := range schema.AllOf {
			if err := p.piece(part.Value, raw, at); err != nil {
				return err
			}
		}
		schema = &own
	}
	return p.piece(schema, raw, at)
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
	if p.scan.nul {
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

// object validates an object that has begun, member by member.
func (p *pieces) object(schema *openapi3.Schema, members uint64, at *place) error {
	if !schema.Type.Permits(openapi3.TypeObject) {
		return p.wrongType(schema, map[string]any{}, at)
	}
	if most := schema.MaxProps; most != nil && members > *most {
		return refuseField(at.String(), fmt.Sprintf("there must be at most %d properties", *most))
	}
	missing := slices.Clone(schema.Required)
	for p.dec.PeekKind() != '}' {
		tok, err := p.dec.ReadToken()
		if err != nil {
			return malformed(err)
		}
		key := tok.String()
		if p.scan.nul && strings.ContainsRune(key, 0) {
			return refuseField(at.String(), "text must not contain NUL")
		}
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == key })
		inner := &place{outer: at, key: key}
		member := schema.AdditionalProperties.Schema
		if known := schema.Properties[key]; known != nil {
			member = known
		} else if has := schema.AdditionalProperties.Has; has != nil && !*has {
			return refuseField(inner.String(), unknownName("field", key, slices.Collect(maps.Keys(schema.Properties))))
		}
		if err := p.member(member, inner); err != nil {
			return err
		}
	}
	if len(missing) > 0 {
		return refuseField(join(at.String(), missing[0]), "is required")
	}
	if members < schema.MinProps {
		return refuseField(at.String(), fmt.Sprintf("there must be at least %d properties", schema.MinProps))
	}
	return p.close()
}

// array validates an array that has begun, item by item.
func (p *pieces) array(schema *openapi3.Schema, items uint64, at *place) error {
	if !schema.Type.Permits(openapi3.TypeArray) {
		return p.wrongType(schema, []any{}, at)
	}
	if most := schema.MaxItems; most != nil && items > *most {
		return refuseField(at.String(), fmt.Sprintf("maximum number of items is %d", *most))
	}
	for i := 0; p.dec.PeekKind() != ']'; i++ {
		if err := p.member(schema.Items, &place{outer: at, index: i, item: true}); err != nil {
			return err
		}
	}
	if items < schema.MinItems {
		return refuseField(at.String(), tooFewItems(schema.MinItems))
	}
	return p.close()
}

// close reads the end of a container.
func (p *pieces) close() error {
	if _, err := p.dec.ReadToken(); err != nil {
		return malformed(err)
	}
	return nil
}

// member validates a part of a container. Without a schema everything is valid.
func (p *pieces) member(schema *openapi3.SchemaRef, at *place) error {
	if schema != nil {
		return p.visit(schema.Value, at)
	}
	if err := p.dec.SkipValue(); err != nil {
		return malformed(err)
	}
	return nil
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
