package eval

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"
)

// decodeMemoryBank reads users and their dialogues from a MemoryBank file (Zhong et al., 2023), a conversation each. Users
// are sorted by name, days by date. Each exchange becomes two turns.
func decodeMemoryBank(raw []byte) ([]Conversation, error) {
	var file map[string]struct {
		History map[string][]struct {
			Query    string `json:"query"`
			Response string `json:"response"`
		} `json:"history"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("not a MemoryBank file: %w", err)
	}
	out := make([]Conversation, 0, len(file))
	for _, name := range slices.Sorted(maps.Keys(file)) {
		u := Conversation{ID: name}
		for i, day := range slices.Sorted(maps.Keys(file[name].History)) {
			start, err := time.ParseInLocation(time.DateOnly, day, time.UTC)
			if err != nil {
				return nil, fmt.Errorf("%s: day: %w", name, err)
			}
			for j, x := range file[name].History[day] {
				at := start.Add(time.Duration(2*j) * time.Second)
				u.Turns = append(u.Turns,
					Turn{ID: fmt.Sprintf("%s:%d", day, 2*j), Speaker: name, Role: "user", Session: strconv.Itoa(i + 1), At: at, Text: name + ": " + x.Query},
					Turn{ID: fmt.Sprintf("%s:%d", day, 2*j+1), Speaker: "assistant", Role: "assistant", Session: strconv.Itoa(i + 1), At: at.Add(time.Second), Text: "assistant: " + x.Response})
			}
		}
		out = append(out, u)
	}
	return out, nil
}
