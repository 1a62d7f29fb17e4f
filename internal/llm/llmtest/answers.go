package llmtest

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"

	"github.com/slipboxhq/slipbox/internal/text"
)

// defaultAnswer answers an unscripted call.
func defaultAnswer(req Request) Reply {
	switch req.Call {
	case "analyze":
		said := material(req.User)
		keywords := text.Keyphrases(said, 5)
		for _, more := range []string{"note", "memory", "detail"} {
			if len(keywords) < 3 {
				keywords = append(keywords, more)
			}
		}
		return JSON(map[string]any{
			"keywords": keywords, "context": text.ExtractiveSentence(said), "tags": []string{"general", "statement", "fact"},
		})
	case "evolve":
		return JSON(map[string]any{
			"should_evolve": true, "actions": []string{"strengthen"}, "suggested_connections": []int{0}, "tags_to_update": []string{},
			"new_context_neighborhood": []string{}, "new_tags_neighborhood": [][]string{}, "new_keywords_neighborhood": [][]string{},
			"confidence": 0.95,
		})
	case "relevance":
		scores := []map[string]any{}
		for i, h := range handles(req.User) {
			scores = append(scores, map[string]any{"id": h, "score": 0.9 / float64(i+1)})
		}
		return JSON(map[string]any{"scores": scores})
	}
	if answer := ofConversations(req); answer != nil {
		return JSON(answer)
	}
	var schema map[string]any
	if json.Unmarshal(req.Schema, &schema) != nil {
		if req.Format == "" {
			return Text(talk(req))
		}
		return JSON(map[string]any{})
	}
	return JSON(shaped(schema))
}

var contentText = regexp.MustCompile(`"content"\s*:\s*("(?:[^"\\]|\\.)*")`)

// material returns the note in a prompt that contains it as JSON, else the whole prompt.
func material(prompt string) string {
	m := contentText.FindStringSubmatch(prompt)
	if m == nil {
		return prompt
	}
	s, err := strconv.Unquote(m[1])
	if err != nil {
		return prompt
	}
	return s
}

var handleText = regexp.MustCompile(`(?i)(?:\b(?:handle|id|note|memory|candidate)["':= #]{1,4}|\[)(\d{1,3})\b`)

// handles returns the handles that a prompt contains, in order.
func handles(prompt string) []int {
	var out []int
	for _, m := range handleText.FindAllStringSubmatch(prompt, -1) {
		n, err := strconv.Atoi(m[1])
		if err == nil && !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	return out
}

// shaped returns an empty value that fits a schema.
func shaped(schema map[string]any) any {
	switch schema["type"] {
	case "object":
		out := map[string]any{}
		properties, _ := schema["properties"].(map[string]any)
		for name, p := range properties {
			p, _ := p.(map[string]any)
			out[name] = shaped(p)
		}
		return out
	case "array":
		return []any{}
	case "boolean":
		return false
	case "number", "integer":
		return 0
	case "string":
		return ""
	}
	return nil
}
