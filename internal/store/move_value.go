package store

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// moveTime is the format of times: RFC 3339 in whole microseconds.
const moveTime = "2006-01-02T15:04:05.000000Z07:00"

// MoveObject returns the canonical text of a JSON object, the same for every engine: keys in order,
// numbers as encoding/json writes them. An empty object is "{}", or nil where the column is
// optional.
func MoveObject(doc string, c *Column) (any, error) {
	m, err := ObjectOf(doc)
	if err != nil {
		return nil, err
	}
	if len(m) == 0 {
		if c.Optional {
			return nil, nil //nolint:nilnil // none
		}
		return "{}", nil
	}
	b, err := json.Marshal(canonicalValue(m))
	return string(b), err
}

// canonicalValue converts equal values to the same form: jsonb writes every number in full and has no
// negative zero.
func canonicalValue(v any) any {
	switch v := v.(type) {
	case string:
		return Clean(v)
	case float64:
		if v == 0 {
			return 0.0
		}
	case json.Number:
		return canonicalNumber(v)
	case map[string]any:
		for k, e := range v {
			v[k] = canonicalValue(e)
		}
	case []any:
		for i, e := range v {
			v[i] = canonicalValue(e)
		}
	}
	return v
}

const mostDigits = 131072 // before the point; Postgres stores no more

// canonicalNumber writes a number that does not fit a float64 in full.
func canonicalNumber(n json.Number) any {
	s := n.String()
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp, err := strconv.Atoi(strings.TrimPrefix(s[i+1:], "+"))
		if err != nil || exp < 0 || exp > mostDigits {
			return n
		}
		r, ok := new(big.Rat).SetString(s)
		if !ok || !r.IsInt() {
			return n
		}
		s = r.Num().String()
	}
	return json.Number(s)
}

// requeue changes a running job into a waiting one: the process that leased it is elsewhere.
func (r Row) requeue() {
	if r.Table.Name != "jobs" {
		return
	}
	if i := r.Table.Index("state"); r.Values[i] == string(memory.JobRunning) {
		r.Values[i] = string(memory.JobQueued)
		r.Values[r.Table.Index("lease")] = uuid.Nil
		r.Values[r.Table.Index("lease_until")] = nil
	}
}

// encodeValue returns a value as encoding/json encodes it.
func encodeValue(c *Column, v any) (any, error) {
	if v == nil {
		if !c.Optional {
			return nil, fmt.Errorf("%s is missing", c.Name)
		}
		return nil, nil //nolint:nilnil // none
	}
	switch v := v.(type) {
	case string:
		if c.Kind == KindObject {
			return json.RawMessage(v), nil
		}
		return Clean(v), nil
	case []string:
		out := make([]string, len(v))
		for i := range v {
			out[i] = Clean(v[i])
		}
		return out, nil
	case []byte:
		return base64.StdEncoding.EncodeToString(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s is not a number", c.Name)
		}
		return v + 0, nil // no negative zero
	case time.Time:
		if y := v.Year(); y < 0 || y > 9999 {
			return nil, fmt.Errorf("%s lies in the year %d", c.Name, y)
		}
		return v.UTC().Format(moveTime), nil
	}
	return v, nil
}

// decodeValue reverses encodeValue. A value that is not of the column's kind is Invalid.
func decodeValue(c *Column, raw json.RawMessage) (any, error) {
	if string(raw) == "null" {
		if !c.Optional {
			return nil, fault.New(fault.Invalid, "%s is required", c.Name)
		}
		return nil, nil //nolint:nilnil // none
	}
	v, err := kindOf(c, raw)
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "%s is no value of the kind %s", c.Name, c.Kind)
	}
	return v, nil
}

func kindOf(c *Column, raw json.RawMessage) (any, error) {
	switch c.Kind {
	case KindInt:
		return as[int64](raw)
	case KindReal:
		return as[float64](raw)
	case KindBool:
		return as[bool](raw)
	case KindObject:
		return MoveObject(string(raw), c)
	case KindTexts:
		l, err := as[[]string](raw)
		if err == nil {
			err = texts(c.Name, l)
		}
		return l, err
	default: // the others are texts in JSON
	}
	s, err := as[string](raw)
	if err != nil {
		return nil, err
	}
	switch c.Kind {
	case KindID:
		id, err := uuid.Parse(s)
		if err == nil && id.String() != s {
			err = fmt.Errorf("the id is not in its usual form")
		}
		return id, err
	case KindTime, KindEvent:
		t, err := time.Parse(moveTime, s)
		return t.UTC(), err
	case KindBytes, KindHalf, KindCodes:
		b, err := base64.StdEncoding.DecodeString(s)
		if err == nil && c.Kind == KindHalf {
			err = checkHalf(b)
		}
		if err == nil && c.Kind == KindCodes {
			err = checkTokens(b)
		}
		return b, err
	case KindJSON:
		if !json.Valid([]byte(s)) {
			return nil, fmt.Errorf("the text is no JSON")
		}
	default:
	}
	return s, Text(c.Name, s)
}

func as[T any](raw json.RawMessage) (v T, err error) {
	err = json.Unmarshal(raw, &v)
	return v, err
}

func checkHalf(b []byte) error {
	if len(b) == 0 || len(b)%2 != 0 {
		return fmt.Errorf("a vector has two bytes for each of its elements")
	}
	_, err := rounded(VectorOf(b))
	return err
}
