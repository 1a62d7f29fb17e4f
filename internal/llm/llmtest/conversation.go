package llmtest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/text"
)

// Limits of the default answers.
const (
	answeredFacts = 20
	answeredChars = 600
)

// conversationData is the JSON that the prompts of the policies for conversations contain between
// their marks. Each prompt has some of the fields.
type conversationData struct {
	MaxFacts int       `json:"max_facts"`
	New      []spoken  `json:"new"`
	Fact     string    `json:"fact"`
	Similar  []spoken  `json:"similar"`
	Memories []spoken  `json:"memories"`
	Items    []spoken  `json:"items"`
	Old      string    `json:"old_summary"`
	Record   string    `json:"old_record"`
	Changes  []string  `json:"changes"`
	Steps    []spoken  `json:"steps"`
	Turns    []spoken  `json:"turns"`
	Messages []spoken  `json:"messages"`
	Days     []spoken  `json:"days"`
	Person   string    `json:"person"`
	Chars    int       `json:"chars"`
	MaxChars int       `json:"max_chars"`
	Texts    textsOf   `json:"texts"`
	Facts    textsOf   `json:"facts"`
	Entities []nameOrE `json:"entities"`
	Pages    []page    `json:"pages"`
	Page     []page    `json:"page"`
	Meta     string    `json:"old_meta"`
	Profile  struct {
		Text string `json:"text"`
	} `json:"old_profile"`
}

// page is what a person said and what was answered.
type page struct {
	Page     int      `json:"page"`
	Messages []spoken `json:"messages"`
}

// spoken is a text with the fields beside it.
type spoken struct {
	Handle  int    `json:"handle"`
	Role    string `json:"role"`
	Name    string `json:"name"`
	Speaker string `json:"speaker"`
	Date    string `json:"date"`
	Content string `json:"content"`
	Text    string `json:"text"`
}

var spokenLine = regexp.MustCompile(`(?s)^\d{4}-\d\d-\d\d \w+, ([^:]*): (.*)$`)

// UnmarshalJSON accepts an object, or a line with the day, the speaker and the text.
func (s *spoken) UnmarshalJSON(b []byte) error {
	var line string
	if json.Unmarshal(b, &line) != nil {
		type fields spoken
		return json.Unmarshal(b, (*fields)(s))
	}
	m := spokenLine.FindStringSubmatch(line)
	if m == nil {
		s.Text = line
		return nil
	}
	if s.Text = m[2]; m[1] != "User" && m[1] != "Assistant" {
		s.Name = m[1]
	}
	return nil
}

func (s spoken) said() string { return s.Content + s.Text }

// textsOf is a list of texts, or of objects with one.
type textsOf []string

// UnmarshalJSON accepts both forms.
func (t *textsOf) UnmarshalJSON(b []byte) error {
	var plain []string
	if json.Unmarshal(b, &plain) == nil {
		*t = plain
		return nil
	}
	var objects []spoken
	if json.Unmarshal(b, &objects) == nil {
		for _, o := range objects {
			*t = append(*t, o.said())
		}
	}
	return nil
}

// nameOrE is an entity, given by its name or as an object.
type nameOrE string

// UnmarshalJSON accepts both forms.
func (n *nameOrE) UnmarshalJSON(b []byte) error {
	var plain string
	if json.Unmarshal(b, &plain) == nil {
		*n = nameOrE(plain)
		return nil
	}
	var o struct {
		Entity string `json:"entity"`
		Name   string `json:"name"`
	}
	if json.Unmarshal(b, &o) == nil {
		*n = nameOrE(o.Entity + o.Name)
	}
	return nil
}

var dataText = regexp.MustCompile(`(?s)<memory-data>\s*(.*?)\s*</memory-data>`)

// ReadData reads the JSON that the prompt of a policy has between its marks; ok is false without such JSON.
func (r *Request) ReadData(into any) (ok bool) {
	m := dataText.FindStringSubmatch(r.User)
	return len(m) == 2 && json.Unmarshal([]byte(m[1]), into) == nil
}

// ofConversations answers the calls of the policies for conversations. It returns nil for another
// call, or when the prompt contains no material.
func ofConversations(req Request) any {
	var d conversationData
	if !req.ReadData(&d) {
		return nil
	}
	chars := answeredChars
	for _, n := range []int{d.Chars, d.MaxChars} {
		if n > 0 {
			chars = min(chars, n)
		}
	}
	switch req.Call {
	case "extract":
		return map[string]any{"facts": factsOf(d)}
	case "decide":
		for _, s := range d.Similar {
			if text.Fold(strings.TrimSpace(s.said())) == text.Fold(strings.TrimSpace(d.Fact)) {
				return map[string]any{"operation": "NOOP", "why": "it is known", "target": s.Handle, "text": nil}
			}
		}
		return map[string]any{"operation": "ADD", "why": "nothing is about it", "target": nil, "text": nil}
	case "summarize", "procedure":
		return map[string]any{"summary": beginnings(append([]string{d.Old, d.Record}, slices.Concat(saidIn(d.Memories), saidIn(d.Steps), d.Changes)...), chars)}
	case "queue_summary":
		return map[string]any{"summary": "I remember: " + beginnings(append([]string{d.Old}, saidIn(d.Messages)...), chars)}
	case "daily_summary":
		lines := saidIn(d.Turns)
		return map[string]any{"summary": beginnings(lines, chars), "events": lines[:min(len(lines), 1)]}
	case "daily_personality":
		return map[string]any{"traits": []string{"curious"}, "mood": "calm", "reply_strategy": "Answer kindly."}
	case "overall_history":
		return map[string]any{"summary": beginnings(saidIn(d.Days), chars)}
	case "overall_personality":
		return map[string]any{"portrait": text.Shorten(strings.TrimSpace(d.Person+" is curious and calm."), chars), "reply_strategy": "Answer kindly."}
	case "entities":
		return map[string]any{"entities": entitiesOf(slices.Concat(d.Texts, d.Facts))}
	case "relations":
		return map[string]any{"relations": relationsOf(slices.Concat(d.Texts, d.Facts), d.Entities)}
	case "abstract":
		sources := []int{}
		for _, item := range d.Items {
			sources = append(sources, item.Handle)
		}
		return map[string]any{"summary": beginnings(saidIn(d.Items), chars), "sources": sources}
	case "conflicts":
		return map[string]any{"invalidate": []any{}}
	}
	return ofPages(req.Call, &d, chars)
}

// ofPages answers the calls about pages. All pages of a batch have one theme, and none continues the one before.
func ofPages(call string, d *conversationData, chars int) any {
	var said, user, assistant []string
	handles := []int{}
	for _, p := range slices.Concat(d.Pages, d.Page) {
		handles = append(handles, p.Page)
		said = append(said, saidIn(p.Messages)...)
		for _, m := range p.Messages {
			of := &assistant
			if m.Role == "user" {
				of = &user
			}
			*of = append(*of, text.Sentences(m.said())...)
		}
	}
	switch call {
	case "continuity":
		return map[string]any{"continuous": false}
	case "meta_info":
		return map[string]any{"meta": beginnings(append([]string{d.Meta}, said...), chars)}
	case "multi_summary":
		all := strings.Join(said, " ")
		return map[string]any{"themes": []any{map[string]any{
			"theme": text.Shorten(all, 40), "keywords": text.Keyphrases(all, 5), "content": beginnings(said, chars), "pages": handles,
		}}}
	case "profile":
		return map[string]any{"dimensions": []any{}, "text": beginnings(append([]string{d.Profile.Text}, user...), chars)}
	case "knowledge":
		return map[string]any{"user": first(user), "assistant": first(assistant)}
	}
	return nil
}

// factsOf returns the sentences of the new messages that are not questions, each with the name of
// its speaker in front.
func factsOf(d conversationData) []string {
	limit := answeredFacts
	if d.MaxFacts > 0 {
		limit = min(limit, d.MaxFacts)
	}
	out := []string{}
	for _, m := range d.New {
		for _, s := range text.Sentences(m.said()) {
			if len(out) == limit {
				return out
			}
			if strings.ContainsAny(s, "?？") || len(text.Terms(s)) < 2 {
				continue
			}
			if m.Name != "" {
				s = m.Name + ": " + s
			}
			out = append(out, s)
		}
	}
	return out
}

func saidIn(list []spoken) []string {
	var out []string
	for _, s := range list {
		line := s.said()
		if s.Speaker != "" {
			line = s.Speaker + ": " + line
		}
		if s.Date != "" {
			line = s.Date + ": " + line
		}
		out = append(out, text.Shorten(strings.Join(strings.Fields(line), " "), 120))
	}
	return out
}

func beginnings(list []string, chars int) string {
	list = slices.DeleteFunc(list, func(s string) bool { return strings.TrimSpace(s) == "" })
	return text.Shorten(strings.Join(list, " "), chars)
}

var capitalWord = regexp.MustCompile(`\p{Lu}[\p{L}'-]*(?: \p{Lu}[\p{L}'-]*)*`)

// entitiesOf returns the capitalized words, as people.
func entitiesOf(texts []string) []any {
	out := []any{}
	seen := map[string]bool{}
	for _, t := range texts {
		for _, name := range capitalWord.FindAllString(t, 8) {
			if !seen[name] && !text.IsStopWord(name, text.English) {
				seen[name] = true
				out = append(out, map[string]any{"entity": name, "entity_type": "person"})
			}
		}
	}
	return out
}

// relationsOf joins the first two entities in a text by the words between them.
func relationsOf(texts []string, among []nameOrE) []any {
	out := []any{}
	for _, t := range texts {
		var names []string
		for _, e := range among {
			if e != "" && strings.Contains(t, string(e)) {
				names = append(names, string(e))
			}
		}
		slices.SortStableFunc(names, func(a, b string) int { return strings.Index(t, a) - strings.Index(t, b) })
		if len(names) < 2 {
			continue
		}
		from, to := strings.Index(t, names[0])+len(names[0]), strings.Index(t, names[1])
		if from >= to {
			continue
		}
		if verb := strings.Join(text.Words(t[from:to]), "_"); verb != "" {
			out = append(out, map[string]any{"source": names[0], "relationship": verb, "destination": names[1]})
		}
	}
	return out
}

// talk answers a chat that requests no JSON.
func talk(req Request) string {
	seen := "I saw no system message."
	if n := len(strings.Fields(req.System)); n > 0 {
		seen = fmt.Sprintf("I saw a system message of %d words.", n)
	}
	return fmt.Sprintf("You said: %s. %s", text.Shorten(strings.Join(strings.Fields(req.User), " "), 80), seen)
}

// first returns the first answeredFacts texts, never nil.
func first(list []string) []string {
	return append([]string{}, list[:min(len(list), answeredFacts)]...)
}
