package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/when"
	"github.com/slipboxhq/slipbox/internal/wording"
)

// argHeartbeat is the argument that every tool takes.
const argHeartbeat = "request_heartbeat"

// arguments are the arguments of a call. Each getter checks the type of one and returns its value; check
// returns what is wrong with all of them. A null is an absent argument.
type arguments struct {
	given    map[string]any
	known    []string
	problems memory.Validation
}

// parseArguments decodes the arguments of a call: an object, or the text of one, as models write it. No
// arguments are the empty object.
func parseArguments(raw json.RawMessage) (*arguments, error) {
	value, err := decodeOne(raw)
	if text, ok := value.(string); ok && err == nil {
		if strings.TrimSpace(text) == "" {
			text = "{}"
		}
		value, err = decodeOne(json.RawMessage(text))
	}
	if err != nil {
		return nil, fault.New(fault.Invalid, "the arguments are not JSON: send one object, such as {\"label\": \"human\"}")
	}
	if value == nil {
		value = map[string]any{}
	}
	given, ok := value.(map[string]any)
	if !ok {
		return nil, fault.New(fault.Invalid, "the arguments must be one JSON object; they are %s", typeOf(value))
	}
	return &arguments{given: given}, nil
}

// decodeOne decodes one JSON value and nothing behind it; nil for no bytes.
func decodeOne(raw json.RawMessage) (v any, err error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil //nolint:nilnil // nothing was sent
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("data behind the value")
	}
	return v, nil
}

// typeOf names the type of a JSON value as an error message does.
func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	case string:
		return "a text"
	case []any:
		return "a list"
	}
	return "an object"
}

// get returns an argument; ok is false when it is absent.
func (a *arguments) get(name string) (v any, ok bool) {
	a.known = append(a.known, name)
	v = a.given[name]
	return v, v != nil
}

func (a *arguments) wrong(name, want string, v any) {
	a.problems.Addf(name, "must be %s; it is %s", want, typeOf(v))
}

// text returns a text that must be there and not be blank.
func (a *arguments) text(name string) string {
	s, ok := a.optionalText(name)
	if a.given[name] == nil {
		a.problems.Addf(name, "is required")
	} else if ok && strings.TrimSpace(s) == "" {
		a.problems.Addf(name, "must not be empty")
	}
	return s
}

// anyText returns a text that must be there and may be empty.
func (a *arguments) anyText(name string) string {
	s, _ := a.optionalText(name)
	if a.given[name] == nil {
		a.problems.Addf(name, "is required")
	}
	return s
}

// optionalText returns a text, "" when it is absent; ok is false when it is not a text.
func (a *arguments) optionalText(name string) (s string, ok bool) {
	v, there := a.get(name)
	if !there {
		return "", true
	}
	if s, ok = v.(string); !ok {
		a.wrong(name, "a text", v)
		return "", false
	}
	if strings.IndexByte(s, 0) >= 0 {
		a.problems.Addf(name, "must not contain the character U+0000")
	}
	return s, true
}

// whole returns an integer in a range; def when it is absent.
func (a *arguments) whole(name string, def, least, most int) int {
	v, ok := a.get(name)
	if !ok {
		return def
	}
	n, ok := v.(json.Number)
	if !ok {
		a.wrong(name, "an integer", v)
		return def
	}
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || f < float64(least) || f > float64(most) {
		want := fmt.Sprintf("must be an integer from %d to %d", least, most)
		if most == math.MaxInt32 {
			want = fmt.Sprintf("must be an integer, %d or more", least)
		}
		a.problems.Addf(name, "%s", want)
		return def
	}
	return int(f)
}

func (a *arguments) flag(name string) bool {
	v, ok := a.get(name)
	if !ok {
		return false
	}
	b, ok := v.(bool)
	if !ok {
		a.wrong(name, "true or false", v)
	}
	return b
}

// texts returns a list of texts.
func (a *arguments) texts(name string) []string {
	v, ok := a.get(name)
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		a.wrong(name, "a list of texts", v)
		return nil
	}
	out := make([]string, 0, len(list))
	for i, e := range list {
		s, ok := e.(string)
		if !ok {
			a.wrong(memory.ElementField(name, i), "a text", e)
			return nil
		}
		out = append(out, s)
	}
	return out
}

// choice returns one of several texts; the first when it is absent.
func (a *arguments) choice(name string, choices ...string) string {
	s, ok := a.optionalText(name)
	if a.given[name] == nil || !ok {
		return choices[0]
	}
	if !slices.Contains(choices, s) {
		a.problems.Addf(name, "must be one of %s", wording.Or(choices...))
	}
	return s
}

// dates returns the beginning of the date start and the end of the date end; zero when absent. A time
// stands for its date in the zone.
func (a *arguments) dates(zone *time.Location) (from, until time.Time) {
	from, until = a.date("start", zone), a.date("end", zone)
	if !until.IsZero() {
		y, m, d := until.Date()
		until = when.DayStart(y, m, d+1, zone)
	}
	if !from.IsZero() && !until.IsZero() && !from.Before(until) {
		a.problems.Addf("end", "must not be before start")
	}
	return from, until
}

func (a *arguments) date(name string, zone *time.Location) time.Time {
	s, ok := a.optionalText(name)
	if a.given[name] == nil || !ok {
		return time.Time{}
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if at, err := time.ParseInLocation(layout, s, zone); err == nil && at.Year() >= 1 {
			if layout == time.RFC3339 {
				at = at.In(zone)
			}
			y, m, d := at.Date()
			return when.DayStart(y, m, d, zone)
		}
	}
	a.problems.Addf(name, "must be a date, such as 2026-03-31")
	return time.Time{}
}

// check returns one fault for everything that is wrong, arguments that the tool does not take included.
func (a *arguments) check() error {
	for _, name := range slices.Sorted(maps.Keys(a.given)) {
		if !slices.Contains(a.known, name) {
			a.problems.Addf(name, "is unknown; the tool takes %s", strings.Join(a.known, ", "))
		}
	}
	return a.problems.Err()
}
