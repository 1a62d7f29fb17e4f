package layered

import (
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// MaxAbstractChars is how many characters an abstract has at most.
const MaxAbstractChars = 500

// AbstractInput is the input of "abstract".
type AbstractInput struct {
	Items []AbstractItem // of one topic, oldest first; the handle of an item is its index
	Chars int            // of the summary; 0: MaxAbstractChars
}

// AbstractItem is an item that may go into an abstract.
type AbstractItem struct {
	Content    string
	Role       memory.Role // of who said it; "": nobody did
	Name       string      // of who said it; "": not known
	Time       time.Time
	Importance float64 // 0..1
}

// Abstract is the answer of "abstract".
type Abstract struct {
	Summary string `json:"summary"`
	Sources []int  `json:"sources"` // handles of the items that the summary says
}

// Abstract returns the call that merges items of one topic into one text.
func (c *Calls) Abstract(in AbstractInput) (memory.Call, error) {
	if in.Chars <= 0 {
		in.Chars = MaxAbstractChars
	}
	type itemMaterial struct {
		Handle     int     `json:"handle"`
		Time       string  `json:"time"`
		Importance float64 `json:"importance"`
		Name       string  `json:"name,omitempty"`
		Content    string  `json:"content"`
	}
	type material struct {
		Chars int            `json:"chars"`
		Items []itemMaterial `json:"items"`
	}
	m := material{in.Chars, []itemMaterial{}}
	texts := make([]string, len(in.Items))
	for i := range in.Items {
		texts[i] = in.Items[i].Content
	}
	from, texts := policy.FitChars(texts, 2*maxMessageChars)
	for i, t := range texts {
		item := &in.Items[from+i]
		m.Items = append(m.Items, itemMaterial{from + i, policy.FormatMinute(item.Time), item.Importance, policy.CleanLine(item.Name, maxSubjectChars), t})
	}
	return c.abstract.Call(memory.Call{Name: CallAbstract, Input: in, Lenient: lenientAbstract, Check: func(raw json.RawMessage) error {
		_, _, err := readAbstract(raw, &in)
		return err
	}}, m, len(m.Items))
}

// readAbstract reads the answer of "abstract". Handles that were not shown or that repeat are
// dropped and counted. An answer without a text or with fewer than two sources is an error: the items
// stay as they are.
func readAbstract(raw json.RawMessage, in *AbstractInput) (read Abstract, dropped int, err error) {
	a, err := policy.DecodeAnswer[Abstract](raw, CallAbstract)
	if err != nil {
		return Abstract{}, 0, err
	}
	limit := in.Chars
	if limit <= 0 {
		limit = MaxAbstractChars
	}
	read.Summary = policy.CleanLine(a.Summary, limit)
	for _, handle := range a.Sources {
		if handle < 0 || handle >= len(in.Items) || slices.Contains(read.Sources, handle) {
			dropped++
			continue
		}
		read.Sources = append(read.Sources, handle)
	}
	slices.Sort(read.Sources)
	switch {
	case policy.IsEmptyAnswer(read.Summary):
		return Abstract{}, dropped, errors.Join(memory.ErrBadAnswer, errors.New("the summary is empty"))
	case len(read.Sources) < 2:
		return Abstract{}, dropped, errors.Join(memory.ErrBadAnswer, errors.New("an abstract needs at least two of the items as its sources"))
	}
	return read, dropped, nil
}

// lenientAbstract also accepts other names of the fields.
func lenientAbstract(said string) json.RawMessage {
	v, _ := policy.FindJSON(said)
	object, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	a := Abstract{Summary: policy.StringField(object, "summary", "abstract", "text", "content"), Sources: []int{}}
	a.Sources = append(a.Sources, wholeNumbers(policy.FirstValue(object, "sources", "handles", "items", "source_ids"))...)
	return policy.EncodeLenient(a, true)
}

// wholeNumbers returns the whole numbers in a JSON list.
func wholeNumbers(v any) (out []int) {
	list, _ := v.([]any)
	for _, x := range list[:min(len(list), policy.MaxEntries)] {
		if n, is := x.(float64); is && n == float64(int32(n)) {
			out = append(out, int(n))
		}
	}
	return out
}
