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

// CheckTypes checks that an answer has the types of T; what is absent or in excess
// does not matter.
func CheckTypes[T any](answer json.RawMessage) error {
	var v T
	if err := json.Unmarshal(answer, &v); err != nil {
		return fmt.Errorf("the answer does not have the types of its schema: %w", err)
	}
	return nil
}

// DecodeAnswer decodes a checked answer.
func DecodeAnswer[T any](raw json.RawMessage, name string) (T, error) {
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, fmt.Errorf("%s: %w: %w", name, memory.ErrBadAnswer, err)
	}
	return v, nil
}

// CheckContent demands that an answer has the types of T and says something.
func CheckContent[T any](something func(*T) bool) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if err := CheckTypes[T](raw); err != nil {
			return err
		}
		v, err := DecodeAnswer[T](raw, "answer")
		if err == nil && !something(&v) {
			return errors.New("the answer is empty")
		}
		return err
	}
}

func IsBlank(s string) bool { return strings.TrimSpace(s) == "" }

func FormatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// UnknownEvent refuses an event that a policy knows nothing of, such as a task that
// another version of it put off.
func UnknownEvent(policy string, e *memory.Event) error {
	if e.Kind == memory.EventTask {
		return fault.New(fault.Invalid, "the policy %s has no task %q", policy, e.Task.Name)
	}
	return fault.New(fault.Invalid, "the policy %s does not decide about an event of the kind %q", policy, e.Kind)
}

// DescribedMaterial is a note as the prompt of "evolve" shows it.
type DescribedMaterial struct {
	Handle   *int     `json:"handle,omitempty"`
	Time     string   `json:"time"`
	Content  string   `json:"content"`
	Context  string   `json:"context"`
	Keywords []string `json:"keywords"`
	Tags     []string `json:"tags"`
	Linked   []string `json:"linked,omitempty"`
}

func DescribeNote(d memory.Described, chars int) DescribedMaterial {
	return DescribedMaterial{
		Time: FormatTime(d.Time), Content: text.Shorten(d.Content, chars), Context: d.Context,
		Keywords: NonNil(d.Keywords), Tags: NonNil(d.Tags), Linked: d.Linked,
	}
}

func NonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
