package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// maxJSONDepth is the maximum nesting of objects and arrays in a body.
const maxJSONDepth = 64

// maxOpenNames is how many fields the objects around one position of a body may have together, where
// each nameBytes of a name count as another one. The reader remembers them, to find one that is named
// twice: for the most names it needs about 10 MiB.
const (
	maxOpenNames = 64 << 10
	nameBytes    = 64
)

// tokensPerCheck is the number of tokens between two looks at the deadline.
const tokensPerCheck = 1024

// jsonScan is the result of one pass over a JSON text.
type jsonScan struct {
	cost int  // of the values when decoded: 1 for each, and 2 more for an object
	nul  bool // a string has a NUL
	// large holds the number of members or items of each container of more bytes than asked for, by
	// the position of its beginning.
	large map[int]uint64
}

// container is an object or list around the position of a scan.
type container struct {
	start  int
	tokens uint64 // names and values so far
	names  int    // as maxOpenNames counts them
	object bool
}

func (c *container) members() uint64 {
	if c.object {
		return c.tokens / 2
	}
	return c.tokens
}

// scanJSON refuses a text that is not exactly one JSON value. Malformed: invalid JSON or UTF-8, half of
// a surrogate pair, a repeated key, or more data after the value. Invalid: nesting beyond maxJSONDepth,
// or too many values for the size of the text. It needs little memory, and returns the error of ctx
// when ctx ends.
//
//nolint:gocognit // one loop over the tokens of each body, with each refusal where it is known
func scanJSON(ctx context.Context, raw []byte, large int) (jsonScan, error) {
	s := jsonScan{large: map[int]uint64{}}
	if !utf8.Valid(raw) {
		return s, fault.New(fault.Malformed, "the body is not valid UTF-8")
	}
	escapedNUL := bytes.Contains(raw, []byte(`\u0000`)) // or the text of one
	budget := minValueBudget + len(raw)/bytesPerValue
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
	var around []container
	names := 0 // of the objects around
	for n := 1; ; n++ {
		if n%tokensPerCheck == 0 && ctx.Err() != nil {
			return s, ctx.Err() //nolint:wrapcheck // the caller's own deadline
		}
		before := dec.InputOffset()
		tok, err := dec.ReadToken()
		switch {
		case errors.Is(err, io.EOF) && n > 1:
			return s, nil
		case err != nil:
			return s, malformed(err)
		case n > 1 && len(around) == 0:
			return s, fault.New(fault.Malformed, "there is data after the JSON value, at byte %d", dec.InputOffset())
		}
		kind := tok.Kind()
		if kind == '}' || kind == ']' {
			own := around[len(around)-1]
			around = around[:len(around)-1]
			names -= own.names
			if int(dec.InputOffset())-own.start > large {
				s.large[own.start] = own.members()
			}
			continue
		}
		if kind == '"' && escapedNUL && strings.ContainsRune(tok.String(), 0) {
			s.nul = true
		}
		if len(around) > 0 {
			outer := &around[len(around)-1]
			if outer.tokens++; outer.object && outer.tokens%2 == 1 {
				weight := 1 + int(dec.InputOffset()-before)/nameBytes
				outer.names += weight
				if names += weight; names > maxOpenNames {
					return s, fault.New(fault.Invalid, "the objects of the body have more than %d fields, or long names of fields", maxOpenNames)
				}
				continue
			}
		}
		s.cost++
		if kind == '{' || kind == '[' {
			around = append(around, container{start: int(dec.InputOffset()) - 1, object: kind == '{'})
			if kind == '{' {
				s.cost += 2
			}
		}
		if len(around) > maxJSONDepth {
			return s, fault.New(fault.Invalid, "the body is nested deeper than %d", maxJSONDepth)
		}
		if s.cost > budget {
			return s, errTooManyValues()
		}
	}
}

// parseJSON decodes a JSON text with the refusals of scanJSON, and Invalid for a NUL character. Numbers
// are json.Number.
func parseJSON(raw []byte) (any, error) {
	scan, err := scanJSON(context.Background(), raw, len(raw))
	if err != nil {
		return nil, err
	}
	return scan.decode(raw)
}

// decode decodes a text that was scanned.
func (s *jsonScan) decode(raw []byte) (any, error) {
	v, err := decodePiece(bytes.TrimSpace(raw))
	if err != nil {
		return nil, err
	}
	if s.nul {
		return nil, refuseField(findNUL(v, ""), "text must not contain NUL")
	}
	return v, nil
}

func errTooManyValues() error {
	return fault.New(fault.Invalid, "the body has too many values for its size")
}

func errRepeatedKey() error {
	return fault.New(fault.Malformed, "an object names the same key twice")
}

// malformed describes a reader's error without repeating input.
func malformed(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return errRepeatedKey()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fault.Wrap(err, fault.Malformed, "the body ends before its JSON value does")
	case errors.As(err, &syntax):
		return fault.Wrap(err, fault.Malformed, "the body is not valid JSON at byte %d", syntax.ByteOffset)
	default:
		return fault.Wrap(err, fault.Malformed, "the body is not valid JSON")
	}
}

// unmarshal decodes a body that matches the contract. It still fails for a number that its Go type
// cannot hold, such as 1.5e3 or 1e30 for an integer. Numbers in free objects keep their exact
// value, also above 2^53.
func unmarshal(raw []byte, into any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if err := dec.Decode(into); err != nil {
		if typ, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return fault.InvalidField(typ.Field, "cannot be read as %s", typ.Type.Kind())
		}
		return fault.Wrap(err, fault.Invalid, "the body does not fit the operation")
	}
	return nil
}

// findNUL returns the dotted path of the first string with a NUL. A key with a NUL is reported at
// its parent.
func findNUL(v any, path string) string {
	switch v := v.(type) {
	case string:
		if strings.ContainsRune(v, 0) {
			return path
		}
	case map[string]any:
		for k, e := range v {
			if strings.ContainsRune(k, 0) {
				return path
			}
			if p := findNUL(e, join(path, k)); p != "" {
				return p
			}
		}
	case []any:
		for i, e := range v {
			if p := findNUL(e, join(path, fmt.Sprint(i))); p != "" {
				return p
			}
		}
	}
	return ""
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
