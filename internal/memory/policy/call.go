package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// CheckTypes returns an error unless an answer has the types of T. Absent and
// unknown members are accepted.
func CheckTypes[T any](answer json.RawMessage) error {
	var v T
	if err := json.Unmarshal(answer, &v); err != nil {
		return fmt.Errorf("the answer does not have the types of its schema: %w", err)
	}
	return nil
}

// DecodeAnswer decodes an answer that its call's check accepted. An error names the
// call and is memory.ErrBadAnswer.
func DecodeAnswer[T any](raw json.RawMessage, name string) (T, error) {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("%s: %w: %w", name, memory.ErrBadAnswer, err)
	}
	return v, nil
}

// Encode returns the outcome of a decision as JSON. Its types exist in JSON.
func Encode(outcome any) json.RawMessage {
	raw, err := json.Marshal(outcome)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return raw
}

// CheckContent returns the check of a call whose answer must have the types of T and
// must not be empty.
func CheckContent[T any](hasContent func(*T) bool) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if err := CheckTypes[T](raw); err != nil {
			return err
		}
		v, err := DecodeAnswer[T](raw, "answer")
		if err == nil && !hasContent(&v) {
			return errors.New("the answer is empty")
		}
		return err
	}
}

// IsBlank reports whether s is empty or only white space.
func IsBlank(s string) bool { return strings.TrimSpace(s) == "" }

// FormatTime returns a time as prompts and task keys hold it: RFC 3339 in its zone, whole seconds.
func FormatTime(t time.Time) string { return t.Format(time.RFC3339) }

// FormatMinute and FormatDay return a time in its zone, to the minute and to the day, for prompts that count tokens.
func FormatMinute(t time.Time) string { return memory.Minute(t) }

// FormatDay is described at FormatMinute.
func FormatDay(t time.Time) string { return memory.Day(t) }

// UnknownEvent returns the fault for an event that a policy does not handle, such as
// a task that another version of the program deferred.
func UnknownEvent(policy string, e *memory.Event) error {
	if e.Kind == memory.EventTask {
		return fault.New(fault.Invalid, "the policy %s has no task %q", policy, e.Task.Name)
	}
	return fault.New(fault.Invalid, "the policy %s does not decide about an event of the kind %q", policy, e.Kind)
}

// DescribedMaterial is a note with its description as prompts show it. Handle is its
// position in the list, by which an answer names it; nil: it cannot be named.
type DescribedMaterial struct {
	Handle   *int     `json:"handle,omitempty"`
	Time     string   `json:"time"`
	Content  string   `json:"content"`
	Context  string   `json:"context"`
	Keywords []string `json:"keywords"`
	Tags     []string `json:"tags"`
	Linked   []string `json:"linked,omitempty"`
}

// DescribeNote returns a note as prompts show it, its content shortened to so many
// characters. The caller sets Handle.
func DescribeNote(d memory.Described, chars int) DescribedMaterial {
	return DescribedMaterial{
		Time: FormatTime(d.Time), Content: text.Shorten(d.Content, chars), Context: d.Context,
		Keywords: nonNil(d.Keywords), Tags: nonNil(d.Tags), Linked: d.Linked,
	}
}

// nonNil returns the list, or an empty one for nil, so that JSON has [] and not null.
func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
