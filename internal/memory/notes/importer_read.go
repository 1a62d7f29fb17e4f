package notes

import (
	"bytes"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// decodeMembers decodes one JSON object and refuses data after it.
func decodeMembers(raw []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(raw) {
		return nil, fault.New(fault.Malformed, "the text is not valid UTF-8")
	}
	if !json.Valid(raw) {
		return nil, fault.New(fault.Malformed, "the text is not one JSON value")
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil || m == nil {
		return nil, fault.New(fault.Invalid, "must be a JSON object")
	}
	return m, nil
}

// reader decodes members into typed values and collects what does not fit.
type reader struct {
	memory.Validation
}

func isNull(raw json.RawMessage) bool { return string(bytes.TrimSpace(raw)) == "null" }

// readMember decodes a member that must not be null. want names the type in refusals.
func readMember[T any](r *reader, field, want string, raw json.RawMessage) T {
	var v T
	if isNull(raw) {
		r.Addf(field, "must be %s", want)
		return v
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // keep integers above 2^53 exact
	if err := d.Decode(&v); err != nil {
		r.Addf(field, "must be %s", want)
	}
	return v
}

func (r *reader) time(field string, raw json.RawMessage) time.Time {
	s := readMember[string](r, field, memory.TimeForm, raw)
	if s == "" {
		if len(r.Fields) == 0 || r.Fields[len(r.Fields)-1].Field != field {
			r.Addf(field, "must be %s", memory.TimeForm)
		}
		return time.Time{}
	}
	t, err := filter.ParseLocalTime(s)
	if err != nil {
		r.Addf(field, "must be %s", memory.TimeForm)
	}
	return t
}

const (
	wantText   = "a string"
	wantTexts  = "a list of strings"
	wantNumber = "a number"
	wantObject = "an object"
	wantBool   = "true or false"
	wantID     = "a UUID"
	wantInt    = "an integer"
)
