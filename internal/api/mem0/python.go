package mem0

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parseParameter reads the object in a query parameter: JSON, or the literal that Python prints for a dict, because the
// Python client sends its typed options so. Malformed for anything else.
func parseParameter(name, text string) (any, error) {
	const longest = 16 << 10
	if len(text) > longest {
		return nil, malformed("%s: is longer than %d bytes", name, longest)
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) == nil && !dec.More() {
		return v, nil
	}
	p := literal{rest: text}
	v, ok := p.value(1)
	if p.space(); !ok || p.rest != "" {
		return nil, malformed("%s: is neither JSON nor a dict of Python", name)
	}
	return v, nil
}

// literal reads the values of Python that have a counterpart in JSON: dicts with texts as keys, lists, texts, numbers,
// True, False and None.
type literal struct{ rest string }

func (p *literal) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// next removes a token from the front, if it is there.
func (p *literal) next(token string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.rest, token)
	p.rest = rest
	return ok
}

func (p *literal) value(depth int) (v any, ok bool) {
	if depth > maxFilterDepth {
		return nil, false
	}
	switch {
	case p.next("{"):
		return p.dict(depth)
	case p.next("["):
		return p.list(depth)
	case p.next("True"):
		return true, true
	case p.next("False"):
		return false, true
	case p.next("None"):
		return nil, true
	}
	if p.rest != "" && (p.rest[0] == '\'' || p.rest[0] == '"') {
		return p.text()
	}
	return p.number()
}

func (p *literal) dict(depth int) (map[string]any, bool) {
	out := map[string]any{}
	for first := true; !p.next("}"); first = false {
		if !first && !p.next(",") {
			return nil, false
		}
		p.space()
		key, ok := p.text()
		if _, repeated := out[key]; !ok || repeated || !p.next(":") {
			return nil, false
		}
		if out[key], ok = p.value(depth + 1); !ok {
			return nil, false
		}
	}
	return out, true
}

func (p *literal) list(depth int) ([]any, bool) {
	out := []any{}
	for first := true; !p.next("]"); first = false {
		if !first && !p.next(",") {
			return nil, false
		}
		v, ok := p.value(depth + 1)
		if !ok {
			return nil, false
		}
		out = append(out, v)
	}
	return out, true
}

// text reads a text between quotes of either kind. Of the escapes, repr writes these.
func (p *literal) text() (string, bool) {
	if p.rest == "" || p.rest[0] != '\'' && p.rest[0] != '"' {
		return "", false
	}
	quote, rest := p.rest[0], p.rest[1:]
	var out strings.Builder
	for rest != "" {
		switch rest[0] {
		case quote:
			p.rest = rest[1:]
			return out.String(), utf8.ValidString(out.String())
		case '\\':
			r, _, after, err := strconv.UnquoteChar(rest, quote)
			if err != nil && len(rest) > 1 && (rest[1] == '\'' || rest[1] == '"') { // the other quote, which repr may escape
				r, after, err = rune(rest[1]), rest[2:], nil
			}
			if err != nil {
				return "", false
			}
			out.WriteRune(r)
			rest = after
		default:
			out.WriteByte(rest[0])
			rest = rest[1:]
		}
	}
	return "", false
}

func (p *literal) number() (json.Number, bool) {
	end := strings.IndexFunc(p.rest, func(r rune) bool { return !strings.ContainsRune("0123456789+-.eE", r) })
	if end < 0 {
		end = len(p.rest)
	}
	n := json.Number(p.rest[:end])
	if !json.Valid([]byte(n)) || end == 0 {
		return "", false
	}
	p.rest = p.rest[end:]
	return n, true
}
