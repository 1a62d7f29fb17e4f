package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// maxJSONDepth is the maximum nesting of objects and arrays in a body.
const maxJSONDepth = 64

// parseJSON decodes exactly one JSON value. Malformed: invalid JSON or UTF-8, a repeated key, or
// more data after the value. Invalid: nesting beyond maxJSONDepth, or a NUL character. Numbers are
// json.Number.
func parseJSON(raw []byte) (any, error) {
	scan, err := checkEncoding(raw)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, malformed(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, fault.New(fault.Malformed, "there is data after the JSON value, at byte %d", dec.InputOffset())
	}
	// The decoder keeps the last of two equal keys and another reader might keep the first, so such
	// a body is ambiguous.
	if countMembers(v) != scan.members {
		return nil, errRepeatedKey()
	}
	if scan.nul {
		path := findNUL(v, "")
		return nil, &fault.Error{
			Code: fault.Invalid, Message: path + ": text must not contain NUL",
			Fields: []fault.Field{{Field: path, Reason: "text must not contain NUL"}},
		}
	}
	return v, nil
}

// checkEncoding refuses a text for its encoding, its escapes or its nesting.
func checkEncoding(raw []byte) (jsonScan, error) {
	var scan jsonScan
	if !utf8.Valid(raw) {
		return scan, fault.New(fault.Malformed, "the body is not valid UTF-8")
	}
	scan = scanJSON(raw)
	if scan.loneSurrogate {
		return scan, fault.New(fault.Malformed, `the body has a \u escape that is half of a surrogate pair`)
	}
	if scan.depth > maxJSONDepth {
		return scan, fault.New(fault.Invalid, "the body is nested deeper than %d", maxJSONDepth)
	}
	return scan, nil
}

func errRepeatedKey() error {
	return fault.New(fault.Malformed, "an object names the same key twice")
}

// malformed describes a decoder's error without repeating input.
func malformed(err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fault.Wrap(err, fault.Malformed, "the body is not valid JSON at byte %d", syntax.Offset)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fault.Wrap(err, fault.Malformed, "the body ends before its JSON value does")
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

// jsonScan is the result of one pass over the bytes of a JSON text.
type jsonScan struct {
	members       int // object members: colons outside strings
	depth         int // deepest nesting
	cost          int // of the values when decoded: 1 for each, and 2 more for an object
	nul           bool
	loneSurrogate bool
}

// scanJSON looks at structure and escapes only; the decoder checks the syntax.
func scanJSON(raw []byte) jsonScan {
	var s jsonScan
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			depth++
			s.depth = max(s.depth, depth)
			s.cost++
			if raw[i] == '{' {
				s.cost += 2
			}
		case '}', ']':
			depth--
		case ',':
			s.cost++
		case ':':
			s.members++
		case '"':
			i = s.scanString(raw, i+1)
		}
	}
	return s
}

// scanString returns the position of the closing quote, or of the end.
func (s *jsonScan) scanString(raw []byte, i int) int {
	if n := bytes.IndexByte(raw[i:], '"'); n >= 0 && bytes.IndexByte(raw[i:i+n], '\\') < 0 {
		return i + n
	}
	for ; i < len(raw) && raw[i] != '"'; i++ {
		if raw[i] != '\\' || i+1 >= len(raw) {
			continue
		}
		i++
		if raw[i] != 'u' {
			continue
		}
		r, ok := hex4(raw, i+1)
		if !ok {
			continue // a syntax error, which the decoder reports
		}
		i += 4
		switch {
		case r == 0:
			s.nul = true
		case r >= 0xDC00 && r <= 0xDFFF:
			s.loneSurrogate = true
		case r >= 0xD800 && r <= 0xDBFF:
			low, ok := uint64(0), false
			if i+2 < len(raw) && raw[i+1] == '\\' && raw[i+2] == 'u' {
				low, ok = hex4(raw, i+3)
			}
			if !ok || low < 0xDC00 || low > 0xDFFF {
				s.loneSurrogate = true
				continue
			}
			i += 6
		}
	}
	return i
}

func hex4(raw []byte, i int) (uint64, bool) {
	if i+4 > len(raw) {
		return 0, false
	}
	r, err := strconv.ParseUint(string(raw[i:i+4]), 16, 32)
	return r, err == nil
}

func countMembers(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		n = len(v)
		for _, e := range v {
			n += countMembers(e)
		}
	case []any:
		for _, e := range v {
			n += countMembers(e)
		}
	}
	return n
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
