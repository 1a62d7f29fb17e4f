package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// writingPolicies link what was said, or write texts about it. Nothing is read until a dialogue is told.
var writingPolicies = []string{"amem", "memorybank", "memoryos"}

// WrittenLink is a link between two texts that were said.
type WrittenLink struct {
	From     string `json:"from"`
	To       string `json:"to"`
	Relation string `json:"relation"`
}

// WrittenText is a text that a policy derived.
type WrittenText struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// shortSettings returns settings under which a policy derives all that it can from a short dialogue.
func shortSettings(policy string, d *Labeled) map[string]any {
	out := map[string]any{}
	switch policy {
	case "memorybank":
		out["summary_delay"] = deferred
	case "memoryos":
		out["short_capacity"], out["heat_threshold"] = 1, 2
	}
	users := map[string]bool{}
	for i := range d.Turns {
		if d.Turns[i].Role != "assistant" {
			users[d.Turns[i].Speaker] = true
		}
	}
	if slices.Contains([]string{"layered", "memorybank", "memoryos"}, policy) && len(users) > 1 {
		out["persons"] = "several"
	}
	return out
}

// written waits until everything is derived, and returns the links between what was said and the texts about it. Pages of MemoryOS
// are linked to the next one by no decision: these links are left out.
func (m *ModelDialogues) written(ctx context.Context, collection string) (links []WrittenLink, texts []WrittenText, err error) {
	const longest = 24 * time.Hour
	jobs := ModelTest{Client: m.Client, Proxy: m.Proxy, Patience: time.Minute}
	if _, _, err = jobs.waitForJobs(ctx, collection, time.Now().Add(longest)); err != nil {
		return nil, nil, err
	}
	said, from := map[string]string{}, []storedNote{}
	err = m.Client.CountNotes(ctx, collection, func(raw json.RawMessage) error {
		var n storedNote
		if err := json.Unmarshal(raw, &n); err != nil {
			return fmt.Errorf("decode note: %w", err)
		}
		if n.isDerived() {
			texts = append(texts, WrittenText{n.Kind, n.Content})
		} else {
			said[n.ID] = n.Content
			from = append(from, n)
		}
		return nil
	})
	for _, n := range from {
		for _, l := range n.Links {
			if to, ok := said[l.Target]; ok && l.Relation != "next" {
				links = append(links, WrittenLink{n.Content, to, l.Relation})
			}
		}
	}
	return links, texts, err
}
